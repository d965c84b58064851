# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judge a run by its record. The result is data: _report/messages/verdict.py makes the sentences."""

from __future__ import annotations

from .._model.chain import LinkState
from .._model.finding import Advice, Finding, Judgement, Outcome, Reason
from .._model.record import Record
from .._model.stage import Stage
from .._model.words import Result, StageName, StageStatus
from .._record.run import STAGES
from .advice import advice_for_check
from .culprit import finding, finding_in_health
from .weights import WEIGHTS, Weights

# Why a run does not pass if its playbook did not end it: it broke off after its stages, for an unknown reason.
AFTER_STAGES = ""
INTERRUPTED = "interrupted"
# The kind of the error of a stage that may have failed: whoever asked for the diagnosis thinks so.
SUSPECTED = "suspected"


def with_skipped(record: Record) -> tuple[Stage, ...]:
    """Return the stages in their order; each that did not run, because one failed before it, is marked as skipped."""
    failed = record.failed_stage
    reason = (
        f"the stage {failed.stage} failed before"
        if failed
        else "the run broke off before"
    )
    every = [
        *STAGES,
        *(stage.stage for stage in record.stages if stage.stage not in STAGES),
    ]
    return tuple(
        record.stage(name) or Stage.skipped(name, reason) for name in every
    )


def has_failed(record: Record) -> bool:
    """Return whether a stage has failed, or a host does not agree with the API."""
    return record.failed_stage is not None or any(
        host.has_failed_check for host in record.hosts
    )


def judge(
    record: Record, interruption: str | None = None, weights: Weights = WEIGHTS
) -> Judgement:
    """Return the first thing that is not as it must be.

    interruption: why the run did not do all its work after the stages, with which it cannot pass; AFTER_STAGES if that
    is not known.
    """
    failed = record.failed_stage
    if failed is not None:
        return failure(record, failed, weights)
    begun = {
        stage.stage for stage in record.stages if stage.started is not None
    }
    missing = [name for name in STAGES if name not in begun]
    if missing:
        return Judgement(
            Result.INCOMPLETE,
            Outcome.STAGE_MISSING,
            missing[0],
            interruption=interruption,
        )
    if interruption is not None:
        return Judgement(
            Result.INCOMPLETE, Outcome.BROKE_OFF, interruption=interruption
        )
    return flaw(record, weights) or Judgement(Result.PASS, Outcome.PASSED)


def failure(record: Record, failed: Stage, weights: Weights) -> Judgement:
    """Return the judgement on a stage that failed, with the finding about who broke it."""
    kind = failed.error_kind
    if kind == INTERRUPTED:
        return Judgement(
            Result.INCOMPLETE, Outcome.INTERRUPTED, failed.stage, failed=failed
        )
    found = finding(record, weights)
    if kind == SUSPECTED and not is_explained(found):
        return flaw(record, weights) or cleared(record, failed)
    return Judgement(
        Result.FAIL, Outcome.STAGE_FAILED, failed.stage, None, failed, found
    )


def is_explained(found: Finding | None) -> bool:
    if found is None:
        return False
    return found.cause is not None or found.unsatisfied is not None


def cleared(record: Record, failed: Stage) -> Judgement:
    """Return the judgement on a stage that was suspected, and of which nothing shows a fault."""
    is_examined = any(
        link.state is LinkState.HOLDS for link in record.known_links
    )
    if is_examined:
        return Judgement(Result.PASS, Outcome.NOTHING_FOUND)
    return Judgement(
        Result.INCOMPLETE, Outcome.NOT_EXAMINED, failed.stage, failed=failed
    )


def flaw(record: Record, weights: Weights) -> Judgement | None:
    """Return why a run fails although all its stages worked, or None."""
    for host in record.hosts:
        if host.has_failed_check:
            found = finding_in_health(record, weights) or Finding(
                advice=advice_for_check(host, record)
            )
            return Judgement(
                Result.FAIL,
                Outcome.CHECK_FAILED,
                host=host.host,
                finding=found,
            )
    if not all(limit.ok for limit in record.thresholds):
        return Judgement(
            Result.FAIL,
            Outcome.LIMIT_EXCEEDED,
            finding=Finding(advice=Advice(Reason.LOOK_AT_SLOWEST)),
        )
    if not record.leftovers:
        return None
    return failed_removal(record, weights)


def failed_removal(record: Record, weights: Weights) -> Judgement:
    """Return the judgement on a run that could not be removed, with the finding about who kept it from that."""
    removal = record.removal
    if removal is None or removal.status != StageStatus.FAILED:
        return Judgement(Result.FAIL, Outcome.LEFT)
    found = finding(record.as_removal, weights)
    return Judgement(
        Result.FAIL,
        Outcome.NOT_REMOVED,
        StageName.REMOVAL,
        None,
        removal,
        found,
    )
