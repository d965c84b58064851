#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: evidence
short_description: Files what was read on the hosts in the record of a run
version_added: 0.1.0
description:
  - Every host that was to be read is named in the record, also one that could not be reached or read.
options:
  run_dir:
    description: Directory of the run.
    type: path
    required: true
  hosts:
    description: What was read on each host, as the filter P(stackproof.provision.evidence#filter) gathers it.
    type: dict
    required: true
author: stackproof contributors (@stackproof)
attributes:
  check_mode:
    description: In check mode nothing is written.
    support: full
"""

EXAMPLES = r"""
- name: File what was read
  stackproof.provision.evidence:
    run_dir: "{{ run.directory }}"
    hosts: >-
      {{ hostvars | stackproof.provision.evidence(['compute1'], stackproof_platform_profile,
                                                  {'compute1': clock}, {'compute1': read}) }}
"""

RETURN = r"""
hosts:
  description: Each host with its C(status), which is C(read), C(unreachable) or C(unreadable), and the C(reason).
  returned: success
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.stackproof.provision.plugins.module_utils._record.clock import now
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import failing
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import Run


def status_of(read):
    """(status, reason) of a host by what its reading has returned."""
    if read is None:
        return "unreadable", "it was not asked"
    if read.get("unreachable"):
        return "unreachable", read.get("msg") or "no reason was given"
    if read.get("failed"):
        return "unreadable", read.get("msg") or "no reason was given"
    if read["unread"]:
        return "read", "; ".join(f"{one['what']}: {one['why']}" for one in read["unread"])
    return "read", None


def as_record(name, found):
    """A host as run.json has it."""
    clock, read = found["clock"] or {}, found["read"] or {}
    status, reason = status_of(found["read"])
    return {
        "host": name,
        "groups": found["groups"],
        "parts": found["parts"],
        "status": status,
        "reason": reason,
        "clock_offset_s": clock.get("offset_s"),
        "clock_error_s": clock.get("error_s"),
        "health_before": (found["before"] or {}).get("health"),
        "facts": read.get("facts") or {},
        "unread": read.get("unread") or [],
        "checks": [],
    }


def main():
    module = AnsibleModule(
        argument_spec={
            "run_dir": {"type": "path", "required": True},
            "hosts": {"type": "dict", "required": True},
        },
        supports_check_mode=True,
    )
    directory = module.params["run_dir"]
    with failing(module, f"filing the evidence in {directory}"):
        hosts = [as_record(name, found) for name, found in sorted(module.params["hosts"].items())]
        if not module.check_mode:
            run = Run(directory)
            with run.alone():
                run.record["hosts"] = hosts
                asked = (run.record["instance"] or {}).get("asked") or now()
                run.record["evidence"] = {"started": asked, "finished": now()}
                run.save()
    for one in hosts:
        if one["reason"]:
            how = "was not read wholly" if one["status"] == "read" else f"is {one['status']}"
            module.warn(f"{one['host']} {how}: {one['reason']}")
    module.exit_json(changed=True, hosts=[{name: one[name] for name in ("host", "status", "reason")} for one in hosts])


if __name__ == "__main__":
    main()
