# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms in the flow: steps that did not happen, or that no evidence shows."""

from __future__ import annotations

from ..._components.tables import carriers_of, entry_of, workers_of
from ..._model.bundle import Outcome
from ..._model.flow import Step
from ..._model.how import How
from ..._model.symptom import Code, Symptom
from ..._model.words import StepStatus
from ..case import Case
from .guest import did_their_part

# Errors that end a stage before its time: Nova has given up the server or put it elsewhere, or an API has failed
ENDING = (
    "build_failed",
    "misplaced",
    "not_moved",
    "operation_failed",
    "service",
    "unreachable",
)


def missing(case: Case) -> list[Symptom]:
    """Return the missing steps, the nearest first, each with who is responsible for it and who was to take it."""
    done = did_their_part(case)
    proves = is_proof(case)
    symptoms: list[Symptom] = []
    for place, path in enumerate(case.paths):
        for number, step in enumerate(path):
            distance = case.weights.step_distance * (place + number)
            symptoms.append(
                Symptom(
                    Code.STEP_MISSING,
                    responsible_for(step, done),
                    host=case.host_of_lifeline(step.source),
                    peer=receiver_of(step, done),
                    peer_host=case.host_of_lifeline(step.target),
                    how=How.MISSING
                    if proves and step.status == StepStatus.MISSING
                    else How.UNSEEN,
                    carriers=tuple(carriers_of(step.kind)),
                    share=1 / (1 + distance),
                    step=step.id,
                )
            )
    return symptoms + workers(case)


def workers(case: Case) -> list[Symptom]:
    """Return the components that work for the stage, whether a flow follows it or not."""
    present = {service.component for _host, service in case.services}
    names = [
        name
        for name in workers_of(case.stage.stage)
        if name in present or not entry_of(name).only_where_present
    ]
    return [
        Symptom(Code.STAGE_PART, name, share=case.weights.stage_part)
        for name in names
    ]


def responsible_for(step: Step, done: set[str]) -> str | None:
    """Return the component that is responsible for a step; its receiver, if that component did its part."""
    return receiver_of(step, done) if step.doer in done else step.doer


def receiver_of(step: Step, done: set[str]) -> str | None:
    """Return the component that was to take a step, unless it did its part."""
    return None if step.taker in done else step.taker


def is_proof(case: Case) -> bool:
    """Return whether a step that is missing says anything: without a look at the hosts it may have begun unseen.

    If Nova gave up while steps were still under way, no component failed to make them; if it gave up because it had
    waited for them, one did.
    """
    return case.is_seen and not gave_up_early(case) and case.pause_s is None


def gave_up_early(case: Case) -> bool:
    """Return whether the stage has ended so soon after the last step that nothing waited for the next."""
    if not ended_before_its_time(case):
        return False
    last = case.last_seen
    given_up = first_own_error(case)
    if given_up is None:
        given_up = case.stage.finished
    if last is None or last.at is None or given_up is None:
        return True
    return given_up - last.at < case.weights.pause_s


def ended_before_its_time(case: Case) -> bool:
    if case.stage.error_kind in ENDING:
        return True
    diagnosis = case.record.diagnosis
    return (
        diagnosis is not None
        and diagnosis.boot is not None
        and diagnosis.boot.outcome is Outcome.FAILED
    )


def first_own_error(case: Case) -> float | None:
    return min((error.at for error in case.record.own_errors), default=None)
