# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the seconds of a run went: the steps that its end had to wait for, one after the other. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from operator import itemgetter

from .._model.flow import FollowedFlow, Step
from .._model.load import Breakdown
from .._model.record import Record
from .._model.words import StageName, StepStatus


class Kind(Enum):
    """What a run waited for: a message in a queue, or the work of a component."""

    QUEUE = "queue"
    WORK = "work"


# The kind of a step in which a service takes a message out of a queue: until then the message was queued, and
# afterwards it is this service that works.
TAKEN = "AMQP subscribe"
# The run itself, between two requests
CLIENT = "client"
# Between two steps with unseen ones in between
UNSEEN = "unseen"
# Begin and end, in seconds since the epoch
Span = tuple[float, float]
# Of such steps it is not known whether they happened.
UNKNOWN = (StepStatus.UNSEEN, StepStatus.MISSING)


@dataclass(frozen=True)
class Part:
    """Some of a run's seconds: which component worked then, up to which step or within it."""

    component: str
    kind: Kind
    began: float
    ended: float
    step: str

    @property
    def seconds(self) -> float:
        return self.ended - self.began


class Path:
    """The steps of a flow that its end had to wait for.

    Of the steps that a step follows it waited for the last one. The seconds before a step are those of its source,
    which did something to come to it; those of the step itself, such as a request, are its target's.
    """

    def __init__(self, flow: FollowedFlow) -> None:
        self.steps: dict[str, Step] = {}
        self.begins: dict[str, float] = {}
        self.ends: dict[str, float] = {}
        for step in flow.steps:
            self.steps[step.id] = step
            if step.at is None:
                continue
            self.begins[step.id] = step.at
            if step.end is not None:
                self.ends[step.id] = step.end

    def parts(self) -> list[Part]:
        """Return the parts of the path, the first one first. Together they are the whole time of the flow."""
        name, end = last_of(self.ends)
        parts = []
        while name is not None:
            before, reached, is_sure = self.before(name, end)
            # Where nothing came before, it began with the step.
            came = min(self.begins[name], end) if before is None else reached
            parts += self.parts_of(self.steps[name], came, end, is_sure)
            name, end = before, reached
        return [part for part in reversed(parts) if part.seconds > 0]

    def before(self, name: str, end: float) -> tuple[str | None, float, bool]:
        """Return the step that a step waited for last, when that was, and whether no unseen step was in between."""
        found, is_sure = self.followed(self.steps[name])
        reached = {}
        for other in found:
            # A request that goes on while its effects begin was enough for them when it began.
            if self.begins[other] <= end:
                reached[other] = (
                    self.ends[other]
                    if self.ends[other] <= end
                    else self.begins[other]
                )
        if not reached:
            reached = {
                other: ended
                for other, ended in self.ends.items()
                if ended < self.begins[name]
            }
            is_sure = is_sure and not self.steps[name].follows
        return *last_of(reached), is_sure

    def followed(self, step: Step) -> tuple[set[str], bool]:
        """Return the steps with a time that a step follows, and whether none in between may have happened unseen."""
        found: set[str] = set()
        looked_at: set[str] = set()
        is_sure = True
        todo = [*step.follows]
        while todo:
            name = todo.pop()
            if name in looked_at or name not in self.steps:
                continue
            looked_at.add(name)
            if name in self.begins:
                found.add(name)
            else:
                is_sure = is_sure and self.steps[name].status not in UNKNOWN
                todo += self.steps[name].follows
        return found, is_sure

    def parts_of(
        self, step: Step, came: float, end: float, is_sure: bool
    ) -> list[Part]:
        """Return the seconds of a step itself, and those before it, by the moment at which it could begin."""
        begun = min(max(self.begins[step.id], came), end)
        is_taken = step.kind == TAKEN
        worker = step.source if is_taken else step.target
        source = step.source if step.follows else CLIENT
        kind = Kind.QUEUE if is_taken else Kind.WORK
        within = Part(worker, Kind.WORK, begun, end, step.id)
        if not is_sure:
            source, kind = UNSEEN, Kind.WORK
        return [within, Part(source, kind, came, begun, step.id)]


def last_of(times: Mapping[str, float]) -> tuple[str | None, float]:
    """Return the name with the latest time, and that time; None and zero without names."""
    return max(times.items(), key=itemgetter(1), default=(None, 0.0))


def parts_of(record: Record) -> Iterator[Part]:
    """Yield the parts of all flows that are judged.

    What the run does in one flow is no time of its own in the others.
    """
    paths = judged_paths(record)
    spans = [(path[0].began, path[-1].ended) for path in paths]
    for path, own in zip(paths, spans):
        others = [span for span in spans if span != own]
        for part in path:
            if part.component == CLIENT:
                yield without(part, others)
            else:
                yield part


def judged_paths(record: Record) -> list[list[Part]]:
    paths: list[list[Part]] = []
    for flow in record.flows:
        parts = Path(flow).parts() if flow.judged else []
        if parts:
            paths.append(parts)
    return paths


def without(part: Part, spans: Sequence[Span]) -> Part:
    """Return a part without the seconds that are within some spans of time."""
    inside = sum(
        max(0.0, min(ended, part.ended) - max(began, part.began))
        for began, ended in spans
    )
    return dataclasses.replace(
        part, began=min(part.began + inside, part.ended)
    )


def breakdown_of(record: Record) -> Breakdown | None:
    """Return the seconds of a run in a queue, at work, and until it had polled again; None if it was not followed."""
    parts = list(parts_of(record))
    if not parts:
        return None
    waits = chain.from_iterable(
        stage.waits for stage in record.stages_and_removal
    )
    polling = sum(wait.resolution_s or 0.0 for wait in waits)
    queued = sum(part.seconds for part in parts if part.kind is Kind.QUEUE)
    whole = sum(part.seconds for part in parts)
    work = max(0.0, whole - queued - polling)
    return Breakdown(queue=queued, work=work, polling=polling)


def by_component(record: Record) -> dict[str, float]:
    """Return for each component the seconds that the run waited for it."""
    seconds: dict[str, float] = {}
    for part in parts_of(record):
        seconds[part.component] = (
            seconds.get(part.component, 0.0) + part.seconds
        )
    return seconds


def detection_delay(record: Record) -> float | None:
    """Return how many seconds at most an instance was active before the run knew it; None where it never was."""
    waits = record.stage_or_skipped(StageName.BOOT).waits
    # Only a wait that ended well has a resolution: the time between its last two polls.
    return next((wait.resolution_s for wait in waits), None)
