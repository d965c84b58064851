# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Facts of the hosts when they were read: libvirt, Open vSwitch, OVN, dnsmasq, the metadata proxy and Ceph."""

from __future__ import annotations

from ..._record.clock import seconds_of
from ..._record.ids import keys_in
from ..._record.shapes import event
from ..hosts import all_facts
from ..logs import line_formats
from .source import Source

# Ceph cuts times to the second.
WHOLE_SECOND = 1.0


def read(host, params):
    return all_facts.read(host, params["parts"], params["instance"], params["platform"])


def events(run, _reads):
    """The facts that have a time, or that show that something happened before they were read."""
    record, keys, events = run.record, run.keys, []
    evidence = record.get("evidence")
    asked = seconds_of(evidence["finished"]) if evidence else None
    # Each host was read at some time in between.
    took = asked - seconds_of(evidence["started"]) if evidence else 0.0
    for host in record["hosts"]:
        facts = host["facts"]
        about = {"host": host["host"], "source": "host", "clock": host["host"]}
        # The time of reading is by the control node's clock, and all other times are by the host's own.
        then = None if asked is None else asked + (host["clock_offset_s"] or 0)
        events += from_domain(facts.get("domain"), keys, then, about)
        for port, interface in (facts.get("interfaces") or {}).items():
            events += from_interface(port, interface, then, took, about)
        for port, dhcp in (facts.get("dhcp") or {}).items():
            events += from_dhcp(port, dhcp, then, about)
        for port, proxies in (facts.get("metadata") or {}).items():
            events += from_proxies(port, proxies, then, about)
        for port, ovn in (facts.get("ovn") or {}).items():
            events += from_ovn(port, ovn, then, about)
        events += from_ceph(facts.get("ceph"), keys, then, facts.get("zone_s") or 0, about)
    return events


def from_domain(domain, keys, asked, about):
    process = (domain or {}).get("process")
    if not process:
        return []
    server_keys = {"server": keys.get("server", [])}
    started, when = process["started"], {"resolution_s": 0.01}
    if started is None:
        # The process ended before its start could be read.
        started, when = asked, {"timeless": True}
    text = "the emulator's process of the instance was started"
    events = [event(started, "libvirt", "fact", text, keys=server_keys, fact="process", **when, **about)]
    for disk in domain["disks"]:
        text = f"the domain's disk {disk['target']} is {disk['protocol'] or disk['type']} {disk['source']}"
        volumes = [volume for volume in keys.get("volume", []) if volume in str(disk["source"])]
        disk_keys = {**server_keys, "volume": volumes} if volumes else dict(server_keys)
        fields = {"keys": disk_keys, "fact": "disk", "protocol": disk["protocol"]}
        events.append(event(started, "libvirt", "fact", text, **fields, **when, **about))
    monitors = {ip_of(monitor) for disk in domain["disks"] for monitor in disk.get("monitors") or []}
    for peer in process.get("connections") or []:
        is_monitor = ip_of(peer) in monitors and peer.rpartition(":")[2] in ("3300", "6789")
        fact, daemon = ("monitor", "monitor") if is_monitor else ("osd", "daemon")
        text = f"the emulator holds a connection to {peer}, of a Ceph {daemon}"
        events.append(event(asked, "qemu", "fact", text, keys=server_keys, fact=fact, timeless=True, **about))
    return events


def ip_of(peer):
    """The address before a port. libvirt and ss write IPv6 addresses in different ways."""
    return peer.rpartition(":")[0].strip("[]").removeprefix("::ffff:")


def from_interface(port, interface, asked, took, about):
    if not interface:
        return []
    keys = {"port": [port]}
    text = f"{interface['name']} lies on {interface['bridge']} with tag {interface['tag']}"
    events = [event(asked, "openvswitch", "fact", text, keys=keys, fact="interface", timeless=True, **about)]
    flows = interface.get("flows") or {}
    if flows.get("count"):
        text = f"{flows['count']} flows for the port"
        at, error = asked - took / 2 - (flows.get("oldest_s") or 0), took / 2 + 1.0
        events.append(
            event(at, "openvswitch", "fact", text, keys=keys, fact="flows", resolution_s=1.0, error_s=error, **about)
        )
    return events


def from_dhcp(port, dhcp, asked, about):
    events, keys = [], {"port": [port]}
    dhcp = dhcp or {}
    if dhcp.get("hosts"):
        text = "dnsmasq's file of hosts has the port's MAC address and its IP address"
        events.append(event(asked, "dnsmasq", "fact", text, keys=keys, fact="host file", timeless=True, **about))
    if dhcp.get("leases"):
        text = "dnsmasq has leased the address"
        events.append(event(asked, "dnsmasq", "fact", text, keys=keys, fact="lease", timeless=True, **about))
    for line in dhcp.get("log") or []:
        fields = {"keys": keys, "resolution_s": line["resolution_s"], "message": line["kind"]}
        events.append(event(line["at"], "dnsmasq", "dhcp", f"DHCP {line['kind']}", **fields, **about))
    return events


def from_ovn(port, ovn, asked, about):
    events, ovn = [], ovn or {}
    for name, fact, text in (
        ("logical", "northbound port", "the northbound database has the port"),
        ("binding", "port binding", "the southbound database has the port"),
    ):
        if ovn.get(name):
            events.append(event(asked, "ovn", "fact", text, keys={"port": [port]}, fact=fact, timeless=True, **about))
    return events


def from_proxies(port, proxies, asked, about):
    keys = {"port": [port]}
    running = [
        event(asked, "metadata-proxy", "fact", "haproxy runs", keys=keys, fact="proxy", timeless=True, **about)
        for proxy in proxies or []
        if proxy["processes"]
    ]
    return running + [
        event(
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
            **about,
        )
        for proxy in proxies or []
        for request in proxy["requests"] or []
    ]


def from_ceph(ceph, keys, asked, zone, about):
    events = []
    for image in (ceph or {}).get("images") or []:
        if not image.get("exists"):
            continue
        name = f"{image['pool']}/{image['name']}"
        image_keys = keys_in(image["name"].replace("_disk", "").replace("volume-", ""), keys)
        cloned = f", a clone of {image['parent']}" if image.get("parent") else ""
        if image.get("created"):
            # Ceph writes the time in the zone of the host that asks.
            at = line_formats.spelled(image["created"], zone)
            fields = {"fact": "image", "pool": image["pool"], "clone": bool(image.get("parent"))}
            made = {"keys": image_keys, "resolution_s": WHOLE_SECOND}
            events.append(event(at, "ceph", "fact", f"{name} was made{cloned}", **made, **fields, **about))
        for watcher in image.get("watchers") or []:
            text = f"{name} is watched from {watcher}"
            events.append(event(asked, "ceph", "fact", text, keys=image_keys, fact="watcher", timeless=True, **about))
    return events


def to_see(rule, _levels, _services):
    return f"ssh to the host of {rule['service']}"


# The facts of hosts are in the record already, filed before a run is followed.
SOURCE = Source(
    name="host",
    tier=2,
    words="what a host knew of {}",
    fields=(
        "fact",
        "message",
        "method",
        "path",
        "status",
    ),
    events=events,
    to_see=to_see,
    read=read,
    returned="facts",
)
