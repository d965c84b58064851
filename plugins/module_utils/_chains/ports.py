# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the ports of a host's switch let packets through."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain, product
from operator import attrgetter

from .._components.tables import CARRIERS
from .._model.instance import Network
from .._model.stores import ALL_PACKETS, Bridge, Interface, Switch, Trace
from .._model.words import StageName
from .cloud import Cloud
from .definitions import (
    HOLDS,
    Found,
    LinkDefinition,
    applies_if,
    broken,
    first_broken,
    given,
    here,
    holds_if,
    listed,
    read,
)
from .services import SERVER, agent_on, host_with

# The first packets of a guest may come before the flows of its port.
FEW_PACKETS = 3
# The kind of a bridge's own port, which is usually down as nothing uses it
OWN = "internal"
# The bridge into which ports are plugged
INTEGRATION = "br-int"
COMMAND = (
    "for bridge in $(ovs-vsctl list-br);"
    " do ovs-ofctl --protocols=OpenFlow10,OpenFlow13 dump-ports-desc $bridge; done"
)
FLOWS_OF_BRIDGES = (
    "for bridge in $(ovs-vsctl list-br);"
    " do ovs-ofctl --protocols=OpenFlow10,OpenFlow13 dump-aggregate $bridge; done;"
    " ovs-vsctl --columns=name,fail_mode,controller list Bridge"
)
LOCAL_ENDS = "grep --recursive ^local_ip /etc/neutron; ip -brief address"
# The hosts from which and to which a packet goes
Way = tuple["str | None", "str | None"]


def carrier(cloud: Cloud) -> str | None:
    return CARRIERS.get(cloud.back_end or "")


def open_ports(cloud: Cloud, host: str | None) -> Found:
    """Return whether the flags of no port that the instance's packets may use have it drop them."""
    switch = given(cloud.switch(host))
    used = {INTEGRATION, *bridges_of(cloud, host)}
    for bridge in switch.bridges:
        # Where sudo lacks the rule for it, as one of an older version does, nothing is known.
        applies_if(not cloud.is_unread(host, f"the ports of {bridge.name}"))
    for bridge in switch.bridges:
        cut = first_cut(switch, bridge, cloud)
        if cut is not None and bridge.name in used:
            return broken(cut.drops, subject=cut.name)
    return HOLDS


def flowing(cloud: Cloud, host: str | None) -> Found:
    """Return whether each bridge that the instance's packets pass has flows: one without any drops all.

    OVN leaves those of physical networks as they are.
    """
    switch = given(cloud.switch(host))
    integration = integration_of(switch)
    used = {integration, *bridges_of(cloud, host)}
    for bridge in switch.bridges:
        if bridge.name in used and given(bridge.flows) == 0:
            made = bridge.name == integration or cloud.back_end != "ovn"
            owner = carrier(cloud) if made else "ovsdb"
            return broken(subject=bridge.name, owner=owner)
    return HOLDS


def patched(
    switch: Switch, bridge: str, integration: str = INTEGRATION
) -> Found:
    """Return whether there is a patch from the integration bridge to another one, and back."""
    patches = list(filter(is_patch, switch.interfaces))
    failed = next((patch for patch in patches if patch.error), None)
    if switch.bridge(bridge) is None:
        return broken("none", bridge)
    if failed is not None:
        return broken(f"{failed.name}: {failed.error}", bridge, owner="ovsdb")
    ends = {(patch.name, patch.peer) for patch in patches}
    pairs = product(names_on(switch, integration), names_on(switch, bridge))
    is_connected = any(
        ends.issuperset([(inner, outer), (outer, inner)])
        for inner, outer in pairs
    )
    return holds_if(is_connected, "none", bridge)


def is_patch(interface: Interface) -> bool:
    return interface.kind == "patch"


def integration_of(switch: Switch) -> str:
    """Return the name of the bridge into which ports are plugged."""
    return switch.settings.get("ovn-bridge", INTEGRATION)


def names_on(switch: Switch, bridge: str) -> tuple[str, ...]:
    found = switch.bridge(bridge)
    return found.interfaces if found else ()


