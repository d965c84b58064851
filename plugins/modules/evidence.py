#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: evidence
short_description: 'Used by verify: writes the facts of the hosts into the record of a run'
version_added: 0.1.0
description:
  - The record names every host that was to be read, even if it could not be reached or read.
extends_documentation_fragment: [stackproof.provision._attributes.writes]
options:
  run_dir:
    description: Directory of the run.
    type: path
    required: true
  hosts:
    description: The hosts that were to be read. Their results are taken from the variables that the playbook
      registered.
    type: list
    elements: str
    required: true
  platform:
    description: The profile of the platform, as in C(vars/platforms) of the role P(stackproof.provision.evidence#role).
    type: dict
    required: true
  reads:
    description: The results of each host. The collection sets this from O(hosts).
    type: dict
    default: {}
author: stackproof contributors (@stackproof)
seealso:
  - module: stackproof.provision.evidence_info
    description: Reads a host.
"""

EXAMPLES = r"""
- name: Write the facts of the hosts into the record
  stackproof.provision.evidence:
    run_dir: "{{ run.directory }}"
    hosts: [controller1, compute1]
    platform: "{{ stackproof_platform_profile }}"
"""

RETURN = r"""
hosts:
  description: Each host with its C(status), which is C(read), C(unreachable) or C(unreadable), and the C(reason).
  returned: success
  type: list
  elements: dict
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.stackproof.provision.plugins.module_utils._collect.commands import (
    REFUSALS,
    SUDO_ADVICE,
    ways_of,
)
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination import (
    differences,
)
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination.examine import (
    RawExamination,
)
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import (
    profiles,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import (
    from_json,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.host import (
    Examination,
    Host,
    Unread,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import (
    ReadingTime,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.stores import (
    Stores,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import (
    HostStatus,
    Result,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.clock import (
    now,
    seconds_of,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    failing,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import (
    Run,
)
from ansible_collections.stackproof.provision.plugins.module_utils._runs.earlier import (
    earlier_runs,
)

# What the playbook has read on a host, or of it: clock, read, before, and its groups
Results = Mapping[str, Any]
UNREAD: Any = tuple[Unread, ...]
# So many earlier runs are looked through for one that passed.
EARLIER = 20


def status_of(
    read: Results | None, unread: tuple[Unread, ...]
) -> tuple[HostStatus, str | None]:
    """Return the status of a host and the reason for it, by the result of reading it."""
    if read is None:
        return HostStatus.UNREADABLE, "it was not asked"
    if read.get("unreachable"):
        return HostStatus.UNREACHABLE, one_line(read.get("msg"))
    if read.get("failed"):
        reason = one_line(read.get("msg"))
        if REFUSALS.search(reason):
            reason = with_advice(reason)
        return HostStatus.UNREADABLE, reason
    if not unread:
        return HostStatus.READ, None
    reason = "; ".join(f"{entry.what}: {entry.reason}" for entry in unread)
    if any(entry.kind == "refused" for entry in unread):
        reason = with_advice(reason)
    return HostStatus.READ, reason


def one_line(message: str | None) -> str:
    """Return a message of ssh or of Ansible without its ends of lines, which are those of a terminal."""
    return " ".join((message or "").split()) or "no reason was given"


def with_advice(reason: str) -> str:
    return f"{reason.rstrip('.')}. {SUDO_ADVICE}"


def prefixes_in(platform: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the words before the commands of each part of the cloud that is in a container: the usual ones."""
    named = platform.get("prefixes") or {}
    return {
        part: tuple(ways_of(named, part)[0])
        for part, words in named.items()
        if words
    }


def host_of(name: str, results: Results, platform: dict[str, Any]) -> Host:
    """Return a host as the record has it."""
    clock, read = results["clock"] or {}, results["read"] or {}
    unread: tuple[Unread, ...] = from_json(
        UNREAD, read.get("unread") or [], f"unread of {name}"
    )
    status, reason = status_of(results["read"], unread)
    return Host(
        name,
        groups=tuple(results["groups"]),
        parts=tuple(profiles.parts_of(results["groups"], platform)),
        status=status,
        reason=reason,
        clock_offset_s=clock.get("offset_s"),
        clock_error_s=clock.get("error_s"),
        health_before=(results["before"] or {}).get("health"),
        facts=read.get("facts") or {},
        unread=unread,
        prefixes=prefixes_in(platform) or None,
        stores=from_json(Stores, read["stores"], f"stores of {name}")
        if read.get("stores")
        else None,
    )


def last_pass(run: Run) -> float | None:
    """Return when the baseline had ended, or else the last run of this cloud that passed, or None."""
    baseline = run.record.baseline
    if baseline and baseline.passed:
        return baseline.passed
    runs = os.path.dirname(run.directory)
    earlier = earlier_runs(runs, run.record, EARLIER)
    passed = [
        other.finished
        for other in earlier
        if other.verdict.result is Result.PASS
    ]
    return max((at for at in passed if at is not None), default=None)


def examinations(
    run: Run, reads: Mapping[str, Results]
) -> dict[str, Examination]:
    """Return what the examination of each host found, as far as the record keeps it."""
    raw = {
        name: (results["read"] or {}).get("examination")
        for name, results in reads.items()
    }
    found = {
        name: from_json(RawExamination, data, name)
        for name, data in raw.items()
        if data
    }
    if not found:
        return {}
    groups = {name: reads[name]["groups"] for name in found}
    offsets = {
        name: (reads[name]["clock"] or {}).get("offset_s") or 0
        for name in found
    }
    reference = differences.Reference(
        now=seconds_of(now()), passed=last_pass(run)
    )
    return differences.examined(found, groups, offsets, reference)


def after_removal(
    before: Iterable[Host], after: Iterable[Host]
) -> tuple[Host, ...]:
    """Return hosts that were read again after a removal, with what they knew of the instance before it."""
    earlier = {host.host: host for host in before}
    again = [
        with_earlier(host, earlier.pop(host.host, None)) for host in after
    ]
    # What could be checked on no host stands beside them.
    return (*again, *earlier.values())


def with_earlier(host: Host, earlier: Host | None) -> Host:
    """Return a host that was read again with what only the first reading can know."""
    if earlier is None:
        return host
    return replace(
        host,
        facts={**earlier.facts, **host.facts},
        health_before=earlier.health_before,
        checks=earlier.checks,
    )


def began(run: Run, reads: Mapping[str, Results]) -> float:
    """Return when the reading began: with the question for the instance, or with the clock of the first host."""
    if run.record.instance:
        return run.record.instance.queried
    measured = [
        (results["clock"] or {}).get("began") for results in reads.values()
    ]
    return min(filter(None, measured), default=seconds_of(now()))


def file_hosts(
    run: Run, hosts: list[Host], reads: Mapping[str, Results]
) -> None:
    examined = examinations(run, reads)
    with run.alone():
        when = ReadingTime(began(run, reads), seconds_of(now()))
        found = tuple(
            replace(host, examination=examined.get(host.host))
            for host in hosts
        )
        if run.record.removal:
            found = after_removal(run.record.hosts, found)
        run.update(hosts=found, evidence=when)
        run.save()


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "run_dir": {"type": "path", "required": True},
            "hosts": {"type": "list", "elements": "str", "required": True},
            "platform": {"type": "dict", "required": True},
            "reads": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    params = module.params
    with failing(module, f"filing the evidence in {params['run_dir']}"):
        hosts = [
            host_of(name, results, params["platform"])
            for name, results in sorted(params["reads"].items())
        ]
        if not module.check_mode:
            file_hosts(Run(params["run_dir"]), hosts, params["reads"])
    for host in hosts:
        if host.reason:
            state = (
                "was read only in part"
                if host.status is HostStatus.READ
                else f"is {host.status}"
            )
            module.warn(f"{host.host} {state}: {host.reason}")
    summary = [
        {"host": host.host, "status": host.status.value, "reason": host.reason}
        for host in hosts
    ]
    module.exit_json(changed=True, hosts=summary)


if __name__ == "__main__":
    main()
