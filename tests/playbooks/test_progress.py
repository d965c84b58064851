# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run playbooks with the progress callback and read what an operator would see."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from ansible_collections.stackproof.provision.plugins.callback import progress
from tree import ROOT

PLUGIN = ROOT / "plugins" / "callback" / "progress.py"
HIDDEN = "the output has been hidden due to the fact that 'no_log: true' was specified for this result"


def task_line(name, outcome, hosts):
    """The pattern of the line of a finished task; its only group is the seconds."""
    return rf"(?m)^  \d\d:\d\d  {re.escape(name)} +{re.escape(outcome)} +(\d+\.\d) s  {re.escape(hosts)}$"


@pytest.fixture(scope="module")
def ansible(tmp_path_factory):
    """Return a function that runs an Ansible command line with the plugin, for the inventory hosts a, b, c and gone."""
    top = tmp_path_factory.mktemp("collections")
    plugins = top / "ansible_collections" / "stackproof" / "provision" / "plugins" / "callback"
    plugins.mkdir(parents=True)
    shutil.copy(PLUGIN, plugins)
    ssh = top / "ssh"
    ssh.write_text("#!/bin/sh\necho no route >&2\nexit 255\n")
    ssh.chmod(0o755)
    (top / "hosts").write_text(
        "[near]\na\nb\nc\n"
        f"[near:vars]\nansible_connection=local\nansible_python_interpreter={sys.executable}\n"
        f"[far]\ngone ansible_connection=ssh ansible_ssh_executable={ssh}\n"
    )
    (top / "empty.cfg").touch()
    # The last two would hide the size of the terminal that a test opens.
    foreign = ("ANSIBLE_", "STACKPROOF_", "COLUMNS", "LINES")
    env = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
    env.update(
        ANSIBLE_COLLECTIONS_PATH=str(top),
        ANSIBLE_CONFIG=str(top / "empty.cfg"),
        HOME=str(top),
        TERM="xterm",
        ANSIBLE_STDOUT_CALLBACK="stackproof.provision.progress",
        ANSIBLE_NOCOLOR="1",
        LC_ALL="C.UTF-8",
    )

    def run(*args, **more):
        return subprocess.run(
            [sys.executable, "-m", "ansible", *args],
            env={**env, **more},
            cwd=top,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return SimpleNamespace(top=top, env=env, run=run)


@pytest.fixture
def play(ansible, tmp_path):
    def run(text, *args, **more):
        book = tmp_path / "play.yml"
        book.write_text(text)
        return ansible.run("playbook", "-i", str(ansible.top / "hosts"), str(book), *args, **more)

    return run


LINEAR = r"""
- name: Containers
  hosts: a,b
  gather_facts: false
  roles: [keystone]
  tasks:
    - name: Quick look
      ansible.builtin.set_fact: {x: 1}
    - name: Not here
      ansible.builtin.raw: echo
      when: false
    - name: Build the image (about 2 seconds)
      ansible.builtin.raw: sleep {{ 1.3 if inventory_hostname == 'a' else 0.1 }}
      changed_when: false
    - name: Build what is there (about 2 minutes)
      ansible.builtin.raw: sleep 120
      when: false
    - name: One host only
      ansible.builtin.raw: echo
      when: inventory_hostname == 'b'
    - ansible.builtin.debug:
        msg: "{{ 'name    | state\n  eins  | \"up\"' }}"
      run_once: true
    - ansible.builtin.debug:
        msg: [first, 'second: {x}', 3]
      run_once: true
    - ansible.builtin.debug:
        var: x
      run_once: true
- name: Errors
  hosts: a,b
  serial: 1
  gather_facts: false
  tasks:
    - name: Save it
      block:
        - name: Break
          ansible.builtin.raw: seq -f 'out %g' 30; echo this is why >&2; exit 3
      rescue:
        - name: Repair
          ansible.builtin.raw: echo
    - name: Ignore me
      ansible.builtin.fail:
        msg: "line one\nline \e[31mtwo"
      ignore_errors: true
    - name: Hide me
      ansible.builtin.raw: echo s3cret; exit 1
      no_log: true
      ignore_errors: true
    - name: Hide us
      ansible.builtin.raw: echo {{ item }}; exit 1
      loop: [s3cret one, s3cret two]
      no_log: true
      ignore_errors: true
    - name: Visit all
      ansible.builtin.raw: "[ {{ item.n }} = 1 ] || { echo not {{ item.n }}; exit 4; }"
      loop: [{n: 1}, {n: 2}, {n: 3}]
      loop_control:
        label: "number {{ item.n }}"
      ignore_errors: true
    - name: Lose me
      ansible.builtin.raw: echo
      delegate_to: gone
      ignore_unreachable: true
"""
CHANGED = 13  # 2 tables, 2 restarts, 1 on one host, 2 repairs and, as Ansible counts, 6 ignored failures


@pytest.fixture(scope="module")
def linear(ansible):
    role = ansible.top / "roles" / "keystone"
    for part, text in {
        "tasks": "[{name: 'Create the tables', ansible.builtin.raw: echo, notify: Restart}]",
        "handlers": "[{name: Restart, ansible.builtin.raw: echo}]",
    }.items():
        (role / part).mkdir(parents=True)
        (role / part / "main.yml").write_text(text)
    (ansible.top / "linear.yml").write_text(LINEAR)
    timings = ansible.top / "timings.json"
    timings.write_text("old")
    timings.chmod(0o644)
    os.link(timings, ansible.top / "opened before")
    before = datetime.now(UTC)
    done = ansible.run("playbook", "-i", "hosts", "linear.yml", STACKPROOF_TIMINGS=str(timings))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return SimpleNamespace(out=done.stdout, timings=timings, before=before)


def test_a_line_per_task_and_outcome(linear):
    tasks = {"keystone | Create the tables": "a, b", "keystone | Restart": "a, b", "One host only": "b"}
    for name, hosts in tasks.items():
        assert len(re.findall(task_line(name, "changed", hosts), linear.out)) == 1, name
        assert len(re.findall(rf"\d\d  {re.escape(name)} ", linear.out)) == 1, name
    assert all(float(seconds) >= 1 for seconds in re.findall(r"  Quick look +ok +(\S+) s", linear.out))
    assert "Not here" not in linear.out
    assert "\x1b" not in linear.out  # neither colour nor status line without a terminal


def test_long_tasks_are_announced_and_then_always_finish(linear):
    starts = re.findall(r"(?m)^  \d\d:\d\d  \.\.\. (.*)$", linear.out)
    assert starts == ["Build the image (about 2 seconds)", "Build what is there (about 2 minutes)"]
    (seconds,) = re.findall(task_line(starts[0], "ok", "a, b"), linear.out)
    assert 1.3 <= float(seconds) < 60  # that of the slower host
    assert re.search(task_line(starts[1], "skipped", "a, b"), linear.out)


def test_debug_is_verbatim(linear):
    assert '\nname    | state\n  eins  | "up"\nfirst\nsecond: {x}\n3\nx: 1\n' in linear.out


def test_failures_are_told_in_full(linear):
    tail = "".join(f"           out {n}\n" for n in range(11, 31))
    assert (
        len(
            re.findall(
                task_line("Break", "failed", "a") + r"\n         non-zero return code \(rc 3\)\n         stderr:\n"
                rf"           this is why\n         stdout, last 20 of 30 lines:\n{tail}",
                linear.out,
            )
        )
        == 1
    )
    assert "out 10\n" not in linear.out
    assert re.search(
        task_line("Ignore me", "failed (ignored)", "a") + r"\n         line one\n         line \ufffd\[31mtwo\n",
        linear.out,
    )
    assert re.search(
        task_line("Lose me", "unreachable (ignored)", "a -> gone") + r"\n         .*no route\n", linear.out
    )
    assert "Traceback" not in linear.out


# Controls of terminals and of the direction of writing, and half of a pair that UTF-8 cannot hold
HOSTILE = ["\x07", "\x1b", "\x7f", "\x9b", "\u061c", "\u200e", "\u200f", "\u202e", "\u2066", "\u2069", "\ud800"]


@pytest.mark.parametrize("mark", HOSTILE, ids=ascii)
def test_a_control_character_is_replaced_in_what_a_host_reports(mark):
    assert progress.as_lines(f"a{mark}b\tc") == ["a\ufffdb\tc"]


def test_a_control_character_is_replaced_in_data():
    assert progress.as_lines({"name": "a\u202eb"}) == ["{", '  "name": "a\ufffdb"', "}"]


def test_words_in_other_scripts_are_shown_as_they_are():
    assert progress.as_lines("Zürich, 東京, \u05e9\u05dc\u05d5\u05dd") == ["Zürich, 東京, \u05e9\u05dc\u05d5\u05dd"]


def test_names_and_messages_do_not_turn_the_direction_of_writing(play):
    done = play("""
- name: "Play \\u202ehidden"
  hosts: a
  gather_facts: false
  tasks:
    - name: "Task \\u202ehidden"
      ansible.builtin.fail: {msg: "fault \\u202ehidden \\e[31m"}
      ignore_errors: true
    - ansible.builtin.debug: {msg: "first \\u202ehidden\\nsecond \\e[31m"}
    - ansible.builtin.debug: {var: x}
      vars: {x: {y: "third \\u202e"}}
""")
    assert done.returncode == 0
    assert "\u202e" not in done.stdout
    assert "\x1b" not in done.stdout
    assert "\nfirst \ufffdhidden\nsecond \ufffd[31m\n" in done.stdout
    assert "fault \ufffdhidden \ufffd[31m" in done.stdout
    assert "== Play \ufffdhidden" in done.stdout


def test_no_log_is_respected(linear):
    assert "s3cret" not in linear.out
    for name in ("Hide me", "Hide us"):
        assert re.search(task_line(name, "failed (ignored)", "b") + rf"\n         {HIDDEN}\n  \d\d:", linear.out)


def test_failed_items_are_told_by_label(linear):
    items = "".join(
        rf"         item number {n}:\n           non-zero return code \(rc 4\)\n"
        rf"           stdout:\n             not {n}\n"
        for n in (2, 3)
    )
    assert re.search(task_line("Visit all", "failed (ignored)", "a") + rf"\n{items}  \d\d:", linear.out)


def test_parts_and_sums_at_the_end(linear):
    assert re.findall(r"(?m)^  \d\d:\d\d  == (.*)$", linear.out) == ["Containers", "Errors"]  # once for all batches
    end = linear.out[linear.out.index("\npart ") :]
    assert re.fullmatch(
        r"\npart +seconds\nContainers +\d+\.\d\n(Errors +\d+\.\d\n)?total +\d+\.\d\n\n"
        rf"2 hosts: {CHANGED} changed, 0 failed\n",
        end,
    )


def test_timings_file(linear):
    assert linear.timings.stat().st_mode & 0o777 == 0o600
    assert not list(linear.timings.parent.glob(".timings*"))
    assert (linear.timings.parent / "opened before").read_text() == "old"  # replaced, not overwritten
    data = json.loads(linear.timings.read_text())
    assert {key: data[key] for key in ("changed", "failed", "ok")} == {"changed": CHANGED, "failed": 0, "ok": True}
    assert [part["name"] for part in data["parts"]] == ["Containers", "Errors"]
    assert data["parts"][0]["seconds"] >= 1.3
    assert -0.2 < data["seconds"] - sum(part["seconds"] for part in data["parts"]) < 5
    started = datetime.fromisoformat(data["started"])
    assert started.utcoffset() == timedelta(0)
    assert timedelta(seconds=-1) <= started - linear.before < timedelta(seconds=60)


def test_failed_and_unreachable_hosts(play, tmp_path):
    timings = tmp_path / "timings.json"
    done = play(
        """
- name: Bad
  hosts: a,b,gone
  gather_facts: false
  tasks:
    - name: Reach
      ansible.builtin.raw: echo
    - name: Start
      ansible.builtin.command: no-such-command
      when: inventory_hostname == 'b'
""",
        STACKPROOF_TIMINGS=str(timings),
    )
    assert done.returncode == 4
    assert re.search(task_line("Reach", "changed", "a, b"), done.stdout)
    assert re.search(task_line("Reach", "unreachable", "gone") + r"\n         .*no route\n", done.stdout)
    assert re.search(task_line("Start", "failed", "b") + r"\n(         .*\n)*         .*No such file", done.stdout)
    assert done.stdout.endswith(
        "\n\nb: 1 failed, 0 unreachable\ngone: 0 failed, 1 unreachable\n3 hosts: 2 changed, 2 failed\n"
    )
    data = json.loads(timings.read_text())
    assert (data["changed"], data["failed"], data["ok"]) == (2, 2, False)


def test_nothing_changed_and_timings_that_cannot_be_written(play, tmp_path):
    done = play(
        """
- hosts: a
  gather_facts: false
  tasks:
    - ansible.builtin.debug: {msg: "{{ item }}"}
      loop: [one, two]
""",
        STACKPROOF_TIMINGS=str(tmp_path / "missing" / "timings.json"),
    )
    assert done.returncode == 0
    assert re.search(
        r"== a\none\ntwo\n\npart +seconds\n(a +\d+\.\d\n)?total +\d+\.\d\n\n"
        r"1 host: nothing changed, 0 failed\n$",
        done.stdout,
    )
    assert re.match(r"\[WARNING\]: The timings file \S+ cannot be written", done.stderr)
    assert "Traceback" not in done.stderr


def test_free_strategy_prints_every_host_when_it_is_done(play):
    done = play("""
- name: Free
  hosts: a,b
  strategy: free
  gather_facts: false
  tasks:
    - name: First (about 3 seconds)
      ansible.builtin.raw: sleep {{ 3 if inventory_hostname == 'b' else 0 }}
    - name: Second
      ansible.builtin.raw: echo
""")
    assert done.stdout.count("... First (about 3 seconds)\n") == 1
    places = [
        re.search(task_line(name, "changed", host), done.stdout).start()
        for name, host in (("First (about 3 seconds)", "a"), ("Second", "a"), ("First (about 3 seconds)", "b"))
    ]
    assert places == sorted(places)


def test_verbose_check_and_diff(play, tmp_path):
    target = tmp_path / "target"
    target.write_text("old\n")
    done = play(
        f"""
- name: Look
  hosts: a
  gather_facts: false
  tasks:
    - name: Quick
      ansible.builtin.set_fact: {{x: 1}}
    - name: Not here
      ansible.builtin.set_fact: {{x: 2}}
      when: false
    - name: Try again
      ansible.builtin.set_fact: {{x: 3}}
      register: tried
      until: tried.attempts | int >= 2
      delay: 0
    - name: Write
      ansible.builtin.copy: {{content: "new\\n", dest: "{target}"}}
""",
        "-v",
        "--check",
        "--diff",
    )
    assert "== Look (check mode)\n" in done.stdout
    for name, outcome in (("Quick", "ok"), ("Not here", "skipped"), ("Try again", "ok"), ("Write", "changed")):
        assert re.search(task_line(name, outcome, "a"), done.stdout), name
    assert re.search(r"(?m)^  \d\d:\d\d  Try again +retry 1 +a$", done.stdout)
    assert "\n-old\n+new\n" in done.stdout
    assert target.read_text() == "old\n"


def screens(text):
    """Yield the lines on a terminal after every step of what was sent to it."""
    rows, x, y = [""], 0, 0
    for step in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
        if step == "\r":
            x = 0
        elif step == "\n":
            y += 1
            rows += [""] * (y == len(rows))
        elif step == "\x1b[A":
            y -= 1
        elif step == "\x1b[J":
            rows[y:] = [rows[y][:x]]
        else:
            assert step[0] != "\x1b", step
            rows[y] = rows[y].ljust(x)[:x] + step + rows[y][x + len(step) :]
            x += len(step)
        yield list(rows)


def test_status_line_on_a_terminal(ansible, tmp_path):
    book = tmp_path / "play.yml"
    book.write_text("""
- name: Show
  hosts: a,b
  gather_facts: false
  tasks:
    - name: Work with a name that does not fit (about 1 second)
      ansible.builtin.raw: sleep {{ 1 if inventory_hostname == 'b' else 0 }}
    - name: Warn
      ansible.builtin.set_fact: {x: 1}
      register: tried
      until: tried.attempts | int >= 2
      delay: 0
      run_once: true
    - name: Fail
      ansible.builtin.fail: {msg: this is it}
""")
    ours, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    with subprocess.Popen(
        [sys.executable, "-m", "ansible", "playbook", "-i", "hosts", str(book)],
        cwd=ansible.top,
        env=ansible.env,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    ) as process:
        os.close(terminal)
        sent = b""
        while True:
            try:
                sent += os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
        assert process.wait(timeout=60) == 2
    os.close(ours)
    seen = list(screens(sent.decode()))
    statuses = {row for rows in seen for row in rows if "..." in row}
    assert any(
        re.fullmatch(r"  00:\d\d  \.\.\. Work with a name that does not fit \(about 1 se", row) for row in statuses
    )  # cut at the width
    assert any(re.fullmatch(r"  \d\d:\d\d  \.\.\. Warn \(retry 1\)  a", row) for row in statuses)
    assert all(len(row) < 60 for row in statuses)
    final = "\n".join(seen[-1])
    assert "..." not in final
    assert re.fullmatch(
        r"  00:\d\d  == Show\n  00:\d\d  Work with [^\n]* s  a, b\n"
        r"(  00:\d\d  Fail +failed [^\n]* s  [ab]\n         this is it\n){2}"
        r"\npart +seconds\n(Show [^\n]*\n)?total [^\n]*\n\n"
        r"a: 1 failed, 0 unreachable\nb: 1 failed, 0 unreachable\n"
        r"2 hosts: 2 changed, 2 failed\n",
        final,
    )


def test_documentation(ansible):
    done = ansible.run("doc", "-t", "callback", "-j", "stackproof.provision.progress")
    assert done.returncode == 0, done.stderr
    doc = json.loads(done.stdout)["stackproof.provision.progress"]["doc"]
    assert (doc["name"], doc["type"]) == ("progress", "stdout")
    option = doc["options"]["timings_file"]
    assert option["env"] == [{"name": "STACKPROOF_TIMINGS"}]
    assert option["ini"] == [{"section": "callback_progress", "key": "timings_file"}]
