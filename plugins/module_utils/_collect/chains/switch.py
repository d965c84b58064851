# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Open vSwitch's own database: how ovn-controller is configured, the bridges, and what is plugged into them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..._model.stores import (
    ALL_PACKETS,
    INCOMING,
    OUTGOING,
    Bridge,
    Interface,
    Switch,
)
from ..._record.sole import sole
from ..commands import Host
from ..ovsdb import Uuid, columns_of, first, listed, number, rows
from .ovn_databases import GATEWAY

T = TypeVar("T")

# Those of its external ids that decide what ovn-controller does. None of them is a secret.
SETTINGS = (
    "hostname",
    "ovn-bridge",
    "ovn-bridge-datapath-type",
    "ovn-bridge-mappings",
    "ovn-cms-options",
    "ovn-encap-ip",
    "ovn-encap-type",
    "ovn-remote",
    "system-id",
)
# An agent may have restricted a bridge to some of them.
PROTOCOLS = "--protocols=OpenFlow10,OpenFlow13,OpenFlow14,OpenFlow15"
# The beginning of a port, such as 1(eth1): addr:..., and the flags of its configuration
PORT = re.compile(r" \w+\(([^)]+)\): addr:")
COUNT = re.compile(r"\bflow_count=(\d+)")
DROPS = {"PORT_DOWN": ALL_PACKETS, "NO_RECV": INCOMING, "NO_FWD": OUTGOING}


@dataclass(frozen=True)
class SettingsRow:
    external_ids: Mapping[str, str]


@dataclass(frozen=True)
class BridgeRow:
    name: str
    datapath_type: str
    fail_mode: Any
    ports: Any


@dataclass(frozen=True)
class PortRow:
    uuid: Uuid
    interfaces: Any
    tag: Any


@dataclass(frozen=True)
class InterfaceRow:
    uuid: Uuid
    name: str
    type: str
    options: Mapping[str, str]
    ofport: Any
    error: Any
    external_ids: Mapping[str, str]


@dataclass(frozen=True)
class SessionRow:
    name: str
    bfd_status: Mapping[str, str]


def read(host: Host) -> Switch:
    ports = {port.uuid: port for port in listing(host, PortRow, "Port")}
    interfaces = {
        interface.uuid: interface
        for interface in listing(host, InterfaceRow, "Interface")
    }
    tags: dict[str, int | None] = {}
    for port in ports.values():
        tags.update(dict.fromkeys(listed(port.interfaces), number(port.tag)))
    bridges: list[Bridge] = []
    for bridge in listing(host, BridgeRow, "Bridge"):
        plugged: list[str] = []
        for port_id in listed(bridge.ports):
            plugged += [
                interfaces[uuid].name
                for uuid in listed(ports[port_id].interfaces)
            ]
        bridges.append(
            Bridge(
                bridge.name,
                bridge.datapath_type or "system",
                first(bridge.fail_mode),
                tuple(plugged),
            )
        )
    drops = drops_of(host, bridges)
    settings = settings_of(host)
    sessions = sessions_of(host) if is_gateway(settings) else {}
    return Switch(
        settings=settings,
        bridges=with_flows(host, bridges),
        interfaces=tuple(
            interface_of(
                row,
                tags.get(uuid),
                drops.get(row.name),
                sessions.get(row.name),
            )
            for uuid, row in interfaces.items()
        ),
    )


def is_gateway(settings: Mapping[str, str]) -> bool:
    """Return whether OVN may place routers here. Only gateways watch each other."""
    return GATEWAY in settings.get("ovn-cms-options", "")


def sessions_of(host: Host) -> dict[str, str]:
    """Return the state of the session of BFD in each tunnel that has one."""
    found = listing(host, SessionRow, "Interface")
    return {
        row.name: row.bfd_status["state"]
        for row in found
        if "state" in row.bfd_status
    }


def listing(host: Host, kind: type[T], table: str) -> list[T]:
    """Return all rows of a table of Open vSwitch."""
    return rows(
        host.ask(
            "ovs",
            "ovs-vsctl",
            "--format=json",
            columns_of(kind),
            "list",
            table,
        ),
        kind,
    )


def settings_of(host: Host) -> dict[str, str]:
    """Return how ovn-controller is configured: what is set for its chassis goes before what is set for all."""
    found = listing(host, SettingsRow, "Open_vSwitch")[0].external_ids
    chassis = found.get("system-id")
    chosen = {
        name: found.get(f"{name}-{chassis}", found.get(name))
        for name in SETTINGS
    }
    return {name: text for name, text in chosen.items() if text is not None}


def of_each(
    host: Host,
    bridges: Iterable[Bridge],
    what: str,
    ask: Callable[[Host, str], T],
) -> dict[str, T]:
    """Return what is asked about each bridge by its name, up to the first one about which there is no answer."""
    found: dict[str, T] = {}
    for bridge in bridges:
        answer = host.attempt(f"{what} of {bridge.name}", ask, bridge.name)
        if answer is None:
            # The others would be refused, or hang, as well.
            break
        found[bridge.name] = answer
    return found


def drops_of(host: Host, bridges: Iterable[Bridge]) -> dict[str, str]:
    """Return which packets the flags of each port of some bridges have it drop, if any."""
    drops: dict[str, str] = {}
    for found in of_each(host, bridges, "the ports", drops_on).values():
        drops.update(found)
    return drops


def with_flows(host: Host, bridges: Sequence[Bridge]) -> tuple[Bridge, ...]:
    """Return bridges with the number of flows of each."""
    counts = of_each(host, bridges, "the number of flows", flows_on)
    return tuple(
        replace(bridge, flows=counts.get(bridge.name)) for bridge in bridges
    )


def flows_on(host: Host, bridge: str) -> int:
    output = host.ask("ovs", "ovs-ofctl", PROTOCOLS, "dump-aggregate", bridge)
    counted = COUNT.search(output)
    if counted is None:
        raise ValueError(output)
    return int(counted[1])


def drops_on(host: Host, bridge: str) -> dict[str, str]:
    """Return which packets the flags of each port of a bridge have it drop, if any."""
    output = host.ask("ovs", "ovs-ofctl", PROTOCOLS, "dump-ports-desc", bridge)
    found: dict[str, str] = {}
    name = ""
    for line in output.splitlines():
        port = PORT.match(line)
        if port:
            name = port[1]
            continue
        field, _colon, flags = line.strip().partition(":")
        if field != "config":
            continue
        dropped = [
            packets for flag, packets in DROPS.items() if flag in flags.split()
        ]
        if dropped:
            found[name] = sole(dropped) or ALL_PACKETS
    return found


def interface_of(
    row: InterfaceRow, tag: int | None, drops: str | None, session: str | None
) -> Interface:
    options = row.options
    return Interface(
        name=row.name,
        kind=row.type,
        ofport=number(row.ofport),
        error=first(row.error),
        port=row.external_ids.get("iface-id"),
        peer=options.get("peer"),
        local=options.get("local_ip"),
        remote=options.get("remote_ip"),
        tag=tag,
        drops=drops,
        bfd=session,
    )
