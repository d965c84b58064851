# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A flow's steps in the order in which they happened, with the texts that all drawings of them share."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, groupby

from ..._model.flow import FollowedFlow, Step
from ..._model.record import Record
from ..._model.words import StepStatus, View
from ..._record.words import clean
from ..statuses import COUNTED, IN_GUIDE, LOOKS, UNUSED, WINDOW
from ..text import THIN, grouped

# In characters: the longest part of a file's name that comes from a flow
LONGEST_WORD = 40
# The tier with ssh and logs, by which a diagram counts
LOGS = 2


@dataclass(frozen=True)
class Row:
    """A step at its place. after_ms: since the first step. unsure: it may have happened before the row above it."""

    step: Step
    at: float | None
    after_ms: float | None
    unsure: bool


@dataclass(frozen=True)
class Diagram:
    """What all drawings of a flow show.

    word: its name as files and ids may have it. left_out: the lifelines that this cloud does not use, with the steps
    there, in a sentence; None if there are none.
    """

    word: str
    title: str
    counts: str
    lifelines: list[str]
    rows: list[Row]
    left_out: str | None

    @property
    def bands(self) -> list[tuple[str | None, list[Row]]]:
        """Return rows of one phase that follow each other; phases that overlap in time take turns."""
        return [
            (phase, list(rows))
            for phase, rows in groupby(
                self.rows, key=lambda row: row.step.phase
            )
        ]


def drawn(record: Record) -> list[tuple[str, FollowedFlow]]:
    """Return (name, flow) of each drawing of a run: its main flow, those beside a stage, and the whole run."""
    if not record.flows:
        return []
    main, *others = record.flows
    beside = [
        flow
        for flow in others
        if flow.shown_as == View.STAGE and took_part(flow.steps)
    ]
    drawings = [
        ("flow", main),
        *((f"flow-{word_of(flow)}", flow) for flow in beside),
    ]
    if beside:
        drawings.append(("run", whole_run([main, *beside])))
    return drawings


def word_of(flow: FollowedFlow) -> str:
    """Return a flow's name as files and ids may have it; the flow may be anybody's."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", flow.name)[:LONGEST_WORD]


def took_part(steps: Iterable[Step]) -> list[Step]:
    return [step for step in steps if step.status != StepStatus.SKIPPED]


def whole_run(flows: list[FollowedFlow]) -> FollowedFlow:
    """Return all flows of a run as one: their steps lie between each other by their times."""
    names: dict[str, None] = {}
    steps: list[Step] = []
    for flow in flows:
        names.update(dict.fromkeys(flow.lifelines))
        steps += took_part(flow.steps)
    return FollowedFlow(
        name="run",
        title="The whole run",
        lifelines=tuple(names),
        steps=tuple(steps),
        coverage=(),
    )


def diagram(flow: FollowedFlow) -> Diagram:
    """Return a flow without what this cloud does not use: lifelines on which every step is absent or skipped."""
    names = lifelines(flow)
    used = used_lifelines(flow.steps) or set(names)
    kept = [step for step in flow.steps if {step.source, step.target} <= used]
    return Diagram(
        word=word_of(flow),
        title=flow.title,
        counts=counts(flow),
        lifelines=[name for name in names if name in used],
        rows=rows(kept),
        left_out=left_out(names, used, flow.steps),
    )


def lifelines(flow: FollowedFlow) -> list[str]:
    """Return the flow's lifelines, and those that only its steps name."""
    names = list(flow.lifelines)
    for step in flow.steps:
        names += [step.source, step.target]
    return list(dict.fromkeys(names))


def used_lifelines(steps: Iterable[Step]) -> set[str]:
    used: set[str] = set()
    for step in steps:
        if step.status not in UNUSED:
            used |= {step.source, step.target}
    return used


def left_out(
    names: list[str], used: set[str], steps: Iterable[Step]
) -> str | None:
    unused = [name for name in names if name not in used]
    if not unused:
        return None
    ids = defaultdict(list)
    for step in steps:
        if not {step.source, step.target} <= used:
            ids[step.status].append(step.id)
    not_drawn = "; ".join(
        f"{look.status} {', '.join(ids[look.status])}"
        for look in LOOKS
        if ids[look.status]
    )
    of_steps = f" (steps not drawn: {not_drawn})" if not_drawn else ""
    return f"Not used in this run: {', '.join(unused)}{of_steps}"


