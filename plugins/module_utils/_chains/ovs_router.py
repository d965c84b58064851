# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How an L3 agent makes the router of the instance's network, with its floating IP."""

from __future__ import annotations

from .._model.facts import Router
from .._model.words import StageName
from .._record.sole import sole
from .cloud import Cloud
from .definitions import (
    ChainDefinition,
    Found,
    LinkDefinition,
    applies_if,
    given,
    holds_if,
    listed,
    read,
    unreadable_if,
)
from .ovn_port import UNBOUND
from .ovs_port import agent_links
from .services import is_alive

AGENT = "neutron-l3-agent"
# The port of a router that one agent serves; those of distributed routers have other owners, and are on many hosts.
INTERFACE = "network:router_interface"


def router_host(cloud: Cloud) -> str | None:
    """Return the host whose L3 agent serves the router."""
    serving = [host for host in cloud.facts if router_on(cloud, host) is not None]
    bound = filter(None, (port.host for port in cloud.serving(INTERFACE)))
    agents = [agent.host for agent in cloud.record.known_agents if agent.component == AGENT]
    return cloud.name_of([*serving, *bound, sole(agents)][0])


def router_on(cloud: Cloud, host: str | None) -> Router | None:
    return (cloud.facts_of(host).routers or {}).get(cloud.router_id or "")


def served(cloud: Cloud) -> Router:
    return given(router_on(cloud, router_host(cloud)))


def l3_agent_alive(cloud: Cloud) -> Found:
    return is_alive(cloud, AGENT, router_host(cloud))


def bound(cloud: Cloud) -> Found:
    """Check whether the router's port on the network is wired on a host, which the agent has asked for."""
    ports = cloud.serving(INTERFACE)
    applies_if(ports)
    kind = given(ports[0].kind)
    return holds_if(kind not in UNBOUND, kind)


def namespace(cloud: Cloud) -> Found:
    host = router_host(cloud)
    applies_if(cloud.serving(INTERFACE))
    read(cloud.facts_of(host).routers)
    unreadable_if(cloud.is_unread(host, "the namespaces"))
    return holds_if(router_on(cloud, host) is not None)


def floating_ips(cloud: Cloud) -> tuple[str, ...]:
    addresses = given(cloud.port).floating_ips
    applies_if(addresses)
    return addresses


def gateway(cloud: Cloud) -> Found:
    """Check whether the router has the floating IP's address at its interface to the outside."""
    wanted = floating_ips(cloud)
    unreadable_if(cloud.is_unread(router_host(cloud), "the router's addresses"))
    interfaces = served(cloud).external
    up = [interface for interface in interfaces if interface.up]
    if interfaces and not up:
        return holds_if(False, f"{interfaces[0].name} is down", wanted[0])
    has = [address.partition("/")[0] for interface in up for address in interface.addresses]
    return holds_if(set(wanted) <= set(has), listed(has), ", ".join(wanted))


def translated(cloud: Cloud) -> Found:
    wanted = floating_ips(cloud)
    unreadable_if(cloud.is_unread(router_host(cloud), "the router's translations"))
    rules = {rule.address for rule in served(cloud).inbound}
    return holds_if(set(wanted) <= rules, listed(sorted(rules)), ", ".join(wanted))


NAMESPACE = "ip netns exec qrouter-{router}"
CHAIN = ChainDefinition(
    name="ovs_router",
    stages=(StageName.METADATA,),
    applies=lambda cloud: cloud.back_end == "agents" and cloud.router_id is not None,
    links=(
        LinkDefinition(
            "router_agent_alive", AGENT, l3_agent_alive, router_host, "openstack network agent list --agent-type l3"
        ),
        *agent_links(router_host, "router_l2_"),
        LinkDefinition("router_bound", AGENT, bound, router_host, "openstack port list --router {router} --long"),
        LinkDefinition("router_namespace", AGENT, namespace, router_host, "ip netns list"),
        LinkDefinition("router_gateway", AGENT, gateway, router_host, f"{NAMESPACE} ip address show"),
        LinkDefinition(
            "router_translated", AGENT, translated, router_host, f"{NAMESPACE} iptables --table nat --list-rules"
        ),
    ),
    subject=lambda cloud: cloud.router_id,
)
