# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Facts of the hosts when they were read: libvirt, Open vSwitch, OVN, dnsmasq, the metadata proxy and Ceph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ..._model.event import Event
from ..._record.ids import keys_in
from ..hosts import all_facts
from ..logs import line_formats
from .source import Context, JsonObject, Rule, Source

# Ceph cuts times to the second.
WHOLE_SECOND = 1.0
# Ports of Ceph's monitors, by the second and the first version of its protocol
MONITOR_PORTS = ("3300", "6789")

Keys = Mapping[str, list[str]]


def read(host: Any, params: JsonObject) -> Any:
    return all_facts.read(
        host, params["parts"], params["instance"], params["platform"]
    )


@dataclass(frozen=True)
class Reading:
    """The reading of one host. asked: when it ended, by the host's own clock; took: for how long all were read."""

    host: str
    keys: Keys
    asked: float
    took: float
    zone_s: float

    def fact(
        self, service: str, fact: str, text: str, keys: Keys, **options: Any
    ) -> Event:
        """Return something that is so when the host is read."""
        return self.event(
            self.asked,
            service,
            "fact",
            text,
            keys=keys,
            timeless=True,
            **{"fact": fact, **options},
        )

    def event(
        self, at: float, service: str, kind: str, text: str, **options: Any
    ) -> Event:
        """Return an event by the host's clock. Options that are no fields of all events are its own."""
        common = {
            name: options.pop(name)
            for name in Event.__dataclass_fields__
            if name in options
        }
        return Event(
            at,
            service,
            kind,
            text,
            host=self.host,
            source="host",
            clock=self.host,
            fields=options,
            **common,
        )


def events(run: Context, _reads: JsonObject) -> list[Event]:
    """Return the facts that have a time, or that show that something happened before they were read."""
    evidence = run.record.evidence
    if evidence is None:
        return []
    # Each host was read at some time in between.
    took = evidence.finished - evidence.started
    found: list[Event] = []
    for host in run.record.hosts:
        # The time of reading is by the control node's clock, and all other times are by the host's own.
        then = evidence.finished + (host.clock_offset_s or 0)
        reading = Reading(
            host.host, run.keys, then, took, host.facts.get("zone_s") or 0
        )
        found += from_facts(host.facts, reading)
    return found


def from_facts(facts: Mapping[str, Any], reading: Reading) -> Iterable[Event]:
    yield from from_domain(known(facts, "domain"), reading)
    for name, events_of in OF_PORTS.items():
        for port, fact in known(facts, name).items():
            if fact:
                yield from events_of(port, fact, reading)
    yield from from_ceph(known(facts, "ceph"), reading)


def known(facts: Mapping[str, Any], name: str) -> JsonObject:
    """Return what a host has shown of something; nothing if it was not read."""
    return facts.get(name) or {}


def from_domain(domain: JsonObject, reading: Reading) -> Iterable[Event]:
    process = domain.get("process")
    if not process:
        return
    keys = {"server": reading.keys.get("server", [])}
    # The process may have ended before its start could be read.
    is_timed = process["started"] is not None
    at = process["started"] if is_timed else reading.asked
    when = {"resolution_s": 0.01} if is_timed else {"timeless": True}
    text = "the emulator's process of the instance was started"
    yield reading.event(
        at, "libvirt", "fact", text, keys=keys, fact="process", **when
    )
    for disk in domain["disks"]:
        yield from_disk(disk, keys, at, when, reading)
    yield from from_connections(domain, keys, reading)


def from_disk(
    disk: JsonObject,
    server: Keys,
    at: float,
    when: JsonObject,
    reading: Reading,
) -> Event:
    text = f"the domain's disk {disk['target']} is {disk['protocol'] or disk['type']} {disk['source']}"
    volumes = [
        volume
        for volume in reading.keys.get("volume", [])
        if volume in str(disk["source"])
    ]
    keys = {**server, "volume": volumes} if volumes else dict(server)
    return reading.event(
        at,
        "libvirt",
        "fact",
        text,
        keys=keys,
        fact="disk",
        protocol=disk["protocol"],
        **when,
    )


def from_connections(
    domain: JsonObject, keys: Keys, reading: Reading
) -> Iterable[Event]:
    """Return the connections of the emulator to daemons of Ceph."""
    monitors = monitors_in(domain)
    for peer in domain["process"].get("connections") or []:
        is_monitor = (
            ip_of(peer) in monitors
            and peer.rpartition(":")[2] in MONITOR_PORTS
        )
        fact, daemon = (
            ("monitor", "monitor") if is_monitor else ("osd", "daemon")
        )
        yield reading.fact(
            "qemu",
            fact,
            f"the emulator holds a connection to {peer}, of a Ceph {daemon}",
            keys,
        )


def monitors_in(domain: JsonObject) -> set[str]:
    """Return the addresses of the monitors of Ceph that the domain's disks name."""
    monitors = chain.from_iterable(
        disk.get("monitors") or [] for disk in domain["disks"]
    )
    return set(map(ip_of, monitors))


