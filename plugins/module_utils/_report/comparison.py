# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The words for a comparison of two results."""

from __future__ import annotations

from collections.abc import Iterable

from .._model.comparison import (
    CheckChange,
    Comparison,
    PreflightChange,
    Side,
    StageChange,
    StepChange,
    TimeChange,
    VerdictChange,
    VersionChange,
)
from .._record.words import clean
from .messages.level import level_in_words
from .messages.words import plural
from .text import second_of, seconds

# A page of a terminal holds no more of one kind; the JSON has all of them.
MOST_LINES = 20
NOT_THERE = "not there"


def lines_of(comparison: Comparison) -> list[str]:
    """Return what is different, for a terminal and for a file."""
    lines = [
        f"  before: {side(comparison.before)}",
        f"  now:    {side(comparison.now)}",
        *warnings(comparison),
    ]
    parts = [
        ("verdicts", map(verdict, comparison.verdicts)),
        ("stages", map(stage, comparison.stages)),
        ("times", map(time, comparison.times)),
        ("preflight", map(preflight, comparison.preflight)),
        ("checks", map(check, comparison.checks)),
        ("steps", map(step, comparison.steps)),
        ("versions", map(version, comparison.versions)),
    ]
    for title, texts in parts:
        lines += section(title, texts)
    if comparison.is_empty:
        lines += [
            "",
            f"  Nothing is different on {plural(comparison.compared, 'target')}.",
        ]
    return list(map(clean, ["", *lines, ""]))


def section(title: str, texts: Iterable[str]) -> list[str]:
    found = [*texts]
    lines = ["", f"  {title}"] if found else []
    lines += [f"    {text}" for text in found[:MOST_LINES]]
    more = len(found) - MOST_LINES
    return [*lines, f"    and {more} more"] if more > 0 else lines


def side(one: Side) -> str:
    began = second_of(one.started).replace("T", " ")
    level = level_in_words(one.level)
    return f"{one.id} on {one.cloud}{level}, {began} UTC: {one.result.value.upper()}, {plural(one.targets, 'target')}"


def warnings(comparison: Comparison) -> list[str]:
    """Return why differences may have another reason than the cloud."""
    before, now = comparison.before, comparison.now
    lines = []
    if before.cloud != now.cloud:
        lines.append("  The results are of different clouds.")
    if before.level != now.level:
        lines.append(
            "  The results are of different levels, so some differences are those of the levels."
        )
    if not comparison.compared:
        lines.append(
            "  No target is in both results: only verdicts, preflight and versions are compared."
        )
    return lines


def status(value: object) -> str:
    return NOT_THERE if value is None else str(value).replace("_", " ")


def change(before: object, now: object) -> str:
    return f"{status(before)} before, {status(now)} now"


def on(targets: int) -> str:
    return f" ({plural(targets, 'target')})"


def verdict(found: VerdictChange) -> str:
    headline = f": {found.headline}" if found.headline else ""
    return f"{found.target}: {change(found.before, found.now)}{headline}"


def stage(found: StageChange) -> str:
    others = f" and {found.targets - 1} more" if found.targets > 1 else ""
    return f"{found.stage}: {change(found.before, found.now)} on {found.target}{others}"


def time(found: TimeChange) -> str:
    times = f"{seconds(found.before_s)} s before, {seconds(found.now_s)} s now, {found.ratio:g} times as long"
    return f"{found.stage}: {times}{on(found.targets)}"


def check(found: CheckChange) -> str:
    reason = f": {found.reason}" if found.reason else ""
    return f"{found.host}: {found.check}: {change(found.before, found.now)}{on(found.targets)}{reason}"


def preflight(found: PreflightChange) -> str:
    reason = f": {found.reason}" if found.reason else ""
    return f"{found.check}: {change(found.before, found.now)}{reason}"


def step(found: StepChange) -> str:
    return f"{found.flow} {found.step} ({found.message}): {change(found.before, found.now)}{on(found.targets)}"


def version(found: VersionChange) -> str:
    return f"{found.what}: {change(found.before, found.now)}"
