# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Small plots of how long a run and its stages took, beside earlier runs."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from ..._model.codec import iso_of
from ..._model.record import EarlierRun, EarlierStage, Record
from ..._model.stage import Stage
from ..._model.words import Result, StageStatus
from ..._record.run import STAGES
from ..._record.words import clean
from ..svg import add

WIDTH, HEIGHT = 240, 96
LEFT, RIGHT, TOP, BOTTOM = 34, 10, 10, 16
WHOLE = "whole run"
COLUMNS = (WHOLE, *(name.value for name in STAGES))
# In medians: a run that took longer would press all others to the ground, so its mark is cut off there.
CUT = 4
# Room above the highest mark, as a factor
HEADROOM = 1.08
# In seconds: the least height of the axis
LEAST_S = 0.001


@dataclass(frozen=True)
class Point:
    """How long a stage or a whole run took, and whether it worked. A skipped stage has no time to compare."""

    seconds: float | None
    worked: bool


@dataclass(frozen=True)
class TimedRun:
    """The times of a run, by the names of COLUMNS."""

    run_id: str
    started: str
    result: str
    points: Mapping[str, Point]


@dataclass(frozen=True)
class Panel:
    name: str
    now: str
    before: str
    svg: str


@dataclass(frozen=True)
class Row:
    run_id: str
    started: str
    result: str
    seconds: list[str]


@dataclass(frozen=True)
class Comparison:
    """The plots, and the same numbers as a table, oldest first. runs: how many earlier ones there are."""

    panels: list[Panel]
    columns: tuple[str, ...]
    rows: list[Row]
    runs: int


def comparison(
    record: Record, history: Sequence[EarlierRun]
) -> Comparison | None:
    """Return the comparison of a run with earlier ones; None without any."""
    if not history:
        return None
    earlier = sorted(history, key=lambda run: run.started)
    runs = [*map(timed_run, earlier), timed_run(record)]
    panels = [panel(name, runs) for name in COLUMNS]
    rows = list(map(row, runs))
    return Comparison(
        panels=panels, columns=COLUMNS, rows=rows, runs=len(earlier)
    )


def timed_run(run: Record | EarlierRun) -> TimedRun:
    result = run.verdict.result
    points = {name: Point(None, worked=False) for name in COLUMNS}
    points[WHOLE] = Point(run.duration_s, worked=result is Result.PASS)
    for stage in run.stages:
        points[stage.stage.value] = point_of(stage)
    return TimedRun(run.run_id, iso_of(run.started), result.value, points)


def point_of(stage: Stage | EarlierStage) -> Point:
    seconds = None if stage.status is StageStatus.SKIPPED else stage.duration_s
    return Point(seconds, worked=stage.status is StageStatus.OK)


def row(run: TimedRun) -> Row:
    started = run.started[:16].replace("T", " ")
    return Row(
        run.run_id,
        started,
        run.result,
        [short(run.points[name].seconds) for name in COLUMNS],
    )


def short(seconds: float | None) -> str:
    if seconds is None:
        return "\N{EN DASH}"
    return f"{seconds:.2f}" if seconds < 10 else f"{seconds:.1f}"


def panel(name: str, runs: list[TimedRun]) -> Panel:
    points = [run.points[name] for run in runs]
    worked = [
        point.seconds
        for point in points[:-1]
        if point.worked and point.seconds is not None
    ]
    median = statistics.median(worked) if worked else None
    seconds = points[-1].seconds
    now = "not run" if seconds is None else f"{short(seconds)} s"
    before = (
        "no earlier run to compare"
        if median is None
        else f"median before {short(median)} s"
    )
    title = f"{name}: this run {now}, {before}, {len(points) - 1} earlier runs"
    return Panel(
        name=name, now=now, before=before, svg=Plot(points, median).svg(title)
    )


