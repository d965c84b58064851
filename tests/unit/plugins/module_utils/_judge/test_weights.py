# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The numbers of the judge are in one place."""

from __future__ import annotations

import ast
import itertools
from dataclasses import FrozenInstanceError, fields

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge.weights import WEIGHTS, Parts, cut
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import AT_PEER, How
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Kind
from tree import ROOT

JUDGE = ROOT / "plugins" / "module_utils" / "_judge"
# These find no cause: they read earlier runs, and format reasons for readers.
OTHER = {"weights.py", "history.py", "checks.py", "thresholds.py"}
FILES = sorted(path for path in JUDGE.rglob("*.py") if path.name not in OTHER)


def numbers_in(source):
    """Return the numbers in code other than 0 and 1."""
    constants = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    values = [node.value for node in constants if isinstance(node.value, (int, float))]
    return [value for value in values if not isinstance(value, bool) and value not in (0, 1)]


@pytest.mark.parametrize(
    ("source", "numbers"), [("x = 0.7", [0.7]), ("f(-2)", [2]), ("x[1:] + 0 + True", []), ("f'{x:.3f} 5'", [])]
)
def test_number_in_code_is_found(source, numbers):
    assert numbers_in(source) == numbers


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(JUDGE)))
def test_all_numbers_are_among_the_weights(path):
    assert numbers_in(path.read_text()) == []


def test_each_field_has_its_reason_in_a_comment():
    """Either a comment stands above it, or it belongs to the group of the field above."""
    source = (JUDGE / "weights.py").read_text()
    lines = source.splitlines()
    classes = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
    body = classes["Weights"].body
    commented = 0
    for before, field in itertools.pairwise(body):
        if isinstance(field, ast.AnnAssign):
            is_commented = lines[field.lineno - 2].strip().startswith("#")
            is_grouped = isinstance(before, ast.AnnAssign) and before.end_lineno == field.lineno - 1
            assert is_commented or is_grouped, ast.unparse(field)
            commented += is_commented
    assert commented > len(fields(WEIGHTS)) / 2


def test_weights_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        WEIGHTS.named = 0.5
    with pytest.raises(TypeError):
        WEIGHTS.strength[Kind.STATE] = 1.0


def test_each_kind_and_each_way_of_failing_has_its_weight():
    assert set(WEIGHTS.strength) == set(Kind)
    assert set(WEIGHTS.parts) == {*AT_PEER, None}
    assert {how for _kind, how in WEIGHTS.faint} <= set(How)
    for parts in (*WEIGHTS.parts.values(), WEIGHTS.ends, WEIGHTS.unreached):
        assert isinstance(parts, Parts)
        assert all(0 <= part <= 1 for part in parts)


@pytest.mark.parametrize(("probability", "recorded"), [(0.99999, 0.999), (0.6, 0.6), (0.0, 0.0), (1.0, 1.0)])
def test_probability_is_cut_so_that_all_are_at_most_one(probability, recorded):
    assert cut(probability) == recorded
