# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runs of a load test, and the figures over them: by level, by stage and by step. Pure."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, starmap
from operator import attrgetter

from .._model.load import (
    Bottleneck,
    Breakdown,
    LoadCause,
    LoadLevel,
    LoadRun,
    SaturationPoint,
    Spread,
    StageLevels,
    StepLevels,
)
from .._model.words import Result
from .._runs.causes import by_cause, hosts_of
from .._runs.figures import TIMED, growth_of, rounded, spread_of
from .._runs.records import NO_LABEL, Labels

# A level raises the throughput only if it makes this many times the instances of the level before: less may be chance.
RAISES = 1.1
# A component is a bottleneck if it takes this many times as long, and this many seconds more, as at the lowest level.
BOTTLENECK_TIMES, BOTTLENECK_S = 1.5, 0.5


@dataclass(frozen=True)
class Outcome:
    """An instance with the figures of its run, which stay in the run's own record.

    removed: when it was gone. provisioned_s: how long the stages took.
    components: for how many seconds the run waited for each component.
    """

    run: LoadRun
    removed: float | None = None
    provisioned_s: float | None = None
    detection_delay_s: float | None = None
    stages: Mapping[str, float] = field(default_factory=dict)
    steps: Mapping[str, float] = field(default_factory=dict)
    breakdown: Breakdown | None = None
    components: Mapping[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return self.run.result is Result.PASS


@dataclass(frozen=True)
class Level:
    """The instances of one level that were begun."""

    parallel: int
    outcomes: Sequence[Outcome]

    @property
    def passed(self) -> list[Outcome]:
        return list(filter(attrgetter("passed"), self.outcomes))

    def stage(self, name: str) -> Spread | None:
        """Return how long a stage took; None where no run that passed has it."""
        return spread_of(outcome.stages.get(name) for outcome in self.passed)

    def step(self, name: str) -> Spread | None:
        """Return how long a step took; None where no run that passed has it."""
        return spread_of(outcome.steps.get(name) for outcome in self.passed)


def in_levels(outcomes: Iterable[Outcome]) -> list[Level]:
    """Return the levels with their instances that were begun, the lowest first."""
    levels: dict[int, list[Outcome]] = {}
    for outcome in sorted(outcomes, key=lambda each: each.run.parallel):
        if outcome.run.started is not None:
            levels.setdefault(outcome.run.parallel, []).append(outcome)
    return list(starmap(Level, levels.items()))


def level_of(level: Level) -> LoadLevel:
    """Return the figures over all instances of a level."""
    passed = level.passed
    took = seconds_of(level.outcomes)
    return LoadLevel(
        parallel=level.parallel,
        runs=len(level.outcomes),
        passed=len(passed),
        seconds=rounded(took),
        per_minute=round(60 * len(passed) / took, 2) if took > 0 else None,
        provisioned=spread_of(outcome.provisioned_s for outcome in passed),
        detection_delay=spread_of(
            outcome.detection_delay_s for outcome in level.outcomes
        ),
        breakdown=mean_breakdown(
            list(filter(None, (outcome.breakdown for outcome in passed)))
        ),
        components=means(
            list(filter(None, (outcome.components for outcome in passed)))
        ),
    )


def seconds_of(outcomes: Sequence[Outcome]) -> float:
    """Return the seconds from the first begin to the last removal."""
    begins = [outcome.run.started or 0.0 for outcome in outcomes]
    ends = [
        began if outcome.removed is None else outcome.removed
        for began, outcome in zip(begins, outcomes)
    ]
    return max(ends) - min(begins)


def mean_breakdown(breakdowns: Sequence[Breakdown]) -> Breakdown | None:
    if not breakdowns:
        return None
    return Breakdown(**means(list(map(dataclasses.asdict, breakdowns))))


def means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each name over all rows; a row without the name counts as 0."""
    names: set[str] = set()
    names.update(*rows)
    found = {}
    for name in sorted(names):
        values = [row.get(name, 0.0) for row in rows]
        found[name] = rounded(statistics.fmean(values))
    return found


def stages_of(levels: Sequence[Level]) -> list[StageLevels]:
    """Return how long each stage took at each level, in the order of a run."""
    found = []
    for name in TIMED:
        spreads = tuple(level.stage(name) for level in levels)
        if any(spreads):
            found.append(
                StageLevels(
                    stage=name, levels=spreads, growth=growth_of(spreads)
                )
            )
    return found


def steps_of(levels: Sequence[Level], labels: Labels) -> list[StepLevels]:
    """Return how long each step of the flows took at each level, the slowest at the highest level first."""
    names: set[str] = set()
    for level in levels:
        names.update(*(outcome.steps for outcome in level.outcomes))
    found = []
    for name in sorted(names):
        spreads = tuple(level.step(name) for level in levels)
        if any(spreads):
            found.append(step_levels(name, spreads, labels))
    return sorted(
        found, key=lambda step: last_spread(step.levels).p50_s, reverse=True
    )


def step_levels(
    name: str, spreads: tuple[Spread | None, ...], labels: Labels
) -> StepLevels:
    flow, _space, step = name.partition(" ")
    label = labels.get((flow, step), NO_LABEL)
    return StepLevels(
        flow=flow,
        step=step,
        message=label.message or None,
        component=label.component or None,
        levels=spreads,
        growth=growth_of(spreads),
    )


def last_spread(spreads: Sequence[Spread | None]) -> Spread:
    """Return the spread at the highest level that has one."""
    return next(filter(None, reversed(spreads)))


def bottleneck(levels: Sequence[LoadLevel]) -> Bottleneck | None:
    """Return the component for which runs wait much longer than at the lowest level, at the first level with one."""
    known = list(filter(attrgetter("components"), levels))
    for level in known[1:]:
        slowed = slowed_most(known[0], level)
        if slowed and slowed.now_s - slowed.before_s >= BOTTLENECK_S:
            return slowed
    return None


def slowed_most(lowest: LoadLevel, level: LoadLevel) -> Bottleneck | None:
    """Return the component that takes the most seconds longer than at the lowest level."""
    slowed = []
    for name, now_s in level.components.items():
        before_s = lowest.components.get(name, 0.0)
        if now_s > BOTTLENECK_TIMES * before_s:
            slowed.append(Bottleneck(name, level.parallel, before_s, now_s))
    return max(
        slowed, key=lambda each: each.now_s - each.before_s, default=None
    )


def saturation_point(levels: Iterable[LoadLevel]) -> SaturationPoint | None:
    """Return the level after which the throughput does not rise; None where that was not reached."""
    for level, higher in pairwise(levels):
        if (
            level.per_minute
            and (higher.per_minute or 0.0) < RAISES * level.per_minute
        ):
            return SaturationPoint(
                parallel=level.parallel, per_minute=level.per_minute
            )
    return None


def causes_of(runs: Iterable[LoadRun]) -> list[LoadCause]:
    """Return the runs that were begun and did not pass, by their cause, the most frequent first."""
    failed = [
        run
        for run in runs
        if run.started is not None and run.result is not Result.PASS
    ]
    causes = []
    for cause, group in by_cause(failed).items():
        causes.append(
            LoadCause(
                headline=group[0].headline,
                component=cause.component,
                how=cause.how,
                stage=cause.stage,
                step=group[0].step,
                hosts=hosts_of(group),
                runs=tuple(run.key for run in group),
            )
        )
    return sorted(causes, key=lambda cause: -len(cause.runs))
