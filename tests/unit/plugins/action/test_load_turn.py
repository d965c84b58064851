# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns in a load: so many at once, level after level, at the pace that was asked for, and no level beyond a limit."""

from __future__ import annotations

import os
import threading
import time
from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.stackproof.provision.plugins.action import load_turn as plugin
from ansible_collections.stackproof.provision.plugins.module_utils._load import files, load, plan
from ansible_collections.stackproof.provision.plugins.module_utils._model.load import LoadPlan, LoadRun
from ansible_collections.stackproof.provision.plugins.plugin_utils import _turns

ALL_BROKEN = [{"name": "levels", "query": "length(levels)", "min": 1}]
NONE_BROKEN = [{"name": "levels", "query": "length(levels)", "max": 1}]


@pytest.fixture
def directory(tmp_path):
    """The directory of a load of two levels with two instances each, of which no run was begun."""
    targets = plan.targets_of("night", 2, [1, 2], None)
    place = tmp_path / "load-night"
    place.mkdir()
    runs = [LoadRun(key=target.key, run_id=target.run_id, parallel=target.parallel) for target in targets]
    files.save(load.new_load("night", "lab", LoadPlan(2, (1, 2), None), runs, []), str(place))
    return place


@pytest.fixture
def turn(directory, monkeypatch):
    """Return a function that runs the action for a target."""
    monkeypatch.setattr(_turns, "LOOK", 0.01)
    monkeypatch.setattr(plugin.ActionBase, "run", lambda *_args: {})

    def run(target, state="taken", check=False, **options):
        action = object.__new__(plugin.ActionModule)
        given = {"directory": str(directory), "target": target, "state": state, "parallel": 1, "before": 0}
        given = {**given, "after_s": 0, "thresholds": [], **options}
        action._task = SimpleNamespace(args=given, check_mode=check)
        monkeypatch.setattr(action, "validate_argument_spec", lambda **_spec: ({}, given), raising=False)
        return action.run(task_vars={})

    return run


def test_an_instance_waits_until_another_one_ends(turn):
    assert turn("1")["go"] is True
    assert turn("1")["go"] is True  # again, as a retry would
    threading.Timer(0.1, lambda: turn("1", "returned")).start()
    taken = turn("2")
    assert (taken["go"], taken["changed"]) == (True, False)
    assert taken["waited_s"] >= 0.09


def test_a_level_waits_until_all_of_the_level_below_have_ended(turn):
    turn("1")
    turn("1", "returned")
    turn("2")
    threading.Timer(0.1, lambda: turn("2", "returned")).start()
    assert turn("3", parallel=2, before=2)["waited_s"] >= 0.09
    assert turn("4", parallel=2, before=2)["waited_s"] < 0.09


def test_an_instance_begins_at_the_pace_that_was_asked_for(turn):
    assert turn("1", parallel=4)["waited_s"] < 0.2
    assert 0.2 <= turn("2", parallel=4, after_s=0.3)["waited_s"] < 1


def test_no_level_is_begun_once_a_limit_is_broken(turn):
    for target in ("1", "2"):
        assert turn(target, thresholds=ALL_BROKEN)["go"] is True  # nothing is known before the first level
        turn(target, "returned")
    assert turn("3", before=2, thresholds=ALL_BROKEN)["go"] is False
    assert turn("4", before=2, thresholds=ALL_BROKEN)["go"] is False
    # A level above waits for those that were left out no longer than for others.
    assert turn("5", before=4, thresholds=ALL_BROKEN)["go"] is False


def test_a_limit_on_what_is_known_at_the_end_stops_no_ramp(turn):
    for target in ("1", "2"):
        turn(target)
        turn(target, "returned")
    later = [{"name": "all of it", "query": "duration_s", "max": 60}]
    assert turn("3", before=2, thresholds=later)["go"] is True


def test_a_limit_may_be_written_as_a_text():
    given = {"directory": "/x", "target": "1", "parallel": 1, "thresholds": [{"name": "x", "query": "y", "max": "60"}]}
    (limit,) = ArgumentSpecValidator(plugin.ARGUMENTS).validate(given).validated_parameters["thresholds"]
    assert limit["max"] == 60


def test_a_limit_that_holds_lets_the_next_level_begin(turn):
    for target in ("1", "2"):
        turn(target)
        turn(target, "returned")
    assert turn("3", before=2, thresholds=NONE_BROKEN)["go"] is True


def test_a_record_that_cannot_be_read_ends_the_ramp(turn, directory):
    for target in ("1", "2"):
        turn(target)
        turn(target, "returned")
    (directory / "load.json").write_text("{")
    assert turn("3", before=2, thresholds=NONE_BROKEN)["go"] is False


def test_in_check_mode_there_are_no_turns(turn, directory):
    assert turn("1", check=True)["go"] is True
    assert os.listdir(directory) == ["load.json"]


def test_an_instance_that_waits_ends_with_the_playbook(turn, monkeypatch):
    turn("1")
    parents = iter([4711, 4711, 1])
    monkeypatch.setattr(_turns.os, "getppid", lambda: next(parents))
    with pytest.raises(AnsibleActionFail, match="the playbook ended"):
        turn("2")


def test_many_at_the_same_time_are_never_more_than_the_turns(turn):
    now, most, lock = [], [], threading.Lock()

    def go(number):
        turn(f"t{number}", parallel=3)
        with lock:
            now.append(number)
            most.append(len(now))
        time.sleep(0.003)
        with lock:
            now.remove(number)
        turn(f"t{number}", "returned", parallel=3)

    threads = [threading.Thread(target=go, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 12
    assert max(most) <= 3
