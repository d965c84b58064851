# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Small plots of how long a run and its stages took, beside earlier runs."""

from __future__ import annotations

import statistics
from xml.etree import ElementTree

from .._record.run import STAGES
from .svg import add

WIDTH, HEIGHT = 240, 96
LEFT, RIGHT, TOP, BOTTOM = 34, 10, 10, 16
WHOLE = "whole run"
# A run that took longer than so many medians would press all others to the ground: its mark is cut off there.
CUT = 4


def plots(record, history):
    """The plots of a run, and the same numbers as a table, oldest first; None without an earlier run."""
    runs = [*sorted(history, key=lambda run: run["started"]), record]
    if len(runs) < 2:
        return None
    return {
        "panels": [panel(name, [point(run, name) for run in runs]) for name in (WHOLE, *STAGES)],
        "columns": (WHOLE, *STAGES),
        "rows": [row(run) for run in runs],
        "runs": len(runs) - 1,
    }


def point(run, name):
    """(seconds, whether it went well) of a stage or of the whole run; a skipped stage has no time to compare."""
    if name == WHOLE:
        return run["duration_s"], run["verdict"]["result"] == "pass"
    stage = next((stage for stage in run["stages"] if stage["stage"] == name), None)
    if stage is None or stage["status"] == "skipped":
        return None, False
    return stage["duration_s"], stage["status"] == "ok"


def row(run):
    return {
        "run_id": run["run_id"],
        "started": run["started"][:16].replace("T", " "),
        "result": run["verdict"]["result"],
        "seconds": [short(point(run, name)[0]) for name in (WHOLE, *STAGES)],
    }


def short(seconds):
    if seconds is None:
        return "\N{EN DASH}"
    return f"{seconds:.2f}" if seconds < 10 else f"{seconds:.1f}"


def panel(name, points):
    worked = [seconds for seconds, well in points[:-1] if well and seconds is not None]
    median = statistics.median(worked) if worked else None
    seconds = points[-1][0]
    now = "not run" if seconds is None else f"{short(seconds)} s"
    before = "no earlier run to compare" if median is None else f"median before {short(median)} s"
    title = f"{name}: this run {now}, {before}, {len(points) - 1} earlier runs"
    return {"name": name, "now": now, "before": before, "svg": drawing(title, points, median)}


def ceiling(highest, median):
    """The number at the top of the axis."""
    return max(min(highest, CUT * median) if median else highest, 0.001) * 1.08


def drawing(title, points, median):
    """An SVG element: made as a tree, so that no word can become markup."""
    highest = max((seconds for seconds, _well in points if seconds is not None), default=0)
    top = ceiling(highest, median)
    svg = ElementTree.Element("svg", {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "class": "plot", "role": "img"})
    add(svg, "title", text=title)
    add(svg, "line", x1=LEFT, x2=WIDTH - RIGHT, y1=HEIGHT - BOTTOM, y2=HEIGHT - BOTTOM, **{"class": "axis"})
    for value in (0, top / 1.08):
        add(svg, "text", short(value) if value else "0", x=LEFT - 5, y=level(value, top) + 3.5, **{"class": "left"})
    if median is not None:
        height = level(median, top)
        add(svg, "line", x1=LEFT, x2=WIDTH - RIGHT, y1=height, y2=height, **{"class": "median"})
    marks = [(place(at, points), *point) for at, point in enumerate(points)]
    line = [f"{x:.1f},{level(min(seconds, top), top):.1f}" for x, seconds, _well in marks if seconds is not None]
    add(svg, "polyline", points=" ".join(line))
    for at, (x, seconds, well) in enumerate(marks):
        if seconds is not None:
            mark(svg, x, seconds, top, well, at == len(marks) - 1)
    if highest > top:
        label_beyond(svg, points, highest)
    add(svg, "text", "earlier", x=LEFT, y=HEIGHT - 3)
    add(svg, "text", "this run", x=WIDTH - RIGHT, y=HEIGHT - 3, **{"class": "left"})
    return ElementTree.tostring(svg, encoding="unicode")


def label_beyond(svg, points, highest):
    """The seconds of the longest run beside its mark, which is cut off at the top of the axis."""
    at = next(at for at, (seconds, _well) in enumerate(points) if seconds == highest)
    side, shift = ("left", -6) if at > len(points) / 2 else ("right", 6)
    add(svg, "text", short(highest), x=round(place(at, points) + shift, 1), y=TOP + 4, **{"class": side})


def mark(svg, x, seconds, top, well, is_this):
    """A run: a dot if it went well, a cross if not, an arrow if it is beyond the axis."""
    y = level(min(seconds, top), top)
    kind = ("this " if is_this else "") + ("well" if well else "bad")
    if seconds > top:
        add(svg, "path", d=f"M{x - 3:.1f} {y + 5:.1f}L{x:.1f} {y:.1f}L{x + 3:.1f} {y + 5:.1f}Z", **{"class": kind})
    elif well:
        add(svg, "circle", cx=round(x, 1), cy=round(y, 1), r=4 if is_this else 2.2, **{"class": kind})
    else:
        add(svg, "path", d=f"M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6", **{"class": kind + " cross"})


def place(at, points):
    return LEFT + 6 + (WIDTH - LEFT - RIGHT - 12) * at / (len(points) - 1)


def level(value, top):
    return round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / top, 1)
