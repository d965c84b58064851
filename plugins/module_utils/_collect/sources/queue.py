# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The messages on the queue, as the recorder has kept them (stackproof_firehose)."""

from __future__ import annotations

from ..._record.shapes import event
from .source import Source


def events(run, reads):
    """A message has the clock of the host that recorded it, and belongs to the host that sent or took it."""
    return [
        event(**{**kept, "text": "", "host": run.hosts.get(kept["client"], host), "source": "queue", "clock": host})
        for host, read in reads.items()
        for kept in (read or {}).get("events") or []
    ]


def to_see(_rule, _levels, _services):
    return "the messages on the queue (stackproof_firehose)"


def account(reads):
    """The number of messages from each host that was to record, and why some or all are missing."""
    return [
        {
            "host": host,
            "messages": len(read.get("events") or []),
            "foreign": read.get("foreign", False),
            "reason": read.get("why") if "events" in read else read.get("msg") or "it was not asked",
        }
        for host, read in sorted(reads.items())
        if read
    ]


SOURCE = Source(
    name="queue",
    tier=3,
    words="a message on the queue ({})",
    fields=(
        "action",
        "method",
        "topic",
        "message",
        "client",
    ),
    events=events,
    to_see=to_see,
    of_others=True,
    variable="stackproof_queue",
    account=account,
    filed_as="queue",
)
