# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Points of time, durations, and the difference to a cloud's clock."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from datetime import datetime, timezone, tzinfo
from email.utils import parsedate_to_datetime
from typing import Any

# Before Python 3.11 a zone needs its colon, and a fraction three or six digits.
ZONE = re.compile(r"([+-]\d\d)(\d\d)$")
FRACTION = re.compile(r"[.,](\d+)")


def now() -> str:
    """Return the time of day, as records write it."""
    return datetime.now(timezone.utc).isoformat(timespec="microseconds")


def parse(text: str, zone: tzinfo = timezone.utc) -> datetime:
    """Return a time in ISO 8601, as records, APIs and logs write it. Where it names no zone, it is in the given one."""
    text = ZONE.sub(r"\1:\2", text.replace("Z", "+00:00"))
    moment = datetime.fromisoformat(
        FRACTION.sub(lambda match: "." + (match[1] + "000000")[:6], text)
    )
    if moment.tzinfo:
        return moment
    return moment.replace(tzinfo=zone)


def seconds_of(text: str, zone: tzinfo = timezone.utc) -> float:
    """Return a time in ISO 8601 as seconds since the epoch."""
    return parse(text, zone).timestamp()


def seconds_between(earlier: str, later: str) -> float:
    return (parse(later) - parse(earlier)).total_seconds()


class Stopwatch:
    def __init__(self) -> None:
        self.started = now()
        self._zero = time.monotonic()

    @property
    def began(self) -> float:
        """Return when it was started, in seconds since the epoch."""
        return seconds_of(self.started)

    def seconds(self) -> float:
        return round(time.monotonic() - self._zero, 6)


def clock_difference(
    samples: Iterable[tuple[float, str, float]],
) -> dict[str, Any] | None:
    """Return how far the cloud's clock is ahead of ours, from (sent, Date header, received) of several answers.

    A Date header is cut to whole seconds, so each answer allows a range. Together they allow what all ranges share.
    """
    lows, highs = [], []
    for sent, date, received in samples:
        try:
            stamp = parsedate_to_datetime(date).timestamp()
        except (TypeError, ValueError):
            continue  # without a readable date
        lows.append(stamp - received)
        highs.append(stamp + 1 - sent)
    if not lows:
        return None
    consistent = max(lows) <= min(highs)
    # Hosts behind one address may differ, and then the ranges share nothing: the error covers them all.
    lowest, highest = (
        (max(lows), min(highs)) if consistent else (min(lows), max(highs))
    )
    return {
        "offset_s": round((lowest + highest) / 2, 3),
        "error_s": round((highest - lowest) / 2, 3),
        "answers": len(lows),
        "consistent": consistent,
    }
