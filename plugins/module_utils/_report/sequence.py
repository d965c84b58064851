# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A flow's steps in the order in which they happened, with what every drawing of them says."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby

from .._record.clock import seconds_of
from .text import THIN, clean, grouped

OTHERS = ("cached", "absent", "skipped", "unseen", "missing")


@dataclass(frozen=True)
class Row:
    """A step at its place. after_ms: since the first step. unsure: it may have happened before the row above it."""

    step: dict
    after_ms: float | None
    unsure: bool


def plain(text):
    """A text in one line, without what would control a terminal or break XML."""
    return " ".join(clean(text).split())


def in_order(steps):
    """Steps by time; one without a time stays behind the step that it follows in the flow."""
    groups = []
    for step in steps:
        # What comes before the first time has nothing to follow: that time's step takes it along.
        if not groups or (step["at"] and any(one["at"] for one in groups[-1])):
            groups.append([])
        groups[-1].append(step)
    when = [next((seconds_of(one["at"]) for one in group if one["at"]), 0.0) for group in groups]
    return [step for _time, group in sorted(zip(when, groups), key=lambda pair: pair[0]) for step in group]


def rows(flow):
    """The steps in order, as rows of a drawing."""
    ordered = in_order(flow["steps"])
    first = min((seconds_of(step["at"]) for step in ordered if step["at"]), default=None)
    made, before = [], None
    for step in ordered:
        if not step["at"]:
            made.append(Row(step, None, False))
            continue
        unsure = before is not None and seconds_of(step["at"]) - seconds_of(before["at"]) < slack(before) + slack(step)
        made.append(Row(step, (seconds_of(step["at"]) - first) * 1000, unsure))
        before = step
    return made


def slack(step):
    """By how much a step's time may be wrong, in seconds."""
    return (step["resolution_s"] or 0) + (step["error_s"] or 0)


def bands(all_rows):
    """Runs of rows of one phase, as (phase, rows); phases that overlap in time take turns."""
    return [(phase, list(some)) for phase, some in groupby(all_rows, key=lambda row: row.step["phase"])]


def lifelines(flow):
    """The flow's lifelines, and any other that a step names."""
    ends = (step[end] for step in flow["steps"] for end in ("source", "target"))
    return list(dict.fromkeys([*flow["lifelines"], *ends]))


def milliseconds(value):
    return f"{grouped(value)}{THIN}ms"


def after(row):
    """When it happened, since the first step: +1 234 ms. Nothing for a step without a time."""
    return "" if row.after_ms is None else "+" + milliseconds(row.after_ms)


def duration(step):
    """How long it took: (446 ms), and nothing where that is not known."""
    if step["duration_s"] is None:
        return ""
    return f"({'<1' + THIN + 'ms' if 0 < step['duration_s'] < 0.001 else milliseconds(step['duration_s'] * 1000)})"


def counts(flow):
    """How many steps are seen, cached and so on, of those that count: by everything that was read."""
    of_logs = [row for row in flow["coverage"] if row["tier"] == 2]
    count = of_logs[-1] if of_logs else Counter(step["status"] for step in flow["steps"])
    others = [f"{count[status]} {status}" for status in OTHERS if count[status]]
    others += [f"{count['window']} by time and place alone"] if count["window"] else []
    return ", ".join([f"{count['seen']} of {count['of'] or len(flow['steps'])} steps seen", *others])
