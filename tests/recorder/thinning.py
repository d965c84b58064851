# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes out of a record what tests do not need: most of many equal requests, flows, lines of logs."""

from __future__ import annotations

from datetime import datetime

from recorder.names import blank

# So many of the same request that follow each other stay, at the beginning and at the end.
FIRST, LAST = 2, 3


def fewer_polls(record):
    """The record with less of the requests that only asked again and again how things are."""
    stages = [{**stage, "calls": list(few(stage["calls"]))} for stage in record["stages"]]
    return {**record, "stages": stages}


def few(calls):
    row = []
    for call in [*calls, None]:
        if row and (call is None or question(call) != question(row[0])):
            yield from row if len(row) <= FIRST + LAST else [*row[:FIRST], *row[-LAST:]]
            row = []
        row.append(call)


def question(call):
    return call["method"], call["service"], call["path"], call["status"]


def fewer_messages(logs):
    """The same of each host, with fewer of the messages that one service sent or took again and again."""
    return {host: {**answer, "events": list(few_of_each(answer["events"]))} for host, answer in logs.items()}


def few_of_each(events):
    alike = {}
    for event in events:
        # Without a method it is the message that a service took, which shows a step by the time alone.
        if event["kind"] == "rpc" and event.get("method"):
            alike.setdefault(form_of(event), []).append(event)
    dropped = {id(event) for row in alike.values() for event in row[FIRST:-LAST]}
    return (event for event in events if id(event) not in dropped)


def form_of(message):
    return tuple(message.get(name) for name in ("service", "action", "method", "topic"))


def fewer_alike(lines):
    """Without most of the lines that differ from others in ids and numbers alone."""
    seen, kept = {}, []
    for line in lines:
        form = blank(line)
        seen[form] = seen.get(form, 0) + 1
        if seen[form] <= FIRST + LAST:
            kept.append(line)
    return kept


def only_flow(record, name):
    return {**record, "flows": [flow for flow in record["flows"] if flow["name"] == name]}


def before_it_was_followed(record):
    """As a run is before its flows, and as one who is no administrator knows nothing of other boots."""
    later = {"logs", "errors", "other_boots", "agents"}
    return {**{name: value for name, value in record.items() if name not in later}, "flows": []}


def as_the_run_read(record, logs):
    """Without what was logged since the run itself has read the logs, as when it removed what it had made.

    Nor with errors that are of no boot: the lab's computes differ with placement now and then.
    """
    finished = datetime.fromisoformat(record["evidence"]["finished"]).timestamp()
    until = {host["host"]: finished + (host["clock_offset_s"] or 0) for host in record["hosts"]}
    return {
        host: {**answer, "events": [event for event in answer["events"] if is_ours(event, until[host])]}
        for host, answer in logs.items()
    }


def is_ours(event, until):
    return event["at"] <= until and (event["kind"] != "error" or event["keys"])


def rows(logs):
    """A line for each host, and one for each of its events."""
    entries = []
    for host, answer in logs.items():
        entries.append({"host": host, "addresses": answer["addresses"], "sources": answer["sources"]})
        entries += [{"host": host, "event": event} for event in answer["events"]]
    return entries
