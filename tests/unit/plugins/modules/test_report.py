# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of a run, as Ansible calls it, on copies of recorded runs."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import StageName
from ansible_collections.stackproof.provision.plugins.module_utils._record import run as run_module
from ansible_collections.stackproof.provision.plugins.module_utils._report import frame
from ansible_collections.stackproof.provision.plugins.modules import report as module
from tree import RECORDED, ROLES

RUNS = RECORDED / "runs"
TEMPLATE = ROLES / "report" / "templates" / "report.html.j2"
PASSED, FAILED = "20261121-065105-bdb5f5", "20261121-065322-ce7f74"


@pytest.fixture
def unfinished(tmp_path):
    """Return a function that gives a copy of a recorded run as it was before its end, beside those before it."""

    def make(name):
        runs = tmp_path / "runs"
        for directory in RUNS.iterdir():
            if directory.name <= name:
                others = () if directory.name == name else ("*.jsonl", "*.xml", "*.prom")
                shutil.copytree(directory, runs / directory.name, ignore=shutil.ignore_patterns(*others))
        run = run_module.Run(runs / name)
        run.update(
            finished=None,
            duration_s=None,
            verdict=run_module.new_record(name, "lab").verdict,
            history={},
            stages=tuple(stage for stage in run.record.stages if stage.started),
        )
        run.save()
        for rendered in ("junit.xml", "metrics.prom"):
            Path(run.path(rendered)).unlink()
        return run

    return make


def record(run):
    return json.loads(Path(run.path("run.json")).read_text())


def test_the_end_of_a_run_deletes_a_private_key_that_a_failed_stage_left(call, unfinished):
    run = unfinished(FAILED)
    Path(run.login_key).write_text("private")
    call(module, run_dir=run.directory)
    assert not Path(run.login_key).exists()


def test_a_run_that_passed_ends_with_its_verdict_and_files(call, unfinished):
    run = unfinished(PASSED)
    result = call(module, run_dir=run.directory)
    assert (result["changed"], result.get("failed")) == (True, None)
    assert result["verdict"]["result"] == "pass"
    assert any(line.startswith("  PASS: ") for line in result["summary"])
    assert record(run)["verdict"] == result["verdict"]
    assert record(run)["finished"]
    assert record(run)["history"]["boot"]["runs"] == 2
    assert ElementTree.parse(run.path("junit.xml")).getroot()[0].get("failures") == "0"
    assert "stackproof_run_passed{" in Path(run.path("metrics.prom")).read_text()


def test_a_run_that_failed_fails_the_module_with_its_reason(call, unfinished):
    run = unfinished(FAILED)
    result = call(module, run_dir=run.directory)
    assert result["failed"] is True
    assert result["msg"] == result["verdict"]["reason"]
    assert result["verdict"]["stage"] == "boot"
    assert record(run)["stages"][5]["details"]["reason"] == "the stage boot failed before"


def test_a_failure_need_not_fail_the_module(call, unfinished):
    result = call(module, run_dir=unfinished(FAILED).directory, enforce=False)
    assert result.get("failed") is None
    assert result["verdict"]["result"] == "fail"


def test_a_breached_limit_fails_the_run(call, unfinished):
    run = unfinished(PASSED)
    run.put_stage(replace(run.stage(StageName.BOOT), duration_s=13.885464))
    limits = [
        {"name": "boot", "query": "stages[?stage=='boot'] | [0].duration_s", "max": 1},
        {"name": "whole", "query": "duration_s", "max": 1e9},
    ]
    result = call(module, run_dir=run.directory, thresholds=limits)
    assert result["failed"] is True
    assert "boot: 13.8855 is more than 1" in result["msg"]
    assert [limit["ok"] for limit in record(run)["thresholds"]] == [False, True]


def test_a_finished_run_keeps_its_verdict_and_is_rendered_again(call, tmp_path):
    shutil.copytree(RUNS / PASSED, tmp_path / PASSED)
    (tmp_path / PASSED / "junit.xml").unlink()
    before = (tmp_path / PASSED / "run.json").read_text()
    limits = [{"name": "a", "query": "created", "max": 0}]
    result = call(module, run_dir=str(tmp_path / PASSED), thresholds=limits)
    assert (result["changed"], result["verdict"]["result"]) == (False, "pass")
    assert (tmp_path / PASSED / "run.json").read_text() == before
    assert (tmp_path / PASSED / "junit.xml").read_text() == (RUNS / PASSED / "junit.xml").read_text()


