# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The part of a record that only a diagnosis by logs has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Optional

from .bundle import LoggedBoot
from .codec import Time, omitted
from .words import StageName


@dataclass(frozen=True)
class AffectedRequest:
    """A request that failed, and how it was answered."""

    id: str
    at: Time
    service: str
    host: str
    method: Optional[str]
    path: Optional[str]
    status: Optional[int]


@dataclass(frozen=True)
class RequestFailure:
    """The cause for which requests failed, with the first of them. count: how many there are."""

    stage: StageName
    component: Optional[str]
    host: Optional[str]
    confidence: Optional[float]
    headline: Optional[str]
    next: Optional[str]
    reason: str
    count: int
    requests: tuple[AffectedRequest, ...]


@dataclass(frozen=True)
class Diagnosis:
    """What was asked about and what was found.

    keys: kind to ids, as for a run. host: the host of the instance.
    zones: host to the seconds by which its logs are to the east.
    took_s: the time that Nova logged for building the server.
    over: whether the logs show the end of the boot, or go on for so long after it that it cannot be running any more.
    silent_s: how long the logs go on after the last line about the boot.
    """

    made: Time
    asked: Mapping[str, str] = field(default_factory=dict)
    boot: Optional[LoggedBoot] = None
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    host: Optional[str] = None
    zones: Mapping[str, int] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()
    took_s: Optional[float] = None
    over: Optional[bool] = omitted()
    silent_s: Optional[float] = omitted()
    failures: Optional[tuple[RequestFailure, ...]] = omitted()
