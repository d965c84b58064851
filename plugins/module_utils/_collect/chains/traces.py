# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the flows of Open vSwitch, and the logical flows of OVN, would do with the first packets of a guest."""

from __future__ import annotations

import re

from ..._model.instance import DescribedInstance
from ..._model.stores import Switch, Trace
from ..commands import Host
from .packets import DHCP, Packet, packets_of

ANSWERED, SENT, DROPPED = "answered", "sent", "dropped"
# A line of a trace about a table: its number, and the flow in it that matches
TABLE = re.compile(r"^ *(?P<table>\d+)\. (?P<rule>.+)$")
# What ovn-controller answers itself goes to it with the number of the action: 2 is that of DHCP.
BY_CONTROLLER = re.compile(r"\bcontroller\(userdata=00\.00\.00\.02")
ACTIONS = re.compile(r"^Datapath actions: (?P<actions>.*)$", re.MULTILINE)
# As ovn-trace begins a table: `8. ls_in_acl_eval (northd.c:7072): udp.dst == 67, priority 3100, uuid 8793f882`
LOGICAL_TABLE = re.compile(
    r"^ *(?P<table>\d+)\. (?P<stage>l[sr]_\w+)(?: \([^)]*\))?: (?P<rule>.+?)(?:, uuid [0-9a-f]+)?$", re.MULTILINE
)
# A patch leads to the next network or router, and the trace goes on there.
OUTPUT = re.compile(r'/\* output to "[^"]*", type "(?!patch")')
ANSWER = "put_dhcp_opts("
# The table of rules decides, and one after it carries that out.
DECIDES, CARRIES_OUT = "_acl_eval", "_acl_action"
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
        for packet in packets_of(port, instance.network_of(port)):
            words = ("ovs", "ovs-appctl", "ofproto/trace", bridge.name, packet.into_switch(interface.ofport))
            found.append(host.attempt(f"the trace of {in_words(packet)}", traced, words, port.id, packet.name))
    return tuple(filter(None, found))


def in_words(packet: Packet) -> str:
    return "DHCP" if packet.name == DHCP else packet.name


def traced(host: Host, words: tuple[str, ...], port: str, packet: str) -> Trace:
    return parsed(host.ask(*words), port, packet)


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


def read_logical(host: Host, instance: DescribedInstance) -> tuple[Trace, ...]:
    """Return the traces of the packets of each port of an instance through its network in OVN."""
    found: list[Trace | None] = []
    for port in instance.ports:
        network = f"neutron-{port.network}"
        for packet in packets_of(port, instance.network_of(port)):
            # A packet of a new connection, as all of these are
            words = ("ovn_sb", "ovn-trace", "--ct=new", network, packet.into_network(port.id))
            what = f"OVN's trace of {in_words(packet)}"
            found.append(host.attempt(what, traced_logically, words, port.id, packet.name))
    return tuple(filter(None, found))


def traced_logically(host: Host, words: tuple[str, ...], port: str, packet: str) -> Trace:
    return parsed_logical(host.ask(*words), port, packet)


def parsed_logical(text: str, port: str, packet: str) -> Trace:
    """Return the outcome of a trace by OVN, and the logical flow that ends it. A drop is no output anywhere."""
    steps = list(LOGICAL_TABLE.finditer(text))
    if not steps:
        raise ValueError(text[:LONGEST_RULE])
    if OUTPUT.search(text):
        return Trace(port, packet, ANSWERED if ANSWER in text else SENT)
    last = steps[-1]
    if last["stage"].endswith(CARRIES_OUT):
        deciding = [step for step in steps if step["stage"].endswith(DECIDES)]
        last = deciding[-1] if deciding else last
    return Trace(port, packet, DROPPED, int(last["table"]), f"{last['stage']}: {last['rule']}"[:LONGEST_RULE])
