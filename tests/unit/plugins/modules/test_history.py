# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The history of a folder of recorded runs, as Ansible asks for it."""

from __future__ import annotations

import json
import os
import shutil
import stat

import jsonschema
import pytest
from ansible_collections.stackproof.provision.plugins.modules import history as module
from tree import RECORDED, ROOT

RUNS = sorted((RECORDED / "runs").iterdir())
REPORT = ROOT / "roles/report"
SCHEMA = json.loads((REPORT / "files/history.schema.json").read_text())


@pytest.fixture
def history(call, tmp_path):
    """Return a function that calls the module."""

    def act(**options):
        return call(module, runs=str(tmp_path), templates=str(REPORT / "templates"), **options)

    return act


@pytest.fixture
def folder(tmp_path):
    for run in RUNS:
        shutil.copytree(run, tmp_path / run.name)
    return tmp_path


def test_page_and_json_are_written_for_their_owner_alone(history, folder):
    result = history()
    assert [os.path.basename(path) for path in result["files"]] == ["history.json", "history.html"]
    written = json.loads((folder / "history.json").read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(written)
    assert sum(cloud["runs"] for cloud in result["clouds"]) == len(RUNS)
    assert {stat.S_IMODE(os.stat(path).st_mode) for path in result["files"]} == {0o600}
    assert any("runs passed" in line for line in result["summary"])


def test_the_last_runs_alone_can_be_shown(history, folder):
    assert sum(cloud["runs"] for cloud in history(most=3)["clouds"]) == 3
    assert len(list(folder.iterdir())) == len(RUNS) + 3


def test_check_mode_writes_nothing(history, folder):
    result = history(check=True)
    assert (result["changed"], result["files"]) == (False, [])
    assert len(list(folder.iterdir())) == len(RUNS)


@pytest.mark.parametrize(
    ("most", "words"), [(10, "no run has ended in"), (0, "most is 0: a history has at least one run")]
)
def test_history_without_runs_is_an_error_and_nothing_is_written(history, tmp_path, most, words):
    assert words in history(most=most)["msg"]
    assert list(tmp_path.iterdir()) == []
