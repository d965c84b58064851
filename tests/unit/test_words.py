# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts for users have the words of the trade, and none of a dialect."""

from __future__ import annotations

import ast
import re

import pytest
from tree import ROOT

# What must not be read, with the word for it
DIALECT = {
    "told": "reported, shown",
    "anew": "restarted, recreated",
    "in vain": "timed out, failed",
    "nobody is named": "no component identified",
    "owed": "missing",
    "is lacking": "did not happen, is missing",
    "leans on": "depends on",
    "is well": "healthy",
    "are well": "healthy",
    "is none": "(rewrite the sentence)",
    "so many": "(rewrite the sentence)",
    "of which": "(rewrite the sentence)",
}
PATTERN = re.compile(r"\b(" + "|".join(re.escape(word) for word in DIALECT) + r")\b", re.IGNORECASE)
MESSAGES = sorted((ROOT / "plugins" / "module_utils" / "_report" / "messages").glob("*.py"))
TEMPLATES = sorted((ROOT / "roles" / "report" / "templates").glob("*.j2"))
DOCS = [ROOT / "docs" / "verdict.md"]
# What cites the names of others: keys of run.json, and headings of other pages
CITED = re.compile(r"`[^`]*`|\]\([^)]*\)")


def dialect_in(text):
    return [match[0].lower() for match in PATTERN.finditer(text)]


def texts_in(source):
    """Return the texts in code that a reader may see: not its documentation."""
    tree = ast.parse(source)
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef)
    documented = [
        node.body[0].value for node in ast.walk(tree) if isinstance(node, holders) and ast.get_docstring(node)
    ]
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and node not in documented]
    return [node.value for node in constants if isinstance(node.value, str)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("nobody is named: step 7 is lacking", ["nobody is named", "is lacking"]),
        ("It was started Anew", ["anew"]),
        ("the followed step", []),
        ("x depends on y", []),
    ],
)
def test_dialect_is_found_by_whole_words(text, found):
    assert dialect_in(text) == found


def test_texts_of_code_are_those_that_a_reader_may_see():
    assert texts_in('"""Told."""\ndef f(x):\n    """Told."""\n    return f"{x} told"\n') == [" told"]


@pytest.mark.parametrize("path", MESSAGES, ids=lambda path: path.name)
def test_messages_are_free_of_dialect(path):
    assert [word for text in texts_in(path.read_text()) for word in dialect_in(text)] == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_templates_are_free_of_dialect(path):
    assert dialect_in(path.read_text()) == []


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_docs_are_free_of_dialect(path):
    assert dialect_in(CITED.sub("", path.read_text())) == []
