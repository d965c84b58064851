# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The removal of what runs left, as Ansible calls it."""

from __future__ import annotations

import fcntl
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._record import ledger as ledger_module
from ansible_collections.stackproof.provision.plugins.module_utils._record import run as run_module
from ansible_collections.stackproof.provision.plugins.module_utils._record import waiting
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from ansible_collections.stackproof.provision.plugins.modules import cleanup as module


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(waiting, "PERIOD", 0.01)


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


@pytest.fixture
def left_run(cloud, runs):
    """Return a function that begins a run which left a network behind."""

    def make(name, age=timedelta(0), **record):
        run, _new = run_module.begin(str(runs), name, "small")
        thing = cloud.put("networks", name=f"{run.mark}-network")
        run.ledger.write(ledger_module.BEGUN, "network", thing["name"])
        run.ledger.write(ledger_module.MADE, "network", thing["name"], id=thing["id"])
        as_json.change(run, started=(datetime.now(UTC) - age).isoformat(timespec="microseconds"), **record)
        run.save()
        return run

    return make


def record(run):
    return json.loads(Path(run.path("run.json")).read_text())


def test_what_a_run_left_is_removed_and_counted(call, cloud, left_run, nothing_secret):
    run = left_run("run-1")
    result = call(module, run_dir=run.directory)
    assert (result["changed"], result.get("failed")) == (True, None)
    assert result["runs"] == [
        {
            "run_id": "run-1",
            "to_delete": ["stackproof-run-1-network"],
            "left": [],
            "kept": False,
            "created": 1,
            "deleted": 1,
        }
    ]
    assert cloud.all("networks") == []
    nothing_secret(cloud, run.directory)


def test_a_second_removal_has_nothing_to_do(call, cloud, left_run):
    run = left_run("run-1")
    call(module, run_dir=run.directory)
    cloud.requests.clear()
    result = call(module, run_dir=run.directory)
    assert (result["changed"], result["runs"][0]["deleted"]) == (False, 1)
    assert cloud.requests == []


def test_all_runs_of_a_folder_are_cleaned(call, cloud, left_run, runs):
    for name in ("run-1", "run-2", "run-3"):
        left_run(name)
    result = call(module, runs=str(runs))
    assert [run["run_id"] for run in result["runs"]] == ["run-1", "run-2", "run-3"]
    assert cloud.all("networks") == []


def test_only_runs_older_than_an_age_are_cleaned(call, cloud, left_run, runs):
    left_run("run-1", timedelta(hours=13))
    left_run("run-2", timedelta(hours=11))
    result = call(module, runs=str(runs), older_than="12h")
    assert [run["run_id"] for run in result["runs"]] == ["run-1"]
    assert [network["name"] for network in cloud.all("networks")] == ["stackproof-run-2-network"]


