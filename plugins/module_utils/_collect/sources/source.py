# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What there is to say of a source of evidence, whichever it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


def nothing(_record):
    return {}


def whether_read(reads):
    """Of each host why it was not read, or None."""
    return [
        {"host": host, "reason": (read.get("msg") if read else "it was not asked")}
        for host, read in sorted(reads.items())
    ]


@dataclass(frozen=True)
class Source:
    """A kind of evidence: what it takes to see it, how it is read, and how it becomes events.

    name: as rules of flows and events name it.
    tier: the access that it takes, where a rule says nothing else.
    words: what an event of it is, in words; {} is its service.
    fields: what events.jsonl has of its events besides what all of them have.
    events(run, reads): its events. run is a Known; reads is host to what was read there. An event that is by the clock
        of a host has the host's name in its field "clock".
    to_see(rule, levels, services): what would show a step by this rule, or None. levels is service to the level at
        which it logs, services are those whose logs were read.
    of_others: whether its events may be those of others, too: one without an id of the run is no proof by itself.
    read(host, params): on each host, with all else that is read there; what it returns is called returned there.
    variable: what the playbook registers on the hosts that are asked; without it, all is in the record already.
    wanted(record): what else its readers have to know.
    account(reads): for the record, what was read and what was not; filed_as is the key of the record.
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
        """What was read on a host, out of what the playbook has registered there, or why it was not."""
        if self.returned is None:
            return registered
        return registered[self.returned] if self.returned in (registered or {}) else registered


@dataclass(frozen=True)
class Known:
    """What is known of a run before its events are: its record, its ids, and the names of hosts by their addresses."""

    record: dict[str, Any]
    keys: dict[str, list[str]]
    hosts: dict[str, str]
