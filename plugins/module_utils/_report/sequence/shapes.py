# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The shapes of a sequence diagram: arrows, the marks of steps, lifelines, bars and bands."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from ..._model.flow import Step
from ..._model.words import StepStatus
from ..statuses import LOOK_OF
from . import rows
from .layout import (
    FIRST,
    ID,
    LINE,
    MARGIN,
    MESSAGE,
    TIME,
    WAY,
    Band,
    Bar,
    Layout,
    Placed,
    shorten,
    text_width,
)
from .rows import Row, plain

Point = tuple[float, float]
# Of an arrow: its head, and the cross on one that did not happen
HEAD, HALF_HEAD, HALF_CROSS = 10, 5, 5
# Of a bar: half of its width, and by how much one that is under way on another one stands to its right
HALF_BAR, DEEPER = 4, 4
# In characters of the widest font: the list has room for an id of some ten.
ID_ROOM = 44
LOOP_SIDE, LOOP_HEIGHT = 22, 12


def node(
    tag: str,
    *children: Element,
    text: str | None = None,
    **attributes: str | float,
) -> Element:
    """Return an element: attributes without their trailing _, numbers as short as they can be."""
    named = {
        name.rstrip("_").replace("_", "-"): number(value)
        for name, value in attributes.items()
    }
    element = Element(tag, named)
    element.text = text
    element.extend(children)
    return element


def number(value: str | float) -> str:
    return (
        value if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
    )


def shapes(plan: Layout) -> Iterator[Element]:
    """Yield all shapes of a diagram, those in the background first."""
    phases = list(dict.fromkeys(band.phase for band in plan.bands))
    for count, band in enumerate(plan.bands):
        yield from ground(band, phases.index(band.phase), count, plan)
    for x in plan.x.values():
        yield node(
            "line",
            x1=x,
            y1=plan.top,
            x2=x,
            y2=plan.bottom,
            class_="flow-lifeline",
        )
    yield from names(plan)
    for request in plan.bars:
        yield activation(request, plan)
    for band in plan.bands:
        for placed in band.placed:
            yield step_group(placed, plan)


def names(plan: Layout) -> Iterator[Element]:
    """Yield the names of the lifelines, slanted, at both of their ends."""
    for name, x in plan.x.items():
        yield name_at(name, x + 3, plan.top - 5, -45, plan)
        yield name_at(name, x - 4, plan.bottom + 13, 45, plan)


def name_at(
    name: str, x: float, y: float, angle: int, plan: Layout
) -> Element:
    text = node(
        "text",
        class_="flow-name",
        transform=f"translate({number(x)} {number(y)}) rotate({angle})",
    )
    title = node("title", text=plain(name))
    title.tail = plan.names[name]
    text.append(title)
    return text


def ground(
    band: Band, phase: int, count: int, plan: Layout
) -> Iterator[Element]:
    """Yield the band behind a phase: a stripe in the phase's colour, and its name."""
    high = band.bottom - band.top
    # Colours next to each other on this walk around the circle are far apart.
    hue = f"hsl({(212 + 137 * phase) % 360}, 50%, 52%)"
    style = "flow-shade" if count % 2 == 0 else "flow-paper"
    yield node(
        "rect", x=0, y=band.top, width=plan.width, height=high, class_=style
    )
    yield node(
        "rect", x=0, y=band.top + 2, width=5, height=high - 4, rx=2.5, fill=hue
    )
    if band.phase:
        text = shorten(plain(band.phase), FIRST - 2 * MARGIN, 14)
        yield node(
            "text",
            x=MARGIN,
            y=band.top + 17,
            class_="flow-small flow-strong",
            text=text,
        )


def activation(request: Bar, plan: Layout) -> Element:
    x = plan.x[request.lifeline] - HALF_BAR + DEEPER * request.depth
    return node(
        "rect",
        x=x,
        y=request.top,
        width=2 * HALF_BAR,
        height=request.bottom - request.top,
        rx=2,
        class_="flow-bar",
    )


def step_group(placed: Placed, plan: Layout) -> Element:
    """Return a step: its time, id, message and ends in the list, and its arrow."""
    row, y = placed.row, placed.y
    step = row.step
    start, end = plan.x[step.source], plan.x[step.target]
    return node(
        "g",
        node("title", text=full(step)),
        *time_texts(row, y),
        *mark(plain(step.id), y),
        *message(placed),
        node(
            "line",
            x1=FIRST - MARGIN,
            y1=y,
            x2=min(start, end),
            y2=y,
            class_="flow-guide",
        ),
        *arrow(route(step, y, plan), step.status),
        class_=f"flow-step flow-{step.status}",
    )


