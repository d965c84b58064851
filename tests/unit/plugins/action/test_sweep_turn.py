# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns in a sweep: never more targets at the same time than there are turns, and none that is lost."""

from __future__ import annotations

import os
import threading
import time
from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.stackproof.provision.plugins.action import sweep_turn as plugin
from ansible_collections.stackproof.provision.plugins.plugin_utils import _turns


@pytest.fixture
def turn(tmp_path, monkeypatch):
    """Return a function that runs the action for a target."""
    monkeypatch.setattr(_turns, "LOOK", 0.01)
    monkeypatch.setattr(plugin.ActionBase, "run", lambda *_args: {})

    def run(target, state="taken", parallel=2, check=False):
        action = object.__new__(plugin.ActionModule)
        given = {"directory": str(tmp_path), "target": target, "state": state, "parallel": parallel}
        action._task = SimpleNamespace(args=given, check_mode=check)
        monkeypatch.setattr(action, "validate_argument_spec", lambda **_spec: ({}, given), raising=False)
        return action.run(task_vars={})

    return run


def test_a_turn_is_taken_once_and_returned(turn, tmp_path):
    assert turn("a")["waited_s"] < 0.5
    assert turn("a")["changed"] is False  # again, as a retry would
    turn("b")
    assert sorted(os.listdir(tmp_path / "turns")) == ["a", "b"]
    turn("a", "returned")
    turn("a", "returned")  # also where it was never taken
    turn("c")
    turn("b", "returned")
    turn("c", "returned")
    assert os.listdir(tmp_path) == []


def test_a_target_waits_until_another_one_ends(turn):
    turn("a", parallel=1)
    threading.Timer(0.1, lambda: turn("a", "returned")).start()
    assert turn("b", parallel=1)["waited_s"] >= 0.09


def test_there_is_at_least_one_turn(turn):
    assert turn("a", parallel=0)["waited_s"] < 0.5


def test_in_check_mode_there_are_none(turn, tmp_path):
    turn("a", check=True)
    assert os.listdir(tmp_path) == []


def test_whoever_waits_ends_with_the_playbook(turn, monkeypatch):
    turn("a", parallel=1)
    parents = iter([4711, 4711, 1])
    monkeypatch.setattr(_turns.os, "getppid", lambda: next(parents))
    with pytest.raises(AnsibleActionFail, match="the playbook ended"):
        turn("b", parallel=1)


def test_many_at_the_same_time_are_never_more_than_the_turns(tmp_path):
    """Each a thread with a file handle of its own, which is what a lock is about."""
    now, most, lock = [], [], threading.Lock()

    def go(number):
        while not plugin.take(str(tmp_path), f"t{number}", 3):
            time.sleep(0.001)
        with lock:
            now.append(number)
            most.append(len(now))
        time.sleep(0.003)
        with lock:
            now.remove(number)
        plugin.give_back(str(tmp_path), f"t{number}")

    threads = [threading.Thread(target=go, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 40
    assert max(most) == 3
    assert os.listdir(tmp_path) == []
