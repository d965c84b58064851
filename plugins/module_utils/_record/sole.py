# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Take a value that has no rival."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def sole(values: Iterable[T]) -> T | None:
    """Return the only value; None without any, or if there are several."""
    found = list(values)
    return found[0] if len(found) == 1 else None
