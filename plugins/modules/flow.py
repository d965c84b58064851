#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: flow
short_description: 'Used by verify: follows a run through the steps of flows'
version_added: 0.1.0
description:
  - Puts all that is known of a run in one order of time, matches it to the steps of each flow, and files both.
  - What is known are the run's own requests, what the API and the hosts said of the instance, and what logs showed.
extends_documentation_fragment: [stackproof.provision._flow, stackproof.provision._attributes.writes]
options:
  hosts:
    description: The hosts whose evidence counts. What was registered of each is taken from its variables.
    type: list
    elements: str
    default: []
  reads:
    description: Of each source of evidence what was read on each host. The collection fills it in, by O(hosts).
    type: dict
    default: {}
author: stackproof contributors (@stackproof)
seealso:
  - module: stackproof.provision.flow_info
    description: Says what to look for.
  - module: stackproof.provision.firehose
    description: Records the messages on the queue.
  - module: stackproof.provision.span_info
    description: Reads the spans of OSProfiler.
"""

EXAMPLES = r"""
- name: Follow the run
  stackproof.provision.flow:
    run_dir: "{{ run.directory }}"
    flows: [boot.yml]
    hosts: [controller1, compute1]
"""

RETURN = r"""
coverage:
  description: Of each flow how many steps have which status, by access.
  returned: success
  type: dict
"""

from ansible_collections.stackproof.provision.plugins.module_utils._judge import culprit
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow_module
from ansible_collections.stackproof.provision.plugins.module_utils._match import follow as follow_module
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import failed_stage, write_whole


def follow(run, flows, module):
    reads = module.params["reads"]
    found, events = follow_module.follow(run.record, flows, reads)
    if not module.check_mode:
        with run.alone():
            run.record["flows"] = found
            run.record["errors"] = follow_module.errors_of(events)
            run.record.update(follow_module.accounts(reads))
            run.save()
            # The verdict comes after the removal of everything; whoever waits for it is told now.
            broke = culprit.finding(run.record)
            if broke and broke["said"]:
                run.say(failed_stage(run.record["stages"])["stage"], broke["said"])
            lines = follow_module.lines(follow_module.kept(events))
            write_whole(run.path("events.jsonl"), "".join(f"{line}\n" for line in lines))
    return {"changed": True, "coverage": {flow["name"]: flow["coverage"] for flow in found}}


def main():
    options = {"hosts": {"type": "list", "elements": "str", "default": []}, "reads": {"type": "dict", "default": {}}}
    flow_module.main(options, follow)


if __name__ == "__main__":
    main()
