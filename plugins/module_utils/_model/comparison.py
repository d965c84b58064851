# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A comparison of two results, comparison.json: what is different since the earlier one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from .codec import Count, Exactly, Positive, Text, Time
from .sweep import PreflightStatus
from .words import CheckStatus, Result, StageName, StageStatus, StepStatus

SCHEMA = "stackproof.comparison/1"


@dataclass(frozen=True)
class Side:
    """One of the two results.

    id: name of the run or of the sweep. targets: how many runs it has.
    """

    id: Text
    cloud: Optional[str]
    level: Optional[str]
    started: Time
    finished: Optional[Time]
    result: Result
    targets: Count


@dataclass(frozen=True)
class VerdictChange:
    """A target whose verdict is another one. before, now: null where the result does not have the target.

    headline: what is wrong now, or was before; null for a pass.
    """

    target: Text
    before: Optional[Result]
    now: Optional[Result]
    headline: Optional[str]


@dataclass(frozen=True)
class StageChange:
    """A stage whose status changed, with the number of targets. target: the first of them."""

    stage: StageName
    before: StageStatus
    now: StageStatus
    targets: Count
    target: Text


@dataclass(frozen=True)
class TimeChange:
    """A stage that takes longer or shorter, by more than noise.

    before_s, now_s: the medians over the targets on which it worked both times. ratio: how many times as long it takes.
    """

    stage: StageName
    before_s: Positive
    now_s: Positive
    ratio: Positive
    targets: Count


@dataclass(frozen=True)
class CheckChange:
    """A check of a host whose status changed, with the number of targets.

    before, now: null where it was not made. reason: why it has its status now.
    """

    host: Text
    check: Text
    before: Optional[CheckStatus]
    now: Optional[CheckStatus]
    targets: Count
    reason: Optional[str]


@dataclass(frozen=True)
class PreflightChange:
    """A preflight check whose status is another one. before, now: null where it was not made."""

    check: Text
    before: Optional[PreflightStatus]
    now: Optional[PreflightStatus]
    reason: str


@dataclass(frozen=True)
class VersionChange:
    """A version, or something that the runs used, that is another one. before, now: null where it was not there."""

    what: Text
    before: Optional[str]
    now: Optional[str]


@dataclass(frozen=True)
class StepChange:
    """A step of a flow that is missing in only one of both results, with the number of targets."""

    flow: Text
    step: Text
    message: Text
    before: StepStatus
    now: StepStatus
    targets: Count


@dataclass(frozen=True)
class Comparison:
    """What is different between two results.

    schema: the schema's name.
    before: the earlier result.
    now: the later one.
    compared: how many targets both have.
    verdicts: the targets whose verdict changed.
    stages: the stages whose status changed.
    times: the stages that take longer or shorter, by more than noise.
    checks: the checks of hosts whose status changed.
    preflight: the preflight checks whose status changed.
    versions: the versions, and the things of the cloud that the runs used, that changed.
    steps: the steps of flows that are missing in only one of the two.
    """

    schema: Annotated[str, Exactly(SCHEMA)]
    before: Side
    now: Side
    compared: Count
    verdicts: tuple[VerdictChange, ...]
    stages: tuple[StageChange, ...]
    times: tuple[TimeChange, ...]
    checks: tuple[CheckChange, ...]
    preflight: tuple[PreflightChange, ...]
    versions: tuple[VersionChange, ...]
    steps: tuple[StepChange, ...]

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is different."""
        changes = (
            self.verdicts,
            self.stages,
            self.times,
            self.checks,
            self.preflight,
            self.versions,
            self.steps,
        )
        return not any(changes)
