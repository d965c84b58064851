# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The path from a cause to the failed stage, with a sentence for what shows each hop."""

from __future__ import annotations

from ..._model.finding import Arrow, Cause, Finding
from ..._model.flow import Step
from ..._model.symptom import Symptom
from ..._model.verdict import Hop, Place
from ..._model.words import StepStatus
from . import symptoms
from .headline import reasons


def hops(finding: Finding) -> tuple[Hop, ...]:
    """Return the hops of a path as the record has them."""
    return tuple(hop_of(arrow, finding) for arrow in finding.path)


def hop_of(arrow: Arrow, finding: Finding) -> Hop:
    target = None if arrow.ends_at_stage else Place(*arrow.target)
    return Hop(Place(*arrow.source), target, evidence_of(arrow, finding))


def evidence_of(arrow: Arrow, finding: Finding) -> str | None:
    """Return what shows a hop at its target; None if it is only assumed."""
    if arrow.symptom is None:
        return None
    if arrow.ends_at_stage:
        return (
            f"step {finding.step.id} {not_seen(finding.step)}"
            if finding.step
            else None
        )
    if arrow.is_of_cause and finding.cause:
        return wrong_with(finding.cause, arrow.symptom)
    if arrow.symptom.component == arrow.target[0]:
        return symptoms.forms(arrow.symptom)[0]
    return symptoms.sentence(arrow.symptom)


def wrong_with(cause: Cause, symptom: Symptom) -> str:
    """Return what is wrong with a cause, which it shows itself, or another that failed at it."""
    return (
        symptoms.forms(symptom)[0]
        if cause.shows(symptom)
        else next(reasons(cause, symptom))
    )


def not_seen(step: Step) -> str:
    return (
        "did not happen"
        if step.status == StepStatus.MISSING
        else "was not observed"
    )
