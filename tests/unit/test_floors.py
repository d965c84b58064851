# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The packages stand on floors, and each imports only from floors below its own. docs/architecture.md draws them."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter

import pytest
from tree import ROOT

UTILS = ROOT / "plugins" / "module_utils"
NAME = "ansible_collections.stackproof.provision.plugins.module_utils"
FLOORS = [
    {"_record"},
    {"_cloud", "_report"},
    {"_act", "_collect", "_sweep"},
    {"_normalise"},
    {"_match"},
    {"_judge"},
    {"_end", "_diagnose"},
]
FLOOR_OF = {package: number for number, packages in enumerate(FLOORS) for package in packages}
FILES = sorted(UTILS.rglob("*.py"))


def imported(path):
    """What a file of module_utils imports from there, as (package, file); the file is None for a whole package."""
    here = path.parent.name
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom):
            continue
        assert not (node.module or "").startswith(NAME), f"{path} imports its neighbours by their full names"
        parts = (node.module or "").split(".") if node.module else []
        if node.level == 1:
            package, rest = here, parts
        elif node.level == 2:
            package, rest = parts[0], parts[1:]
        else:
            continue
        for name in [rest[0]] if rest else [alias.name for alias in node.names]:
            yield package, name


def test_all_code_is_in_a_package_and_each_package_has_a_floor():
    assert {path.parent.name for path in FILES} == set(FLOOR_OF)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(UTILS)))
def test_a_file_imports_only_from_floors_below(path):
    here = path.parent.name
    above = {package for package, _name in imported(path) if package != here and FLOOR_OF[package] >= FLOOR_OF[here]}
    assert above == set()


def test_no_files_import_each_other_in_a_circle():
    graph = {(path.parent.name, path.stem): set(imported(path)) for path in FILES if path.stem != "__init__"}
    assert len(graph) > 60
    assert not {target for targets in graph.values() for target in targets} - graph.keys()
    TopologicalSorter(graph).prepare()  # raises CycleError


@pytest.mark.parametrize("package", sorted(FLOOR_OF))
def test_each_package_says_what_goes_in_and_what_comes_out(package):
    text = ast.get_docstring(ast.parse((UTILS / package / "__init__.py").read_text()))
    assert "In: " in text
    assert "Out: " in text
    assert "PRIVATE to the collection" in text
    # It stands there, and nowhere else.
    assert not [path for path in FILES if "PRIVATE" in path.read_text() and path.stem != "__init__"]
