# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A load from begin to end, with recorded runs in the place of those that it would do."""

from __future__ import annotations

import json
import os
import shutil
import stat

import jsonschema
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._record.clock import seconds_between
from ansible_collections.stackproof.provision.plugins.modules import load as module
from tree import RECORDED, ROOT

REPORT = ROOT / "roles/report"
SCHEMA = json.loads((REPORT / "files/load.schema.json").read_text())
PASSED = RECORDED / "pages/20261121-152747-af4099/run.json"
FAILED = RECORDED / "removed/run.json"
FAILS = {"status": "failed", "host": None, "component": "nova"}
FULL = {**FAILS, "kind": "quota", "name": "the quota of instances is enough", "reason": "instances: 4 are needed"}
DOWN = {**FAILS, "kind": "service", "name": "nova-compute on c1 is alive", "reason": "nova-compute on c1 is down"}
SLOW = {"name": "boot p95", "query": "stages[?stage=='boot'] | [0].levels[-1].p95_s", "max": 1}


@pytest.fixture
def load(call, tmp_path):
    """Return a function that calls the module."""

    def act(state, **options):
        templates = str(REPORT / "templates")
        return call(module, state=state, cloud="small", runs=str(tmp_path), templates=templates, **options)

    return act


@pytest.fixture
def begun(load):
    return load("begun", load_id="night", instances=2, ramp=[1, 2])


@pytest.fixture
def done(begun, tmp_path):
    """Three of four runs were done: two that passed, and one that failed."""
    for target, record in zip(begun["targets"], (PASSED, PASSED, FAILED)):
        (tmp_path / target["run_id"]).mkdir()
        shutil.copy(record, tmp_path / target["run_id"] / "run.json")
    return tmp_path / "load-night"


def written(directory):
    record = json.loads((directory / "load.json").read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(record)
    return record


def test_begun_load_test_has_its_record_and_returns_what_to_do(begun, tmp_path):
    assert begun["levels"] == [1, 2]
    assert [target["run_id"] for target in begun["targets"]] == ["night-1", "night-2", "night-3", "night-4"]
    path = tmp_path / "load-night/load.json"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    record = written(path.parent)
    assert record["verdict"]["result"] == "incomplete"
    assert {run["headline"] for run in record["runs"]} == {"its run was not begun"}


def test_a_load_that_would_fill_a_quota_is_refused_and_nothing_is_written(load, tmp_path):
    result = load("begun", checks=[DOWN, FULL])
    assert result["failed"] is True
    assert "the project has no room for this load test: instances: 4 are needed" in result["msg"]
    assert "lower stackproof_at_once or the ramp" in result["msg"]
    assert list(tmp_path.iterdir()) == []


def test_other_failed_checks_are_recorded_and_the_load_test_goes_on(load):
    assert load("begun", checks=[DOWN])["changed"] is True


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"instances": 0}, "instances cannot be 0"),
        ({"ramp": [2, 1]}, "does not rise"),
        ({"rate": -1.0}, "rate cannot be -1"),
        ({"load_id": "A"}, "is not the id of a load test"),
        ({"thresholds": [{"name": "x", "query": "a["}]}, "the threshold x has no valid query"),
    ],
)
def test_impossible_load_test_is_refused_before_anything_is_written(load, tmp_path, options, words):
    result = load("begun", **options)
    assert result["failed"] is True
    assert words in result["msg"]
    assert list(tmp_path.iterdir()) == []


def test_an_id_is_used_once(load, begun):
    assert begun["load_id"] == "night"
    assert "there was a load night before" in load("begun", load_id="night")["msg"]


def test_in_check_mode_nothing_is_written(load, tmp_path):
    assert len(load("begun", check=True)["targets"]) == 10
    assert list(tmp_path.iterdir()) == []
    assert load("finished", load_id="night", check=True)["summary"] == []


