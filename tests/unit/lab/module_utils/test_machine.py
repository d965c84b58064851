# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and places of a lab, commands that fail, and who holds a lab."""

from __future__ import annotations

import ipaddress
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from ansible_collections.stackproof.lab.plugins.module_utils import _machine
from ansible_collections.stackproof.lab.plugins.module_utils._machine import (
    Lab,
    LabError,
    check_claim,
    default_prefix,
    keeper_of,
    read_claim,
    run,
    run_json,
    start_time,
    write_claim,
)


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.setattr(_machine, "STATE_ROOT", str(tmp_path))
    lab = Lab("lab")
    os.mkdir(lab.state)
    return lab


@pytest.mark.parametrize("name", ["a", "lab", "lab2", "abcdefghij"])
def test_good_names(name):
    assert Lab(name).name == name
    assert len(f"{name}-mgmt") <= 15


@pytest.mark.parametrize("name", ["", "Lab", "2lab", "my-lab", "my_lab", "abcdefghijk", "lab\n", "../lab", "läb"])
def test_bad_names(name):
    with pytest.raises(LabError, match="cannot name a lab: use a lower-case letter"):
        Lab(name)


def test_default_prefix_is_what_it_was():
    # Labs stand on these addresses.
    assert default_prefix("lab") == "10.71.16.0/22"
    assert default_prefix("other") == "10.84.128.0/22"


def test_default_prefixes_are_in_their_range():
    whole = ipaddress.ip_network("10.64.0.0/10")
    prefixes = {ipaddress.ip_network(default_prefix(f"lab{number}")) for number in range(1000)}
    assert all(prefix.prefixlen == 22 and prefix.subnet_of(whole) for prefix in prefixes)
    # Names may meet, but hardly ever do.
    assert len(prefixes) > 800


def test_addresses():
    lab = Lab("lab", "10.99.4.0/22")
    assert (str(lab.management), str(lab.external)) == ("10.99.4.0/24", "10.99.5.0/24")
    assert [str(lab.host_address(index)) for index in (0, 1, 15)] == ["10.99.4.11", "10.99.4.12", "10.99.4.26"]
    assert (str(lab.machine_management), str(lab.machine_external)) == ("10.99.4.254", "10.99.5.254")


def test_places():
    lab = Lab("lab")
    assert (lab.state, lab.run) == ("/var/lib/stackproof/lab", "/run/stackproof/lab")
    assert (lab.switch, lab.namespace("compute1")) == ("lab-switch", "lab-compute1")


@pytest.mark.parametrize("prefix", ["10.99.0.0/24", "10.96.0.0/16", "10.99.0.1", "fd00::/22"])
def test_prefix_of_another_size(prefix):
    with pytest.raises(LabError, match=r"is not an IPv4 /22: .*, for example 10\.71\.16\.0/22"):
        Lab("lab", prefix)


def test_run_returns_what_was_said():
    done = run(["cat"], stdin="text")
    assert (done.returncode, done.stdout, done.stderr) == (0, "text", "")


@pytest.mark.parametrize(
    ("script", "words"),
    [("echo out; echo err >&2; exit 3", "err"), ("echo out; exit 3", "out"), ("exit 3", "nothing")],
)
def test_run_says_why_a_command_failed(script, words):
    with pytest.raises(LabError) as caught:
        run(["sh", "-c", script])
    assert str(caught.value) == f"sh -c {script}: exit status 3, it said: {words}"


def test_run_keeps_the_end_of_what_was_said():
    with pytest.raises(LabError, match=r"the reason$") as caught:
        run(["sh", "-c", "seq 100000 >&2; echo the reason >&2; exit 1"])
    assert len(str(caught.value)) < 1700


def test_run_returns_a_failure_that_was_asked_for():
    assert run(["false"], check=False).returncode == 1


def test_run_names_a_missing_program():
    with pytest.raises(LabError, match=r"^the program no-such-program is not installed$"):
        run(["no-such-program", "--help"])


def test_run_ends_what_does_not_end():
    with pytest.raises(LabError, match=r"^sleep 60: no end after 0\.1 s$"):
        run(["sleep", "60"], timeout=0.1)


def test_run_json():
    assert run_json(["echo", '[{"name": "a"}]']) == [{"name": "a"}]
    assert run_json(["true"]) == []


def test_start_time_is_the_process_own():
    me = start_time(os.getpid())
    process = subprocess.Popen(["sleep", "60"])
    try:
        later = start_time(process.pid)
    finally:
        process.kill()
        process.wait()
    assert me == start_time(os.getpid())
    up = time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")
    assert me < later <= up
    assert start_time(process.pid) is None


