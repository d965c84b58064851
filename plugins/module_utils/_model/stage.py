# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A stage: its requests, its waits, and what it made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Optional

from .codec import Key, Seconds, Time, omitted
from .words import StageName, StageStatus


@dataclass(frozen=True)
class Call:
    """A request to the cloud. status: None where no answer came. error: why, if so.

    host: where it was sent; None where only logs of the cloud have it.
    """

    method: str
    service: Optional[str]
    path: str
    status: Optional[int]
    started: Time
    seconds: Seconds
    request_id: Optional[str]
    host: Optional[str] = omitted()
    error: Optional[str] = omitted()


@dataclass(frozen=True)
class State:
    """A state that a wait saw. resolution_s: how long before it may have begun; None for the first."""

    state: str
    at: Time
    after_s: Seconds
    resolution_s: Optional[Seconds]


@dataclass(frozen=True)
class Wait:
    """A wait for a resource, with each state that it went through. polls: how often the cloud was asked."""

    awaited: Annotated[str, Key("for")]
    started: Time
    seconds: Seconds
    states: tuple[State, ...]
    polls: Annotated[int, Key("looks")]
    resolution_s: Optional[Seconds] = None
    timed_out: bool = omitted(False)


@dataclass(frozen=True)
class Resource:
    """A resource that a stage made, or chose from what was there."""

    kind: str
    id: str
    name: Optional[str]
    created: Annotated[bool, Key("made")]


@dataclass(frozen=True)
class Leftover:
    """A resource that stays, and why. id: None where its creation was not answered."""

    kind: str
    id: Optional[str]
    name: str
    reason: Annotated[str, Key("why")]


@dataclass(frozen=True)
class Failure:
    """Why a stage failed.

    kind: an entry of errors.HINTS. answer: what the cloud said. hint: what to do next.
    details: what the raiser knows besides.
    """

    kind: str
    message: str
    resource: Optional[str]
    answer: Annotated[Optional[str], Key("said")]
    status: Optional[int]
    request_id: Optional[str]
    hint: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Stage:
    """A stage of a run. details: what this stage knows; details.py types it."""

    stage: StageName
    status: StageStatus
    started: Optional[Time] = None
    finished: Optional[Time] = None
    duration_s: Optional[Seconds] = None
    resources: tuple[Resource, ...] = ()
    calls: tuple[Call, ...] = ()
    waits: tuple[Wait, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    error: Optional[Failure] = None
