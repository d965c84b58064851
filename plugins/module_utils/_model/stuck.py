# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is stuck or has failed on a cloud, and what it has in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from .codec import Text, Time


@dataclass(frozen=True)
class Age:
    """For how long things must have been in their state to be listed, in seconds. most_s: None without a limit."""

    least_s: float
    most_s: Optional[float] = None

    def has(self, seconds: float) -> bool:
        return seconds >= self.least_s and (
            self.most_s is None or seconds <= self.most_s
        )


@dataclass(frozen=True)
class StuckThing:
    """A server, a volume, a port or an image that has been in a state for too long.

    kind: server, volume, port or image. state: in the words of the cloud. since: when it got there, as far as the cloud
    shows it. host: where it is or was to be. reason: what the cloud says about it. diagnosed_by: the id by which it is
    diagnosed, if that is not its own.
    """

    kind: Text
    id: Text
    name: str
    project: Optional[str]
    state: Text
    since: Time
    host: Optional[str] = None
    reason: Optional[str] = None
    diagnosed_by: Optional[str] = None


@dataclass(frozen=True)
class StuckGroup:
    """Things of one kind in one state, on one host if it is known, of which the cloud says the same.

    reason: of the first of them. since: of the one that has been stuck for longest. things: the first of them.
    """

    kind: Text
    state: Text
    host: Optional[str]
    reason: Optional[str]
    count: int
    since: Time
    things: tuple[StuckThing, ...]
