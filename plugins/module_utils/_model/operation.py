# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An operation on a live cloud that somebody has asked about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Optional

from .codec import Text, Time, omitted
from .diagnosis import AskedBy

# The action that makes a server, a volume or an image
CREATED = "create"


@dataclass(frozen=True)
class Operation:
    """An operation on a live cloud that was asked about; its stages are made from what the cloud has recorded of it.

    asked: when. query: what was asked about. action: what it was, as the cloud calls it, such as create. subject: the
    name of what it was done to. ended: when it ended; null while it is under way. since, until: the time range whose
    logs are read instead, where it was given.
    """

    asked: Time
    query: Mapping[AskedBy, Text] = field(default_factory=dict)
    action: str = ""
    subject: str = ""
    ended: Optional[Time] = None
    since: Optional[Time] = omitted()
    until: Optional[Time] = omitted()

    @property
    def end(self) -> float:
        """Return when it ended; while it is under way, when it was asked about."""
        return self.asked if self.ended is None else self.ended

    @property
    def has_range(self) -> bool:
        """Return whether a time range was given."""
        return (self.since, self.until) != (None, None)

    def range(self, began: float) -> tuple[float, float]:
        """Return the time range that was given; an end of it that was not is that of an operation that began then."""
        since = began if self.since is None else self.since
        return since, self.end if self.until is None else self.until

    def leaves_out(self, began: float) -> bool:
        """Return whether the time range that was given has not all of the time of an operation that began then."""
        since, until = self.range(began)
        return since > began or until < self.end