class Plot:
    """A drawing of times, oldest on the left: made as a tree, so that no word can become markup."""

    def __init__(self, points: list[Point], median: float | None) -> None:
        self.points = points
        self.median = median
        self.highest = max(
            (point.seconds for point in points if point.seconds is not None),
            default=0.0,
        )
        ceiling = min(self.highest, CUT * median) if median else self.highest
        self.top = max(ceiling, LEAST_S) * HEADROOM
        self.root = ElementTree.Element(
            "svg",
            {
                "viewBox": f"0 0 {WIDTH} {HEIGHT}",
                "class": "plot",
                "role": "img",
            },
        )

    def svg(self, title: str) -> str:
        add(self.root, "title", text=clean(title))
        self.draw_axis()
        self.draw_line()
        self.draw_marks()
        if self.highest > self.top:
            self.draw_number_beyond()
        add(self.root, "text", "earlier", x=LEFT, y=HEIGHT - 3)
        add(
            self.root,
            "text",
            "this run",
            x=WIDTH - RIGHT,
            y=HEIGHT - 3,
            **{"class": "left"},
        )
        return ElementTree.tostring(self.root, encoding="unicode")

    def draw_axis(self) -> None:
        ground = HEIGHT - BOTTOM
        add(
            self.root,
            "line",
            x1=LEFT,
            x2=WIDTH - RIGHT,
            y1=ground,
            y2=ground,
            **{"class": "axis"},
        )
        for value, label in (
            (0.0, "0"),
            (self.top / HEADROOM, short(self.top / HEADROOM)),
        ):
            add(
                self.root,
                "text",
                label,
                x=LEFT - 5,
                y=self.y(value) + 3.5,
                **{"class": "left"},
            )
        if self.median is not None:
            height = self.y(self.median)
            add(
                self.root,
                "line",
                x1=LEFT,
                x2=WIDTH - RIGHT,
                y1=height,
                y2=height,
                **{"class": "median"},
            )

    def draw_line(self) -> None:
        timed = [
            (at, point.seconds)
            for at, point in enumerate(self.points)
            if point.seconds is not None
        ]
        corners = [
            f"{self.x(at):.1f},{self.y(min(seconds, self.top)):.1f}"
            for at, seconds in timed
        ]
        add(self.root, "polyline", points=" ".join(corners))

    def draw_marks(self) -> None:
        for at, point in enumerate(self.points):
            if point.seconds is not None:
                self.draw_mark(at, point.seconds, point.worked)

    def draw_mark(self, at: int, seconds: float, worked: bool) -> None:
        """Draw a run: a dot if it worked, a cross if not, an arrow if it is beyond the axis."""
        is_this = at == len(self.points) - 1
        x, y = self.x(at), self.y(min(seconds, self.top))
        kind = ("this " if is_this else "") + ("well" if worked else "bad")
        if seconds > self.top:
            shape = f"M{x - 3:.1f} {y + 5:.1f}L{x:.1f} {y:.1f}L{x + 3:.1f} {y + 5:.1f}Z"
            add(self.root, "path", d=shape, **{"class": kind})
        elif worked:
            add(
                self.root,
                "circle",
                cx=round(x, 1),
                cy=round(y, 1),
                r=4 if is_this else 2.2,
                **{"class": kind},
            )
        else:
            add(
                self.root,
                "path",
                d=f"M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6",
                **{"class": kind + " cross"},
            )

    def draw_number_beyond(self) -> None:
        """Write the seconds of the longest run beside its mark, which is cut off at the top of the axis."""
        at = next(
            at
            for at, point in enumerate(self.points)
            if point.seconds == self.highest
        )
        side, shift = (
            ("left", -6) if at > len(self.points) / 2 else ("right", 6)
        )
        add(
            self.root,
            "text",
            short(self.highest),
            x=round(self.x(at) + shift, 1),
            y=TOP + 4,
            **{"class": side},
        )

    def x(self, at: int) -> float:
        return (
            LEFT
            + 6
            + (WIDTH - LEFT - RIGHT - 12) * at / (len(self.points) - 1)
        )

    def y(self, value: float) -> float:
        return round(
            HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / self.top, 1
        )
