# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How an L3 agent makes the router of the instance's network, with its floating IP."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, product, starmap
from operator import attrgetter

from .._model.facts import Router, Translation
from .._model.instance import ROUTER_INTERFACE
from .._model.words import StageName
from .._record.sole import sole
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
    passes,
    read,
    unreadable_if,
)
from .ovn_chassis import UNBOUND
from .ovn_port import FLOWS
from .ovs_port import DEAD_VLAN, agent_links
from .services import agents_of, is_alive

AGENT = "neutron-l3-agent"


def router_host(cloud: Cloud) -> str | None:
    """Return the host whose L3 agent serves the network's router."""
    serving = [host for host in cloud.facts if routers_on(cloud, host)]
    # Of several hosts with the router one has its addresses.
    serving.sort(
        key=lambda host: (
            not any(router.is_active for router in routers_on(cloud, host))
        )
    )
    bound = filter(
        None, (port.host for port in cloud.serving(ROUTER_INTERFACE))
    )
    agents = [agent.host for agent in agents_of(cloud, AGENT)]
    return cloud.name_of([*serving, *bound, sole(agents)][0])


def routers_on(cloud: Cloud, host: str) -> list[Router]:
    """Return the routers of the instance's network that are on a host."""
    known = cloud.facts_of(host).routers or {}
    found: list[Router] = []
    for name in cloud.network_or_empty.routers:
        router = known.get(name)
        if router is not None:
            found.append(router)
    return found


def all_routers(cloud: Cloud) -> list[Router]:
    """Return the network's routers on all hosts: one may be on several, of which one is active."""
    return list(
        chain.from_iterable(routers_on(cloud, host) for host in cloud.facts)
    )


def l3_agent_alive(cloud: Cloud) -> Found:
    return is_alive(cloud, AGENT, router_host(cloud))


def bound(cloud: Cloud) -> Found:
    """Check whether the router's port on the network is wired on a host, which the agent has asked for."""
    kinds = [given(port.kind) for port in cloud.serving(ROUTER_INTERFACE)]
    return holds_if(any(kind not in UNBOUND for kind in kinds), listed(kinds))


def namespace(cloud: Cloud) -> Found:
    host = router_host(cloud)
    read(cloud.facts_of(host).routers)
    unreadable_if(cloud.is_unread(host, "the namespaces"))
    return holds_if(bool(all_routers(cloud)))


def floating_ips(cloud: Cloud) -> tuple[str, ...]:
    addresses = given(cloud.port).floating_ips
    applies_if(addresses and all_routers(cloud))
    return addresses


def gateway(cloud: Cloud) -> Found:
    """Check whether a router has the floating IP's address at its interface to the outside."""
    wanted = floating_ips(cloud)
    unreadable_if(
        any(
            cloud.is_unread(host, "the router's addresses")
            for host in cloud.facts
        )
    )
    interfaces = list(
        chain.from_iterable(router.external for router in all_routers(cloud))
    )
    up = [interface for interface in interfaces if interface.up]
    if interfaces and not up:
        return broken(
            f"{interfaces[0].name}, which is down", ", ".join(wanted)
        )
    has = sorted(chain.from_iterable(interface.addresses for interface in up))
    return holds_if(set(wanted) <= set(has), listed(has), ", ".join(wanted))


def translated(cloud: Cloud) -> Found:
    """Check whether a router translates each floating IP to an address of the port, and back."""
    wanted = floating_ips(cloud)
    unreadable_if(
        any(
            cloud.is_unread(host, "the router's translations")
            for host in cloud.facts
        )
    )
    routers = all_routers(cloud)
    inbound = set(chain.from_iterable(map(attrgetter("inbound"), routers)))
    outbound = set(chain.from_iterable(map(attrgetter("outbound"), routers)))
    right = starmap(Translation, product(wanted, given(cloud.port).addresses))
    both_ways = inbound & outbound & set(right)
    return holds_if(
        set(wanted) <= set(map(attrgetter("address"), both_ways)),
        f"in: {in_words(inbound)}; out: {in_words(outbound)}",
        ", ".join(wanted),
    )


def in_words(rules: Iterable[Translation]) -> str:
    return listed(sorted(f"{rule.address} to {rule.fixed}" for rule in rules))


