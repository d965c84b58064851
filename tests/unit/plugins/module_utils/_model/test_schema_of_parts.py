# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The model and the schema of a run, which is written by hand, say the same of its parts."""

from __future__ import annotations

import json

import as_json
import jsonschema
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.flow import Step
from ansible_collections.stackproof.provision.plugins.module_utils._model.host import Check, Host
from ansible_collections.stackproof.provision.plugins.module_utils._model.stage import Stage
from ansible_collections.stackproof.provision.plugins.module_utils._model.verdict import Verdict
from tree import ROLES

SCHEMA = json.loads((ROLES / "report/files/run.schema.json").read_text())
DEFINED = SCHEMA["$defs"]
STEP = DEFINED["flow"]["properties"]["steps"]["items"]
# Each part: its class, the least that one has, and its part of the schema
PARTS = {
    "step": (Step, as_json.step("1", "client", "keystone", "Ask", "HTTP REST"), STEP),
    "check": (Check, as_json.check("The tap is up", "ok"), DEFINED["host"]["properties"]["checks"]["items"]),
    "host": (Host, as_json.host("compute1"), DEFINED["host"]),
    "stage": (Stage, as_json.stage("boot", "skipped"), DEFINED["stage"]),
    "verdict": (Verdict, as_json.verdict("incomplete", None, "It broke off."), DEFINED["verdict"]),
}  # fmt: skip


def part(schema):
    """A part of the schema that can be used by itself."""
    return jsonschema.Draft202012Validator({**schema, "$defs": DEFINED})


def keys_of(kind):
    return {codec.key_of(name, hint) for name, hint in codec.hints_of(kind).items()}


@pytest.mark.parametrize("name", PARTS)
def test_class_has_the_fields_of_the_schema(name):
    kind, _made, schema = PARTS[name]
    assert keys_of(kind) == set(schema["properties"])


@pytest.mark.parametrize("name", PARTS)
def test_part_is_whole_and_valid(name):
    kind, made, schema = PARTS[name]
    assert set(schema["required"]) <= set(made) <= keys_of(kind)
    assert [error.message for error in part(schema).iter_errors(made)] == []


@pytest.mark.parametrize("name", PARTS)
def test_part_with_a_field_too_many_is_refused(name):
    _kind, made, schema = PARTS[name]
    assert not part(schema).is_valid({**made, "another": 1})
