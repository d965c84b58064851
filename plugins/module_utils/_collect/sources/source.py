# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The shape of a source of evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..._model.event import Event
from ..._model.flow_definition import Rule
from ..._model.record import Record, SourceAccount

# What a host returned, or a reader needs to know
JsonObject = dict[str, Any]

__all__ = ["Context", "JsonObject", "Rule", "Source"]


@dataclass(frozen=True)
class Context:
    """A run before its events are known: its record, its ids, and the names of hosts by their addresses."""

    record: Record
    keys: Mapping[str, list[str]]
    hosts: Mapping[str, str]


def nothing(_record: Record) -> JsonObject:
    return {}


def whether_read(reads: JsonObject) -> tuple[SourceAccount, ...]:
    """Return the reason why each host was not read, or None."""
    return tuple(
        SourceAccount(host, read.get("msg") if read else "it was not asked")
        for host, read in sorted(reads.items())
    )


@dataclass(frozen=True)
class Source:
    """A kind of evidence: the access it needs, how it is read, and how it becomes events.

    name: the name in the rules of flows, and in events.
    tier: the access that it needs, unless a rule names another.
    words: the words for one of its events; {} is the service.
    fields: the fields of its events in events.jsonl, besides the common fields.
    events(run, reads): its events. run is a Context; reads is host to what was read there. An event that has a time by
        the clock of a host names the host as its clock.
    to_see(rule, levels, services): what would show a step by this rule, or None. levels is service to the level at
        which it logs, services are the services whose logs were read.
    of_others: whether its events may be of other boots: an event without an id of the run is not a proof by itself.
    read(host, params): reads it on each host, together with the other sources; returned is the key of its result.
    variable: the variable that the playbook registers on the hosts; without it, all is in the record already.
    wanted(record): what its readers need to know besides.
    account(reads): what was read and what was not, for the record; filed_as is the field of the record.
    """

    name: str
    tier: int
    words: str
    fields: tuple[str, ...]
    events: Callable[[Context, JsonObject], list[Event]]
    to_see: Callable[..., str | None]
    of_others: bool = False
    read: Callable[[Any, JsonObject], Any] | None = None
    returned: str | None = None
    variable: str | None = None
    wanted: Callable[[Record], JsonObject] = nothing
    account: Callable[[JsonObject], tuple[Any, ...]] = whether_read
    filed_as: str = "sources"

    def result(self, registered: JsonObject | None) -> Any:
        """Return the result of a host in the variable that the playbook registered there, or why there is none."""
        if self.returned is None:
            return registered
        return (
            registered[self.returned]
            if registered and self.returned in registered
            else registered
        )
