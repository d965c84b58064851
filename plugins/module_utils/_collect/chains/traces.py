# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the flows of Open vSwitch, and the logical flows of OVN, would do with the first packets of a guest."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..._model.instance import DescribedInstance, GuestPath, Network, Port
from ..._model.stores import Bridge, Interface, Switch, Trace
from ..._record.sole import sole
from ..commands import Host
from .packets import DHCP, Packet, arriving, leaving, packets_of

ANSWERED, SENT, DROPPED = "answered", "sent", "dropped"
# A line of a trace about a table: its number, and the flow in it that matches
TABLE = re.compile(r"^ *(?P<table>\d+)\. (?P<rule>.+)$")
BRIDGE = re.compile(r'^bridge\("([^"]+)"\)$')
COOKIE = re.compile(r"\bcookie (0x[0-9a-f]+)")
# After connection tracking a packet goes on in the bridge that asked for it.
RESUMED = "Resuming from table"
# What ovn-controller answers itself goes to it with the number of the action: 2 is that of DHCP.
BY_CONTROLLER = re.compile(r"\bcontroller\(userdata=00\.00\.00\.02")
ACTIONS = re.compile(r"^Datapath actions: (?P<actions>.*)$", re.MULTILINE)
ON_HOST = re.compile(
    r"\b(?:controller|userspace|lb_output)\(|\brecirc\(\w+\)$"
)
# The innermost parentheses of an action, with what it is done with
DETAILS = re.compile(r"\([^()]*\)")
# Actions that change a packet or look at it, and send it nowhere
SENDS_NOWHERE = frozenset(
    (
        "drop",
        "ct",
        "ct_clear",
        "set",
        "push_vlan",
        "pop_vlan",
        "push_eth",
        "pop_eth",
        "meter",
        "hash",
    )
)
# The kinds of interfaces that lead out of the host
DEVICES = ("", "system", "dpdk", "afxdp", "afxdp-nonpmd")
# The end of a tunnel, as the datapath of the kernel has it, and in the headers that the one of userspace writes
TUNNEL_END = re.compile(
    r"\b(?:tunnel|ipv[46])\([^()]*?\b(?:ipv6_)?dst=([0-9a-f.:]+)"
)
# The datapath of userspace asks for the MAC of the other host before it sends anything there.
NEIGHBOR = re.compile(r"neighbor cache miss for ([0-9a-f.:]+)")
# What ovn-trace says of a port that the southbound database does not have; an older one goes on with a port that has no
# name
NO_PORT = re.compile(
    r'microflow does not specify ingress port|inport="\(unnamed\)"'
)
# As ovn-trace begins a table: `8. ls_in_acl_eval (northd.c:7072): udp.dst == 67, priority 3100, uuid 8793f882`
LOGICAL_TABLE = re.compile(
    r"^ *(?P<table>\d+)\. (?P<stage>l[sr]_\w+)(?: \([^)]*\))?: (?P<rule>.+?)(?:, uuid [0-9a-f]+)?$",
    re.MULTILINE,
)
# A patch leads to the next network or router, and the trace goes on there.
OUTPUT = re.compile(r'/\* output to "[^"]*", type "(?!patch")')
ANSWER = "put_dhcp_opts("
# The table of rules decides, and one after it carries that out.
DECIDES, CARRIES_OUT = "_acl_eval", "_acl_action"
# In characters
LONGEST_RULE = 200


@dataclass(frozen=True)
class Entry:
    """Where packets come into a switch. carried: how, such as dl_vlan=7; empty for those of a port's own guest."""

    bridge: str
    ofport: int
    carried: str = ""

    def of(self, packet: Packet) -> str:
        """Return a packet that comes in here, as ofproto/trace wants it."""
        return packet.into_switch(
            f"in_port={self.ofport}", *filter(None, [self.carried])
        )


@dataclass(frozen=True)
class Question:
    """A packet to be traced, for a port. receivers: interfaces, one of which has to get it; none where any will do."""

    port: str
    packet: Packet
    entry: Entry
    receivers: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        # The names of interfaces tell whether it got there, not the numbers of the datapath.
        options = ("--names",) if self.receivers else ()
        return (
            "ovs",
            "ovs-appctl",
            "ofproto/trace",
            *options,
            self.entry.bridge,
            self.entry.of(self.packet),
        )


def read(
    host: Host, switch: Switch, instance: DescribedInstance
) -> tuple[Trace, ...]:
    """Return the traces of the packets of an instance through the switch of this host."""
    questions = [*of_instance(switch, instance), *of_paths(switch, instance)]
    found = [
        host.attempt(
            f"the trace of {in_words(question.packet)}", traced, question
        )
        for question in questions
    ]
    return tuple(filter(None, found))


