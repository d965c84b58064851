# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is known of a run besides its events: the names in its rules, the logs that were read, and other boots."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._model.chain import Link
from .._model.words import Level
from .rivals import Boot


@dataclass(frozen=True)
class ReadLog:
    """A log of a service that was read on a host.

    complete: whether nothing of the run's time is missing. requests: whether it shows the requests of clients.
    """

    host: str
    service: str
    complete: bool
    requests: bool = False

    @classmethod
    def from_json(cls, host: str, source: Mapping[str, Any]) -> ReadLog:
        return cls(
            host,
            source["service"],
            bool(source["complete"]),
            bool(source.get("requests")),
        )


@dataclass(frozen=True)
class Scope:
    """What is known of a run besides its events.

    names: what {host}, {server} and so on stand for. facts: what the "when" of a step asks for.
    other_boots: an administrator's answer about other boots (rivals.rivals_in).
    levels: service to the level at which it logs, where that is known better than by the events.
    logs_alone: whether nobody asked the API, so that a step is not missing for want of its answers.
    watched: whether the run was the client, and saw its answers and the guest's console.
    caller_known: whether the host that has sent a request is known by its address.
    complete: whether all that happened had to be seen, so that a step can be missing.
    links: code to the links of chains that hold, and those at which they break.
    settled: what happened later than this may have effects that came after the logs were read.
    """

    names: Mapping[str, str]
    facts: Mapping[str, Any]
    logs: Sequence[ReadLog]
    began: float
    ended: float
    other_boots: tuple[float, Sequence[Boot]] | None = None
    levels: Mapping[str, Level] = field(default_factory=dict)
    logs_alone: bool = False
    watched: bool = True
    caller_known: bool = True
    complete: bool = True
    links: Mapping[str, Link] = field(default_factory=dict)
    settled: float = math.inf

    @property
    def host(self) -> str | None:
        """Return the host of the instance."""
        return self.names.get("host")

    def logs_of(self, service: str) -> list[ReadLog]:
        return [log for log in self.logs if log.service == service]


def hosts_of(logs: Sequence[ReadLog]) -> str:
    return ", ".join(sorted({log.host for log in logs}))
