# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A flow as a run followed it: its steps, the evidence of each, and how many steps each access shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Optional

from .codec import Key, Time, omitted
from .words import Grade, Level, Place, Proof, Since, StageName, StepStatus


@dataclass(frozen=True)
class Evidence:
    """An event that shows a step, with the fields that a reader of the record needs.

    tier: the access that was needed to see it, from 0 for a plain user to 3 for an instrumented cloud.
    """

    source: str
    service: str
    tier: int
    text: str
    grade: Grade = Grade.KEYED
    level: Optional[Level] = None
    at: Optional[Time] = None
    until: Optional[Time] = None
    host: Optional[str] = None
    resolution_s: Optional[float] = None
    error_s: Optional[float] = None
    proves: Proof = Proof.OBSERVE

    @property
    def slack_s(self) -> float:
        """Return how far its time may be off."""
        return (self.resolution_s or 0.0) + (self.error_s or 0.0)


@dataclass(frozen=True)
class Step:
    """A step of a flow, with its result in this run.

    responsible: the component that has to make the step happen; None where a cache may answer instead.
    follows: the ids of the steps that must have happened before. covers: those of another flow that it stands for.
    """

    id: str
    source: str
    target: str
    message: str
    kind: str
    stage: StageName = StageName.BOOT
    phase: Optional[str] = None
    repeats: bool = False
    responsible: Annotated[Optional[str], Key("owed_by")] = None
    follows: tuple[str, ...] = ()
    covers: tuple[str, ...] = omitted(())
    numbers: Mapping[str, Any] = field(default_factory=dict)
    became: Optional[Since] = None
    today: Optional[str] = None
    status: StepStatus = StepStatus.UNSEEN
    reason: Optional[str] = None
    at: Optional[Time] = None
    until: Optional[Time] = None
    duration_s: Optional[float] = None
    resolution_s: Optional[float] = None
    error_s: Optional[float] = None
    host: Optional[str] = None
    evidence: tuple[Evidence, ...] = ()

    @property
    def end(self) -> Optional[float]:
        return self.at if self.until is None else self.until


@dataclass(frozen=True)
class Coverage:
    """How many steps have each status with the access of a tier, and with logs of a level.

    window: how many of those seen are known by time and place alone.
    """

    tier: int
    level: Optional[Level]
    of: int
    seen: int = 0
    cached: int = 0
    absent: int = 0
    skipped: int = 0
    unseen: int = 0
    missing: int = 0
    window: int = 0


@dataclass(frozen=True)
class Part:
    """A part of the flow for which a page gives one duration: from the first of some steps to the last of others."""

    name: str
    text: Annotated[str, Key("says")]
    starts: Annotated[tuple[str, ...], Key("from")]
    ends: Annotated[tuple[str, ...], Key("to")] = omitted(())
    ends_first: Annotated[tuple[str, ...], Key("to_first")] = omitted(())


@dataclass(frozen=True)
class OtherExchange:
    """An exchange between services that no step of the flow shows, with what explains it."""

    what: str
    count: int
    reason: Annotated[Optional[str], Key("because")] = None


@dataclass(frozen=True)
class FollowedFlow:
    """A flow, with the result of each step in this run.

    judged: whether the verdict reads it. rivals: how many other boots may have been under way.
    """

    name: str
    title: str
    lifelines: tuple[str, ...]
    steps: tuple[Step, ...]
    coverage: tuple[Coverage, ...]
    judged: bool = False
    shown_as: Annotated[Optional[Place], Key("told_as")] = None
    parts: tuple[Part, ...] = ()
    rivals: int = 0
    others: Optional[tuple[OtherExchange, ...]] = omitted()
