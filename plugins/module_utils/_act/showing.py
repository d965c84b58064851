# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read single values of a line that a guest has shown: it may have written anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._model.details import FIRST, SECOND
from .._model.words import CheckStatus

# A line of a guest
Line = Mapping[str, Any]


def other(guest: str) -> str:
    return SECOND if guest == FIRST else FIRST


def passed(holds: bool) -> CheckStatus:
    return CheckStatus.OK if holds else CheckStatus.FAILED


def number(value: Any) -> float | None:
    """Return a number that a guest has written, or None for anything else."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e9
    return float(value) if is_number else None


def seconds_between(line: Line) -> float | None:
    """Return how long the guest took, by its own clock."""
    began, ended = number(line.get("from")), number(line.get("to"))
    return None if began is None or ended is None else max(0.0, ended - began)
