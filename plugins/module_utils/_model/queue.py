# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The messages of a queue that a recorder has kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional


@dataclass(frozen=True)
class RecordedMessages:
    """What a recorder has kept.

    foreign: whether the broker was traced before it began. events: the messages, as events of the source queue.
    reason: why there are no events, or not all of them.
    """

    foreign: bool = False
    events: tuple[Mapping[str, Any], ...] = ()
    reason: Optional[str] = None
