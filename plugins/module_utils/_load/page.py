# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A load test as one page for a browser: numbers, words and drawings are made here, the template arranges them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any
from xml.etree import ElementTree

from .._model import codec
from .._model.load import (
    Breakdown,
    LoadCause,
    LoadLevel,
    LoadPlan,
    LoadTest,
    Spread,
    StageLevels,
    StepLevels,
)
from .._model.sweep import PreflightCheck, PreflightStatus
from .._record.words import clean
from .._report import text
from .._report.frame import inlined
from .._report.svg import add
from .._report.units import duration
from .._runs import frame

PAGE = "load.html"
WIDTH, HEIGHT = 640, 220
LEFT, RIGHT, TOP, BOTTOM = 52, 6, 10, 30
# As many components have a colour of their own.
COLOURS = 8
OTHERS = "others"
# A bar is not wider than that, however few there are.
WIDEST = 90
# A flatter part of a bar cannot be seen.
FLATTEST = 0.1
MOST_STEPS = 200

Svg = ElementTree.Element


def render(test: LoadTest, templates: str) -> str:
    """Return the whole page. templates: the folder of the templates."""
    return frame.render(templates, "load.html.j2", view(test))


def view(test: LoadTest) -> dict[str, Any]:
    steps = list(filter(takes_time, test.steps))
    stacked = list(filter(attrgetter("components"), test.levels))
    names = largest(stacked)
    links = {run.key: report_of(run.directory) for run in test.runs}
    return {
        **frame.header(
            test.verdict.result,
            test.verdict.reason,
            test.started,
            test.duration_s,
        ),
        "load_id": test.load_id,
        "cloud": test.cloud or "no cloud",
        "plan": in_words(test.plan),
        "saturation_point": codec.to_json(test.saturation_point),
        "levels": list(map(level_view, test.levels)),
        "chart": inlined(chart(stacked, names)) if stacked else None,
        "legend": names,
        "stages": list(map(stage_view, test.stages)),
        "steps": list(map(step_view, steps[:MOST_STEPS])),
        "more_steps": max(0, len(steps) - MOST_STEPS),
        "causes": [cause_view(cause, links) for cause in test.causes],
        "thresholds": codec.to_json(test.thresholds),
        "checks": codec.to_json(not_passed(test.preflight)),
        "overhead": codec.to_json(test.overhead),
    }


def in_words(plan: LoadPlan) -> str:
    levels = ", then ".join(map(str, plan.levels))
    rate = f", {plan.rate:g} begin each minute" if plan.rate else ""
    of_each = " at each level" if len(plan.levels) > 1 else ""
    return f"{plan.instances} instances{of_each}, {levels} in parallel{rate}"


def report_of(directory: str | None) -> str | None:
    return f"../{directory}/{text.PAGE}" if directory else None


def cause_view(
    cause: LoadCause, links: Mapping[str, str | None]
) -> dict[str, Any]:
    runs = [{"key": key, "href": links.get(key)} for key in cause.runs]
    return {**codec.to_json(cause), "runs": runs}


def level_view(level: LoadLevel) -> dict[str, Any]:
    return {
        "parallel": level.parallel,
        "runs": level.runs,
        "passed": level.passed,
        "per_minute": level.per_minute,
        "provisioned": three(level.provisioned),
        "detection_delay": three(level.detection_delay),
        "breakdown": breakdown_view(level.breakdown),
    }


def breakdown_view(
    breakdown: Breakdown | None,
) -> dict[str, str | None] | None:
    if breakdown is None:
        return None
    return {
        "queue": duration(breakdown.queue),
        "work": duration(breakdown.work),
        "polling": duration(breakdown.polling),
    }


def three(spread: Spread | None) -> list[str | None] | None:
    """Return median and percentiles in words; None if there are none."""
    if spread is None:
        return None
    return list(map(duration, (spread.p50_s, spread.p95_s, spread.p99_s)))


def takes_time(step: StepLevels) -> bool:
    """Return whether a step has seconds of its own. One that another stands for has none."""
    return any(spread.p99_s > 0 for spread in filter(None, step.levels))


