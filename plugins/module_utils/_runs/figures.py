# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures over many durations: median, percentiles, growth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .._model.load import Spread
from .._model.record import EarlierRuns
from .._model.words import StageName

# The stages of a run, and its removal, in their order
TIMED = tuple(name.value for name in StageName)


@dataclass(frozen=True)
class Figures:
    """Some durations in figures, rounded to milliseconds. runs: how many durations there are."""

    runs: int
    p5_s: float
    median_s: float
    p95_s: float
    p99_s: float
    max_s: float


def rounded(seconds: float) -> float:
    return round(seconds, 3)


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return the smallest of some ordered values that at least this share of them does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def median(ordered: Sequence[float]) -> float:
    """Return the middle of some ordered values."""
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def figures_of(seconds: Iterable[float]) -> Figures | None:
    """Return some durations in figures, or None if there are none."""
    ordered = sorted(seconds)
    if not ordered:
        return None
    return Figures(
        runs=len(ordered),
        p5_s=rounded(percentile(ordered, 0.05)),
        median_s=rounded(median(ordered)),
        p95_s=rounded(percentile(ordered, 0.95)),
        p99_s=rounded(percentile(ordered, 0.99)),
        max_s=rounded(ordered[-1]),
    )


def median_of(seconds: Iterable[float]) -> float | None:
    """Return the rounded median of some durations, or None if there are none."""
    ordered = sorted(seconds)
    if not ordered:
        return None
    return rounded(median(ordered))


def spread_of(seconds: Iterable[float | None]) -> Spread | None:
    """Return median and percentiles of the durations that are known, or None if there are none."""
    figures = figures_of(second for second in seconds if second is not None)
    if figures is None:
        return None
    return Spread(
        runs=figures.runs,
        p50_s=figures.median_s,
        p95_s=figures.p95_s,
        p99_s=figures.p99_s,
    )


def usual_of(seconds: Iterable[float]) -> EarlierRuns | None:
    """Return how long something usually takes, or None if that is not known."""
    figures = figures_of(seconds)
    if figures is None:
        return None
    return EarlierRuns(
        runs=figures.runs, median_s=figures.median_s, p95_s=figures.p95_s
    )


def growth_of(spreads: Iterable[Spread | None]) -> float | None:
    """Return how many times as long the last known median is as the first; None without two of them."""
    known = list(filter(None, spreads))
    if len(known) < 2 or not known[0].p50_s:
        return None
    return round(known[-1].p50_s / known[0].p50_s, 2)
