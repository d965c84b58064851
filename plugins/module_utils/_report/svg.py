# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Elements of small drawings: made as a tree, so that no word can become markup."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree


def add(
    parent: ElementTree.Element,
    tag: str,
    text: str | None = None,
    **attributes: Any,
) -> ElementTree.Element:
    """Add an element, and return it."""
    texts = {name: str(value) for name, value in attributes.items()}
    element = ElementTree.SubElement(parent, tag, texts)
    element.text = text
    return element
