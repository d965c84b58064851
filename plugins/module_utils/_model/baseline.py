# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A time when all worked: what there was then explains no failure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from .codec import Text, Time
from .error_kind import ErrorKind


@dataclass(frozen=True)
class IdleService:
    """A service that did not run, and was not missed."""

    host: Text
    component: Text
    state: Text


@dataclass(frozen=True)
class Baseline:
    """What a run that passed, or logs of a time when all worked, already had.

    source: the id of the run, or the name of the directory of logs. cloud: that of the run. passed: when the run
    ended; both are null for logs. errors: the kinds of errors that were logged; null if no log was read. idle: the
    services that did not run. health: the checks of Ceph that were not passed.
    """

    source: Text
    cloud: Optional[Text] = None
    passed: Optional[Time] = None
    errors: Optional[tuple[ErrorKind, ...]] = None
    idle: tuple[IdleService, ...] = ()
    health: tuple[Text, ...] = ()

    def usual(self, kind: ErrorKind) -> Optional[float]:
        """Return the share of the times when all worked in which such errors were logged; None if it is not known."""
        if self.errors is None:
            return None
        return 1.0 if kind in self.errors else 0.0