def bridges_of(cloud: Cloud, host: str | None) -> set[str]:
    """Return the bridges of the physical networks that a host is configured with, and of the network's tunnels."""
    found = set(mappings_on(cloud, host).values())
    switch = cloud.switch(host)
    if switch is not None:
        found.update(
            bridge.name
            for bridge in switch.bridges
            if has_tunnels(switch, bridge, cloud)
        )
    return found


def mappings_on(cloud: Cloud, host: str | None) -> dict[str, str]:
    """Return the bridge of each physical network that a host is configured with, by its agent or ovn-controller."""
    agent = agent_on(cloud, "neutron-l2-agent", host)
    switch = cloud.switch(host)
    found: dict[str, str] = {}
    if agent is not None:
        found.update(agent.physical or {})
    if switch is not None:
        found.update(switch.mappings)
    return found


def wired(cloud: Cloud, host: str | None, physicals: Iterable[str]) -> Found:
    """Return whether the bridge of each physical network has a device of the host, if those of others have one."""
    given(cloud.switch(host))
    others = [other for other in cloud.switches if other != host]
    for physical in sorted(physicals):
        wires = [wires_to(cloud, other, physical) for other in others]
        known = [len(found) for found in wires if found is not None]
        is_usual = min(known, default=0) > 0
        if is_usual and wires_to(cloud, host, physical) == []:
            bridge = mappings_on(cloud, host)[physical]
            return broken("none", subject=bridge)
    return HOLDS


def wires_to(
    cloud: Cloud, host: str | None, physical: str
) -> list[str] | None:
    """Return the devices by which a host reaches a physical network; None if it has no bridge for that."""
    switch = cloud.switch(host)
    bridge = mappings_on(cloud, host).get(physical)
    if switch is None or bridge is None or switch.bridge(bridge) is None:
        return None
    inner = names_on(switch, integration_of(switch))
    names = names_on(switch, bridge)
    # A patch to a third bridge may lead to the wire as well.
    return [
        interface.name
        for interface in switch.interfaces
        if interface.name in names
        and interface.kind != OWN
        and interface.peer not in inner
    ]


def tunnel_between(
    cloud: Cloud, network: Network, near: str | None, far: str | None
) -> Found | None:
    """Return whether a host has a tunnel to another one; None if the network needs none there."""
    switch = cloud.switch(near)
    if network.kind is None or network.is_physical:
        return None
    if switch is None or far not in cloud.addresses.values() or near == far:
        return None
    remotes = [
        tunnel.remote
        for tunnel in switch.interfaces
        if tunnel.remote and not tunnel.error
    ]
    is_there = far in map(cloud.host_at, remotes)
    found = holds_if(is_there, listed(remotes), far)
    owner, host = owner_of_tunnels(cloud, network.kind, near)
    return replace(found, owner=owner, host=host)


def owner_of_tunnels(
    cloud: Cloud, kind: str, near: str | None
) -> tuple[str | None, str | None]:
    """Return who makes a host's tunnels, and where: agents make them to those of whom Neutron tells them.

    If no host has one, it tells none of them.
    """
    switches = cloud.switches.values()
    interfaces = chain.from_iterable(map(attrgetter("interfaces"), switches))
    if cloud.back_end == "ovn" or kind in map(attrgetter("kind"), interfaces):
        return carrier(cloud), near
    return SERVER, host_with(cloud, SERVER)


def begin_at_home(
    cloud: Cloud, network: Network, ways: Iterable[Way]
) -> Found:
    """Check whether the tunnels from some hosts to others begin at addresses of their own.

    ways: the hosts from which and to which packets go.
    """
    applies_if(not network.is_physical)
    found: list[Found | None] = []
    for near, far in ways:
        tunnels = tunnels_between(cloud, network, near, far)
        found += [tunnel_end(cloud, tunnel, near) for tunnel in tunnels]
    return first_broken(found)


def tunnels_between(
    cloud: Cloud, network: Network, near: str | None, far: str | None
) -> list[Interface]:
    """Return the tunnels of a network that lead from a host to another one, and work."""
    switch = cloud.switch(near)
    interfaces = switch.interfaces if switch else ()
    return [
        one
        for one in interfaces
        if one.kind == network.kind
        and not one.error
        and cloud.host_at(one.remote or "") == far
    ]