def ip_of(peer: str) -> str:
    """Return the address before a port. libvirt and ss write IPv6 addresses in different ways."""
    return peer.rpartition(":")[0].strip("[]").removeprefix("::ffff:")


def from_interface(
    port: str, interface: JsonObject, reading: Reading
) -> Iterable[Event]:
    keys = {"port": [port]}
    text = f"{interface['name']} lies on {interface['bridge']} with tag {interface['tag']}"
    yield reading.fact("openvswitch", "interface", text, keys)
    flows = interface.get("flows") or {}
    if flows.get("count"):
        at, error = (
            reading.asked - reading.took / 2 - (flows.get("oldest_s") or 0),
            reading.took / 2 + 1.0,
        )
        about = {
            "keys": keys,
            "fact": "flows",
            "resolution_s": 1.0,
            "error_s": error,
        }
        yield reading.event(
            at,
            "openvswitch",
            "fact",
            f"{flows['count']} flows for the port",
            **about,
        )


def from_dhcp(
    port: str, dhcp: JsonObject, reading: Reading
) -> Iterable[Event]:
    keys = {"port": [port]}
    if dhcp.get("hosts"):
        text = "dnsmasq's file of hosts has the port's MAC address and its IP address"
        yield reading.fact("dnsmasq", "host file", text, keys)
    if dhcp.get("leases"):
        yield reading.fact(
            "dnsmasq", "lease", "dnsmasq has leased the address", keys
        )
    for line in dhcp.get("log") or []:
        about = {
            "keys": keys,
            "resolution_s": line["resolution_s"],
            "message": line["kind"],
        }
        yield reading.event(
            line["at"], "dnsmasq", "dhcp", f"DHCP {line['kind']}", **about
        )


def from_ovn(port: str, ovn: JsonObject, reading: Reading) -> Iterable[Event]:
    keys = {"port": [port]}
    if ovn.get("logical"):
        yield reading.fact(
            "ovn",
            "northbound port",
            "the northbound database has the port",
            keys,
        )
    if ovn.get("binding"):
        yield reading.fact(
            "ovn", "port binding", "the southbound database has the port", keys
        )


def from_proxies(
    port: str, proxies: list[JsonObject], reading: Reading
) -> Iterable[Event]:
    keys = {"port": [port]}
    for proxy in proxies:
        if proxy["processes"]:
            yield reading.fact("metadata-proxy", "proxy", "haproxy runs", keys)
    for proxy in proxies:
        for request in proxy["requests"] or []:
            yield from_request(request, keys, reading)


def from_request(request: JsonObject, keys: Keys, reading: Reading) -> Event:
    return reading.event(
        request["at"] - request.get("seconds", 0),
        "metadata-proxy",
        "http",
        f"GET {request['path']}: {request['status']}",
        until=request["at"],
        keys=keys,
        resolution_s=max(request["resolution_s"], 0.001),
        method="GET",
        path=request["path"],
        status=request["status"],
    )


# What a host knows of each port, by the name of the fact
OF_PORTS: dict[str, Callable[[str, Any, Reading], Iterable[Event]]] = {
    "interfaces": from_interface,
    "dhcp": from_dhcp,
    "metadata": from_proxies,
    "ovn": from_ovn,
}


def from_ceph(ceph: JsonObject, reading: Reading) -> Iterable[Event]:
    for image in ceph.get("images") or []:
        if image.get("exists"):
            yield from from_image(image, reading)


def from_image(image: JsonObject, reading: Reading) -> Iterable[Event]:
    name = f"{image['pool']}/{image['name']}"
    keys = keys_in(
        image["name"].replace("_disk", "").replace("volume-", ""), reading.keys
    )
    if image.get("created"):
        # Ceph writes the time in the zone of the host that asks.
        at = line_formats.spelled(image["created"], reading.zone_s)
        cloned = (
            f", a clone of {image['parent']}" if image.get("parent") else ""
        )
        about = {
            "keys": keys,
            "fact": "image",
            "pool": image["pool"],
            "clone": bool(image.get("parent")),
        }
        yield reading.event(
            at,
            "ceph",
            "fact",
            f"{name} was made{cloned}",
            resolution_s=WHOLE_SECOND,
            **about,
        )
    for watcher in image.get("watchers") or []:
        yield reading.fact(
            "ceph", "watcher", f"{name} is watched from {watcher}", keys
        )


def to_see(
    rule: Rule, _levels: Mapping[str, Any], _services: Iterable[str]
) -> str | None:
    return f"ssh to the host of {rule.service}"


# The facts of hosts are in the record already, filed before a run is followed.
SOURCE = Source(
    name="host",
    tier=2,
    words="what a host knew of {}",
    fields=("fact", "message", "method", "path", "status"),
    events=events,
    to_see=to_see,
    read=read,
    returned="facts",
)
