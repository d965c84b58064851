# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A load test, load.json: many instances in parallel, as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Optional

from .codec import Exactly, Time
from .record import Threshold
from .sweep import Count, Name, PreflightCheck, RunId
from .words import Result

SCHEMA = "stackproof.load/2"


@dataclass(frozen=True)
class LoadPlan:
    """What the load test does.

    instances: how many there are at each level. levels: how many run in parallel, level after level.
    rate: how many instances begin in a minute; null for as fast as possible.
    """

    instances: int
    levels: tuple[int, ...]
    rate: Optional[float]


@dataclass(frozen=True)
class LoadVerdict:
    """The verdict on a load test."""

    result: Result
    reason: str


@dataclass(frozen=True)
class LoadRun:
    """An instance, also one that was not begun.

    parallel: the level it belongs to.
    headline: what was wrong. component, how, stage, step, host: the same in fields, as far as it is known.
    """

    key: Name
    run_id: RunId
    parallel: Count
    result: Result = Result.INCOMPLETE
    headline: Optional[str] = None
    component: Optional[str] = None
    how: Optional[str] = None
    stage: Optional[str] = None
    step: Optional[str] = None
    host: Optional[str] = None
    directory: Optional[str] = None
    started: Optional[Time] = None


@dataclass(frozen=True)
class Spread:
    """Median and percentiles of some durations.

    runs: how many there are.
    """

    runs: int
    p50_s: float
    p95_s: float
    p99_s: float


@dataclass(frozen=True)
class Breakdown:
    """The seconds of a run, on average.

    queue: until a message was taken out of a queue. polling: until the run had polled again. work: all other.
    """

    queue: float
    work: float
    polling: float


@dataclass(frozen=True)
class LoadLevel:
    """The runs of one level as a whole.

    seconds: from the first begin to the last removal. per_minute: how many instances were provisioned in a minute.
    provisioned: from an instance's first request to its guest's word.
    detection_delay: for how long at most an instance was active before its run knew it.
    breakdown: where the seconds of a run went, on average.
    components: for how many seconds a run waited for each component, on average.
    """

    parallel: int
    runs: int
    passed: int
    seconds: float
    per_minute: Optional[float]
    provisioned: Optional[Spread]
    detection_delay: Optional[Spread]
    breakdown: Optional[Breakdown]
    components: Mapping[str, float]


@dataclass(frozen=True)
class StageLevels:
    """How long a stage took at each level.

    levels: null where no run that passed has it.
    growth: how many times as long the median is at the highest level as at the lowest.
    """

    stage: str
    levels: tuple[Optional[Spread], ...]
    growth: Optional[float]


@dataclass(frozen=True)
class StepLevels:
    """How long a step took at each level.

    levels: null where no run that passed has it.
    growth: how many times as long the median is at the highest level as at the lowest.
    """

    flow: str
    step: str
    message: Optional[str]
    component: Optional[str]
    levels: tuple[Optional[Spread], ...]
    growth: Optional[float]


@dataclass(frozen=True)
class Bottleneck:
    """The component that slowed down first.

    parallel: at which level. before_s: how long a run waited for it at the lowest level. now_s: how long at this level.
    """

    component: str
    parallel: int
    before_s: float
    now_s: float


@dataclass(frozen=True)
class SaturationPoint:
    """The level after which more instances in parallel do not raise the throughput."""

    parallel: int
    per_minute: float


@dataclass(frozen=True)
class LoadCause:
    """Runs that failed in the same way.

    headline: what was wrong with the first of them. runs: their keys.
    """

    headline: Optional[str]
    component: Optional[str]
    how: Optional[str]
    stage: Optional[str]
    step: Optional[str]
    hosts: tuple[str, ...]
    runs: tuple[str, ...]


@dataclass(frozen=True)
class Overhead:
    """What Ansible took of the control node."""

    processor_s: float
    processor_s_per_instance: Optional[float]
    memory_mb: float


@dataclass(frozen=True)
class LoadTest:
    """The record of a load test.

    schema: the schema's name.
    load_id: name of the load test; the name of each run begins with it.
    cloud: name of the cloud, as in the records of the runs.
    started: when it began.
    finished: when it ended, null until then.
    duration_s: from begin to end, null until then.
    plan: how many instances there are at each level, how many of them in parallel, and how many begin in a minute.
    verdict: the result and the reason.
    preflight: the checks of the cloud before it began.
    runs: each instance, also one that was not begun.
    levels: the runs of each level: how many passed, throughput, durations, and where the seconds went.
    stages: each stage with its percentiles at each level, and its growth.
    steps: each step of the flows with its percentiles at each level, and its growth; the slowest comes first.
    bottleneck: the component that slowed down first, and at which level; null if none was found.
    saturation_point: the level after which more in parallel do not raise the throughput; null if none was found.
    causes: the runs that did not pass, grouped by component, kind of failure and stage.
    thresholds: each limit, what it measured, and whether it holds.
    overhead: what Ansible took of the control node; null where that could not be measured.
    """

    schema: Annotated[str, Exactly(SCHEMA)]
    load_id: str
    cloud: Optional[str]
    started: Time
    finished: Optional[Time]
    duration_s: Optional[float]
    plan: LoadPlan
    verdict: LoadVerdict
    preflight: tuple[PreflightCheck, ...]
    runs: tuple[LoadRun, ...]
    levels: tuple[LoadLevel, ...] = ()
    stages: tuple[StageLevels, ...] = ()
    steps: tuple[StepLevels, ...] = ()
    bottleneck: Optional[Bottleneck] = None
    saturation_point: Optional[SaturationPoint] = None
    causes: tuple[LoadCause, ...] = ()
    thresholds: tuple[Threshold, ...] = ()
    overhead: Optional[Overhead] = None
