# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waits with a deadline that notice a change soon without asking too often."""

from __future__ import annotations

import math
import time

from .clock import Stopwatch, now
from .errors import DeadlinePassed, StageError

# A change must show within half a second: the longest pause and a usual answer together stay below it.
PERIOD, PERIOD_LATER, LATER = 0.25, 0.4, 60
STRAINED, LONGEST = 1, 10


def timeout_of(value, name):
    """The seconds of a timeout, as an option gives them. Only a finite number above 0 is a timeout."""
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        hint = "Give a number of seconds above 0."
        raise StageError("invalid", f"{name} cannot be {value}", resource=name, hint=hint)
    return seconds


class Deadline:
    def __init__(self, seconds, name="timeout"):
        self.seconds = timeout_of(seconds, name)
        self._end = time.monotonic() + self.seconds

    def left(self):
        return self._end - time.monotonic()


def pause_after(took, waited, period=PERIOD):
    """The seconds to rest before the next look.

    Looks begin one period apart. After a minute they become rarer. A service is never asked more than two thirds of
    the time, and one that needs over a second has so much to do that it is asked a quarter of the time.
    """
    period = max(period, PERIOD_LATER) if waited > LATER else period
    rest = took / 2 if took < STRAINED else min(3 * took, LONGEST)
    return max(period - took, rest)


def wait_until(what, look, deadline, record, say, period=PERIOD):
    """Call look until it is done, and record each new state.

    look returns (done, state, value): state is a short text, and value is returned at the end. The wait's line
    is added to record at once, so that it is there whatever interrupts the wait.
    """
    watch = Stopwatch()
    line = {"for": what, "started": watch.started, "seconds": 0.0, "states": [], "resolution_s": None, "looks": 0}
    record.append(line)
    last_asked = None
    while True:
        asked = time.monotonic()
        done, state, value = look()
        answered = time.monotonic()
        line["looks"] += 1
        line["seconds"] = watch.seconds()
        # A state came at some time between the last look that did not show it and this one.
        resolution = None if last_asked is None else round(answered - last_asked, 3)
        if not line["states"] or line["states"][-1]["state"] != state:
            line["states"].append({"state": state, "at": now(), "after_s": line["seconds"], "resolution_s": resolution})
            say(f"waiting for {what}: {state}")
        if done:
            line["resolution_s"] = resolution
            return value
        if deadline.left() <= 0:
            line["timed_out"] = True
            raise DeadlinePassed(what, state, line["seconds"])
        last_asked = asked
        time.sleep(max(0, min(pause_after(answered - asked, line["seconds"], period), deadline.left())))
