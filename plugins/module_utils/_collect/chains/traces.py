# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Packet traces: what the flows of Open vSwitch would do with the first packets of a guest. None is sent."""

from __future__ import annotations

import re

from ..._model.instance import LOCALPORT, ROUTER_INTERFACE, DescribedInstance, Network, Port
from ..._model.stores import Interface, Switch, Trace
from ..commands import Host

DHCP, METADATA, PING = "dhcp", "metadata", "ping"
ANSWERED, SENT, DROPPED = "answered", "sent", "dropped"
METADATA_ADDRESS = "169.254.169.254"
# An address of the world outside: one of those for documentation, which nobody has
OUTSIDE = "198.51.100.1"
# A line of a trace about a table: its number, and the flow in it that matches
TABLE = re.compile(r"^ *(?P<table>\d+)\. (?P<rule>.+)$")
# What ovn-controller answers itself goes to it with the number of the action: 2 is that of DHCP.
BY_CONTROLLER = re.compile(r"\bcontroller\(userdata=00\.00\.00\.02")
ACTIONS = re.compile(r"^Datapath actions: (?P<actions>.*)$", re.MULTILINE)
# In characters
LONGEST_RULE = 200


def read(host: Host, switch: Switch, instance: DescribedInstance) -> tuple[Trace, ...]:
    """Return the traces of the packets of each port of an instance that is on this host."""
    found: list[Trace | None] = []
    for port in instance.ports:
        interface = switch.interface_of([port.id])
        bridge = switch.bridge_of(interface.name) if interface else None
        if interface is None or bridge is None or not interface.ofport or interface.ofport < 1:
            continue
        network = instance.network_of(port)
        found.append(host.attempt("the trace of DHCP", dhcp, bridge.name, interface, port))
        if network.distributed:
            found.append(host.attempt("the trace of metadata", metadata, bridge.name, interface, port, network))
        if port.floating_ips:
            found.append(host.attempt("the trace of ping", ping, bridge.name, interface, port, network))
    return tuple(filter(None, found))


def dhcp(host: Host, bridge: str, interface: Interface, port: Port) -> Trace:
    packet = (
        f"in_port={interface.ofport},udp,dl_src={port.mac},dl_dst=ff:ff:ff:ff:ff:ff,"
        "nw_src=0.0.0.0,nw_dst=255.255.255.255,nw_ttl=64,udp_src=68,udp_dst=67"
    )
    return parsed(host.ask("ovs", "ovs-appctl", "ofproto/trace", bridge, packet), port.id, DHCP)


def metadata(host: Host, bridge: str, interface: Interface, port: Port, network: Network) -> Trace | None:
    """Trace a guest's request to OVN's metadata port, which its DHCP options name as the way there."""
    way = way_by(LOCALPORT, port, network)
    if way is None:
        return None
    packet = f"in_port={interface.ofport},tcp,{way},nw_dst={METADATA_ADDRESS},nw_ttl=64,tcp_src=40000,tcp_dst=80"
    return parsed(host.ask("ovs", "ovs-appctl", "ofproto/trace", bridge, packet), port.id, METADATA)


def ping(host: Host, bridge: str, interface: Interface, port: Port, network: Network) -> Trace | None:
    """Trace a guest's ping to the outside, by its router: the flows let answers to others pass as they do this."""
    way = way_by(ROUTER_INTERFACE, port, network)
    if way is None:
        return None
    packet = f"in_port={interface.ofport},icmp,{way},nw_dst={OUTSIDE},nw_ttl=64,icmp_type=8,icmp_code=0"
    return parsed(host.ask("ovs", "ovs-appctl", "ofproto/trace", bridge, packet), port.id, PING)


def way_by(owner: str, port: Port, network: Network) -> str | None:
    """Return the fields of a packet that a guest sends by a port of its network, if both are known."""
    macs = [serving.mac for serving in network.serving if serving.owner == owner and serving.mac]
    addresses = [address for address in port.addresses if ":" not in address]
    return f"dl_src={port.mac},dl_dst={macs[0]},nw_src={addresses[0]}" if macs and addresses else None


def parsed(text: str, port: str, packet: str) -> Trace:
    """Return the outcome of a trace, and the flow that ends it."""
    actions = ACTIONS.findall(text)
    if not actions:
        raise ValueError(text[:LONGEST_RULE])
    if BY_CONTROLLER.search(text):
        return Trace(port, packet, ANSWERED)
    if actions[-1] != "drop":
        return Trace(port, packet, SENT)
    steps = list(filter(None, map(TABLE.match, text.splitlines())))
    if not steps:
        return Trace(port, packet, DROPPED)
    return Trace(port, packet, DROPPED, int(steps[-1]["table"]), steps[-1]["rule"][:LONGEST_RULE])