def plain(text: str) -> str:
    """Return a text in one line, without what would control a terminal or break XML."""
    return " ".join(clean(text).split())


def rows(steps: Iterable[Step]) -> list[Row]:
    """Return the steps in order, as rows of a drawing."""
    ordered = in_order(steps)
    first = min(
        (step.at for step in ordered if step.at is not None), default=0.0
    )
    made: list[Row] = []
    above: Step | None = None
    for step in ordered:
        if step.at is None:
            made.append(Row(step, None, None, unsure=False))
            continue
        unsure = above is not None and step.at - (above.at or 0.0) < slack(
            above
        ) + slack(step)
        made.append(Row(step, step.at, (step.at - first) * 1000, unsure))
        above = step
    return made


def in_order(steps: Iterable[Step]) -> list[Step]:
    """Return steps by their times; a step without one stays behind the step that it follows in the flow."""
    groups: list[list[Step]] = [[]]
    has_begun = False
    for step in steps:
        # Steps before the first time have nothing to follow: they go with the step of that time.
        if step.at is not None and has_begun:
            groups.append([])
        has_begun = has_begun or step.at is not None
        groups[-1].append(step)
    groups.sort(key=time_of)
    return list(chain.from_iterable(groups))


def time_of(group: list[Step]) -> float:
    """Return the time of the one step of a group that has one."""
    return next((step.at for step in group if step.at is not None), 0.0)


def slack(step: Step) -> float:
    """Return by how much a step's time may be wrong, in seconds."""
    return (step.resolution_s or 0.0) + (step.error_s or 0.0)


def milliseconds(value: float) -> str:
    return f"{grouped(value)}{THIN}ms"


def after(row: Row) -> str:
    """Return the time since the first step: +1 234 ms. Nothing for a step without a time."""
    return "" if row.after_ms is None else "+" + milliseconds(row.after_ms)


def duration(step: Step) -> str:
    """Return how long the step took: (446 ms), and nothing where that is not known."""
    seconds = step.duration_s
    if seconds is None:
        return ""
    return (
        f"(<1{THIN}ms)"
        if 0 < seconds < 0.001
        else f"({milliseconds(seconds * 1000)})"
    )


def status(step: Step) -> str:
    """Return the word of a step's status; nothing for one that was seen, as most are."""
    return "" if step.status == StepStatus.SEEN else step.status.value


def outcome(step: Step) -> str:
    return " ".join(filter(None, [duration(step), status(step)]))


def counts(flow: FollowedFlow) -> str:
    """Return how many of the counted steps are seen, cached and so on, by everything that was read."""
    by_logs = [coverage for coverage in flow.coverage if coverage.tier == LOGS]
    if not by_logs:
        return counts_in_words(
            len(flow.steps), Counter(step.status.value for step in flow.steps)
        )
    coverage = by_logs[-1]
    numbers = {name: getattr(coverage, name) for name in COUNTED}
    # To the table of coverage, what must have happened is unseen like all that no evidence shows.
    missing = sum(
        step.status == StepStatus.MISSING
        for step in counted_steps(flow, coverage.total)
    )
    numbers[StepStatus.UNSEEN] -= missing
    numbers[StepStatus.MISSING] += missing
    return counts_in_words(coverage.total, numbers)


def counted_steps(flow: FollowedFlow, number: int) -> list[Step]:
    """Return the steps that the table of coverage counts: those of the operations guide, or all."""
    in_guide = [step for step in flow.steps if IN_GUIDE in step.numbers]
    return in_guide if len(in_guide) == number else list(flow.steps)


def counts_in_words(whole: int, numbers: Mapping[str, int]) -> str:
    """Return numbers of steps by their status in words. What time and place alone show is seen as well."""
    by_place = numbers.get(WINDOW, 0)
    seen = (
        f"{numbers.get(StepStatus.SEEN, 0) + by_place} of {whole} steps seen"
    )
    if by_place:
        seen += f" ({by_place} by time and place alone)"
    others = [
        f"{numbers[look.status]} {look.status}"
        for look in LOOKS[1:]
        if numbers.get(look.status)
    ]
    return ", ".join([seen, *others])