def test_figures_are_reported_level_by_level(load, done):
    result = load("finished", load_id="night", enforce=False)
    record = written(done)
    assert [(level["parallel"], level["runs"], level["passed"]) for level in record["levels"]] == [(1, 2, 2), (2, 1, 0)]
    assert [run["result"] for run in record["runs"]] == ["pass", "pass", "fail", "incomplete"]
    (cause,) = record["causes"]
    assert (cause["runs"], cause["component"]) == (["3"], "cinder-volume")
    boot = next(stage for stage in record["stages"] if stage["stage"] == "boot")
    assert boot["levels"][0]["runs"] == 2
    assert boot["levels"][1] is None
    reason = result["verdict"]["reason"]
    assert reason.startswith("2 of 3 instances passed. 1 instance: ")
    assert "1 of 4 were not begun." in reason
    text = "\n".join(result["summary"])
    assert "2 instances at each level, 1, then 2 in parallel" in text
    assert "1 failed: " in text
    page = (done / "load.html").read_text()
    assert 'href="../night-3/report.html"' in page
    assert "<script" not in page


def test_without_a_pass_the_module_fails_unless_that_was_not_asked_for(load, done):
    result = load("finished", load_id="night")
    assert result["failed"] is True
    assert result["msg"] == written(done)["verdict"]["reason"]


def test_what_has_ended_stays_as_it_is(load, done):
    load("finished", load_id="night", enforce=False)
    before = (done / "load.json").read_text()
    assert load("finished", load_id="night", enforce=False)["changed"] is False
    assert (done / "load.json").read_text() == before


def test_exceeded_limit_is_reported(load, done):
    result = load("finished", load_id="night", thresholds=[SLOW], enforce=False)
    (limit,) = written(done)["thresholds"]
    assert limit["ok"] is False
    assert "Limits exceeded: boot p95: " in result["verdict"]["reason"]


def test_limit_that_stopped_a_ramp_is_reported(load, done):
    (done / "levels").mkdir()
    (done / "levels/0").write_text("12.5 ")
    (done / "levels/2").write_text("20.5 boot p95: 9 is more than 1")
    result = load("finished", load_id="night", enforce=False)
    assert "1 of 4 were not begun: boot p95: 9 is more than 1." in result["verdict"]["reason"]


def test_a_run_that_made_nothing_took_until_its_last_stage_ended(load, done, tmp_path):
    record = json.loads((tmp_path / "night-3/run.json").read_text())
    last = max(stage["finished"] for stage in record["stages"] if stage["finished"])
    record.update(removal=None, finished=record["finished"].replace("2026", "2027"))
    (tmp_path / "night-3/run.json").write_text(json.dumps(record))
    load("finished", load_id="night", enforce=False)
    assert written(done)["levels"][1]["seconds"] == pytest.approx(seconds_between(record["started"], last), abs=0.001)


def test_a_run_whose_record_cannot_be_read_is_no_pass(load, done, tmp_path):
    (tmp_path / "night-2/run.json").write_text("{")
    load("finished", load_id="night", enforce=False)
    assert [run["result"] for run in written(done)["runs"]][:2] == ["pass", "incomplete"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "stackproof.sweep/1"}', '{"schema": "stackproof.load/2"}'])
def test_malformed_record_is_one_sentence(load, done, text):
    (done / "load.json").write_text(text)
    result = load("finished", load_id="night")
    assert result["failed"] is True
    assert "load.json cannot be read: " in result["msg"]
    assert "defect" not in result["msg"]


def test_malformed_checks_are_refused_before_anything_is_written(load, tmp_path):
    message = load("begun", checks=[{"name": "x"}])["msg"]
    assert "the options do not make a load test: checks[0]: must be an object with kind, not" in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("run_id", "../../elsewhere"),
        ("run_id", None),
        ("parallel", float("nan")),
        ("parallel", 10**400),
        ("started", "yesterday"),
        ("result", "fine"),
        ("headline", ["a"]),
    ],
)
def test_malformed_run_is_refused_with_its_path(load, done, name, value):
    record = json.loads((done / "load.json").read_text())
    record["runs"][0][name] = value
    (done / "load.json").write_text(json.dumps(record))
    message = load("finished", load_id="night")["msg"]
    assert f"{done}/load.json cannot be read: runs[0].{name}" in message
    assert "defect" not in message
