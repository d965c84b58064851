# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Draws a run's flow as SVG: its steps as a list in the order of their times, with arrows between lifelines.

The picture works as a file and inside a page: nothing in it is fetched or run, and all its names begin with flow-.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from ..._model.record import Record
from ..._model.words import Result
from ..statuses import LOOKS
from ..units import utc
from .layout import MARGIN, WIDTH, Layout, layout, shorten, text_width, wrap
from .rows import Diagram, plain
from .shapes import arrow, node, number, shapes
from .style import stylesheet

ROOM = WIDTH - 2 * MARGIN
# The width of an arrow in the legend, and the distances in it
SAMPLE, BESIDE, BETWEEN, LINE = 44, 8, 18, 26
NOTE_LINES, NOTE_LINE = 6, 20


@dataclass(frozen=True)
class Picture:
    """A drawn flow: as a file of its own, and for a page, which has a heading and a legend itself."""

    title: str
    counts: str
    left_out: str | None
    file: str
    inline: str


@dataclass(frozen=True)
class Meaning:
    """An entry of the legend: its shapes, their width and their style, and what they mean."""

    shapes: list[Element]
    width: float
    style: str
    text: str


def picture(diagram: Diagram, record: Record) -> Picture:
    head, top = heading(diagram, record)
    plan = layout(diagram, top)
    root = root_of(diagram, record, plan)
    head_group = node("g", *head)
    root.append(head_group)
    root.extend(shapes(plan))
    file = ElementTree.tostring(root, encoding="unicode") + "\n"
    root.remove(head_group)
    crop(root, top, plan)
    inline = ElementTree.tostring(root, encoding="unicode")
    return Picture(
        diagram.title, diagram.counts, diagram.left_out, file, inline
    )


def crop(root: Element, top: float, plan: Layout) -> None:
    """Leave out what lies above a height."""
    high = plan.height - top
    root.set("viewBox", f"0 {number(top)} {number(plan.width)} {number(high)}")
    root.set("height", number(high))


def root_of(diagram: Diagram, record: Record, plan: Layout) -> Element:
    """Return the picture's element with its name, its description and its paper."""
    name = f"flow-{diagram.word}"
    title = plain(f"{diagram.title}, run {record.run_id} on {record.cloud}")
    return node(
        "svg",
        node("title", text=title, id=f"{name}-title"),
        node("desc", text=description(diagram), id=f"{name}-desc"),
        node("style", text=stylesheet()),
        node(
            "rect", class_="flow-paper", width=plan.width, height=plan.height
        ),
        xmlns="http://www.w3.org/2000/svg",
        class_="flow-svg",
        id=f"{name}-svg",
        viewBox=f"0 0 {number(plan.width)} {number(plan.height)}",
        width=plan.width,
        height=plan.height,
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
    )


def description(diagram: Diagram) -> str:
    """Return the picture in words, for readers who do not see it."""
    steps = [
        f"{row.step.id} {row.step.message}: {row.step.status}"
        for row in diagram.rows
    ]
    left_out = [diagram.left_out] if diagram.left_out else []
    return plain(". ".join([diagram.counts, *steps, *left_out]))


def heading(diagram: Diagram, record: Record) -> tuple[list[Element], float]:
    """Return title, run, verdict, counts of steps and legend; and the height at which they end."""
    started = f"{utc(record.started):%Y-%m-%d %H:%M:%S}"
    about = plain(
        f"Run {record.run_id} on {record.cloud}, started {started} UTC"
    )
    made = [
        node(
            "text",
            x=MARGIN,
            y=44,
            class_="flow-heading",
            text=shorten(plain(diagram.title), ROOM, 29),
        ),
        node(
            "text",
            x=MARGIN,
            y=72,
            class_="flow-muted",
            text=shorten(about, ROOM, 15),
        ),
        *verdict_of(record),
        node(
            "text",
            x=MARGIN,
            y=136,
            class_="flow-strong",
            text=shorten(diagram.counts, ROOM, 16),
        ),
    ]
    items, y = legend(164)
    note = wrap(plain(diagram.left_out or ""), ROOM, 14, NOTE_LINES)
    for line in note:
        y += NOTE_LINE
        items.append(
            node(
                "text",
                x=MARGIN,
                y=y + 8,
                class_="flow-small flow-muted",
                text=line,
            )
        )
    return [*made, *items], y + 20


def verdict_of(record: Record) -> list[Element]:
    verdict = record.verdict
    result = verdict.result.upper()
    wide = text_width(result, 14) + 24
    style = "flow-pass" if verdict.result == Result.PASS else "flow-fail"
    reason = plain(verdict.headline or verdict.reason)
    full = node("title", text=reason)
    full.tail = shorten(reason, ROOM - wide - 10, 15)
    return [
        node(
            "rect", x=MARGIN, y=87, width=wide, height=24, rx=12, class_=style
        ),
        node(
            "text",
            x=MARGIN + wide / 2,
            y=104,
            class_="flow-verdict",
            text=result,
        ),
        node("text", full, x=MARGIN + wide + 10, y=104),
    ]


# The legend


def meanings() -> list[Meaning]:
    request = node(
        "rect", x=1, y=-9, width=8, height=18, rx=2, class_="flow-bar"
    )
    unsure = node("text", x=12, y=5, class_="flow-time", text="≈")
    arrows = [
        Meaning(
            arrow([(4, 0), (SAMPLE, 0)], look.status),
            SAMPLE,
            f"flow-{look.status}",
            f"{look.status}: {look.meaning}",
        )
        for look in LOOKS
    ]
    return [
        *arrows,
        Meaning([request], 10, "", "at work on a request"),
        Meaning([unsure], 12, "", "may have been before the row above"),
    ]


def legend(y: float) -> tuple[list[Element], float]:
    """Return a sample of each kind of shape, in as many lines as they need; and the height of the last line."""
    made, x = [], float(MARGIN)
    for meaning in meanings():
        whole = meaning.width + BESIDE + text_width(meaning.text, 14) + BETWEEN
        if x > MARGIN and x + whole > ROOM + MARGIN:
            x, y = float(MARGIN), y + LINE
        text = node(
            "text",
            x=meaning.width + BESIDE,
            y=5,
            class_="flow-small",
            text=meaning.text,
        )
        place = f"translate({number(x)} {number(y)})"
        made.append(
            node(
                "g",
                *meaning.shapes,
                text,
                class_=meaning.style,
                transform=place,
            )
        )
        x += whole
    return made, y


def legend_of_page() -> list[tuple[str, str]]:
    """Return (SVG, meaning) of each sample, for a page whose text flows around them."""
    return [(sample(meaning), meaning.text) for meaning in meanings()]


def sample(meaning: Meaning) -> str:
    wide = meaning.width + 2
    group = node("g", *meaning.shapes, class_=meaning.style)
    box = f"0 -10 {number(wide)} 20"
    root = node(
        "svg",
        group,
        class_="flow-svg flow-sample",
        viewBox=box,
        width=wide,
        height=20,
        aria_hidden="true",
    )
    return ElementTree.tostring(root, encoding="unicode")
