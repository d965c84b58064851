# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The interface of a port in Open vSwitch, and its link and flows."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..._model.facts import Flows, Link, SwitchInterface
from ..commands import Host, UnreadError
from ..ovsdb import columns_of, number, rows

AGE = re.compile(r"\bduration=([\d.]+)s")
PACKETS = re.compile(r"\bn_packets=(\d+)")


def read(host: Host, port: str) -> SwitchInterface | None:
    """Return the interface of a Neutron port; None if this host has none."""
    interface = host.attempt(
        "the interface in Open vSwitch", interface_of, port
    )
    if interface is None:
        return None
    bridge = host.attempt("the interface's bridge", bridge_of, interface.name)
    return dataclasses.replace(
        interface,
        bridge=bridge,
        tag=host.attempt("the port's tag", tag_of, interface.name),
        link=host.attempt("the link", link_of, interface.name),
        flows=host.attempt("the flows", flows_of, bridge, interface.ofport),
    )


@dataclass(frozen=True)
class InterfaceRow:
    """A row of Open vSwitch's table Interface."""

    name: str
    ofport: Any
    external_ids: Mapping[str, str]
    error: Any


@dataclass(frozen=True)
class PortRow:
    """A row of Open vSwitch's table Port."""

    tag: Any


def interface_of(host: Host, port: str) -> SwitchInterface | None:
    condition = f"external_ids:iface-id={port}"
    words = (
        "ovs-vsctl",
        "--format=json",
        columns_of(InterfaceRow),
        "find",
        "Interface",
        condition,
    )
    interfaces = rows(host.ask("ovs", *words), InterfaceRow)
    if not interfaces:
        return None
    interface, *others = interfaces
    ids = interface.external_ids
    return SwitchInterface(
        name=interface.name,
        ofport=number(interface.ofport),
        error=interface.error or None,
        port=ids.get("iface-id"),
        mac=ids.get("attached-mac"),
        server=ids.get("vm-uuid"),
        by_ovn=ids.get("ovn-installed") == "true",
        others=tuple(other.name for other in others),
    )


def bridge_of(host: Host, name: str) -> str:
    return host.ask("ovs", "ovs-vsctl", "iface-to-br", name).strip()


def tag_of(host: Host, name: str) -> int | None:
    words = (
        "ovs-vsctl",
        "--format=json",
        columns_of(PortRow),
        "find",
        "Port",
        f"name={name}",
    )
    ports = rows(host.ask("ovs", *words), PortRow)
    return number(ports[0].tag) if ports else None


def link_of(host: Host, name: str) -> Link | None:
    """Return the MTU, whether the link is up and what it received; None if the kernel has no such link."""
    words = ("ip", "-json", "-statistics", "link", "show", "dev", name)
    try:
        links = json.loads(host.ask("ovs", *words, root=False))
    except UnreadError as exc:
        if "does not exist" in exc.output:
            return None
        raise
    link = links[0]
    counters = link.get("stats64", {}).get("rx", {})
    return Link(link["mtu"], "UP" in link["flags"], counters.get("packets"))


def flows_of(
    host: Host, bridge: str | None, ofport: int | None
) -> Flows | None:
    """Return the number of flows that name the port, the ages of the oldest and the youngest, and their packets."""
    # Open vSwitch gives -1 to an interface that it could not open.
    if bridge is None or ofport is None or ofport < 1:
        return None
    flows = host.ask(
        "ovs", "ovs-ofctl", "dump-flows", bridge, f"in_port={ofport}"
    )
    ages = list(map(float, AGE.findall(flows)))
    return Flows(
        len(ages),
        max(ages, default=None),
        min(ages, default=None),
        sum(map(int, PACKETS.findall(flows))),
    )
