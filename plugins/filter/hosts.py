# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filters that choose the hosts to read, and say where things are on them."""

from __future__ import annotations

from ansible.errors import AnsibleFilterError
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import profiles
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts.all_facts import parts_of
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError, sentence

# Ansible takes an empty list of hosts for all of them.
NOBODY = ["all", "!all"]


def hosts_with(groups, platform, parts=None):
    """The hosts of an inventory that have one of the parts, or any part, as a pattern for the hosts of a play."""
    wanted = set(platform["groups"] if parts is None else parts)
    members = {host: [] for host in groups.get("all", [])}
    for group, hosts in groups.items():
        for host in hosts:
            members.setdefault(host, []).append(group)
    return [host for host, names in members.items() if wanted & set(parts_of(names, platform))] or NOBODY


def first_with(groups, platform, part):
    """The first host with a part of the cloud, out of the first of the platform's groups that the inventory has."""
    return next((groups[name][:1] for name in platform["groups"].get(part, []) if groups.get(name)), NOBODY)


def hosts_of(groups, platform, host=None, parts=None):
    """The hosts that have to do with an instance on a compute host: that host, and those of the other parts."""
    others = hosts_with(groups, platform, set(platform["groups"]) - {"compute"} if parts is None else parts)
    computes = hosts_with(groups, platform, ["compute"])
    # Nova's name of a host may have a domain that the inventory's does not have, or the other way round.
    alike = [name for name in computes if host and name.partition(".")[0] == host.partition(".")[0]]
    hosts = dict.fromkeys([*(alike or computes), *others])
    return [name for name in hosts if name not in NOBODY] or NOBODY


def profile_of(platform):
    """The profile of a platform, by its name or by the path of its file."""
    try:
        return profiles.profile_of(platform)
    except StageError as exc:
        raise AnsibleFilterError(sentence(exc.record)) from None


class FilterModule:
    def filters(self):
        return {
            "profile_of": profile_of,
            "parts_of": parts_of,
            "hosts_with": hosts_with,
            "first_with": first_with,
            "hosts_of": hosts_of,
        }
