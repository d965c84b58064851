# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Steps that each sum up several steps of another flow."""

from __future__ import annotations

from collections.abc import Sequence
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
    return tuple(condensed_step(definition, [by_id[name] for name in definition.covers]) for definition in flow.steps)


def condensed_step(definition: StepDefinition, covered: Sequence[Step]) -> Step:
    statuses = {step.status for step in covered}
    status = next(status for status in LEAST_CERTAIN_FIRST if status in statuses)
    reason = None
    if status in (StepStatus.MISSING, StepStatus.UNSEEN):
        reason = f"its steps {', '.join(step.id for step in covered if step.status is status)}"
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
        reason=reason,
        evidence=tuple(step.evidence[0] for step in covered if step.evidence),
        **time_of(covered),
    )


def time_of(covered: Sequence[Step]) -> dict[str, Any]:
    """Return the time from the first of some steps to the last."""
    timed = sorted((step for step in covered if step.at is not None), key=lambda step: step.at or 0)
    if not timed:
        return {}
    first, at = timed[0], timed[0].at or 0
    until = max(step.end or 0 for step in timed)
    return {
        "at": at,
        "until": until,
        "duration_s": round(until - at, 6),
        "resolution_s": first.resolution_s,
        "error_s": first.error_s,
        "host": first.host,
    }
