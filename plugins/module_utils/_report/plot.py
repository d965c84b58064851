# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long the stages of a run took, beside those of earlier runs, as small plots."""

from __future__ import annotations

import statistics
from xml.etree import ElementTree

from .._record.run import STAGES

WIDTH, HEIGHT = 240, 96
LEFT, RIGHT, TOP, BOTTOM = 34, 10, 10, 16
WHOLE = "whole run"
# A run that took so many times the median would press all others to the ground: it is cut off.
CUT = 4


def plots(record, history):
    """The plots of a run, and the same numbers as a table, oldest first; None if there is nothing to compare."""
    runs = [*sorted(history, key=lambda one: one["started"]), record]
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
    stage = next((one for one in run["stages"] if one["stage"] == name), None)
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
    known = [seconds for seconds, _well in points if seconds is not None]
    worked = [seconds for seconds, well in points[:-1] if well and seconds is not None]
    median = statistics.median(worked) if worked else None
    now = points[-1][0]
    said = "not run" if now is None else f"{short(now)} s"
    before = "no earlier run to compare" if median is None else f"median before {short(median)} s"
    return {"name": name, "now": said, "before": before, "svg": drawing(name, points, known, median, said, before)}


def ceiling(known, median):
    """The number at the top of the axis."""
    highest = max(known, default=0)
    return max(min(highest, CUT * median) if median else highest, 0.001) * 1.08


def drawing(name, points, known, median, said, before):
    """An SVG element: made as a tree, so that no word can become markup."""
    top = ceiling(known, median)
    svg = ElementTree.Element("svg", {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "class": "plot", "role": "img"})
    add(svg, "title", text=f"{name}: this run {said}, {before}, {len(points) - 1} earlier runs")
    add(svg, "line", x1=LEFT, x2=WIDTH - RIGHT, y1=HEIGHT - BOTTOM, y2=HEIGHT - BOTTOM, **{"class": "axis"})
    for value in (0, top / 1.08):
        add(svg, "text", short(value) if value else "0", x=LEFT - 5, y=level(value, top) + 3.5, **{"class": "left"})
    if median is not None:
        height = level(median, top)
        add(svg, "line", x1=LEFT, x2=WIDTH - RIGHT, y1=height, y2=height, **{"class": "median"})
    line = [
        f"{place(at, points):.1f},{level(min(one[0], top), top):.1f}"
        for at, one in enumerate(points)
        if one[0] is not None
    ]
    add(svg, "polyline", points=" ".join(line))
    for at, (seconds, well) in enumerate(points):
        if seconds is not None:
            mark(svg, place(at, points), seconds, top, well, at == len(points) - 1)
    if known and max(known) > top:
        highest = next(at for at, one in enumerate(points) if one[0] == max(known))
        x, side = place(highest, points), "left" if highest > len(points) / 2 else "right"
        add(svg, "text", short(max(known)), x=round(x + (-6 if side == "left" else 6), 1), y=TOP + 4, **{"class": side})
    add(svg, "text", "earlier", x=LEFT, y=HEIGHT - 3)
    add(svg, "text", "this run", x=WIDTH - RIGHT, y=HEIGHT - 3, **{"class": "left"})
    return ElementTree.tostring(svg, encoding="unicode")


def mark(svg, x, seconds, top, well, is_this):
    """A run: a dot if it went well, a cross if not, an arrow if it is beyond the axis."""
    y, kind = level(min(seconds, top), top), ("this " if is_this else "") + ("well" if well else "bad")
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


def add(parent, tag, text=None, **attributes):
    element = ElementTree.SubElement(parent, tag, {name: str(value) for name, value in attributes.items()})
    element.text = text
    return element
