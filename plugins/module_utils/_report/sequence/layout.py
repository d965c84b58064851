# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The places in a sequence diagram: columns, rows, and how much room a text takes."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from unicodedata import combining, east_asian_width

from .._record.clock import seconds_of
from . import sequence

WIDTH, NARROWEST = 2000, 1240
# Left of the first lifeline stand the phase and the time of a row.
LEFT, RIGHT = 286, 52
GAP = (75, 260)
ROW, BAND, BOX, STRIP = 44, 6, 66, 46
# The names are repeated at the first phase that begins FAR rows below them, or TOO_FAR rows below them within a phase,
# but not above the last FEW rows.
FAR, TOO_FAR, FEW = 14, 20, 6
# The reader's font is not known: these are the widths of a wide one, in parts of its size.
LETTERS = {
    0.30: "ijl|'`",
    0.36: " .,:;!I[]\u202f\u2009",
    0.42: 'frt()/\\-"J',
    0.56: "ckszvxy_",
    0.84: "w+=<>~#mMW@%\u2026\u2192",
}
WIDTHS = {letter: part for part, letters in LETTERS.items() for letter in letters}


def letter_width(letter):
    if letter in WIDTHS:
        return WIDTHS[letter]
    if combining(letter):
        return 0.0
    if east_asian_width(letter) in "WF":
        return 1.1
    return 0.7 if letter.isupper() else 0.63


def text_width(text, size):
    return sum(map(letter_width, text)) * size


def shorten(text, room, size):
    """A text that fits into the room; one that is cut ends with an ellipsis."""
    if text_width(text, size) <= room:
        return text
    ends = list(accumulate((letter_width(letter) * size for letter in text), initial=letter_width("…") * size))
    return text[: max(0, bisect_right(ends, room) - 1)].rstrip() + "…"


def wrap(name, room, size, lines=3):
    """A name in lines that end where its own parts do."""
    wrapped = []
    for part in re.findall(r"[^-_./ ]*[-_./ ]|[^-_./ ]+", name):
        if wrapped and text_width(wrapped[-1] + part.rstrip(), size) <= room:
            wrapped[-1] += part
        else:
            wrapped.append(part)
    if len(wrapped) > lines:
        wrapped[lines - 1 :] = ["".join(wrapped[lines - 1 :])]
    return [shorten(line.strip(), room, size) for line in wrapped]


@dataclass(frozen=True)
class Band:
    """A phase's rows that follow each other: each with the height of its arrow."""

    phase: str | None
    top: float
    bottom: float
    placed: list


@dataclass(frozen=True)
class Bar:
    """A lifeline at work on a request. depth: how many others are under way on it."""

    lifeline: str
    top: float
    bottom: float
    depth: int


@dataclass(frozen=True)
class Layout:
    x: dict
    gap: float
    width: float
    top: float
    bottom: float
    height: float
    bands: list
    strips: list
    bars: list


def columns(names):
    """The lifelines' places, and the gap between two."""
    gap = min(GAP[1], max(GAP[0], (WIDTH - LEFT - RIGHT) / max(1, len(names) - 1)))
    return {name: LEFT + gap * number for number, name in enumerate(names)}, gap


def width_of(names):
    x, gap = columns(names)
    # A single lifeline needs room at its side, too.
    return max(NARROWEST, LEFT + gap * max(0, len(x) - 1) + RIGHT)


def layout(lifelines, rows, top):
    """The places of all shapes, below a heading that ends at top."""
    x, gap = columns(lifelines)
    placed, strips, end = place(sequence.bands(rows), top + BOX + 12)
    width, bottom = width_of(x), end + 12
    return Layout(x, gap, width, top, bottom, bottom + BOX + 24, placed, strips, bars(placed))


def place(bands, y):
    """Bands from a height on, the heights at which the names are repeated, and the height of the end."""
    made, strips, since = [], [], 0
    left = sum(len(rows) for _phase, rows in bands)
    for phase, rows in bands:
        if since >= FAR and left > FEW:
            strips.append(y)
            y, since = y + STRIP, 0
        top, arrows = y, []
        y += BAND
        for row in rows:
            if since >= TOO_FAR and left > FEW:
                strips.append(y)
                y, since = y + STRIP + BAND, 0
            arrows.append((row, y + ROW - 14))
            y, since, left = y + ROW, since + 1, left - 1
        made.append(Band(phase, top, y, arrows))
    return made, strips, y


def bars(bands):
    """A bar for each request, to the last row that is not after its end."""
    placed = [pair for band in bands for pair in band.placed]
    made = []
    for number, (row, y) in enumerate(placed):
        if row.at is None or not row.step["until"]:
            continue
        end = seconds_of(row.step["until"])
        inside = [height for later, height in placed[number:] if later.at is not None and later.at <= end]
        lifeline = row.step["target"]
        depth = sum(request.lifeline == lifeline and request.bottom > y for request in made)
        made.append(Bar(lifeline, y, max([*inside[-1:], y]) + 10, depth))
    return made
