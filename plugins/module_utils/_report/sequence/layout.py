# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The places in a sequence diagram: a list of the steps on the left, their arrows between lifelines on the right.

No text lies between the lifelines, so that nothing covers it, and they need little room: a flow of some twenty-five
components is no wider than a page.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, chain
from unicodedata import combining, east_asian_width

from ..._model.flow import Step
from .rows import Diagram, Row, outcome, plain

WIDTH = 1170
MARGIN = 16
# The list: the right end of times, the middle of ids, and the left end of messages
TIME, ID, MESSAGE = 104, 134, 164
# The first lifeline, and the least and the greatest gap to the next one
FIRST = 496
MESSAGE_ROOM = FIRST - MARGIN - MESSAGE
GAP = (24, 110)
# Names of lifelines are slanted: each part of their width takes so much to the right and to the top.
SLANT = math.sqrt(0.5)
NAME_SIZE = 12.5
# A flow may be anybody's: a longer name is shortened.
LONGEST_NAME = 230
MESSAGE_SIZE, WAY_SIZE = 13.5, 12
# Heights: of a line of a message, of the line below it, between rows, and of the name of a phase
LINE, WAY, SPACE, PHASE = 17, 15, 9, 26
MOST_LINES = 3
# The reader's font is not known: these are the widths of a wide one, in parts of its size.
LETTERS = {
    0.30: "ijl|'`",
    0.36: " .,:;!I[]\u202f\u2009",
    0.42: 'frt()/\\-"J',
    0.56: "ckszvxy_",
    0.84: "w+=<>~#mMW@%\u2026\u2192",
}
WIDTHS: dict[str, float] = {}
for part, letters in LETTERS.items():
    WIDTHS.update(dict.fromkeys(letters, part))


def letter_width(letter: str) -> float:
    if letter in WIDTHS:
        return WIDTHS[letter]
    if combining(letter):
        return 0.0
    if east_asian_width(letter) in "WF":
        return 1.1
    if letter.isupper():
        return 0.7
    return 0.63


def text_width(text: str, size: float) -> float:
    return sum(map(letter_width, text)) * size


def shorten(text: str, room: float, size: float) -> str:
    """Return a text that fits into the room; one that is cut ends with an ellipsis."""
    if text_width(text, size) <= room:
        return text
    widths = (letter_width(letter) * size for letter in text)
    ends = list(accumulate(widths, initial=letter_width("…") * size))
    return text[: max(0, bisect_right(ends, room) - 1)].rstrip() + "…"


def wrap(
    text: str, room: float, size: float, most: int = MOST_LINES
) -> list[str]:
    """Return a text in lines that end where its own parts do; the last one is shortened if there are too many."""
    wrapped: list[str] = []
    for part in re.findall(r"[^-_./ ]*[-_./ ]|[^-_./ ]+", text):
        if wrapped and text_width(wrapped[-1] + part.rstrip(), size) <= room:
            wrapped[-1] += part
        else:
            wrapped.append(part)
    if len(wrapped) > most:
        wrapped[most - 1 :] = ["".join(wrapped[most - 1 :])]
    return [shorten(line.strip(), room, size) for line in wrapped]


@dataclass(frozen=True)
class Placed:
    """A row. y: the height of its arrow, and of the middle of its first line.

    lines: its message. ends: its two lifelines, in lines of which the last one has room for its outcome.
    """

    row: Row
    y: float
    lines: list[str]
    ends: list[str]

    @property
    def bottom(self) -> float:
        return (
            self.y
            + LINE * (len(self.lines) - 0.5)
            + WAY * len(self.ends)
            + SPACE
        )


@dataclass(frozen=True)
class Band:
    """A phase's rows that follow each other."""

    phase: str | None
    top: float
    bottom: float
    placed: list[Placed]


@dataclass(frozen=True)
class Bar:
    """A lifeline at work on a request. depth: how many others are under way on it."""

    lifeline: str
    top: float
    bottom: float
    depth: int


@dataclass(frozen=True)
class Layout:
    """The places of all shapes. names: of the lifelines, as they are shown. top, bottom: the ends of the lifelines."""

    x: dict[str, float]
    names: dict[str, str]
    width: float
    top: float
    bottom: float
    height: float
    bands: list[Band]
    bars: list[Bar]


def layout(diagram: Diagram, top: float) -> Layout:
    """Return the places of all shapes, below a heading that ends at top."""
    names = {
        name: shorten(plain(name), LONGEST_NAME, NAME_SIZE)
        for name in diagram.lifelines
    }
    widths = [text_width(name, NAME_SIZE) * SLANT for name in names.values()]
    gap = gap_of(widths)
    x = {name: FIRST + gap * number for number, name in enumerate(names)}
    ends = (place + width for place, width in zip(x.values(), widths))
    width = max([WIDTH, *(end + MARGIN for end in ends)])
    high = max(widths, default=0) + MARGIN
    begin = top + high
    bands, end = place(diagram.bands, begin + 6)
    return Layout(
        x=x,
        names=names,
        width=width,
        top=begin,
        bottom=end + 6,
        height=end + 6 + high,
        bands=bands,
        bars=bars(bands),
    )


def gap_of(widths: list[float]) -> float:
    """Return the gap between lifelines with which the names of all of them end within the picture."""
    room = WIDTH - MARGIN - FIRST
    fitting = (
        (room - width) / number
        for number, width in enumerate(widths)
        if number
    )
    least, greatest = GAP
    return max(least, min([greatest, *fitting]))


def place(
    bands: Iterable[tuple[str | None, list[Row]]], y: float
) -> tuple[list[Band], float]:
    """Return bands from a height on, and the height of their end."""
    made = []
    for phase, rows in bands:
        top = y
        y += PHASE if phase else SPACE
        placed = []
        for row in rows:
            message = plain(row.step.message)
            lines = wrap(message, MESSAGE_ROOM, MESSAGE_SIZE) or [""]
            placed.append(Placed(row, y + LINE / 2, lines, ends_of(row.step)))
            y = placed[-1].bottom
        made.append(Band(phase, top, y, placed))
    return made, y


def ends_of(step: Step) -> list[str]:
    lines = wrap(
        plain(f"{step.source} → {step.target}"), MESSAGE_ROOM, WAY_SIZE
    )
    width = text_width(f"{lines[-1]}  {outcome(step)}", WAY_SIZE)
    return lines if width <= MESSAGE_ROOM else [*lines, ""]


def bars(bands: list[Band]) -> list[Bar]:
    """Return a bar for each request, to the last row that is not after its end."""
    placed = list(chain.from_iterable(band.placed for band in bands))
    made: list[Bar] = []
    for number, one in enumerate(placed):
        until = one.row.step.until
        if one.row.at is None or until is None:
            continue
        bottom = bottom_of(placed[number:], until, one.y)
        lifeline = one.row.step.target
        depth = sum(
            other.lifeline == lifeline and other.bottom > one.y
            for other in made
        )
        made.append(Bar(lifeline, one.y, bottom, depth))
    return made


def bottom_of(placed: list[Placed], until: float, least: float) -> float:
    inside = [
        one.y
        for one in placed
        if one.row.at is not None and one.row.at <= until
    ]
    return max([least, *inside[-1:]]) + 10
