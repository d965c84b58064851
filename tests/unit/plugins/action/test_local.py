# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an operator sees while a stage goes on, on a terminal and in a log."""

from __future__ import annotations

import json
import os
import pty
import re
import socket
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleError, AnsibleUndefinedVariable, AnsibleValueOmittedError
from ansible_collections.stackproof.provision.plugins.action import local as plugin
from tree import RECORDED, ROOT

BEGIN = str(ROOT / "playbooks/tasks/begin.yml")
REFUSED = "unknown variable stackproof_volme: did you mean stackproof_volume? docs/variables.md has all of them."
PASSED = RECORDED / "runs" / "20261121-065105-bdb5f5"


@pytest.fixture
def follow(screen, run):
    """Return a function that follows the run; what is followed ends with the test."""
    followers = []

    def start(live=False):
        followers.append(plugin.Follower(run.path("progress.jsonl"), live))
        followers[-1].start()
        return followers[-1]

    yield start
    for follower in followers:
        follower.end()
        assert not follower.is_alive()
    assert screen is plugin.display


def until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def test_each_line_of_a_recorded_stage_is_shown_once_with_its_time(screen, follow, run):
    lines = [json.loads(line) for line in (PASSED / "progress.jsonl").read_text().splitlines()]
    boot = [line for line in lines if line["stage"] == "boot"]
    follower = follow()
    for line in boot:
        run.say("boot", line["text"].replace(PASSED.name, run.id))
        time.sleep(0.005)
    follower.end()
    assert boot[0]["text"] == "looking for the flavor"
    assert re.fullmatch(r"ok after \d+\.\d s", boot[-1]["text"])
    assert screen.texts == [
        "boot: looking for the flavor",
        "boot: making the server",
        "boot: waiting for the server to be active: BUILD, scheduling, no state",
        "boot: waiting for the server to be active: BUILD, no state",
        "boot: waiting for the server to be active: BUILD, networking, no state",
        "boot: waiting for the server to be active: BUILD, block_device_mapping, no state",
        "boot: waiting for the server to be active: BUILD, spawning, no state",
        "boot: waiting for the server to be active: ACTIVE, running",
        f"boot: {boot[-1]['text']}",
    ]
    assert all(re.match(r" +\d+\.\d s  ", shown.text) for shown in screen.shown)
    assert all(shown.newline and not shown.screen_only for shown in screen.shown)


def test_a_line_is_shown_while_the_stage_goes_on(screen, follow, run):
    follow()
    run.say("boot", "one")
    until(lambda: screen.texts == ["boot: one"])


def test_what_earlier_stages_said_is_not_shown_again(screen, follow, run):
    run.say("auth", "ä" * 1000)
    follower = follow()
    run.say("image", "ö")
    follower.end()
    assert screen.texts == ["image: ö"]


def test_a_line_is_shown_when_it_is_whole(screen, follow, run):
    follower = follow()
    line = json.dumps({"at": "", "stage": "boot", "text": "ü and more"}, ensure_ascii=False).encode() + b"\n"
    middle = line.index("ü".encode()) + 1
    with open(run.path("progress.jsonl"), "ab", buffering=0) as stream:
        for part in (line[:20], line[20:middle]):
            stream.write(part)
            time.sleep(0.06)
            assert screen.shown == []
        stream.write(line[middle:])
    follower.end()
    assert screen.texts == ["boot: ü and more"]


def test_a_line_that_was_torn_does_not_hide_the_next_ones(screen, follow, run):
    follower = follow()
    run.say("boot", "one")
    with open(run.path("progress.jsonl"), "a") as stream:
        stream.write('{"at": "x", "sta\n5\n{}\n')
    run.say("boot", "two")
    follower.end()
    assert screen.texts == ["boot: one", "boot: two"]


