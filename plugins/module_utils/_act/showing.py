# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fill in what guests are to run, and read the lines that they show of it: a guest may write anything."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .._model.details import FIRST, SECOND
from .._model.words import CheckStatus

LINE = re.compile(r"stackproof-path: (\{.*\})")
# A line of a guest
Line = Mapping[str, Any]


def lines_of(console: str, nonce: str) -> Iterator[dict[str, Any]]:
    """Return what the guests of a run have shown on a console, in its order."""
    for match in LINE.finditer(console):
        try:
            line = json.loads(match[1])
        except (ValueError, RecursionError):
            continue  # another line was written into it
        if isinstance(line, dict) and line.get("nonce") == nonce:
            yield line


def line_of(console: str, guest: str, check: str, nonce: str) -> Line | None:
    """Return the first line of a guest about a check; None if its console has none."""
    lines = lines_of(console, nonce)
    return next(
        (
            line
            for line in lines
            if (line.get("guest"), line.get("check")) == (guest, check)
        ),
        None,
    )


def filled(script: str, values: Mapping[str, object]) -> str:
    """Return a script of a guest with its values, in their order: one may hold the places of those after it."""
    for name, value in values.items():
        script = script.replace(f"@{name}@", str(value))
    return script


def other(guest: str) -> str:
    return SECOND if guest == FIRST else FIRST


def passed(holds: bool) -> CheckStatus:
    return CheckStatus.OK if holds else CheckStatus.FAILED


def number(value: Any) -> float | None:
    """Return a number that a guest has written, or None for anything else."""
    is_number = (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and 0 <= value < 1e9
    )
    return float(value) if is_number else None


def seconds_between(line: Line) -> float | None:
    """Return how long the guest took, by its own clock."""
    began, ended = number(line.get("from")), number(line.get("to"))
    if began is None or ended is None:
        return None
    return max(0.0, ended - began)
