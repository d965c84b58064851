# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filters of the role lab, mostly for the table of components."""

from __future__ import annotations

LISTS = ("backing", "units", "ports", "steps", "health")


def of_network(components, network):
    """The components of a lab with this network back end: those of another are left out."""
    return {name: entry for name, entry in components.items() if entry.get("network", network) == network}


def carried(components, groups):
    """The lists of all components that a host in these inventory groups carries, as one dictionary.

    A component counts if one of its groups is among the host's; with several, their lists are joined.
    """
    lists = {name: [] for name in ("trees", *LISTS)}
    for name, component in components.items():
        parts = [part for group, part in component["groups"].items() if group == "all" or group in groups]
        if parts and "group" in component:
            lists["trees"].append({"name": name, "group": component["group"]})
        for part in parts:
            for key in LISTS:
                lists[key] += [entry for entry in part.get(key, []) if entry not in lists[key]]
    return lists


def units(components):
    """Every unit that a package could start by itself, in a fixed order: instances of templates never are."""
    startable = {
        unit
        for component in components.values()
        for part in component["groups"].values()
        for unit in (*part.get("backing", []), *part.get("units", []))
        if "@" not in unit
    }
    return sorted(startable)


def restarts(components, groups, trees):
    """The units of a host whose component has a changed tree of files, or reads that of another one."""
    changed = {
        name: component
        for name, component in components.items()
        if not set(trees).isdisjoint([name, *component.get("reads", [])])
    }
    lists = carried(changed, groups)
    return [*lists["backing"], *lists["units"]]


def service_user(name, secrets):
    """The Keystone user of a service."""
    return {
        "name": name,
        "domain": "Default",
        "project": "service",
        "roles": ["admin", "service"],
        "password": secrets[f"{name}_user"],
    }


def workers(binaries, groups):
    """Every worker that must report itself alive, as (binary, host)."""
    pairs = {(binary, host) for group, names in binaries.items() for host in groups.get(group, []) for binary in names}
    return [{"binary": binary, "host": host} for binary, host in sorted(pairs)]


def unfinished(hosts, hostvars, result):
    """The hosts on which a task failed or did not run, by the name of its registered result."""
    ended = {host: hostvars[host].get(result, {"failed": True}) for host in hosts}
    return [host for host, outcome in ended.items() if outcome.get("failed") or outcome.get("unreachable")]


def problems(cloud, hosts, hostvars):
    """All problems of the cloud and of its hosts, one sentence each."""
    sentences = list(cloud.get("problems", []))
    for host in hosts:
        health = hostvars[host].get("lab_health", {}) if host in hostvars else {}
        problems_of_host = health.get("problems", ["the host could not be checked"])
        sentences += [f"{host}: {problem}" for problem in problems_of_host]
    return sentences


class FilterModule:
    def filters(self):
        return {
            "of_network": of_network,
            "carried": carried,
            "units": units,
            "restarts": restarts,
            "service_user": service_user,
            "workers": workers,
            "unfinished": unfinished,
            "problems": problems,
        }
