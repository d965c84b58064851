# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An event: something that happened, at one moment or until another, by the control node's clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Optional

from .codec import Key, to_json
from .words import Level

CONTROL_NODE = "localhost"
# Kinds of ids that other boots may have as well: of a request before the boot, and of something that they share
WEAK = frozenset({"asked", "shared"})


@dataclass(frozen=True)
class Event:
    """Something that happened. Times are seconds since the epoch.

    keys: kind of an id of the run to the ids of that kind that the event names.
    phrases, texts: what rules of flows look for, and the event contains.
    timeless: whether it is true now, and shows that something happened, but not when.
    fields: what events of its source have besides; a source documents its own.
    """

    at: float
    service: str
    kind: str
    text: str = ""
    until: Optional[float] = None
    error_s: float = 0.0
    resolution_s: float = 1e-6
    host: str = CONTROL_NODE
    source: str = "api"
    level: Optional[Level] = None
    keys: Mapping[str, list[str]] = field(default_factory=dict)
    phrases: Annotated[tuple[str, ...], Key("said")] = ()
    texts: Annotated[tuple[str, ...], Key("window")] = ()
    timeless: bool = False
    fields: Mapping[str, Any] = field(default_factory=dict)

    def get(self, name: str) -> Any:
        """Return a field that only some events have; None where this one has not."""
        return self.fields.get(name)

    @property
    def own_keys(self) -> set[str]:
        """Return the kinds of ids that belong to this boot alone."""
        return self.keys.keys() - WEAK

    @property
    def end(self) -> float:
        return self.at if self.until is None else self.until

    @property
    def slack_s(self) -> float:
        """Return how far its time may be off."""
        return self.resolution_s + self.error_s

    @cached_property
    def searchable(self) -> dict[str, Any]:
        """Return the event as the expressions of flows see it, with its fields beside the others."""
        common: dict[str, Any] = to_json(self)
        del common["fields"]
        return {**self.fields, **common}
