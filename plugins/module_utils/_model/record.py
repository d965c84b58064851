# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record of a run, run.json as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Optional

from .codec import Key, Seconds, Time, omitted
from .diagnosis import Diagnosis
from .flow import FollowedFlow
from .host import Host, Unread
from .stage import Leftover, Stage
from .verdict import Verdict
from .words import StageName


@dataclass(frozen=True)
class Threshold:
    """A limit that a run has to keep, and what it measured."""

    name: str
    query: str
    min: Optional[float]
    max: Optional[float]
    value: Optional[float]
    ok: bool
    text: Annotated[str, Key("said")]


@dataclass(frozen=True)
class EarlierRuns:
    """How long a stage took in earlier runs on the same cloud."""

    runs: int
    median_s: float
    p95_s: float


@dataclass(frozen=True)
class LogFile:
    """A log that was read. whole: whether nothing of the run's time is missing. first: when its first line was."""

    service: str
    path: Annotated[str, Key("from")]
    whole: bool
    first: Optional[float]
    reason: Annotated[Optional[str], Key("why")]
    requests: Optional[bool] = omitted()


@dataclass(frozen=True)
class HostLogs:
    """What was read of the logs of a host, or the reason why they were not read."""

    host: str
    reason: Optional[str]
    sources: tuple[LogFile, ...]
    unread: tuple[Unread, ...]


@dataclass(frozen=True)
class LoggedError:
    """An error in the logs; each kind of error is recorded once.

    own: whether it names an id of the run. usual: in which share of earlier runs that passed it was logged as well.
    peer: the component at which it failed. mentions: other components that it names. quote: the line itself.
    """

    service: str
    host: str
    logger: str
    exception: Optional[str]
    raised_in: Optional[str]
    at: Time
    count: int
    how: Optional[str]
    peer: Optional[str]
    peer_address: Optional[str]
    mentions: tuple[str, ...]
    quote: Optional[str]
    own: Annotated[bool, Key("keyed")]
    usual: Optional[float]


@dataclass(frozen=True)
class Agent:
    """A service or an agent as the cloud sees it. heard: when it last reported."""

    component: str
    host: str
    state: str
    enabled: bool
    heard: Optional[str]


@dataclass(frozen=True)
class Instance:
    """What the API reported about the instance while it ran."""

    asked: Time
    server: Mapping[str, Any]
    ports: tuple[Mapping[str, Any], ...]
    networks: tuple[Mapping[str, Any], ...]
    volumes: tuple[str, ...]
    image: Optional[Mapping[str, Any]]
    allocations: Optional[int]
    claimed_on: tuple[str, ...] = ()


@dataclass(frozen=True)
class OtherBoot:
    """Another server, and when it was built. settling_s: how long after it the cloud was still busy with it."""

    began: str
    ended: Optional[str]
    settling_s: float


@dataclass(frozen=True)
class OtherBoots:
    asked: Time
    boots: tuple[OtherBoot, ...]


@dataclass(frozen=True)
class ReadingTime:
    """From when to when the hosts were read."""

    started: Time
    finished: Time


@dataclass(frozen=True)
class QueueAccount:
    """How many messages of the run a host's recorder kept. foreign: whether it also saw those of others."""

    host: str
    messages: int
    foreign: bool
    reason: Optional[str]


@dataclass(frozen=True)
class SpanAccount:
    """How many spans of the boot a host has, or the reason why none were read."""

    host: str
    spans: int
    reason: Optional[str]


@dataclass(frozen=True)
class SourceAccount:
    """The reason why a source of a user's own was not read on a host, or None."""

    host: str
    reason: Optional[str]


@dataclass(frozen=True)
class Record:
    """A run: everything that it did and found."""

    schema: str
    run_id: str
    cloud: Optional[str]
    started: Time
    finished: Optional[Time]
    duration_s: Optional[Seconds]
    verdict: Verdict
    stages: tuple[Stage, ...]
    hosts: tuple[Host, ...]
    flows: tuple[FollowedFlow, ...]
    thresholds: tuple[Threshold, ...]
    history: Mapping[str, EarlierRuns]
    created: Annotated[int, Key("made")]
    deleted: int
    kept: bool
    leftovers: tuple[Leftover, ...]
    removal: Optional[Stage] = omitted()
    instance: Optional[Instance] = omitted()
    evidence: Optional[ReadingTime] = omitted()
    logs: Optional[tuple[HostLogs, ...]] = omitted()
    errors: Optional[tuple[LoggedError, ...]] = omitted()
    agents: Optional[tuple[Agent, ...]] = omitted()
    other_boots: Optional[OtherBoots] = omitted()
    queue: Optional[tuple[QueueAccount, ...]] = omitted()
    spans: Optional[tuple[SpanAccount, ...]] = omitted()
    sources: Optional[Mapping[str, tuple[SourceAccount, ...]]] = omitted()
    diagnosis: Optional[Diagnosis] = omitted()

    @property
    def stages_and_removal(self) -> tuple[Stage, ...]:
        return self.stages if self.removal is None else (*self.stages, self.removal)

    def stage(self, name: StageName) -> Optional[Stage]:
        """Return a stage by its name, if it has begun."""
        return next((stage for stage in self.stages if stage.stage == name), None)
