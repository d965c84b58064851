# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How OVN reaches the outside: a router's gateway on a host that has the external network, and its floating IPs."""

from __future__ import annotations

from itertools import chain
from operator import attrgetter

from .._model.details import MetadataDetails
from .._model.stores import Interface
from .._model.words import AttemptStatus, StageName
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
    nowhere,
    passes,
    passes_logically,
)
from .ovn_chassis import SBCTL, SETTINGS, chassis_links, controller
from .ovn_port import (
    FLOWS,
    LOGICAL_FLOWS,
    NBCTL,
    all_mapped,
    all_patched,
)
from .ports import links_of_ports

# The state of a session of BFD
UP = "up"


def gateway_host(cloud: Cloud) -> str | None:
    """Return the host of the router's gateway, or the one on which it could be."""
    placed = placed_on(cloud)
    return placed or cloud.name_of(
        sole([chassis.host for chassis in cloud.gateways])
    )


def other_gateway(cloud: Cloud) -> str | None:
    """Return the host of the gateway, unless the instance is there as well: that is looked at with its port."""
    host = gateway_host(cloud)
    return None if host == cloud.host else host


def enabled(cloud: Cloud) -> Found:
    """Check whether OVN is to forward packets of the run's router; that of others may be disabled on purpose."""
    disabled = given(given(cloud.databases).disabled_routers)
    applies_if(cloud.routers and not cloud.is_of_others)
    return holds_if(not set(cloud.routers) <= set(disabled))


def mapped(cloud: Cloud) -> Found:
    """Check whether the host of the router's gateway, or any on which it may be, reaches its external network."""
    applies_if(cloud.chassis)
    taking = cloud.chassis_of(placed_on(cloud)) or cloud.gateways
    mappings = set(chain.from_iterable(chassis.mappings for chassis in taking))
    return all_mapped(cloud, outer_networks(cloud), sorted(mappings))


def placed_on(cloud: Cloud) -> str | None:
    """Return the host that has the gateway of the instance's router."""
    placed = [router.gateway for router in cloud.routers.values()]
    return cloud.name_of(next(filter(None, placed), None))


def outer_networks(cloud: Cloud) -> set[str]:
    """Return the physical networks of the external networks to which the instance's routers lead."""
    databases = given(cloud.databases)
    outer = {
        gateway.network
        for gateway in given(databases.external_gateways)
        if gateway.router in cloud.routers
    }
    physical = {
        network.physical
        for network in given(databases.networks)
        if network.id in outer
    }
    applies_if(physical)
    return physical


def first_gateway(cloud: Cloud) -> str | None:
    return next(
        (cloud.name_of(chassis.host) for chassis in cloud.gateways), None
    )


def in_touch(cloud: Cloud) -> Found:
    """Check whether gateways hear of each other. One that hears of no other takes no router, as it may be cut off."""
    tunnels: list[Interface] = []
    for chassis in cloud.gateways:
        switch = given(cloud.switch(cloud.name_of(chassis.host)))
        tunnels += [one for one in switch.interfaces if one.bfd]
    applies_if(tunnels)
    ends = [f"{one.local} to {one.remote}" for one in tunnels]
    return holds_if(any(one.bfd == UP for one in tunnels), ", ".join(ends))


def placed(cloud: Cloud) -> Found:
    """Check whether the router's gateway is on a host."""
    routers = list(cloud.routers.values())
    applies_if(not cloud.is_unread(cloud.database_host, "OVN's routers"))
    has_floating_ip = any(port.floating_ips for port in cloud.record.ports)
    has_mac = any(router.mac for router in routers)
    applies_if(routers and (has_floating_ip or has_mac))
    return holds_if(any(router.gateway for router in routers), "none")


