# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures of the pages are those that make pictures draws today; screenshots depend on the browser."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pictures
import pytest
from tree import ROOT

SCREENSHOTS = {pictures.FLOW.name, pictures.REPORT.name}
# test_architecture.py compares it with the code.
BY_HAND = {"architecture.svg"}


@pytest.mark.parametrize("name", pictures.DRAWN)
def test_a_picture_is_what_the_tool_draws(name):
    assert (ROOT / "docs" / name).read_text() == pictures.DRAWN[name](), "make pictures draws it"


def test_every_picture_of_a_page_is_made_by_the_tool_or_by_hand():
    texts = [path.read_text() for path in (ROOT / "README.md", *ROOT.glob("docs/*.md"))]
    shown = {name for text in texts for name in re.findall(r"\]\((?:docs/)?([\w-]+\.(?:svg|png))\)", text)}
    assert shown == {*pictures.DRAWN, *SCREENSHOTS, *BY_HAND}


def test_a_line_of_the_terminal_keeps_its_spaces_and_signs():
    picture = ElementTree.fromstring(pictures.terminal(["  PASS: a < b", "", "  stage   result"], "a & b"))
    texts = picture.findall(".//{*}text")
    assert [text.text.replace("\N{NO-BREAK SPACE}", " ") for text in texts] == ["  PASS: a < b", "  stage   result"]
    assert [text.get("fill") for text in texts] == [pictures.GOOD, pictures.HEADING]
    assert picture.find("{*}title").text == "a & b"


def test_screenshots_are_there():
    assert [name for name in SCREENSHOTS if not (ROOT / "docs" / name).read_bytes().startswith(b"\x89PNG")] == []
