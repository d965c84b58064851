# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lines that the guest wrote on its console."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..._model.event import Event
from ..._model.stage import Stage, State, Wait
from ..._model.words import StageName
from ..._record.run import is_finite
from .source import Context, JsonObject, Rule, Source

# In seconds. A guest's clock and ours do not go equally fast, above all where the host emulates its processor.
LEEWAY = 60


def events(run: Context, _reads: JsonObject) -> list[Event]:
    """Return the lines by the control node's clock; the guest itself gives its uptime.

    A new line was written after the look before. So each new line gives a range for the moment at which the uptime was
    zero, and the moment lies in what all ranges share. If all lines were there at the first look, only one thing is
    sure: the guest began after the boot was requested.
    """
    metadata = run.record.stage_or_skipped(StageName.METADATA)
    wait = first_wait(metadata)
    requested = run.record.stage_or_skipped(StageName.BOOT).started
    if wait is None or requested is None:
        return []
    last_look = end_of(wait)
    steps = usable(steps_in(metadata), last_look - requested + LEEWAY)
    if not steps:
        return []
    newest = max(step["uptime"] for step in steps.values())
    ranges = zero_ranges(wait.states, steps) or [
        (requested, last_look - newest)
    ]
    low, high = sorted(common(ranges))
    keys = {"server": run.keys.get("server", [])}
    return [
        from_step(step, (low + high) / 2, (high - low) / 2, keys)
        for step in steps.values()
    ]


def first_wait(metadata: Stage) -> Wait | None:
    """Return the wait for the guest's lines; None if no look has shown any."""
    if not metadata.waits or not metadata.waits[0].states:
        return None
    return metadata.waits[0]


def steps_in(metadata: Stage) -> list[Any]:
    guest = metadata.details.get("guest") or {}
    steps: list[Any] = guest.get("steps") or []
    return steps


def from_step(
    step: JsonObject, zero: float, error: float, keys: dict[str, list[str]]
) -> Event:
    """Return a line of the guest. zero: when its uptime was zero; error: how far that may be off."""
    return Event(
        zero + step["uptime"],
        "guest",
        "console",
        f"the guest wrote {step['step']} after {step['uptime']} s",
        source="console",
        resolution_s=0.01,
        error_s=error,
        keys=keys,
        fields={"step": step["step"], "status": status_in(step)},
    )


def end_of(wait: Wait) -> float:
    """Return the moment of the last look. It has a state of its own only if it showed something new."""
    last = wait.states[-1]
    return last.at + (wait.seconds - last.after_s)


def usable(steps: list[Any], longest: float) -> dict[str, dict[str, Any]]:
    """Return each step by its name, without those whose uptime is missing, or longer than the guest can have run.

    The console is the guest's, and earlier releases recorded whatever it wrote there.
    """
    found: dict[str, dict[str, Any]] = {}
    for step in steps:
        if not isinstance(step, dict):
            continue
        name: Any = step.get("step")
        uptime: Any = step.get("uptime")
        if (
            isinstance(name, str)
            and is_finite(uptime)
            and 0 <= uptime <= longest
        ):
            found[name] = step
    return found


def status_in(step: dict[str, Any]) -> int | None:
    """Return the status of the answer that the guest got, if the step has one."""
    status = step.get("http_status")
    if not isinstance(status, int):
        return None
    return status


def zero_ranges(
    looks: Iterable[State], steps: dict[str, JsonObject]
) -> list[tuple[float, float]]:
    """Return (earliest, latest) moment of the guest's start, by each look that showed a new line."""
    ranges = []
    for look in looks:
        step = steps.get(look.state.partition(" ")[0])
        if step and look.resolution_s:
            latest = look.at - step["uptime"]
            ranges.append((latest - look.resolution_s, latest))
    return ranges


def common(ranges: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the range that all ranges share, or else the one that spans them all."""
    lows, highs = zip(*ranges)
    if max(lows) <= min(highs):
        return max(lows), min(highs)
    # Of several new lines a look names the last: then ranges may miss each other by the time between two lines.
    return min(lows), max(highs)


def to_see(
    _rule: Rule, _levels: Mapping[str, Any], _services: Iterable[str]
) -> str | None:
    return None  # the run has read the console to its end


SOURCE = Source(
    name="console",
    tier=0,
    words="what the guest wrote on its console ({})",
    fields=("step", "status"),
    events=events,
    to_see=to_see,
)
