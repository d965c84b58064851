# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Texts as a reader may see them: many things named in a sentence, and nothing that controls a terminal."""

from __future__ import annotations

from collections.abc import Sequence

# Control characters but tab and line feed, marks that turn the direction of writing, surrogates and non-characters
CONTROL_MARKS = [
    *range(9),
    *range(11, 32),
    *range(127, 160),
    *range(0x2028, 0x202F),
    *range(0x2066, 0x206A),
]
CONTROL_MARKS += [
    ord("\N{ARABIC LETTER MARK}"),
    ord("\N{LEFT-TO-RIGHT MARK}"),
    ord("\N{RIGHT-TO-LEFT MARK}"),
]
CONTROL = dict.fromkeys(
    [*CONTROL_MARKS, *range(0xD800, 0xE000), 0xFFFE, 0xFFFF], "?"
)


def clean(value: object) -> str:
    """Return a text without characters that control a terminal or break XML, as a cloud's texts may have them."""
    text = str(value)
    return text if text.isprintable() else text.translate(CONTROL)


def listed(texts: Sequence[str], most: int, between: str = ", ") -> str:
    """Return the first few of some texts, and how many more there are."""
    more = len(texts) - most
    return between.join(texts[:most]) + (
        f"{between}and {more} more" if more > 0 else ""
    )
