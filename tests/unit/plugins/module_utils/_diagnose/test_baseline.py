# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that passed, or logs of a time when all worked, say what explains no failure."""

from __future__ import annotations

import json

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts.profiles import profile_of
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose.baseline import LogNames, baseline_in
from ansible_collections.stackproof.provision.plugins.module_utils._judge.case import Case
from ansible_collections.stackproof.provision.plugins.module_utils._judge.symptoms import hosts
from ansible_collections.stackproof.provision.plugins.module_utils._model.baseline import Baseline, IdleService
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import to_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.error_kind import ErrorKind
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import How
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from failed_runs import run_of
from tree import RECORDED

NAMES = LogNames(profile_of("packages")["logs"], "UTC", {})
FAILED = RECORDED / "runs/20261121-065322-ce7f74"
NOISE = {"service": "nova-compute", "logger": "oslo_service.periodic_task", "exception": "nova.exception.NotFound"}
ABOUT = {"host": "compute1", "at": as_json.AT, "count": 1, "mentions": [], "own": False}
REST = dict.fromkeys(("raised_in", "how", "peer", "peer_address", "quote", "usual"))
LOG = {"service": "nova-compute", "path": "x", "complete": True, "first": None, "reason": None}
LOGS = {"host": "compute1", "reason": None, "unread": [], "sources": [LOG]}


@pytest.fixture
def passed(tmp_path):
    """Return a function that files a run that passed on a real cloud, with changes, and gives its directory."""

    def of(**changes):
        record = json.loads((RECORDED / "followed/run.json").read_text()) | changes
        (tmp_path / "run.json").write_text(json.dumps(record))
        return str(tmp_path)

    return of


def test_a_run_that_passed_has_nothing_wrong_that_it_does_not_have(passed):
    baseline = baseline_in(passed(), NAMES)
    assert (baseline.cloud, baseline.idle, baseline.health) == ("lab", (), ())
    assert baseline.passed


def test_the_errors_of_a_run_count_only_if_its_logs_were_read(passed):
    assert baseline_in(passed(errors=[]), NAMES).errors is None
    baseline = baseline_in(passed(errors=[{**NOISE, **ABOUT, **REST}], logs=[LOGS]), NAMES)
    assert baseline.errors == (ErrorKind(**NOISE),)
    assert baseline.usual(ErrorKind(**NOISE)) == 1.0
    assert baseline.usual(ErrorKind("nova-api", "x", None)) == 0.0
    assert Baseline("x").usual(ErrorKind(**NOISE)) is None


def test_services_that_did_not_run_and_checks_of_ceph_are_kept(passed):
    record = json.loads((RECORDED / "followed/run.json").read_text())
    for host in record["hosts"]:
        for service in host["facts"].get("services", []):
            if service["component"] == "neutron-l3-agent":
                service["state"] = "stopped"
        if host["facts"].get("ceph"):
            host["facts"]["ceph"]["health"]["checks"] = {"POOL_NO_REDUNDANCY": "5 pool(s) have no replicas"}
    baseline = baseline_in(passed(hosts=record["hosts"]), NAMES)
    assert baseline.idle == (IdleService("network1", "neutron-l3-agent", "stopped"),)
    assert baseline.health == ("POOL_NO_REDUNDANCY",)


def test_a_run_that_did_not_pass_is_refused():
    with pytest.raises(StageError, match=r"ce7f74 cannot be a baseline: its result is fail, not pass") as refused:
        baseline_in(str(FAILED), NAMES)
    assert "stackproof_baseline" in refused.value.failure.hint


def test_logs_without_a_time_show_no_errors(tmp_path):
    (tmp_path / "nova-compute.log").write_text("Traceback (most recent call last):\n")
    assert baseline_in(str(tmp_path), NAMES).errors is None


def states(record, baseline=None):
    typed = as_json.typed({**record, "baseline": baseline and to_json(baseline)})
    return [(symptom.component, symptom.host) for symptom in hosts.states(Case(typed, typed.failed_stage))]


def test_a_service_that_did_not_run_either_while_all_worked_is_no_symptom():
    """A real run whose DHCP agent had been stopped."""
    record, place = run_of("dhcp-agent-stopped"), ("neutron-dhcp-agent", "network1")
    assert place in states(record)
    assert place not in states(record, Baseline("x", idle=(IdleService("network1", "neutron-dhcp-agent", "stopped"),)))
    # It had failed then, and is stopped now; or the same was stopped elsewhere.
    for host, state in (("network1", "failed"), ("network2", "stopped")):
        assert place in states(record, Baseline("x", idle=(IdleService(host, "neutron-dhcp-agent", state),)))


@pytest.mark.parametrize(
    ("check", "before", "hows"),
    [
        ("POOL_NO_REDUNDANCY", (), {How.WARNING}),
        ("POOL_NO_REDUNDANCY", ("POOL_NO_REDUNDANCY",), set()),
        ("OSD_DOWN", (), {How.ALARM}),
        # More may be down than there were.
        ("OSD_DOWN", ("OSD_DOWN",), {How.WARNING}),
    ],
)
def test_a_check_of_ceph_that_was_not_passed_either_while_all_worked_is_no_alarm(check, before, hows):
    record = run_of("osd-stopped")
    for host in record["hosts"]:
        facts = host["facts"]
        if facts.get("ceph"):
            facts["ceph"].update(health={"status": "HEALTH_WARN", "checks": {check: "words of Ceph"}}, osds={})
    typed = as_json.typed({**record, "baseline": to_json(Baseline("x", health=before))})
    found = hosts.ceph(Case(typed, typed.failed_stage))
    assert {symptom.how for symptom in found if symptom.reported == ("words of Ceph",)} == hows
