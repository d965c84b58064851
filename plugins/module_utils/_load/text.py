# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of a load test for the terminal."""

from __future__ import annotations

from .._model.load import (
    LoadLevel,
    LoadTest,
    Overhead,
    StageLevels,
    StepLevels,
)
from .._record.words import clean
from .._report.text import seconds
from .figures import last_spread
from .page import in_words

SLOWEST = 5
HEAD = "  parallel passed      per min     p50 s     p95 s     p99 s     queue s   work s    polling s"


def summary(test: LoadTest, directory: str) -> list[str]:
    lines = [
        "",
        f"Load test {test.load_id} on {test.cloud}: {in_words(test.plan)}",
        "",
        HEAD,
    ]
    lines += map(level_line, test.levels)
    slowest = [
        timed_line(step, f"step {step.step} {step.message or ''}")
        for step in test.steps[:SLOWEST]
    ]
    if slowest:
        lines += [
            "",
            "  slowest steps at the highest level, p50, p95, p99 s, growth:",
            *slowest,
        ]
    lines += [
        f"  {len(cause.runs)} failed: {cause.headline}"
        for cause in test.causes
    ]
    lines += overhead_lines(test.overhead)
    lines += [
        f"  {seconds(test.duration_s)} s",
        "",
        f"  {test.verdict.result.upper()}: {test.verdict.reason}",
        f"  files: {directory}",
        "",
    ]
    return list(map(clean, lines))


def overhead_lines(overhead: Overhead | None) -> list[str]:
    if overhead is None or overhead.processor_s_per_instance is None:
        return []
    each = f"{overhead.processor_s_per_instance:g} s of processor for each instance"
    return ["", f"  this machine: {each}, {overhead.memory_mb:g} MB of memory"]


def level_line(level: LoadLevel) -> str:
    spread, breakdown = level.provisioned, level.breakdown
    numbers = [
        *(
            (spread.p50_s, spread.p95_s, spread.p99_s)
            if spread
            else (None, None, None)
        ),
        *(
            (breakdown.queue, breakdown.work, breakdown.polling)
            if breakdown
            else (None, None, None)
        ),
    ]
    cells = [
        f"{level.passed} of {level.runs}".ljust(12),
        cell(level.per_minute).ljust(12),
    ]
    cells += [cell(number).ljust(10) for number in numbers]
    return f"  {level.parallel:>8} {''.join(cells)}".rstrip()


def cell(number: float | None) -> str:
    return "-" if number is None else f"{number:.1f}"


def timed_line(timed: StageLevels | StepLevels, name: str) -> str:
    spread = last_spread(timed.levels)
    numbers = (
        f"{spread.p50_s:>6.1f}  {spread.p95_s:>6.1f}  {spread.p99_s:>6.1f}"
    )
    growth = f"  {timed.growth:g} times" if timed.growth else ""
    return f"    {numbers}{growth}  {name[:70]}"
