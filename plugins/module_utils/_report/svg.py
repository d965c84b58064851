# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Elements of small drawings: made as a tree, so that no word can become markup."""

from __future__ import annotations

from xml.etree import ElementTree


def add(parent, tag, text=None, **attributes):
    element = ElementTree.SubElement(parent, tag, {name: str(value) for name, value in attributes.items()})
    element.text = text
    return element
