# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The inventory of a result, inventory.json in its archive: the versions behind it, and what was not checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Optional

from .codec import Exactly, Seconds, Text, Time, omitted
from .host import Check, Part, Unread
from .level import RunLevel
from .stage import Resource
from .words import HostStatus, Result, StageName, StageStatus, StepStatus, Word

SCHEMA = "stackproof.inventory/1"


@dataclass(frozen=True)
class Tools:
    """The versions of the programs that made a record.

    collection: null where it cannot be found. openstacksdk: null where it is not installed as a package.
    """

    collection: Optional[str]
    ansible_core: Text
    python: Text
    openstacksdk: Optional[str]


@dataclass(frozen=True)
class ServiceApi:
    """The versions of a service's API."""

    service: Text
    version: Optional[str]
    min_microversion: Optional[str]
    max_microversion: Optional[str]


@dataclass(frozen=True)
class Chosen:
    """Something of the cloud that the runs used, such as an image or a flavor."""

    kind: Text
    name: Text


@dataclass(frozen=True)
class KnownHost:
    """A host of the inventory, with its parts of the cloud."""

    host: Text
    parts: tuple[Part, ...] = ()
    status: HostStatus = HostStatus.READ


class SkippedKind(Word):
    """What was not checked.

    target: a whole run of a sweep. level: a part of the level. read: something that could not be read on a host.
    """

    TARGET = "target"
    LEVEL = "level"
    STAGE = "stage"
    HOST = "host"
    READ = "read"
    CHECK = "check"
    PREFLIGHT = "preflight"


@dataclass(frozen=True)
class Skipped:
    """Something that was not checked, and why.

    run_id: null for what is of the whole sweep. host: null for what is not of a single host.
    """

    kind: SkippedKind
    what: Text
    reason: str
    run_id: Optional[str] = None
    host: Optional[str] = None


@dataclass(frozen=True)
class Inventory:
    """What is behind a result.

    schema: the schema's name.
    id: name of the run or of the sweep.
    cloud: name of the cloud, as in the records of the runs.
    level: name of the level of all runs; null where the user named none, or several.
    started: when the result began.
    finished: when it ended, null for a run that was interrupted.
    result: pass, fail or incomplete.
    tools: the versions of the programs that started the runs, each combination once.
    services: each service of the cloud with the versions of its API.
    chosen: image, flavor and other things of the cloud that the runs used and did not create.
    hosts: each host with its parts of the cloud, and whether it was read.
    skipped: what was not checked, and why.
    """

    schema: Annotated[str, Exactly(SCHEMA)]
    id: Text
    cloud: Optional[str]
    level: Optional[str]
    started: Time
    finished: Optional[Time]
    result: Result
    tools: tuple[Tools, ...]
    services: tuple[ServiceApi, ...]
    chosen: tuple[Chosen, ...]
    hosts: tuple[KnownHost, ...]
    skipped: tuple[Skipped, ...]


# The parts of a record that an inventory and a comparison need: they read all runs of a sweep, and whole records take
# long to read.


@dataclass(frozen=True)
class StageOfRun:
    """A stage of a run. Its fields are those of a record."""

    stage: StageName
    status: StageStatus
    resources: tuple[Resource, ...]
    details: Mapping[str, Any]
    duration_s: Optional[Seconds] = None


@dataclass(frozen=True)
class HostOfRun:
    """A host of a run. Its fields are those of a record."""

    host: Text
    parts: tuple[Part, ...] = ()
    status: HostStatus = HostStatus.READ
    reason: Optional[str] = None
    unread: tuple[Unread, ...] = ()
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True)
class StepOfRun:
    """A step of a flow. Its fields are those of a record."""

    id: Text
    message: Text
    status: StepStatus


@dataclass(frozen=True)
class FlowOfRun:
    """A flow of a run. Its fields are those of a record."""

    name: Text
    steps: tuple[StepOfRun, ...]


@dataclass(frozen=True)
class ResultOfRun:
    """The verdict of a run. Its fields are those of a record."""

    result: Result
    reason: str
    headline: Optional[str] = None


@dataclass(frozen=True)
class FinishedRun:
    """What an inventory and a comparison need of a run. Its fields are those of a record."""

    run_id: Text
    cloud: Optional[str]
    started: Time
    finished: Optional[Time]
    verdict: ResultOfRun
    stages: tuple[StageOfRun, ...]
    hosts: tuple[HostOfRun, ...]
    flows: tuple[FlowOfRun, ...]
    level: Optional[RunLevel] = omitted()
    tools: Optional[Tools] = omitted()
