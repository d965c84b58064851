# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Describe what is looked for in the logs of a host, and what is found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Optional

from ..._model.record import LogFile
from ..read_event import ReadEvent


@dataclass(frozen=True)
class Writer:
    """A service that writes logs. files: patterns of paths. journals: units, which end in .service, or identifiers."""

    service: str
    files: Optional[tuple[str, ...]] = None
    journals: Optional[tuple[str, ...]] = None


@dataclass(frozen=True)
class Phrase:
    """A pattern that a flow looks for in the lines of a service."""

    service: str
    pattern: str


@dataclass(frozen=True)
class WindowText:
    """A text that a flow looks for in the lines of a service at the time of the run, with or without an id."""

    service: str
    text: str


@dataclass(frozen=True)
class Wanted:
    """The ids and texts that are looked for. keys: kind of an id to the ids of the run. errors: whether errors count.

    since, until: in seconds since the epoch, by the clock of the host. began: when the run did.
    """

    since: float
    began: float
    until: float
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    phrases: tuple[Phrase, ...] = ()
    windows: tuple[WindowText, ...] = ()
    errors: bool = False

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Return the kind of each id."""
        kinds = {}
        for kind, texts in self.keys.items():
            kinds.update(dict.fromkeys(texts, kind))
        return kinds


@dataclass(frozen=True)
class ReadLog(LogFile):
    """A log that was read. requests: whether it shows requests of HTTP; None for a journal."""

    requests: Optional[bool] = None


@dataclass(frozen=True)
class LogResult:
    """The events of the logs of a host, and for each log whether it was read whole."""

    events: tuple[ReadEvent, ...]
    sources: tuple[ReadLog, ...]
