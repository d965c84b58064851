# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A flow as a run followed it: its steps, the evidence of each, and how many steps each access shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Optional

from .codec import Count, Positive, Text, Time, omitted, schema
from .words import Grade, Level, Proof, Since, StageName, StepStatus, View

# The access that was needed to see something, from 0 for a plain user to 3 for an instrumented cloud
Tier = Annotated[int, schema(minimum=0, maximum=3)]

# Stand behind the component of a lifeline that is on the host from which a server is moved, or to which
SOURCE, DESTINATION = "(source)", "(destination)"


@dataclass(frozen=True)
class Evidence:
    """An event that shows a step, with the fields that a reader of the record needs.

    source: where it was found; docs/evidence-sources.md has the sources. tier: the access that was needed to see it,
    from 0 for a plain user to 3 for an instrumented cloud. level: how much the service had to log for it. proves:
    whether the step happened, a cache answered it, or it did not have to happen. resolution_s, error_s: how far its
    time may be off, by the source and by the clock.
    """

    source: Annotated[str, schema(pattern="^[a-z]+$")]
    service: Text
    tier: Tier
    text: str
    grade: Grade = Grade.KEYED
    level: Optional[Level] = None
    at: Optional[Time] = None
    until: Optional[Time] = None
    host: Optional[str] = None
    resolution_s: Optional[Positive] = None
    error_s: Optional[Positive] = None
    proves: Proof = Proof.OBSERVE

    @property
    def slack_s(self) -> float:
        """Return how far its time may be off."""
        return (self.resolution_s or 0.0) + (self.error_s or 0.0)


@dataclass(frozen=True)
class Step:
    """A step of a flow, with its result in this run.

    responsible: the component that has to make the step happen; null where a cache may answer instead. follows: the ids
    of the steps that must have happened before. covers: those of another flow that it stands for. numbers: its numbers
    in the documents that describe the flow. became: how it has changed since they were written. today: how it is now.
    repeats: whether it repeats for as long as the cloud runs. reason: why it has this status.
    """

    id: Text
    source: Text
    target: Text
    message: Text
    kind: str
    stage: StageName = StageName.BOOT
    phase: Optional[str] = None
    repeats: bool = False
    responsible: Optional[Text] = None
    follows: tuple[Text, ...] = ()
    covers: tuple[str, ...] = omitted(())
    numbers: Mapping[str, Any] = field(default_factory=dict)
    became: Optional[Since] = None
    today: Optional[str] = None
    status: StepStatus = StepStatus.UNSEEN
    reason: Optional[str] = None
    at: Optional[Time] = None
    until: Optional[Time] = None
    duration_s: Optional[Positive] = None
    resolution_s: Optional[Positive] = None
    error_s: Optional[Positive] = None
    host: Optional[str] = None
    evidence: tuple[Evidence, ...] = ()

    @property
    def end(self) -> Optional[float]:
        return self.at if self.until is None else self.until

    @property
    def doer(self) -> str:
        """Return the component that is responsible for it."""
        return component_of(self.responsible or self.source)

    @property
    def taker(self) -> str:
        """Return the component that it reaches."""
        return component_of(self.target)


def component_of(lifeline: str) -> str:
    """Return the component of a lifeline. A flow may have one on two hosts, such as `nova-compute (source)`."""
    return lifeline.partition(" (")[0]


@dataclass(frozen=True)
class Coverage:
    """How many steps have each status with the access of a tier, and with logs of a level.

    total: how many steps are counted. window: how many of those seen are known by time and place alone.
    """

    tier: Tier
    level: Optional[Level]
    total: Count
    seen: Count = 0
    cached: Count = 0
    absent: Count = 0
    skipped: Count = 0
    unseen: Count = 0
    missing: Count = 0
    window: Count = 0


@dataclass(frozen=True)
class Part:
    """A part of the flow for which a page shows one duration.

    starts: the steps with which it may start; the first that is known counts. ends: those with which it may end; the
    last that is known counts. ends_first: the same, but the first that is listed and known counts.
    """

    name: Text
    text: Text
    starts: tuple[str, ...]
    ends: tuple[str, ...] = omitted(())
    ends_first: tuple[str, ...] = omitted(())


@dataclass(frozen=True)
class OtherExchange:
    """An exchange between services that no step of the flow shows.

    reason: what explains it; null if nothing does.
    """

    what: str
    count: Annotated[int, schema(minimum=1)]
    reason: Optional[str] = None


@dataclass(frozen=True)
class FollowedFlow:
    """A flow, with the result of each step in this run.

    judged: whether the verdict reads it. shown_as: where the page shows it. parts: parts whose duration the page shows.
    concurrent_boots: how many other boots may have been in progress; logs may have one of them twice. others: exchanges
    that no step shows.
    """

    name: Text
    title: Text
    lifelines: tuple[Text, ...]
    steps: tuple[Step, ...]
    coverage: tuple[Coverage, ...]
    judged: bool = False
    shown_as: Optional[View] = None
    parts: tuple[Part, ...] = ()
    concurrent_boots: Count = 0
    others: Optional[tuple[OtherExchange, ...]] = omitted()
