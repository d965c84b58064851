# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The canary's alerts, by promtool, and by a real Prometheus that scrapes a real node_exporter (make alerts)."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import replace

import pytest
import yaml
from ansible_collections.stackproof.provision.plugins.module_utils._canary import after
from ansible_collections.stackproof.provision.plugins.module_utils._canary.service import Settings
from ansible_collections.stackproof.provision.plugins.module_utils._record import run as run_module
from ansible_collections.stackproof.provision.plugins.module_utils._report.metrics import metrics
from prometheus import RULES, program, watching
from tree import RECORDED, ROLES, ROOT

DASHBOARD = json.loads((ROLES / "canary/files/dashboard.json").read_text())
PASSED, FAILED = "20261121-065105-bdb5f5", "20261121-065322-ce7f74"


def promtool(*words):
    ended = subprocess.run([program("promtool"), *words], capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr


def test_the_rules_are_well_formed():
    assert promtool("check", "rules", "--lint-fatal", RULES)[0] == 0


def test_each_rule_fires_when_it_should_and_only_then():
    status, said = promtool("test", "rules", ROOT / "tests/alerts/rules_test.yml")
    assert status == 0, said


def test_each_rule_has_its_test():
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    tested = yaml.safe_load((ROOT / "tests/alerts/rules_test.yml").read_text())["tests"]
    fires = {test["alertname"] for part in tested for test in part["alert_rule_test"] if test["exp_alerts"]}
    stays = {test["alertname"] for part in tested for test in part["alert_rule_test"] if not test["exp_alerts"]}
    assert fires == stays == {rule["alert"] for rule in group["rules"]}


class Runs:
    """A folder of runs whose metrics node_exporter reads."""

    def __init__(self, top):
        self.folder, self.count = top / "runs", 0
        self.folder.mkdir()
        self.settings = Settings(
            runs=str(self.folder),
            metrics=str(top / "metrics/stackproof-canary.prom"),
            turn=str(self.folder / "turn.json"),
            templates=None,
            slices=0,
            keep_passed=500,
            keep_failed=2000,
            cleanup=(),
        )

    def ended(self, recorded):
        """A recorded run, as if it had ended now."""
        self.count += 1
        record = run_module.read_record(RECORDED / "runs" / recorded)
        at = time.time()
        record = replace(record, run_id=f"run-{self.count}", started=at, finished=at)
        directory = self.folder / record.run_id
        directory.mkdir()
        run_module.write_record(directory, record)
        run_module.write_whole(directory / "metrics.prom", metrics(record))
        after.conclude(self.settings)


@pytest.fixture(scope="module")
def top(tmp_path_factory):
    return tmp_path_factory.mktemp("prometheus")


@pytest.fixture(scope="module")
def watched(top):
    with watching(top) as prometheus:
        yield prometheus


@pytest.fixture(scope="module")
def runs(top):
    return Runs(top)


def test_a_run_that_passed_is_scraped_and_alarms_nobody(watched, runs):
    runs.ended(PASSED)
    watched.wait(lambda: watched.value("stackproof_run_passed") == ["1"])
    assert watched.value("node_textfile_scrape_error") == ["0"]
    # The first of the two may have begun before the run was scraped.
    watched.wait_for_evaluation()
    watched.wait_for_evaluation()
    assert watched.firing() == []


def test_a_run_that_failed_fires_with_its_place(watched, runs):
    runs.ended(FAILED)
    watched.wait(watched.failed_runs)
    (alert,) = watched.failed_runs()
    assert (alert["labels"]["cloud"], alert["labels"]["stage"]) == ("lab", "boot")
    assert "The last run failed in the stage boot" in alert["annotations"]["description"]


def test_the_next_pass_ends_the_alarm(watched, runs):
    runs.ended(FAILED)
    watched.wait(watched.failed_runs)
    runs.ended(PASSED)
    watched.wait(lambda: not watched.failed_runs())


def test_the_dashboard_asks_what_is_there(watched, runs):
    """Its expressions are answered by this Prometheus. Grafana itself is no part of this test."""
    runs.ended(FAILED)
    watched.wait(lambda: watched.value("stackproof_run_failed_at") == ["1"])
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            expression = target["expr"].replace("$__range", "1h").replace("$cloud", ".*")
            # Nothing is wrong with a host that was not read.
            assert watched.value(expression) or "host_checks" in expression, panel["title"]