def full(step: Step) -> str:
    """Return the step in full, as the picture shortens texts."""
    where = f"{step.id}: {step.source} → {step.target}: {step.message} ({step.kind}). {step.status}"
    host = f"on {step.host}" if step.host else None
    return plain(
        ". ".join([where, *filter(None, (step.reason, host, step.today))])
    )


def time_texts(row: Row, y: float) -> list[Element]:
    made = [
        node(
            "text", x=TIME, y=y + 4.5, class_="flow-time", text=rows.after(row)
        )
    ]
    if row.unsure:
        made.append(
            node("text", x=MARGIN + 8, y=y + 4.5, class_="flow-time", text="≈")
        )
    return made


def mark(text: str, y: float) -> list[Element]:
    """Return a step's id in its mark."""
    text = shorten(text, ID_ROOM, 13)
    wide = max(26, text_width(text, 13) + 10)
    return [
        node(
            "rect",
            x=ID - wide / 2,
            y=y - 9.5,
            width=wide,
            height=19,
            rx=9.5,
            class_="flow-pill",
        ),
        node("text", x=ID, y=y + 4.5, class_="flow-id", text=text),
    ]


def message(placed: Placed) -> list[Element]:
    """Return a step's message, and below it its ends, how long it took, and its status."""
    outcome = rows.outcome(placed.row.step)
    lines = [
        node(
            "text",
            x=MESSAGE,
            y=placed.y + 5 + LINE * count,
            class_="flow-label",
            text=line,
        )
        for count, line in enumerate(placed.lines)
    ]
    below = placed.y + 5 + LINE * (len(placed.lines) - 1)
    ends = [
        node(
            "text",
            x=MESSAGE,
            y=below + WAY * count,
            class_="flow-way",
            text=line,
        )
        for count, line in enumerate(placed.ends, 1)
    ]
    if outcome:
        ends[-1].append(
            node(
                "tspan",
                dx=6 if placed.ends[-1] else 0,
                class_="flow-status",
                text=outcome,
            )
        )
    return [*lines, *ends]


def route(step: Step, y: float, plan: Layout) -> list[Point]:
    """Return the points of an arrow: to the edge of the target's bar, or around to the lifeline where it began."""
    start, end = plan.x[step.source], plan.x[step.target]
    if start == end:
        side = (
            LOOP_SIDE
            if start + LOOP_SIDE < plan.width - MARGIN
            else -LOOP_SIDE
        )
        return [
            (start, y),
            (start + side, y),
            (start + side, y + LOOP_HEIGHT),
            (start + side / 8, y + LOOP_HEIGHT),
        ]
    depths = [
        one.depth
        for one in plan.bars
        if one.lifeline == step.target and one.top <= y <= one.bottom
    ]
    if not depths:
        return [(start, y), (end - (1 if end > start else -1), y)]
    edge = -HALF_BAR if end > start else HALF_BAR + DEEPER * max(depths)
    return [(start, y), (end + edge, y)]


def arrow(points: list[Point], status: StepStatus) -> list[Element]:
    """Return a line from a dot to a head, with a cross on it for a step that did not happen."""
    (x, y), before = points[-1], points[-2]
    back = -HEAD if x > before[0] else HEAD
    line = [*points[:-1], (x + back * 0.8, y)]
    corners = " ".join(f"{number(a)},{number(b)}" for a, b in line)
    made = [
        node(
            "circle", cx=points[0][0], cy=points[0][1], r=3, class_="flow-head"
        ),
        node("polyline", points=corners, class_="flow-arrow"),
        node(
            "path",
            d=f"M{number(x)} {number(y)}l{back} {-HALF_HEAD}v{2 * HALF_HEAD}z",
            class_="flow-head",
        ),
    ]
    if LOOK_OF[status].is_crossed:
        made.append(cross(points))
    return made


def cross(points: list[Point]) -> Element:
    """Return a cross on the middle of a line."""
    middle = len(points) // 2
    (a, b), (c, d) = points[middle - 1], points[middle]
    x, y, wide = (
        (a + c) / 2 - HALF_CROSS,
        (b + d) / 2 - HALF_CROSS,
        2 * HALF_CROSS,
    )
    return node(
        "path",
        d=f"M{number(x)} {number(y)}l{wide} {wide}m0 {-wide}l{-wide} {wide}",
        class_="flow-arrow",
    )
