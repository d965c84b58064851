# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filters of the role lab, mostly for the table of components."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

# A component of the table, by its name
Components = Mapping[str, dict[str, Any]]
LISTS = ("backing", "units", "ports", "steps", "health")


def of_network(components: Components, network: str) -> dict[str, dict[str, Any]]:
    """Return the components of a lab with this network back end: those of another are left out."""
    return {name: entry for name, entry in components.items() if entry.get("network", network) == network}


def carried(components: Components, groups: Collection[str]) -> dict[str, list[Any]]:
    """Return the lists of all components that a host in these inventory groups carries, as one dictionary.

    A component counts if one of its groups is among the host's; with several, their lists are joined.
    """
    lists: dict[str, list[Any]] = {name: [] for name in ("trees", *LISTS)}
    for name, component in components.items():
        parts = [part for group, part in component["groups"].items() if group == "all" or group in groups]
        if parts and "group" in component:
            lists["trees"].append({"name": name, "group": component["group"]})
        for part in parts:
            add_new(lists, part)
    return lists


def add_new(lists: dict[str, list[Any]], part: Mapping[str, list[Any]]) -> None:
    """Add the entries of a component's part to the lists, each once."""
    for key in LISTS:
        lists[key] += [entry for entry in part.get(key, []) if entry not in lists[key]]


def units(components: Components) -> list[str]:
    """Return each unit that a package could start by itself, in a fixed order: instances of templates never are."""
    startable: set[str] = set()
    for component in components.values():
        for part in component["groups"].values():
            startable.update(part.get("backing", []), part.get("units", []))
    return sorted(unit for unit in startable if "@" not in unit)


def restarts(components: Components, groups: Collection[str], trees: Iterable[str]) -> list[str]:
    """Return the units of a host whose component has a changed tree of files, or reads that of another one."""
    changed = {
        name: component
        for name, component in components.items()
        if not set(trees).isdisjoint([name, *component.get("reads", [])])
    }
    lists = carried(changed, groups)
    return [*lists["backing"], *lists["units"]]


def service_user(name: str, secrets: Mapping[str, str]) -> dict[str, Any]:
    """Return the Keystone user of a service."""
    return {
        "name": name,
        "domain": "Default",
        "project": "service",
        "roles": ["admin", "service"],
        "password": secrets[f"{name}_user"],
    }


def workers(binaries: Mapping[str, list[str]], groups: Mapping[str, list[str]]) -> list[dict[str, str]]:
    """Return each worker that must report itself alive, with its host."""
    pairs: set[tuple[str, str]] = set()
    for group, names in binaries.items():
        for host in groups.get(group, []):
            pairs.update((binary, host) for binary in names)
    return [{"binary": binary, "host": host} for binary, host in sorted(pairs)]


def unfinished(hosts: Iterable[str], hostvars: Mapping[str, Any], result: str) -> list[str]:
    """Return the hosts on which a task failed or did not run, by the name of its registered result."""
    ended = {host: hostvars[host].get(result, {"failed": True}) for host in hosts}
    return [host for host, outcome in ended.items() if outcome.get("failed") or outcome.get("unreachable")]


def problems(cloud: Mapping[str, Any], hosts: Iterable[str], hostvars: Mapping[str, Any]) -> list[str]:
    """Return all problems of the cloud and of its hosts, one sentence each."""
    sentences: list[str] = list(cloud.get("problems", []))
    for host in hosts:
        health = hostvars[host].get("lab_health", {}) if host in hostvars else {}
        problems_of_host = health.get("problems", ["the host could not be checked"])
        sentences += [f"{host}: {problem}" for problem in problems_of_host]
    return sentences


def groups_of(hosts: Mapping[str, Mapping[str, list[str]]]) -> dict[str, Any]:
    """Return the inventory groups of a lab's hosts, as a YAML inventory has them."""
    groups: dict[str, Any] = {}
    for host, entry in hosts.items():
        for group in entry["groups"]:
            groups.setdefault(group, {"hosts": {}})["hosts"][host] = {}
    return groups


def kolla_groups(listing: Mapping[str, Any], hosts: Mapping[str, Mapping[str, list[str]]]) -> dict[str, Any]:
    """Return the groups of kolla's inventory of several hosts, with these hosts in those that users fill.

    The listing is that of ansible-inventory. The deployer has all that is not a compute host's, and is one, too.
    """
    deployers = [host for host, entry in hosts.items() if "kolla_deployer" in entry["groups"]]
    groups: dict[str, Any] = {}
    for name, entry in listing.items():
        if "children" in entry and name != "all":
            groups[name] = {"children": {child: {} for child in entry["children"]}}
    for name in ("control", "network", "monitoring", "storage"):
        groups[name] = {"hosts": {host: {} for host in deployers}}
    groups["compute"] = {"hosts": {host: {} for host in hosts}}
    return groups


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {
            "of_network": of_network,
            "carried": carried,
            "units": units,
            "restarts": restarts,
            "service_user": service_user,
            "workers": workers,
            "unfinished": unfinished,
            "problems": problems,
            "groups_of": groups_of,
            "kolla_groups": kolla_groups,
        }
