# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that failed in a real cloud, where it is known who broke them, as whole records.

recorded/failed has of each run what is judged, and the truth: the stage, components, hosts and steps of the fault that
was made. How steps follow each other is taken from the flow of today.
"""

from __future__ import annotations

import json
from typing import Any

import as_json
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow
from ansible_collections.stackproof.provision.plugins.module_utils._model.flow_definition import StepDefinition
from tree import RECORDED, ROLES

Json = dict[str, Any]
NAMES = [path.stem for path in sorted((RECORDED / "failed").glob("*.json"))]
MODERN = flow.load(str(ROLES / "flow" / "files" / "flows" / "modern.yml"))
NOTHING = ["unseen", None, None]


def recorded(name: str) -> Json:
    data: Json = json.loads((RECORDED / "failed" / f"{name}.json").read_text())
    return data


def truth_of(name: str) -> Json:
    truth: Json = recorded(name)["truth"]
    return truth


def step_of(step: StepDefinition, status: str, at: str | None = None, host: str | None = None) -> Any:
    return as_json.step(
        *(step.id, step.source, step.target, step.message, step.kind),
        phase=step.phase,
        stage=MODERN.stage_of(step).value,
        repeats=MODERN.repeats(step),
        responsible=step.responsible,
        follows=list(step.follows),
        status=status,
        at=at,
        host=host,
    )


def run_of(name: str) -> Json:
    """Return the record of a run that failed, as JSON has it."""
    found = recorded(name)
    steps = [step_of(step, *found["steps"].get(step.id, NOTHING)) for step in MODERN.steps]
    record: Json = {**as_json.new_record(f"run-{name}", "lab"), **found["record"]}
    # What is not judged of an instance is not in the recordings.
    server = as_json.server(**record["instance"]["server"])
    record["instance"] = as_json.instance(**{"queried": record["started"], **record["instance"], "server": server})
    about = {"name": "modern", "title": "modern", "lifelines": [], "coverage": []}
    record["flows"] = [{**about, "judged": True, "steps": steps}]
    return record


def blind(record: Json) -> Json:
    """Return the same evidence where no host could be read, without all that only their logs and services show."""
    for step in record["flows"][0]["steps"]:
        if step["host"] not in (None, "localhost"):
            step.update(status="unseen", at=None, host=None)
        elif step["status"] in ("missing", "absent", "cached"):
            step["status"] = "unseen"
    record.update(hosts=[], errors=[])
    return record
