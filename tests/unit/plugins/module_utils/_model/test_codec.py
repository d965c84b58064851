# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion of records between JSON and dataclasses."""

from __future__ import annotations

import copy
import json
from dataclasses import FrozenInstanceError

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import StageName, StepStatus
from tree import ROOT

RECORDED = ROOT / "tests" / "recorded"
PASSED = RECORDED / "runs" / "20261121-065105-bdb5f5" / "run.json"
RECORDS = sorted(RECORDED.rglob("run.json"))


@pytest.fixture
def data():
    return json.loads(PASSED.read_text())


def lost(before, after, path=""):
    """Yield each place at which a value is gone or different. Keys that recordings lack have their defaults."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            yield from lost(value, after[key], f"{path}.{key}") if key in after else [f"{path}.{key}"]
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, pair in enumerate(zip(before, after)):
            yield from lost(*pair, f"{path}[{number}]")
    elif before != after:
        yield path


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.parent.name)
def test_recorded_run_survives_a_round_trip(path):
    data = json.loads(path.read_text())
    record = codec.from_json(Record, data)
    assert list(lost(data, codec.to_json(record))) == []
    assert codec.from_json(Record, json.loads(json.dumps(codec.to_json(record)))) == record


def test_values_have_the_types_of_the_model(data):
    record = codec.from_json(Record, data)
    auth = record.stage(StageName.AUTH)
    assert auth.started == pytest.approx(record.started, abs=60)
    steps = [step for flow in record.flows for step in flow.steps]
    assert {step.status for step in steps} <= set(StepStatus)


def test_record_cannot_be_changed(data):
    record = codec.from_json(Record, data)
    with pytest.raises(FrozenInstanceError):
        record.run_id = "other"


def test_unknown_key_is_ignored(data):
    assert codec.from_json(Record, {**data, "later": 1}) == codec.from_json(Record, data)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("run_id",), 7, "run_id: must be a text, not 7"),
        (("started",), "yesterday", "started: must be a time such as"),
        (("started",), "2026-13-41T00:00:00+00:00", "started: must be a time that exists"),
        (("duration_s",), float("nan"), "duration_s: must be a finite number, not nan"),
        (("duration_s",), 10**400, "duration_s: must be a finite number, not 1000"),
        (("duration_s",), -1, "duration_s: must be a number from 0 to 3.16224e+07, not -1"),
        (("kept",), 0, "kept: must be true or false, not 0"),
        (("created",), True, "created: must be a whole number, not True"),
        (("stages",), {}, "stages: must be a list, not {}"),
        (("stages", 0), None, "stages[0]: must be an object, not None"),
        (("stages", 1, "status"), "fine", "stages[1].status: must be one of ok, failed, skipped, not 'fine'"),
        (("stages", 0, "calls", 0, "seconds"), "1", "stages[0].calls[0].seconds: must be a number, not '1'"),
        (("history",), [], "history: must be an object, not []"),
    ],
)
def test_wrong_value_is_rejected_with_its_place(data, path, value, message):
    changed = copy.deepcopy(data)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(codec.MalformedError) as raised:
        codec.from_json(Record, changed)
    assert str(raised.value).startswith(message)


def test_missing_key_is_named(data):
    del data["stages"][2]["status"]
    with pytest.raises(codec.MalformedError, match=r"^stages\[2\]: must be an object with status, not "):
        codec.from_json(Record, data)


def test_long_value_is_quoted_in_part(data):
    data["kept"] = "x" * 1000
    with pytest.raises(codec.MalformedError) as raised:
        codec.from_json(Record, data)
    assert len(str(raised.value)) < 120
