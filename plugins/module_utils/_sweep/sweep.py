# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep from begin to end, with the results of its runs. Pure."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

from .._model.record import Record
from .._model.stage import Stage
from .._model.sweep import (
    SCHEMA,
    ExcludedHost,
    Outlier,
    PreflightCheck,
    Slice,
    StageSpread,
    Sweep,
    SweepVerdict,
    Target,
    TargetStage,
)
from .._model.words import Result, StageName, StageStatus
from .._runs.causes import how_of
from .._runs.figures import figures_of
from . import verdict

# How a target failed whose run has no record
NOT_BEGUN, UNREADABLE = "not_begun", "unreadable"
# So that a median of 0 s divides nothing
LEAST_MEDIAN_S = 0.001


@dataclass(frozen=True)
class Limits:
    """From when on a stage is slow: it took this many times the median, and this many seconds more."""

    times: float
    seconds: float


def new_sweep(
    sweep_id: str,
    cloud: str,
    targets: Sequence[Target],
    preflight: Sequence[PreflightCheck] = (),
    excluded: Sequence[ExcludedHost] = (),
    parallel: int | None = None,
    part: Slice | None = None,
    level: str | None = None,
) -> Sweep:
    """Return the record of a sweep that begins. part: which slice of a larger one it is. level: that of all runs."""
    return Sweep(
        schema=SCHEMA,
        sweep_id=sweep_id,
        slice=part,
        combined=(),
        cloud=cloud,
        started=time.time(),
        finished=None,
        duration_s=None,
        parallel=parallel,
        verdict=SweepVerdict(Result.INCOMPLETE, "The sweep has not finished."),
        preflight=tuple(preflight),
        excluded=tuple(excluded),
        targets=tuple(
            without_run(target, "The run was not begun.") for target in targets
        ),
        stages=(),
        outliers=(),
        level=level,
    )


def without_run(target: Target, reason: str, how: str = NOT_BEGUN) -> Target:
    """Return a target whose run has no record that could be read."""
    return dataclasses.replace(
        target,
        result=Result.INCOMPLETE,
        reason=reason,
        stage=None,
        step=None,
        component=None,
        how=how,
        directory=None,
        duration_s=None,
        stages=(),
        left_out=(),
    )


def with_run(target: Target, record: Record, directory: str) -> Target:
    """Return a target with the result of its run. directory: that of the run, as seen from the sweep's."""
    found = record.verdict
    return dataclasses.replace(
        target,
        result=found.result,
        reason=found.reason,
        stage=found.stage,
        step=found.step,
        component=found.component,
        how=how_of(record),
        directory=directory,
        duration_s=record.duration_s,
        stages=tuple(map(target_stage, record.stages)),
        left_out=record.level.left_out if record.level else (),
    )


def target_stage(stage: Stage) -> TargetStage:
    return TargetStage(
        stage=stage.stage,
        status=stage.status,
        seconds=stage.duration_s,
        reason=reason_of(stage),
    )


def reason_of(stage: Stage) -> str | None:
    """Return why a stage failed or was skipped."""
    if stage.error:
        return stage.error.message
    reason = stage.details.get("reason")
    return reason if isinstance(reason, str) else None


def timed_stages(target: Target) -> list[tuple[TargetStage, float]]:
    """Return the stages that worked, with their seconds; those of unknown duration are left out."""
    worked = [
        stage for stage in target.stages if stage.status is StageStatus.OK
    ]
    return [
        (stage, stage.seconds) for stage in worked if stage.seconds is not None
    ]


def spreads(targets: Sequence[Target]) -> list[StageSpread]:
    """Return for each stage on how many targets it worked, and how long it took there."""
    seconds: dict[StageName, list[float]] = {name: [] for name in StageName}
    for target in targets:
        for stage, taken in timed_stages(target):
            seconds[stage.stage].append(taken)
    found = []
    for name, taken_there in seconds.items():
        figures = figures_of(taken_there)
        if figures:
            found.append(
                StageSpread(
                    name, figures.runs, figures.median_s, figures.max_s
                )
            )
    return found


def outliers(
    targets: Sequence[Target], usual: Sequence[StageSpread], limits: Limits
) -> list[Outlier]:
    """Return the stages that worked, but took much longer than the median over all targets."""
    medians = {spread.stage: spread.median_s for spread in usual}
    slow = []
    for target in targets:
        for stage, seconds in timed_stages(target):
            median_s = medians[stage.stage]
            times = seconds / (median_s or LEAST_MEDIAN_S)
            if times > limits.times and seconds - median_s >= limits.seconds:
                slow.append(outlier(target, stage.stage, seconds, median_s))
    return sorted(slow, key=lambda found: -found.times)


def outlier(
    target: Target, stage: StageName, seconds: float, median_s: float
) -> Outlier:
    times = round(seconds / (median_s or LEAST_MEDIAN_S), 1)
    reason = f"{target.name}: {stage} took {seconds:.1f} s, {times} times the median of {median_s:.1f} s"
    return Outlier(
        target=target.name,
        stage=stage,
        seconds=seconds,
        median_s=median_s,
        times=times,
        reason=reason,
    )


def finish(sweep: Sweep, targets: Sequence[Target], limits: Limits) -> Sweep:
    """Return an ended sweep. targets: its targets with their results."""
    usual = spreads(targets)
    slow = outliers(targets, usual, limits)
    finished = time.time()
    return dataclasses.replace(
        sweep,
        targets=tuple(targets),
        stages=tuple(usual),
        outliers=tuple(slow),
        finished=finished,
        duration_s=round(finished - sweep.started, 6),
        verdict=verdict.judge(
            targets, sweep.preflight, slow, part=sweep.slice
        ),
    )


def directory_of(runs: str, sweep_id: str) -> str:
    return os.path.join(os.path.abspath(runs), f"sweep-{sweep_id}")
