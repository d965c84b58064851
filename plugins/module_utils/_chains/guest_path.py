# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How packets get from one guest of a run to the other: out of its host, and into that of the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .._collect.chains.packets import FROM_GUEST, TO_GUEST
from .._model.instance import GuestPath, Port
from .._model.words import StageName
from .cloud import Cloud
from .definitions import (
    ChainDefinition,
    Found,
    LinkDefinition,
    decided,
    first_broken,
    here,
    not_dropped,
    nowhere,
)
from .ovn_chassis import chassis_links, controller
from .ovn_port import FLOWS, LOGICAL_FLOWS
from .ports import (
    COMMAND,
    FLOWS_OF_BRIDGES,
    LOCAL_ENDS,
    begin_at_home,
    carrier,
    carrying,
    directed,
    flowing,
    open_ports,
    tunnel_between,
    wired,
)


def has_tunnels(cloud: Cloud) -> Found:
    """Check whether the hosts of both guests have tunnels to each other, if tunnels carry the network."""
    return first_broken(tunnel_of(cloud, path) for path in cloud.paths)


def tunnel_of(cloud: Cloud, path: GuestPath) -> Found | None:
    if path.is_routed:
        return None
    near, far = map(cloud.host_of_port, (path.source, path.target))
    network = path.target_network
    # What is sent is answered.
    ways = [(near, far), (far, near)]
    return first_broken(tunnel_between(cloud, network, *way) for way in ways)


def begun_at_home(cloud: Cloud) -> Found:
    """Check whether the tunnels of the hosts of both guests begin at addresses of theirs."""
    path = cloud.paths[0]
    near, far = map(cloud.host_of_port, (path.source, path.target))
    return begin_at_home(
        cloud, path.target_network, [(near, far), (far, near)]
    )


def open_on_both(cloud: Cloud) -> Found:
    """Check whether the ports of both hosts' switches let packets through."""
    return on_both(cloud, open_ports)


def flowing_on_both(cloud: Cloud) -> Found:
    """Check whether the bridges of both hosts have flows."""
    return on_both(cloud, flowing)


def wired_on_both(cloud: Cloud) -> Found:
    """Check whether both hosts reach the physical network that carries the guests' packets."""
    physicals = carrying(cloud)
    return on_both(cloud, lambda there, host: wired(there, host, physicals))


def on_both(
    cloud: Cloud, check: Callable[[Cloud, str | None], Found]
) -> Found:
    """Return what is wrong on the host of one of the guests, if it is so on any."""
    hosts: dict[str | None, None] = {}
    for path in cloud.paths:
        hosts.update(
            dict.fromkeys(map(cloud.host_of_port, (path.source, path.target)))
        )
    return first_broken(decided(on, host, cloud, check) for host in hosts)


def on(
    host: str | None,
    cloud: Cloud,
    check: Callable[[Cloud, str | None], Found],
) -> Found:
    return replace(check(cloud, host), host=host)


def sent(cloud: Cloud) -> Found:
    """Check whether the flows of the guest's host let a packet out."""
    return first_broken(
        on_host(cloud, path.source, TO_GUEST + path.check)
        for path in cloud.paths
    )


def tunneled(cloud: Cloud) -> Found:
    """Check whether a packet goes into the tunnel to the other guest's host."""
    return first_broken(into_tunnel(cloud, path) for path in cloud.paths)


def into_tunnel(cloud: Cloud, path: GuestPath) -> Found | None:
    if path.is_routed:
        return None
    hosts = (cloud.host_of_port(path.source), cloud.host_of_port(path.target))
    trace = cloud.trace_on(hosts[0], path.source.id, TO_GUEST + path.check)
    return directed(cloud, path.target_network, hosts, trace)


def received(cloud: Cloud) -> Found:
    """Check whether the flows of the other guest's host let a packet in."""
    return first_broken(
        on_host(cloud, path.target, FROM_GUEST + path.check)
        for path in cloud.paths
    )


def on_host(cloud: Cloud, port: Port, packet: str) -> Found | None:
    """Return what the flows of a port's host do with a packet; None if it was not traced there."""
    host = cloud.host_of_port(port)
    trace = cloud.trace_on(host, port.id, packet)
    return (
        replace(not_dropped(trace), host=host, owner=carrier(cloud))
        if trace
        else None
    )


def passed_logically(cloud: Cloud) -> Found:
    """Check whether the logical flows of OVN let a packet pass from one guest to the other."""
    return first_broken(in_ovn(cloud, path) for path in cloud.paths)


def in_ovn(cloud: Cloud, path: GuestPath) -> Found | None:
    trace = cloud.logical_trace(TO_GUEST + path.check, path.source.id)
    return not_dropped(trace) if trace else None


HOSTS = ChainDefinition(
    name="guest_hosts",
    stages=(StageName.DATAPLANE, StageName.JOURNEY),
    applies=lambda cloud: cloud.back_end == "ovn" and bool(cloud.paths),
    links=(
        *chassis_links(here),
        *chassis_links(lambda cloud: cloud.second_host),
    ),
)
CHAIN = ChainDefinition(
    name="guest_path",
    stages=(StageName.DATAPLANE, StageName.JOURNEY),
    applies=lambda cloud: bool(cloud.paths) and bool(cloud.stores),
    links=(
        LinkDefinition(
            "path_logical",
            "ovn-nb-db",
            passed_logically,
            controller,
            LOGICAL_FLOWS,
        ),
        LinkDefinition(
            "path_tunnel_ends",
            "neutron-l2-agent",
            begun_at_home,
            nowhere,
            LOCAL_ENDS,
        ),
        LinkDefinition(
            "path_tunnel",
            "neutron-l2-agent",
            has_tunnels,
            nowhere,
            "ovs-vsctl show",
        ),
        LinkDefinition(
            "path_bridge_wired",
            "ovsdb",
            wired_on_both,
            nowhere,
            "ovs-vsctl show",
        ),
        LinkDefinition(
            "path_ports_open", "ovsdb", open_on_both, nowhere, COMMAND
        ),
        LinkDefinition(
            "path_bridge_flows",
            "ovsdb",
            flowing_on_both,
            nowhere,
            FLOWS_OF_BRIDGES,
        ),
        LinkDefinition("path_sent", "neutron-l2-agent", sent, nowhere, FLOWS),
        LinkDefinition(
            "path_directed", "neutron-l2-agent", tunneled, nowhere, FLOWS
        ),
        LinkDefinition(
            "path_received", "neutron-l2-agent", received, nowhere, FLOWS
        ),
    ),
)
