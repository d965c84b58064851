# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a run begins, as Ansible calls it."""

from __future__ import annotations

import fcntl
import json
import os
import re
from importlib import metadata
from pathlib import Path

import pytest
from ansible.module_utils import ansible_release
from ansible_collections.stackproof.provision.plugins.modules import run as module


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


@pytest.fixture
def watched(monkeypatch):
    """The runs that got a watch, with the process that is watched."""
    watches = []

    def watch(run, params, process):
        watches.append((run.id, params, process))
        return True

    monkeypatch.setattr(module.watchdog, "watch", watch)
    return watches


def test_a_run_gets_a_directory_and_an_id(call, runs):
    result = call(module, runs=str(runs), cloud="lab")
    assert result["changed"] is True
    assert re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{6}", result["run_id"])
    assert result["directory"] == str(runs / result["run_id"])
    record = json.loads(Path(result["directory"], "run.json").read_text())
    assert (record["run_id"], record["cloud"], record["stages"]) == (result["run_id"], "lab", [])


def test_a_run_with_a_given_id_is_begun_once(call, runs):
    first = call(module, runs=str(runs), run_id="nightly-1", cloud="lab")
    again = call(module, runs=str(runs), run_id="nightly-1", cloud="lab")
    assert (first["changed"], again["changed"]) == (True, False)
    assert first["directory"] == again["directory"] == str(runs / "nightly-1")


def test_check_mode_makes_nothing(call, runs):
    result = call(module, check=True, runs=str(runs), run_id="nightly-1")
    assert (result["changed"], result["directory"]) == (True, str(runs / "nightly-1"))
    assert not runs.exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"run_id": "No Id"}, "'No Id' is not a run id"),
        ({"thresholds": [{"name": "a", "query": "stages[", "max": 1}]}, "the threshold a has no valid query"),
        ({"thresholds": [{"name": "a", "query": "created"}]}, "the threshold a has neither max nor min"),
        ({"flows": ["/nonexistent/flow.yml"]}, "/nonexistent/flow.yml: "),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_made(call, runs, options, words):
    result = call(module, runs=str(runs), **options)
    assert result["failed"]
    assert words in result["msg"]
    assert not runs.exists()


def test_a_folder_that_cannot_be_made_is_said(call, tmp_path):
    (tmp_path / "file").touch()
    result = call(module, runs=str(tmp_path / "file" / "runs"), run_id="run-1")
    assert result["failed"]
    assert "Not a directory" in result["msg"]
    assert "Traceback" not in str(result)


def test_a_run_is_watched_for_its_playbook(call, runs, watched):
    options = {"cloud": "lab", "keep": "on_failure", "_controller": os.getpid()}
    assert call(module, runs=str(runs), run_id="run-1", **options)["watched"] is True
    ((name, params, process),) = watched
    assert (name, params["cloud"], params["keep"], process) == ("run-1", "lab", "on_failure", os.getpid())


@pytest.mark.parametrize("options", [{"watch": False, "_controller": 1}, {}])
def test_a_run_without_a_playbook_on_this_machine_is_not_watched(call, runs, watched, options):
    assert call(module, runs=str(runs), run_id="run-1", **options)["watched"] is False
    assert watched == []


def test_a_finished_run_says_so_and_is_not_watched_again(call, runs, watched):
    assert call(module, runs=str(runs), run_id="run-1")["finished"] is False
    path = runs / "run-1" / "run.json"
    path.write_text(path.read_text().replace('"finished": null', '"finished": "2026-11-21T06:51:05.844899+00:00"'))
    again = call(module, runs=str(runs), run_id="run-1", _controller=1)
    assert (again["changed"], again["finished"]) == (False, True)
    assert watched == []


def test_a_run_that_another_playbook_works_on_is_refused(call, runs, watched):
    call(module, runs=str(runs), run_id="run-1")
    with (runs / "run-1" / "watched").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = call(module, runs=str(runs), run_id="run-1", _controller=1)
    assert result["failed"]
    assert "another process works on the run run-1" in result["msg"]
    assert watched == []


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "0", -5, "1e10", float("inf")])
def test_time_that_no_removal_can_wait_is_refused_before_anything_is_made(call, runs, value):
    result = call(module, runs=str(runs), cloud="lab", cleanup_timeout=value)
    assert result["failed"] is True
    assert result["msg"].startswith("cleanup_timeout cannot be ")
    assert "Give a number of seconds above 0" in result["msg"]
    assert not runs.exists()


def test_watch_gets_the_time_of_the_removal(call, runs, watched):
    call(module, runs=str(runs), cloud="lab", _controller=os.getpid(), cleanup_timeout="90")
    assert watched[0][1]["cleanup_timeout"] == 90


@pytest.mark.parametrize("run_id", ["latest", "../../etc/x", "Big", "ab"])
@pytest.mark.parametrize("check", [False, True])
def test_what_cannot_be_the_name_of_a_run_is_refused_in_check_mode_too(call, runs, run_id, check):
    result = call(module, check=check, runs=str(runs), cloud="lab", run_id=run_id)
    assert result["failed"] is True
    assert "is not a run id" in result["msg"]
    assert not runs.exists()


def test_record_has_the_level_and_the_versions_of_the_tools(call, runs):
    left_out = [{"part": "stackproof_floating_ip", "needs": "stackproof_external_network"}]
    call(module, runs=str(runs), run_id="run-1", level="full", left_out=left_out, _collection="0.3.0")
    record = json.loads((runs / "run-1" / "run.json").read_text())
    assert record["level"] == {"name": "full", "left_out": left_out}
    assert record["tools"]["collection"] == "0.3.0"
    assert record["tools"]["ansible_core"] == ansible_release.__version__
    assert record["tools"]["openstacksdk"] == metadata.version("openstacksdk")


def test_record_of_a_run_without_a_level_has_none(call, runs):
    call(module, runs=str(runs), run_id="run-1")
    assert "level" not in json.loads((runs / "run-1" / "run.json").read_text())
