# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A known bug, and how it shows in a log."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Bug:
    """A bug of others.

    components: those that log it. shows: what it looks like in an error, with the class of its exception before it.
    affects: the versions that have it. remedy: what fixes it or avoids it.
    """

    number: str
    url: str
    title: str
    components: tuple[str, ...]
    shows: re.Pattern[str]
    affects: str
    remedy: str


def launchpad(number: int) -> tuple[str, str]:
    """Return the number and the address of a bug on Launchpad."""
    return f"LP#{number}", f"https://bugs.launchpad.net/bugs/{number}"
