# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gathers the results that the tasks of a playbook have registered for their hosts.

PRIVATE to the collection: no promise is made to other users of this file.
"""

from __future__ import annotations

from ansible_collections.stackproof.provision.plugins.module_utils._collect.sources import SOURCES

# The pattern of hosts that matches none
NOBODY = "!all"
CLOCK, READ, BEFORE = "stackproof_clock", "stackproof_evidence", "stackproof_ceph_before"


def registered(task_vars, hosts, name):
    """The result of a task by host: of a task on each host, or of one task with a loop over the hosts."""
    if NOBODY in hosts:
        return {}
    turns = (task_vars.get(name) or {}).get("results")
    if turns is not None:
        by_host = {turn["item"]: turn for turn in turns}
        return {host: by_host.get(host) for host in hosts}
    return {host: task_vars["hostvars"][host].get(name) for host in hosts}


def of_hosts(task_vars, hosts):
    """The results to file of each host."""
    clocks, reads, before = (registered(task_vars, hosts, name) for name in (CLOCK, READ, BEFORE))
    return {
        host: {
            "groups": task_vars["hostvars"][host].get("group_names", []),
            "clock": clocks[host],
            "read": for_record(read),
            "before": before[host],
        }
        for host, read in reads.items()
    }


def for_record(read):
    """The result of a host without the parts that become events: these are large, and filed elsewhere."""
    elsewhere = {source.returned for source in SOURCES.values() if source.variable}
    return read and {name: value for name, value in read.items() if name not in elsewhere}


def of_sources(task_vars, hosts):
    """The results of each source, by host."""
    return {
        name: {host: source.result(read) for host, read in registered(task_vars, hosts, source.variable).items()}
        for name, source in SOURCES.items()
        if source.variable
    }


# The modules whose option reads is filled in from the hosts that they name
READS_OF = {"evidence": of_hosts, "flow": of_sources}