def test_start_time_of_a_process_with_a_strange_name(tmp_path):
    program = tmp_path / "a) R 1 (b"
    shutil.copy(shutil.which("sleep"), program)
    plain = subprocess.Popen(["sleep", "60"])
    strange = subprocess.Popen(["sleep", "60"], executable=program)
    try:
        assert 0 <= start_time(strange.pid) - start_time(plain.pid) < 60 * os.sysconf("SC_CLK_TCK")
    finally:
        for process in (plain, strange):
            process.kill()
            process.wait()


def test_claim_is_read_as_written(lab):
    claim = {"clone": "/somewhere", "keeper": None, "keeper_started": None, "stopped": True}
    write_claim(lab, {"clone": "/elsewhere"})
    write_claim(lab, claim)
    assert read_claim(lab) == claim


def test_processes_that_outlived_their_lab_are_ended(lab, monkeypatch):
    with subprocess.Popen(["sleep", "60"]) as process:
        monkeypatch.setattr(
            _machine, "is_of_host", lambda pid, _lab: pid == str(process.pid) and process.poll() is None
        )
        assert _machine.processes_of(lab) == [process.pid]
        _machine.end_processes(lab)
        assert process.poll() == -9
    assert not _machine.is_running(lab, None)


def test_a_process_that_has_ended_and_was_not_awaited_is_none():
    with subprocess.Popen(["true"]) as process:
        until_ended = ["sh", "-c", f"until grep -q '^State:.Z' /proc/{process.pid}/status; do sleep 0.01; done"]
        subprocess.run(until_ended, check=True, timeout=10)
        assert start_time(process.pid) is None


def test_a_process_of_this_machine_is_none_of_a_lab(lab):
    assert not _machine.is_of_host(str(os.getpid()), lab)
    assert not _machine.is_of_host("0", lab)


def test_a_lab_with_a_damaged_claim_can_be_removed_and_nothing_else(lab):
    write_claim(lab, {})
    Path(lab.state, "claim.json").write_text("")
    with pytest.raises(LabError, match="make lab-destroy"):
        read_claim(lab)
    assert read_claim(lab, to_remove=True) is None
    assert os.listdir(lab.state) == ["claim.json"]


def test_no_claim(lab):
    assert read_claim(lab) is None


@pytest.mark.parametrize("text", ["", '{"clone": "/some'])
def test_broken_claim_names_the_remedy(lab, text):
    path = os.path.join(lab.state, "claim.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    with pytest.raises(LabError, match="make lab-destroy") as caught:
        read_claim(lab)
    assert path in str(caught.value)


def test_keeper_lives_only_as_the_process_that_it_was():
    pid = os.getpid()
    assert keeper_of({"keeper": pid, "keeper_started": start_time(pid)}) == pid
    assert keeper_of({"keeper": pid, "keeper_started": start_time(pid) - 1}) is None
    # One that ends by itself may have ended before its start is read.
    process = subprocess.Popen(["sleep", "60"])
    started = start_time(process.pid)
    process.kill()
    process.wait()
    assert keeper_of({"keeper": process.pid, "keeper_started": started}) is None


@pytest.mark.parametrize("claim", [None, {}, {"keeper": None, "keeper_started": None}])
def test_no_keeper(claim):
    assert keeper_of(claim) is None


@pytest.mark.parametrize(
    ("running", "stopped", "message"),
    [(True, False, "its hosts run"), (False, True, "it was stopped and can be started again")],
)
def test_a_lab_that_another_directory_holds(tmp_path, running, stopped, message):
    (problem,) = check_claim({"clone": str(tmp_path), "stopped": stopped}, "/mine", "lab", running)
    assert message in problem
    assert "make lab LAB_NAME=other" in problem
    assert f"make lab-destroy in {tmp_path}" in problem


def test_a_lab_that_nobody_else_holds(tmp_path):
    theirs = str(tmp_path)
    assert not list(check_claim(None, "/mine", "lab", False))
    assert not list(check_claim({"clone": theirs, "stopped": True}, theirs, "lab", True))
    # Its hosts died without an end, or nobody is left to start them again.
    assert not list(check_claim({"clone": theirs, "stopped": False}, "/mine", "lab", False))
    assert not list(check_claim({"clone": f"{theirs}/gone", "stopped": True}, "/mine", "lab", True))
