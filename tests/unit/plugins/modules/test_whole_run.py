# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run from its first stage to its report, through the modules as a playbook calls them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from ansible_collections.stackproof.provision.plugins.modules import report as report_module
from tree import ROOT

SCHEMA = json.loads((ROOT / "roles/report/files/run.schema.json").read_text())
STAGES = ("auth", "image", "network", "volume", "boot", "metadata")
pytestmark = pytest.mark.usefixtures("hurry", "quick_removal")


def record_of(run):
    record = json.loads(Path(run.path("run.json")).read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(record)
    return record


def report(call, run):
    return call(report_module, run_dir=run.directory)


@pytest.fixture
def all_stages(go, cloud, console):
    """Return a function that goes through all stages, and looks after each."""
    cloud.console = console

    def act(look=lambda: None, **options):
        for name in STAGES:
            assert go(name, **options.get(name, {})).get("failed") is None
            look()

    return act


@pytest.mark.parametrize(
    ("options", "made"),
    [
        ({}, 5),
        ({"network": {"floating_ip": True}, "boot": {"attach": "after"}}, 8),
    ],
)
def test_a_run_passes_and_leaves_nothing(all_stages, go, call, cloud, run, nothing_secret, options, made):
    external = cloud.put("networks", name="public", **{"router:external": True})
    images = cloud.all("images")
    all_stages(look=lambda: record_of(run), **options)
    assert len(cloud.all("servers")) == 1
    (line,) = go("cleanup", end=False)["runs"]
    assert (line["created"], line["deleted"], line["left"]) == (made, made, [])
    result = report(call, run)
    assert result["verdict"]["result"] == "pass"
    record = record_of(run)
    assert (record["created"], record["deleted"], record["leftovers"]) == (made, made, [])
    for word in ("servers", "volumes", "ports", "subnets", "routers", "floatingips", "security-groups"):
        assert cloud.all(word) == []
    assert cloud.all("networks") == [external]
    assert cloud.all("images") == images
    nothing_secret(cloud, run.directory)
    paths = list(Path(run.directory).rglob("*"))
    assert {"run.json", "ledger.jsonl", "progress.jsonl", "junit.xml", "metrics.prom"} <= {path.name for path in paths}
    assert [str(path) for path in paths if path.lstat().st_mode & 0o077] == []


def test_kept_server_has_the_verdict_of_the_run_in_its_description(all_stages, go, cloud, run, nothing_secret):
    all_stages()
    assert go("cleanup", end=False, keep="always")["runs"][0]["kept"]
    limits = [{"name": "requests", "query": "length(stages[].calls[])", "max": 1}]
    result = go("report", thresholds=limits)
    # A limit is measured after the resources were kept.
    assert result["verdict"]["result"] == "fail"
    (server,) = cloud.all("servers")
    assert server["description"].startswith("Kept by stackproof, run run-1: FAIL: ")
    written = record_of(run)["server_description"]
    assert (written["text"], written["error"]) == (server["description"], None)
    cloud.requests.clear()
    go("report")
    assert cloud.requests == []
    nothing_secret(cloud, run.directory)


def test_a_repeat_makes_nothing_new_and_keeps_the_first_records(all_stages, cloud, run):
    all_stages()
    before = record_of(run)
    cloud.requests.clear()
    all_stages()
    assert cloud.requests == []
    assert record_of(run) == before


@pytest.mark.parametrize(
    ("stage", "method", "path", "refusal"),
    [
        ("auth", "POST", "/auth/tokens", "keystone unauthorized"),
        ("network", "POST", "/subnets", "neutron invalid"),
        ("boot", "POST", "/servers", "nova forbidden"),
        ("metadata", "POST", "/action", "nova conflict"),
    ],
)
def test_a_run_that_fails_names_the_stage_and_leaves_nothing(go, call, cloud, run, stage, method, path, refusal):
    for name in STAGES:
        if name == stage:
            cloud.trouble(method, path, refusal, times=9)
        if go(name).get("failed"):
            break
    assert name == stage
    cloud.troubles.clear()
    go("cleanup", end=False)
    result = report(call, run)
    assert result["failed"] is True
    assert (result["verdict"]["result"], result["verdict"]["stage"]) == ("fail", stage)
    record = record_of(run)
    assert record["created"] == record["deleted"]
    assert [entry["status"] for entry in record["stages"]].count("failed") == 1
    for word in ("servers", "volumes", "networks", "security-groups"):
        assert cloud.all(word) == []


def test_a_run_with_trouble_on_every_way_passes(all_stages, go, call, cloud, run):
    for method in ("GET", "DELETE"):
        cloud.trouble(method, ".", "reset", times=2)
        cloud.trouble(method, "(servers|volumes|images|networks)", 503, times=3)
    for path in ("/networks", "/subnets", "/security-groups", "/volumes", "/servers"):
        cloud.trouble("POST", f"{path}$", "reset", effect=True)
    all_stages()
    go("cleanup", end=False)
    assert report(call, run)["verdict"]["result"] == "pass"
    record = record_of(run)
    assert (record["created"], record["deleted"]) == (5, 5)
    assert not any(trouble.left for trouble in cloud.troubles)
    assert sum(call["status"] is None for stage in record["stages"] for call in stage["calls"]) >= 5