@pytest.mark.parametrize("live", [False, True])
def test_a_clouds_words_do_nothing_to_a_terminal(screen, follow, run, live):
    screen.columns = 200
    follower = follow(live)
    run.say("boot", "waiting: \x1b[2J\x9b31m\rBUILD\nfake line\ud800")
    follower.end()
    text = next(shown.text for shown in screen.shown if "waiting" in shown.text)
    inner = text.removeprefix("\r\033[K").removesuffix("\r")
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", inner)
    inner.encode()


def test_on_a_terminal_one_line_is_rewritten_and_cleared_in_the_end(screen, follow, run):
    follower = follow(live=True)
    run.say("boot", "waiting " + "x" * 100)
    until(lambda: len(screen.shown) >= 3)
    follower.end()
    *lines, last = screen.shown
    for line in lines:
        match = re.fullmatch(r"\r\033\[K(.*)\r", line.text)
        assert len(match[1]) == screen.columns - 1
        assert re.match(r" +\d+\.\d s  boot: waiting x", match[1])
    assert last.text == "\r\033[K"
    assert all(shown.screen_only and not shown.newline for shown in screen.shown)


def test_a_run_that_says_nothing_shows_nothing(screen, follow):
    follow().end()
    assert screen.shown == []


@pytest.fixture
def child():
    """Return a function that starts a process with this output."""
    started = []

    def start(output):
        started.append(subprocess.Popen(["sleep", "60"], stdout=output))
        return started[-1].pid

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_a_process_that_writes_to_a_terminal_is_known(child, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    control, terminal = pty.openpty()
    assert plugin.is_terminal(child(terminal))
    assert not plugin.is_terminal(child(subprocess.DEVNULL))
    monkeypatch.setenv("TERM", "dumb")
    assert not plugin.is_terminal(child(terminal))
    os.close(control)
    os.close(terminal)


def test_a_process_that_is_gone_writes_to_no_terminal():
    assert not plugin.is_terminal(2**22 + 1)


def test_the_module_gets_its_own_options(act, run):
    result = act("boot", {"changed": True}, run_dir=run.directory, flavor="m1")
    assert act.given == ("stackproof.provision.boot", {"run_dir": run.directory, "flavor": "m1"}, {"a": 1})
    assert result == {"changed": True}


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_where_ansible_runs_a_module_is_a_fork_of_it(act, tmp_path):
    nowhere = str(tmp_path / "none")
    result = act(
        "auth",
        AssertionError("another process"),
        variables={"ansible_python_interpreter": sys.executable},
        run_dir=nowhere,
    )
    assert f"{nowhere} is not the directory of a run" in result["msg"]


@pytest.mark.parametrize(
    "other",
    [
        {"transport": "ssh"},
        {"become": object()},
        {"interpreter": "/usr/bin/python3.9"},
        {"interpreter": None},
        {"async_val": 5},
        {"environment": [None, {"no_proxy": "*"}]},
    ],
)
def test_elsewhere_ansible_starts_a_module_as_it_starts_any(other):
    here = {"transport": "local", "become": None, "async_val": 0, "environment": [None, {}]}

    def can_fork(interpreter=sys.executable, **values):
        given = SimpleNamespace(**values)
        return plugin.can_fork(given, given, interpreter)

    assert can_fork(**here)
    assert not can_fork(**{**here, **other})


def test_a_cloud_that_is_a_dictionary_goes_where_nothing_is_logged(act, run):
    act("auth", {}, run_dir=run.directory, cloud={"auth": {"password": "secret"}})
    assert act.given[1] == {"run_dir": run.directory, "_cloud": {"auth": {"password": "secret"}}}
    act("auth", {}, run_dir=run.directory, cloud="lab")
    assert act.given[1] == {"run_dir": run.directory, "cloud": "lab"}


REQUEST = "req-c00f9e93-4d51-493e-b32f-1f9e2ada06a8"


@pytest.mark.parametrize(
    ("printed", "given"),
    [
        (f"the words of a client (Request-ID: {REQUEST})", REQUEST),
        ("the words of a client", "a text that names no request"),
    ],
)
def test_of_what_a_client_has_printed_only_the_request_is_passed_on(act, printed, given):
    act("bundle_info", {}, error=printed)
    assert act.given[1]["error"] == given


def test_the_summary_is_printed(act, screen, run):
    assert "summary" in act("report", {"summary": ["one", "two"]}, run_dir=run.directory)
    assert screen.shown[-1].text == "one\ntwo"
    assert act("report", {"summary": ["one", "two"], "failed": True}, run_dir=run.directory) == {"failed": True}
    assert screen.shown[-1].text == "one\ntwo"


def test_one_run_of_many_says_only_how_it_ended(act, screen, run, monkeypatch):
    monkeypatch.setattr(plugin.Follower, "start", lambda _follower: pytest.fail("it is followed"))
    target = {"stackproof_target": "compute1\x1b[2J"}
    act("boot", {}, variables=target, run_dir=run.directory)
    verdict = {"result": "fail", "reason": "boot: no valid host"}
    act("report", {"summary": ["one", "two"], "verdict": verdict}, variables=target, run_dir=run.directory)
    assert screen.shown[-1].text == "  compute1?[2J: FAIL: boot: no valid host"


def test_a_stage_that_says_something_is_followed(act, screen, run, monkeypatch):
    start = plugin.Follower.start

    def say(follower):
        start(follower)
        run.say("boot", "hello")

    monkeypatch.setattr(plugin.Follower, "start", say)
    monkeypatch.setattr(plugin, "is_terminal", lambda _process: False)
    act("boot", {}, run_dir=run.directory)
    assert screen.texts == ["boot: hello"]


def test_the_follower_ends_with_a_module_that_breaks(act, run, monkeypatch):
    followers = []
    start = plugin.Follower.start
    monkeypatch.setattr(plugin.Follower, "start", lambda follower: (followers.append(follower), start(follower)))
    with pytest.raises(RuntimeError):
        act("boot", RuntimeError("broke"), run_dir=run.directory)
    assert not followers[0].is_alive()


@pytest.mark.parametrize("output", ["pipe", "closed pipe", "file", "socket", "nothing"])
def test_nobody_is_told_anything_into_a_pipe_that_nobody_reads(output, tmp_path):
    """As head leaves one behind: Ansible itself would then wait for ever."""
    ours, theirs = socket.socketpair() if output == "socket" else (None, None)
    given = {"file": (tmp_path / "log").open("w"), "socket": theirs, "nothing": subprocess.DEVNULL}
    process = subprocess.Popen(["sleep", "60"], stdout=given.get(output, subprocess.PIPE))
    try:
        if output == "closed pipe":
            process.stdout.close()
        assert plugin.is_read(process.pid) is (output != "closed pipe")
    finally:
        process.kill()
        process.wait()
        for opened in (ours, theirs, given["file"]):
            if opened:
                opened.close()


def test_of_a_process_that_is_gone_nothing_is_known_and_all_is_said():
    process = subprocess.Popen(["true"])
    process.wait()
    assert plugin.is_read(process.pid)


class Hosts(dict):
    """Variables of hosts as Ansible has them: they are read when somebody asks for them."""

    def __getitem__(self, host):
        if host == "broken":
            raise AnsibleError("host_vars/broken.yml is not YAML")
        return super().__getitem__(host)


@pytest.mark.parametrize(
    "variables",
    [
        {"stackproof_volme": "none"},
        {"hostvars": Hosts(broken={}, c1={"stackproof_volme": "none"})},
    ],
    ids=["of the playbook", "of a host"],
)
def test_misspelt_variable_is_refused_before_the_module_does_anything(act, screen, variables):
    module = AssertionError("the module was called")
    assert act("run", module, variables=variables, place=BEGIN) == {"failed": True, "msg": REFUSED}
    assert (screen.texts, screen.warnings) == ([], [])


def test_misspelt_names_and_wrong_values_are_refused_together(act):
    module = AssertionError("the module was called")
    given = {"stackproof_volme": "none", "stackproof_attach": "x", "stackproof_volume_size": 0}
    refused = act("run", module, variables=given, place=BEGIN)
    assert refused["msg"] == (
        "unknown variable stackproof_volme: did you mean stackproof_volume? "
        "stackproof_attach cannot be 'x': it is not one of at_boot, after, root. "
        "stackproof_volume_size cannot be 0: it is not a whole number from 1 to 2147483647. "
        "docs/variables.md has all of them."
    )


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            AnsibleUndefinedVariable("'big' is undefined"),
            "stackproof_volume_size has no value: 'big' is undefined. docs",
        ),
        (AnsibleValueOmittedError(), None),
    ],
)
def test_variable_without_a_value_is_refused_unless_it_is_omitted(act, error, message):
    refused = act("run", {"changed": True}, variables={"stackproof_volume_size": error}, place=BEGIN)
    assert refused.get("msg", "").startswith(message or "")
    assert ("failed" in refused) == (message is not None)


