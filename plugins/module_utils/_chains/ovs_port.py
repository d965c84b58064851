# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How Neutron's agents carry a port to the switch of its host (ML2/OVS)."""

from __future__ import annotations

from collections.abc import Callable

from .._model.record import Agent
from .._model.stores import Switch
from .._model.words import StageName
from .cloud import Cloud
from .definitions import NOT_APPLICABLE, UNREADABLE, ChainDefinition, Found, LinkDefinition, broken, holds_if
from .ovn_port import UNBOUND, here

AGENT = "neutron-l2-agent"
# The bridge into which agents plug ports
INTEGRATION = "br-int"
# The VLAN that an agent gives to what it could not wire
DEAD_VLAN = 4095
# A network is carried by a physical network, or in tunnels.
PHYSICAL = ("flat", "vlan")

HostOf = Callable[[Cloud], "str | None"]


def agent_on(cloud: Cloud, component: str, host: str | None) -> Agent | None:
    agents = cloud.record.agents or ()
    return next((one for one in agents if one.component == component and cloud.name_of(one.host) == host), None)


def is_alive(cloud: Cloud, component: str, host: str | None) -> Found:
    """Return whether an agent reports to the cloud, and nobody has disabled it."""
    agent = agent_on(cloud, component, host)
    if not cloud.record.agents or host is None:
        return UNREADABLE
    if agent is None:
        return broken("unknown to Neutron")
    if not agent.enabled:
        return broken("disabled")
    return holds_if(
        agent.state == "up", f"not reporting since {agent.last_report}" if agent.last_report else "not reporting"
    )


def carries_network(cloud: Cloud, host: str | None) -> Found:
    """Return whether the agent of a host reaches what carries the port's network."""
    agent = agent_on(cloud, AGENT, host)
    network = cloud.network
    if agent is None or network is None or network.kind is None:
        return NOT_APPLICABLE
    if network.kind in PHYSICAL:
        physical = agent.physical or ()
        return holds_if(network.physical in physical, ", ".join(physical) or "none", network.physical)
    tunnels = agent.tunnels
    if tunnels is None:
        return NOT_APPLICABLE
    return holds_if(network.kind in tunnels, ", ".join(tunnels) or "none", network.kind)


def has_patches(cloud: Cloud, host: str | None) -> Found:
    """Return whether the bridge of the port's physical network is connected with the integration bridge."""
    switch = cloud.switch(host)
    agent = agent_on(cloud, AGENT, host)
    if switch is None:
        return UNREADABLE
    if cloud.network is None or agent is None or cloud.network.kind not in PHYSICAL:
        return NOT_APPLICABLE
    bridge = (agent.physical or {}).get(cloud.network.physical or "")
    if bridge is None:
        return NOT_APPLICABLE
    if switch.bridge(bridge) is None:
        return broken("none", bridge)
    return patched(switch, bridge)


def patched(switch: Switch, bridge: str) -> Found:
    """Return whether there is a patch from the integration bridge to another one, and back."""
    patches = {interface.name: interface for interface in switch.interfaces if interface.kind == "patch"}
    failed = [patch for patch in patches.values() if patch.error]
    if failed:
        return broken(f"{failed[0].name}: {failed[0].error}", bridge, owner="ovsdb")
    inner = [patches[name] for name in names_on(switch, INTEGRATION) if name in patches]
    outer = set(names_on(switch, bridge))
    there = [patch for patch in inner if patch.peer in outer]
    back = [patch for patch in there if patches[patch.peer or ""].peer == patch.name]
    return holds_if(bool(back), "none", bridge)


def names_on(switch: Switch, bridge: str) -> tuple[str, ...]:
    found = switch.bridge(bridge)
    return found.interfaces if found else ()


def bound(cloud: Cloud) -> Found:
    if cloud.port is None or cloud.port.kind is None or not cloud.port.host:
        return NOT_APPLICABLE
    return holds_if(cloud.port.kind not in UNBOUND, cloud.port.kind)


def plugged(cloud: Cloud) -> Found:
    interface = cloud.interface(cloud.host)
    if interface is None:
        return broken("none has the port's id") if cloud.is_in_domain else NOT_APPLICABLE
    is_there = interface.ofport is not None and interface.ofport > 0
    return holds_if(is_there, interface.error or "no number of a port")


def tagged(cloud: Cloud) -> Found:
    """Check whether the agent has given the port the VLAN of its network on this host."""
    interface = cloud.interface(cloud.host)
    if interface is None or interface.bridge != INTEGRATION:
        return NOT_APPLICABLE
    if interface.tag == DEAD_VLAN:
        return broken("the dead VLAN 4095")
    return holds_if(interface.tag is not None, "none")


def linked(cloud: Cloud) -> Found:
    interface = cloud.interface(cloud.host)
    if interface is None or interface.link is None:
        return NOT_APPLICABLE
    return holds_if(interface.link.up, "down", "up")


def agent_links(host_of: HostOf, prefix: str = "") -> tuple[LinkDefinition, ...]:
    """Return the links by which any port on a host is wired."""
    return (
        LinkDefinition(
            f"{prefix}agent_alive",
            AGENT,
            lambda cloud: is_alive(cloud, AGENT, host_of(cloud)),
            host_of,
            "openstack network agent list --host {host}",
        ),
        LinkDefinition(
            f"{prefix}agent_carries_network",
            AGENT,
            lambda cloud: carries_network(cloud, host_of(cloud)),
            host_of,
            "grep -E '^(bridge_mappings|tunnel_types)' /etc/neutron/plugins/ml2/openvswitch_agent.ini",
        ),
        LinkDefinition(
            f"{prefix}agent_patches", AGENT, lambda cloud: has_patches(cloud, host_of(cloud)), host_of, "ovs-vsctl show"
        ),
    )


CHAIN = ChainDefinition(
    name="ovs_port",
    stages=(StageName.BOOT, StageName.METADATA),
    applies=lambda cloud: cloud.back_end == "agents" and bool(cloud.stores),
    subject=lambda cloud: cloud.port.id if cloud.port else None,
    links=(
        *agent_links(here),
        LinkDefinition("ovs_bound", "neutron-server", bound, lambda _cloud: None, "openstack port show {port}"),
        LinkDefinition("ovs_plugged", "ovsdb", plugged, here, "ovs-vsctl find Interface external_ids:iface-id={port}"),
        LinkDefinition("ovs_tagged", AGENT, tagged, here, "ovs-vsctl show"),
        LinkDefinition("ovs_linked", "libvirt", linked, here, "ip link show"),
    ),
)
