# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A load test from begin to end, with the outcomes of its runs. Pure."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import Any

from .._judge.thresholds import apply_limits
from .._model import codec
from .._model.load import (
    SCHEMA,
    LoadCause,
    LoadPlan,
    LoadRun,
    LoadTest,
    LoadVerdict,
    Overhead,
)
from .._model.record import Record, Threshold
from .._model.sweep import PreflightCheck
from .._model.words import Result, StageStatus
from .._record.run import STAGES
from .._runs.digest import digest_of
from .._runs.figures import rounded
from .._runs.records import Labels
from . import figures, path
from .figures import Outcome

# How an instance failed whose run has no record
NOT_BEGUN, UNREADABLE = "not_begun", "unreadable"
MOST_LISTED = 3
# The subjects of sentences about what is no component
SUBJECTS = {
    path.CLIENT: "This machine",
    path.UNSEEN: "Something between unseen steps",
}

# A limit as the modules' option thresholds has it
Limits = Sequence[Mapping[str, Any]]


def new_load(
    load_id: str,
    cloud: str | None,
    plan: LoadPlan,
    runs: Sequence[LoadRun],
    preflight: Sequence[PreflightCheck],
) -> LoadTest:
    """Return the record of a load test that begins."""
    return LoadTest(
        schema=SCHEMA,
        load_id=load_id,
        cloud=cloud,
        started=time.time(),
        finished=None,
        duration_s=None,
        plan=plan,
        verdict=LoadVerdict(
            Result.INCOMPLETE, "The load test has not finished."
        ),
        preflight=tuple(preflight),
        runs=tuple(runs),
    )


def without_run(run: LoadRun, reason: str, how: str) -> LoadRun:
    """Return an instance whose run has no record that could be read."""
    return LoadRun(
        key=run.key,
        run_id=run.run_id,
        parallel=run.parallel,
        headline=reason,
        how=how,
    )


def outcome_of(run: LoadRun, record: Record, directory: str) -> Outcome:
    """Return an instance with the figures of its run. directory: the name of the run's."""
    digest = digest_of(record, directory)
    worked = [
        stage.finished
        for stage in record.stages
        if stage.status is StageStatus.OK
    ]
    last = worked[-1] if worked else None
    # Runs are ended when all are through, so one that has gone well so far counts as passed until then.
    is_pass_so_far = record.finished is None and went_well(record)
    return Outcome(
        run=dataclasses.replace(
            run,
            result=Result.PASS if is_pass_so_far else digest.result,
            headline=digest.headline,
            component=digest.component,
            how=digest.how,
            stage=digest.stage,
            step=digest.step,
            host=digest.host,
            directory=directory,
            started=record.started,
        ),
        removed=removed_at(record),
        provisioned_s=rounded(last - record.started)
        if last is not None
        else None,
        detection_delay_s=path.detection_delay(record),
        stages=digest.stages,
        steps=digest.steps,
        breakdown=path.breakdown_of(record),
        components=path.by_component(record),
    )


def removed_at(record: Record) -> float | None:
    """Return when all of a run was gone. A run that made nothing has no removal: it took until its last stage ended."""
    if record.removal and record.removal.finished is not None:
        return record.removal.finished
    ends = [
        stage.finished for stage in record.stages if stage.finished is not None
    ]
    return max(ends, default=None)


def went_well(record: Record) -> bool:
    """Return whether a run that has not ended yet has gone through all of its stages, and has removed all."""
    done = [
        stage.stage
        for stage in record.stages
        if stage.status in (StageStatus.OK, StageStatus.SKIPPED)
    ]
    return set(done) >= set(STAGES) and record.created == record.deleted


def with_outcomes(
    test: LoadTest, outcomes: Sequence[Outcome], labels: Labels
) -> LoadTest:
    """Return a load test with the figures of its runs."""
    levels = figures.in_levels(outcomes)
    summed = tuple(map(figures.level_of, levels))
    runs = tuple(outcome.run for outcome in outcomes)
    return dataclasses.replace(
        test,
        runs=runs,
        levels=summed,
        stages=tuple(figures.stages_of(levels)),
        steps=tuple(figures.steps_of(levels, labels)),
        bottleneck=figures.bottleneck(summed),
        saturation_point=figures.saturation_point(summed),
        causes=tuple(figures.causes_of(runs)),
    )


