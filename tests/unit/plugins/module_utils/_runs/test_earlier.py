# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run compared with earlier ones, on copies of recorded runs."""

from __future__ import annotations

import json
import shutil
import statistics
from dataclasses import replace

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model.error_kind import ErrorKind
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import (
    EarlierResult,
    EarlierRun,
    EarlierRuns,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import Result
from ansible_collections.stackproof.provision.plugins.module_utils._record import run
from ansible_collections.stackproof.provision.plugins.module_utils._runs import earlier as earlier_module
from ansible_collections.stackproof.provision.plugins.module_utils._runs import figures
from tree import RECORDED

RUNS = RECORDED / "runs"
# Recorded before it on the same cloud: two that passed, and none on another cloud
LAST = "20261121-065813-30e86c"


@pytest.fixture
def runs(tmp_path):
    shutil.copytree(RUNS, tmp_path / "runs", ignore=shutil.ignore_patterns("*.jsonl", "*.xml", "*.prom"))
    return tmp_path / "runs"


def earlier(runs, name=LAST, most=20):
    return [found.run_id for found in earlier_module.earlier_runs(runs, run.read_record(runs / name), most)]


def test_earlier_runs_of_the_same_cloud_are_found_newest_first(runs):
    assert earlier(runs) == [
        "20261121-065405-617d6b",
        "20261121-065335-3d402b",
        "20261121-065330-a90299",
        "20261121-065322-ce7f74",
        "20261121-065105-bdb5f5",
        "20261121-064827-3a1ecd",
        "20261121-064729-83fa19",
    ]


def test_the_last_runs_are_those_that_began_last_whatever_their_names_are(runs):
    """ci-100 is younger than ci-99, though its name comes before."""
    names = {"20261121-065405-617d6b": "ci-100", "20261121-065335-3d402b": "ci-99", "20261121-065330-a90299": "ci-98"}
    for old, new in names.items():
        text = (runs / old / "run.json").read_text()
        shutil.rmtree(runs / old)
        (runs / new).mkdir()
        (runs / new / "run.json").write_text(text.replace(old, new))
    assert earlier(runs, most=2) == ["ci-100", "ci-99"]


def test_later_runs_and_the_run_itself_are_left_out(runs):
    assert earlier(runs, "20261121-064827-3a1ecd") == ["20261121-064729-83fa19"]
    assert earlier(runs, "20261121-064729-83fa19") == []


def test_runs_on_other_clouds_are_left_out(runs):
    assert earlier(runs, "20261121-065959-7ac54f") == []


def test_no_more_runs_than_asked_for_are_read(runs):
    assert earlier(runs, most=2) == ["20261121-065405-617d6b", "20261121-065335-3d402b"]


def test_no_history_can_be_asked_for(runs):
    assert earlier(runs, most=0) == []


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"schema": "stackproof.run/0"}', "\udcff", None])
def test_a_run_that_cannot_be_read_is_skipped(runs, text):
    put(runs, text)


@pytest.mark.parametrize(
    "change",
    [
        {"cloud": 5},
        {"started": None},
        {"started": "yesterday"},
        {"started": "2026-11-21T06:00:00"},
        {"run_id": []},
        {"verdict": "pass"},
        {"stages": None},
        {"stages": [5]},
        {"stages": [{"stage": "boot"}]},
        {"stages": [{"stage": "boot", "status": "ok", "duration_s": "9"}]},
        {"stages": [{"stage": ["boot"], "status": "ok", "duration_s": 9}]},
    ],
)
def test_a_run_with_something_else_in_its_record_is_skipped(runs, change):
    record = json.loads((runs / "20261121-065335-3d402b" / "run.json").read_text())
    put(runs, json.dumps({**record, **change}))


def put(runs, text):
    path = runs / "20261121-065335-3d402b" / "run.json"
    if text is None:
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes(text.encode(errors="surrogateescape"))
    assert earlier(runs)[:2] == ["20261121-065405-617d6b", "20261121-065330-a90299"]


@pytest.mark.parametrize(
    ("values", "share", "value"),
    [
        ([1.0], 0.95, 1.0),
        ([1.0, 2.0], 0.95, 2.0),
        (list(range(1, 21)), 0.95, 19),
        (list(range(1, 101)), 0.95, 95),
        (list(range(100, 0, -1)), 0.5, 50),
        ([3, 1, 2], 0.0, 1),
    ],
)
def test_percentile(values, share, value):
    assert figures.percentile(sorted(values), share) == value
    assert sum(each <= value for each in values) >= share * len(values)


