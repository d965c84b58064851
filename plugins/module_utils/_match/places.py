# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds the host of an instance and of a network's DHCP, by the inventory's name, and what serves the networks."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable
from typing import Any

# A record, or a part of one
Json = dict[str, Any]


def is_on(server: Json, names: Iterable[str]) -> bool:
    """Return whether a host with one of these names is the host of the server.

    Everybody sees a hash of project and host; only administrators see the host itself. Before Nova has chosen a host
    there is neither.
    """
    if server["host"] or not server["host_id"]:
        return server["host"] in names
    return any(
        hashlib.sha224(f"{server['project_id']}{name}".encode()).hexdigest() == server["host_id"] for name in names
    )


def host_of(record: Json) -> str | None:
    """Return the inventory's name of the host of the instance, which may still be on its way there; None if unknown."""
    if record.get("diagnosis"):
        diagnosed: str | None = record["diagnosis"]["host"]
        return diagnosed
    instance = record.get("instance") or {}
    server, claimed_on = instance.get("server"), set(instance.get("claimed_on") or [])
    for host in record["hosts"]:
        names = {host["host"], *(host["facts"].get("names") or [])}
        if host["facts"].get("domain") or claimed_on & names or (server and is_on(server, names)):
            name: str = host["host"]
            return name
    return None


def serves_dhcp(network: Json, names: Iterable[str]) -> bool | None:
    """Return whether a host with one of these names has a DHCP port on the network, by the id that its agent gives it.

    None if no port can be seen.
    """
    if not network["dhcp_ports"]:
        return None
    ids = {f"dhcp{uuid.uuid5(uuid.NAMESPACE_DNS, name.split('.')[0])}-{network['id']}" for name in names}
    return any(port in ids for port in network["dhcp_ports"])


def back_end_of(record: Json) -> str | None:
    """Return the back end of Neutron, ovn or agents; None if it is not known.

    OVN has a port of its own in each network. A boot that failed has no networks any more; then it is known by the
    agents that report to the cloud, and by the services on the hosts. OVN may have DHCP agents, too, for bare metal.
    """
    networks = (record.get("instance") or {}).get("networks") or []
    if any(network.get("distributed") for network in networks):
        return "ovn"
    if any(network.get("dhcp_ports") for network in networks):
        return "agents"
    services = [service for host in record["hosts"] for service in host["facts"].get("services") or []]
    present = {entry["component"] for entry in [*(record.get("agents") or []), *services]}
    if "neutron-l2-agent" in present:
        return "agents"
    return "ovn" if "ovn-controller" in present else None