def wired(cloud: Cloud) -> Found:
    """Check whether the agent of the switch has given the router's interfaces to the outside a VLAN."""
    host = router_host(cloud)
    interfaces = given(cloud.switch(host)).interfaces
    external = map(attrgetter("external"), routers_on(cloud, str(host)))
    names = set(map(attrgetter("name"), chain.from_iterable(external)))
    own = [interface for interface in interfaces if interface.name in names]
    applies_if(own)
    errors = list(filter(None, map(attrgetter("error"), own)))
    if errors:
        return broken(errors[0], owner="ovsdb")
    is_dead = DEAD_VLAN in map(attrgetter("tag"), own)
    return holds_if(not is_dead, f"VLAN {DEAD_VLAN}")


def wide_enough(cloud: Cloud) -> Found:
    """Check whether the router's interface to the network takes packets of its full size."""
    size = given(cloud.network_or_empty.mtu)
    mtus: dict[str, int] = {}
    for router in routers_on(cloud, str(router_host(cloud))):
        mtus.update(given(router.mtus))
    inner = [
        f"{INNER}{port.id[:OF_ID]}" for port in cloud.serving(ROUTER_INTERFACE)
    ]
    smallest = min(filter(None, map(mtus.get, inner)), default=size)
    return holds_if(smallest >= size, str(smallest), str(size))


def unobstructed(cloud: Cloud) -> Found:
    """Check whether nothing in the router's namespace keeps packets from it but what the agent has put there."""
    return is_open(cloud, router_host(cloud), f"qrouter-{cloud.router_id}")


def is_open(cloud: Cloud, host: str | None, namespace: str) -> Found:
    """Return what is in the way in a namespace on a host, if anything is."""
    for obstacle in given(cloud.stores_of(host).obstacles):
        if obstacle.namespace == namespace:
            return replace(broken(obstacle.text), command=obstacle.command)
    unreadable_if(cloud.is_unread(host, "the packet filter"))
    unreadable_if(cloud.is_unread(host, "the packet forwarding"))
    return HOLDS


def has_router(cloud: Cloud) -> bool:
    """Return whether one agent serves the router of the instance's network; a distributed one is on many hosts."""
    if cloud.back_end != "agents" or cloud.network_or_empty.on_computes:
        return False
    return cloud.router_id is not None and cloud.needs_router


NAMESPACE = "ip netns exec qrouter-{router}"
# How an interface of a router to a network is called: by this, and so many characters of the port's id
INNER, OF_ID = "qr-", 11
CHAIN = ChainDefinition(
    name="ovs_router",
    stages=(StageName.METADATA, StageName.DATAPLANE),
    applies=has_router,
    links=(
        LinkDefinition(
            "router_agent_alive",
            AGENT,
            l3_agent_alive,
            router_host,
            "openstack network agent list --agent-type l3",
        ),
        *agent_links(router_host, "router_l2_"),
        LinkDefinition(
            "router_bound",
            AGENT,
            bound,
            router_host,
            "openstack port list --router {router} --long",
        ),
        LinkDefinition(
            "router_namespace", AGENT, namespace, router_host, "ip netns list"
        ),
        LinkDefinition(
            "router_wired",
            "neutron-l2-agent",
            wired,
            router_host,
            "ovs-vsctl show; grep -rns ^bridge_mappings /etc/neutron",
        ),
        LinkDefinition(
            "router_wide",
            AGENT,
            wide_enough,
            router_host,
            f"{NAMESPACE} ip link show",
        ),
        LinkDefinition(
            "router_unobstructed",
            AGENT,
            unobstructed,
            router_host,
            f"{NAMESPACE} iptables-save",
        ),
        LinkDefinition(
            "router_gateway",
            AGENT,
            gateway,
            router_host,
            f"{NAMESPACE} ip address show",
        ),
        LinkDefinition(
            "router_translated",
            AGENT,
            translated,
            router_host,
            f"{NAMESPACE} iptables --table nat --list-rules",
        ),
        LinkDefinition(
            "ping_flow",
            "neutron-l2-agent",
            lambda cloud: passes(cloud, "ping"),
            here,
            FLOWS,
        ),
    ),
    subject=lambda cloud: cloud.router_id,
)
