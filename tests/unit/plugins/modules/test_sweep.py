# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep's begin and end, as Ansible asks for them, with recorded runs in between."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import jsonschema
import pytest
from ansible_collections.stackproof.provision.plugins.modules import sweep as module
from tree import RECORDED, ROOT

RUNS = RECORDED / "runs"
REPORT = ROOT / "roles/report"
SCHEMA = json.loads((REPORT / "files/sweep.schema.json").read_text())
PASSED, FAILED = "20261121-065105-bdb5f5", "20261121-065322-ce7f74"


@pytest.fixture
def sweep(call, tmp_path):
    """Return a function that calls the module."""

    def act(state, check=False, **options):
        return call(module, check=check, state=state, runs=str(tmp_path), cloud="small", **options)

    return act


@pytest.fixture
def begun(sweep):
    return sweep("begun", hosts=["c1", "c2"], parallel=3)


def put(tmp_path, target, recorded):
    shutil.copytree(RUNS / recorded, tmp_path / target["run_id"])


def record_of(result):
    record = json.loads((Path(result["directory"]) / "sweep.json").read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(record)
    return record


def test_begun_sweep_returns_the_runs_to_do(begun, tmp_path):
    assert begun["changed"] is True
    assert [target["run_id"] for target in begun["targets"]] == [f"{begun['sweep_id']}-c1", f"{begun['sweep_id']}-c2"]
    assert begun["directory"] == str(tmp_path / f"sweep-{begun['sweep_id']}")
    record = record_of(begun)
    assert (record["cloud"], record["parallel"], record["verdict"]["result"]) == ("small", 3, "incomplete")
    assert not stat.S_IMODE(os.stat(begun["directory"]).st_mode) & 0o077


def test_the_same_id_twice_is_refused(sweep):
    sweep("begun", sweep_id="mine", hosts=["c1"])
    result = sweep("begun", sweep_id="mine", hosts=["c1"])
    assert result["failed"]
    assert "there was a sweep mine before. Choose another id" in result["msg"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sweep_id": "Mine"}, "is not a sweep id"),
        ({"values": {"zone": "nova"}}, "the values of zone for the sweep are not a list of names: 'nova'"),
        ({"values": {"flavour": ["a"]}}, "a sweep can vary network, volume_type, zone besides the hosts, not flavour"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(sweep, tmp_path, options, words):
    result = sweep("begun", **options)
    assert words in result["msg"]
    assert os.listdir(tmp_path) == []


def test_all_passed(sweep, begun, tmp_path):
    for target in begun["targets"]:
        put(tmp_path, target, PASSED)
    result = sweep("finished", sweep_id=begun["sweep_id"], templates=str(REPORT / "templates"))
    assert result.get("failed") is None
    assert result["verdict"] == {"result": "pass", "reason": "All 2 targets passed.", "hosts": []}
    record = record_of(result)
    assert [target["directory"] for target in record["targets"]] == [
        f"../{target['run_id']}" for target in begun["targets"]
    ]
    for name in ("junit.xml", "sweep.html", "sweep.json"):
        path = Path(result["directory"]) / name
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077
    assert any("PASS: All 2 targets passed." in line for line in result["summary"])


def test_one_failed(sweep, begun, tmp_path):
    put(tmp_path, begun["targets"][0], PASSED)
    put(tmp_path, begun["targets"][1], FAILED)
    result = sweep("finished", sweep_id=begun["sweep_id"])
    assert result["failed"]
    assert result["verdict"]["hosts"] == ["c2"]
    assert result["msg"] == result["verdict"]["reason"]
    assert not (Path(result["directory"]) / "sweep.html").exists()
    assert sweep("finished", sweep_id=begun["sweep_id"], enforce=False).get("failed") is None


def test_a_run_that_is_missing_or_broken_is_no_pass(sweep, begun, tmp_path):
    (tmp_path / begun["targets"][0]["run_id"]).mkdir()
    (tmp_path / begun["targets"][0]["run_id"] / "run.json").write_text("{")
    result = sweep("finished", sweep_id=begun["sweep_id"])
    assert result["verdict"]["result"] == "incomplete"
    reasons = [target["reason"] for target in record_of(result)["targets"]]
    assert "cannot be read" in reasons[0]
    assert reasons[1] == "its run was not begun"


def test_a_finished_sweep_keeps_its_verdict(sweep, begun, tmp_path):
    first = sweep("finished", sweep_id=begun["sweep_id"])
    before = record_of(first)
    put(tmp_path, begun["targets"][0], PASSED)
    second = sweep("finished", sweep_id=begun["sweep_id"])
    assert (second["changed"], record_of(second)) == (False, before)


def test_check_mode_writes_nothing(sweep, tmp_path):
    result = sweep("begun", check=True, hosts=["c1"])
    assert [target["name"] for target in result["targets"]] == ["c1"]
    assert sweep("finished", check=True, sweep_id=result["sweep_id"])["changed"] is False
    assert os.listdir(tmp_path) == []


def test_a_sweep_that_was_never_begun_has_no_end(sweep):
    assert "No such file" in sweep("finished", sweep_id="never")["msg"]


def test_preflight_counts(sweep, begun, tmp_path):
    check = {
        "kind": "service",
        "name": "x",
        "status": "failed",
        "reason": "it is down",
        "host": "c9",
        "component": "nova",
    }
    excluded = [{"host": "c3", "reason": "disabled: repair"}]
    other = sweep("begun", hosts=["c1"], checks=[check], excluded=excluded)
    put(tmp_path, other["targets"][0], PASSED)
    result = sweep("finished", sweep_id=other["sweep_id"])
    assert result["msg"] == "The target c1 passed. Preflight: it is down."
    assert record_of(result)["excluded"] == excluded
    assert other["sweep_id"] != begun["sweep_id"]


@pytest.mark.parametrize("archive", [True, False])
def test_archive_is_written_where_it_is_wanted_and_named(sweep, begun, tmp_path, archive):
    for target in begun["targets"]:
        put(tmp_path, target, PASSED)
    result = sweep("finished", sweep_id=begun["sweep_id"], archive=archive)
    path = Path(f"{result['directory']}.tar.gz")
    assert path.exists() == archive
    assert (f"  archive: {path}" in result["summary"]) == archive


def test_level_is_in_the_record_the_summary_and_the_page(sweep, tmp_path):
    begun = sweep("begun", sweep_id="nightly", hosts=["c1"], level="full")
    put(tmp_path, begun["targets"][0], PASSED)
    result = sweep("finished", sweep_id="nightly", templates=str(REPORT / "templates"))
    assert record_of(result)["level"] == "full"
    assert "Sweep nightly on small, level full" in result["summary"]
    assert "<dt>level</dt><dd>full</dd>" in (Path(result["directory"]) / "sweep.html").read_text()


@pytest.mark.parametrize(("levels", "combined"), [(("full", "full"), "full"), (("full", "smoke"), None)])
def test_combined_sweep_has_the_level_that_all_have(sweep, tmp_path, levels, combined):
    for number, level in enumerate(levels, start=1):
        part = sweep("begun", sweep_id="nightly", slice=f"{number}/2", hosts=["c1", "c2"], level=level)
        put(tmp_path, part["targets"][0], PASSED)
        sweep("finished", sweep_id=part["sweep_id"])
    assert record_of(sweep("combined", sweep_id="all", directories=[str(tmp_path)]))["level"] == combined


@pytest.fixture
def sliced(sweep, tmp_path):
    """Two slices that have ended: in the first c1 has passed, in the second c2 has failed."""
    for number, recorded in ((1, PASSED), (2, FAILED)):
        part = sweep("begun", sweep_id="nightly", slice=f"{number}/2", hosts=["c1", "c2"])
        put(tmp_path, part["targets"][0], recorded)
        sweep("finished", sweep_id=part["sweep_id"], enforce=False)
    return tmp_path


def test_a_slice_is_begun_with_its_part_of_the_targets(sweep):
    part = sweep("begun", sweep_id="nightly", slice="2/3", hosts=["c1", "c2", "c3", "c4", "c5"])
    assert (part["sweep_id"], [target["name"] for target in part["targets"]]) == ("nightly-2of3", ["c2", "c5"])
    record = record_of(part)
    jsonschema.Draft202012Validator(SCHEMA).validate(record)
    assert record["slice"] == {"number": 2, "of": 3, "targets": 5}


def test_a_slice_that_is_none_is_refused_before_anything_is_written(sweep, tmp_path):
    assert "'4/3' is not a slice" in sweep("begun", slice="4/3", hosts=["c1"])["msg"]
    assert os.listdir(tmp_path) == []


def test_slices_are_combined_into_one_sweep_with_one_verdict(sweep, sliced):
    templates = str(REPORT / "templates")
    result = sweep("combined", sweep_id="all", directories=[str(sliced)], enforce=False, templates=templates)
    record = record_of(result)
    jsonschema.Draft202012Validator(SCHEMA).validate(record)
    assert (result["verdict"]["result"], result["verdict"]["hosts"]) == ("fail", ["c2"])
    assert "1 of 2 targets did not pass" in result["verdict"]["reason"]
    assert "Sweep all on small, combined from 2 sweeps" in result["summary"]
    for target in record["targets"]:
        assert (Path(result["directory"]) / target["directory"] / "run.json").exists()
    page = (Path(result["directory"]) / "sweep.html").read_text()
    assert "all, combined from 2 sweeps" in page
    # What is combined already is not combined once more.
    again = sweep("combined", sweep_id="again", directories=[str(sliced)], enforce=False)
    assert [part["sweep_id"] for part in record_of(again)["combined"]] == ["nightly-1of2", "nightly-2of2"]
    assert "there was a sweep all before" in sweep("combined", sweep_id="all", directories=[str(sliced)])["msg"]


def test_interrupted_sweep_is_combined_with_the_results_of_its_runs(sweep, tmp_path):
    begun = sweep("begun", sweep_id="cut", hosts=["c1", "c2"])
    put(tmp_path, begun["targets"][0], PASSED)
    result = sweep("combined", directories=[begun["directory"]], enforce=False)
    assert result["verdict"]["result"] == "incomplete"
    assert [target["result"] for target in record_of(result)["targets"]] == ["pass", "incomplete"]


def change(directory, keys, value):
    """Give a value below sweep.json another value; the last key leads to it."""
    path = Path(directory) / "sweep.json"
    record = json.loads(path.read_text())
    inner = record
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    path.write_text(json.dumps(record))
    return str(path)


ODD = [
    ("targets", None),
    ("targets", 5),
    ("targets", [{}]),
    ("targets", [None]),
    ("targets", {"name": "c1"}),
    ("preflight", None),
    ("preflight", [{"name": "x"}]),
    ("excluded", ["c9"]),
    ("started", 5),
    ("started", "yesterday"),
    ("started", "2026-13-21T00:00:00.000000+00:00"),
    ("finished", [1]),
    ("cloud", None),
    ("cloud", 7),
    ("parallel", "4"),
    ("parallel", float("nan")),
    ("duration_s", float("inf")),
    ("verdict", "pass"),
    ("verdict", {"result": "fine", "reason": "", "hosts": []}),
    ("slice", 3),
    ("slice", {"number": 1, "of": 10**12, "targets": 1}),
    ("slice", {"number": 3, "of": 2, "targets": 1}),
    ("combined", 5),
    ("combined", [{"sweep_id": "x"}]),
    ("stages", [{"stage": "boot"}]),
    ("outliers", {}),
    ("sweep_id", {}),
]


@pytest.mark.parametrize(("name", "value"), ODD, ids=repr)
def test_malformed_sweep_is_refused_with_its_path(sweep, begun, name, value):
    path = change(begun["directory"], [name], value)
    message = sweep("combined", directories=[begun["directory"]])["msg"]
    assert f"{path} cannot be read: {name}" in message
    assert "must be" in message
    assert "defect" not in message
    assert message == sweep("finished", sweep_id=begun["sweep_id"])["msg"]


@pytest.mark.parametrize("name", ["targets", "started", "preflight", "verdict", "cloud", "parallel"])
def test_sweep_with_a_missing_key_is_refused_with_its_path(sweep, begun, name):
    path = Path(begun["directory"]) / "sweep.json"
    record = json.loads(path.read_text())
    del record[name]
    path.write_text(json.dumps(record))
    message = sweep("combined", directories=[begun["directory"]])["msg"]
    assert f"{path} cannot be read: the record: must be an object with {name}, not" in message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", None),
        ("name", "c" + "1" * 5000),
        ("key", ["a"]),
        ("run_id", "../../elsewhere"),
        ("run_id", None),
        ("host", 5),
        ("result", "fine"),
        ("reason", None),
        ("directory", 7),
        ("directory", "javascript:alert(1)"),
        ("duration_s", "long"),
        ("duration_s", 10**400),
        ("duration_s", 1e308),
        ("stages", None),
        ("stages", [{"stage": "boot", "status": "ok", "seconds": "x", "reason": None}]),
        ("stages", [{"stage": "boot", "status": "fine", "seconds": 1, "reason": None}]),
        ("stages", [{"stage": "lunch", "status": "ok", "seconds": 1, "reason": None}]),
    ],
    ids=repr,
)
def test_malformed_target_is_refused_with_its_path(sweep, begun, name, value):
    sweep("finished", sweep_id=begun["sweep_id"], enforce=False)
    path = change(begun["directory"], ["targets", 0, name], value)
    message = sweep("combined", directories=[begun["directory"]])["msg"]
    assert f"{path} cannot be read: targets[0].{name}" in message


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "5",
        "null",
        '"words"',
        "[" * 100_000,
        '{"schema": ["a"]}',
        '{"schema": "stackproof.sweep/1"}',
        '{"schema": "stackproof.sweep/2"}',
    ],
)
def test_file_that_is_not_a_sweep_is_refused_with_its_path(sweep, begun, text):
    path = Path(begun["directory"]) / "sweep.json"
    path.write_text(text)
    assert f"{path} cannot be read: " in sweep("combined", directories=[begun["directory"]])["msg"]


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (["verdict", "reason"], 5),
        (["stages", 4, "error"], {"message": [1]}),
        (["stages", 4, "error"], "words"),
        (["stages", 4, "status"], "fine"),
    ],
)
def test_a_target_whose_run_has_a_record_of_another_form_is_no_pass(sweep, begun, tmp_path, keys, value):
    target = begun["targets"][0]
    put(tmp_path, target, FAILED)
    path = tmp_path / target["run_id"] / "run.json"
    record = json.loads(path.read_text())
    inner = record
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    path.write_text(json.dumps(record))
    result = sweep("finished", sweep_id=begun["sweep_id"])
    assert "defect" not in result["msg"]
    assert record_of(result)["targets"][0]["result"] == "incomplete"


