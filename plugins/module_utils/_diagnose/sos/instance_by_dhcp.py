# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A network by the files that a DHCP agent has written for its dnsmasq, with its routers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..._collect.commands import UnreadError
from ..._collect.ovsdb import plain
from ..._model.instance import (
    DHCP_PORT,
    ROUTER_INTERFACE,
    Network,
    ServingPort,
    Subnet,
)
from . import openvswitch
from .network import ROUTER, links_in_namespaces
from .report import Report

# An option for the guests of a subnet, such as tag:subnet-ID,option:router,192.168.222.1
SUBNET = re.compile(r"^tag:subnet-(?P<id>[0-9a-f-]{36}),", re.MULTILINE)
GATEWAY = "^tag:subnet-{},option:router,(?P<address>[0-9.]+)"


def by_dhcp(
    reports: Sequence[Report], mac: str, states: Sequence[str]
) -> Network | None:
    """Return the network for which a DHCP agent has reserved an address for a MAC; None if no agent has."""
    for report in reports:
        for folder in folders_in(report, states):
            reserved = report.copy_of(f"{folder}/host") or ""
            if mac and mac in reserved:
                network = network_in(report, folder)
                return with_routers(network, reserved, reports)
    return None


def folders_in(report: Report, states: Sequence[str]) -> Iterator[str]:
    """Yield the folder of each network that an agent of the host serves."""
    for state in states:
        for name in report.names_in(state):
            yield f"{state}/{name}"


def network_in(report: Report, folder: str) -> Network:
    options = report.copy_of(f"{folder}/opts") or ""
    device = (report.copy_of(f"{folder}/interface") or "").strip()
    identities = sorted({match["id"] for match in SUBNET.finditer(options)})
    ports = tuple(ports_at(report, device, DHCP_PORT))
    return Network(
        id=folder.rpartition("/")[2],
        mtu=None,
        subnets=tuple(subnet_of(identity, options) for identity in identities),
        dhcp_ports=tuple(port.id for port in ports),
        distributed=False,
        routers=(),
        serving=ports,
    )


def with_routers(
    network: Network, reserved: str, reports: Sequence[Report]
) -> Network:
    """Return a network with its routers: their MACs are among those that dnsmasq has addresses for."""
    found: list[tuple[str, ServingPort]] = []
    for report in reports:
        found += router_ports_on(report, reserved)
    ports = [port for _router, port in found]
    return replace(
        network,
        routers=tuple(dict(found)),
        serving=(*network.serving, *ports),
    )


def router_ports_on(
    report: Report, reserved: str
) -> Iterator[tuple[str, ServingPort]]:
    """Yield the routers of a host that have a port of a network, each with that port. reserved: dnsmasq's addresses."""
    for router, link in links_in_namespaces(report, ROUTER):
        mac = link.get("address")
        if not mac or mac not in reserved:
            continue
        own = tuple(entry["local"] for entry in link["addr_info"])
        for port in ports_at(report, link["ifname"], ROUTER_INTERFACE):
            yield router, replace(port, mac=mac, addresses=own)


def subnet_of(identity: str, options: str) -> Subnet:
    """Return a subnet, of which only its id and its gateway are written down."""
    gateway = re.search(GATEWAY.format(identity), options, re.MULTILINE)
    address = gateway["address"] if gateway else None
    return Subnet(
        identity, version=4, cidr="", gateway=address, dhcp=True, routes=()
    )


def ports_at(report: Report, device: str, owner: str) -> Iterator[ServingPort]:
    """Yield the port of Neutron that has a device, which an agent uses. owner: what it is for."""
    try:
        rows = openvswitch.rows_of(report, openvswitch.SWITCH, "Interface")
    except UnreadError:
        return
    for row in rows:
        ids = plain(row.get("external_ids"))
        if (
            row.get("name") == device
            and isinstance(ids, dict)
            and "iface-id" in ids
        ):
            yield ServingPort(str(ids["iface-id"]), owner)
