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
from dataclasses import replace
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.stackproof.provision.plugins.module_utils._chains.all_chains import (
    walked,
)
from ansible_collections.stackproof.provision.plugins.module_utils._judge import (
    culprit,
)
from ansible_collections.stackproof.provision.plugins.module_utils._match import (
    flow_module,
    follow,
)
from ansible_collections.stackproof.provision.plugins.module_utils._match.events import (
    of_run,
)
from ansible_collections.stackproof.provision.plugins.module_utils._match.known_bugs import (
    known_bugs_in,
)
from ansible_collections.stackproof.provision.plugins.module_utils._match.logged_errors import (
    errors_of,
    with_quote,
    with_usual,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import (
    to_json,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.event import (
    Event,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.finding import (
    Finding,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.flow import (
    FollowedFlow,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.flow_definition import (
    Flow,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import (
    LoggedError,
    Record,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.ledger import (
    private,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import (
    Run,
    write_whole,
)
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages.headline import (
    headline,
)
from ansible_collections.stackproof.provision.plugins.module_utils._runs.earlier import (
    earlier_runs,
    usual_errors,
)

# How many earlier runs have their errors compared with those of this one
EARLIER = 20

Errors = tuple[LoggedError, ...]


def finding_of(
    record: Record, errors: Errors, quotes: bool
) -> tuple[Finding | None, Errors]:
    """Return the finding about a record, and those of its errors that are new with the line that it quotes, or none.

    errors: those that are new, which the record does not have yet. quotes: whether any line may be quoted.
    """
    new = errors if quotes else with_quote(errors, None)
    finding = culprit.finding(
        replace(record, errors=(*record.known_errors, *new))
    )
    quoted = finding.quoted if finding else None
    return finding, with_quote(new, quoted.quote if quoted else None)


def coverage_of(flows: Iterable[FollowedFlow]) -> dict[str, Any]:
    return {flow.name: to_json(flow.coverage) for flow in flows}


def follow_removal(
    run: Run, flows: list[Flow], module: AnsibleModule
) -> dict[str, Any]:
    """Add the flow of the removal, which comes after the verdict on the stages."""
    results, events = follow.follow(
        run.record.as_removal, flows, module.params["reads"]
    )
    if not module.check_mode:
        with run.alone():
            file_removal(run, results, events, module.params["quotes"])
    return {"changed": True, "coverage": coverage_of(results)}


def file_removal(
    run: Run, results: list[FollowedFlow], events: list[Event], quotes: bool
) -> None:
    run.update(flows=(*run.record.flows, *results))
    if run.record.leftovers:
        _finding, errors = finding_of(
            run.record.as_removal, errors_of(events), quotes
        )
        run.update(errors=(*run.record.known_errors, *errors))
    run.save()
    # The stages' own events are in the file already.
    began = run.record.as_removal.started
    new = [
        event for event in events if event.at >= began and not event.timeless
    ]
    with open(
        run.path("events.jsonl"), "a", encoding="utf-8", opener=private
    ) as file:
        file.writelines(f"{line}\n" for line in follow.lines(follow.kept(new)))


def follow_run(
    run: Run, flows: list[Flow], module: AnsibleModule
) -> dict[str, Any]:
    if module.params["removal"]:
        return follow_removal(run, flows, module)
    reads = module.params["reads"]
    events = of_run(run.record, reads)
    errors = errors_of(events)
    record = with_chains(run.record, errors)
    results = follow.steps_by(events, record, flows, reads)
    if not module.check_mode:
        with run.alone():
            run.update(
                known_bugs=known_bugs_in(errors),
                chains=record.chains,
                flows=tuple(results),
                errors=None,
                **follow.accounts(reads),
            )
            file_errors(run, errors, module.params["quotes"])
            run.save()
            lines = follow.lines(follow.kept(events))
            write_whole(
                run.path("events.jsonl"),
                "".join(f"{line}\n" for line in lines),
            )
    return {"changed": True, "coverage": coverage_of(results)}


def with_chains(record: Record, errors: Errors) -> Record:
    """Return a record with the chains of its failed stage; a run that did not fail has none to walk."""
    judged = replace(record.as_second_guest, errors=errors)
    failed = judged.failed_stage
    if failed is None:
        return record
    return replace(record, chains=walked(judged, failed.stage))


def file_errors(run: Run, errors: Errors, quotes: bool) -> None:
    """Put the errors into the record. If a stage failed, also tell the user what is known of the cause.

    The verdict comes after everything is removed; the operator need not wait for it.
    """
    failed = run.record.failed_stage
    if failed:
        errors = with_share(run, errors)
    finding, errors = finding_of(run.record, errors, quotes)
    line = headline(finding) if finding else None
    if failed and line:
        run.say(failed.stage, line)
    run.update(errors=errors)


def with_share(run: Run, errors: Errors) -> Errors:
    """Return errors with the share of the runs that passed with them: of the baseline, or else of the last runs."""
    if run.record.baseline:
        return with_usual(errors, run.record.baseline)
    usual = usual_errors(
        earlier_runs(os.path.dirname(run.directory), run.record, EARLIER)
    )
    return tuple(
        replace(error, usual=usual.get(error.kind)) for error in errors
    )


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
