# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The databases of OVN as a whole: what northd has translated, who has registered, and what Neutron did not write."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..._model.instance import DescribedInstance
from ..._model.stores import (
    DEFAULT_DROP,
    Acl,
    Chassis,
    Encapsulation,
    ExternalGateway,
    Limit,
    LogicalNetwork,
    OvnDatabases,
    bridge_mappings,
)
from ..commands import Host
from ..hosts.ovn import NORTHBOUND, SOUTHBOUND, table
from ..ovsdb import Uuid, listed
from . import traces

# Only a database that is kept here answers at its socket.
NORTHBOUND_SOCKET = "/var/run/ovn/ovnnb_db.ctl"
SOUTHBOUND_SOCKET = "/var/run/ovn/ovnsb_db.ctl"
SWITCH = "Logical_Switch"
REMOVE = f"ovn-nbctl --no-leader-only remove {SWITCH}"
# What Neutron writes of the port, the group or the floating IP that a rule or a limit is for begins so.
OF_NEUTRON = "neutron:"
# A guest gets its lease and its metadata in time through this, and through a rule that limits nothing.
WIDE_KBIT_S = 1000
# ... and with so many connections of each guest that are followed
MANY_CONNECTIONS = 1000
ZONE_LIMIT = "ct-zone-limit"
# What ovn-controller answers to a new guest, by the names of protocols in Copp
NEEDED = frozenset(
    ("arp", "dhcpv4-opts", "dhcpv6-opts", "nd-na", "nd-ra-opts")
)
DROPPING = ("drop", "reject")
GATEWAY = "enable-chassis-as-gw"
# How long a change may take from one database to the other
ON_ITS_WAY_S = 1


@dataclass(frozen=True)
class GlobalRow:
    nb_cfg: int
    sb_cfg: int


@dataclass(frozen=True)
class ChassisRow:
    name: str
    hostname: str
    encaps: Any
    other_config: Mapping[str, str]


@dataclass(frozen=True)
class PrivateRow:
    """What a chassis alone writes of itself. nb_cfg_timestamp: in milliseconds since the epoch."""

    name: str
    nb_cfg: int
    nb_cfg_timestamp: int


@dataclass(frozen=True)
class EncapRow:
    uuid: Uuid
    type: str
    ip: str


@dataclass(frozen=True)
class LocalnetRow:
    uuid: Uuid
    options: Mapping[str, str]


@dataclass(frozen=True)
class AclRow:
    uuid: Uuid
    action: str
    direction: str
    match: str
    priority: int
    external_ids: Mapping[str, str]


@dataclass(frozen=True)
class QosRow:
    """A limit on packets. bandwidth: its rate, in kbit/s."""

    uuid: Uuid
    bandwidth: Mapping[str, int]
    direction: str
    match: str
    external_ids: Mapping[str, str]


@dataclass(frozen=True)
class ProtectionRow:
    """Limits on what ovn-controller answers itself. meters: the name of one for each protocol."""

    uuid: Uuid
    meters: Mapping[str, str]


@dataclass(frozen=True)
class SwitchRow:
    name: str
    other_config: Mapping[str, str]


@dataclass(frozen=True)
class RouterRow:
    """A router. An empty enabled stands for yes."""

    name: str
    enabled: Any


@dataclass(frozen=True)
class RouterPortRow:
    """A port of a router. ipv6_ra_configs: how it is advertised over IPv6; empty if it is not."""

    name: str
    external_ids: Mapping[str, str]
    ipv6_ra_configs: Mapping[str, str]


@dataclass(frozen=True)
class NamedRow:
    name: str


