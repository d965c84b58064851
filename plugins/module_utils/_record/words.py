# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Name many things in a sentence."""

from __future__ import annotations

from collections.abc import Sequence


def listed(texts: Sequence[str], most: int, between: str = ", ") -> str:
    """Return the first few of some texts, and how many more there are."""
    more = len(texts) - most
    return between.join(texts[:most]) + (f"{between}and {more} more" if more > 0 else "")
