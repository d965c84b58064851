# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the seconds of one run went: the steps that the end had to wait for, one after the other. Pure."""

from __future__ import annotations

from typing import NamedTuple

from .._record.clock import seconds_of
from .._record.run import with_removal

QUEUE, WORK, POLLING = "queue", "work", "polling"
KINDS = (QUEUE, WORK, POLLING)
# A service that takes a message out of a queue: until then it was queued, and afterwards it is this service that works.
TAKEN = "AMQP subscribe"
# The run itself, between two requests
CLIENT = "client"
# Between two steps with others in between of which nothing was seen
UNSEEN = "unseen"
NOT_KNOWN = ("unseen", "missing")


class Part(NamedTuple):
    """Some of a run's seconds: which component worked then, up to which step or within it."""

    component: str
    kind: str
    began: float
    ended: float
    step: str

    @property
    def seconds(self):
        return self.ended - self.began


def path_of(flow):
    """The parts of a flow's time that its end had to wait for, the first one first. Together they are the whole time.

    Of the steps that a step follows it waited for the last one. The seconds before a step are those of its source,
    which did something to come to it; those of the step itself, such as a request, are its target's.
    """
    steps = {step["id"]: step for step in flow["steps"]}
    begins = {name: seconds_of(step["at"]) for name, step in steps.items() if step["at"]}
    ends = {name: seconds_of(steps[name]["until"] or steps[name]["at"]) for name in begins}
    name, parts = max(ends, key=ends.get, default=None), []
    end = ends.get(name)
    while name is not None:
        step = steps[name]
        found, sure = followed(step, steps)
        # A request that goes on while its effects begin was enough for them when it began.
        reached = {
            other: ends[other] if ends[other] <= end else begins[other] for other in found if begins[other] <= end
        }
        if not reached:
            reached = {other: ends[other] for other in ends if ends[other] < begins[name]}
            sure = sure and not step["follows"]
        before = max(reached, key=reached.get, default=None)
        begun = min(max(begins[name], reached.get(before, 0)), end)
        worker = step["source"] if step["kind"] == TAKEN else step["target"]
        came = (step["source"] if step["follows"] else CLIENT, QUEUE if step["kind"] == TAKEN else WORK)
        parts.append(Part(worker, WORK, begun, end, name))
        parts.append(Part(*(came if sure else (UNSEEN, WORK)), reached.get(before, begun), begun, name))
        name, end = before, reached.get(before)
    return [part for part in parts[::-1] if part.seconds > 0]


def followed(step, steps):
    """(ids of the steps with a time that a step follows, whether all steps in between are known not to have been)."""
    found, sure, todo, looked_at = set(), True, list(step["follows"]), set()
    while todo:
        name = todo.pop()
        if name in looked_at or name not in steps:
            continue
        looked_at.add(name)
        if steps[name]["at"]:
            found.add(name)
        else:
            sure = sure and steps[name]["status"] not in NOT_KNOWN
            todo += steps[name]["follows"]
    return found, sure


def parts_of(record):
    """The parts of all flows that are judged. What the run does in one flow is no time of its own in the others."""
    paths = [path for path in (path_of(flow) for flow in record["flows"] if flow["judged"]) if path]
    spans = [(path[0].began, path[-1].ended) for path in paths]
    for path in paths:
        others = [span for span in spans if span != (path[0].began, path[-1].ended)]
        for part in path:
            meanwhile = [(max(first, part.began), min(last, part.ended)) for first, last in others]
            inside = sum(max(0, last - first) for first, last in meanwhile) if part.component == CLIENT else 0
            yield part._replace(began=min(part.began + inside, part.ended))


def by_kind(record):
    """Seconds of a followed run in a queue, at work, and until the run had looked again; None if none was followed."""
    parts = list(parts_of(record))
    if not parts:
        return None
    polling = sum(wait["resolution_s"] or 0 for stage in with_removal(record) for wait in stage["waits"])
    queued = sum(part.seconds for part in parts if part.kind == QUEUE)
    whole = sum(part.seconds for part in parts)
    return {QUEUE: queued, WORK: max(0, whole - queued - polling), POLLING: polling}


def by_component(record):
    """Component to the seconds that the run waited for it."""
    seconds = {}
    for part in parts_of(record):
        seconds[part.component] = seconds.get(part.component, 0) + part.seconds
    return seconds


def known_late(record):
    """How many seconds at most an instance was active before the run knew it; None where it never was."""
    waits = [wait for stage in record["stages"] if stage["stage"] == "boot" for wait in stage["waits"]]
    states = waits[0]["states"] if waits else []
    return states[-1]["resolution_s"] if states and states[-1]["state"].startswith("ACTIVE") else None
