# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a guest gets its address from a DHCP agent and its dnsmasq."""

from __future__ import annotations

from .._model.facts import Dhcp
from .._model.words import StageName
from .cloud import Cloud
from .definitions import (
    HOLDS,
    NOT_APPLICABLE,
    UNREADABLE,
    ChainDefinition,
    Found,
    LinkDefinition,
    broken,
    holds_if,
    passes,
)
from .ovn_port import DHCP_TRACE
from .ovs_port import DEAD_VLAN, agent_links, is_alive

AGENT = "neutron-dhcp-agent"
OWNER = "network:dhcp"


def dhcp_host(cloud: Cloud) -> str | None:
    """Return the host whose DHCP agent serves the port's network."""
    for host, facts in cloud.facts.items():
        served = (facts.dhcp or {}).get(cloud.port.id) if cloud.port else None
        if served is not None and served.directory is not None:
            return host
    bound = [
        port.host for port in (cloud.network.serving if cloud.network else ()) if port.owner == OWNER and port.host
    ]
    if bound:
        return cloud.name_of(bound[0])
    agents = [agent for agent in cloud.record.agents or () if agent.component == AGENT]
    return cloud.name_of(agents[0].host) if len(agents) == 1 else None


def served(cloud: Cloud) -> Dhcp | None:
    facts = cloud.facts.get(dhcp_host(cloud) or "")
    return (facts.dhcp or {}).get(cloud.port.id) if facts and cloud.port else None


def wants_dhcp(cloud: Cloud) -> bool:
    network = cloud.network
    return network is not None and any(subnet.dhcp and subnet.version == 4 for subnet in network.subnets)


def agent_alive(cloud: Cloud) -> Found:
    return is_alive(cloud, AGENT, dhcp_host(cloud))


def assigned(cloud: Cloud) -> Found:
    """Check whether Neutron has given the network to an agent, which has a port on it."""
    if cloud.network is None:
        return NOT_APPLICABLE
    return holds_if(bool(cloud.network.dhcp_ports), "none")


def directory(cloud: Cloud) -> Found:
    found = served(cloud)
    if found is None or cloud.is_unread(dhcp_host(cloud), "the state of the DHCP agent"):
        return UNREADABLE
    return holds_if(found.directory is not None)


def process(cloud: Cloud) -> Found:
    found = served(cloud)
    if found is None or found.directory is None:
        return NOT_APPLICABLE
    if cloud.is_unread(dhcp_host(cloud), "the processes of dnsmasq"):
        return UNREADABLE
    return holds_if(bool(found.processes))


def reservation(cloud: Cloud) -> Found:
    """Check whether the agent has written the port's MAC with an address of the port."""
    found = served(cloud)
    if found is None or found.directory is None or cloud.port is None:
        return NOT_APPLICABLE
    if found.hosts is None:
        return UNREADABLE
    addresses = ", ".join(entry.address or "no address" for entry in found.hosts)
    is_there = any(entry.address in cloud.port.addresses for entry in found.hosts)
    return holds_if(is_there, addresses or "none", ", ".join(cloud.port.addresses))


def wired(cloud: Cloud) -> Found:
    """Check whether the agent's own port is on the switch of its host, with a VLAN."""
    switch = cloud.switch(dhcp_host(cloud))
    ports = [port for port in (cloud.network.serving if cloud.network else ()) if port.owner == OWNER]
    if switch is None or not ports:
        return NOT_APPLICABLE
    ids = {port.id for port in ports}
    interfaces = [interface for interface in switch.interfaces if interface.port in ids]
    if not interfaces:
        return broken("none")
    if interfaces[0].error:
        return broken(interfaces[0].error, owner="ovsdb")
    if interfaces[0].tag in (None, DEAD_VLAN):
        return broken(f"VLAN {interfaces[0].tag}" if interfaces[0].tag else "no VLAN")
    return HOLDS


def kinds(cloud: Cloud) -> list[str] | None:
    found = served(cloud)
    return [message.kind for message in found.log] if found and found.log is not None else None


def received(cloud: Cloud) -> Found:
    """Check whether what the guest sends reaches dnsmasq."""
    heard = kinds(cloud)
    if heard is None or cloud.guest_has_lease or not cloud.guest_asked_for_lease:
        return NOT_APPLICABLE
    return holds_if(bool(heard))


def offered(cloud: Cloud) -> Found:
    """Dnsmasq answers what it has received."""
    heard = kinds(cloud)
    if not heard or "DISCOVER" not in heard:
        return NOT_APPLICABLE
    return holds_if("OFFER" in heard or "ACK" in heard)


def taken(cloud: Cloud) -> Found:
    """Check whether the guest receives what dnsmasq offers: it asks for the address then."""
    heard = kinds(cloud)
    if not heard or "OFFER" not in heard:
        return NOT_APPLICABLE
    return holds_if("REQUEST" in heard or heard.count("OFFER") == 1, str(heard.count("OFFER")))


def instance_host(cloud: Cloud) -> str | None:
    return cloud.host


CHAIN = ChainDefinition(
    name="dhcp",
    stages=(StageName.METADATA,),
    applies=lambda cloud: cloud.back_end == "agents" and wants_dhcp(cloud),
    subject=lambda cloud: cloud.port.id if cloud.port else None,
    links=(
        LinkDefinition(
            "dhcp_agent_alive", AGENT, agent_alive, dhcp_host, "openstack network agent list --agent-type dhcp"
        ),
        LinkDefinition(
            "dhcp_assigned",
            "neutron-server",
            assigned,
            lambda _cloud: None,
            "openstack network agent list --network {network}",
        ),
        *agent_links(dhcp_host, "dhcp_"),
        LinkDefinition("dhcp_directory", AGENT, directory, dhcp_host, "ls /var/lib/neutron/dhcp/{network}"),
        LinkDefinition("dhcp_process", AGENT, process, dhcp_host, "pgrep --full --list-full dnsmasq.*{network}"),
        LinkDefinition("dhcp_reservation", AGENT, reservation, dhcp_host, "cat /var/lib/neutron/dhcp/{network}/host"),
        LinkDefinition("dhcp_wired", "neutron-l2-agent", wired, dhcp_host, "ovs-vsctl show"),
        LinkDefinition("dhcp_flow", "neutron-l2-agent", lambda cloud: passes(cloud, "dhcp"), instance_host, DHCP_TRACE),
        LinkDefinition("dhcp_received", "data network", received, instance_host, "ovs-ofctl dump-flows br-int"),
        LinkDefinition("dhcp_offered", "dnsmasq", offered, dhcp_host, "journalctl SYSLOG_IDENTIFIER=dnsmasq-dhcp"),
        LinkDefinition("dhcp_taken", "data network", taken, instance_host, "ovs-ofctl dump-flows br-int"),
    ),
)
