# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The components that a run uses: what is wrong with others explains nothing that it did not do."""

from __future__ import annotations

from collections.abc import Iterable

from .._components.tables import entry_of, stands_for
from .._model.flow import component_of
from .._model.symptom import Code, Symptom
from .._model.words import StageName, StageStatus, StepStatus
from .case import Case

STAGES = tuple(StageName)


def by_run(symptoms: Iterable[Symptom], case: Case) -> list[Symptom]:
    """Return the symptoms that may be of what the run asked for."""
    found = list(symptoms)
    left_out = stages_left_out(case)
    if not left_out:
        return found
    taking_part = parts_of_flow(case) | with_own_failures(found)
    return [
        symptom
        for symptom in found
        if not is_unused(symptom.component, left_out, taking_part)
    ]


def with_own_failures(symptoms: Iterable[Symptom]) -> set[str]:
    """Return the components that have logged failures of the run: it has used them, whatever is known of it."""
    return {
        symptom.component
        for symptom in symptoms
        if symptom.own
        and symptom.component
        and symptom.code is Code.LOGGED_FAILURE
    }


def is_unused(
    component: str | None, left_out: set[str], taking_part: set[str]
) -> bool:
    """Return whether a component works only for stages that the run left out, and for no step of its flow."""
    stages = set(entry_of(component).stages)
    return bool(stages) and stages <= left_out and component not in taking_part


def stages_left_out(case: Case) -> set[str]:
    """Return the stages that the run was not asked for; those behind the failed one might have been."""
    failed = STAGES.index(case.stage.stage)
    stages = case.record.stages
    skipped = {
        stage.stage for stage in stages if stage.status is StageStatus.SKIPPED
    }
    return {stage.value for stage in skipped if STAGES.index(stage) < failed}


def parts_of_flow(case: Case) -> set[str]:
    """Return the components that the steps of the judged flow name, but for steps that this run skips."""
    names: set[str] = set()
    for step in case.steps:
        if step.status is not StepStatus.SKIPPED:
            names.update(stands_for(component_of(step.source)))
            names.update(stands_for(step.taker))
    return names
