# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the hosts knew when they were read: libvirt, Open vSwitch, dnsmasq, the metadata proxy and Ceph."""

from __future__ import annotations

from ..._record.clock import seconds_of
from ..._record.ids import keys_in
from ..._record.shapes import event
from .. import host_facts, log_formats
from .source import Source

# A cut-off second of Ceph's
WHOLE_SECOND = 1.0


def read(host, params):
    return host_facts.read(host, params["parts"], params["instance"], params["platform"])


def events(run, _reads):
    """What the hosts knew when they were read, as far as it has a time, or shows that something happened before."""
    record, keys, found = run.record, run.keys, []
    evidence = record.get("evidence")
    asked = seconds_of(evidence["finished"]) if evidence else None
    # Each host was asked at some time in between.
    slow = asked - seconds_of(evidence["started"]) if evidence else 0.0
    for host in record["hosts"]:
        facts = host["facts"]
        about = {"host": host["host"], "source": "host", "clock": host["host"]}
        # When it was asked is known by the control node's clock, and all else by the host's own.
        then = None if asked is None else asked + (host["clock_offset_s"] or 0)
        found += from_domain(facts.get("domain"), keys, then, about)
        for port, interface in (facts.get("interfaces") or {}).items():
            found += from_interface(port, interface, then, slow, about)
        for port, dhcp in (facts.get("dhcp") or {}).items():
            found += from_dhcp(port, dhcp, then, about)
        for port, proxies in (facts.get("metadata") or {}).items():
            found += from_proxies(port, proxies, about)
        found += from_ceph(facts.get("ceph"), keys, then, facts.get("zone_s") or 0, about)
    return found


def from_domain(domain, keys, asked, about):
    process = (domain or {}).get("process")
    if not process:
        return []
    mine = {"server": keys.get("server", [])}
    started, when = process["started"], {"resolution_s": 0.01}
    if started is None:
        # It had ended before its start could be read.
        started, when = asked, {"timeless": True}
    text = "the emulator's process of the instance was started"
    found = [event(started, "libvirt", "fact", text, keys=mine, fact="process", **when, **about)]
    for disk in domain["disks"]:
        text = f"the domain's disk {disk['target']} is {disk['protocol'] or disk['type']} {disk['source']}"
        volume = {"volume": [one for one in keys.get("volume", []) if one in str(disk["source"])]}
        more = volume if volume["volume"] else {}
        found.append(
            event(
                started, "libvirt", "fact", text, keys={**mine, **more}, fact="disk", protocol=disk["protocol"],
                **when, **about,
            )
        )  # fmt: skip
    monitors = {ip_of(one) for disk in domain["disks"] for one in disk.get("monitors") or []}
    for peer in process.get("connections") or []:
        is_monitor = ip_of(peer) in monitors and peer.rpartition(":")[2] in ("3300", "6789")
        what = "monitor" if is_monitor else "osd"
        text = f"the emulator holds a connection to {peer}, of a Ceph {what.replace('osd', 'daemon')}"
        found.append(event(asked, "qemu", "fact", text, keys=mine, fact=what, timeless=True, **about))
    return found


def ip_of(peer):
    """The address before a port: libvirt and ss write that of IPv6 each in its way."""
    return peer.rpartition(":")[0].strip("[]").removeprefix("::ffff:")


def from_interface(port, interface, asked, slow, about):
    if not interface:
        return []
    mine = {"port": [port]}
    text = f"{interface['name']} lies on {interface['bridge']} with tag {interface['tag']}"
    found = [event(asked, "openvswitch", "fact", text, keys=mine, fact="interface", timeless=True, **about)]
    flows = interface.get("flows") or {}
    if flows.get("count"):
        text = f"{flows['count']} flows for the port"
        at, error = asked - slow / 2 - (flows.get("oldest_s") or 0), slow / 2 + 1.0
        found.append(
            event(at, "openvswitch", "fact", text, keys=mine, fact="flows", resolution_s=1.0, error_s=error, **about)
        )
    return found


def from_dhcp(port, dhcp, asked, about):
    found, mine = [], {"port": [port]}
    dhcp = dhcp or {}
    if dhcp.get("hosts"):
        text = "dnsmasq's file of hosts has the port's MAC address and its IP address"
        found.append(event(asked, "dnsmasq", "fact", text, keys=mine, fact="host file", timeless=True, **about))
    if dhcp.get("leases"):
        text = "dnsmasq has leased the address"
        found.append(event(asked, "dnsmasq", "fact", text, keys=mine, fact="lease", timeless=True, **about))
    for line in dhcp.get("log") or []:
        found.append(
            event(
                line["at"], "dnsmasq", "dhcp", f"DHCP {line['kind']}", keys=mine, resolution_s=line["resolution_s"],
                message=line["kind"], **about,
            )
        )  # fmt: skip
    return found


def from_proxies(port, proxies, about):
    return [
        event(
            request["at"] - request.get("seconds", 0),
            "metadata-proxy",
            "http",
            f"GET {request['path']}: {request['status']}",
            until=request["at"],
            keys={"port": [port]},
            resolution_s=max(request["resolution_s"], 0.001),
            method="GET",
            path=request["path"],
            status=request["status"],
            **about,
        )
        for proxy in proxies or []
        for request in proxy["requests"] or []
    ]  # fmt: skip


def from_ceph(ceph, keys, asked, zone, about):
    found = []
    for image in (ceph or {}).get("images") or []:
        if not image.get("exists"):
            continue
        name = f"{image['pool']}/{image['name']}"
        mine = keys_in(image["name"].replace("_disk", "").replace("volume-", ""), keys)
        cloned = f", a clone of {image['parent']}" if image.get("parent") else ""
        if image.get("created"):
            # Ceph says it in the time of the host that was asked.
            at = log_formats.spelled(image["created"], zone)
            text = f"{name} was made{cloned}"
            found.append(
                event(
                    at, "ceph", "fact", text, keys=mine, resolution_s=WHOLE_SECOND, fact="image", pool=image["pool"],
                    clone=bool(image.get("parent")), **about,
                )
            )  # fmt: skip
        for watcher in image.get("watchers") or []:
            text = f"{name} is watched from {watcher}"
            found.append(event(asked, "ceph", "fact", text, keys=mine, fact="watcher", timeless=True, **about))
    return found


def to_see(rule, _levels, _services):
    return f"ssh to the host of {rule['service']}"


# What hosts know is in the record already, filed before a run is followed.
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
