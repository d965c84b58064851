# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A history as one page for a browser: numbers, words and drawings are made here, and the template arranges them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from xml.etree import ElementTree

from .._model import codec
from .._model.history import (
    Band,
    Change,
    CloudHistory,
    History,
    HistoryCause,
    HostRuns,
    Period,
    RecentRun,
    StageTrend,
    StepTrend,
    Trend,
)
from .._record.words import clean
from .._report import text
from .._report.frame import inlined
from .._report.svg import add
from .._report.units import duration
from .._runs import frame
from .._runs.frame import minute

Svg = ElementTree.Element

PAGE = "history.html"
WIDTH, HEIGHT = 640, 96
LEFT, RIGHT, TOP, BOTTOM = 44, 6, 8, 16
SMALL = (120, 22)
# More steps are in the JSON; a page of all would be long to read and to load.
MOST_STEPS = 200
# A stage or a step is slower, or faster, if its time has changed by this factor, and by this many seconds.
SLOWER, LEAST_S = 1.3, 0.2
# Fewer points are drawn as dots, as they make no line.
LEAST_POINTS = 3
# Fields of a period, in the order in which a bar has them from below
RESULTS = ("passed", "failed", "incomplete")


def render(history: History, templates: str, links: Collection[str]) -> str:
    """Return the whole page. links: the directories of runs that are still there."""
    clouds = [cloud_view(cloud, links) for cloud in history.clouds]
    return frame.render(
        templates,
        "history.html.j2",
        {"clouds": clouds, "created": minute(history.created)},
    )


def cloud_view(cloud: CloudHistory, links: Collection[str]) -> dict[str, Any]:
    return {
        "runs": cloud.runs,
        "passed": cloud.passed,
        "failed": cloud.failed,
        "incomplete": cloud.incomplete,
        "cloud": cloud.cloud or "no cloud",
        "share": f"{100 * cloud.passed / cloud.runs:.1f} %",
        "first": minute(cloud.first),
        "last": minute(cloud.last),
        "success": inlined(success(cloud.periods)),
        "stages": list(map(stage_view, cloud.stages)),
        "steps": list(map(step_view, cloud.steps[:MOST_STEPS])),
        "more_steps": max(0, len(cloud.steps) - MOST_STEPS),
        "hosts": list(map(host_view, cloud.hosts)),
        "changes": list(map(change_view, reversed(cloud.changes))),
        "causes": [cause_view(cause, links) for cause in cloud.causes],
        "recent": [run_view(run, links) for run in cloud.recent],
    }


def stage_view(stage: StageTrend) -> dict[str, Any]:
    svg = band(stage.trend, clean(stage.stage))
    return {
        "name": stage.stage,
        "where": None,
        "flow": None,
        **trend_view(stage.trend, svg),
    }


def step_view(step: StepTrend) -> dict[str, Any]:
    name = f"{step.step} {step.message or ''}".strip()
    svg = line(step.trend, clean(name))
    return {
        "name": name,
        "where": step.component,
        "flow": step.flow,
        **trend_view(step.trend, svg),
    }


def trend_view(trend: Trend, svg: str) -> dict[str, Any]:
    return {
        "runs": trend.runs,
        "median": duration(trend.median_s),
        "p95": duration(trend.p95_s),
        "change": change_of(trend),
        "svg": inlined(svg),
    }


def change_of(trend: Trend) -> dict[str, str] | None:
    """Return how the recent runs compare with those before; None if they are much the same."""
    before, recent = trend.before_s, trend.recent_s
    is_same = (
        abs(recent - before) < LEAST_S
        or 1 / SLOWER < recent / (before or 0.001) < SLOWER
    )
    if is_same:
        return None
    word = "slower" if recent > before else "faster"
    return {
        "word": word,
        "text": f"recently {duration(recent)}, before {duration(before)}",
    }


def host_view(host: HostRuns) -> dict[str, Any]:
    return {
        **codec.to_json(host),
        "boot": duration(host.boot_s),
        "last": minute(host.last),
    }


def change_view(change: Change) -> dict[str, Any]:
    return {**codec.to_json(change), "at": minute(change.at)}


def cause_view(cause: HistoryCause, links: Collection[str]) -> dict[str, Any]:
    times = {"first": minute(cause.first), "last": minute(cause.last)}
    return {
        **codec.to_json(cause),
        **times,
        "href": report_of(cause.directory, links),
    }


def run_view(run: RecentRun, links: Collection[str]) -> dict[str, Any]:
    href = report_of(run.directory, links)
    return {
        **codec.to_json(run),
        "started": minute(run.started),
        "took": duration(run.duration_s),
        "href": href,
    }


def report_of(directory: str, links: Collection[str]) -> str | None:
    """Return the path to the report of a run, if its directory is still there."""
    return f"{directory}/{text.PAGE}" if directory in links else None


# Drawings: made as trees, so that no word can become markup


