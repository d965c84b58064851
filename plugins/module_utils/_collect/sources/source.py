# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The shape of a source of evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


def nothing(_record):
    return {}


def whether_read(reads):
    """The reason why each host was not read, or None."""
    return [
        {"host": host, "reason": (read.get("msg") if read else "it was not asked")}
        for host, read in sorted(reads.items())
    ]


@dataclass(frozen=True)
class Source:
    """A kind of evidence: the access it needs, how it is read, and how it becomes events.

    name: the name in the rules of flows, and in events.
    tier: the access that it needs, unless a rule names another.
    words: the words for one of its events; {} is the service.
    fields: the fields of its events in events.jsonl, besides the common fields.
    events(run, reads): its events. run is a Context; reads is host to what was read there. An event that has a time by
        the clock of a host names the host in its field "clock".
    to_see(rule, levels, services): what would show a step by this rule, or None. levels is service to the level at
        which it logs, services are the services whose logs were read.
    of_others: whether its events may be of other boots: an event without an id of the run is not a proof by itself.
    read(host, params): reads it on each host, together with the other sources; returned is the key of its result.
    variable: the variable that the playbook registers on the hosts; without it, all is in the record already.
    wanted(record): what its readers need to know besides.
    account(reads): what was read and what was not, for the record; filed_as is the key of the record.
    """

    name: str
    tier: int
    words: str
    fields: tuple[str, ...]
    events: Callable
    to_see: Callable
    of_others: bool = False
    read: Callable | None = None
    returned: str | None = None
    variable: str | None = None
    wanted: Callable = nothing
    account: Callable = whether_read
    filed_as: str = "sources"

    def result(self, registered: dict[str, Any] | None):
        """The result of a host in the variable that the playbook registered there, or why there is none."""
        if self.returned is None:
            return registered
        return registered[self.returned] if self.returned in (registered or {}) else registered


@dataclass(frozen=True)
class Context:
    """A run before its events are known: its record, its ids, and the names of hosts by their addresses."""

    record: dict[str, Any]
    keys: dict[str, list[str]]
    hosts: dict[str, str]
