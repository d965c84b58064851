# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the pages about many runs have in common: their template, their header, and how they write times."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .._model.words import Result
from .._report import frame
from .._report.statuses import RESULTS
from .._report.units import duration, utc


def render(
    templates: str | os.PathLike[str], name: str, view: Mapping[str, Any]
) -> str:
    """Return a page. templates: the folder of the templates; name: that of this page."""
    return frame.render(os.path.join(templates, name), dict(view))


def header(
    result: Result, reason: str, started: float, duration_s: float | None
) -> dict[str, Any]:
    """Return what the header of a page with a verdict has."""
    return {
        "verdict": {
            "result": result.value,
            "reason": reason,
            "word": RESULTS[result],
        },
        "started": f"{utc(started):%Y-%m-%d %H:%M:%S} UTC",
        "duration": duration(duration_s) or "not finished",
    }


def minute(seconds: float) -> str:
    return f"{utc(seconds):%Y-%m-%d %H:%M}"
