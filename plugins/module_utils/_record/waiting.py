# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waits with a deadline that notice a change soon without asking too often."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .._model.stage import State, Wait
from .clock import Stopwatch, now, seconds_of
from .errors import DeadlinePassed, StageError
from .masking import words_of

# A change must show within half a second: the longest pause and a usual answer together stay below it.
PERIOD, PERIOD_LATER, LATER = 0.25, 0.4, 60
STRAINED, LONGEST = 1, 10


# In characters, and in states of one wait: a service has some ten words for its states, and none is a sentence.
LONGEST_STATE = 200
MOST_STATES = 100
# A thread cannot wait for much longer than some decades, and nobody waits for a week.
LONGEST_TIMEOUT = 7 * 24 * 3600


def timeout_of(value: Any, name: str) -> float:
    """Return the seconds of a timeout, as an option gives them. It is above 0, and not beyond a week."""
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = math.nan
    if not 0 < seconds <= LONGEST_TIMEOUT:
        hint = f"Give a number of seconds above 0, at most {LONGEST_TIMEOUT}, a week."
        raise StageError(
            "invalid", f"{name} cannot be {value}", resource=name, hint=hint
        )
    return seconds


# Seconds after a deadline, for all requests together: what happened at the end can still be read.
GRACE = 1.0


class Deadline:
    def __init__(
        self, seconds: Any, name: str = "timeout", grace: float | None = None
    ) -> None:
        self.seconds = timeout_of(seconds, name)
        self._grace = GRACE if grace is None else grace
        self._end = time.monotonic() + self.seconds

    def left(self) -> float:
        return self._end - time.monotonic()

    def left_with_grace(self) -> float:
        """Return the seconds until no request is begun any more."""
        return self.left() + self._grace


def usual_pace(waited: float) -> float:
    """Return the seconds between the beginnings of two looks, after so many seconds of a wait."""
    return PERIOD_LATER if waited > LATER else PERIOD


def pause_after(took: float, period: float) -> float:
    """Return the seconds to rest before the next look.

    A service is never asked more than two thirds of the time, and one that needs over a second has so much to do that
    it is asked a quarter of the time.
    """
    rest = took / 2 if took < STRAINED else min(3 * took, LONGEST)
    return max(period - took, rest)


# Whether the wait is over, the state in a few words, and what the wait then returns
Look = tuple[bool, str, Any]


class WaitAtWork:
    """A wait that goes on. Its entry is among the waits from the beginning on, whatever interrupts it."""

    def __init__(self, awaited: str, waits: list[Wait]) -> None:
        self._watch = Stopwatch()
        self._waits = waits
        self._place = len(waits)
        self._asked: float | None = None
        # How long before the last look its state may have begun
        self._resolution_s: float | None = None
        waits.append(
            Wait(
                awaited=awaited,
                started=self._watch.began,
                seconds=0.0,
                states=(),
                polls=0,
            )
        )

    @property
    def wait(self) -> Wait:
        return self._waits[self._place]

    def _change(self, **changes: Any) -> None:
        self._waits[self._place] = replace(self.wait, **changes)

    def end(self) -> None:
        self._change(resolution_s=self._resolution_s)

    def time_out(self) -> None:
        self._change(timed_out=True)

    def note(self, state: str, asked: float, answered: float) -> bool:
        """Note what a look has shown. Return whether it is another state than that of the look before."""
        # A state came at some time between the last look that did not show it and this one.
        self._resolution_s = (
            None if self._asked is None else round(answered - self._asked, 3)
        )
        self._asked = asked
        seconds = self._watch.seconds()
        self._change(polls=self.wait.polls + 1, seconds=seconds)
        states = self.wait.states
        if states and states[-1].state == state:
            return False
        new = State(
            state=state,
            at=seconds_of(now()),
            after_s=seconds,
            resolution_s=self._resolution_s,
        )
        # A state that never rests fills neither memory nor record: the first ones stay, and the last.
        self._change(states=(*states[: MOST_STATES - 1], new))
        return True


def wait_until(
    what: str,
    look: Callable[[], Look],
    deadline: Deadline,
    waits: list[Wait],
    say: Callable[[str], Any],
    pace: Callable[[float], float] = usual_pace,
) -> Any:
    """Call look until it is done, and return its value. The wait, with each new state, is added to waits at once.

    pace: as usual_pace.
    """
    at_work = WaitAtWork(what, waits)
    limit = f"at most {deadline.seconds:g} s"
    while True:
        asked = time.monotonic()
        done, text, value = look()
        state = words_of(text, LONGEST_STATE)
        answered = time.monotonic()
        # Before the look is noted: a look that came in time is not the last one, however long it takes to note it.
        is_over = deadline.left() <= 0
        if at_work.note(state, asked, answered):
            say(f"waiting for {what} ({limit}): {state}")
        if done:
            at_work.end()
            return value
        seconds = at_work.wait.seconds
        if is_over:
            at_work.time_out()
            raise DeadlinePassed(what, state, seconds)
        pause = pause_after(answered - asked, pace(seconds))
        time.sleep(max(0, min(pause, deadline.left())))
