# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A history as one page for a browser: numbers, words and drawings are made here, the template lays them out."""

from __future__ import annotations

from xml.etree import ElementTree

from .._record.clock import parse
from .._report import frame, text
from .._report.frame import inlined, scrubbed
from .._report.svg import add
from .._report.units import duration

PAGE = "history.html"
WIDTH, HEIGHT = 640, 96
LEFT, RIGHT, TOP, BOTTOM = 44, 6, 8, 16
SMALL = (120, 22)
# More steps are in the JSON; a page of all would be long to read and to load.
MOST_STEPS = 200
# A stage or a step is slower, or faster, if its time has changed by this share, and by so many seconds.
SLOWER, LEAST_S = 1.3, 0.2
RESULTS = ("passed", "failed", "incomplete")


def render(history, template, links):
    """Return the whole page. links: the directories of runs that are still there."""
    history = scrubbed(history)
    clouds = [cloud_view(cloud, links) for cloud in history["clouds"]]
    return frame.render(template, {"clouds": clouds, "made": minute(history["made"])})


def cloud_view(cloud, links):
    return {
        **{name: cloud[name] for name in ("runs", *RESULTS)},
        "cloud": cloud["cloud"] or "no cloud",
        "share": f"{100 * cloud['passed'] / cloud['runs']:.1f} %",
        "first": minute(cloud["first"]),
        "last": minute(cloud["last"]),
        "success": inlined(success(cloud["pieces"])),
        "stages": [timed_view(stage, stage["stage"], band) for stage in cloud["stages"]],
        "steps": [timed_view(step, step_name(step), line) for step in cloud["steps"][:MOST_STEPS]],
        "more_steps": max(0, len(cloud["steps"]) - MOST_STEPS),
        "hosts": [{**host, "boot": duration(host["boot_s"]), "last": minute(host["last"])} for host in cloud["hosts"]],
        "changes": [{**change, "at": minute(change["at"])} for change in reversed(cloud["changes"])],
        "causes": [linked(cause, links, "first", "last") for cause in cloud["causes"]],
        "newest": [{**linked(run, links, "started"), "took": duration(run["duration_s"])} for run in cloud["newest"]],
    }


def minute(at):
    return f"{parse(at):%Y-%m-%d %H:%M}"


def linked(entry, links, *times):
    """What is said of a run, with the way to its report if that is still there."""
    href = f"{entry['directory']}/{text.PAGE}" if entry["directory"] in links else None
    return {**entry, **{name: minute(entry[name]) for name in times}, "href": href}


def step_name(step):
    return f"{step['step']} {step['message'] or ''}".strip()


def timed_view(timed, name, draw):
    return {
        "name": name,
        "where": timed.get("component"),
        "flow": timed.get("flow"),
        "runs": timed["runs"],
        "median": duration(timed["median_s"]),
        "p95": duration(timed["p95_s"]),
        "trend": trend(timed),
        "svg": inlined(draw(timed, name)),
    }


def trend(timed):
    """How the last tenth of the runs compares with those before; None if it is much the same."""
    before, lately = timed["before_s"], timed["lately_s"]
    if before is None or abs(lately - before) < LEAST_S or 1 / SLOWER < lately / (before or 0.001) < SLOWER:
        return None
    word = "slower" if lately > before else "faster"
    return {"word": word, "says": f"lately {duration(lately)}, before {duration(before)}"}


# Drawings: made as trees, so that no word can become markup


def drawing(width, height, kind, title):
    svg = ElementTree.Element("svg", {"viewBox": f"0 0 {width} {height}", "class": f"plot {kind}", "role": "img"})
    add(svg, "title", text=title)
    return svg


def success(pieces):
    """A bar for each piece of time: how many runs passed, failed and had no end."""
    counted = [sum(piece[name] for piece in pieces) for name in RESULTS]
    title = ", ".join(f"{count} {name}" for count, name in zip(counted, RESULTS))
    svg = drawing(WIDTH, HEIGHT, "success", f"Runs over time: {title}")
    most, wide = max(piece["runs"] for piece in pieces), (WIDTH - LEFT - RIGHT) / len(pieces)
    for at, piece in enumerate(pieces):
        low = HEIGHT - BOTTOM
        for name in RESULTS:
            high = (HEIGHT - TOP - BOTTOM) * piece[name] / most
            if high:
                low -= high
                place = {"x": round(LEFT + at * wide, 1), "width": round(max(wide - 1, 1), 1)}
                add(svg, "rect", y=round(low, 1), height=round(high, 1), **place, **{"class": name})
    axis(svg, most, pieces)
    return ElementTree.tostring(svg, encoding="unicode")


def axis(svg, most, pieces):
    add(svg, "line", x1=LEFT, x2=WIDTH - RIGHT, y1=HEIGHT - BOTTOM, y2=HEIGHT - BOTTOM, **{"class": "axis"})
    for label, y in ((most, TOP + 8), (0, HEIGHT - BOTTOM)):
        add(svg, "text", str(label), x=LEFT - 5, y=y, **{"class": "left"})
    add(svg, "text", minute(pieces[0]["from"]), x=LEFT, y=HEIGHT - 3)
    add(svg, "text", minute(pieces[-1]["to"]), x=WIDTH - RIGHT, y=HEIGHT - 3, **{"class": "left"})


def band(timed, name):
    """The median of each piece of time as a line, and from p5 to p95 as a band around it."""
    there = [(at, piece) for at, piece in enumerate(timed["pieces"]) if piece]
    svg = drawing(
        WIDTH, HEIGHT, "band", f"{name}: median {duration(timed['median_s'])}, p95 {duration(timed['p95_s'])}"
    )
    if there:
        top = max(piece[2] for _at, piece in there) or 0.001
        points = [[place(at, len(timed["pieces"]), value / top) for value in piece] for at, piece in there]
        around = [*(point[2] for point in points), *(point[0] for point in reversed(points))]
        add(svg, "polygon", points=" ".join(around))
        add(svg, "polyline", points=" ".join(point[1] for point in points))
        for x, y in (point[1].split(",") for point in points) if len(points) < 3 else ():
            add(svg, "circle", cx=x, cy=y, r=2.2, **{"class": "well"})
        add(svg, "text", duration(top), x=LEFT - 5, y=TOP + 8, **{"class": "left"})
    add(svg, "text", "0", x=LEFT - 5, y=HEIGHT - BOTTOM, **{"class": "left"})
    add(svg, "line", x1=LEFT, x2=WIDTH - RIGHT, y1=HEIGHT - BOTTOM, y2=HEIGHT - BOTTOM, **{"class": "axis"})
    return ElementTree.tostring(svg, encoding="unicode")


def place(at, count, share):
    """A point: the piece of time from left to right, and the share of the highest value from below."""
    x = LEFT + (WIDTH - LEFT - RIGHT) * (at + 0.5) / count
    return f"{x:.1f},{HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share:.1f}"


def line(timed, name):
    """The medians as a line without words, for a row of a table."""
    wide, high = SMALL
    svg = drawing(wide, high, "small", name)
    there = [(at, piece[1]) for at, piece in enumerate(timed["pieces"]) if piece]
    top = max((median for _at, median in there), default=0) or 0.001
    count = len(timed["pieces"])
    points = [f"{wide * (at + 0.5) / count:.0f},{high - 2 - (high - 4) * median / top:.0f}" for at, median in there]
    add(svg, "polyline", points=" ".join(points))
    return ElementTree.tostring(svg, encoding="unicode")
