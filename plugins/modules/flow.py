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
  logs:
    description: What M(stackproof.provision.log_info) has returned of each host.
    type: dict
    default: {}
  queue:
    description: What M(stackproof.provision.firehose) has returned of each host that recorded.
    type: dict
    default: {}
  spans:
    description: What M(stackproof.provision.span_info) has returned of the host that was asked.
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
    flows: [ops_guide.yml]
    logs:
      compute1: "{{ read_on_compute1 }}"
"""

RETURN = r"""
coverage:
  description: Of each flow how many steps have which status, by access.
  returned: success
  type: dict
"""

import json

from ansible_collections.stackproof.provision.plugins.module_utils._judge import culprit
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow_module
from ansible_collections.stackproof.provision.plugins.module_utils._match import follow as follow_module
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import write_whole


def main():
    def follow(run, flows, module):
        logs, queue = (
            {host: read for host, read in module.params[name].items() if read and "events" in read}
            for name in ("logs", "queue")
        )
        logs = {host: {**read, "events": json.loads(read["events"])} for host, read in logs.items()}
        spans = {host: read for host, read in module.params["spans"].items() if read and "spans" in read}
        found, events = follow_module.follow(run.record, flows, logs, queue, spans)
        if not module.check_mode:
            with run.alone():
                run.record["flows"] = found
                run.record["errors"] = follow_module.errors_of(events)
                run.record["logs"] = follow_module.logs_read(module.params["logs"])
                recorded = {
                    "queue": follow_module.recorded(module.params["queue"]),
                    "spans": follow_module.traced(module.params["spans"]),
                }
                run.record.update({name: told for name, told in recorded.items() if told})
                run.save()
                # The verdict comes after the removal of everything; who waits for it is told now.
                failed = next((stage["stage"] for stage in run.record["stages"] if stage["status"] == "failed"), None)
                broke = culprit.finding(run.record)
                if broke and broke["said"]:
                    run.say(failed, broke["said"])
                write_whole(
                    run.path("events.jsonl"),
                    "".join(f"{line}\n" for line in follow_module.lines(follow_module.of_run(events))),
                )
        return {"changed": True, "coverage": {flow["name"]: flow["coverage"] for flow in found}}

    flow_module.main({name: {"type": "dict", "default": {}} for name in ("logs", "queue", "spans")}, follow)


if __name__ == "__main__":
    main()
