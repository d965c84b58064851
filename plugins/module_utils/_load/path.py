# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the seconds of one run went: the steps that the end had to wait for, one after the other. Pure."""

from __future__ import annotations

from .._record.clock import seconds_of
from .._record.run import with_removal

QUEUE, WORK, POLLING = "queue", "work", "polling"
KINDS = (QUEUE, WORK, POLLING)
# Messages over the queue: their time is that until they were taken out of it.
QUEUED = "AMQP "
# The run itself, between two of its steps
CLIENT = "client"


def path_of(flow):
    """(step, seconds) of each step that the last one had to wait for, the first one first.

    Of the steps that a step follows it waited for the last one. A step that follows none was begun by the run itself,
    after the step that had ended last; the seconds between them belong to no step, and stand with None. So all seconds
    together are those of the whole flow.
    """
    steps = {step["id"]: step for step in flow["steps"] if step["at"]}
    begins = {name: seconds_of(step["at"]) for name, step in steps.items()}
    ends = {name: seconds_of(step["until"] or step["at"]) for name, step in steps.items()}
    name, parts = max(ends, key=ends.get, default=None), []
    end = ends.get(name)
    while name is not None:
        # A request that goes on while its effects begin was enough for them when it began.
        reached = {
            other: ends[other] if ends[other] <= end else begins[other]
            for other in steps[name].get("follows") or ()
            if other in steps and begins[other] <= end
        }
        before = max(reached, key=reached.get, default=None)
        if before is not None:
            parts.append((steps[name], end - reached[before]))
        else:
            parts.append((steps[name], end - begins[name]))
            reached = {other: ends[other] for other in ends if ends[other] < begins[name]}
            before = max(reached, key=reached.get, default=None)
            if before is not None:
                parts.append((None, begins[name] - reached[before]))
        name, end = before, reached.get(before)
    return parts[::-1]


def by_kind(record):
    """Seconds of a followed run in a queue, at work, and until the run had looked again; None if none was followed."""
    paths = [part for flow in record["flows"] if flow["judged"] for part in path_of(flow)]
    if not paths:
        return None
    polling = sum(wait["resolution_s"] or 0 for stage in with_removal(record) for wait in stage["waits"])
    queued = sum(seconds for step, seconds in paths if step and step["kind"].startswith(QUEUED))
    whole = sum(seconds for _step, seconds in paths)
    return {QUEUE: queued, WORK: max(0, whole - queued - polling), POLLING: polling}


def by_component(record):
    """Component to the seconds that the run waited for it."""
    seconds = {}
    for flow in record["flows"]:
        for step, took in path_of(flow) if flow["judged"] else ():
            name = step["target"] if step else CLIENT
            seconds[name] = seconds.get(name, 0) + took
    return seconds


def known_late(record):
    """How many seconds at most an instance was active before the run knew it; None where it never was."""
    waits = [wait for stage in record["stages"] if stage["stage"] == "boot" for wait in stage["waits"]]
    states = waits[0]["states"] if waits else []
    return states[-1]["resolution_s"] if states and states[-1]["state"].startswith("ACTIVE") else None
