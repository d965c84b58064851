# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps that really run, in folders of their own."""

from __future__ import annotations

import fcntl
import os
import re
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from ansible_collections.stackproof.lab.plugins.modules import steps as module


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """The folders of the module, and where the steps of a test leave their marks."""
    monkeypatch.setattr(module, "DONE", str(tmp_path / "done"))
    monkeypatch.setattr(module, "LOGS", str(tmp_path / "logs"))
    marks = tmp_path / "marks"
    marks.mkdir()
    return marks


def step(name, run="true", after=(), inputs=()):
    plain = {"name": name, "run": run, "undo": "", "user": "root"}
    return {**plain, "after": list(after), "inputs": [str(path) for path in inputs]}


def mark(place, name, after=()):
    return step(name, f"echo {name} >> {place}/order", after)


def order(place):
    path = place / "order"
    return path.read_text().split() if path.exists() else []


def log(name):
    return Path(module.LOGS, name + ".log").read_text()


def command_line(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except FileNotFoundError:
        return ""


def remembered():
    return sorted(name for name in os.listdir(module.DONE) if not name.endswith(module.BEGUN))


def test_digest_follows_command_user_and_inputs(tmp_path):
    path = tmp_path / "input"
    path.write_text("one")
    base = step("a", inputs=[path])
    digests = [module.digest(base), module.digest({**base, "run": "false"})]
    digests.append(module.digest({**base, "user": "nova"}))
    path.write_text("two")
    digests.append(module.digest(base))
    assert len(set(digests)) == 4


def test_digest_ignores_name_and_order():
    assert module.digest(step("a")) == module.digest(step("b", after=["a"]))


def test_is_done_until_an_input_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "DONE", str(tmp_path))
    path = tmp_path / "input"
    path.write_text("one")
    wanted = step("a", inputs=[path])
    assert not module.is_done(wanted)
    module.remember(wanted)
    assert module.is_done(wanted)
    path.write_text("two")
    assert not module.is_done(wanted)


def test_an_input_that_cannot_be_read_is_said_before_anything_runs(call, place):
    result = call(module, steps=[dict(mark(place, "a"), inputs=["/no/such/input"])])
    assert result["failed"]
    assert "An input of a step cannot be read" in result["msg"]
    assert order(place) == []


def test_what_ends_well_beside_a_failure_is_remembered(call):
    result = call(module, steps=[step("slow", "sleep 0.5"), step("bad", "false")])
    assert result["failed"]
    assert remembered() == ["slow"]


def test_a_step_that_runs_out_of_time_ends_with_all_that_it_started(call, place):
    late = os.path.join(str(place), "late")
    result = call(module, steps=[step("long", f"sh -c 'sleep 2; touch {late}'; true")], timeout=1)
    assert "no end after" in result["msg"]
    time.sleep(1.5)
    assert not os.path.exists(late)


def test_ready_when_all_predecessors_have_ended():
    a, b, c = step("a"), step("b", after=["a"]), step("c", after=["a", "b"])
    assert module.ready([a, b, c], running=[]) == [a]
    assert module.ready([b, c], running=["a"]) == []
    assert module.ready([b, c], running=[]) == [b]
    assert module.ready([c], running=[]) == [c]


def test_runs_once(call, place):
    steps = [mark(place, "a"), mark(place, "b")]
    first = call(module, steps=steps)
    assert (first["changed"], set(first["seconds"])) == (True, {"a", "b"})
    second = call(module, steps=steps)
    assert (second["changed"], second["seconds"]) == (False, {})
    assert sorted(order(place)) == ["a", "b"]


def test_runs_again_what_changed_and_nothing_else(call, place):
    call(module, steps=[mark(place, "a"), mark(place, "b", after=["a"])])
    again = step("b", f"echo changed >> {place}/order", after=["a"])
    result = call(module, steps=[mark(place, "a"), again])
    assert set(result["seconds"]) == {"b"}
    assert order(place) == ["a", "b", "changed"]


