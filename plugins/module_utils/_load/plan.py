# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of a load: how many instances, how many of them at once, and how fast they begin. Pure."""

from __future__ import annotations

from .._record.errors import StageError
from .._record.run import RUN_ID, is_finite

MOST = 1000
LONGEST_ID = 34


def levels_of(instances, at_once, ramp):
    """How many instances may be there at the same time, level after level; without a ramp there is one level."""
    for name, number in [("instances", instances), ("at_once", at_once), *(("ramp", level) for level in ramp)]:
        if not 1 <= number <= MOST:
            raise StageError("invalid", f"{name} cannot be {number}: a load takes 1 to {MOST}", resource=name)
    if sorted(set(ramp)) != ramp:
        raise StageError("invalid", f"the ramp {ramp} does not rise from level to level", resource="ramp")
    if ramp and ramp[-1] > instances:
        message = f"the ramp asks for {ramp[-1]} at once, and each level has {instances} instances"
        raise StageError("invalid", message, resource="ramp", hint=f"Give stackproof_instances, {ramp[-1]} at least.")
    if len(ramp) * instances > MOST:
        raise StageError("invalid", f"{len(ramp)} levels of {instances} instances are more than {MOST} in all")
    return ramp or [min(at_once, instances)]


def check_rate(rate):
    if rate is not None and not (is_finite(rate) and rate > 0):
        raise StageError("invalid", f"rate cannot be {rate}: it is a number of instances per minute", resource="rate")


def check_id(load_id):
    if not RUN_ID.fullmatch(load_id) or len(load_id) > LONGEST_ID:
        message = f"{load_id!r} is not the id of a load: 3 to {LONGEST_ID} small letters, digits and hyphens"
        raise StageError("invalid", message)


def targets_of(load_id, instances, levels, rate):
    """Each instance with the id of its run, and with when it may begin.

    before: so many others must have ended. after_s: so long after the first one of its level.
    """
    wide = len(str(instances * len(levels)))
    targets = []
    for place, level in enumerate(levels):
        for number in range(instances):
            before = place * instances
            key = f"{before + number + 1:0{wide}}"
            after_s = round(number * 60 / rate, 3) if rate else 0.0
            run = {"key": key, "run_id": f"{load_id}-{key}", "at_once": level, "before": before, "after_s": after_s}
            targets.append(run)
    return targets
