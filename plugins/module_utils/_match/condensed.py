# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Steps that each sum up several steps of another flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._model.flow import Step
from .._model.flow_definition import Flow, StepDefinition
from .._model.words import StepStatus

# A step is as certain as the least certain of those that it covers and that did happen.
LEAST_CERTAIN_FIRST = (
    StepStatus.MISSING,
    StepStatus.UNSEEN,
    StepStatus.SEEN,
    StepStatus.CACHED,
    StepStatus.ABSENT,
    StepStatus.SKIPPED,
)


def condensed(flow: Flow, steps: Sequence[Step]) -> tuple[Step, ...]:
    by_id = {step.id: step for step in steps}
    return tuple(
        condensed_step(definition, by_id) for definition in flow.steps
    )


def condensed_step(
    definition: StepDefinition, by_id: Mapping[str, Step]
) -> Step:
    covered = [by_id[name] for name in definition.covers]
    statuses = {step.status for step in covered}
    status = next(
        status for status in LEAST_CERTAIN_FIRST if status in statuses
    )
    return Step(
        definition.id,
        definition.source,
        definition.target,
        definition.message,
        definition.kind,
        stage=covered[0].stage,
        phase=definition.phase,
        repeats=all(step.repeats for step in covered),
        responsible=definition.source,
        covers=definition.covers,
        numbers=definition.numbers,
        became=definition.became,
        today=definition.today,
        status=status,
        reason=reason_of(status, covered),
        evidence=tuple(step.evidence[0] for step in covered if step.evidence),
        **time_of(covered),
    )


def reason_of(status: StepStatus, covered: Sequence[Step]) -> str | None:
    """Return which of some steps nothing showed, if that decides the status."""
    if status not in (StepStatus.MISSING, StepStatus.UNSEEN):
        return None
    return f"its steps {', '.join(step.id for step in covered if step.status is status)}"


def time_of(covered: Sequence[Step]) -> dict[str, Any]:
    """Return the time from the first of some steps to the last."""
    timed = [step for step in covered if step.at is not None]
    if not timed:
        return {}
    first = min(timed, key=lambda step: step.at or 0)
    at = first.at or 0
    until = max(step.end or 0 for step in timed)
    return {
        "at": at,
        "until": until,
        "duration_s": round(until - at, 6),
        "resolution_s": first.resolution_s,
        "error_s": first.error_s,
        "host": first.host,
    }
