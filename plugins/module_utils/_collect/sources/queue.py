# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The messages on the queue, as the recorder has kept them (stackproof_firehose)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..._model import codec
from ..._model.event import Event
from ..._model.queue import RecordedMessages
from ..._model.record import QueueAccount
from .source import Context, JsonObject, Rule, Source


def events(run: Context, reads: JsonObject) -> list[Event]:
    found: list[Event] = []
    for host, read in reads.items():
        if not read:
            continue
        kept = read.get("events") or []
        found += [from_message(message, host, run.hosts) for message in kept]
    return found


def from_message(
    kept: JsonObject, host: str, hosts: Mapping[str, str]
) -> Event:
    """Return a message, by the clock of the host that recorded it, as one of the host that sent or took it."""
    return Event.from_host(
        kept, host=hosts.get(kept["client"], host), source="queue", clock=host
    )


def to_see(
    _rule: Rule, _levels: Mapping[str, Any], _services: Iterable[str]
) -> str | None:
    return "the messages on the queue (stackproof_firehose)"


def account(reads: JsonObject) -> tuple[QueueAccount, ...]:
    """Return the number of messages from each host that was to record, and why some or all are missing."""
    return tuple(
        account_of(host, read) for host, read in sorted(reads.items()) if read
    )


def account_of(host: str, read: JsonObject) -> QueueAccount:
    if "events" not in read:
        return QueueAccount(
            host,
            0,
            foreign=False,
            reason=read.get("msg") or "it was not asked",
        )
    recorded = codec.from_json(
        RecordedMessages, read, f"the messages of {host}"
    )
    return QueueAccount(
        host, len(recorded.events), recorded.foreign, recorded.reason
    )


SOURCE = Source(
    name="queue",
    tier=3,
    words="a message on the queue ({})",
    fields=("action", "method", "topic", "message", "client"),
    events=events,
    to_see=to_see,
    of_others=True,
    variable="stackproof_queue",
    account=account,
    filed_as="queue",
)
