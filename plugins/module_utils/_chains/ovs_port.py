# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How Neutron's agents carry a port to the switch of its host (ML2/OVS)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from itertools import chain

from .._model.record import Agent
from .._model.words import StageName
from .cloud import Cloud
from .definitions import (
    HOLDS,
    ChainDefinition,
    Found,
    LinkDefinition,
    applies_if,
    broken,
    given,
    here,
    holds_if,
    listed,
    nowhere,
    read,
)
from .ovn_chassis import UNBOUND
from .ovn_port import plugged, port_bound
from .ports import (
    INTEGRATION,
    link_of_taken_packets,
    links_of_ports,
    patched,
)
from .services import SERVER, agent_on, agents_of, host_with, is_alive

AGENT = "neutron-l2-agent"
# The VLAN that an agent gives to what it could not wire
DEAD_VLAN = 4095

HostOf = Callable[[Cloud], "str | None"]


def carries_network(cloud: Cloud, host: str | None) -> Found:
    """Return whether the agent of a host reaches what carries the port's network.

    What none of several agents reaches, though each reaches something, is a name or a kind that Neutron alone has.
    """
    agent = given(agent_on(cloud, AGENT, host))
    network = given(cloud.network)
    if cloud.is_on_physical_network:
        needed, carries = given(network.physical), physical_networks_of
    else:
        given(agent.tunnels)
        needed, carries = given(network.kind), tunnels_of
    if needed in carries(agent):
        return HOLDS
    found = broken(listed(carries(agent)), needed)
    reached = list(map(carries, agents_of(cloud, AGENT)))
    is_known = needed in chain.from_iterable(reached)
    if is_known or len(reached) == 1 or not all(reached):
        return found
    return replace(
        found,
        owner=SERVER,
        host=host_with(cloud, SERVER),
        command=f"openstack network show {network.id}",
    )


def physical_networks_of(agent: Agent) -> Collection[str]:
    return agent.physical or ()


def tunnels_of(agent: Agent) -> Collection[str]:
    return agent.tunnels or ()


def agent_named(cloud: Cloud) -> Found:
    """Check whether the agent of an unbound port's host has the name that Nova has of it.

    Neutron looks for an agent by that name.
    """
    port = given(cloud.port)
    applies_if(port.host)
    agent = given(agent_on(cloud, AGENT, cloud.host))
    is_known = port.kind not in UNBOUND or agent.host == port.host
    return holds_if(is_known, agent.host, port.host)


def has_patches(cloud: Cloud, host: str | None) -> Found:
    """Return whether the bridge of the port's physical network is connected with the integration bridge."""
    switch = read(cloud.switch(host))
    agent = given(agent_on(cloud, AGENT, host))
    applies_if(cloud.is_on_physical_network)
    physical = given(given(cloud.network).physical)
    bridge = given((agent.physical or {}).get(physical))
    return patched(switch, bridge)


def tagged(cloud: Cloud) -> Found:
    """Check whether the agent has given the port the VLAN of its network on this host."""
    interface = given(cloud.interface(cloud.host))
    applies_if(interface.bridge == INTEGRATION)
    if interface.tag == DEAD_VLAN:
        return broken("the dead VLAN 4095")
    return holds_if(interface.tag is not None, "none")


def linked(cloud: Cloud) -> Found:
    link = given(given(cloud.interface(cloud.host)).link)
    return holds_if(link.up, "down", "up")


def agent_links(
    host_of: HostOf, prefix: str = ""
) -> tuple[LinkDefinition, ...]:
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
            f"{prefix}agent_patches",
            AGENT,
            lambda cloud: has_patches(cloud, host_of(cloud)),
            host_of,
            "ovs-vsctl show",
        ),
        *links_of_ports(prefix, host_of),
    )


CHAIN = ChainDefinition(
    name="ovs_port",
    stages=(StageName.BOOT, StageName.METADATA, StageName.JOURNEY),
    applies=lambda cloud: cloud.back_end == "agents" and bool(cloud.stores),
    links=(
        *agent_links(here),
        LinkDefinition(
            "agent_named",
            AGENT,
            agent_named,
            here,
            "grep --recursive --extended-regexp '^host[ =]' /etc/neutron /etc/nova; hostname",
        ),
        LinkDefinition(
            "ovs_bound",
            SERVER,
            port_bound,
            nowhere,
            "openstack port show {port}",
        ),
        LinkDefinition(
            "ovs_plugged",
            "ovsdb",
            plugged,
            here,
            "ovs-vsctl find Interface external_ids:iface-id={port}",
        ),
        LinkDefinition("ovs_tagged", AGENT, tagged, here, "ovs-vsctl show"),
        LinkDefinition("ovs_linked", "libvirt", linked, here, "ip link show"),
        link_of_taken_packets("ovs_taken"),
    ),
)
