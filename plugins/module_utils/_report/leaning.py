# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A small drawing of the components that depend on the cause of a failure, which is marked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

from .._model.how import How
from .._model.verdict import Place, Verdict
from .._record.words import clean
from .messages.words import AT_PEER, place_of
from .svg import add

BOX, HIGH = 196, 40
ACROSS, DOWN = 92, 14
EDGE = 2
# Characters of a name that a box has room for
LONGEST = 27

Name = tuple[str, "str | None"]
Boxes = Mapping[Name, tuple[int, int]]


class Arrow(NamedTuple):
    """One component depends on another; how: it failed there so."""

    start: Name
    end: Name
    how: str | None


def drawing(verdict: Verdict) -> str | None:
    """Return an SVG element for a verdict that names a cause on which others depend, or None."""
    arrows = [
        Arrow(name_of(edge.source), name_of(edge.target), harmless(edge.how))
        for edge in verdict.dependencies
    ]
    culprit = name_of(verdict)
    columns = columns_of(culprit, arrows)
    if len(columns) < 2:
        return None
    boxes = boxes_of(columns)
    width = max(x for x, _y in boxes.values()) + BOX + EDGE
    height = max(y for _x, y in boxes.values()) + HIGH + EDGE
    about = {
        "viewBox": f"0 0 {width} {height}",
        "class": "leaning",
        "role": "img",
        "style": f"max-width:{width}px",
    }
    svg = ElementTree.Element("svg", about)
    add(svg, "title", text=title(culprit, arrows))
    for arrow in arrows:
        draw_arrow(svg, boxes, arrow)
    for name, (x, y) in boxes.items():
        draw_box(svg, name, x, y, "culprit" if name == culprit else "box")
    return ElementTree.tostring(svg, encoding="unicode")


def name_of(end: Place | Verdict) -> Name:
    return clean(end.component or ""), harmless(end.host)


def harmless(text: str | None) -> str | None:
    return None if text is None else clean(text)


def title(culprit: Name, arrows: Iterable[Arrow]) -> str:
    edges = [
        f"{place_of(*arrow.start)} depends on {place_of(*arrow.end)}"
        for arrow in arrows
    ]
    return f"{place_of(*culprit)} is the likeliest cause; {'; '.join(edges)}"


def columns_of(culprit: Name, arrows: Sequence[Arrow]) -> dict[Name, int]:
    """Return the column of each name: what depends on the culprit to its left, what that depends on to its right."""
    columns = {culprit: 0}
    spread(
        columns, culprit, [(arrow.end, arrow.start) for arrow in arrows], -1
    )
    spread(columns, culprit, [(arrow.start, arrow.end) for arrow in arrows], 1)
    # Those that depend on the same as the culprit stand below it.
    beside = [
        arrow
        for arrow in arrows
        if arrow.end in columns and arrow.start not in columns
    ]
    return {
        **columns,
        **{arrow.start: columns[arrow.end] - 1 for arrow in beside},
    }


def spread(
    columns: dict[Name, int],
    culprit: Name,
    edges: Sequence[tuple[Name, Name]],
    step: int,
) -> None:
    """Give the names that are reached from the culprit their columns, one step further each."""
    column, reached = 0, [culprit]
    while reached:
        column += step
        reached = [
            end
            for start, end in edges
            if start in reached and end not in columns
        ]
        columns.update(dict.fromkeys(reached, column))


def boxes_of(columns: Mapping[Name, int]) -> dict[Name, tuple[int, int]]:
    """Return the place of each box: each column stands in the middle of the highest."""
    first = min(columns.values())
    rows: dict[int, list[Name]] = {}
    for name, column in columns.items():
        rows.setdefault(column, []).append(name)
    most = max(map(len, rows.values()))
    boxes = {}
    for column, names in rows.items():
        x = EDGE + (column - first) * (BOX + ACROSS)
        for row, name in enumerate(names):
            y = EDGE + round(((most - len(names)) / 2 + row) * (HIGH + DOWN))
            boxes[name] = (x, y)
    return boxes


def draw_arrow(svg: ElementTree.Element, boxes: Boxes, arrow: Arrow) -> None:
    """Draw an arrow from the right of a box to the left of another one; one that would go back is left out."""
    if (
        arrow.start not in boxes
        or arrow.end not in boxes
        or boxes[arrow.start][0] >= boxes[arrow.end][0]
    ):
        return
    x1, y1 = boxes[arrow.start][0] + BOX, boxes[arrow.start][1] + HIGH / 2
    x2, y2 = boxes[arrow.end][0], boxes[arrow.end][1] + HIGH / 2
    add(
        svg,
        "line",
        x1=x1,
        y1=y1,
        x2=x2 - 7,
        y2=y2,
        **{"class": "failed" if arrow.how else "leans"},
    )
    add(
        svg,
        "path",
        d=f"M{x2 - 8} {y2 - 4}L{x2} {y2}L{x2 - 8} {y2 + 4}Z",
        **{"class": "head"},
    )
    if arrow.how:
        add(
            svg,
            "text",
            short(arrow.how),
            x=(x1 + x2) / 2,
            y=(y1 + y2) / 2 - 5,
            **{"class": "how"},
        )


def short(how: str) -> str:
    """Return how a component failed at another one, as an arrow has room for it."""
    known = How.of(how)
    return AT_PEER[known].short if known in AT_PEER and known else how


def cut(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def draw_box(
    svg: ElementTree.Element, name: Name, x: float, y: float, kind: str
) -> None:
    component, host = name
    middle = x + BOX / 2
    add(svg, "rect", x=x, y=y, width=BOX, height=HIGH, rx=6, **{"class": kind})
    add(
        svg,
        "text",
        cut(component),
        x=middle,
        y=y + (17 if host else 25),
        **{"class": f"name {kind}-name"},
    )
    if host:
        add(
            svg,
            "text",
            cut(host),
            x=middle,
            y=y + 32,
            **{"class": f"host {kind}-name"},
        )
