# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The words for the level of a run."""

from __future__ import annotations

from ..._model.level import LeftOut, RunLevel


def level_in_words(name: str | None) -> str:
    """Return the level beside the name of a run; an empty text for a run without one."""
    return f", level {name}" if name else ""


def left_out_in_words(part: LeftOut) -> str:
    return f"{part.part} needs {part.needs}, which is not set"


def all_left_out(level: RunLevel | None) -> list[str]:
    """Return a line for each part of a level that was left out."""
    return list(map(left_out_in_words, level.left_out)) if level else []
