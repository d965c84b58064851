# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the checks of the hosts are run, filed, and what becomes of them where they cannot run."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.modules import host_checks as module
from tree import ROLES

SUITE = ROLES / "host_checks" / "files"
OK = {"host": "c1", "check": "The tap is up", "status": "ok", "reason": None, "seconds": 0.1}
FAILED = {**OK, "status": "failed", "reason": "the tap is down"}
# A suite that writes what it was given.
CONFTEST = """
import json, os

def pytest_addoption(parser):
    parser.addoption("--checks-file")

def pytest_sessionfinish(session):
    option = session.config.getoption
    names = ("ANSIBLE_INVENTORY", "STACKPROOF_RUN", "STACKPROOF_PLATFORM", "STACKPROOF_SERVER")
    given = [option("hosts"), str(session.config.rootpath), *map(os.environ.get, names)]
    check = {"check": "Given", "status": "ok", "reason": json.dumps(given), "seconds": 0, "host": "c1"}
    with open(option("--checks-file"), "w") as stream:
        json.dump([check], stream)
"""


@pytest.fixture
def check(call, run, warned):
    """Return a function that runs the module for the run; its warnings are in the result."""

    def go(check=False, **options):
        given = {"run_dir": run.directory, "suite": str(SUITE), "inventory": ["hosts.yml"], "hosts": ["c1", "n1"]}
        return {**call(module, check=check, **{**given, **options}), "warned": warned}

    return go


@pytest.fixture
def suite_says(monkeypatch):
    """Return a function that has pytest end and write as a test wants it."""
    commands = []

    def have(status, checks=None, out="", errors=""):
        def run_command(_self, words, environ_update):
            commands.append((words, environ_update))
            if checks is not None:
                path = next(word.partition("=")[2] for word in words if word.startswith("--checks-file="))
                Path(path).write_text(json.dumps(checks))
            return status, out, errors

        monkeypatch.setattr(module.AnsibleModule, "run_command", run_command)
        return commands

    return have


def hosts(run):
    return {host["host"]: host for host in json.loads(Path(run.path("run.json")).read_text())["hosts"]}


def why_not(result, run):
    """The one check that stands for all that could not be made; the run fails by none."""
    (entry,) = result["checks"]
    assert (entry["host"], entry["check"], entry["status"]) == (None, "The hosts were checked", "unreadable")
    assert result.get("failed") is None
    assert result["warned"] == [f"the inventory: unreadable: {entry['reason']}"]
    (filed,) = hosts(run)["localhost"]["checks"]
    assert (filed["status"], filed["reason"]) == ("unreadable", entry["reason"])
    return entry["reason"]


def test_a_suite_is_run_with_the_hosts_the_inventory_and_the_run(check, run, tmp_path):
    (tmp_path / "removed").mkdir()
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "removed" / "test_nothing.py").write_text("def test_nothing():\n    pass\n")
    result = check(suite=str(tmp_path), phase="removed", platform="kolla")
    given = ["ansible://c1,ansible://n1", str(tmp_path), "hosts.yml", run.directory, "kolla", ""]
    assert json.loads(result["checks"][0]["reason"]) == given
    assert [entry["check"] for entry in hosts(run)["c1"]["checks"]] == ["Given"]


def test_a_suite_that_is_not_there_is_said(check, run, tmp_path):
    reason = why_not(check(suite=str(tmp_path / "none")), run)
    assert reason.startswith("the checks of the hosts did not run: ")


def test_checks_that_passed_and_failed_are_filed_with_their_hosts(check, run, suite_says):
    before = {"check": "Before", "status": "ok", "reason": None, "seconds": 0}
    as_json.change(run, hosts=[as_json.host("c1", checks=[before])])
    run.save()
    nowhere = {**OK, "host": None, "check": "One host runs it", "extra": 1}
    suite_says(1, [FAILED, nowhere, {**OK, "host": "n1"}])
    result = check()
    assert (result["changed"], result.get("failed"), len(result["checks"])) == (True, None, 3)
    assert result["warned"] == ["c1: failed: the tap is down"]
    filed = hosts(run)
    assert set(filed) == {"c1", "n1", "localhost"}
    failed = {name: FAILED[name] for name in ("check", "status", "reason", "seconds")}
    assert filed["c1"] == as_json.host("c1", checks=[before, failed])
    assert filed["localhost"] == {
        "host": "localhost",
        "groups": [],
        "parts": [],
        "status": "read",
        "reason": None,
        "clock_offset_s": None,
        "clock_error_s": None,
        "health_before": None,
        "facts": {},
        "examination": None,
        "unread": [],
        "checks": [{"check": "One host runs it", "status": "ok", "reason": None, "seconds": 0.1}],
    }


