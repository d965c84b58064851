# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of runs without the parts that no statistics need."""

from __future__ import annotations

import shutil

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._record import run
from ansible_collections.stackproof.provision.plugins.module_utils._runs import records
from ansible_collections.stackproof.provision.plugins.module_utils._runs.records import Label
from tree import RECORDED

FOLLOWED, PASSED = RECORDED / "removed", RECORDED / "runs/20261121-065105-bdb5f5"


@pytest.fixture
def record():
    return run.read_record(FOLLOWED)


def test_labels_come_from_the_last_runs_that_were_followed(tmp_path, record):
    (flow,) = record.flows
    step = flow.steps[0]
    directories = [tmp_path / name for name in ("run-1", "run-2", "run-3")]
    shutil.copytree(FOLLOWED, directories[0])
    shutil.copytree(PASSED, directories[1])  # not followed
    directories[2].mkdir()
    (directories[2] / "run.json").write_text("{")
    labels = records.read_labels(map(str, directories))
    assert labels[flow.name, step.id] == Label(step.message, step.target)
    assert len(labels) == len(flow.steps)


def test_no_more_records_are_read_for_labels_than_are_needed(monkeypatch):
    read = []
    monkeypatch.setattr(
        records, "labels_in", lambda directory: read.append(directory) or {("a", directory): Label("b", "c")}
    )
    assert len(records.read_labels(["1", "2", "3", "4"])) == records.LABELLED
    assert read == ["4", "3"]
