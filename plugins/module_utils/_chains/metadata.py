# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a guest's request for its metadata reaches nova-api-metadata."""

from __future__ import annotations

from .._model.facts import MetadataProxy
from .._model.host import Reach
from .._model.words import StageName
from .cloud import Cloud
from .definitions import HOLDS, NOT_APPLICABLE, UNREADABLE, ChainDefinition, Found, LinkDefinition, broken, passes
from .dhcp import dhcp_host

API = "nova-api-metadata"
LOCALPORT = "network:distributed"
AGENTS = {"ovn": "neutron-ovn-metadata-agent", "agents": "neutron-metadata-agent"}


def proxy_host(cloud: Cloud) -> str | None:
    """Return the host that has the proxy: with OVN that of the instance, else that of a router or of DHCP."""
    if cloud.back_end == "ovn":
        return cloud.host
    for host, facts in cloud.facts.items():
        if any(proxy.processes for proxy in proxies_on(cloud, host)) and facts.metadata:
            return host
    return dhcp_host(cloud)


def proxies_on(cloud: Cloud, host: str | None) -> tuple[MetadataProxy, ...]:
    facts = cloud.facts.get(host or "")
    if facts is None or cloud.port is None:
        return ()
    return (facts.metadata or {}).get(cloud.port.id, ())


def agent_of(cloud: Cloud) -> str:
    return AGENTS.get(cloud.back_end or "", "neutron-metadata-agent")


def found_at_agent(cloud: Cloud, found: str | None = None, expected: str | None = None) -> Found:
    return broken(found, expected, owner=agent_of(cloud))


def process(cloud: Cloud) -> Found:
    proxies = proxies_on(cloud, proxy_host(cloud))
    if not proxies or any(proxy.processes is None for proxy in proxies):
        return UNREADABLE
    return HOLDS if any(proxy.processes for proxy in proxies) else found_at_agent(cloud)


def wired(cloud: Cloud) -> Found:
    """Check whether the proxy is on the switch of the host: with OVN it has an interface of its own there."""
    switch = cloud.switch(cloud.host)
    ports = {port.id for port in (cloud.network.serving if cloud.network else ()) if port.owner == LOCALPORT}
    if cloud.back_end != "ovn" or switch is None or not ports:
        return NOT_APPLICABLE
    interfaces = [interface for interface in switch.interfaces if interface.port in ports]
    if not interfaces:
        return found_at_agent(cloud, "none")
    is_there = interfaces[0].ofport is not None and interfaces[0].ofport > 0
    return HOLDS if is_there else found_at_agent(cloud, interfaces[0].error or "no number of a port")


def asked(cloud: Cloud) -> Found:
    """Check whether the guest's request reaches the proxy: it has its lease, and asks again and again."""
    proxies = proxies_on(cloud, proxy_host(cloud))
    requests = [proxy.requests for proxy in proxies]
    if not cloud.guest_has_lease or not proxies or None in requests:
        return NOT_APPLICABLE
    return HOLDS if any(requests) else found_at_agent(cloud)


def api_address(cloud: Cloud) -> Found:
    """Check whether the agent's settings name a host that has nova-api-metadata."""
    host = proxy_host(cloud)
    entries = [entry for entry in reached_from(cloud, host) if entry.component == API and "neutron" in entry.named_by]
    if not entries:
        return NOT_APPLICABLE
    right: list[str] = []
    for name in hosts_with_api(cloud):
        right += cloud.facts[name].addresses
    for entry in entries:
        # Behind an address that no host has, such as that of a balancer, anything may be.
        if right and cloud.host_at(entry.address) and not is_listener(cloud, entry, right):
            return found_at_agent(cloud, f"{entry.address}:{entry.port}", right[0])
    return HOLDS


def is_listener(cloud: Cloud, entry: Reach, right: list[str]) -> bool:
    """Return whether the API can be at an address: its host has the service, and something listens on the port."""
    stores = cloud.stores.get(cloud.host_at(entry.address) or "")
    listening = stores.listening if stores else None
    return entry.address in right and (listening is None or entry.port in listening)


def reached_from(cloud: Cloud, host: str | None) -> tuple[Reach, ...]:
    found = cloud.hosts.get(host or "")
    return found.examination.reach if found and found.examination else ()


def hosts_with_api(cloud: Cloud) -> list[str]:
    return [host for host, facts in cloud.facts.items() if any(unit.component == API for unit in facts.services)]


CHAIN = ChainDefinition(
    name="metadata",
    stages=(StageName.METADATA,),
    applies=lambda cloud: cloud.guest_has_lease,
    subject=lambda cloud: cloud.port.id if cloud.port else None,
    links=(
        LinkDefinition("metadata_process", "neutron-metadata-agent", process, proxy_host, "pgrep --list-full haproxy"),
        LinkDefinition("metadata_wired", "neutron-metadata-agent", wired, proxy_host, "ovs-vsctl show; ip netns"),
        LinkDefinition(
            "metadata_api_address",
            "neutron-metadata-agent",
            api_address,
            proxy_host,
            "grep --recursive --extended-regexp ^nova_metadata_ /etc/neutron",
        ),
        LinkDefinition(
            "metadata_flow",
            "ovn-controller",
            lambda cloud: passes(cloud, "metadata"),
            lambda cloud: cloud.host,
            "ovs-appctl ofproto/trace br-int in_port=<ofport>,tcp,dl_src={mac},nw_dst=169.254.169.254,tcp_dst=80",
        ),
        LinkDefinition(
            "metadata_asked",
            "neutron-metadata-agent",
            asked,
            proxy_host,
            "journalctl SYSLOG_IDENTIFIER=haproxy-metadata-proxy-{network}",
        ),
    ),
)
