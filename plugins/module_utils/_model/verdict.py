# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The verdict on a run: its result, and for a failure the component that broke it, with the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

from .codec import Key, Time, omitted
from .words import Result


@dataclass(frozen=True)
class Place:
    """A component on a host; either may be unknown."""

    component: Optional[str]
    host: Optional[str]


@dataclass(frozen=True)
class Connection:
    """The connection between two places, and how it failed."""

    source: Annotated[Place, Key("from")]
    target: Annotated[Place, Key("to")]
    how: Optional[str]


@dataclass(frozen=True)
class LastSeen:
    """The step that was seen last before the failure."""

    id: str
    message: str
    at: Time
    host: Optional[str]


@dataclass(frozen=True)
class QuoteSource:
    """Whose log the quoted line is from."""

    component: str
    host: Optional[str]
    at: Optional[str]


@dataclass(frozen=True)
class Alternative:
    """Another suspect, with what speaks for it."""

    component: str
    host: Optional[str]
    weight: float
    evidence: Annotated[tuple[str, ...], Key("why")]
    confidence: Optional[float] = omitted()


@dataclass(frozen=True)
class Verdict:
    """The result of a run, and the component that broke it."""

    result: Result
    stage: Optional[str]
    reason: str
    step: Optional[str] = None
    component: Optional[str] = None
    host: Optional[str] = None
    last_seen: Optional[LastSeen] = None
    evidence: tuple[str, ...] = ()
    headline: Optional[str] = None
    missing_step: Annotated[Optional[str], Key("owed")] = None
    confidence: Optional[float] = None
    quote: Optional[str] = None
    quote_source: Annotated[Optional[QuoteSource], Key("quoted")] = None
    connection: Annotated[Optional[Connection], Key("way")] = None
    explains: tuple[str, ...] = ()
    unexplained: tuple[str, ...] = ()
    dependencies: Annotated[tuple[Connection, ...], Key("leaning")] = ()
    next: Optional[str] = None
    alternatives: tuple[Alternative, ...] = ()