def of_instance(
    switch: Switch, instance: DescribedInstance
) -> Iterator[Question]:
    """Return the first packets of each port of an instance that is on this host."""
    for port in instance.ports:
        entry = entry_of(switch, port.id)
        if entry is not None:
            network = instance.network_of(port)
            exits = exits_to_servers(switch, network, entry)
            for packet in packets_of(port, network):
                yield Question(port.id, packet, entry, exits)


def exits_to_servers(
    switch: Switch, network: Network, entry: Entry
) -> tuple[str, ...]:
    """Return the devices by one of which a guest's packets have to leave for the agents that serve its network.

    Some of them may be on this host, and with OVN each host serves its guests itself.
    """
    serving = [port.id for port in network.serving]
    if network.distributed or switch.interface_of(serving) is not None:
        return ()
    return exits_of(switch, network, entry)


def exits_of(
    switch: Switch, network: Network, entry: Entry
) -> tuple[str, ...]:
    """Return the devices by which packets of a physical network leave a host; none if that cannot be told."""
    integration = sole(
        one for one in switch.bridges if one.name == entry.bridge
    )
    if integration is None or not network.is_physical:
        return ()
    return tuple(
        device.name for device in devices_of(switch, network, integration)
    )


def of_paths(
    switch: Switch, instance: DescribedInstance
) -> Iterator[Question]:
    """Return the packets that got lost between guests, as they leave this host or arrive here."""
    for path in instance.paths:
        entry = entry_of(switch, path.source.id)
        receiver = switch.interface_of([path.target.id])
        if entry is not None:
            yield from of_departure(switch, path, entry, receiver)
        elif receiver is not None:
            yield from of_arrival(switch, path, receiver)


def of_departure(
    switch: Switch, path: GuestPath, entry: Entry, receiver: Interface | None
) -> Iterator[Question]:
    """Return the packet of a guest on this host. receiver: the interface of the other guest, if it is here, too."""
    receivers: tuple[str, ...] = ()
    # A router may be on another host.
    if not path.is_routed:
        receivers = (
            (receiver.name,)
            if receiver
            else exits_of(switch, path.source_network, entry)
        )
    for packet in leaving(path):
        yield Question(path.source.id, packet, entry, receivers)


def of_arrival(
    switch: Switch, path: GuestPath, receiver: Interface
) -> Iterator[Question]:
    """Return the packet of a guest on another host, as it comes in here."""
    integration = switch.bridge_of(receiver.name)
    if integration is None:
        return
    entry = arrival(switch, path.target_network, integration)
    if entry is None:
        return
    for packet in arriving(path):
        yield Question(path.target.id, packet, entry, (receiver.name,))


def entry_of(switch: Switch, port: str) -> Entry | None:
    """Return where the packets of a port come into its switch; None if the port is not there."""
    interface = switch.interface_of([port])
    return entry_by(switch, interface) if interface else None


def entry_by(
    switch: Switch, interface: Interface, carried: str = ""
) -> Entry | None:
    bridge = switch.bridge_of(interface.name)
    if bridge is None or not interface.ofport or interface.ofport < 1:
        return None
    return Entry(bridge.name, interface.ofport, carried)


def arrival(
    switch: Switch, network: Network, integration: Bridge
) -> Entry | None:
    """Return where a network's packets from other hosts come into a switch; None if that cannot be told."""
    if network.is_physical:
        return by_device(switch, network, integration)
    return by_tunnel(switch, network, integration)


def by_tunnel(
    switch: Switch, network: Network, integration: Bridge
) -> Entry | None:
    tunnels = [
        interface
        for interface in switch.interfaces
        if interface.kind == network.kind
    ]
    if not tunnels:
        return None
    # OVN's own tunnels have numbers of its ports in each packet, which Neutron does not know.
    if tunnels[0].name in integration.interfaces:
        return None
    return entry_by(switch, tunnels[0], f"tun_id={network.segment}")


def by_device(
    switch: Switch, network: Network, integration: Bridge
) -> Entry | None:
    device = device_of(switch, network, integration)
    if device is None:
        return None
    carried = "" if network.segment is None else f"dl_vlan={network.segment}"
    return entry_by(switch, device, carried)


def device_of(
    switch: Switch, network: Network, integration: Bridge
) -> Interface | None:
    """Return the first device of the bridge of a physical network."""
    return next(iter(devices_of(switch, network, integration)), None)


def devices_of(
    switch: Switch, network: Network, integration: Bridge
) -> list[Interface]:
    """Return the devices of the bridge of a physical network: of OVN's mapping, or of the only bridge with any."""
    by_bridge: dict[str, list[Interface]] = {}
    for interface in switch.interfaces:
        bridge = switch.bridge_of(interface.name)
        is_device = interface.kind in DEVICES
        if is_device and bridge is not None and bridge != integration:
            by_bridge.setdefault(bridge.name, []).append(interface)
    mapped = switch.mappings.get(network.physical or "")
    if mapped is None:
        return sole(by_bridge.values()) or []
    return by_bridge.get(mapped, [])


