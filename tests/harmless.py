# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a text may have in it that others read, whatever words it was made of."""

from __future__ import annotations

import re


def is_harmless(text):
    """Whether a terminal would only show it, and UTF-8 can hold it."""
    text.encode()
    return not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", text)