def tunnel_end(
    cloud: Cloud, tunnel: Interface, host: str | None
) -> Found | None:
    """Return whether a tunnel begins at its host; None if it does not say where, or not all addresses are known."""
    begin = tunnel.local
    if begin is None or begin in cloud.facts_of(host).addresses:
        return None
    own = cloud.addresses_of_links(host)
    if cloud.host_at(begin) in (None, host) and not own:
        return None
    found = holds_if(begin in own, begin)
    return replace(found, host=host, owner=carrier(cloud))


def directed(
    cloud: Cloud,
    network: Network,
    way: Way,
    trace: Trace | None,
) -> Found | None:
    """Return whether a packet goes from a host to another one in a tunnel; None if that needs none, or is not known."""
    tunnel = tunnel_between(cloud, network, *way)
    if tunnel is None or trace is None or trace.ends is None:
        return None
    _near, far = way
    to = list(map(cloud.host_at, trace.ends))
    if None in to:
        return None
    found = holds_if(far in to, listed(filter(None, to)), far)
    return replace(
        found, host=tunnel.host, owner=tunnel.owner, command=trace.command
    )


def carrying(cloud: Cloud) -> set[str]:
    """Return the physical network that carries the port's network, as an administrator sees it."""
    return {given(cloud.network_or_empty.physical)}


def has_tunnels(switch: Switch, bridge: Bridge, cloud: Cloud) -> bool:
    """Return whether a bridge has tunnels of the kind that carries the instance's network."""
    kind = cloud.network_or_empty.kind
    return any(
        interface.kind == kind and interface.name in bridge.interfaces
        for interface in switch.interfaces
    )


def first_cut(
    switch: Switch, bridge: Bridge, cloud: Cloud
) -> Interface | None:
    """Return the first port of a bridge that drops what the instance may send or get; a spare device may be down."""
    down: list[Interface] = []
    up: list[Interface] = []
    for interface in switch.interfaces:
        if interface.name not in bridge.interfaces or interface.kind == OWN:
            continue
        # Those of other instances do not matter.
        if interface.port not in (None, cloud.port_id):
            continue
        # A spare device is down as well.
        if interface.drops == ALL_PACKETS:
            down.append(interface)
        else:
            up.append(interface)
    for interface in up or down:
        if interface.drops:
            return interface
    return None


def takes_packets(cloud: Cloud) -> Found:
    """Check whether the switch takes what a new guest sends: the flows of its port count what came in by its link.

    An older guest may send nothing. Flows that are younger than the server count from their own beginning.
    """
    applies_if(not cloud.is_of_others)
    interface = given(cloud.interface(cloud.host))
    received = given(given(interface.link).received)
    flows = given(interface.flows)
    applies_if(received > FEW_PACKETS and flows.count)
    applies_if((flows.oldest_s or 0.0) >= seconds_since_boot(cloud))
    return holds_if(read(flows.packets) > 0, "0", str(received))


def seconds_since_boot(cloud: Cloud) -> float:
    """Return how long the stage boot had been over when the hosts were read."""
    read_at = given(cloud.record.evidence).started
    built = cloud.record.stage_or_skipped(StageName.BOOT).finished
    return read_at - given(built)


def link_of_taken_packets(code: str) -> LinkDefinition:
    return LinkDefinition(
        code,
        "ovsdb",
        takes_packets,
        here,
        "ovs-vsctl get Open_vSwitch . other_config; ovs-appctl dpif/show; "
        "ovs-ofctl --rsort dump-flows br-int table=0",
    )


def links_of_ports(
    prefix: str,
    host_of: Callable[[Cloud], str | None],
    physicals_of: Callable[[Cloud], set[str]] = carrying,
) -> tuple[LinkDefinition, ...]:
    """Return the links by which a host's switch lets packets to and from the wire."""
    return (
        LinkDefinition(
            f"{prefix}bridge_wired",
            "ovsdb",
            lambda cloud: wired(cloud, host_of(cloud), physicals_of(cloud)),
            host_of,
            "ovs-vsctl show",
        ),
        LinkDefinition(
            f"{prefix}ports_open",
            "ovsdb",
            lambda cloud: open_ports(cloud, host_of(cloud)),
            host_of,
            COMMAND,
        ),
        LinkDefinition(
            f"{prefix}bridge_flows",
            "ovsdb",
            lambda cloud: flowing(cloud, host_of(cloud)),
            host_of,
            FLOWS_OF_BRIDGES,
        ),
    )
