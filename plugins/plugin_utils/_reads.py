# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gather the results that the tasks of a playbook have registered for their hosts.

PRIVATE to the collection: no promise is made to other users of this file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from ansible_collections.stackproof.provision.plugins.module_utils._collect.sources import (
    SOURCES,
)

# The pattern of hosts that matches none
NOBODY = "!all"
CLOCK, READ, BEFORE = (
    "stackproof_clock",
    "stackproof_evidence",
    "stackproof_ceph_before",
)

Variables = Mapping[str, Any]
# What a task has registered for a host, if it has run there
Result = dict[str, Any] | None


def registered(
    task_vars: Variables, hosts: Collection[str], name: str
) -> dict[str, Result]:
    """Return the result of a task by host: of a task on each host, or of one task with a loop over the hosts."""
    if NOBODY in hosts:
        return {}
    own = task_vars.get(name) or {}
    turns = own.get("results")
    if turns is None:
        hostvars = task_vars["hostvars"]
        return {host: hostvars[host].get(name) for host in hosts}
    by_host = {turn["item"]: turn for turn in turns}
    return {host: by_host.get(host) for host in hosts}


def of_hosts(
    task_vars: Variables, hosts: Collection[str]
) -> dict[str, dict[str, Any]]:
    """Return the results to file of each host."""
    clocks = registered(task_vars, hosts, CLOCK)
    before = registered(task_vars, hosts, BEFORE)
    found = {}
    for host, read in registered(task_vars, hosts, READ).items():
        found[host] = {
            "groups": task_vars["hostvars"][host].get("group_names", []),
            "clock": clocks[host],
            "read": for_record(read),
            "before": before[host],
        }
    return found


def for_record(read: Result) -> Result:
    """Return the result of a host without the parts that become events: these are large, and filed elsewhere."""
    if not read:
        return read
    elsewhere = {
        source.returned for source in SOURCES.values() if source.variable
    }
    return {
        name: value for name, value in read.items() if name not in elsewhere
    }


def of_sources(
    task_vars: Variables, hosts: Collection[str]
) -> dict[str, dict[str, Any]]:
    """Return the results of each source that is read on hosts, by host."""
    found = {}
    for name, source in SOURCES.items():
        if source.variable:
            reads = registered(task_vars, hosts, source.variable)
            found[name] = {
                host: source.result(read) for host, read in reads.items()
            }
    return found


# The modules whose option reads is filled in from the hosts that they name
READS_OF: dict[
    str, Callable[[Variables, Collection[str]], dict[str, dict[str, Any]]]
] = {
    "evidence": of_hosts,
    "flow": of_sources,
}