def timed_view(timed: StageLevels | StepLevels) -> dict[str, Any]:
    return {
        "cells": list(map(three, timed.levels)),
        "growth": timed.growth,
    }


def stage_view(stage: StageLevels) -> dict[str, Any]:
    return {**timed_view(stage), "name": stage.stage}


def not_passed(checks: Sequence[PreflightCheck]) -> list[PreflightCheck]:
    return [
        check for check in checks if check.status is not PreflightStatus.OK
    ]


def step_view(step: StepLevels) -> dict[str, Any]:
    words = {
        "flow": step.flow,
        "step": step.step,
        "message": step.message,
        "component": step.component,
    }
    return {**timed_view(step), **words}


def largest(levels: Sequence[LoadLevel]) -> list[str]:
    """Return the components with the most seconds, the one with the most first, and the others as one."""
    most: dict[str, float] = {}
    for level in levels:
        for name, seconds in level.components.items():
            most[name] = max(seconds, most.get(name, 0.0))
    names = sorted(sorted(most), key=lambda name: -most[name])
    if len(names) > COLOURS:
        return [*names[: COLOURS - 1], OTHERS]
    return names


def parts_of(
    level: LoadLevel, names: Sequence[str]
) -> list[tuple[str, float]]:
    """Return the components of a level with their seconds; those that have no colour of their own are one."""
    parts = [
        (name, level.components.get(name, 0.0))
        for name in names
        if name != OTHERS
    ]
    if OTHERS in names:
        rest = [
            seconds
            for name, seconds in level.components.items()
            if name not in names
        ]
        parts.append((OTHERS, sum(rest)))
    return parts


def chart(levels: Sequence[LoadLevel], names: Sequence[str]) -> str:
    """Return a bar for each level: for how many seconds a run waited for each component."""
    svg = ElementTree.Element(
        "svg",
        {
            "viewBox": f"0 0 {WIDTH} {HEIGHT}",
            "class": "plot stacked",
            "role": "img",
        },
    )
    add(
        svg,
        "title",
        text="Seconds for which a run waited for each component, by the number of instances in parallel",
    )
    top = max(sum(level.components.values()) for level in levels) or 0.001
    wide = min(WIDEST, (WIDTH - LEFT - RIGHT) / len(levels))
    for number, level in enumerate(levels):
        x = LEFT + number * wide
        add_bar(svg, parts_of(level, names), (x, wide), top)
        add(
            svg,
            "text",
            str(level.parallel),
            x=round(x + wide / 2, 1),
            y=HEIGHT - 14,
            **{"class": "middle"},
        )
    add(
        svg,
        "line",
        x1=LEFT,
        x2=WIDTH - RIGHT,
        y1=HEIGHT - BOTTOM,
        y2=HEIGHT - BOTTOM,
        **{"class": "axis"},
    )
    add(svg, "text", duration(top), x=LEFT - 5, y=TOP + 8, **{"class": "left"})
    add(svg, "text", "0", x=LEFT - 5, y=HEIGHT - BOTTOM, **{"class": "left"})
    add(svg, "text", "in parallel", x=LEFT, y=HEIGHT - 2)
    return ElementTree.tostring(svg, encoding="unicode")


def add_bar(
    svg: Svg,
    parts: Sequence[tuple[str, float]],
    place: tuple[float, float],
    top: float,
) -> None:
    """Add the bar of a level. place: its left end and its width. top: the seconds of the highest bar."""
    x, wide = place
    low: float = HEIGHT - BOTTOM
    for colour, (name, seconds) in enumerate(parts):
        high = (HEIGHT - TOP - BOTTOM) * seconds / top
        if high < FLATTEST:
            continue
        low -= high
        size = {
            "x": round(x + 3, 1),
            "width": round(wide - 6, 1),
            "y": round(low, 1),
            "height": round(high, 1),
        }
        shape = add(svg, "rect", None, **size, **{"class": f"c{colour}"})
        add(shape, "title", text=clean(f"{name}: {duration(seconds)}"))
