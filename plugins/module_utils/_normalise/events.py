# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All that is known of a run, as events of one shape, in one order of time.

Times are by the control node's clock: here, and nowhere else, are the hosts' clocks corrected.
"""

from __future__ import annotations

from .._collect.sources import SOURCES
from .._collect.sources.source import Known
from .._collect.words import words_of
from .._record.ids import keys_of


def of_run(record, reads):
    """The events of all sources. reads: name of a source to hosts, each with what was read there."""
    run = known(record, reads)
    return joined([event for name in SOURCES for event in of_source(name, run, reads.get(name) or {})])


def known(record, reads):
    logs = (reads.get("log") or {}).items()
    addresses = {address: host for host, read in logs for address in (read or {}).get("addresses") or []}
    return Known(record, keys_of(record), addresses)


def of_source(name, run, reads):
    return [corrected(event, run.record["hosts"]) for event in SOURCES[name].events(run, reads)]


def corrected(event, hosts):
    """The same event by the control node's clock, if it is by that of a host."""
    clock = event.pop("clock", None)
    host = next((host for host in hosts if host["host"] == clock), None)
    offset = host and host["clock_offset_s"]
    if offset is None:
        return event
    until = None if event["until"] is None else event["until"] - offset
    error = event["error_s"] + (host["clock_error_s"] or 0)
    return {**event, "at": event["at"] - offset, "until": until, "error_s": error}


def joined(events):
    """Events of the run and those of the queue that belong to them: who takes a message knows its id, and no more."""
    about = [event for event in events if event["kind"] == "rpc" and event.get("message")]
    # What an earlier request of ours sent, such as the one for a network, is no message of the boot.
    ours = {event["message"] for event in about if set(event["keys"]) - {"asked", "shared"}}
    methods = {event["message"]: event["method"] for event in events if event.get("message") and event.get("method")}
    found = []
    for event in events:
        if event["kind"] != "rpc" or not event.get("message"):
            found.append(event)
            continue
        named = {**event, "method": event.get("method") or methods.get(event["message"])}
        if event["message"] in ours:
            named["keys"] = {**event["keys"], "message": [event["message"]]}
        found.append({**named, "text": words_of(named, {})})
    return sorted(found, key=lambda event: event["at"])
