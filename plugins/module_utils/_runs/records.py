# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The records of runs, as statistics need them: anybody may have put one into the folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .._model import codec
from .._model.record import Record
from .._record import run
from .._record.errors import MALFORMED, StageError
from .._record.run import is_seconds

# Parts of a record that no statistics need. They are most of it, and would take most of the time.
UNNEEDED = {
    *("evidence", "logs", "errors", "agents", "other_boots", "queue", "spans", "sources", "diagnosis"),
    *("hosts", "history", "thresholds"),
}
# The words for steps come from this many runs, out of the last runs.
LABELLED, MOST_READ = 2, 20


@dataclass(frozen=True)
class Label:
    """The words for a step."""

    message: str
    component: str


NO_LABEL = Label("", "")
# By flow and step
Labels = Mapping[tuple[str, str], Label]


def read_run(directory: str) -> Record:
    """Return the record of a run without its requests, evidence and hosts. One of another form is a ValueError."""
    return in_short(run.read_record(directory))


def in_short(record: Mapping[str, Any]) -> Record:
    """Return a record without the parts that no statistics need."""
    short = {name: value for name, value in record.items() if name not in UNNEEDED}
    short.update(hosts=[], history={}, thresholds=[])
    short["stages"] = [stage_in_short(stage) for stage in record["stages"]]
    short["flows"] = [flow_in_short(flow) for flow in record["flows"]]
    if record.get("removal"):
        short["removal"] = stage_in_short(record["removal"])
    return codec.from_json(Record, with_sound_duration(short))


def stage_in_short(stage: Mapping[str, Any]) -> dict[str, Any]:
    return with_sound_duration({**stage, "calls": []})


def flow_in_short(flow: Mapping[str, Any]) -> dict[str, Any]:
    steps = [{**step, "evidence": [], "numbers": {}} for step in flow["steps"]]
    return {**flow, "steps": steps, "coverage": []}


def with_sound_duration(timed: dict[str, Any]) -> dict[str, Any]:
    """Return a run or a stage whose duration is unknown where it is none, such as NaN or 10**400."""
    if is_seconds(timed.get("duration_s")):
        return timed
    return {**timed, "duration_s": None}


def labels_of(record: Record) -> dict[tuple[str, str], Label]:
    """Return the words for each step of a run."""
    labels = {}
    for flow in record.flows:
        for step in flow.steps:
            labels[flow.name, step.id] = Label(step.message, step.target)
    return labels


def read_labels(directories: Iterable[str]) -> dict[tuple[str, str], Label]:
    """Return the words for steps, from the last of some runs that were followed."""
    found: list[dict[tuple[str, str], Label]] = []
    for directory in [*directories][: -MOST_READ - 1 : -1]:
        labels = labels_in(directory)
        if labels:
            found.append(labels)
        if len(found) == LABELLED:
            break
    merged = {}
    for labels in found:
        merged.update(labels)
    return merged


def labels_in(directory: str) -> dict[tuple[str, str], Label]:
    """Return the words for the steps of a run; none where its record cannot be read."""
    try:
        return labels_of(read_run(directory))
    except (StageError, OSError, *MALFORMED):
        return {}


def name_of(directory: str) -> str:
    return os.path.basename(directory)