def translated(cloud: Cloud) -> Found:
    """Check whether OVN translates each floating IP to an address of the port."""
    port = given(cloud.port)
    applies_if(port.floating_ips)
    translations = list(
        chain.from_iterable(
            router.floating_ips for router in cloud.routers.values()
        )
    )
    known = {
        one.address for one in translations if one.fixed in port.addresses
    }
    missing = [
        address for address in port.floating_ips if address not in known
    ]
    elsewhere = [
        f"{one.address} (its rule leads to {one.fixed})"
        for one in translations
        if one.address in missing
    ]
    return holds_if(not missing, ", ".join(elsewhere or missing))


def patched(cloud: Cloud) -> Found:
    """Check whether the bridge of the external network is connected with that of the ports."""
    switch = given(cloud.switch(gateway_host(cloud)))
    return all_patched(switch, outer_networks(cloud))


def allows_ping(cloud: Cloud) -> Found:
    """Check whether OVN lets a ping to the outside pass. Answers to others need no rule that allows it."""
    applies_if(not given(cloud.logical_trace("ping")).is_unallowed)
    return passes_logically(cloud, "ping")


def sends_ping(cloud: Cloud) -> Found:
    trace = cloud.logical_trace("ping")
    applies_if(trace is None or not trace.is_unallowed)
    return passes(cloud, "ping")


def delivered(cloud: Cloud) -> Found:
    """Check whether the guest answers the ping of its floating IP, where the gateway on another host is there for it.

    The gateway answers ARP for that address. What gets lost then does so between both hosts.
    """
    stage = cloud.record.stage_or_skipped(StageName.METADATA)
    reached = given(given(stage.details_as(MetadataDetails)).reached)
    ping, mac = given(reached.ping), given(reached.mac)
    gateway = given(other_gateway(cloud))
    applies_if(mac in map(attrgetter("mac"), cloud.routers.values()))
    if ping.status is not AttemptStatus.SILENT:
        return HOLDS
    return broken(subject=f"between {gateway} and {cloud.host}")


CHAIN = ChainDefinition(
    name="ovn_gateway",
    stages=(StageName.BOOT, StageName.METADATA, StageName.DATAPLANE),
    applies=lambda cloud: (
        cloud.back_end == "ovn"
        and bool(cloud.network_or_empty.routers)
        and cloud.needs_router
    ),
    links=(
        LinkDefinition(
            "ovn_gateway_enabled",
            "neutron-server",
            enabled,
            controller,
            f"{NBCTL} --columns=name,enabled list Logical_Router",
        ),
        *chassis_links(other_gateway),
        LinkDefinition(
            "ovn_gateway_mapped",
            "ovn-controller",
            mapped,
            gateway_host,
            f"{SETTINGS}:ovn-bridge-mappings",
        ),
        LinkDefinition(
            "ovn_gateway_in_touch",
            "data network",
            in_touch,
            first_gateway,
            "ovs-vsctl --columns=name,options,bfd_status find Interface type=geneve",
        ),
        LinkDefinition(
            "ovn_gateway_placed",
            "ovn-controller",
            placed,
            gateway_host,
            f"{SBCTL} find Port_Binding type=chassisredirect",
            controller,
        ),
        *links_of_ports("ovn_gateway_", gateway_host, outer_networks),
        LinkDefinition(
            "ovn_gateway_patched",
            "ovn-controller",
            patched,
            gateway_host,
            "ovs-vsctl show",
        ),
        LinkDefinition(
            "ovn_gateway_translated",
            "neutron-server",
            translated,
            controller,
            f"{NBCTL} list NAT",
        ),
        LinkDefinition(
            "ping_logical",
            "ovn-nb-db",
            allows_ping,
            controller,
            LOGICAL_FLOWS,
        ),
        LinkDefinition("ping_flow", "ovn-controller", sends_ping, here, FLOWS),
        # The last one: it is what is left when each host does its part.
        LinkDefinition(
            "ovn_gateway_delivered",
            "data network",
            delivered,
            nowhere,
            "tcpdump -n -e -i any icmp",
            here,
        ),
    ),
    subject=lambda cloud: next(iter(cloud.routers), None),
)
