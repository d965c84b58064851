# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filters that choose the hosts to read, and say where things are on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import (
    profiles,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    StageError,
    sentence,
)

# Ansible takes an empty list of hosts for all of them.
NOBODY = ["all", "!all"]

# The hosts of each group of an inventory
Groups = Mapping[str, list[str]]
# The content of a platform's profile
Platform = Mapping[str, Any]


def hosts_with(
    groups: Groups, platform: Platform, parts: Iterable[str] | None = None
) -> list[str]:
    """Return the hosts of an inventory that have one of the parts, or any part, as a pattern for a play's hosts."""
    wanted = set(platform["groups"] if parts is None else parts)
    found = [
        host
        for host, names in groups_of_hosts(groups).items()
        if wanted & set(profiles.parts_of(names, platform))
    ]
    return found or NOBODY


def groups_of_hosts(groups: Groups) -> dict[str, list[str]]:
    """Return the groups of each host, in the order of the inventory."""
    found: dict[str, list[str]] = {host: [] for host in groups.get("all", [])}
    for group, hosts in groups.items():
        for host in hosts:
            found.setdefault(host, []).append(group)
    return found


def first_with(groups: Groups, platform: Platform, part: str) -> list[str]:
    """Return the first host with a part of the cloud, out of the first of the platform's groups that has hosts."""
    for name in platform["groups"].get(part, []):
        hosts = groups.get(name)
        if hosts:
            return hosts[:1]
    return NOBODY


def hosts_of(
    groups: Groups,
    platform: Platform,
    host: str | None = None,
    parts: Iterable[str] | None = None,
) -> list[str]:
    """Return the hosts that have to do with an instance on a compute host: that host, and those of the other parts."""
    if parts is None:
        parts = set(platform["groups"]) - {"compute"}
    others = hosts_with(groups, platform, parts)
    computes = hosts_with(groups, platform, ["compute"])
    if host:
        named = hosts_named(host, computes)
        if named:
            computes = named
    hosts = dict.fromkeys([*computes, *others])
    known = [name for name in hosts if name not in NOBODY]
    return known or NOBODY


def hosts_named(host: str, hosts: Iterable[str]) -> list[str]:
    """Return the hosts of an inventory that Nova means by a name.

    Nova's name of a host may have a domain that the inventory's does not have, or the other way round.
    """
    return [
        name
        for name in hosts
        if name.partition(".")[0] == host.partition(".")[0]
    ]


def profile_of(platform: str) -> Any:
    """Return the profile of a platform, by its name or by the path of its file."""
    try:
        return profiles.profile_of(platform)
    except StageError as exc:
        raise AnsibleFilterError(sentence(exc.record)) from None


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {
            "profile_of": profile_of,
            "parts_of": profiles.parts_of,
            "hosts_with": hosts_with,
            "first_with": first_with,
            "hosts_of": hosts_of,
        }
