# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words for steps, from the records of runs: anybody may have put one into the folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .._model.record import Record
from .._record.errors import MALFORMED, StageError
from .._record.run import read_record

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
        return labels_of(read_record(directory))
    except (StageError, OSError, *MALFORMED):
        return {}


def name_of(directory: str) -> str:
    return os.path.basename(directory)
