# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The history of a folder of runs, history.json, and the digest of each of its runs, a line of history.jsonl."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Optional

from .codec import Exactly, Range, Seconds, Time
from .words import Result

SCHEMA = "stackproof.history/2"
# Increased whenever a digest gets other contents: then all records are read again.
DIGEST_VERSION = 3

# A time in nanoseconds is the largest.
Stamp = Annotated[int, Range(-(1 << 63), (1 << 63) - 1)]


@dataclass(frozen=True)
class RunDigest:
    """What a history needs of a run.

    directory: the name of its directory in the folder of the runs.
    headline: what was wrong. component, how, stage, step, host: the same in fields; null where the run passed.
    stages: seconds of each stage that worked. steps: seconds of each step by its flow and its id.
    facts: what the cloud consists of, as far as the run could see it. level: the level that the user named.
    size, changed: of the record that the digest was made of.
    """

    directory: str
    run_id: str
    cloud: Optional[str]
    started: Time
    duration_s: Optional[Seconds]
    result: Result
    headline: Optional[str] = None
    component: Optional[str] = None
    how: Optional[str] = None
    stage: Optional[str] = None
    step: Optional[str] = None
    host: Optional[str] = None
    stages: Mapping[str, float] = field(default_factory=dict)
    steps: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    level: Optional[str] = None
    size: Optional[Stamp] = None
    changed: Optional[Stamp] = None
    version: int = DIGEST_VERSION

    @property
    def passed(self) -> bool:
        return self.result is Result.PASS


@dataclass(frozen=True)
class Period:
    """A period of time, and how many of its runs had each result.

    first, last: when its first and its last run began.
    """

    first: Time
    last: Time
    runs: int
    passed: int
    failed: int
    incomplete: int


@dataclass(frozen=True)
class Band:
    """Percentiles of some durations within a period."""

    p5_s: float
    median_s: float
    p95_s: float


@dataclass(frozen=True)
class Trend:
    """How a duration developed.

    before_s: the median of all but the recent runs. recent_s: that of the last tenth of the runs.
    periods: the percentiles of each period; null where it has none.
    """

    runs: int
    median_s: float
    p95_s: float
    before_s: float
    recent_s: float
    periods: tuple[Optional[Band], ...]


@dataclass(frozen=True)
class StageTrend:
    """How long a stage took where it worked."""

    stage: str
    trend: Trend


@dataclass(frozen=True)
class StepTrend:
    """How long a step took."""

    flow: str
    step: str
    message: Optional[str]
    component: Optional[str]
    trend: Trend


@dataclass(frozen=True)
class HostRuns:
    """A host that had instances.

    boot_s: the median of their boots. last: when the last of their runs began.
    """

    host: str
    runs: int
    passed: int
    boot_s: Optional[float]
    last: Time


@dataclass(frozen=True)
class Change:
    """A fact that was not the same as in the run before. A host that is seen for the first time has no value before."""

    at: Time
    run_id: str
    what: str
    before: Optional[str]
    now: str


@dataclass(frozen=True)
class HistoryCause:
    """Runs that failed in the same way.

    headline: what was wrong with the last of them. run_id, directory: the last of them.
    first, last: when the first and the last of them began. resolved: whether a run has passed since.
    """

    headline: str
    component: Optional[str]
    how: Optional[str]
    stage: Optional[str]
    step: Optional[str]
    hosts: tuple[str, ...]
    runs: int
    first: Time
    last: Time
    run_id: str
    directory: str
    resolved: bool


@dataclass(frozen=True)
class RecentRun:
    """One of the last runs."""

    run_id: str
    directory: str
    started: Time
    result: Result
    duration_s: Optional[float]
    headline: Optional[str]


@dataclass(frozen=True)
class CloudHistory:
    """All runs on one cloud.

    cloud: name of the cloud.
    runs: how many runs there are.
    passed: how many of them passed.
    failed: how many failed.
    incomplete: how many did not reach their end.
    first: when the first one began.
    last: when the last one began.
    periods: periods of one length, without those in which no run began.
    stages: how long each stage took where it worked.
    steps: how long each step took, the slowest first.
    hosts: the hosts that had an instance.
    changes: what was not the same as in the run before.
    causes: the failures, grouped by component, kind of failure and stage; the one that was seen last comes first.
    recent: the last runs, the newest first.
    """

    cloud: Optional[str]
    runs: int
    passed: int
    failed: int
    incomplete: int
    first: Time
    last: Time
    periods: tuple[Period, ...]
    stages: tuple[StageTrend, ...]
    steps: tuple[StepTrend, ...]
    hosts: tuple[HostRuns, ...]
    changes: tuple[Change, ...]
    causes: tuple[HistoryCause, ...]
    recent: tuple[RecentRun, ...]


@dataclass(frozen=True)
class History:
    """All runs of a folder over time.

    schema: the schema's name.
    created: when it was written.
    clouds: each cloud by itself, that of the last run first.
    """

    schema: Annotated[str, Exactly(SCHEMA)]
    created: Time
    clouds: tuple[CloudHistory, ...]
