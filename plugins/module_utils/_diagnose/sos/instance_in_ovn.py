# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ports and networks of an instance by OVN's northbound database, into which Neutron writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..._collect.commands import Host, UnreadError
from ..._collect.hosts.ovn import NORTHBOUND, NoDatabaseError, table
from ..._collect.ovsdb import Uuid, listed
from ..._model.instance import (
    LOCALPORT,
    ROUTER_INTERFACE,
    Network,
    Port,
    ServingPort,
    Subnet,
)
from .port import port_seen

# What Neutron puts before an id to name a switch or a router, and to name the port of a router
PREFIX, ROUTER_PORT = "neutron-", "lrp-"
SERVER, NETWORK, MTU = (
    "neutron:device_id",
    "neutron:network_name",
    "neutron:mtu",
)
# The kinds of ports that are no guest's, and for what they are
OWNERS = {"localport": LOCALPORT, "router": ROUTER_INTERFACE}


@dataclass(frozen=True)
class PortRow:
    uuid: Uuid
    name: str
    type: str
    addresses: Any
    dhcpv4_options: Any
    external_ids: Mapping[str, str]


@dataclass(frozen=True)
class SwitchRow:
    name: str
    ports: Any
    external_ids: Mapping[str, str]


@dataclass(frozen=True)
class OptionsRow:
    uuid: Uuid
    cidr: str
    options: Mapping[str, str]
    external_ids: Mapping[str, str]


@dataclass(frozen=True)
class RouterRow:
    name: str
    ports: Any


@dataclass(frozen=True)
class RouterPortRow:
    uuid: Uuid
    name: str


@dataclass(frozen=True)
class Northbound:
    """The tables of the database that show an instance."""

    ports: Sequence[PortRow]
    switches: Sequence[SwitchRow]
    options: Sequence[OptionsRow]
    routers: Sequence[RouterRow]
    router_ports: Sequence[RouterPortRow]


def northbound(host: Host) -> Northbound | None:
    """Return the database; None where it is not kept on this host, or was not collected."""
    try:
        return Northbound(
            ports=table(
                host, NORTHBOUND, PortRow, "list", "Logical_Switch_Port"
            ),
            switches=table(
                host, NORTHBOUND, SwitchRow, "list", "Logical_Switch"
            ),
            options=table(
                host, NORTHBOUND, OptionsRow, "list", "DHCP_Options"
            ),
            routers=table(
                host, NORTHBOUND, RouterRow, "list", "Logical_Router"
            ),
            router_ports=table(
                host, NORTHBOUND, RouterPortRow, "list", "Logical_Router_Port"
            ),
        )
    except (UnreadError, NoDatabaseError, ValueError):
        return None


def ports_of(server: str, database: Northbound) -> tuple[Port, ...]:
    own = [
        row for row in database.ports if row.external_ids.get(SERVER) == server
    ]
    return tuple(port_of(row, database) for row in own)


def port_of(row: PortRow, database: Northbound) -> Port:
    """Return a port of Neutron by its row, whose addresses begin with the MAC."""
    mac, *addresses = words_in(row) or [""]
    used = listed(row.dhcpv4_options)
    subnets = [
        options.external_ids.get("subnet_id", "")
        for options in database.options
        if options.uuid in used
    ]
    network = row.external_ids.get(NETWORK, "").replace(PREFIX, "", 1)
    return replace(
        port_seen(row.name, mac, tuple(addresses), network),
        subnets=tuple(subnets),
    )


def words_in(row: PortRow) -> list[str]:
    """Return the MAC and the addresses of a port."""
    return " ".join(map(str, listed(row.addresses))).split()


def network_of(identity: str, database: Northbound) -> Network | None:
    """Return a network by its switch; None if the database does not have it."""
    for switch in database.switches:
        if switch.name == f"{PREFIX}{identity}":
            return described(identity, switch, database)
    return None


def described(
    identity: str, switch: SwitchRow, database: Northbound
) -> Network:
    own = listed(switch.ports)
    ports = [row for row in database.ports if row.uuid in own]
    serving = tuple(serving_port(row) for row in ports if row.type in OWNERS)
    mtu = switch.external_ids.get(MTU, "")
    return Network(
        id=identity,
        mtu=int(mtu) if mtu.isdigit() else None,
        subnets=subnets_of(ports, database),
        dhcp_ports=(),
        distributed=True,
        routers=routers_with(serving, database),
        serving=serving,
    )


def serving_port(row: PortRow) -> ServingPort:
    # Of a router's port the row says "router" instead of its MAC.
    mac, *addresses = words_in(row) or [""]
    known_mac = mac if ":" in mac else None
    return ServingPort(
        row.name, OWNERS[row.type], known_mac, addresses=tuple(addresses)
    )


def subnets_of(
    ports: Iterable[PortRow], database: Northbound
) -> tuple[Subnet, ...]:
    """Return the subnets of which some ports have DHCP options."""
    used: set[str] = set()
    for port in ports:
        used.update(listed(port.dhcpv4_options))
    return tuple(
        subnet_of(row) for row in database.options if row.uuid in used
    )


def subnet_of(row: OptionsRow) -> Subnet:
    return Subnet(
        id=row.external_ids.get("subnet_id", ""),
        version=4,
        cidr=row.cidr,
        gateway=row.options.get("router"),
        dhcp=True,
        routes=(),
    )


def routers_with(
    serving: Iterable[ServingPort], database: Northbound
) -> tuple[str, ...]:
    """Return the ids of the routers that have one of some ports."""
    names = {f"{ROUTER_PORT}{port.id}" for port in serving}
    rows = {row.uuid for row in database.router_ports if row.name in names}
    found: list[str] = []
    for router in database.routers:
        ports = listed(router.ports)
        if rows.intersection(ports):
            identity = router.name.replace(PREFIX, "", 1)
            found.append(identity)
    return tuple(found)