@pytest.mark.parametrize(
    ("module", "place", "refused"),
    [("preflight", "playbooks/acceptance.yml", True), ("cleanup", "playbooks/cleanup.yml", False)],
)
def test_wrong_value_is_refused_only_where_runs_begin(act, module, place, refused):
    answer = act(module, {}, variables={"stackproof_image_file": "/gone"}, place=str(ROOT / place))
    assert answer.get("failed", False) == refused


def test_task_of_a_role_takes_its_variables_and_what_it_writes_counts_more(act):
    variables = {"stackproof_volume": "none", "stackproof_volume_size": 2, "stackproof_timeouts": {"volume": 5}}
    place = str(ROOT / "roles/volume/tasks/main.yml")
    act("volume", {}, variables=variables, place=place, transport="ssh", run_dir="run", size=3)
    assert act.given[1] == {"run_dir": "run", "source": "none", "size": 3, "timeout": 5}
    act("volume", {}, variables=variables, place="/home/operator/roles/volume/tasks/main.yml", run_dir="run")
    assert act.given[1] == {"run_dir": "run"}


def test_variable_that_may_be_the_users_own_is_a_warning(act, screen):
    own = {"stackproof_cloud_password": "secret", "stackproof_volume": "none"}
    assert act("run", {"changed": True}, variables=own, place=BEGIN) == {"changed": True}
    (warning,) = screen.warnings
    assert warning == "unknown variable stackproof_cloud_password is not used: docs/variables.md has all of them"


@pytest.mark.parametrize(
    ("module", "place", "variables"),
    [
        ("run", "/home/operator/playbook.yml", {}),
        ("cleanup", str(ROOT / "roles/cleanup/tasks/main.yml"), {}),
        ("run", BEGIN, {"stackproof_target": "compute1"}),
    ],
    ids=["a playbook of the user's own", "the end of a run", "one run of many"],
)
def test_variables_are_looked_at_once_where_a_playbook_begins(act, screen, module, place, variables):
    given = {**variables, "stackproof_volme": "none", "stackproof_mine": 1}
    assert "failed" not in act(module, {}, variables=given, place=place)
    assert screen.warnings == []


def test_variable_cannot_control_the_terminal(act):
    refused = act("run", {}, variables={"stackproof_volume\x1b": 1}, place=BEGIN)
    assert refused["msg"].startswith("unknown variable stackproof_volume?: did you mean stackproof_volume?")


def test_no_warning_goes_where_nobody_reads(act, screen, monkeypatch):
    monkeypatch.setattr(plugin, "is_read", lambda _process: False)
    act("run", {}, variables={"stackproof_mine": 1}, place=BEGIN)
    assert screen.warnings == []
