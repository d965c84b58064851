# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a guest gets its address from a DHCP agent and its dnsmasq."""

from __future__ import annotations

from itertools import product
from operator import attrgetter

from .._model.facts import Dhcp
from .._model.instance import DHCP_PORT
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
    first_broken,
    given,
    here,
    holds_if,
    listed,
    nowhere,
    passes,
    read,
    unreadable_if,
)
from .ovn_port import FLOWS
from .ovs_port import DEAD_VLAN, agent_links
from .ovs_router import is_open
from .ports import LOCAL_ENDS, begin_at_home, directed, tunnel_between
from .services import agents_of, is_alive

AGENT = "neutron-dhcp-agent"
# As libvirt calls the state of a domain that has not been paused or stopped
RUNNING = "running"


def dhcp_host(cloud: Cloud) -> str | None:
    """Return the host whose DHCP agent serves the port's network."""
    serving = [host for host in cloud.facts if is_served_on(cloud, host)]
    bound = filter(None, (port.host for port in cloud.serving(DHCP_PORT)))
    agents = [agent.host for agent in agents_of(cloud, AGENT)]
    return cloud.name_of([*serving, *bound, sole(agents)][0])


def is_served_on(cloud: Cloud, host: str) -> bool:
    found = served_on(cloud, host)
    return found is not None and found.directory is not None


def served_on(cloud: Cloud, host: str | None) -> Dhcp | None:
    """Return what a host knows of DHCP for the instance's port."""
    return cloud.of_port(cloud.facts_of(host).dhcp)


def served(cloud: Cloud) -> Dhcp | None:
    return served_on(cloud, dhcp_host(cloud))


def options_of(cloud: Cloud) -> tuple[str, ...]:
    """Return the options that dnsmasq gives to the guests of the network."""
    found = served(cloud)
    return (found.options if found else None) or ()


def agent_alive(cloud: Cloud) -> Found:
    return is_alive(cloud, AGENT, dhcp_host(cloud))


def assigned(cloud: Cloud) -> Found:
    """Check whether an agent has a port on the network. Neutron chooses the agent, which asks for the port."""
    if given(cloud.network).dhcp_ports:
        return HOLDS
    host = dhcp_host(cloud)
    return broken("none", owner=AGENT if host else None, host=host)


def directory(cloud: Cloud) -> Found:
    found = read(served(cloud))
    unreadable_if(
        cloud.is_unread(dhcp_host(cloud), "the state of the DHCP agent")
    )
    return holds_if(found.directory is not None)


def process(cloud: Cloud) -> Found:
    found = given(served(cloud))
    given(found.directory)
    unreadable_if(
        cloud.is_unread(dhcp_host(cloud), "the processes of dnsmasq")
    )
    return holds_if(bool(found.processes))


def reservation(cloud: Cloud) -> Found:
    """Check whether the agent has written the port's MAC with an address of the port."""
    found, port = given(served(cloud)), given(cloud.port)
    given(found.directory)
    entries = read(found.hosts)
    is_there = any(entry.address in port.addresses for entry in entries)
    addresses = [entry.address or "no address" for entry in entries]
    return holds_if(is_there, listed(addresses), ", ".join(port.addresses))


def wired(cloud: Cloud) -> Found:
    """Check whether the agent's own port is on the switch of its host, with a VLAN."""
    switch = given(cloud.switch(dhcp_host(cloud)))
    ids = set(map(attrgetter("id"), cloud.serving(DHCP_PORT)))
    applies_if(ids)
    interface = switch.interface_of(ids)
    if interface is None:
        # The agent adds it, and the one of the switch gives it a VLAN.
        return broken("none", owner=AGENT)
    if interface.error:
        return broken(interface.error, owner="ovsdb")
    if interface.tag is None:
        return broken("no VLAN")
    return holds_if(interface.tag != DEAD_VLAN, f"VLAN {interface.tag}")


def kinds(cloud: Cloud) -> list[str]:
    """Return the kinds of the messages about the port that dnsmasq has logged, in their order."""
    return [message.kind for message in given(given(served(cloud)).log)]


def received(cloud: Cloud) -> Found:
    """Check whether what the guest sends reaches dnsmasq."""
    heard = kinds(cloud)
    applies_if(cloud.guest_asked_for_lease and not cloud.guest_has_lease)
    # One that does not run receives nothing, whatever comes to its host.
    applies_if(given(served(cloud)).processes)
    if heard:
        return HOLDS
    return broken(subject=ends(cloud))


def ends(cloud: Cloud) -> str:
    """Return between which hosts the packets of DHCP go."""
    hosts = sorted(set(filter(None, (cloud.host, dhcp_host(cloud)))))
    return (
        f"between {hosts[0]} and {hosts[1]}"
        if len(hosts) > 1
        else "inside the host"
    )


def offered(cloud: Cloud) -> Found:
    """Dnsmasq answers what it has received."""
    heard = kinds(cloud)
    applies_if("DISCOVER" in heard)
    return holds_if("OFFER" in heard or "ACK" in heard)


def taken(cloud: Cloud) -> Found:
    """Check whether the guest receives what dnsmasq offers: it asks for the address then."""
    heard = kinds(cloud)
    offers = heard.count("OFFER")
    applies_if(offers)
    return (
        HOLDS
        if "REQUEST" in heard or offers == 1
        else broken(str(offers), subject=ends(cloud))
    )


