# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages and templates use the words of the trade."""

from __future__ import annotations

import ast

import pytest
from dialect import dialect_in
from tree import ROOT

MESSAGES = sorted((ROOT / "plugins" / "module_utils" / "_report" / "messages").glob("*.py"))
TEMPLATES = sorted((ROOT / "roles" / "report" / "templates").glob("*.j2"))


def texts_in(source):
    """Return the texts in code that a reader may see: not its documentation."""
    tree = ast.parse(source)
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef)
    documented = [
        node.body[0].value for node in ast.walk(tree) if isinstance(node, holders) and ast.get_docstring(node)
    ]
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and node not in documented]
    return [node.value for node in constants if isinstance(node.value, str)]


def test_texts_of_code_are_those_that_a_reader_may_see():
    assert texts_in('"""Told."""\ndef f(x):\n    """Told."""\n    return f"{x} told"\n') == [" told"]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("nobody is named: step 7 is lacking", 2),
        ("It was started Anew", 1),
        ("the followed step", 0),
        ("x depends on y", 0),
    ],
)
def test_dialect_is_found_by_whole_words(text, number):
    assert len(dialect_in(text)) == number


@pytest.mark.parametrize("path", MESSAGES, ids=lambda path: path.name)
def test_messages_are_free_of_dialect(path):
    assert [word for text in texts_in(path.read_text()) for word in dialect_in(text)] == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_templates_are_free_of_dialect(path):
    assert dialect_in(path.read_text()) == []
