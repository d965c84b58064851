# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A load as one page for a browser: numbers, words and drawings are made here, the template lays them out."""

from __future__ import annotations

from xml.etree import ElementTree

from .._record.clock import parse
from .._report import frame, text
from .._report.frame import inlined, scrubbed
from .._report.statuses import RESULTS
from .._report.svg import add
from .._report.units import duration

PAGE = "load.html"
WIDTH, HEIGHT = 640, 220
LEFT, RIGHT, TOP, BOTTOM = 52, 6, 10, 30
# So many components have a colour of their own.
COLOURS = 8
OTHERS = "others"
# A bar is not wider than that, however few there are.
WIDEST = 90
MOST_STEPS = 200


def render(record, template):
    return frame.render(template, view(scrubbed(record)))


def view(record):
    steps = [step for step in record["steps"] if takes_time(step)]
    stacked = [level for level in record["levels"] if level["components"]]
    names = largest(stacked)
    return {
        "load_id": record["load_id"],
        "cloud": record["cloud"] or "no cloud",
        "verdict": {**record["verdict"], "word": RESULTS[record["verdict"]["result"]]},
        "started": f"{parse(record['started']):%Y-%m-%d %H:%M:%S} UTC",
        "duration": duration(record["duration_s"]) or "not finished",
        "plan": in_words(record["plan"]),
        "knee": record["knee"],
        "levels": [level_view(level) for level in record["levels"]],
        "chart": inlined(chart(stacked, names)) if stacked else None,
        "legend": names,
        "stages": [{**timed_view(stage), "name": stage["stage"]} for stage in record["stages"]],
        "steps": [{**timed_view(step), **step} for step in steps[:MOST_STEPS]],
        "more_steps": max(0, len(steps) - MOST_STEPS),
        "causes": [{**cause, "runs": [linked(key, record) for key in cause["runs"]]} for cause in record["causes"]],
        "thresholds": record["thresholds"],
        "checks": [check for check in record["preflight"] if check["status"] != "ok"],
        "overhead": record["overhead"],
    }


def in_words(plan):
    levels = ", then ".join(str(level) for level in plan["levels"])
    rate = f", {plan['rate']:g} begin each minute" if plan["rate"] else ""
    of_each = " at each level" if len(plan["levels"]) > 1 else ""
    return f"{plan['instances']} instances{of_each}, {levels} at once{rate}"


def linked(key, record):
    run = next(run for run in record["runs"] if run["key"] == key)
    return {"key": key, "href": f"../{run['directory']}/{text.PAGE}" if run["directory"] else None}


def level_view(level):
    kinds = level["kinds"]
    return {
        **level,
        "provisioned": three(level["provisioned"]),
        "known_late": three(level["known_late"]),
        "kinds": {name: duration(seconds) for name, seconds in kinds.items()} if kinds else None,
    }


def three(spread):
    """The middle and the ends of some seconds, in words; None if there are none."""
    return [duration(spread[name]) for name in ("p50_s", "p95_s", "p99_s")] if spread else None


def takes_time(step):
    """Whether a step has seconds of its own, as one that another shows has not."""
    return any(spread["p99_s"] > 0 for spread in step["levels"] if spread)


def timed_view(timed):
    return {"cells": [three(spread) for spread in timed["levels"]], "growth": timed["growth"]}


def largest(levels):
    """The components with the most seconds, the one with the most first, and the others as one."""
    names = sorted(
        set().union(*(level["components"] for level in levels)),
        key=lambda name: -max(level["components"].get(name, 0) for level in levels),
    )
    return [*names[: COLOURS - 1], OTHERS] if len(names) > COLOURS else names


def parts_of(level, names):
    """(component, seconds) of a level, with all those that have no name of their own as one."""
    own = [(name, level["components"].get(name, 0)) for name in names if name != OTHERS]
    rest = sum(seconds for name, seconds in level["components"].items() if name not in names)
    return [*own, (OTHERS, rest)] if OTHERS in names else own


def chart(levels, names):
    """A bar for each level: for how many seconds a run waited for each component."""
    title = "Seconds for which a run waited for each component, by the number of instances at once"
    svg = ElementTree.Element("svg", {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "class": "plot stacked", "role": "img"})
    add(svg, "title", text=title)
    top = max(sum(level["components"].values()) for level in levels) or 0.001
    wide = min(WIDEST, (WIDTH - LEFT - RIGHT) / len(levels))
    for at, level in enumerate(levels):
        x, low = LEFT + at * wide, HEIGHT - BOTTOM
        for place, (name, seconds) in enumerate(parts_of(level, names)):
            high = (HEIGHT - TOP - BOTTOM) * seconds / top
            if high >= 0.1:
                low -= high
                size = {"x": round(x + 3, 1), "width": round(wide - 6, 1), "y": round(low, 1), "height": round(high, 1)}
                shape = add(svg, "rect", **size, **{"class": f"c{place}"})
                add(shape, "title", text=f"{name}: {duration(seconds)}")
        add(svg, "text", str(level["at_once"]), x=round(x + wide / 2, 1), y=HEIGHT - 14, **{"class": "middle"})
    add(svg, "line", x1=LEFT, x2=WIDTH - RIGHT, y1=HEIGHT - BOTTOM, y2=HEIGHT - BOTTOM, **{"class": "axis"})
    add(svg, "text", duration(top), x=LEFT - 5, y=TOP + 8, **{"class": "left"})
    add(svg, "text", "0", x=LEFT - 5, y=HEIGHT - BOTTOM, **{"class": "left"})
    add(svg, "text", "at once", x=LEFT, y=HEIGHT - 2)
    return ElementTree.tostring(svg, encoding="unicode")
