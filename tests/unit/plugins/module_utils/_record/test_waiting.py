# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waits: how often they look, what they write down, and when they end."""

from __future__ import annotations

import time

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._record import waiting
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError


def looks(*answers, before=lambda: None):
    """A look that gives one state after the other; the last one is done."""
    left = list(answers)

    def look():
        before()
        state = left.pop(0)
        return not left, state, f"value of {state}"

    return look


def wait(look, seconds=5, record=None, texts=None, period=0.01):
    record = [] if record is None else record
    value = waiting.wait_until(
        "the thing",
        look,
        waiting.Deadline(seconds),
        record,
        (texts if texts is not None else []).append,
        lambda _waited: period,
    )
    return value, record[-1]


@pytest.mark.parametrize(
    ("took", "period", "pause"),
    [(0.0, 0.25, 0.25), (0.05, 0.25, 0.2), (0.2, 0.25, 0.1), (0.6, 0.25, 0.3), (3.0, 0.25, 9.0), (0.1, 1.0, 0.9)],
)
def test_pause_after(took, period, pause):
    assert waiting.pause_after(took, period) == pytest.approx(pause)


@pytest.mark.parametrize(("waited", "period"), [(0, 0.25), (60, 0.25), (61, 0.4), (3600, 0.4)])
def test_after_a_minute_looks_are_rarer(waited, period):
    assert waiting.usual_pace(waited) == period


@pytest.mark.parametrize("waited", [0, 59, 61, 900])
@pytest.mark.parametrize("took", [0.001, 0.03, 0.1])
def test_a_change_is_known_within_half_a_second_while_answers_are_usual(took, waited):
    # At worst it comes right after a look began, and the next answer shows it.
    assert took + waiting.pause_after(took, waiting.usual_pace(waited)) + took <= 0.5


@pytest.mark.parametrize("took", [0.01, 0.5, 10])
def test_a_slow_service_is_not_asked_more_than_two_thirds_of_the_time(took):
    assert waiting.pause_after(took, 0.25) >= took / 2


def test_a_wait_writes_down_each_state_once_with_its_time_and_sharpness():
    texts = []
    value, line = wait(looks("creating", "creating", "creating", "available"), texts=texts)
    assert value == "value of available"
    assert line.awaited == "the thing"
    assert line.polls == 4
    assert [state.state for state in line.states] == ["creating", "available"]
    assert not line.timed_out
    first, last = line.states
    assert first.resolution_s is None
    assert 0.009 <= last.resolution_s < 5
    assert line.resolution_s == last.resolution_s
    assert last.after_s == line.seconds >= 0.03
    assert line.started <= first.at < last.at
    assert last.at - line.started == pytest.approx(last.after_s, abs=1)
    assert texts == [f"waiting for the thing (at most 5 s): {state}" for state in ("creating", "available")]


def test_a_state_that_comes_back_is_written_down_again():
    _value, line = wait(looks("a", "b", "a", "done"))
    assert [state.state for state in line.states] == ["a", "b", "a", "done"]


def test_what_is_done_at_the_first_look_has_no_sharpness():
    _value, line = wait(looks("available"))
    assert line.polls == 1
    assert line.resolution_s is None


def test_the_sharpness_covers_the_time_from_the_look_before():
    _value, line = wait(looks("a", "done", before=lambda: time.sleep(0.03)))
    assert line.resolution_s >= 0.06


def test_a_wait_ends_at_its_deadline_and_says_what_it_waited_for():
    record, began = [], time.monotonic()
    with pytest.raises(waiting.DeadlinePassed) as caught:
        wait(lambda: (False, "BUILD", None), seconds=0.1, record=record, period=30)
    assert 0.1 <= time.monotonic() - began < 10
    assert (caught.value.what, caught.value.state) == ("the thing", "BUILD")
    # The deadline began before the wait, by as long as a busy machine likes.
    assert caught.value.seconds == record[0].seconds
    assert record[0].timed_out is True
    assert record[0].states[0].state == "BUILD"


def test_what_becomes_ready_by_the_deadline_is_still_seen():
    began = time.monotonic()

    def look():
        ready = time.monotonic() - began > 0.09
        return ready, str(ready), ready

    value, line = wait(look, seconds=0.1, period=30)
    assert value is True
    assert not line.timed_out


def test_a_wait_looks_as_often_as_its_period_says():
    record = []
    with pytest.raises(waiting.DeadlinePassed):
        wait(lambda: (False, "BUILD", None), seconds=0.3, record=record, period=0.02)
    assert 4 <= record[0].polls <= 17


def test_the_line_is_there_when_a_look_fails():
    record = []

    def look():
        if record[0].polls:
            raise OSError("no way")
        return False, "BUILD", None

    with pytest.raises(OSError, match="no way"):
        wait(look, record=record)
    assert record[0].polls == 1
    assert record[0].states[0].state == "BUILD"
    assert record[0].resolution_s is None


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), float("-inf"), 0, -1, 1e10, "x", None, [1]])
def test_a_deadline_that_never_comes_or_has_been_is_refused(seconds):
    with pytest.raises(StageError) as caught:
        waiting.Deadline(seconds)
    assert caught.value.record["message"] == f"timeout cannot be {seconds}"