def read(host: Host, instance: DescribedInstance | None) -> OvnDatabases:
    """Return the state of the databases that are kept here, and what they mean for the packets of an instance."""
    version = host.attempt("OVN's versions", versions)
    ports = host.attempt("OVN's router ports", router_ports)
    return OvnDatabases(
        northbound=host.attempt(
            "OVN's northbound database", role, NORTHBOUND[0], NORTHBOUND_SOCKET
        ),
        southbound=host.attempt(
            "OVN's southbound database", role, SOUTHBOUND[0], SOUTHBOUND_SOCKET
        ),
        northd=host.attempt("the state of northd", northd),
        version=version.nb_cfg if version else None,
        translated=version.sb_cfg if version else None,
        chassis=host.attempt("OVN's chassis", chassis),
        networks=host.attempt("OVN's networks", physical_networks),
        acls=host.attempt("OVN's rules", foreign_acls),
        advertised=None if ports is None else advertised(ports),
        external_gateways=None if ports is None else external_gateways(ports),
        disabled_routers=host.attempt("OVN's routers", disabled_routers),
        limits=host.attempt("OVN's limits", foreign_limits),
        traces=traces.read_logical(host, instance) if instance else None,
    )


def versions(host: Host) -> GlobalRow:
    """Return the version of the northbound database, and the one that northd has translated.

    A change of this moment is given a second to arrive.
    """
    version = table(host, NORTHBOUND, GlobalRow, "list", "NB_Global")[0]
    if version.nb_cfg == version.sb_cfg:
        return version
    time.sleep(ON_ITS_WAY_S)
    return table(host, NORTHBOUND, GlobalRow, "list", "NB_Global")[0]


def role(host: Host, part: str, socket: str) -> str:
    """Return whether a database is active, or the backup of another."""
    answer = host.ask(
        part, "ovn-appctl", "-t", socket, "ovsdb-server/sync-status"
    )
    return value_in(answer, "state")


def northd(host: Host) -> str:
    return value_in(
        host.ask("ovn_northd", "ovn-appctl", "-t", "ovn-northd", "status"),
        "status",
    )


def value_in(answer: str, name: str) -> str:
    """Return a value of an answer in lines such as `state: active`."""
    for line in answer.splitlines():
        key, _colon, value = line.partition(":")
        if key.strip().lower() == name:
            return value.strip()
    raise ValueError(answer)


def chassis(host: Host) -> tuple[Chassis, ...]:
    encapsulations = {
        row.uuid: Encapsulation(row.type, row.ip)
        for row in table(host, SOUTHBOUND, EncapRow, "list", "Encap")
    }
    private = {
        row.name: row
        for row in table(
            host, SOUTHBOUND, PrivateRow, "list", "Chassis_Private"
        )
    }
    found = []
    for row in table(host, SOUTHBOUND, ChassisRow, "list", "Chassis"):
        own = private.get(row.name)
        found.append(
            Chassis(
                name=row.name,
                host=row.hostname,
                encapsulations=tuple(
                    encapsulations[uuid]
                    for uuid in listed(row.encaps)
                    if uuid in encapsulations
                ),
                version=own.nb_cfg if own else None,
                reported=own.nb_cfg_timestamp / 1000
                if own and own.nb_cfg_timestamp
                else None,
                mappings=tuple(
                    bridge_mappings(
                        row.other_config.get("ovn-bridge-mappings", "")
                    )
                ),
                is_gateway=GATEWAY
                in row.other_config.get("ovn-cms-options", ""),
            )
        )
    return tuple(found)


def disabled_routers(host: Host) -> tuple[str, ...]:
    """Return the ids of the routers that forward nothing."""
    routers = table(host, NORTHBOUND, RouterRow, "list", "Logical_Router")
    return tuple(
        router.name.replace("neutron-", "", 1)
        for router in routers
        if router.enabled is False
    )


def router_ports(host: Host) -> list[RouterPortRow]:
    return table(
        host, NORTHBOUND, RouterPortRow, "list", "Logical_Router_Port"
    )


def external_gateways(
    ports: Iterable[RouterPortRow],
) -> tuple[ExternalGateway, ...]:
    """Return where routers lead to, by the notes that Neutron keeps beside their gateways."""
    found: list[ExternalGateway] = []
    for port in ports:
        notes = port.external_ids
        if notes.get("neutron:is_ext_gw") == "True":
            network = notes.get("neutron:network_name", "")
            router = notes.get("neutron:router_name", "")
            found.append(
                ExternalGateway(router, network.removeprefix("neutron-"))
            )
    return tuple(found)


