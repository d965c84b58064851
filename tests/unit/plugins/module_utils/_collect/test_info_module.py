# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands on a host, as they are really run: their output, their status, and their end."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect import info_module
from ansible_collections.stackproof.provision.plugins.module_utils._collect.commands import TIMED_OUT


def run(script, take=None, patience="5"):
    return info_module.execute(["timeout", patience, "sh", "-c", script], take)


def test_a_command_is_told_by_its_status_its_output_and_its_errors():
    assert run("printf 'a\\377'; echo b >&2; exit 3") == (3, "a\udcff", "b\n")


def test_a_program_that_is_not_there_has_the_status_of_a_shell():
    status, out, errors = info_module.execute(["no-such-program"], None)
    assert (status, out) == (127, "")
    assert "No such file" in errors


def test_all_of_a_long_output_is_read():
    _status, out, _errors = run("head -c 3000000 /dev/zero | tr '\\0' a")
    assert out == "a" * 3000000


def test_what_takes_the_stream_reads_it_line_by_line():
    assert run("seq 100000", take=lambda stream: sum(1 for _line in stream))[1] == 100000


def test_output_that_comes_slowly_is_waited_for():
    assert run("echo a; sleep 2.5; echo b")[:2] == (0, "a\nb\n")


# What is left holds the pipe, in the group of the command and in one of its own.
LEFT = ["sleep 60 & echo a", "setsid sleep 6 & echo a"]


@pytest.mark.parametrize("left", LEFT)
def test_a_command_that_leaves_a_process_behind_is_over_when_it_has_ended(left):
    began = time.monotonic()
    assert run(left)[:2] == (0, "a\n")
    assert time.monotonic() - began < 4


@pytest.mark.parametrize("left", LEFT)
def test_a_command_that_is_ended_for_its_slowness_does_not_wait_for_what_it_has_begun(left):
    began = time.monotonic()
    assert run(f"{left}; exec sleep 60", patience="1")[:2] == (TIMED_OUT, "a\n")
    assert time.monotonic() - began < 4


def test_what_a_slow_command_has_begun_is_ended_with_it(tmp_path):
    """It ignores the signal that ends the command."""
    sign = tmp_path / "pid"
    script = f"(trap '' TERM; echo $BASHPID > {sign}; while :; do sleep 0.1; done) & exec sleep 60"
    assert info_module.execute(["timeout", "1", "bash", "-c", script], None)[0] == TIMED_OUT
    number = int(sign.read_text())
    deadline = time.monotonic() + 5
    while is_there(number):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_there(number):
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_command_that_nobody_here_may_end_is_left_alone(monkeypatch):
    """A command of another user keeps running: the reading goes on without it."""

    def refuse(_group, _signal):
        raise PermissionError

    monkeypatch.setattr(info_module.os, "killpg", refuse)
    began = time.monotonic()
    status = info_module.execute(["timeout", "1", "bash", "-c", "sleep 5 & exec sleep 60"], None)[0]
    assert (status, time.monotonic() - began < 4) == (TIMED_OUT, True)