def test_a_summary_counts_only_stages_that_worked(runs):
    found = earlier_module.earlier_runs(runs, run.read_record(runs / LAST), 20)
    summary = earlier_module.summarize(found)
    boots = [one.stages[4].duration_s for one in found if one.stages[4].status == "ok"]
    assert len(boots) == 4
    assert summary["boot"] == EarlierRuns(
        runs=4, median_s=round(statistics.median(boots), 3), p95_s=round(max(boots), 3)
    )
    assert summary["auth"].runs == 6  # one failed in it
    assert summary["metadata"].runs == 3  # one broke off in it
    assert list(summary) == list(run.STAGES)


def test_a_stage_that_never_worked_has_no_history(runs):
    found = run.read_as(EarlierRun, runs / "20261121-065335-3d402b")
    assert earlier_module.summarize([found]) == {}


def test_the_history_in_a_recorded_run_agrees_with_the_runs_before_it(runs):
    # Two of the three that it was compared with are recorded here.
    record = run.read_record(runs / "20261121-065105-bdb5f5")
    summary = earlier_module.summarize(earlier_module.earlier_runs(runs, record, 20))
    assert {name: stage.runs for name, stage in summary.items()} == dict.fromkeys(run.STAGES, 2)
    assert all(summary[name].p95_s <= record.history[name].p95_s for name in summary)


# Errors that runs log when all goes well


def logged(*kinds, result="pass"):
    """A run with errors of these kinds; one of None did not have its logs read."""
    errors = None if kinds == (None,) else kinds
    return EarlierRun("run", "cloud", 0.0, 1.0, 1.0, EarlierResult(Result(result)), (), errors)


NOISE = ErrorKind("openvswitch", "netdev_linux", None)
OTHER = ErrorKind("nova-compute", "nova.compute.manager", "a.SomeError")


@pytest.mark.parametrize(
    ("records", "usual"),
    [
        ([], {}),
        ([logged()], {}),
        ([logged(NOISE)], {NOISE: 1.0}),
        ([logged(NOISE), logged(NOISE, OTHER), logged(), logged()], {NOISE: 0.5, OTHER: 0.25}),
        ([logged(NOISE), logged(), logged()], {NOISE: 0.333}),
        # One run counts once, however often it logged the error.
        ([logged(NOISE, NOISE), logged()], {NOISE: 0.5}),
        # Only a run that passed says what is usual.
        ([logged(NOISE), *(logged(OTHER, result=result) for result in ("fail", "incomplete"))], {NOISE: 1.0}),
        ([logged(NOISE, result="fail")], {}),
        # A run whose logs were not read says nothing.
        ([logged(NOISE), logged(None)], {NOISE: 1.0}),
    ],
)
def test_an_error_is_as_usual_as_the_passed_runs_that_logged_it(records, usual):
    assert earlier_module.usual_errors(records) == usual


@pytest.mark.parametrize("name", ["service", "logger", "exception"])
def test_an_error_of_another_service_logger_or_exception_is_another_one(name):
    other = replace(NOISE, **{name: "another"})
    assert earlier_module.usual_errors([logged(NOISE), logged(other)]) == {NOISE: 0.5, other: 0.5}


@pytest.mark.parametrize("errors", [5, "x", [5], [[]], [{}], [{"service": "a", "logger": "b", "exception": []}]])
def test_a_run_with_something_else_in_its_errors_does_not_break_another_one(runs, errors):
    """Anybody may have put it into the folder."""
    path = runs / "20261121-064827-3a1ecd" / "run.json"
    record = json.loads(path.read_text())
    assert record["verdict"]["result"] == "pass"
    path.write_text(json.dumps({**record, "errors": errors}))
    found = earlier_module.earlier_runs(runs, run.read_record(runs / LAST), 20)
    assert "20261121-064827-3a1ecd" not in {one.run_id for one in found}
    assert earlier_module.usual_errors(found) == {}


def test_an_empty_folder_has_no_history(tmp_path):
    assert earlier_module.earlier_runs(tmp_path / "none", run.read_record(RUNS / LAST), 20) == []
