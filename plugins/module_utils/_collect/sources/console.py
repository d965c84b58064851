# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the guest wrote on its console."""

from __future__ import annotations

from ..._record.clock import seconds_of
from ..._record.ids import stage_of
from ..._record.shapes import event
from .source import Source


def events(run, _reads):
    """What the guest wrote, in the guest's own time: its uptime, moved to the clock of who read it.

    A line that was there at one look and not at the one before was written in between: each allows a range for the
    moment at which the guest's clock was zero, and together they allow what all ranges share. Where all was there at
    once, it is known only that the guest began after the boot was asked for.
    """
    boot, metadata = stage_of(run.record, "boot"), stage_of(run.record, "metadata")
    guest = metadata["details"].get("guest") or {}
    steps = {step["step"]: step for step in guest.get("steps") or []}
    looks = [state for wait in metadata["waits"][:1] for state in wait["states"]]
    if not (steps and looks and boot.get("started")):
        return []
    ranges = []
    for look in looks:
        step = steps.get(look["state"].split()[0]) if look["resolution_s"] else None
        if step:
            high = seconds_of(look["at"]) - step["uptime"]
            ranges.append((high - look["resolution_s"], high))
    newest = max(step["uptime"] for step in steps.values())
    ranges = ranges or [(seconds_of(boot["started"]), seconds_of(looks[-1]["at"]) - newest)]
    # The newest line at a look is the one named, so that ranges may miss each other by the time between two lines.
    low, high = max(one[0] for one in ranges), min(one[1] for one in ranges)
    low, high = (low, high) if low <= high else (min(one[0] for one in ranges), max(one[1] for one in ranges))
    zero, error = (low + high) / 2, (high - low) / 2
    return [
        event(
            zero + step["uptime"], "guest", "console", f"the guest wrote {name} after {step['uptime']} s",
            source="console", resolution_s=0.01, error_s=error, keys={"server": run.keys.get("server", [])},
            step=name, status=step.get("http_status"),
        )
        for name, step in steps.items()
    ]  # fmt: skip


def to_see(_rule, _levels, _services):
    return None  # the run has looked at it to the end


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
