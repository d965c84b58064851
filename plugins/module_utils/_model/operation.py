# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An operation on a live cloud that somebody has asked about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Optional

from .codec import Text, Time
from .diagnosis import AskedBy

# The action that makes a server, a volume or an image: the only one that flows follow
CREATED = "create"


@dataclass(frozen=True)
class Operation:
    """An operation on a live cloud that was asked about; its stages are made from what the cloud has recorded of it.

    asked: when. query: what was asked about. action: what it was, as the cloud calls it, such as create. subject: the
    name of what it was done to. ended: when it ended; null while it is under way.
    """

    asked: Time
    query: Mapping[AskedBy, Text] = field(default_factory=dict)
    action: str = ""
    subject: str = ""
    ended: Optional[Time] = None
