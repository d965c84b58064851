# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a guest's request for its metadata reaches nova-api-metadata."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace
from itertools import chain
from operator import attrgetter

from .._collect.hosts.metadata_proxy import ADDRESSES
from .._model.facts import MetadataProxy
from .._model.host import Reach
from .._model.instance import LOCALPORT, METADATA_ADDRESS
from .._model.words import StageName
from . import dhcp, ovs_router
from .cloud import Cloud
from .definitions import (
    HOLDS,
    ChainDefinition,
    Found,
    LinkDefinition,
    applies_if,
    broken,
    given,
    holds_if,
    listed,
    nowhere,
    passes,
    passes_logically,
    read,
    unreadable_if,
)
from .dhcp import dhcp_host
from .ovn_chassis import controller
from .ovn_port import FLOWS, LOGICAL_FLOWS, is_on_switch
from .ovs_router import router_host
from .ports import carrier
from .services import has_service, is_alive

API = "nova-api-metadata"
# How an address does not answer that nothing has
NOWHERE = ("no such name", "no route to host", "silent")
AGENT, OVN_AGENT = "neutron-metadata-agent", "neutron-ovn-metadata-agent"


def proxy_host(cloud: Cloud) -> str | None:
    """Return the host that has the proxy: with OVN that of the instance, else that of a router or of DHCP."""
    if cloud.back_end == "ovn":
        return cloud.host
    with_process = (host for host in cloud.facts if has_process(cloud, host))
    return next(with_process, dhcp_host(cloud))


def proxies_on(cloud: Cloud, host: str | None) -> tuple[MetadataProxy, ...]:
    return cloud.of_port(cloud.facts_of(host).metadata) or ()


def has_process(cloud: Cloud, host: str | None) -> bool:
    return any(proxy.processes for proxy in proxies_on(cloud, host))


def agent_of(cloud: Cloud) -> str:
    return OVN_AGENT if cloud.back_end == "ovn" else AGENT


def found_at_agent(
    cloud: Cloud, found: str | None = None, expected: str | None = None
) -> Found:
    return broken(found, expected, owner=agent_of(cloud))


def has_port(cloud: Cloud) -> Found:
    """Check whether Neutron has made OVN's port for metadata. Who sees how a network is carried sees that port, too."""
    applies_if(cloud.back_end == "ovn")
    given(cloud.network_or_empty.kind)
    return holds_if(bool(cloud.serving(LOCALPORT)), "none")


def process(cloud: Cloud) -> Found:
    """Check whether a proxy runs. The agent that serves the router starts it, or else the one that serves DHCP."""
    if has_process(cloud, proxy_host(cloud)):
        return HOLDS
    owner, host = starter_of(cloud)
    proxies = proxies_on(cloud, host)
    unreadable_if(not proxies)
    for proxy in proxies:
        read(proxy.processes)
    return broken(owner=owner, host=host)


def starter_of(cloud: Cloud) -> tuple[str, str | None]:
    """Return the agent that starts the proxy, and its host."""
    if cloud.back_end == "ovn":
        return OVN_AGENT, cloud.host
    if cloud.router_id is None:
        return dhcp.AGENT, dhcp_host(cloud)
    return ovs_router.AGENT, router_host(cloud)


def has_address(cloud: Cloud) -> Found:
    """Check whether the proxy of a network has the address that guests ask: that of a router needs none."""
    applies_if(given(cloud.port).ipv4)
    host = proxy_host(cloud)
    unreadable_if(cloud.is_unread(host, ADDRESSES))
    of_network = [
        proxy.addresses
        for proxy in proxies_on(cloud, host)
        if proxy.owner == cloud.network_or_empty.id
    ]
    addresses = given(next(iter(of_network), None))
    if METADATA_ADDRESS in addresses:
        return HOLDS
    owner = OVN_AGENT if cloud.back_end == "ovn" else dhcp.AGENT
    return broken(
        listed(addresses),
        METADATA_ADDRESS,
        owner=owner,
    )


