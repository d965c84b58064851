# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lines that the guest wrote on its console."""

from __future__ import annotations

from ..._record.clock import seconds_of
from ..._record.ids import stage_of
from ..._record.shapes import event
from .source import Source


def events(run, _reads):
    """The lines by the control node's clock; the guest itself gives its uptime.

    A new line was written after the look before. So each new line gives a range for the moment at which the uptime was
    zero, and the moment lies in what all ranges share. If all lines were there at the first look, only one thing is
    sure: the guest began after the boot was requested.
    """
    boot, metadata = stage_of(run.record, "boot"), stage_of(run.record, "metadata")
    guest = metadata["details"].get("guest") or {}
    steps = {step["step"]: step for step in guest.get("steps") or []}
    looks = [state for wait in metadata["waits"][:1] for state in wait["states"]]
    if not (steps and looks and boot.get("started")):
        return []
    newest = max(step["uptime"] for step in steps.values())
    ranges = zero_ranges(looks, steps) or [(seconds_of(boot["started"]), seconds_of(looks[-1]["at"]) - newest)]
    low, high = common(ranges)
    zero, error = (low + high) / 2, (high - low) / 2
    about = {
        "source": "console",
        "resolution_s": 0.01,
        "error_s": error,
        "keys": {"server": run.keys.get("server", [])},
    }
    return [
        event(
            zero + step["uptime"],
            "guest",
            "console",
            f"the guest wrote {name} after {step['uptime']} s",
            step=name,
            status=step.get("http_status"),
            **about,
        )
        for name, step in steps.items()
    ]


def zero_ranges(looks, steps):
    """(earliest, latest) moment of the guest's start, by each look that showed a new line."""
    ranges = []
    for look in looks:
        step = steps.get(look["state"].split()[0]) if look["resolution_s"] else None
        if step:
            latest = seconds_of(look["at"]) - step["uptime"]
            ranges.append((latest - look["resolution_s"], latest))
    return ranges


def common(ranges):
    """The range that all ranges share, or else the one that spans them all."""
    lows, highs = zip(*ranges)
    if max(lows) <= min(highs):
        return max(lows), min(highs)
    # Of several new lines a look names the last: then ranges may miss each other by the time between two lines.
    return min(lows), max(highs)


def to_see(_rule, _levels, _services):
    return None  # the run has read the console to its end


SOURCE = Source(
    name="console",
    tier=0,
    words="what the guest wrote on its console ({})",
    fields=(
        "step",
        "status",
    ),
    events=events,
    to_see=to_see,
)
