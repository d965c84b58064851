# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How clouds developed over time, from the digests of their runs. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain, starmap
from operator import attrgetter

from .._model.history import (
    SCHEMA,
    Band,
    Change,
    CloudHistory,
    History,
    HistoryCause,
    HostRuns,
    Period,
    RecentRun,
    RunDigest,
    StageTrend,
    StepTrend,
    Trend,
)
from .._model.words import Result
from .._runs.causes import Cause, by_cause, hosts_of
from .._runs.figures import TIMED, figures_of, median_of
from .._runs.records import NO_LABEL, Labels

Runs = Sequence[RunDigest]
RESULT = attrgetter("result")

# A chart cannot show more periods, whatever the number of runs.
MOST_PERIODS = 96
# The share of all runs, the last ones, whose durations are compared with those before
RECENT = 0.1
MOST_RUNS, MOST_CHANGES, MOST_CAUSES = 50, 50, 50


def history_of(digests: Runs, labels: Labels, made: float) -> History:
    """Return the history of runs, oldest first: each cloud by itself, that of the last run first."""
    clouds: dict[str | None, list[RunDigest]] = {
        digest.cloud: [] for digest in reversed(digests)
    }
    for digest in digests:
        clouds[digest.cloud].append(digest)
    return History(
        schema=SCHEMA,
        created=made,
        clouds=tuple(cloud_of(runs, labels) for runs in clouds.values()),
    )


def cloud_of(runs: Runs, labels: Labels) -> CloudHistory:
    """Return the history of one cloud. runs: its runs, oldest first."""
    periods = in_periods(runs)
    results = Counter(map(RESULT, runs))
    return CloudHistory(
        cloud=runs[-1].cloud,
        runs=len(runs),
        passed=results[Result.PASS],
        failed=results[Result.FAIL],
        incomplete=results[Result.INCOMPLETE],
        first=runs[0].started,
        last=runs[-1].started,
        periods=tuple(map(period_of, periods)),
        stages=tuple(stages_of(periods)),
        steps=tuple(steps_of(periods, labels)),
        hosts=tuple(hosts_in(runs)),
        changes=tuple(changes_of(runs)[-MOST_CHANGES:]),
        causes=tuple(causes_of(runs)[:MOST_CAUSES]),
        recent=tuple(map(recent_run, runs[: -MOST_RUNS - 1 : -1])),
    )


def in_periods(runs: Runs) -> list[list[RunDigest]]:
    """Return the runs in periods of one length, without the periods that have none."""
    first = runs[0].started
    length = max(runs[-1].started - first, 1) / min(MOST_PERIODS, len(runs))
    periods: dict[int, list[RunDigest]] = {}
    for run in runs:
        # The last run begins where the last period ends, and belongs to it.
        number = int((run.started - first) / length * (1 - 1e-9))
        periods.setdefault(number, []).append(run)
    return list(periods.values())


def period_of(runs: Runs) -> Period:
    results = Counter(map(RESULT, runs))
    return Period(
        first=runs[0].started,
        last=runs[-1].started,
        runs=len(runs),
        passed=results[Result.PASS],
        failed=results[Result.FAIL],
        incomplete=results[Result.INCOMPLETE],
    )


def stages_of(periods: Sequence[Runs]) -> list[StageTrend]:
    """Return how long each stage took, in the order of a run."""
    trends = []
    for name in TIMED:
        trend = trend_of([stage_seconds(runs, name) for runs in periods])
        if trend:
            trends.append(StageTrend(stage=name, trend=trend))
    return trends


def stage_seconds(runs: Runs, name: str) -> list[float]:
    return [run.stages[name] for run in runs if name in run.stages]


def step_seconds(runs: Runs, name: str) -> list[float]:
    return [run.steps[name] for run in runs if name in run.steps]


def steps_of(periods: Sequence[Runs], labels: Labels) -> list[StepTrend]:
    """Return how long each step of the flows took, the slowest first."""
    names: set[str] = set()
    for runs in periods:
        names.update(*map(attrgetter("steps"), runs))
    trends = []
    for name in sorted(names):
        trend = trend_of([step_seconds(runs, name) for runs in periods])
        if trend:
            trends.append(step_trend(name, trend, labels))
    return sorted(trends, key=lambda step: -step.trend.median_s)


