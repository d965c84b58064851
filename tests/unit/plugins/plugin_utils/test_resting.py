# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Work that is done while a process rests: once, and never beside the beginning of another process."""

from __future__ import annotations

import subprocess
import sys

from ansible_collections.stackproof.provision.plugins.plugin_utils import _resting

# Each test has a process of its own, since what is registered for forks stays.
BEGIN = f"""
import os, sys, threading, time
sys.path[:0] = {[path for path in sys.path if path]!r}
from {_resting.__package__} import _resting
_resting.REST, _resting.LOOK, _resting.MOST_FORKS = 0.2, 0.01, 3
done = []

def work():
    done.append("begun")
    time.sleep(0.1)
    done.append("ended")

rest = _resting.Rest(work)
rest.watch()

def fork():
    process = os.fork()
    if not process:
        print(*done, rest._is_over, flush=True)
        os._exit(0)
    os.waitpid(process, 0)
"""


def output_of(code):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", BEGIN + code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_it_is_done_once_when_no_process_is_begun_for_a_while():
    assert output_of("fork(); rest.join(); print(*done)") == ["True", "begun ended"]


def test_nothing_is_done_in_a_process_that_begins_no_other():
    assert output_of("time.sleep(0.5); print(*done, rest.is_alive())") == ["False"]


def test_a_process_that_is_begun_meanwhile_waits_for_its_end():
    assert output_of("fork()\nwhile not done: time.sleep(0.001)\nfork()") == ["True", "begun ended True"]


def test_it_does_not_wait_for_a_rest_that_never_comes():
    printed = output_of("_resting.REST = 3600\nfor _ in range(4): fork()")
    assert printed == ["True", "True", "begun ended True", "begun ended True"]


def test_a_process_ends_without_it():
    assert output_of("_resting.REST = 3600\nfork()") == ["True"]


def test_a_process_that_was_begun_begins_others_without_it():
    code = """
if not os.fork():
    fork()
    os._exit(0)
os.wait()
"""
    assert output_of(code) == ["True"]


def test_work_that_fails_is_left_to_whom_it_matters():
    assert output_of("rest._work = lambda: 1 / 0\nfork(); rest.join(); print(*done)") == ["True", ""]
