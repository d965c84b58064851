# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook merge as it is called: on the folders that several control nodes have left."""

from __future__ import annotations

import json
import shutil

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import Result
from ansible_collections.stackproof.provision.plugins.module_utils._runs import results
from ansible_collections.stackproof.provision.plugins.module_utils._sweep import files
from tree import RECORDED

RUNS = RECORDED / "runs"
PASSED, FAILED = "20261121-065105-bdb5f5", "20261121-065322-ce7f74"
USUAL = {
    "cloud": "small", "sweep_id": "nightly", "values": {}, "checks": [], "excluded": [], "parallel": 4, "level": None,
    "dataplane": False, "peers": 1,
}  # fmt: skip


@pytest.fixture
def nodes(tmp_path):
    """What two control nodes have left, each of a slice of two hosts; the second host has failed."""
    for number, recorded in ((1, PASSED), (2, FAILED)):
        runs = tmp_path / f"node{number}" / "runs"
        record, _directory = files.begin(
            {**USUAL, "runs": str(runs), "hosts": ["c1", "c2"], "slice": f"{number}/2"}, check=False
        )
        run_id = record.targets[0].run_id
        shutil.copytree(RUNS / recorded, runs / run_id)
        file = runs / run_id / "run.json"
        file.write_text(file.read_text().replace(recorded, run_id))
    return ["node1/runs", "node2/runs"]


def test_the_slices_of_two_control_nodes_are_one_sweep(playbook, nodes, tmp_path):
    status, output = playbook("merge", stackproof_sweeps=nodes, stackproof_sweep_id="whole")
    assert status == 2
    assert "1 of 2 targets did not pass. c2: boot: " in " ".join(output.split())
    record = json.loads((tmp_path / "runs/sweep-whole/sweep.json").read_text())
    assert [target["result"] for target in record["targets"]] == ["pass", "fail"]
    page = (tmp_path / "runs/sweep-whole/sweep.html").read_text()
    assert 'href="../../node1/runs/nightly-1of2-c1/report.html"' in page


@pytest.mark.parametrize("wanted", [True, False])
def test_archive_has_the_runs_of_all_control_nodes_beside_the_sweep(playbook, nodes, tmp_path, wanted):
    playbook("merge", stackproof_sweeps=nodes, stackproof_sweep_id="whole", stackproof_archive=wanted)
    path = tmp_path / "runs/sweep-whole.tar.gz"
    assert path.exists() == wanted
    if not wanted:
        return
    shutil.unpack_archive(path, tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / "node1")
    sweep = tmp_path / "elsewhere/sweep-whole/sweep-whole"
    assert 'href="../nightly-1of2-c1/report.html"' in (sweep / "sweep.html").read_text()
    targets = json.loads((sweep / "sweep.json").read_text())["targets"]
    assert [target["directory"] for target in targets] == ["../nightly-1of2-c1", "../nightly-2of2-c2"]
    assert all((sweep / target["directory"] / "run.json").exists() for target in targets)
    result = results.read(str(path))
    assert (result.verdicts, [*result.runs]) == ({"c1": Result.PASS, "c2": Result.FAIL}, ["c1", "c2"])


def test_missing_slice_is_named(playbook, nodes):
    status, output = playbook("merge", stackproof_sweeps=nodes[:1])
    assert status == 2
    assert "Missing slices: 2/2." in " ".join(output.split())


def test_without_sweeps_the_playbook_names_the_variable_it_needs(playbook):
    status, output = playbook("merge")
    assert status == 2
    assert "stackproof_sweeps" in output
