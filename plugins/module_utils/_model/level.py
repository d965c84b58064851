# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A level of verify and acceptance, as a record has it."""

from __future__ import annotations

from dataclasses import dataclass

from .codec import Text, omitted


@dataclass(frozen=True)
class LeftOut:
    """A part of a level that was not done.

    part: the variable, or the element of its list. needs: the variable that is not set.
    """

    part: Text
    needs: Text


@dataclass(frozen=True)
class RunLevel:
    """The level of a run.

    left_out: its parts that were not done, for want of a variable.
    """

    name: Text
    left_out: tuple[LeftOut, ...] = omitted(())