def test_one_reason_of_many_checks_of_a_host_is_one_warning(check, suite_says):
    lost = {**OK, "status": "unreadable", "reason": "c1 cannot be reached: Connection refused"}
    suite_says(1, [lost, {**lost, "check": "The size is right"}, {**lost, "host": "n1"}, FAILED])
    reason = "unreadable: c1 cannot be reached: Connection refused"
    assert check()["warned"] == [f"c1: {reason}", f"n1: {reason}", "c1: failed: the tap is down"]


def test_pytest_is_that_of_ansible_and_is_ended_in_time(check, suite_says, monkeypatch):
    monkeypatch.setattr(module.AnsibleModule, "get_bin_path", lambda _self, name: f"/bin/{name}")
    commands = suite_says(0, [OK])
    check(timeout=12.4)
    ((words, environment),) = commands
    assert words[:5] == ["/bin/timeout", "13", sys.executable, "-m", "pytest"]
    assert str(SUITE / "running") in words
    assert environment["PATH"].startswith(f"{Path(sys.executable).parent}:")


def test_a_system_without_timeout_runs_the_checks_all_the_same(check, suite_says, monkeypatch):
    monkeypatch.setattr(module.AnsibleModule, "get_bin_path", lambda _self, _name: None)
    commands = suite_says(0, [OK])
    assert check()["checks"] == [OK]
    assert commands[0][0][0] == sys.executable


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (
            {"status": 1, "errors": "/bin/python: No module named pytest"},
            "the checks of the hosts did not run: /bin/python: No module named pytest. "
            "Install pytest-testinfra where ansible-playbook runs.",
        ),
        ({"status": 0, "out": "nothing"}, "the checks of the hosts did not run: nothing. "),
        ({"status": 2, "checks": [OK], "out": "a" * 700}, f"the checks of the hosts did not run: {'a' * 600}. "),
        ({"status": 124, "checks": [OK]}, "the checks of the hosts took more than 300 s. "),
    ],
    ids=["no pytest", "nothing written", "broken off", "too long"],
)
def test_checks_that_did_not_run_are_one_check_that_says_why(check, run, suite_says, answer, reason):
    suite_says(**answer)
    assert why_not(check(), run).startswith(reason)


def test_what_was_kept_on_purpose_is_not_checked_for_removal(check, run, suite_says):
    run.update(kept=True)
    run.save()
    commands = suite_says(0, [OK])
    assert check(phase="removed")["checks"] == []
    assert check(phase="running")["checks"] == [OK]
    assert len(commands) == 1


def test_check_mode_checks_nothing(check, run, suite_says):
    commands = suite_says(0, [OK])
    result = check(check=True, run_dir=run.path("none"))
    assert (result["changed"], result["checks"], commands) == (False, [], [])


def test_a_folder_that_is_no_run_is_said(check, tmp_path):
    result = check(run_dir=str(tmp_path))
    assert result["failed"]
    assert "is not the directory of a run" in result["msg"]


def test_a_run_that_another_process_works_on_is_left_alone(check, run, suite_says):
    suite_says(0, [OK])
    with run.alone():
        result = check()
    assert "another process works on the run" in result["msg"]


# What shows more of a failed check


@pytest.fixture(scope="module")
def suite():
    """The module with which the suite begins."""
    spec = importlib.util.spec_from_file_location("host_checks_conftest", SUITE / "conftest.py")
    module_of_suite = importlib.util.module_from_spec(spec)
    before = {name: found for name, found in sys.modules.items() if name.startswith("ansible_collections")}
    spec.loader.exec_module(module_of_suite)
    # It takes the names of the collection for itself, as it is run alone.
    sys.modules.update(before)
    return module_of_suite


MARKS = re.findall(r'shown_by\("([^"]*)"\)', "".join(path.read_text() for path in SUITE.glob("*/test_*.py")))


def shown(suite, text, ports):
    marker = text and SimpleNamespace(args=(text,))
    instance = {"server": {"id": "s1"}, "ports": ports}
    item = SimpleNamespace(get_closest_marker=lambda _name: marker, funcargs={"instance": instance})
    return suite.shown_by(item)


def test_each_command_has_ids_of_the_instance_alone(suite):
    assert len(MARKS) > 20
    for text in MARKS:
        assert "{" not in shown(suite, text, [{"id": "p1", "network": "n1"}])


@pytest.mark.parametrize(
    ("text", "ports", "command"),
    [
        ("virsh dumpxml {server}", [], "virsh dumpxml s1"),
        ("ovn-nbctl list {port} {network}", [{"id": "p1", "network": "n1"}], "ovn-nbctl list p1 n1"),
        ("ovn-nbctl list {port}", [], None),
        (None, [], None),
    ],
)
def test_a_check_without_what_its_command_names_has_none(suite, text, ports, command):
    assert shown(suite, text, ports) == command


def test_the_command_of_a_failed_check_is_filed(check, run, suite_says):
    suite_says(1, [{**FAILED, "command": "virsh list --all"}])
    check()
    assert hosts(run)["c1"]["checks"][0]["command"] == "virsh list --all"
