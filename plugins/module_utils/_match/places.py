# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the host of an instance and of a network's DHCP, by the inventory's name, and what serves the networks."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Collection, Iterable

from .._model.host import Host
from .._model.instance import Network, Server
from .._model.record import Instance, Record
from .._model.words import StageName


def is_on(server: Server, names: Collection[str]) -> bool:
    """Return whether a host with one of these names is the host of the server.

    Everybody sees a hash of project and host; only administrators see the host itself. Before Nova has chosen a host
    there is neither.
    """
    if server.host or not server.host_id:
        return server.host in names
    return is_hash_of(server.host_id, server.project_id, names)


def is_hash_of(host_id: str, project: str, names: Iterable[str]) -> bool:
    """Return whether Nova shows the users of a project this for a host with one of these names."""
    return any(
        hashlib.sha224(f"{project}{name}".encode()).hexdigest() == host_id
        for name in names
    )


def names_of(host: Host) -> set[str]:
    """Return the inventory's name of a host, and those that the host has for itself."""
    return {host.host, *(host.facts.get("names") or ())}


def host_of(record: Record) -> str | None:
    """Return the inventory's name of the host of the instance, which may still be on its way there; None if unknown."""
    if record.diagnosis:
        return record.diagnosis.host
    for host in record.hosts:
        names = names_of(host)
        if host.facts.get("domain") or (
            record.instance and is_meant_for(record.instance, names)
        ):
            return host.host
    return None


def second_host_of(record: Record) -> str | None:
    """Return the inventory's name of the host of the second server; None without one, or where it is not known."""
    return host_by_stage(record, StageName.DATAPLANE)


def host_by_stage(record: Record, name: StageName) -> str | None:
    """Return the inventory's name of the host on which a stage has put its server; None if it is not known."""
    server = record.stage_or_skipped(name).details.get("server") or {}
    if not server or record.instance is None:
        return None
    host_name = server.get("host")
    host_id = server.get("host_id") or ""
    project = record.instance.server.project_id
    for host in record.hosts:
        names = names_of(host)
        if host_name in names:
            return host.host
        if is_hash_of(host_id, project, names):
            return host.host
    return None


def is_meant_for(instance: Instance, names: set[str]) -> bool:
    """Return whether an instance is on a host with one of these names, or on its way there."""
    return not names.isdisjoint(instance.claimed_on) or is_on(
        instance.server, names
    )


def serves_dhcp(network: Network, names: Iterable[str]) -> bool | None:
    """Return whether a host with one of these names has a DHCP port on the network, by the id that its agent gives it.

    None if no port can be seen.
    """
    if not network.dhcp_ports:
        return None
    ids = {
        f"dhcp{uuid.uuid5(uuid.NAMESPACE_DNS, name.split('.')[0])}-{network.id}"
        for name in names
    }
    return not ids.isdisjoint(network.dhcp_ports)


def back_end_of(record: Record) -> str | None:
    """Return the back end of Neutron, ovn or agents; None if it is not known.

    OVN has a port of its own in each network. A boot that failed has no networks any more; then it is known by the
    agents that report to the cloud, and by the services on the hosts. OVN may have DHCP agents, too, for bare metal.
    """
    if any(network.distributed for network in record.networks):
        return "ovn"
    if any(network.dhcp_ports for network in record.networks):
        return "agents"
    present = components_of(record)
    if "neutron-l2-agent" in present:
        return "agents"
    if "ovn-controller" in present:
        return "ovn"
    return None


def components_of(record: Record) -> set[str]:
    """Return the components that report to the cloud, or that hosts have."""
    found = {agent.component for agent in record.known_agents}
    for host in record.hosts:
        found.update(
            service["component"]
            for service in host.facts.get("services") or []
        )
    return found
