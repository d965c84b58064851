# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook report with two results: it prints what is different, and writes it beside the later one."""

from __future__ import annotations

import json
import shutil

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._runs import archive
from tree import RECORDED

PASSED, FAILED = "20261121-065105-bdb5f5", "20261121-065322-ce7f74"
WRITTEN = f"comparison-{PASSED}-{FAILED}"


@pytest.fixture
def runs(tmp_path):
    for name in (PASSED, FAILED):
        shutil.copytree(RECORDED / "runs" / name, tmp_path / "runs" / name)
    return tmp_path / "runs"


@pytest.mark.parametrize("by", ["directory", "archive"])
def test_run_is_compared_with_an_earlier_one(playbook, runs, by):
    before = f"runs/{PASSED}"
    if by == "archive":
        archive.write_run(str(runs / PASSED))
        shutil.rmtree(runs / PASSED)
        before += ".tar.gz"
    status, output = playbook("report", stackproof_run_dir=f"runs/{FAILED}", stackproof_compare=before)
    assert status == 0, output
    assert "boot: ok before, failed now on the run" in output
    comparison = json.loads((runs / FAILED / f"{WRITTEN}.json").read_text())
    assert [change["stage"] for change in comparison["stages"]] == ["boot", "metadata"]
    assert "boot: ok before, failed now on the run" in (runs / FAILED / f"{WRITTEN}.txt").read_text()
    assert not (runs / FAILED / "report.html").exists()


def test_check_mode_writes_nothing(playbook, runs):
    given = {"stackproof_run_dir": f"runs/{FAILED}", "stackproof_compare": f"runs/{PASSED}"}
    status, output = playbook("report", "--check", **given)
    assert status == 0, output
    assert "boot: ok before, failed now on the run" in output
    assert not list((runs / FAILED).glob("comparison-*"))


@pytest.mark.usefixtures("runs")
def test_result_that_is_not_there_is_named(playbook):
    status, output = playbook("report", stackproof_run_dir=f"runs/{FAILED}", stackproof_compare="runs/none")
    assert status == 2
    assert "runs/none/run.json" in output
    assert "Name the directory of a run or of a sweep, or the archive of one." in " ".join(output.split())


def test_files_are_written_again_without_a_comparison(playbook, runs):
    status, output = playbook("report", stackproof_run_dir=f"runs/{FAILED}", stackproof_archive=True)
    assert status == 0, output
    assert (runs / FAILED / "report.html").exists()
    assert (runs / f"{FAILED}.tar.gz").exists()
