# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The queues of the broker."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Queue:
    """A queue that a service consumes.

    ready: the messages that wait for a consumer. unacknowledged: those that consumers have taken and not finished.
    """

    name: str
    ready: int
    unacknowledged: int
    consumers: int
