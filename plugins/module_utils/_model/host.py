# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host: what was read there, what could not be read, and whether it agrees with the API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Optional

from .codec import Key, Seconds, omitted
from .words import CheckStatus, HostStatus


@dataclass(frozen=True)
class Unread:
    """Something that could not be read on a host.

    kind: refused, missing, failed, hung or strange. command: what was tried.
    """

    kind: str
    what: str
    reason: Annotated[str, Key("why")]
    service: Optional[str] = omitted()
    command: Optional[str] = omitted()


@dataclass(frozen=True)
class Check:
    """Whether a host agrees with the API in one thing."""

    check: str
    status: CheckStatus
    reason: Optional[str] = None
    seconds: Seconds = 0.0


@dataclass(frozen=True)
class Reach:
    """Whether a component's address answers from the host. named_by: whose configuration names it."""

    component: str
    address: str
    port: int
    how: str
    named_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class PendingConnection:
    """A connection of a program that waits for an answer."""

    program: str
    address: str
    port: int
    component: Optional[str] = None


@dataclass(frozen=True)
class OwnReport:
    """What a component reported about itself when asked."""

    component: str
    kind: str
    text: str


@dataclass(frozen=True)
class Exhausted:
    """A resource of the host that is used up, such as a file system."""

    kind: str
    where: str
    text: str


@dataclass(frozen=True)
class Difference:
    """Something in which this host differs from its like."""

    kind: str
    what: str


@dataclass(frozen=True)
class ChangedFile:
    path: str
    ago_s: float


@dataclass(frozen=True)
class Examination:
    """What was looked at on a host after a stage had failed."""

    reach: tuple[Reach, ...] = ()
    pending: Annotated[tuple[PendingConnection, ...], Key("hanging")] = ()
    reports: Annotated[tuple[OwnReport, ...], Key("words")] = ()
    exhausted: Annotated[tuple[Exhausted, ...], Key("ground")] = ()
    differences: Annotated[tuple[Difference, ...], Key("differs")] = ()
    changed: tuple[ChangedFile, ...] = ()


@dataclass(frozen=True)
class Host:
    """A host of the inventory.

    facts: what its parts of the cloud know of the instance; the readers in _collect say what each has.
    """

    host: str
    groups: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    status: HostStatus = HostStatus.READ
    reason: Optional[str] = None
    clock_offset_s: Optional[float] = None
    clock_error_s: Optional[float] = None
    health_before: Optional[Mapping[str, Any]] = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    examination: Optional[Examination] = None
    unread: tuple[Unread, ...] = ()
    checks: tuple[Check, ...] = ()
