# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Many instances on the lab at the same time: all are told apart, all are removed, and their seconds are told."""

from __future__ import annotations

import json
import math
import os
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import jsonschema
import pytest
from breaking import Lab
from fault_runs import clean_up
from faults import FAULTS
from lab_under_test import INVENTORY, connect
from runs_under_test import play
from test_verify import CLOCK, built_at
from test_verify_soak import room_for_many
from tree import ROOT

SCHEMA = json.loads((ROOT / "roles/report/files/load.schema.json").read_text())
LIMIT = 3600
INSTANCES, AT_ONCE = 30, 10
# The lab has two processors for five hosts and all guests.
PATIENT = {f"{stage}_timeout": 900 for stage in ("network", "volume", "boot", "metadata", "cleanup")}
CLOUD = {"cloud": "lab", "admin_cloud": "lab-admin", "image": "probe", "flavor": "probe"}


class Load(NamedTuple):
    status: int
    output: str
    directory: Path
    record: dict


def load(runs, *arguments, **variables):
    """Run the playbook to its end, and look at what holds of every load."""
    status, output = play("load", *arguments, timeout=LIMIT, **{**CLOUD, "runs": runs, **variables})
    directory = max(Path(runs).glob("load-*"))
    record = json.loads((directory / "load.json").read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(record)
    assert (status == 0) == (record["verdict"]["result"] == "pass"), output
    assert "Traceback" not in output
    assert (directory / "load.html").exists()
    for run in record["runs"]:
        assert not run["started"] or (Path(runs) / run["directory"] / "report.html").exists()
        assert run["result"] != "pass" or f"instance {run['key']}: PASS" in output
    return Load(status, output, directory, record)


def records(runs, record):
    return [json.loads((Path(runs) / run["directory"] / "run.json").read_text()) for run in record["runs"]]


def late(run, lab_hosts):
    """For how many seconds the instance of a run was active, by nova-compute's word, before the run knew it."""
    boot = boot_of(run)
    seen_at = datetime.fromisoformat(active(run)["at"])
    return (seen_at - built_at(lab_hosts, boot["details"]["server"]["id"])).total_seconds()


def boot_of(run):
    return next(stage for stage in run["stages"] if stage["stage"] == "boot")


def active(run):
    """The state in which the wait for an instance has ended, and between which looks it came."""
    return boot_of(run)["waits"][0]["states"][-1]


def steps(runs, status):
    """The steps that have a status in each run, by flow and step."""
    for run in runs:
        yield {
            (flow["name"], step["id"])
            for flow in run["flows"]
            if flow["judged"]
            for step in flow["steps"]
            if step["status"] == status
        }


def p95(ordered):
    return ordered[math.ceil(0.95 * len(ordered)) - 1]


def test_more_at_once_than_ansible_has_processes_is_refused(runs):
    status, output = play("load", "--forks", "4", runs=runs, **CLOUD, at_once=AT_ONCE)
    assert status == 2
    assert f"{AT_ONCE} instances in parallel need as many processes of Ansible" in output
    assert f"Add --forks {AT_ONCE} to the command" in output
    assert not list(runs.iterdir())


def test_a_load_that_would_fill_a_quota_is_refused_before_anything_is_made(runs, admin):
    project = connect("lab").current_project_id
    before = admin.compute.get(f"/os-quota-sets/{project}").json()["quota_set"]["instances"]
    admin.set_compute_quotas(project, instances=1)
    try:
        status, output = play("load", "--forks", "4", runs=runs, **CLOUD)
    finally:
        admin.set_compute_quotas(project, instances=before)
    assert status == 2
    assert "the project has no room for this load test: instances: 4 needed in parallel" in output
    assert not list(runs.iterdir())


@pytest.mark.soak
def test_thirty_instances_ten_at_a_time(runs, lab_hosts, admin):
    with room_for_many(admin):
        words = "-i", str(INVENTORY), "--forks", str(AT_ONCE)
        done = load(runs, *words, instances=INSTANCES, at_once=AT_ONCE, **PATIENT)
    record, of_each = done.record, records(runs, done.record)
    lateness = [late(run, lab_hosts) for run in of_each]
    # A look takes as long as the API takes to answer, and one that takes long is not asked again at once.
    assert [
        run["run_id"] for run, seconds in zip(of_each, lateness) if seconds > active(run)["resolution_s"] + CLOCK
    ] == []
    lateness.sort()
    print(
        f"\n{done.output}\nACTIVE known after nova-compute's word: p95 {p95(lateness):.3f} s, most {lateness[-1]:.3f} s"
    )
    assert done.status == 0, done.output
    (level,) = record["levels"]
    assert (level["runs"], level["passed"]) == (INSTANCES, INSTANCES)
    assert set(level["breakdown"]) == {"queue", "work", "polling"}
    assert record["overhead"]["processor_s_per_instance"] > 0
    told = {(step["flow"], step["step"]) for step in record["steps"]}
    # The first step of a flow follows nothing, and so it has a time, but no seconds.
    everywhere = set.intersection(*steps(of_each, "seen"))
    assert set.union(*steps(of_each, "missing")) == set()
    assert len(everywhere) > 40
    assert len(everywhere - told) <= 10, everywhere - told


@pytest.mark.soak
def test_a_ramp_ends_where_a_limit_breaks(runs):
    limit = {"name": "boot p95", "query": "stages[?stage=='boot'] | [0].levels[-1].p95_s", "max": 0.1}
    done = load(runs, "--forks", "2", instances=2, ramp=[1, 2], load_thresholds=[limit])
    assert done.status == 2, done.output
    assert [(level["parallel"], level["runs"]) for level in done.record["levels"]] == [(1, 2)]
    assert "2 of 4 were not begun: boot p95: " in done.record["verdict"]["reason"]
    assert "Limits exceeded: boot p95: " in done.record["verdict"]["reason"]


@pytest.mark.soak
def test_failures_under_load_are_grouped_by_their_cause(runs, lab_hosts):
    lab = Lab(lab_hosts)
    try:
        with FAULTS["scheduler-stopped"].make(lab):
            done = load(runs, "-i", str(INVENTORY), "--forks", "4", instances=4, at_once=4, boot_timeout=60)
    finally:
        clean_up(lab, runs, CLOUD["cloud"])
    assert done.status == 2, done.output
    (cause,) = done.record["causes"]
    assert (cause["component"], cause["stage"], len(cause["runs"])) == ("nova-scheduler", "boot", 4), cause
    assert os.path.basename(done.directory) in done.output
