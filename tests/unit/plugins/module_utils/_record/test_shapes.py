# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shapes and the schemas of what is written say the same."""

from __future__ import annotations

import json

import jsonschema
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._record import shapes
from tree import ROLES

SCHEMA = json.loads((ROLES / "report/files/run.schema.json").read_text())
DEFINED = SCHEMA["$defs"]
# Each shape: its type, the least that its function needs, and its part of the schema
SHAPES = {
    "step": (shapes.Step, shapes.step("1", "client", "keystone", "Ask", "HTTP REST"), DEFINED["step"]),
    "check": (shapes.Check, shapes.check("The tap is up", "ok"), DEFINED["check"]),
    "host": (shapes.Host, shapes.host("compute1"), DEFINED["host"]),
    "stage": (shapes.Stage, shapes.stage("boot", "skipped"), DEFINED["stage"]),
    "verdict": (shapes.Verdict, shapes.verdict("incomplete", None, "It broke off."), DEFINED["verdict"]),
}  # fmt: skip


def part(schema):
    """A part of the schema that can be used by itself."""
    return jsonschema.Draft202012Validator({**schema, "$defs": DEFINED})


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_has_the_fields_of_the_schema(name):
    shape, _made, schema = SHAPES[name]
    assert set(shape.__annotations__) == set(schema["properties"])


@pytest.mark.parametrize("name", SHAPES)
def test_what_is_made_is_whole_and_valid(name):
    shape, made, schema = SHAPES[name]
    assert set(schema["required"]) <= set(made) <= set(shape.__annotations__)
    assert [error.message for error in part(schema).iter_errors(made)] == []


@pytest.mark.parametrize("name", SHAPES)
def test_what_has_a_field_too_many_is_refused(name):
    _shape, made, schema = SHAPES[name]
    assert not part(schema).is_valid({**made, "another": 1})


@pytest.mark.parametrize(
    "make", [lambda: shapes.host("a"), lambda: shapes.stage("boot", "ok"), lambda: shapes.step(1, *"abcd")]
)
def test_two_of_a_shape_share_nothing(make):
    first, second = make(), make()
    assert not [name for name in first if isinstance(first[name], (list, dict)) and first[name] is second[name]]
