# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All events of a run, in the order of time.

Times are by the control node's clock: only this module corrects the times by the clocks of hosts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from .._collect.sources import SOURCES
from .._collect.sources.event_text import words_of
from .._collect.sources.source import Context
from .._model.event import Event
from .._model.host import Host
from .._model.record import Record
from .._record.ids import keys_of

# What was read on each host, by the name of a source and of the host
Reads = Mapping[str, Any]


def of_run(record: Record, reads: Reads) -> list[Event]:
    """Return the events of all sources."""
    run = context_of(record, reads)
    found: list[Event] = []
    for name in SOURCES:
        found += of_source(name, run, reads.get(name) or {})
    return joined(found)


def context_of(record: Record, reads: Reads) -> Context:
    addresses = {}
    logs = reads.get("log") or {}
    for host, read in logs.items():
        if not read:
            continue
        for address in read.get("addresses") or []:
            addresses[address] = host
    return Context(record, keys_of(record), addresses)


def of_source(name: str, run: Context, reads: Reads) -> list[Event]:
    clocks = {host.host: host for host in run.record.hosts}
    return [
        corrected(event, clocks.get(event.clock or ""))
        for event in SOURCES[name].events(run, dict(reads))
    ]


def corrected(event: Event, clock: Host | None) -> Event:
    """Return the event with times by the control node's clock. clock: the host by whose clock it is now."""
    if clock is None or clock.clock_offset_s is None:
        return event
    offset = clock.clock_offset_s
    return dataclasses.replace(
        event,
        at=event.at - offset,
        until=None if event.until is None else event.until - offset,
        error_s=event.error_s + (clock.clock_error_s or 0),
        clock=None,
    )


def joined(events: list[Event]) -> list[Event]:
    """Return the events in the order of time. Each event of a message of the boot gets its id and its request as keys.

    A service that takes a message logs its id, and no id of the run; a reply does not name its request.
    """
    messages = Messages(events)
    complete = [
        messages.completed(event) if is_message(event) else event
        for event in events
    ]
    return sorted(complete, key=lambda event: event.at)


def is_message(event: Event) -> bool:
    return event.kind == "rpc" and bool(event.get("message"))


class Messages:
    """The messages on the queue: which are of the boot, for which request, and what they call."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.ours: set[str] = set()
        self.requests: dict[str, list[str]] = {}
        self.methods: dict[str, str] = {}
        for event in events:
            message = event.get("message")
            if message and event.get("method"):
                self.methods[message] = event.get("method")
            if is_message(event):
                self._learn(message, event.keys)

    def _learn(self, message: str, keys: Mapping[str, list[str]]) -> None:
        # A message of an earlier request of the run, such as the request for a network, is not a message of the boot.
        if set(keys) - {"asked", "shared"}:
            self.ours.add(message)
        if "request" in keys:
            self.requests[message] = keys["request"]

    def completed(self, event: Event) -> Event:
        """Return the event with the method of its message, and with more keys if the message is one of ours."""
        message = event.get("message")
        keys = dict(event.keys)
        if message in self.ours:
            keys["message"] = [message]
        if message in self.ours and message in self.requests:
            keys["request"] = self.requests[message]
        fields = {
            **event.fields,
            "method": event.get("method") or self.methods.get(message),
        }
        return dataclasses.replace(
            event, keys=keys, fields=fields, text=words_of(event.kind, fields)
        )