def drawing(size: tuple[int, int], kind: str, title: str) -> Svg:
    width, height = size
    svg = ElementTree.Element(
        "svg",
        {
            "viewBox": f"0 0 {width} {height}",
            "class": f"plot {kind}",
            "role": "img",
        },
    )
    add(svg, "title", text=title)
    return svg


def success(periods: Sequence[Period]) -> str:
    """Return a bar for each period: how many runs passed, failed, and did not reach their end."""
    passed = sum(period.passed for period in periods)
    failed = sum(period.failed for period in periods)
    incomplete = sum(period.incomplete for period in periods)
    title = f"Runs over time: {passed} passed, {failed} failed, {incomplete} incomplete"
    svg = drawing((WIDTH, HEIGHT), "success", title)
    most = max(period.runs for period in periods)
    wide = (WIDTH - LEFT - RIGHT) / len(periods)
    for number, period in enumerate(periods):
        place = {
            "x": round(LEFT + number * wide, 1),
            "width": round(max(wide - 1, 1), 1),
        }
        add_bar(svg, period, most, place)
    axis(svg)
    for label, y in ((most, TOP + 8), (0, HEIGHT - BOTTOM)):
        add(svg, "text", str(label), x=LEFT - 5, y=y, **{"class": "left"})
    add(svg, "text", minute(periods[0].first), x=LEFT, y=HEIGHT - 3)
    add(
        svg,
        "text",
        minute(periods[-1].last),
        x=WIDTH - RIGHT,
        y=HEIGHT - 3,
        **{"class": "left"},
    )
    return ElementTree.tostring(svg, encoding="unicode")


def add_bar(
    svg: Svg, period: Period, most: int, place: dict[str, float]
) -> None:
    """Add the bar of a period, from the passed runs at the bottom up."""
    low: float = HEIGHT - BOTTOM
    for name in RESULTS:
        high = (HEIGHT - TOP - BOTTOM) * getattr(period, name) / most
        if high:
            low -= high
            add(
                svg,
                "rect",
                None,
                y=round(low, 1),
                height=round(high, 1),
                **place,
                **{"class": name},
            )


def axis(svg: Svg) -> None:
    add(
        svg,
        "line",
        x1=LEFT,
        x2=WIDTH - RIGHT,
        y1=HEIGHT - BOTTOM,
        y2=HEIGHT - BOTTOM,
        **{"class": "axis"},
    )


def known(trend: Trend) -> list[tuple[int, Band]]:
    """Return the periods that have durations, with their numbers."""
    return [
        (number, period)
        for number, period in enumerate(trend.periods)
        if period
    ]


def band(trend: Trend, name: str) -> str:
    """Return a drawing of the median of each period as a line, and from p5 to p95 as a band around it."""
    title = f"{name}: median {duration(trend.median_s)}, p95 {duration(trend.p95_s)}"
    svg = drawing((WIDTH, HEIGHT), "band", title)
    periods = known(trend)
    if periods:
        add_band(svg, periods, len(trend.periods))
    add(svg, "text", "0", x=LEFT - 5, y=HEIGHT - BOTTOM, **{"class": "left"})
    axis(svg)
    return ElementTree.tostring(svg, encoding="unicode")


def add_band(
    svg: Svg, periods: Sequence[tuple[int, Band]], count: int
) -> None:
    top = max(period.p95_s for _number, period in periods) or 0.001
    upper = [
        point(number, count, period.p95_s / top) for number, period in periods
    ]
    middle = [
        point(number, count, period.median_s / top)
        for number, period in periods
    ]
    lower = [
        point(number, count, period.p5_s / top) for number, period in periods
    ]
    add(svg, "polygon", points=" ".join([*upper, *reversed(lower)]))
    add(svg, "polyline", points=" ".join(middle))
    if len(middle) < LEAST_POINTS:
        for x, y in (place.split(",") for place in middle):
            add(svg, "circle", cx=x, cy=y, r=2.2, **{"class": "well"})
    add(svg, "text", duration(top), x=LEFT - 5, y=TOP + 8, **{"class": "left"})


def point(number: int, count: int, share: float) -> str:
    """Return a point: the period from left to right, and the share of the highest value from below."""
    x = LEFT + (WIDTH - LEFT - RIGHT) * (number + 0.5) / count
    return f"{x:.1f},{HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share:.1f}"


def line(trend: Trend, name: str) -> str:
    """Return a drawing of the medians as a line without words, for a row of a table."""
    wide, high = SMALL
    svg = drawing(SMALL, "small", name)
    medians = [(number, period.median_s) for number, period in known(trend)]
    top = max((median for _number, median in medians), default=0) or 0.001
    points = []
    for number, median in medians:
        x = wide * (number + 0.5) / len(trend.periods)
        points.append(f"{x:.0f},{high - 2 - (high - 4) * median / top:.0f}")
    add(svg, "polyline", points=" ".join(points))
    return ElementTree.tostring(svg, encoding="unicode")