def thresholds_of(test: LoadTest, limits: Limits) -> tuple[Threshold, ...]:
    """Return each limit with what it measured, and whether it holds."""
    return apply_limits(limits, codec.to_json(test))


def broken(test: LoadTest, limits: Limits) -> list[str]:
    """Return the limits that do not hold for what is known of a load test so far. What is unknown breaks none."""
    thresholds = thresholds_of(test, limits)
    return [
        threshold.text
        for threshold in thresholds
        if not threshold.ok and threshold.value is not None
    ]


def finish(
    test: LoadTest,
    limits: Limits,
    overhead: Overhead | None,
    stopped: Sequence[str],
) -> LoadTest:
    """End a load test that has its figures, with the verdict on the whole. stopped: why levels were not begun."""
    finished = time.time()
    ended = dataclasses.replace(
        test,
        finished=finished,
        duration_s=rounded(finished - test.started),
        overhead=overhead,
    )
    ended = dataclasses.replace(ended, thresholds=thresholds_of(ended, limits))
    return dataclasses.replace(ended, verdict=judge(ended, stopped))


def judge(test: LoadTest, stopped: Sequence[str]) -> LoadVerdict:
    """Return the verdict on a load test: whether all passed, what did not, and where it slowed down."""
    begun = [run for run in test.runs if run.started is not None]
    passed = [run for run in begun if run.result is Result.PASS]
    sentences = [
        f"{len(passed)} of {len(begun)} instances passed.",
        *map(about_cause, test.causes[:MOST_LISTED]),
        *about_limits(test),
        *about_skipped(len(test.runs) - len(begun), len(test.runs), stopped),
        *about_bottleneck(test),
        *about_saturation(test),
    ]
    return LoadVerdict(result_of(test), " ".join(sentences))


def result_of(test: LoadTest) -> Result:
    """Return the worst result. An instance that was not begun is incomplete."""
    if exceeded(test):
        return Result.FAIL
    results = {run.result for run in test.runs}
    for worst in (Result.FAIL, Result.INCOMPLETE):
        if worst in results:
            return worst
    return Result.PASS


def exceeded(test: LoadTest) -> list[str]:
    return [
        threshold.text for threshold in test.thresholds if not threshold.ok
    ]


def about_cause(cause: LoadCause) -> str:
    return f"{count(cause.runs)}: {(cause.headline or '').rstrip('.')}."


def about_limits(test: LoadTest) -> list[str]:
    texts = exceeded(test)
    if not texts:
        return []
    return [f"Limits exceeded: {'; '.join(texts)}."]


def count(keys: Sequence[str]) -> str:
    return f"{len(keys)} instances" if len(keys) > 1 else "1 instance"


def about_skipped(
    skipped: int, runs: int, stopped: Sequence[str]
) -> list[str]:
    if not skipped:
        return []
    reason = f": {'; '.join(stopped)}" if stopped else ""
    return [f"{skipped} of {runs} were not begun{reason}."]


def about_bottleneck(test: LoadTest) -> list[str]:
    """Return which component slowed down first."""
    slowed = test.bottleneck
    if not slowed:
        return []
    subject = SUBJECTS.get(slowed.component, slowed.component)
    sentences = [
        f"{subject} slowed down first: with {slowed.parallel} in parallel a run waits {slowed.now_s:.1f} s for it,"
        f" before {slowed.before_s:.1f} s."
    ]
    if slowed.component == path.UNSEEN:
        sentences.append(
            "The page of a run lists for each step what would show it."
        )
    return sentences


def about_saturation(test: LoadTest) -> list[str]:
    point = test.saturation_point
    return (
        [
            f"Throughput peaks at {point.per_minute:g}/min with {point.parallel} in parallel."
        ]
        if point
        else []
    )