def on_link(cloud: Cloud) -> Found:
    """Check whether the network itself has a proxy: with OVN it is the only one, and with agents a router may have it.

    A guest of IPv6 alone asks an address of its link, which no router has.
    """
    applies_if(cloud.back_end != "ovn")
    applies_if(given(cloud.port).ipv4 is None)
    proxies = proxies_on(cloud, dhcp_host(cloud))
    by_owner = {proxy.owner: proxy for proxy in proxies}
    own = given(by_owner.get(cloud.network_or_empty.id))
    return holds_if(bool(given(own.processes)))


def agent_alive(cloud: Cloud) -> Found:
    """Check whether the agent works to which the proxy passes the requests."""
    component = agent_of(cloud)
    applies_if(cloud.record.agents)
    found = is_alive(cloud, component, proxy_host(cloud))
    return replace(found, owner=component)


def wired(cloud: Cloud) -> Found:
    """Check whether the proxy is on the switch of the host: with OVN it has an interface of its own there."""
    applies_if(cloud.back_end == "ovn")
    switch = given(cloud.switch(cloud.host))
    ports = set(map(attrgetter("id"), cloud.serving(LOCALPORT)))
    applies_if(ports)
    interface = switch.interface_of(ports)
    if interface is None:
        return found_at_agent(cloud, "none")
    on_switch = is_on_switch(interface)
    return (
        on_switch
        if on_switch is HOLDS
        else found_at_agent(cloud, on_switch.found)
    )


def is_expected(cloud: Cloud) -> bool:
    """Return whether the guest should have metadata: it has a lease, and no disk with them.

    Of a guest whose console was not read it is known by its requests, too, or because OVN has a port for them.
    """
    if cloud.has_config_drive:
        return False
    if cloud.guest_has_lease:
        return not is_unknown_router(cloud)
    if cloud.record.operation is None:
        return False
    if cloud.serving(LOCALPORT):
        return True
    proxies = chain.from_iterable(
        proxies_on(cloud, host) for host in cloud.facts
    )
    return any(proxy.requests for proxy in proxies)


def is_unknown_router(cloud: Cloud) -> bool:
    """Return whether DHCP sends the guest's requests to a gateway of which reports show nothing."""
    if cloud.router_id is not None or not cloud.is_of_others:
        return False
    options = " ".join(dhcp.options_of(cloud))
    subnets = cloud.network_or_empty.subnets
    ways = (f"{METADATA_ADDRESS}/32,{subnet.gateway}," for subnet in subnets)
    return any(way in options for way in ways)


def asked(cloud: Cloud) -> Found:
    """Check whether the guest's request reaches the proxy: it has its lease, and asks again and again.

    Guests of others may never ask, and that of IPv6 alone does so from an address which Neutron does not know.
    """
    applies_if(cloud.guest_has_lease and not cloud.is_of_others)
    applies_if(given(cloud.port).ipv4)
    proxies = proxies_on(cloud, proxy_host(cloud))
    applies_if(proxies)
    requests = [given(proxy.requests) for proxy in proxies]
    if any(requests):
        return HOLDS
    if cloud.back_end == "ovn":
        return found_at_agent(cloud)
    # A proxy that runs takes what comes to it: with agents it comes from another host.
    return broken(owner="data network")


def host_of_requests(cloud: Cloud) -> str | None:
    """Return the host inside which the guest's requests stay; None if they go to another one."""
    host = proxy_host(cloud)
    return host if host == cloud.host else None


def carrier_of(cloud: Cloud) -> str | None:
    """Return what carries the guest's requests to the proxy: a router of agents passes them on to it."""
    if cloud.back_end == "ovn" or cloud.router_id is None:
        return carrier(cloud)
    return ovs_router.AGENT


def passes_switch(cloud: Cloud) -> Found:
    """Check whether the flows of the instance's host, of whoever makes them, let the guest's request pass."""
    found = passes(cloud, "metadata")
    if cloud.back_end == "ovn":
        return found
    return replace(found, owner="neutron-l2-agent")