def granted(cloud: Cloud) -> Found:
    """Check whether dnsmasq gives the guest the address that it has offered."""
    messages = given(given(served(cloud)).log)
    heard = kinds(cloud)
    applies_if("REQUEST" in heard)
    is_refused = {"ACK", "NAK"}.intersection(heard) == {"NAK"}
    refusals = filter(None, map(attrgetter("why"), messages))
    return holds_if(not is_refused, next(refusals, "no reason"))


def leased(cloud: Cloud) -> Found:
    """Check whether a guest whose console nobody reads has got its address: dnsmasq keeps what it gave."""
    found = given(served(cloud))
    domain = given(cloud.facts_of(cloud.host).domain)
    applies_if(
        cloud.is_of_others and domain.state and domain.state.name == RUNNING
    )
    leases = read(found.leases)
    if leases:
        return HOLDS
    return broken(subject=ends(cloud))


def tunneled(cloud: Cloud) -> Found:
    """Check whether dnsmasq's host and those of the guests have tunnels to each other, if tunnels carry the network."""
    server = dhcp_host(cloud)
    network = cloud.network_or_empty
    ends = filter(None, (cloud.host, cloud.second_host))
    found: list[Found | None] = []
    for host in ends:
        found.append(tunnel_between(cloud, network, host, server))
        found.append(tunnel_between(cloud, network, server, host))
    return first_broken(found)


def begun_at_home(cloud: Cloud) -> Found:
    """Check whether the tunnels of dnsmasq's host and of the guests' begin at addresses of theirs."""
    server = dhcp_host(cloud)
    guests = filter(None, (cloud.host, cloud.second_host))
    ways = [*product(guests, [server]), (server, cloud.host)]
    return begin_at_home(cloud, cloud.network_or_empty, ways)


def sent_to_server(cloud: Cloud) -> Found:
    """Check whether the guest's request goes into the tunnel to dnsmasq's host."""
    way = (cloud.host, dhcp_host(cloud))
    trace = cloud.trace("dhcp")
    return given(directed(cloud, cloud.network_or_empty, way, trace))


def unobstructed(cloud: Cloud) -> Found:
    """Check whether nothing in the network's namespace keeps packets from dnsmasq."""
    network = cloud.network_or_empty.id
    return is_open(cloud, dhcp_host(cloud), f"qdhcp-{network}")


def carrying_host(cloud: Cloud) -> str | None:
    """Return the host inside which packets between the guest and dnsmasq stay; None if they go from one to another."""
    return cloud.host if cloud.host == dhcp_host(cloud) else None


TALK = "journalctl SYSLOG_IDENTIFIER=dnsmasq-dhcp"
CARRIED = "tcpdump -n -e -i any port 67 or port 68"
CHAIN = ChainDefinition(
    name="dhcp",
    stages=(StageName.METADATA, StageName.DATAPLANE, StageName.JOURNEY),
    applies=lambda cloud: cloud.back_end == "agents" and cloud.wants_dhcp,
    links=(
        LinkDefinition(
            "dhcp_agent_alive",
            AGENT,
            agent_alive,
            dhcp_host,
            "openstack network agent list --agent-type dhcp",
        ),
        # Neutron binds the agent's port only if the L2 agent beside it carries the network.
        *agent_links(dhcp_host, "dhcp_l2_"),
        LinkDefinition(
            "dhcp_assigned",
            "neutron-server",
            assigned,
            nowhere,
            "openstack network agent list --network {network}",
        ),
        LinkDefinition(
            "dhcp_directory",
            AGENT,
            directory,
            dhcp_host,
            "ls /var/lib/neutron/dhcp/{network}",
        ),
        LinkDefinition(
            "dhcp_process",
            AGENT,
            process,
            dhcp_host,
            "pgrep --full --list-full dnsmasq.*{network}",
        ),
        LinkDefinition(
            "dhcp_unobstructed",
            AGENT,
            unobstructed,
            dhcp_host,
            "ip netns exec qdhcp-{network} iptables-save",
        ),
        LinkDefinition(
            "dhcp_reservation",
            AGENT,
            reservation,
            dhcp_host,
            "cat /var/lib/neutron/dhcp/{network}/host",
        ),
        LinkDefinition(
            "dhcp_wired",
            "neutron-l2-agent",
            wired,
            dhcp_host,
            "ovs-vsctl show",
        ),
        LinkDefinition(
            "dhcp_tunnel_ends",
            "neutron-l2-agent",
            begun_at_home,
            here,
            LOCAL_ENDS,
        ),
        LinkDefinition(
            "dhcp_tunnels",
            "neutron-l2-agent",
            tunneled,
            here,
            "ovs-vsctl show",
        ),
        LinkDefinition(
            "dhcp_flow",
            "neutron-l2-agent",
            lambda cloud: passes(cloud, "dhcp"),
            here,
            FLOWS,
        ),
        LinkDefinition(
            "dhcp_directed", "neutron-l2-agent", sent_to_server, here, FLOWS
        ),
        LinkDefinition(
            "dhcp_received",
            "data network",
            received,
            carrying_host,
            CARRIED,
            here,
        ),
        LinkDefinition(
            "dhcp_offered",
            "dnsmasq",
            offered,
            dhcp_host,
            TALK,
        ),
        LinkDefinition(
            "dhcp_taken", "data network", taken, carrying_host, CARRIED, here
        ),
        LinkDefinition("dhcp_granted", "dnsmasq", granted, dhcp_host, TALK),
        LinkDefinition(
            "dhcp_leased", "data network", leased, carrying_host, CARRIED, here
        ),
    ),
)
