# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame of the pages about many runs: all have the style of the page of a run, and write times the same way."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from .._model.words import Result
from .._report.page import RESULTS, duration, layouts, scrubbed, template

STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)


def render(templates: str, name: str, view: Mapping[str, Any]) -> str:
    """Return a page. templates: the folder of the templates; name: that of this page. The view is made harmless."""
    text, report = layouts(templates, name)
    found = STYLE.search(report)
    style = template(found[1] if found else "").render(flow=None)
    page: str = template(text).render(scrubbed(dict(view)), style=style)
    return page + "\n"


def header(result: Result, reason: str, started: float, duration_s: float | None) -> dict[str, Any]:
    """Return what the header of a page with a verdict has."""
    return {
        "verdict": {"result": result.value, "reason": reason, "word": RESULTS[result.value]},
        "started": f"{minute(started)}:{moment(started):%S} UTC",
        "duration": duration(duration_s) or "not finished",
    }


def minute(seconds: float) -> str:
    return f"{moment(seconds):%Y-%m-%d %H:%M}"


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)
