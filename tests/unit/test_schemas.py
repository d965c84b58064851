# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The schemas of records and their tables in the documentation are those that tools/schemas.py makes of the model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import permutations
from typing import Annotated

import jsonschema
import pytest
import schemas
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.inventory import FinishedRun
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import read_as
from ansible_collections.stackproof.provision.plugins.module_utils._runs import inventory
from ansible_collections.stackproof.provision.plugins.module_utils._runs.comparison import compare
from ansible_collections.stackproof.provision.plugins.module_utils._runs.results import ALONE, FinishedResult
from tree import RECORDED, ROOT

RUNS = sorted((RECORDED / "runs").iterdir())


@pytest.mark.parametrize(("path", "text"), schemas.files().items(), ids=lambda value: getattr(value, "name", ""))
def test_file_is_what_the_model_makes(path, text):
    assert path.read_text() == text, f"{path.relative_to(ROOT)} differs from the model: run tools/schemas.py"


@pytest.mark.parametrize("name", schemas.RECORDS)
def test_schema_is_valid_and_each_key_of_the_record_is_described(name):
    schema = schemas.schema_of(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert [key for key, node in schema["properties"].items() if "description" not in node] == []


@pytest.mark.parametrize("directory", RUNS, ids=lambda path: path.name)
def test_schema_of_a_run_fits_recorded_runs(directory):
    record = codec.from_json(Record, json.loads((directory / "run.json").read_text()))
    jsonschema.Draft202012Validator(schemas.schema_of("run")).validate(codec.to_json(record))


def result_of(directory):
    run = read_as(FinishedRun, str(directory))
    return FinishedResult(inventory.of_run(run), {ALONE: run})


@pytest.mark.parametrize("directory", RUNS, ids=lambda path: path.name)
def test_schema_of_an_inventory_fits_those_of_recorded_runs(directory):
    made = codec.to_json(result_of(directory).inventory)
    assert made["skipped"] or made["services"]
    jsonschema.Draft202012Validator(schemas.schema_of("inventory")).validate(made)


def test_schema_of_a_comparison_fits_those_of_recorded_runs():
    pairs = [compare(result_of(before), result_of(now)) for before, now in permutations(RUNS, 2)]
    assert not any(all(getattr(pair, kind) == () for pair in pairs) for kind in ("verdicts", "stages", "versions"))
    for comparison in pairs:
        jsonschema.Draft202012Validator(schemas.schema_of("comparison")).validate(codec.to_json(comparison))


@dataclass(frozen=True)
class Example:
    """An example. It has fields.

    first: the first one: a text. second, third: both numbers.
    """

    first: Annotated[str, codec.Key("one"), codec.Pattern("[a-z]+")]
    second: Annotated[int, codec.Range(0, 9)]
    third: float | None
    fourth: tuple[str, ...] = codec.omitted(())


def test_annotations_and_docstring_make_the_schema():
    assert schemas.Schema(Example).root == {
        "description": "An example. It has fields.",
        "type": "object",
        "required": ["one", "second", "third"],
        "additionalProperties": False,
        "properties": {
            "one": {"type": "string", "pattern": "^[a-z]+$", "description": "The first one: a text."},
            "second": {"type": "integer", "minimum": 0, "maximum": 9, "description": "Both numbers."},
            "third": {"type": ["number", "null"], "description": "Both numbers."},
            "fourth": {"type": "array", "items": {"type": "string"}},
        },
    }
