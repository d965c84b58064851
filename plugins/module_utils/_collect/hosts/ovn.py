# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A port in the northbound and southbound databases of OVN, with its DHCP options, groups and routers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ..._model.facts import (
    DhcpOptions,
    LogicalPort,
    OvnFloatingIp,
    OvnPort,
    OvnRouter,
    PortBinding,
)
from ..commands import Host, UnreadError
from ..ovsdb import Uuid, columns_of, first, listed, rows

# A follower answers, too: what is read here need not be newer than some milliseconds.
NORTHBOUND = ("ovn_nb", "ovn-nbctl", "--no-leader-only", "--format=json")
SOUTHBOUND = ("ovn_sb", "ovn-sbctl", "--no-leader-only", "--format=json")

T = TypeVar("T")


@dataclass(frozen=True)
class SwitchPortRow:
    uuid: Uuid
    up: Any
    enabled: Any
    addresses: Any
    dhcpv4_options: Any


@dataclass(frozen=True)
class BindingRow:
    chassis: Any
    up: Any


@dataclass(frozen=True)
class ChassisRow:
    hostname: str


@dataclass(frozen=True)
class DhcpRow:
    uuid: Uuid
    cidr: str
    options: Mapping[str, str]


@dataclass(frozen=True)
class GroupRow:
    name: str
    acls: Any


@dataclass(frozen=True)
class RouterRow:
    ports: Any
    nat: Any


@dataclass(frozen=True)
class NatRow:
    uuid: Uuid
    external_ip: str
    external_mac: Any
    logical_ip: str
    type: str


@dataclass(frozen=True)
class RouterPortRow:
    name: str
    mac: str
    gateway_chassis: Any
    ha_chassis_group: Any


class NoDatabaseError(Exception):
    """This host has no database of OVN, as not each host of the control plane has."""


def read(
    host: Host,
    port: str,
    addresses: Sequence[str],
    subnets: Sequence[str],
    routers: Sequence[str],
) -> OvnPort | None:
    """Return the facts about a port; None if no database of OVN runs here. subnets, routers: those of its network."""
    try:
        logical = host.attempt("OVN's port", logical_port, port)
    except NoDatabaseError:
        return None
    return OvnPort(
        logical=logical,
        binding=host.attempt("OVN's binding of the port", binding, port),
        dhcp=host.attempt(
            "OVN's DHCP options", dhcp_options, logical, subnets
        ),
        groups=host.attempt("OVN's port groups", port_groups, logical),
        routers=host.attempt("OVN's routers", routers_of, routers, addresses),
    )


def table(
    host: Host, database: tuple[str, ...], kind: type[T], *words: str
) -> list[T]:
    part, *command = database
    return rows(host.ask(part, *command, columns_of(kind), *words), kind)


def logical_port(host: Host, port: str) -> LogicalPort | None:
    try:
        found = table(
            host,
            NORTHBOUND,
            SwitchPortRow,
            "find",
            "Logical_Switch_Port",
            f"name={port}",
        )
    except UnreadError as exc:
        if (
            exc.kind in ("missing", "absent")
            or "database connection failed (No such file" in exc.output
        ):
            raise NoDatabaseError from exc
        raise
    if not found:
        return None
    row = found[0]
    return LogicalPort(
        uuid=row.uuid,
        up=row.up is True,
        # An empty column means that it is enabled.
        enabled=row.enabled is not False,
        addresses=tuple(listed(row.addresses)),
        dhcp=first(row.dhcpv4_options),
    )


def binding(host: Host, port: str) -> PortBinding | None:
    """Return whether a port is up in the southbound database, and the host of the chassis that has claimed it."""
    found = table(
        host,
        SOUTHBOUND,
        BindingRow,
        "find",
        "Port_Binding",
        f"logical_port={port}",
    )
    if not found:
        return None
    return PortBinding(host_of(host, found[0].chassis), found[0].up is True)


def host_of(host: Host, chassis: Any) -> str | None:
    """Return the name of a chassis' host; None for a port that no chassis has claimed."""
    if not isinstance(chassis, str):
        return None
    return table(host, SOUTHBOUND, ChassisRow, "list", "Chassis", chassis)[
        0
    ].hostname


def dhcp_options(
    host: Host, logical: LogicalPort | None, subnets: Iterable[str]
) -> DhcpOptions | None:
    """Return the range and the options that ovn-controller gives out, of the row that the port refers to."""
    if logical is None:
        return None
    for subnet in subnets:
        condition = f"external_ids:subnet_id={subnet}"
        for row in table(
            host, NORTHBOUND, DhcpRow, "find", "DHCP_Options", condition
        ):
            if row.uuid == logical.dhcp:
                return DhcpOptions(row.cidr, row.options)
    return None


def port_groups(host: Host, logical: LogicalPort | None) -> dict[str, int]:
    """Return the name of each group that the port is in, with the number of its ACLs."""
    if logical is None:
        return {}
    found = table(
        host,
        NORTHBOUND,
        GroupRow,
        "find",
        "Port_Group",
        f"ports{{>=}}{logical.uuid}",
    )
    return {row.name: len(listed(row.acls)) for row in found}


def routers_of(
    host: Host, routers: Iterable[str], addresses: Sequence[str]
) -> dict[str, OvnRouter]:
    facts = {}
    for router in routers:
        for row in table(
            host,
            NORTHBOUND,
            RouterRow,
            "find",
            "Logical_Router",
            f"name=neutron-{router}",
        ):
            facts[router] = router_of(host, row, addresses)
    return facts


def router_of(
    host: Host, row: RouterRow, addresses: Sequence[str]
) -> OvnRouter:
    """Return the host and the MAC of a router's gateway, and the floating IPs of the port's addresses."""
    rules = set(listed(row.nat))
    floating = floating_ips(host, rules, addresses) if rules else ()
    gateway, mac = gateway_of(host, listed(row.ports))
    return OvnRouter(gateway, mac, floating)


def floating_ips(
    host: Host, rules: set[str], addresses: Iterable[str]
) -> tuple[OvnFloatingIp, ...]:
    """Return the floating IP of each address, by a router's NAT rules. Other projects may have the same addresses."""
    found: list[NatRow] = []
    for address in addresses:
        found += table(
            host, NORTHBOUND, NatRow, "find", "NAT", f"logical_ip={address}"
        )
    ours = [
        row
        for row in found
        if row.type == "dnat_and_snat" and row.uuid in rules
    ]
    # With a MAC of its own it is answered for where the port is, else by the router's gateway.
    return tuple(
        OvnFloatingIp(row.external_ip, row.logical_ip, first(row.external_mac))
        for row in ours
    )


def gateway_of(
    host: Host, ports: Iterable[str]
) -> tuple[str | None, str | None]:
    """Return the host whose chassis has the gateway port of a router, and the MAC of the port; Nones without one."""
    for port in ports:
        row = table(
            host,
            NORTHBOUND,
            RouterPortRow,
            "list",
            "Logical_Router_Port",
            port,
        )[0]
        # Neutron gives a gateway chassis of its own, in 2026.2 a group of them.
        if listed(row.gateway_chassis) or listed(row.ha_chassis_group):
            bound = binding(host, f"cr-{row.name}")
            return bound.host if bound else None, row.mac
    return None, None
