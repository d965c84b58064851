# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Numbers as readers of a page see them: times, durations, differences, shares and the marks of an axis."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from itertools import product

from .._model.flow import Step
from .text import MINUS, grouped

# The greatest number of steps between the marks of an axis
MOST_TICKS = 6
# In seconds: a smaller doubt would be shown as 0 ms.
LEAST_DOUBT = 0.0005


def utc(at: float) -> datetime:
    return datetime.fromtimestamp(at, timezone.utc)


def moment(at: float | None, digits: int = 3) -> str | None:
    """Return the time of day, to as many digits of a second."""
    if at is None:
        return None
    time = utc(at)
    fraction = f".{time:%f}"[: digits + 1] if digits else ""
    return f"{time:%H:%M:%S}{fraction}"


def duration(seconds: float | None) -> str | None:
    """Return a duration in the unit that suits it."""
    if seconds is None:
        return None
    if seconds >= 99.95:
        return f"{seconds:.0f} s"
    if seconds >= 0.9995:
        return f"{seconds:.3g} s"
    if seconds >= 0.0009995:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds * 1e6:.0f} µs"


def signed(value: float, form: str) -> str:
    return format(value, f"+{form}").replace("-", MINUS)


def words(name: str) -> str:
    return name.replace("_", " ")


def doubt(*parts: float | None) -> str | None:
    """Return how far a time may be off, as the sum of those parts that are known."""
    seconds = sum(filter(None, parts))
    if seconds >= LEAST_DOUBT:
        return f"±{duration(seconds)}"
    return None


def share(part: float, whole: float) -> float:
    """Return a part of a whole as a width, in percent."""
    return round(100 * part / whole, 3) if whole else 0.0


def milliseconds_since(zero: float | None, at: float | None) -> str | None:
    if zero is None or at is None:
        return None
    return f"+{grouped(round((at - zero) * 1000))} ms"


def first_time(steps: Iterable[Step]) -> float | None:
    return min(
        (step.at for step in steps if step.at is not None), default=None
    )


def ticks(whole: float, most: int = MOST_TICKS) -> list[tuple[float, str]]:
    """Return (percent, label) of round marks on an axis; whole: its length in seconds."""
    if not whole:
        return []
    sizes = (
        size * 10**power for power, size in product(range(-3, 12), (1, 2, 5))
    )
    step = next(size for size in sizes if whole / size <= most)
    marks = []
    for number in range(int(whole / step) + 1):
        at = number * step
        marks.append((share(at, whole), f"{at:g}"))
    return marks
