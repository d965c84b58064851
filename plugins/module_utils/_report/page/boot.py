# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long each part of the boot took, as bars that may overlap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..._model.flow import FollowedFlow, Part
from ..units import duration, moment, share, signed, ticks

# Times of steps by their ids
Times = Mapping[str, float]
Interval = tuple[float, float]


@dataclass(frozen=True)
class PartRow:
    """A part of the boot. extent: left end and width, in percent of the axis; None where its length is not known."""

    name: str
    text: str
    seconds: str | None = None
    extent: tuple[float, float] | None = None
    offset: str | None = None


@dataclass(frozen=True)
class Timeline:
    rows: list[PartRow]
    ticks: list[tuple[float, str]]
    whole: str | None
    zero: str | None


def timeline(flow: FollowedFlow) -> Timeline | None:
    """Return the parts of a flow on one axis; None without the time of any part."""
    times = {step.id: step.at for step in flow.steps if step.at is not None}
    intervals = [interval_of(part, times) for part in flow.parts]
    known = list(filter(None, intervals))
    if not known:
        return None
    starts, ends = zip(*known)
    zero, last = min(starts), max(ends)
    whole = last - zero
    rows = [
        part_row(part, interval, zero, whole)
        for part, interval in zip(flow.parts, intervals)
    ]
    return Timeline(
        rows=rows, ticks=ticks(whole), whole=duration(whole), zero=moment(zero)
    )


def known_times(steps: Iterable[str], times: Times) -> list[float]:
    return [times[step] for step in steps if step in times]


def part_row(
    part: Part, interval: Interval | None, zero: float, whole: float
) -> PartRow:
    if interval is None:
        return PartRow(part.name, part.text)
    start, end = interval
    offset, seconds = start - zero, end - start
    extent = share(offset, whole), share(seconds, whole)
    return PartRow(
        part.name,
        part.text,
        duration(seconds),
        extent,
        f"{signed(offset, '.1f')} s",
    )


def interval_of(part: Part, times: Times) -> Interval | None:
    """Return begin and end of a part: to its last known end, or to the first named end that is known."""
    starts = known_times(part.starts, times)
    if not starts:
        return None
    ends = known_times(part.ends or part.ends_first, times)
    if not ends:
        return None
    start = min(starts)
    end = ends[0]
    if part.ends:
        end = max(ends)
    # Clocks of two hosts may differ by more than a short part takes: then its length is not known.
    if start > end:
        return None
    return start, end