def test_a_run_that_broke_off_is_incomplete(call, run):
    result = call(module, run_dir=run.directory)
    assert result["failed"] is True
    assert (result["verdict"]["result"], result["verdict"]["stage"]) == ("incomplete", "auth")


def test_what_was_not_done_after_the_stages_makes_it_no_pass(call, unfinished):
    result = call(module, run_dir=unfinished(PASSED).directory, broke_off="Follow the run: flow.yml: No such file.")
    assert result["failed"]
    assert result["verdict"]["result"] == "incomplete"
    reason = "All stages worked, but not all was done after them. Follow the run: flow.yml: No such file."
    assert result["verdict"]["reason"] == reason


def test_history_may_be_shorter(call, unfinished):
    run = unfinished(PASSED)
    call(module, run_dir=run.directory, history=1)
    assert record(run)["history"]["boot"]["runs"] == 1


def test_check_mode_writes_nothing(call, unfinished):
    run = unfinished(FAILED)
    before = Path(run.path("run.json")).read_text()
    result = call(module, check=True, run_dir=run.directory)
    assert result.get("failed") is None
    assert Path(run.path("run.json")).read_text() == before
    assert not Path(run.path("junit.xml")).exists()


def test_check_mode_of_a_run_that_is_only_imagined(call, tmp_path):
    result = call(module, check=True, run_dir=str(tmp_path / "none"))
    assert (result["changed"], result["verdict"], result["summary"]) == (False, {}, [])


def test_a_folder_that_is_no_run_is_said(call, tmp_path):
    result = call(module, run_dir=str(tmp_path))
    assert result["failed"] is True
    assert "is not the directory of a run" in result["msg"]


def test_a_page_is_written_with_a_template_and_named(call, unfinished):
    run = unfinished(PASSED)
    result = call(module, run_dir=run.directory, template=str(TEMPLATE))
    assert result["page"] == run.path("report.html")
    assert result["summary"][-2:] == [f"  page: {run.directory}/report.html", ""]
    text = Path(result["page"]).read_text()
    assert "Passed" in text
    assert "The last 2 runs on this cloud" in text


def test_no_page_without_a_template(call, unfinished):
    result = call(module, run_dir=unfinished(PASSED).directory)
    assert result["page"] is None
    assert "page:" not in "\n".join(result["summary"])


def test_a_finished_run_that_failed_is_rendered_again_and_its_record_stays(call, tmp_path):
    shutil.copytree(RUNS / FAILED, tmp_path / FAILED)
    before = (tmp_path / FAILED / "run.json").read_bytes()
    options = {"template": str(TEMPLATE), "enforce": False, "end": False}
    result = call(module, run_dir=str(tmp_path / FAILED), **options)
    assert (result["changed"], result.get("failed")) == (False, None)
    assert (tmp_path / FAILED / "run.json").read_bytes() == before
    assert "Failed" in (tmp_path / FAILED / "report.html").read_text()


def test_an_unfinished_run_is_refused_if_it_is_not_to_be_ended(call, unfinished):
    run = unfinished(PASSED)
    before = Path(run.path("run.json")).read_bytes()
    result = call(module, run_dir=run.directory, template=str(TEMPLATE), enforce=False, end=False)
    assert result["failed"] is True
    assert result["msg"].startswith(f"the run {PASSED} has not finished, so there is nothing to render yet. ")
    assert Path(run.path("run.json")).read_bytes() == before
    assert not Path(run.path("report.html")).exists()


def test_a_template_that_is_not_there_is_said(call, unfinished):
    result = call(module, run_dir=unfinished(PASSED).directory, template="/nowhere/report.html.j2")
    assert result["failed"] is True
    assert "/nowhere/report.html.j2" in result["msg"]


def test_without_jinja2_only_the_page_is_refused(call, unfinished, monkeypatch):
    monkeypatch.setattr(frame, "HAS_JINJA2", False)
    run = unfinished(PASSED)
    assert "jinja2" in call(module, run_dir=run.directory, template=str(TEMPLATE))["msg"]
    assert call(module, run_dir=run.directory)["verdict"]["result"] == "pass"