def api_address(cloud: Cloud) -> Found:
    """Check whether the agent's settings name a host that has nova-api-metadata."""
    reach = cloud.host_of(proxy_host(cloud)).examined.reach
    entries = list(filter(is_of_agent, reach))
    right: list[str] = []
    for facts in cloud.facts.values():
        if has_service(facts, API):
            right += facts.addresses
    applies_if(entries and right)
    shared = set(addresses_of_others(cloud))
    wrong = [
        entry
        for entry in entries
        if not may_be_at(cloud, entry, right, shared)
    ]
    if not wrong:
        return HOLDS
    first = wrong[0]
    return found_at_agent(cloud, f"{first.address}:{first.port}", right[0])


def addresses_of_others(cloud: Cloud) -> Iterator[str]:
    """Yield the addresses at which the services of any host look for other peers."""
    for host in cloud.record.hosts:
        for entry in host.examined.reach:
            if entry.component != API:
                yield entry.address


def is_of_agent(entry: Reach) -> bool:
    return entry.component == API and "neutron" in entry.named_by


def may_be_at(
    cloud: Cloud, entry: Reach, right: list[str], shared: Container[str]
) -> bool:
    """Return whether the API can be at an address: its host has the service, and something listens on the port."""
    host = cloud.host_at(entry.address)
    # Anything may be behind an address that no host has and that answers, such as that of a balancer, or that others
    # look for, too.
    if host is None:
        return entry.how not in NOWHERE or entry.address in shared
    listening = cloud.stores_of(host).listening
    return entry.address in right and (
        listening is None or entry.port in listening
    )


CHAIN = ChainDefinition(
    name="metadata",
    stages=(StageName.METADATA,),
    applies=is_expected,
    links=(
        LinkDefinition(
            "metadata_port",
            "neutron-server",
            has_port,
            nowhere,
            "openstack port list --network {network} --device-owner network:distributed",
        ),
        LinkDefinition(
            "metadata_process",
            "neutron-metadata-agent",
            process,
            proxy_host,
            "pgrep --list-full haproxy",
        ),
        LinkDefinition(
            "metadata_on_link",
            dhcp.AGENT,
            on_link,
            dhcp_host,
            "grep --recursive --extended-regexp '^(force|enable_isolated)_metadata' /etc/neutron",
        ),
        LinkDefinition(
            "metadata_address",
            "neutron-metadata-agent",
            has_address,
            proxy_host,
            "ip --netns $(ip netns | grep --only-matching --extended-regexp '(qdhcp|ovnmeta)-{network}') "
            "-brief address",
        ),
        LinkDefinition(
            "metadata_agent_alive",
            AGENT,
            agent_alive,
            proxy_host,
            "openstack network agent list --host {host}",
        ),
        LinkDefinition(
            "metadata_wired",
            "neutron-metadata-agent",
            wired,
            proxy_host,
            "ovs-vsctl show; ip netns",
        ),
        LinkDefinition(
            "metadata_api_address",
            "neutron-metadata-agent",
            api_address,
            proxy_host,
            "grep --recursive --extended-regexp ^nova_metadata_ /etc/neutron",
        ),
        LinkDefinition(
            "metadata_logical",
            "ovn-nb-db",
            lambda cloud: passes_logically(cloud, "metadata"),
            controller,
            LOGICAL_FLOWS,
        ),
        LinkDefinition(
            "metadata_flow",
            "ovn-controller",
            passes_switch,
            lambda cloud: cloud.host,
            FLOWS,
        ),
        LinkDefinition(
            "metadata_asked",
            "neutron-metadata-agent",
            asked,
            host_of_requests,
            "journalctl SYSLOG_IDENTIFIER=haproxy-metadata-proxy-{network}; ovs-appctl dpctl/ct-get-nconns; "
            "ovs-appctl dpctl/ct-get-maxconns",
            proxy_host,
            carrier=carrier_of,
        ),
    ),
)
