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
    {"_model", "_components"},
    {"_record"},
    {"_cloud"},
    {"_act", "_collect"},
    {"_match"},
    {"_chains"},
    {"_judge"},
    {"_report"},
    {"_runs"},
    {"_sweep", "_history"},
    {"_end", "_diagnose", "_load"},
    {"_canary"},
]
FLOOR_OF = {package: number for number, packages in enumerate(FLOORS) for package in packages}
FILES = sorted(UTILS.rglob("*.py"))


def place_of(path):
    """A file as the parts of its name below module_utils."""
    return path.relative_to(UTILS).with_suffix("").parts


def imported(path):
    """The files of module_utils that a file imports, or of which it imports something."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom):
            continue
        assert not (node.module or "").startswith(NAME), f"{path} imports its neighbours by their full names"
        if not node.level:
            continue
        # Of a package's __init__ its own folder is the first level up.
        named = (*place_of(path)[: -node.level], *(node.module or "").split("."))
        place = tuple(part for part in named if part)
        if (UTILS.joinpath(*place)).with_suffix(".py").exists():
            yield place
        for alias in node.names:
            if UTILS.joinpath(*place, f"{alias.name}.py").exists():
                yield (*place, alias.name)
            elif UTILS.joinpath(*place, "__init__.py").exists() and alias.name.isupper():
                yield (*place, "__init__")


def test_all_code_is_in_a_package_and_each_package_has_a_floor():
    assert {place_of(path)[0] for path in FILES} == set(FLOOR_OF)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(UTILS)))
def test_a_file_imports_only_from_floors_below(path):
    here = place_of(path)[0]
    above = {place[0] for place in imported(path) if place[0] != here and FLOOR_OF[place[0]] >= FLOOR_OF[here]}
    assert above == set()


def test_no_files_import_each_other_in_a_circle():
    graph = {place_of(path): set(imported(path)) for path in FILES}
    assert sum(len(targets) for targets in graph.values()) > 150
    assert not {target for targets in graph.values() for target in targets} - graph.keys()
    TopologicalSorter(graph).prepare()  # raises CycleError


@pytest.mark.parametrize("package", sorted(FLOOR_OF))
def test_each_package_says_what_goes_in_and_what_comes_out(package):
    text = ast.get_docstring(ast.parse((UTILS / package / "__init__.py").read_text()))
    assert "In: " in text
    assert "Out: " in text
    assert "PRIVATE to the collection" in text
    # It stands there, and nowhere else.
    assert not [path for path in FILES if "PRIVATE to the collection" in path.read_text() and path.stem != "__init__"]
