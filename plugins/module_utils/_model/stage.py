# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A stage: its requests, its waits, and what it made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Optional, TypeVar

from .codec import (
    Count,
    MalformedError,
    Seconds,
    Text,
    Time,
    from_json,
    omitted,
    schema,
)
from .details import Details
from .words import StageName, StageStatus

Known = TypeVar("Known", bound=Details)
KindName = Annotated[str, schema(pattern="^[a-z][a-z0-9_]*$")]
# Without a query, which may hold a signature
UrlPath = Annotated[str, schema(pattern="^/[^?#]*$")]


@dataclass(frozen=True)
class Call:
    """A request to the cloud.

    path: without its query. status: null where no answer came. error: why no answer came. host: the address and the
    port that it was sent to; not known where only logs of the cloud have it.
    """

    method: Annotated[str, schema(pattern="^[A-Z]+$")]
    service: Optional[str]
    path: UrlPath
    status: Optional[Annotated[int, schema(minimum=100, maximum=599)]]
    started: Time
    seconds: Seconds
    request_id: Optional[str]
    host: Optional[str] = omitted()
    error: Optional[Text] = omitted()


@dataclass(frozen=True)
class State:
    """A state that a wait saw.

    resolution_s: how long before that it may have begun; null for the first one.
    """

    state: str
    at: Time
    after_s: Seconds
    resolution_s: Optional[Seconds]


@dataclass(frozen=True)
class Wait:
    """A wait for a resource, with each state that it went through.

    awaited: what was awaited, in words. polls: how often the cloud was asked. resolution_s: how long before its end was
    seen it may have come. timed_out: whether it ended without what was awaited.
    """

    awaited: Text
    started: Time
    seconds: Seconds
    states: tuple[State, ...]
    polls: Count
    resolution_s: Optional[Seconds] = None
    timed_out: bool = omitted(False)


@dataclass(frozen=True)
class Resource:
    """A resource of a stage.

    created: whether the stage created it; otherwise it existed before, and was chosen.
    """

    kind: KindName
    id: Text
    name: Optional[str]
    created: bool


@dataclass(frozen=True)
class Leftover:
    """A resource that remains.

    id: null where its creation was not answered. reason: why it remains.
    """

    kind: Text
    id: Optional[str]
    name: Text
    reason: Text


@dataclass(frozen=True)
class Failure:
    """The error of a failed stage.

    kind: the kind of the error, as a word. resource: the resource that it is about. answer: what the cloud answered.
    hint: what to do next. details: more about it, by its kind.
    """

    kind: KindName
    message: Text
    resource: Optional[str]
    answer: Optional[str]
    status: Optional[int]
    request_id: Optional[str]
    hint: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Stage:
    """A stage of a run, or its removal.

    details: what the stage found; each stage has its own. error: why it failed.
    """

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

    @classmethod
    def skipped(cls, name: StageName, reason: str) -> Stage:
        return cls(name, StageStatus.SKIPPED, details={"reason": reason})

    @property
    def error_kind(self) -> Optional[str]:
        """Return why the stage failed, in a word."""
        return self.error.kind if self.error else None

    @property
    def error_message(self) -> str:
        """Return why the stage failed, in a sentence; nothing if it has not."""
        return self.error.message if self.error else ""

    def details_as(self, kind: type[Known]) -> Optional[Known]:
        """Return what the stage found; None for a record of others that has it otherwise."""
        try:
            return from_json(kind, self.details)
        except MalformedError:
            return None
