# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An event: something that happened, at one moment or until another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Optional

from .words import Level

CONTROL_NODE = "localhost"
# Kinds of ids that other boots may have as well: of a request before the boot, and of something that they share
WEAK = frozenset({"asked", "shared"})

# Stands for the logger of an error that Nova's list of what was done with a server has
NOVA_EVENTS = "os-instance-actions"


@dataclass(frozen=True)
class Event:
    """Something that happened. Times are seconds since the epoch.

    clock: the host by whose clock the times are; None is the control node.
    keys: kind of an id of the run to the ids of that kind that the event names.
    phrases, texts: what the rules of flows look for and the event contains.
    timeless: whether it shows that something happened, but not when.
    fields: what events of its source have besides; each source documents its own.
    """

    at: float
    service: str
    kind: str
    text: str = ""
    until: Optional[float] = None
    error_s: float = 0.0
    resolution_s: float = 1e-6
    host: Optional[str] = CONTROL_NODE
    source: str = "api"
    clock: Optional[str] = None
    level: Optional[Level] = None
    keys: Mapping[str, list[str]] = field(default_factory=dict)
    phrases: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    timeless: bool = False
    fields: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_host(cls, read: Mapping[str, Any], **known: Any) -> Event:
        """Return an event that a reader on a host returned as JSON. known: what the place of reading adds."""
        fields = dict(read)
        common = {name: fields.pop(name) for name in COMMON if name in fields}
        level = fields.pop("level", None)
        phrases, texts = fields.pop("phrases", ()), fields.pop("texts", ())
        return cls(
            **{**common, **known},
            level=Level(level) if level else None,
            phrases=tuple(phrases),
            texts=tuple(texts),
            fields=fields,
        )

    def get(self, name: str) -> Any:
        """Return a field that only some events have, or None."""
        return self.fields.get(name)

    @cached_property
    def own_keys(self) -> frozenset[str]:
        """Return the kinds of ids that belong to this boot alone."""
        return frozenset(self.keys) - WEAK

    @property
    def is_keyed(self) -> bool:
        """Return whether it names an id of the run, and not only of something that other boots use as well."""
        return bool(self.keys.keys() - {"shared"})

    @property
    def end(self) -> float:
        return self.at if self.until is None else self.until

    @property
    def slack_s(self) -> float:
        """Return how far its time may be off."""
        return self.resolution_s + self.error_s

    @cached_property
    def searchable(self) -> dict[str, Any]:
        """Return the event as the expressions of flows see it, its own fields beside the common ones."""
        common = {name: getattr(self, name) for name in SEARCHABLE}
        return {
            **self.fields,
            **common,
            "level": self.level and self.level.value,
        }


# The fields that a reader on a host returns under the same names
COMMON = (
    "at",
    "until",
    "error_s",
    "resolution_s",
    "host",
    "service",
    "kind",
    "keys",
    "timeless",
)
SEARCHABLE = (*COMMON, "source", "text")
