# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A flow's steps in the order in which they happened, with the texts that all drawings of them share."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import groupby

from .._record.clock import seconds_of
from .text import THIN, clean, grouped

OTHERS = ("cached", "absent", "skipped", "unseen", "missing")


@dataclass(frozen=True)
class Row:
    """A step at its place. at: its time in seconds. after_ms: since the first step.

    unsure: it may have happened before the row above it.
    """

    step: dict
    at: float | None
    after_ms: float | None
    unsure: bool


def drawn(record):
    """(name, flow) of each drawing of a run: its main flow, those told beside a stage, and the whole run."""
    main, *others = record["flows"] or [None]
    if main is None:
        return []
    stages = [flow for flow in others if flow["told_as"] == "stage" and any(map(took_part, flow["steps"]))]
    run = [("run", whole([main, *stages]))] if stages else []
    return [("flow", main), *((f"flow-{word_of(flow)}", flow) for flow in stages), *run]


def word_of(flow):
    """A flow's name as files and ids may have it; the flow may be anybody's."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", flow["name"])[:40]


def took_part(step):
    return step["status"] != "skipped"


def whole(flows):
    """All flows of a run as one: their steps lie between each other by their times."""
    return {
        "name": "run",
        "title": "The whole run",
        "lifelines": list(dict.fromkeys(name for flow in flows for name in flow["lifelines"])),
        "steps": [step for flow in flows for step in flow["steps"] if took_part(step)],
        "coverage": [],
    }


def plain(text):
    """A text in one line, without what would control a terminal or break XML."""
    return " ".join(clean(text).split())


def rows(flow):
    """The steps in order, as rows of a drawing."""
    timed = [(step, seconds_of(step["at"]) if step["at"] else None) for step in flow["steps"]]
    first = min((at for _step, at in timed if at is not None), default=None)
    made, above = [], None
    for step, at in in_order(timed):
        if at is None:
            made.append(Row(step, None, None, False))
            continue
        unsure = above is not None and at - above.at < slack(above.step) + slack(step)
        above = Row(step, at, (at - first) * 1000, unsure)
        made.append(above)
    return made


def in_order(timed):
    """Pairs of a step and its time, by time; a step without one stays behind the step that it follows in the flow."""
    groups, begun = [[]], False
    for step, at in timed:
        # Steps before the first time have nothing to follow: they go with the step of that time.
        if at is not None and begun:
            groups.append([])
        begun = begun or at is not None
        groups[-1].append((step, at))
    groups.sort(key=lambda group: next((at for _step, at in group if at is not None), 0.0))
    return [pair for group in groups for pair in group]


def slack(step):
    """By how much a step's time may be wrong, in seconds."""
    return (step["resolution_s"] or 0) + (step["error_s"] or 0)


def bands(all_rows):
    """Rows of one phase that follow each other, as (phase, rows); phases that overlap in time take turns."""
    return [(phase, list(group)) for phase, group in groupby(all_rows, key=lambda row: row.step["phase"])]


def lifelines(flow):
    """The flow's lifelines, and those that only its steps name."""
    ends = (step[end] for step in flow["steps"] for end in ("source", "target"))
    return list(dict.fromkeys([*flow["lifelines"], *ends]))


def milliseconds(value):
    return f"{grouped(value)}{THIN}ms"


def after(row):
    """The time since the first step: +1 234 ms. Nothing for a step without a time."""
    return "" if row.after_ms is None else "+" + milliseconds(row.after_ms)


def duration(step):
    """How long the step took: (446 ms), and nothing where that is not known."""
    seconds = step["duration_s"]
    if seconds is None:
        return ""
    return f"(<1{THIN}ms)" if 0 < seconds < 0.001 else f"({milliseconds(seconds * 1000)})"


def counts(flow):
    """How many of the counted steps are seen, cached and so on, by everything that was read."""
    of_logs = [row for row in flow["coverage"] if row["tier"] == 2]
    count = of_logs[-1] if of_logs else Counter(step["status"] for step in flow["steps"])
    others = [f"{count[status]} {status}" for status in OTHERS if count[status]]
    others += [f"{count['window']} by time and place alone"] if count["window"] else []
    return ", ".join([f"{count['seen']} of {count['of'] or len(flow['steps'])} steps seen", *others])