def advertised(ports: Iterable[RouterPortRow]) -> tuple[str, ...]:
    """Return the ids of the ports by which routers are advertised over IPv6."""
    return tuple(
        port.name.replace("lrp-", "", 1)
        for port in ports
        if port.ipv6_ra_configs.get("address_mode")
    )


def physical_networks(host: Host) -> tuple[LogicalNetwork, ...]:
    """Return the networks that have a port into a physical network."""
    found = []
    for port in table(
        host,
        NORTHBOUND,
        LocalnetRow,
        "find",
        "Logical_Switch_Port",
        "type=localnet",
    ):
        physical = port.options.get("network_name", "")
        found += [
            LogicalNetwork(name.replace("neutron-", "", 1), physical)
            for name in holding(host, SWITCH, "ports", port.uuid)
        ]
    return tuple(found)


def foreign_acls(host: Host) -> tuple[Acl, ...]:
    """Return the rules that drop packets, but for those of security groups and Neutron's default."""
    found = []
    for action in DROPPING:
        for row in table(
            host, NORTHBOUND, AclRow, "find", "ACL", f"action={action}"
        ):
            if OF_NEUTRON not in " ".join(row.external_ids):
                found += [
                    Acl(
                        holder,
                        row.action,
                        row.direction,
                        row.match,
                        row.priority,
                    )
                    for holder in holders_of(host, row.uuid)
                    if holder != DEFAULT_DROP
                ]
    return tuple(found)


def holders_of(host: Host, acl: str) -> list[str]:
    """Return the names of the groups and networks that have a rule."""
    groups = holding(host, "Port_Group", "acls", acl)
    return groups + holding(host, SWITCH, "acls", acl)


def holding(host: Host, kind: str, column: str, uuid: str) -> list[str]:
    """Return the names of the rows of a table that refer to another row in a column."""
    condition = f"{column}{{>=}}{uuid}"
    rows = table(host, NORTHBOUND, NamedRow, "find", kind, condition)
    return [row.name for row in rows]


def foreign_limits(host: Host) -> tuple[Limit, ...]:
    """Return the narrow limits on packets of logical networks that Neutron has not set. It protects no answers."""
    found: list[Limit] = []
    for limit in table(host, NORTHBOUND, QosRow, "list", "QoS"):
        rate = limit.bandwidth.get("rate", WIDE_KBIT_S)
        is_foreign = OF_NEUTRON not in " ".join(limit.external_ids)
        if is_foreign and rate < WIDE_KBIT_S:
            text = f"{limit.direction} {limit.match}: {rate} kbit/s"
            found += held_limits(host, "qos_rules", limit.uuid, text)
    for protection in table(host, NORTHBOUND, ProtectionRow, "list", "Copp"):
        for protocol in sorted(NEEDED.intersection(protection.meters)):
            text = f"{protocol} by meter {protection.meters[protocol]}"
            found += held_limits(host, "copp", protection.uuid, text)
    return (*found, *connection_limits(host))


def connection_limits(host: Host) -> Iterator[Limit]:
    """Yield the networks whose ports may have a few connections only."""
    limited = f"other_config:{ZONE_LIMIT}!=0"
    for row in table(host, NORTHBOUND, SwitchRow, "find", SWITCH, limited):
        most = int(row.other_config[ZONE_LIMIT])
        if most < MANY_CONNECTIONS:
            yield Limit(
                row.name,
                f"connections of each port: {most}",
                f"{REMOVE} {row.name} other_config {ZONE_LIMIT}",
            )


def held_limits(host: Host, column: str, uuid: str, text: str) -> list[Limit]:
    """Return a limit once for each logical network that has it in a column."""
    return [
        Limit(name, text, f"{REMOVE} {name} {column} {uuid}")
        for name in holding(host, SWITCH, column, uuid)
    ]