@pytest.fixture
def earlier():
    """Return what ends the steps of an earlier playbook, which hold the lock until then."""
    os.makedirs(module.DONE)
    folder = os.open(module.DONE, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    end = ExitStack()
    end.callback(os.close, folder)
    with end:
        yield end


def test_steps_of_an_earlier_playbook_are_awaited_and_not_run_again(call, place, earlier):
    """Who kills a playbook does not kill what it has started on a host."""
    earlier_step = mark(place, "a")
    earlier.callback(module.remember, earlier_step)
    ending = threading.Timer(0.5, earlier.close)
    ending.start()
    done = call(module, steps=[earlier_step])
    assert (done["changed"], done["seconds"]) == (False, {})
    ending.join()
    assert order(place) == []


@pytest.mark.usefixtures("earlier")
def test_steps_of_an_earlier_playbook_that_do_not_end_are_said(call, place):
    message = call(module, steps=[mark(place, "a")], timeout=1)["msg"]
    assert message.startswith("Steps of an earlier playbook still run here after 1 s. Their logs are in ")
    assert order(place) == []


def test_order(call, place):
    steps = [mark(place, "c", ["b", "a"]), mark(place, "b", ["a"]), mark(place, "d", ["c"]), mark(place, "a")]
    call(module, steps=steps, parallel=4)
    assert order(place) == ["a", "b", "c", "d"]


def test_two_at_a_time(call, place):
    def meet(me, other):
        return step(me, f"touch {place}/{me}; until [ -e {place}/{other} ]; do sleep 0.02; done")

    result = call(module, steps=[meet("a", "b"), meet("b", "a")], parallel=2, timeout=5)
    assert set(result["seconds"]) == {"a", "b"}


@pytest.mark.parametrize("parallel", [1, 2])
def test_no_more_than_parallel(call, place, parallel):
    count = f"touch {place}/$$; ls {place} | wc -l; sleep 0.1; rm {place}/$$"
    names = ["a", "b", "c"]
    call(module, steps=[step(name, count) for name in names], parallel=parallel)
    assert max(int(log(name)) for name in names) <= parallel


def test_failing_step_is_named_with_status_and_words(call, place):
    result = call(module, steps=[step("broken", "echo it is; echo this >&2; exit 3"), mark(place, "b", ["broken"])])
    assert result["failed"]
    assert result["msg"].startswith("Step broken failed, exit status 3.")
    assert result["msg"].endswith("It said: it is\nthis")
    assert order(place) == []


def test_each_command_of_a_step_must_succeed(call, place):
    result = call(module, steps=[step("a", f"false; touch {place}/after")])
    assert "Step a failed, exit status 1" in result["msg"]
    assert not (place / "after").exists()


def test_silent_failure(call):
    assert call(module, steps=[step("a", "exit 7")])["msg"].endswith("It said: nothing")


def test_goes_on_after_a_repaired_failure(call, place):
    first = [mark(place, "a"), step("b", f"[ -e {place}/repaired ]", ["a"]), mark(place, "c", ["b"])]
    assert call(module, steps=first)["failed"]
    assert remembered() == ["a"]
    (place / "repaired").touch()
    result = call(module, steps=first)
    assert set(result["seconds"]) == {"b", "c"}
    assert order(place) == ["a", "c"]


def test_failure_waits_for_what_runs(call, place):
    slow = step("slow", f"sleep 0.4; touch {place}/slow")
    assert call(module, steps=[slow, step("broken", "false")])["failed"]
    assert (place / "slow").exists()


def test_stuck_steps_are_named(call, place):
    circle = [step("a", after=["b"]), step("b", after=["a"])]
    result = call(module, steps=[mark(place, "fine"), *circle])
    assert result["msg"].endswith("wait for each other: a after ['b'], b after ['a']")


def test_a_step_does_not_wait_for_one_that_this_host_has_not(call, place):
    assert call(module, steps=[{**mark(place, "fine"), "after": ["nowhere"]}])["changed"] is True


def test_step_without_end_is_ended(call, place):
    begun = time.monotonic()
    result = call(module, steps=[step("endless", f"echo $$ > {place}/pid; exec sleep 60")], timeout=1)
    assert re.match(r"Step endless failed, no end after \d s\.", result["msg"])
    assert time.monotonic() - begun < 5
    assert remembered() == []
    pid = int((place / "pid").read_text())
    # Killed, and collected or not: what is not collected has no command line any more.
    deadline = time.monotonic() + 2
    while command_line(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert command_line(pid) == ""


def test_check_mode_runs_none(call, place):
    result = call(module, check=True, steps=[mark(place, "a")])
    assert (result["changed"], result["seconds"]) == (True, {})
    assert order(place) == []
    assert not os.path.exists(module.DONE)


def test_log_is_kept(call):
    call(module, steps=[step("a", "echo out; echo err >&2")])
    assert log("a") == "out\nerr\n"


def test_last_words_are_few():
    os.makedirs(module.LOGS)
    Path(module.LOGS, "a.log").write_bytes(b"".join(b"line %d \xff\n" % number for number in range(100)))
    words = module.last_words("a").splitlines()
    assert (len(words), words[0][:7], words[-1][:7]) == (12, "line 88", "line 99")


@pytest.fixture
def broken_off(place):
    """Return a step that fails where it was before, with its way back; it is as a loss of power leaves it."""
    made = place / "made"
    broken = {**step("tables", f"mkdir {made}"), "undo": f"rmdir {made}; echo undone >> {place}/order"}
    made.mkdir()
    os.makedirs(module.DONE)
    Path(module.DONE, "tables" + module.BEGUN).write_text("")
    return broken


def test_a_step_that_broke_off_is_undone_before_it_runs_again(call, place, broken_off):
    result = call(module, steps=[broken_off, mark(place, "next", ["tables"])])
    assert "failed" not in result
    assert order(place) == ["undone", "next"]
    assert remembered() == ["next", "tables"]
    assert call(module, steps=[broken_off])["changed"] is False


def test_a_step_that_never_began_or_once_ended_well_is_not_undone(call, place):
    plain = {**mark(place, "tables"), "undo": f"echo undone >> {place}/order"}
    call(module, steps=[plain])
    changed = {**plain, "run": plain["run"] + " "}
    Path(module.DONE, "tables" + module.BEGUN).write_text("")
    call(module, steps=[changed])
    assert order(place) == ["tables", "tables"]


def test_a_step_whose_way_back_fails_says_so(call, broken_off):
    result = call(module, steps=[{**broken_off, "undo": "echo no way back; exit 3"}])
    assert "Step tables failed, exit status 3" in result["msg"]
    assert "no way back" in result["msg"]


def test_what_a_loss_of_power_leaves_of_a_note_is_no_note(call, place):
    os.makedirs(module.DONE)
    Path(module.DONE, "tables.new").write_text("half a dig")
    call(module, steps=[mark(place, "tables")])
    assert (order(place), remembered()) == (["tables"], ["tables"])