def step_trend(name: str, trend: Trend, labels: Labels) -> StepTrend:
    flow, _space, step = name.partition(" ")
    label = labels.get((flow, step), NO_LABEL)
    return StepTrend(
        flow=flow,
        step=step,
        message=label.message or None,
        component=label.component or None,
        trend=trend,
    )


def trend_of(periods: Sequence[Sequence[float]]) -> Trend | None:
    """Return how a duration developed, or None if it was never measured. periods: the durations of each."""
    seconds = list(chain.from_iterable(periods))
    overall = figures_of(seconds)
    if overall is None:
        return None
    recent = seconds[-max(1, round(len(seconds) * RECENT)) :]
    before = seconds[: -len(recent)] or seconds
    return Trend(
        runs=overall.runs,
        median_s=overall.median_s,
        p95_s=overall.p95_s,
        before_s=median_of(before) or 0.0,
        recent_s=median_of(recent) or 0.0,
        periods=tuple(map(band_of, periods)),
    )


def band_of(seconds: Sequence[float]) -> Band | None:
    figures = figures_of(seconds)
    if figures is None:
        return None
    return Band(
        p5_s=figures.p5_s, median_s=figures.median_s, p95_s=figures.p95_s
    )


def hosts_in(runs: Runs) -> list[HostRuns]:
    """Return the hosts that had an instance, with how many of their runs passed and how long a boot takes there."""
    by_host: dict[str, list[RunDigest]] = {}
    for run in runs:
        if run.facts.get("host"):
            by_host.setdefault(run.facts["host"], []).append(run)
    return list(starmap(host_runs, sorted(by_host.items())))


def host_runs(host: str, runs: Runs) -> HostRuns:
    boots = [run.stages["boot"] for run in runs if "boot" in run.stages]
    return HostRuns(
        host=host,
        runs=len(runs),
        passed=sum(map(attrgetter("passed"), runs)),
        boot_s=median_of(boots),
        last=runs[-1].started,
    )


def changes_of(runs: Runs) -> list[Change]:
    """Return what was not the same as before: a fact with a new value, and a host that is seen for the first time."""
    changes = []
    known: dict[str, str] = {}
    hosts: set[str] = set()
    for run in runs:
        for name, fact in run.facts.items():
            if name == "host":
                is_new = bool(hosts) and fact not in hosts
                before = None
                hosts.add(fact)
            else:
                before = known.get(name, fact)
                is_new = before != fact
                known[name] = fact
            if is_new:
                changes.append(
                    Change(
                        at=run.started,
                        run_id=run.run_id,
                        what=name,
                        before=before,
                        now=fact,
                    )
                )
    return changes


def causes_of(runs: Runs) -> list[HistoryCause]:
    """Return the failures, grouped by their cause; the cause that was seen last comes first."""
    last_pass = max((run.started for run in runs if run.passed), default=0.0)
    groups = by_cause(run for run in runs if run.headline)
    causes = [
        history_cause(cause, failures, last_pass)
        for cause, failures in groups.items()
    ]
    return sorted(causes, key=lambda cause: cause.last, reverse=True)


def history_cause(
    cause: Cause, failures: Runs, last_pass: float
) -> HistoryCause:
    last = failures[-1]
    return HistoryCause(
        headline=last.headline or "",
        component=cause.component,
        how=cause.how,
        stage=cause.stage,
        step=last.step,
        hosts=hosts_of(failures),
        runs=len(failures),
        first=failures[0].started,
        last=last.started,
        run_id=last.run_id,
        directory=last.directory,
        resolved=last.started < last_pass,
    )


def recent_run(run: RunDigest) -> RecentRun:
    return RecentRun(
        run_id=run.run_id,
        directory=run.directory,
        started=run.started,
        result=run.result,
        duration_s=run.duration_s,
        headline=run.headline,
    )
