# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep, sweep.json: many runs of one kind, judged as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from .codec import Exactly, Pattern, Range, Seconds, Time, omitted
from .level import LeftOut
from .words import Result, StageName, StageStatus, Word

SCHEMA = "stackproof.sweep/2"

# Python makes no number of more than 4300 digits, and names are sorted by the numbers in them.
Name = Annotated[str, Pattern(r"[\s\S]{1,1024}")]
Count = Annotated[int, Range(0, 1_000_000)]
# Missing slices are listed, so there cannot be any number of them.
SliceNumber = Annotated[int, Range(1, 9999)]
# The name of a run's directory: no other leads out of the folder of the runs.
RunId = Annotated[str, Pattern(r"[a-z0-9][a-z0-9-]{2,39}")]
# The path from a sweep to one of its runs. A page links it, so nothing else may be there.
RunPath = Annotated[str, Pattern(r"\.\./[\s\S]*")]


class PreflightStatus(Word):
    """Status of a preflight check."""

    OK = "ok"
    FAILED = "failed"
    UNREADABLE = "unreadable"


class PreflightKind(Word):
    """What a preflight check is about.

    api: whether a service answers this user's questions. capacity: whether the flavor fits on a host.
    """

    SERVICE = "service"
    HYPERVISOR = "hypervisor"
    QUOTA = "quota"
    ENDPOINT = "endpoint"
    API = "api"
    CAPACITY = "capacity"


@dataclass(frozen=True)
class PreflightCheck:
    """A check of the cloud before the first run.

    reason: what was found.
    """

    kind: PreflightKind
    name: Name
    status: PreflightStatus
    reason: str
    host: Optional[Name]
    component: Optional[str]


@dataclass(frozen=True)
class ExcludedHost:
    """A compute host that an operator has taken out of service, and why."""

    host: Name
    reason: str


@dataclass(frozen=True)
class Slice:
    """Which slice of a larger sweep this is.

    targets: how many targets all slices have together.
    """

    number: SliceNumber
    of: SliceNumber
    targets: Count


@dataclass(frozen=True)
class SweepPart:
    """A sweep that is part of a combined one."""

    sweep_id: Name
    slice: Optional[Slice]


@dataclass(frozen=True)
class TargetStage:
    """A stage of a target's run.

    reason: why it failed or was skipped.
    """

    stage: StageName
    status: StageStatus
    seconds: Optional[Seconds]
    reason: Optional[str]


@dataclass(frozen=True)
class Target:
    """A host, or a combination of values, with the result of its run.

    name: what a reader calls it. key: the same in the names of runs.
    stage, step, component, how: where and how the run failed, as far as it is known. reason: the same in words.
    second_host: the host of its second guest, with which the paths of the first one are checked.
    directory: the directory of its run, relative to that of the sweep; null if it has none.
    left_out: the parts of the level that its run left out.
    """

    name: Name
    key: Name
    run_id: RunId
    host: Optional[Name] = None
    network: Optional[Name] = None
    volume_type: Optional[Name] = None
    zone: Optional[Name] = None
    result: Result = Result.INCOMPLETE
    reason: str = ""
    stage: Optional[str] = None
    step: Optional[str] = None
    component: Optional[str] = None
    how: Optional[str] = None
    directory: Optional[RunPath] = None
    duration_s: Optional[Seconds] = None
    stages: tuple[TargetStage, ...] = ()
    left_out: tuple[LeftOut, ...] = omitted(())
    second_host: Optional[Name] = omitted()


@dataclass(frozen=True)
class StageSpread:
    """How long a stage took over all targets where it worked.

    targets: how many those are.
    """

    stage: StageName
    targets: Count
    median_s: Seconds
    max_s: Seconds


@dataclass(frozen=True)
class Outlier:
    """A stage that took much longer on a target than the median.

    times: how many times the median.
    """

    target: Name
    stage: StageName
    seconds: Seconds
    median_s: Seconds
    times: float
    reason: str


@dataclass(frozen=True)
class SweepVerdict:
    """The verdict on a sweep.

    hosts: the hosts with a failure; a target without a host by its name.
    """

    result: Result
    reason: str
    hosts: tuple[Name, ...] = ()


@dataclass(frozen=True)
class Sweep:
    """The record of a sweep: its targets, the preflight checks, and the verdict. It is valid from its beginning on.

    schema: the schema's name.
    sweep_id: name of the sweep; the name of each run begins with it.
    slice: the part of a larger sweep that this one is; null for a whole sweep.
    combined: the sweeps that this one combines; empty for any other.
    cloud: name of the cloud, as in the records of the runs.
    started: when the sweep began.
    finished: when it ended, null until then.
    duration_s: from begin to end, null until then.
    parallel: how many runs there were at most in parallel.
    verdict: the result, the reason, and the hosts with a failure.
    preflight: each check of the cloud before the runs.
    excluded: compute hosts that an operator has taken out of service, and why.
    targets: the matrix: each target with its run, its result, and the stages of its run.
    stages: of each stage, on how many targets it worked, and the median and the maximum of its seconds.
    outliers: the stages that took much longer than the median.
    level: name of the level of all runs; null where the user named none.
    """

    schema: Annotated[str, Exactly(SCHEMA)]
    sweep_id: Name
    slice: Optional[Slice]
    combined: tuple[SweepPart, ...]
    cloud: str
    started: Time
    finished: Optional[Time]
    duration_s: Optional[float]
    parallel: Optional[Count]
    verdict: SweepVerdict
    preflight: tuple[PreflightCheck, ...]
    excluded: tuple[ExcludedHost, ...]
    targets: tuple[Target, ...]
    stages: tuple[StageSpread, ...]
    outliers: tuple[Outlier, ...]
    level: Optional[Name] = None
