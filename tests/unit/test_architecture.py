# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/architecture.md and its drawing say how the code is built: verbs, floors, and the writers of the record."""

from __future__ import annotations

import ast
import json
import re

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from tree import ROOT

PAGE = (ROOT / "docs/architecture.md").read_text()
DRAWING = (ROOT / "docs/architecture.svg").read_text()
PLUGINS = ROOT / "plugins"
SCHEMA = json.loads((ROOT / "roles/report/files/run.schema.json").read_text())
# The names of the keys in Python, and the other way round
FIELDS = {codec.key_of(name, hint): name for name, hint in codec.hints_of(Record).items()}
KEYS = {name: key for key, name in FIELDS.items()}
# Those of the sweep write a record of another schema.
OTHERS = {"_sweep", "_history", "_canary", "_load"}


def section(title):
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)[1]


def table(text):
    """First cell, by its name, to the names in each other cell."""
    rows = [line.strip("|").split("|") for line in text.splitlines() if re.match(r"\| `?\w+`? \|", line)]
    return {cells[0].strip(" `"): [re.findall(r"`([^`]+)`", cell) for cell in cells[1:]] for cells in rows}


VERBS = {
    name: cells
    for name, cells in table(section("Five verbs, one direction")).items()
    if len(cells) == 4 and name != "verb"
}
WRITERS = {key: cells[0] for key, cells in table(section("The record")).items() if key != "key"}


def file_of(name):
    return PLUGINS / name if name.startswith("modules/") else PLUGINS / "module_utils" / name


def assigned(path):
    """The fields of a record that a file gives: Record(field=...), run.update(field=...), and with replace."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and gives_fields(node.func):
            yield from (keyword.arg for keyword in node.keywords if keyword.arg)
        elif isinstance(node, ast.Assign) and is_replaced(node):
            yield from (keyword.arg for keyword in node.value.keywords)


def gives_fields(function):
    """Whether this is Record, run.update or self.update."""
    is_update = isinstance(function, ast.Attribute) and function.attr == "update"
    return name_of(function) == "Record" or (is_update and name_of(function.value) in ("run", "self"))


def is_replaced(node):
    """Whether this is record = replace(record, ...)."""
    is_record = [name_of(target) for target in node.targets] == ["record"]
    return is_record and isinstance(node.value, ast.Call) and name_of(node.value.func) == "replace"


def name_of(node):
    return getattr(node, "id", getattr(node, "attr", None))


def test_each_verb_has_a_package_roles_and_modules():
    packages = {package for cells in VERBS.values() for package in cells[1]}
    assert list(VERBS) == ["act", "collect", "match", "judge", "report"]
    assert packages == {f"_{name}" for name in list(VERBS)}
    for _words, _package, roles, modules in VERBS.values():
        assert roles
        assert modules
        assert all((ROOT / "roles" / role).is_dir() for role in roles)
        assert all((PLUGINS / "modules" / f"{module}.py").exists() for module in modules)


def test_every_key_of_the_record_has_its_writers():
    assert set(WRITERS) == set(SCHEMA["properties"])
    assert all(WRITERS.values())


@pytest.mark.parametrize(("key", "files"), WRITERS.items(), ids=WRITERS)
def test_a_writer_of_a_key_names_it(key, files):
    for name in files:
        text = file_of(name).read_text()
        assert re.search(rf"""["']{key}["']|\b{FIELDS[key]}=""", text), f"{name} does not write {key}"


def test_every_file_that_assigns_a_key_of_the_record_is_named():
    assignments = set()
    for path in sorted(PLUGINS.rglob("*.py")):
        if path.parent.name not in OTHERS:
            name = str(path.relative_to(PLUGINS)).removeprefix("module_utils/")
            assignments |= {(KEYS[field], name) for field in assigned(path) if field in KEYS}
    assert len(assignments) > 20
    assert {(key, name) for key, name in assignments if name not in WRITERS[key]} == set()


def test_the_drawing_has_the_floors(floors):
    _way, drawn = DRAWING.split("The floors")
    rows = re.split(r'font-weight="bold">\d+</text>', drawn)[1:]
    assert [set(re.findall(r">(_\w+)</tspan>", row)) for row in rows] == floors[::-1]


def test_the_packages_beside_the_verbs_are_explained(floors):
    explained = set(re.findall(r"^\| `(_\w+)` \|", PAGE, re.MULTILINE))
    assert explained == set().union(*floors) - {package for cells in VERBS.values() for package in cells[1]}


@pytest.fixture
def floors():
    """The floors that the imports are held to."""
    tree = ast.parse((ROOT / "tests/unit/test_floors.py").read_text())
    (node,) = (
        statement
        for statement in tree.body
        if isinstance(statement, ast.Assign) and statement.targets[0].id == "FLOORS"
    )
    return ast.literal_eval(node.value)