def in_words(packet: Packet) -> str:
    return "DHCP" if packet.name == DHCP else packet.name.replace("_", " ")


def traced(host: Host, question: Question) -> Trace:
    trace = parsed(
        host.ask(*question.words),
        question.port,
        question.packet.name,
        question.receivers,
    )
    return replace(trace, command=command_of(question.words))


def command_of(words: Sequence[str]) -> str:
    """Return what is asked of a part of the platform, its first word, as a command for a shell."""
    return shlex.join(words[1:])


def parsed(
    text: str, port: str, packet: str, receivers: Sequence[str] = ()
) -> Trace:
    """Return the outcome of a trace, and the flow that ends it. receivers: one of them has to get the packet."""
    actions = ACTIONS.findall(text)
    if not actions:
        raise ValueError(text[:LONGEST_RULE])
    if BY_CONTROLLER.search(text):
        return Trace(port, packet, ANSWERED)
    # A switch that has not learned an address sends its packets to all ports.
    # Who answers it on the host itself needs no receiver, and of a bond none is named.
    if ON_HOST.search(actions[-1]):
        return Trace(port, packet, SENT)
    is_sent = gets_to(receivers, actions) if receivers else sends(actions[-1])
    if is_sent:
        return Trace(port, packet, SENT, ends=tunnel_ends(text, actions))
    step = last_step(text)
    if step is None:
        return Trace(port, packet, DROPPED)
    return Trace(
        port,
        packet,
        DROPPED,
        step.table,
        step.rule[:LONGEST_RULE],
        listing=step.listing,
    )


@dataclass(frozen=True)
class Step:
    """A flow that a packet came to."""

    bridge: str
    table: int
    rule: str

    @property
    def listing(self) -> str:
        """Return the command that lists the flow, and others of who made it: guests that are gone have left it."""
        cookie = COOKIE.search(self.rule)
        made_by = f",cookie={cookie[1]}/-1" if cookie else ""
        return (
            f"ovs-ofctl dump-flows {self.bridge} table={self.table}{made_by}"
        )


def last_step(text: str) -> Step | None:
    bridge = before = ""
    step = None
    for line in text.splitlines():
        header = BRIDGE.match(line)
        if header:
            before, bridge = bridge, header[1]
        elif RESUMED in line:
            # The header names the bridge where the packet came in.
            bridge = before or bridge
        elif found := TABLE.match(line):
            rule = found["rule"].rstrip(".")
            step = Step(bridge, int(found["table"]), rule)
    return step


def gets_to(interfaces: Iterable[str], actions: list[str]) -> bool:
    names = "|".join(map(re.escape, interfaces))
    name = re.compile(rf"(?<![\w.-])(?:{names})(?![\w.-])")
    return any(map(name.search, actions))


def sends(actions: str) -> bool:
    """Return whether any of the actions of the datapath sends a packet on."""
    found = 1
    while found:
        actions, found = DETAILS.subn("", actions)
    return not SENDS_NOWHERE.issuperset(map(str.strip, actions.split(",")))


def tunnel_ends(text: str, actions: list[str]) -> tuple[str, ...]:
    """Return the addresses of the hosts to which a packet goes in tunnels."""
    found = [*TUNNEL_END.findall("\n".join(actions)), *NEIGHBOR.findall(text)]
    return tuple(dict.fromkeys(found))


def read_logical(host: Host, instance: DescribedInstance) -> tuple[Trace, ...]:
    """Return the traces of the packets of an instance, and of its paths to the other guest, through OVN's networks."""
    found = [
        host.attempt(
            f"OVN's trace of {in_words(packet)}",
            traced_logically,
            port,
            packet,
        )
        for port, packet in sent_by(instance)
    ]
    return tuple(filter(None, found))


def sent_by(instance: DescribedInstance) -> Iterator[tuple[Port, Packet]]:
    """Return the packets of an instance and of its paths, each with the port that sends it."""
    for port in instance.ports:
        yield from (
            (port, packet)
            for packet in packets_of(port, instance.network_of(port))
        )
    for path in instance.paths:
        yield from ((path.source, packet) for packet in leaving(path))


def traced_logically(host: Host, port: Port, packet: Packet) -> Trace | None:
    """Return the trace of a packet from a port; None if the southbound database has no such port, or no longer."""
    # A packet of a new connection, as all of these are
    words = (
        "ovn_sb",
        "ovn-trace",
        "--ct=new",
        f"neutron-{port.network}",
        packet.into_network(port.id),
    )
    text = host.ask(*words)
    if NO_PORT.search(text):
        return None
    return replace(
        parsed_logical(text, port.id, packet.name), command=command_of(words)
    )


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
    return Trace(
        port,
        packet,
        DROPPED,
        int(last["table"]),
        f"{last['stage']}: {last['rule']}"[:LONGEST_RULE],
    )