def test_a_run_that_goes_on_is_left_alone(call, cloud, left_run, runs):
    run = left_run("run-1")
    with open(run.path("watched"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert call(module, runs=str(runs))["runs"] == []
    assert len(cloud.all("networks")) == 1


def test_a_run_that_is_still_watched_is_not_cleaned(call, cloud, left_run):
    run = left_run("run-1")
    with open(run.path("watched"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "the run run-1 is still going on" in call(module, run_dir=run.directory)["msg"]
        assert len(cloud.all("networks")) == 1
        assert call(module, run_dir=run.directory, end=False).get("failed") is None
    assert cloud.all("networks") == []


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"schema": "stackproof.run/9"}',
        '{"schema": "stackproof.run/2"}',
        '{"schema": "stackproof.run/2", "started": 5}',
        '{"schema": "stackproof.run/2", "started": "2026-11-21T10:00:00"}',
        '{"schema": "stackproof.run/2", "started": ' + "[" * 200000,
    ],
)
def test_a_run_whose_record_cannot_be_read_is_removed_by_its_ledger(call, cloud, left_run, runs, text):
    for name in ("run-1", "run-2", "run-3"):
        left_run(name)
    (runs / "run-2" / "run.json").write_text(text)
    result = call(module, runs=str(runs), cloud="small")
    assert [run["run_id"] for run in result["runs"]] == ["run-1", "run-2", "run-3"]
    assert cloud.all("networks") == []
    assert (runs / "run-2" / "run.json.unreadable").read_text() == text
    written = json.loads((runs / "run-2" / "run.json").read_text())
    assert (written["verdict"]["result"], written["created"], written["deleted"]) == ("incomplete", 1, 1)


def test_a_run_without_a_record_is_removed_by_its_ledger(call, cloud, left_run, runs):
    run = left_run("run-1", age=timedelta(days=2))
    os.unlink(run.path("run.json"))
    assert call(module, runs=str(runs), cloud="small").get("failed") is None
    assert cloud.all("networks") == []


def test_a_ledger_that_cannot_be_read_is_named_and_what_the_record_has_is_removed(call, cloud, left_run):
    run = left_run("run-1")
    network = cloud.all("networks")[0]
    as_json.put_stage(
        run, as_json.stage("network", "ok", resources=[{**resource_of("network", network), "created": True}])
    )
    Path(run.path("ledger.jsonl")).write_text("x" * (ledger_module.LONGEST + 1))
    result = call(module, run_dir=run.directory, cloud="small")
    assert result["failed"] is True
    assert "look on the cloud for names that begin with stackproof-run-1-" in result["msg"]
    assert cloud.all("networks") == []


def resource_of(kind, thing):
    return {"kind": kind, "id": thing["id"], "name": thing["name"]}


@pytest.mark.parametrize("lines", ["", None])
def test_a_ledger_that_was_lost_is_no_reason_to_leave_anything(call, cloud, left_run, lines):
    run = left_run("run-1")
    network = cloud.all("networks")[0]
    as_json.put_stage(
        run, as_json.stage("network", "ok", resources=[{**resource_of("network", network), "created": True}])
    )
    os.unlink(run.path("ledger.jsonl")) if lines is None else Path(run.path("ledger.jsonl")).write_text(lines)
    result = call(module, run_dir=run.directory, cloud="small")
    assert result["runs"][0]["to_delete"] == ["stackproof-run-1-network"]
    assert cloud.all("networks") == []
    leftovers = record(run)["leftovers"]
    assert [leftover["name"] for leftover in leftovers] == ["stackproof-run-1-network"]
    assert "the ledger has lost lines; it was deleted" in leftovers[0]["reason"]


def test_what_the_record_alone_knows_and_is_gone_already_is_cleaned_up(call, cloud, left_run):
    run = left_run("run-1")
    _id, network = cloud.things["/network/v2.0/networks"].popitem()
    as_json.put_stage(
        run, as_json.stage("network", "ok", resources=[{**resource_of("network", network), "created": True}])
    )
    os.unlink(run.path("ledger.jsonl"))
    assert call(module, run_dir=run.directory, cloud="small")["runs"][0]["left"] == []


def test_a_foreign_resource_that_a_damaged_record_names_stays(call, cloud, left_run):
    run, foreign = left_run("run-1"), cloud.put("networks", name="theirs")
    lie = {"kind": "network", "id": foreign["id"], "name": "stackproof-run-1-subnet", "created": True}
    as_json.put_stage(run, as_json.stage("network", "ok", resources=[lie]))
    call(module, run_dir=run.directory, cloud="small")
    assert [network["id"] for network in cloud.all("networks")] == [foreign["id"]]


def test_a_run_whose_record_names_no_cloud_is_cleaned_up_on_the_given_one(call, cloud, left_run):
    run = left_run("run-1", cloud=None)
    assert call(module, run_dir=run.directory, cloud="small").get("failed") is None
    assert cloud.all("networks") == []


def refused(call, cloud, run):
    """The message about a run that is not cleaned up, and for which no request was sent."""
    result = call(module, run_dir=run.directory)
    assert (result["failed"], result["runs"], cloud.requests) == (True, [], [])
    return result["msg"]


def test_a_run_of_another_user_is_not_cleaned(call, cloud, left_run, monkeypatch):
    """The writer of a ledger decides what is removed, but not with whose rights."""
    run, owner = left_run("run-1"), os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    message = refused(call, cloud, run)
    assert f"{run.directory} belongs to another user (number {owner}), so nothing that it names is removed" in message


@pytest.mark.parametrize("name", ["run.json", "ledger.jsonl"])
def test_a_file_of_another_user_in_a_run_of_ones_own_is_not_believed(call, cloud, left_run, monkeypatch, name):
    run, lstat = left_run("run-1"), os.lstat

    def of_another(path, **more):
        status = lstat(path, **more)
        if os.path.basename(path) != name:
            return status
        return os.stat_result([*status[:4], status.st_uid + 1, *status[5:10]])

    monkeypatch.setattr(os, "lstat", of_another)
    assert f"{name} belongs to another user" in refused(call, cloud, run)


@pytest.mark.parametrize("name", ["run-2", "run", "2", "Run-1"])
def test_a_record_in_a_directory_of_another_name_is_not_believed(call, cloud, left_run, runs, name):
    """The directory's name says whose mark is looked for: a short one would be that of many."""
    run = left_run("run-1")
    os.rename(run.directory, runs / name)
    assert "does not have the name of its run, run-1" in refused(call, cloud, run_module.Run(runs / name))


@pytest.mark.parametrize("name", ["run.json", "ledger.jsonl"])
def test_a_link_in_the_place_of_a_file_is_not_followed(call, cloud, left_run, name):
    other, run = left_run("run-1"), left_run("run-2")
    os.unlink(run.path(name))
    os.symlink(other.path(name), run.path(name))
    result = call(module, run_dir=run.directory)
    assert f"{run.path(name)} is not a regular file, so it is not a run's own" in result["msg"]
    assert cloud.requests == []


def test_a_run_whose_cloud_is_unknown_does_not_keep_the_others_from_it(call, cloud, left_run, runs):
    left_run("run-1", cloud="elsewhere")
    left_run("run-2")
    result = call(module, runs=str(runs))
    assert result["failed"] is True
    assert "elsewhere" in result["msg"]
    assert [run["run_id"] for run in result["runs"]] == ["run-2"]
    assert [network["name"] for network in cloud.all("networks")] == ["stackproof-run-1-network"]


def test_another_name_of_the_cloud_may_be_given(call, cloud, left_run, know_cloud):
    run = left_run("run-1", cloud="elsewhere")
    know_cloud(here=cloud.entry())
    assert call(module, run_dir=run.directory, cloud="here").get("failed") is None
    assert cloud.all("networks") == []


def test_a_run_is_cleaned_up_in_the_region_in_which_it_was_made(call, cloud, left_run, know_cloud):
    # The first of several regions counts where none is named.
    know_cloud(small=cloud.entry(region_name="", regions=["Elsewhere", "RegionOne"]))
    run = left_run("run-1", stages=[as_json.stage("auth", "ok", details={"region": "RegionOne"})])
    assert call(module, run_dir=run.directory).get("failed") is None
    assert cloud.all("networks") == []


def test_what_stays_fails_the_module_with_the_reason(call, cloud, left_run):
    run = left_run("run-1")
    cloud.all("networks")[0].update(name="production", description="")
    result = call(module, run_dir=run.directory)
    assert result["failed"] is True
    assert result["msg"].startswith(
        "Not everything could be removed: network stackproof-run-1-network: it does not carry the"
    )
    assert (result["runs"][0]["created"], result["runs"][0]["deleted"]) == (1, 0)
    assert record(run)["leftovers"] == result["runs"][0]["left"]


FAILED = as_json.stage("boot", "failed")


@pytest.mark.parametrize(
    ("keep", "stages", "kept"),
    [
        ("never", [FAILED], False),
        ("on_failure", [FAILED], True),
        ("on_failure", [as_json.stage("boot", "ok")], False),
        ("always", [], True),
    ],
)
def test_what_is_to_be_kept_is_kept(call, cloud, left_run, keep, stages, kept):
    run = left_run("run-1", finished="2026-11-21T06:51:37.014621+00:00", stages=stages)
    result = call(module, run_dir=run.directory, keep=keep)
    assert (result["changed"], result["runs"][0]["kept"]) == (not kept, kept)
    assert (len(cloud.all("networks")), record(run)["kept"]) == (int(kept), kept)


def test_a_run_that_broke_off_is_ended(call, left_run):
    run = left_run("run-1")
    call(module, run_dir=run.directory)
    assert record(run)["finished"]
    assert record(run)["verdict"]["result"] == "incomplete"
    assert Path(run.path("junit.xml")).exists()


def test_a_run_that_goes_on_is_cleaned_without_its_end(call, left_run):
    run = left_run("run-1")
    call(module, run_dir=run.directory, end=False)
    assert record(run)["finished"] is None
    assert record(run)["deleted"] == 1


def test_check_mode_says_what_it_would_remove(call, cloud, left_run):
    run = left_run("run-1")
    before = Path(run.path("run.json")).read_text()
    result = call(module, check=True, run_dir=run.directory)
    assert (result["changed"], result["runs"][0]["to_delete"]) == (True, ["stackproof-run-1-network"])
    assert (len(cloud.all("networks")), cloud.requests) == (1, [])
    assert Path(run.path("run.json")).read_text() == before


def test_check_mode_of_a_run_that_is_only_imagined(call, tmp_path):
    assert call(module, check=True, run_dir=str(tmp_path / "none"))["runs"] == []


def test_a_run_that_somebody_works_on_is_not_cleaned(call, cloud, left_run):
    run = left_run("run-1")
    with run.alone():
        result = call(module, run_dir=run.directory)
    assert "another process works on the run run-1" in result["msg"]
    assert len(cloud.all("networks")) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"runs": "/nonexistent/runs"}, "there is no folder /nonexistent/runs. Give a directory"),
        ({"run_dir": "/nonexistent/run"}, "is not the directory of a run"),
        ({"runs": "/tmp", "older_than": "12"}, "'12' is not an age"),
        ({"runs": "/tmp", "older_than": "1y"}, "'1y' is not an age"),
        ({"runs": "/tmp", "older_than": "999999999999w"}, "'999999999999w' is not an age"),
        ({}, "one of the following is required"),
        ({"run_dir": "/x", "runs": "/y"}, "mutually exclusive"),
    ],
)
def test_what_makes_no_sense_is_said(call, options, words):
    result = call(module, **options)
    assert result["failed"] is True
    assert words in result["msg"]


