# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts for users use the words of the trade: pages, variables, the documentation of modules, and names of tasks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from dialect import dialect_in
from tree import LAB, ROOT

CODE = re.compile(r"^```.*?^```$|^(?: {4}|\t)\S.*?$|`+(?:(?!\n\n)[^`])*`+|\]\([^)]*\)", re.MULTILINE | re.DOTALL)
# Release notes of the past stay as they were published. Measurements are a laboratory book of their own.
PAGES = sorted(
    page
    for top in (ROOT, LAB)
    for place in ("*.md", "docs/*.md", "docs/site/*.md", "roles/*/README.md")
    for page in top.glob(place)
)
FRAGMENTS = sorted(ROOT.glob("changelogs/fragments/*.yml"))
SPECS = sorted([*ROOT.glob("roles/*/meta/argument_specs.yml"), *ROOT.glob("playbooks/meta/argument_specs.yml"),
                *LAB.glob("roles/*/meta/argument_specs.yml")])  # fmt: skip
MODULES = sorted(path for top in (ROOT, LAB) for kind in ("modules", "doc_fragments", "callback")
                 for path in top.glob(f"plugins/{kind}/*.py"))  # fmt: skip
FILTERS = sorted(ROOT.glob("plugins/filter/*.yml"))
TASKS = sorted(path for top in (ROOT, LAB) for place in ("playbooks/*.yml", "playbooks/tasks/*.yml", "roles/*/*/*.yml")
               for path in top.glob(place) if path not in SPECS)  # fmt: skip
TEXTS = ("description", "short_description", "notes", "title", "name", "details")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def prose_of(page: str) -> str:
    """Return a page without its code, its commands, its outputs and the targets of its links."""
    return CODE.sub(lambda found: "\n" * found[0].count("\n"), page)


def texts_in(value: Any) -> Iterator[str]:
    """Return the texts for people in what YAML holds; samples are outputs of programs."""
    if isinstance(value, list):
        for item in value:
            yield from texts_in(item)
    if not isinstance(value, dict):
        return
    for key, below in value.items():
        if key == "sample":
            continue
        if key in TEXTS and isinstance(below, (str, list)):
            yield from ([below] if isinstance(below, str) else [text for text in below if isinstance(text, str)])
        else:
            yield from texts_in(below)


def documented_in(source: str) -> Iterator[str]:
    """Return the texts of the documentation blocks of a module, or of a fragment."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
            continue
        target, text = node.targets[0], node.value.value
        if isinstance(target, ast.Name) and target.id.isupper() and isinstance(text, str) and "\n" in text:
            yield from texts_in(yaml.safe_load(text))


def markup_free(text: str) -> str:
    return re.sub(r"\b[VOCEMP]\([^)]*\)", "", text)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_has_no_dialect(page):
    assert dialect_in(prose_of(page.read_text())) == []


@pytest.mark.parametrize("path", [*SPECS, *FILTERS], ids=name_of)
def test_the_description_of_a_variable_or_a_filter_has_no_dialect(path):
    found = [dialect_in(markup_free(text)) for text in texts_in(yaml.safe_load(path.read_text()))]
    assert [word for words in found for word in words] == []


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_the_documentation_of_a_module_has_no_dialect(path):
    found = [dialect_in(markup_free(text)) for text in documented_in(path.read_text())]
    assert [word for words in found for word in words] == []


@pytest.mark.parametrize("path", TASKS, ids=name_of)
def test_the_name_of_a_task_has_no_dialect(path):
    names = re.findall(r"^ *(?:- )?name: (.+)$", path.read_text(), re.MULTILINE)
    assert [word for name in names for word in dialect_in(name)] == []


@pytest.mark.parametrize("path", FRAGMENTS, ids=name_of)
def test_a_fragment_of_the_changelog_has_no_dialect(path):
    entries = yaml.safe_load(path.read_text()).values()
    assert [word for texts in entries for text in texts for word in dialect_in(re.sub(r"``.*?``", "", text))] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The cloud told the run so.", 1),
        ("Several targets at once.", 1),
        ("`shown_as` names its place.", 0),
        ("A well known port is well known.", 0),
        ("The load balancer and the load test.", 0),
    ],
)
def test_a_word_is_found_in_prose_and_not_in_code(text, found):
    assert len(dialect_in(prose_of(text))) == found
