# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waits with a deadline that notice a change soon without asking too often."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from .clock import Stopwatch, now
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
        raise StageError("invalid", f"{name} cannot be {value}", resource=name, hint=hint)
    return seconds


# Seconds after a deadline, for all requests together: what happened at the end can still be read.
GRACE = 1.0


class Deadline:
    def __init__(self, seconds: Any, name: str = "timeout", grace: float | None = None) -> None:
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


def wait_until(
    what: str,
    look: Callable[[], tuple[bool, str, Any]],
    deadline: Deadline,
    record: list[dict[str, Any]],
    say: Callable[[str], Any],
    pace: Callable[[float], float] = usual_pace,
) -> Any:
    """Call look until it is done, and record each new state.

    look returns (done, state, value): state is a short text, and value is returned at the end. The wait's line
    is added to record at once, so that it is there whatever interrupts the wait. pace: as usual_pace.
    """
    watch = Stopwatch()
    line: dict[str, Any] = {"for": what, "started": watch.started, "seconds": 0.0, "states": []}
    line.update(resolution_s=None, looks=0)
    record.append(line)
    last_asked = None
    while True:
        asked = time.monotonic()
        done, said, value = look()
        state = words_of(said, LONGEST_STATE)
        answered = time.monotonic()
        line["looks"] += 1
        line["seconds"] = watch.seconds()
        # A state came at some time between the last look that did not show it and this one.
        resolution = None if last_asked is None else round(answered - last_asked, 3)
        if not line["states"] or line["states"][-1]["state"] != state:
            # A state that never rests fills neither memory nor record: the first ones stay, and the last.
            del line["states"][MOST_STATES - 1 :]
            line["states"].append({"state": state, "at": now(), "after_s": line["seconds"], "resolution_s": resolution})
            say(f"waiting for {what}: {state}")
        if done:
            line["resolution_s"] = resolution
            return value
        if deadline.left() <= 0:
            line["timed_out"] = True
            raise DeadlinePassed(what, state, line["seconds"])
        last_asked = asked
        time.sleep(max(0, min(pause_after(answered - asked, pace(line["seconds"])), deadline.left())))
