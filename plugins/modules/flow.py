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
  - Sorts all events of a run by time, matches them to the steps of each flow, and writes both into the run's directory.
  - The events are the run's own requests, what the API and the hosts answered about the instance, and lines of logs.
extends_documentation_fragment: [stackproof.provision._flow, stackproof.provision._attributes.writes]
options:
  hosts:
    description: The hosts whose evidence counts. Their results are taken from their variables.
    type: list
    elements: str
    default: []
  reads:
    description: The results of each source of evidence, by host. The collection sets this from O(hosts).
    type: dict
    default: {}
  quotes:
    description:
      - Whether the record keeps the log line that shows the cause best, masked and cut to 300 characters.
    type: bool
    default: true
author: stackproof contributors (@stackproof)
seealso:
  - module: stackproof.provision.flow_info
    description: Gathers what to look for on the hosts.
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
  description: Name of each flow to the number of steps with each status, by access.
  returned: success
  type: dict
"""

import os
from collections.abc import Iterable
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.stackproof.provision.plugins.module_utils._judge import culprit
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow_module, follow
from ansible_collections.stackproof.provision.plugins.module_utils._match.logged_errors import errors_of
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json, to_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.finding import Finding
from ansible_collections.stackproof.provision.plugins.module_utils._model.flow import FollowedFlow
from ansible_collections.stackproof.provision.plugins.module_utils._model.flow_definition import Flow
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._record.clock import seconds_of
from ansible_collections.stackproof.provision.plugins.module_utils._record.ledger import private
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import (
    Run,
    failed_stage,
    of_removal,
    write_whole,
)
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages.headline import headline
from ansible_collections.stackproof.provision.plugins.module_utils._runs.earlier import earlier_records, usual_errors

# A record, or a part of one
Json = dict[str, Any]
# How many earlier runs have their errors compared with those of this one
EARLIER = 20


def finding_with_its_quote(record: Json, errors: list[Json], quotes: bool) -> Finding | None:
    """Return the finding about a record. Of its errors only the line that the finding quotes is kept, or none."""
    if not quotes:
        culprit.keep_only(None, errors)
    finding = culprit.finding(from_json(Record, record))
    quoted = finding.quoted if finding else None
    culprit.keep_only(quoted.quote if quoted else None, errors)
    return finding


def coverage_of(flows: Iterable[FollowedFlow]) -> dict[str, Any]:
    return {flow.name: to_json(flow.coverage) for flow in flows}


def follow_removal(run: Run, flows: list[Flow], module: AnsibleModule) -> Json:
    """Add the flow of the removal, which comes after the verdict on the stages."""
    results, events = follow.follow(of_removal(run.record), flows, module.params["reads"])
    if not module.check_mode:
        began = seconds_of(run.record["removal"]["started"])
        with run.alone():
            run.record["flows"] += to_json(results)
            if run.record["leftovers"]:
                errors = errors_of(events)
                run.record["errors"] = [*run.record.get("errors", []), *errors]
                finding_with_its_quote(of_removal(run.record), errors, module.params["quotes"])
            run.save()
            # The stages' own events are in the file already.
            new = [event for event in events if event.at >= began and not event.timeless]
            with open(run.path("events.jsonl"), "a", encoding="utf-8", opener=private) as file:
                file.writelines(f"{line}\n" for line in follow.lines(follow.kept(new)))
    return {"changed": True, "coverage": coverage_of(results)}


def follow_run(run: Run, flows: list[Flow], module: AnsibleModule) -> Json:
    if module.params["removal"]:
        return follow_removal(run, flows, module)
    reads = module.params["reads"]
    results, events = follow.follow(run.record, flows, reads)
    if not module.check_mode:
        with run.alone():
            run.record["flows"] = to_json(results)
            run.record["errors"] = errors = errors_of(events)
            failed = failed_stage(run.record["stages"])
            if failed:
                earlier = earlier_records(os.path.dirname(run.directory), run.record, EARLIER)
                usual = usual_errors(earlier)
                for error in errors:
                    error["usual"] = usual.get((error["service"], error["logger"], error["exception"]))
            run.record.update(follow.accounts(reads))
            # The verdict comes after everything is removed; the operator need not wait for it.
            finding = finding_with_its_quote(run.record, errors, module.params["quotes"])
            line = headline(finding) if finding else None
            if failed and line:
                run.say(failed["stage"], line)
            run.save()
            lines = follow.lines(follow.kept(events))
            write_whole(run.path("events.jsonl"), "".join(f"{line}\n" for line in lines))
    return {"changed": True, "coverage": coverage_of(results)}


def main() -> None:
    options = {
        "hosts": {"type": "list", "elements": "str", "default": []},
        "reads": {"type": "dict", "default": {}},
        "quotes": {"type": "bool", "default": True},
        **flow_module.REMOVAL,
    }
    flow_module.main(options, follow_run)


if __name__ == "__main__":
    main()
