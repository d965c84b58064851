# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An event as a reader on a host returns it, before its source adds what only the control node knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Optional


@dataclass(frozen=True)
class ReadEvent:
    """An event by the clock of its host. Its source adds what only the control node knows.

    phrases, texts: what flows look for, and the event contains. fields: what this kind of event has besides.
    """

    at: float
    service: str
    kind: str
    resolution_s: float
    level: Optional[str] = "info"
    keys: Mapping[str, list[str]] = field(default_factory=dict)
    phrases: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            # First, so that a group of a phrase does not replace a field of the event.
            **self.fields,
            "at": self.at,
            "resolution_s": self.resolution_s,
            "service": self.service,
            "kind": self.kind,
            "level": self.level,
            "keys": self.keys,
            "phrases": list(self.phrases),
            "texts": list(self.texts),
        }
