# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All events of a run, in one shape and in the order of time.

Times are by the control node's clock: only this module corrects the times by the clocks of hosts.
"""

from __future__ import annotations

from .._collect.sources import SOURCES
from .._collect.sources.event_text import words_of
from .._collect.sources.source import Context
from .._record.ids import keys_of


def of_run(record, reads):
    """The events of all sources. reads: source to host to what was read there."""
    run = context_of(record, reads)
    return joined([event for name in SOURCES for event in of_source(name, run, reads.get(name) or {})])


def context_of(record, reads):
    logs = (reads.get("log") or {}).items()
    addresses = {address: host for host, read in logs for address in (read or {}).get("addresses") or []}
    return Context(record, keys_of(record), addresses)


def of_source(name, run, reads):
    return [corrected(event, run.record["hosts"]) for event in SOURCES[name].events(run, reads)]


def corrected(event, hosts):
    """The event with times by the control node's clock."""
    clock = event.pop("clock", None)
    host = next((host for host in hosts if host["host"] == clock), None)
    offset = host and host["clock_offset_s"]
    if offset is None:
        return event
    until = None if event["until"] is None else event["until"] - offset
    error = event["error_s"] + (host["clock_error_s"] or 0)
    return {**event, "at": event["at"] - offset, "until": until, "error_s": error}


def joined(events):
    """The events in the order of time. Each event of a message of the boot gets its id as a key, and its request.

    A service that takes a message logs its id, and no id of the run; a reply does not name its request.
    """
    about = [event for event in events if is_message(event)]
    # A message of an earlier request of the run, such as the request for a network, is not a message of the boot.
    ours = {event["message"] for event in about if set(event["keys"]) - {"asked", "shared"}}
    requests = {event["message"]: event["keys"]["request"] for event in about if "request" in event["keys"]}
    methods = {event["message"]: event["method"] for event in events if event.get("message") and event.get("method")}
    complete = [with_message(event, ours, requests, methods) if is_message(event) else event for event in events]
    return sorted(complete, key=lambda event: event["at"])


def is_message(event):
    return event["kind"] == "rpc" and event.get("message")


def with_message(event, ours, requests, methods):
    """The event with the method of its message, and with the message and its request as keys if it is one of ours."""
    message = event["message"]
    event = {**event, "method": event.get("method") or methods.get(message)}
    if message in ours:
        of_message = {"message": [message], **({"request": requests[message]} if message in requests else {})}
        event["keys"] = {**event["keys"], **of_message}
    return {**event, "text": words_of(event, {})}