def test_a_stage_without_a_time_counts_for_no_median(sweep, begun, tmp_path):
    for target in begun["targets"]:
        put(tmp_path, target, PASSED)
    path = tmp_path / begun["targets"][0]["run_id"] / "run.json"
    record = json.loads(path.read_text())
    for stage in record["stages"]:
        stage["duration_s"] = None
    path.write_text(json.dumps(record))
    result = sweep("finished", sweep_id=begun["sweep_id"])
    assert {stage["targets"] for stage in record_of(result)["stages"]} == {1}


def test_sweep_without_a_number_in_parallel_is_combined(sweep, begun, tmp_path):
    for target in begun["targets"]:
        put(tmp_path, target, PASSED)
    sweep("finished", sweep_id=begun["sweep_id"])
    change(begun["directory"], ["parallel"], None)
    assert sweep("combined", directories=[begun["directory"]])["verdict"]["result"] == "pass"


def test_malformed_checks_are_refused_before_anything_is_written(sweep, tmp_path):
    message = sweep("begun", hosts=["c1"], checks=[{"name": "x", "status": "fine"}])["msg"]
    assert "the options do not make a sweep: checks[0]: must be an object with kind, not" in message
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("directories", "words"),
    [
        ([], "there are no sweeps to combine"),
        (["empty"], "there is no sweep in"),
        (["torn"], "sweep.json cannot be read"),
    ],
)
def test_what_cannot_be_combined_is_an_error_before_anything_is_written(sweep, tmp_path, directories, words):
    (tmp_path / "empty").mkdir()
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "sweep.json").write_text("{")
    assert words in sweep("combined", directories=[str(tmp_path / name) for name in directories])["msg"]
    assert sorted(os.listdir(tmp_path)) == ["empty", "torn"]
