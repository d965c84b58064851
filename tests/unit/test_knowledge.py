# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the code must not know: flows are data, and nothing in Python knows one of them or a step of it."""

from __future__ import annotations

import ast
import re

import pytest
import yaml
from tree import FLOWS, ROOT

SHIPPED = [yaml.load(path.read_text(), yaml.CSafeLoader) for path in sorted(FLOWS.glob("*.yml"))]
# Nova has an action of the same name.
OF_NOVA = {"attach_volume"}
NAMES = {flow["name"] for flow in SHIPPED} - OF_NOVA
# A number is a step's name in some flow, and everything else somewhere.
STEPS = {str(step["id"]) for flow in SHIPPED for step in flow["steps"] if not str(step["id"]).isdigit()}
FILES = [path for path in sorted((ROOT / "plugins").rglob("*")) if path.suffix in (".py", ".yml")]


def texts_of(path):
    if path.suffix == ".yml":
        return [path.read_text()]
    tree = ast.parse(path.read_text())
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def test_there_is_something_to_look_for():
    assert len(NAMES) == 18
    assert {"26c", "N17"} <= STEPS


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_flow_and_no_step_of_one_is_named(path):
    texts = texts_of(path)
    assert [name for name in NAMES for text in texts if re.search(rf"\b{name}\b", text)] == []
    assert [step for step in STEPS if step in texts] == []


def lists_of_texts(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)) and node.elts:
            values = [item.value if isinstance(item, ast.Constant) else None for item in node.elts]
            if all(isinstance(value, str) for value in values):
                yield values


def test_no_steps_are_looked_for_by_their_numbers():
    numbers = {str(step["id"]) for flow in SHIPPED for step in flow["steps"]}
    code = [path for path in FILES if path.suffix == ".py"]
    assert [values for path in code for values in lists_of_texts(path) if set(values) <= numbers] == []
