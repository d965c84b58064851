# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Packet traces: what the flows of Open vSwitch would do with the packets by which a guest begins. None is sent."""

from __future__ import annotations

import re

from ..._model.instance import DescribedInstance, Network, Port
from ..._model.stores import Interface, Switch, Trace
from ..commands import Host

DHCP, METADATA = "dhcp", "metadata"
ANSWERED, SENT, DROPPED = "answered", "sent", "dropped"
LOCALPORT = "network:distributed"
METADATA_ADDRESS = "169.254.169.254"
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
        if network.distributed and port.addresses:
            found.append(host.attempt("the trace of metadata", metadata, bridge.name, interface, port, network))
    return tuple(filter(None, found))


def dhcp(host: Host, bridge: str, interface: Interface, port: Port) -> Trace:
    packet = (
        f"in_port={interface.ofport},udp,dl_src={port.mac},dl_dst=ff:ff:ff:ff:ff:ff,"
        "nw_src=0.0.0.0,nw_dst=255.255.255.255,nw_ttl=64,udp_src=68,udp_dst=67"
    )
    return parsed(host.ask("ovs", "ovs-appctl", "ofproto/trace", bridge, packet), port.id, DHCP)


def metadata(host: Host, bridge: str, interface: Interface, port: Port, network: Network) -> Trace | None:
    """Trace a guest's request to OVN's metadata port, which its DHCP options name as the way there."""
    macs = [serving.mac for serving in network.serving if serving.owner == LOCALPORT and serving.mac]
    address = next((address for address in port.addresses if ":" not in address), None)
    if not macs or address is None:
        return None
    packet = (
        f"in_port={interface.ofport},tcp,dl_src={port.mac},dl_dst={macs[0]},"
        f"nw_src={address},nw_dst={METADATA_ADDRESS},nw_ttl=64,tcp_src=40000,tcp_dst=80"
    )
    return parsed(host.ask("ovs", "ovs-appctl", "ofproto/trace", bridge, packet), port.id, METADATA)


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