@pytest.mark.parametrize(
    ("age", "seconds"), [("0s", 0), ("90s", 90), ("5m", 300), ("2h", 7200), ("1d", 86400), ("2w", 1209600)]
)
def test_ages(age, seconds):
    difference = (datetime.now(UTC) - module.limit_of(age)).total_seconds()
    assert difference == pytest.approx(seconds, abs=1)


def test_without_an_age_a_run_of_a_clock_that_was_set_back_is_cleaned_too(call, cloud, left_run, runs):
    run = left_run("run-1")
    as_json.change(run, started="2099-01-01T00:00:00+00:00")
    run.save()
    result = call(module, runs=str(runs))
    assert [run["run_id"] for run in result["runs"]] == ["run-1"]
    assert cloud.all("networks") == []


def test_an_age_that_is_none_is_refused():
    with pytest.raises(StageError):
        module.limit_of("-1h")


def test_a_ledger_with_a_byte_that_is_no_text_does_not_keep_the_others_from_it(call, cloud, left_run, runs):
    for name in ("run-1", "run-2", "run-3"):
        left_run(name)
    ledger = runs / "run-2" / "ledger.jsonl"
    ledger.write_bytes(b"\xff" + ledger.read_bytes())
    result = call(module, runs=str(runs))
    assert [run["run_id"] for run in result["runs"]] == ["run-1", "run-2", "run-3"]
    assert f"damaged line line 1 of {ledger}: it cannot be read" in result["msg"]
    # The resources in the rest of the damaged ledger are removed as well.
    assert cloud.all("networks") == []
