# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of a load test: how many instances, how many of them in parallel, and how fast they begin. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._record.errors import StageError
from .._record.run import RUN_ID, is_finite

# Of instances in all: each one is a host of the playbook, and a page has to show them
MOST = 1000
# In characters: the ids of the runs have a number more, and at most 40.
LONGEST_ID = 34


@dataclass(frozen=True)
class Target:
    """An instance with the id of its run, and with when it may begin.

    parallel: the level it belongs to. before: how many others must have ended.
    after_s: how long after the first one of its level it begins.
    """

    key: str
    run_id: str
    parallel: int
    before: int
    after_s: float


def levels_of(instances: int, parallel: int, ramp: Sequence[int]) -> list[int]:
    """Return how many instances may be there in parallel, level after level; without a ramp there is one level."""
    check_number("instances", instances)
    check_number("parallel", parallel)
    for level in ramp:
        check_number("ramp", level)
    if sorted(set(ramp)) != [*ramp]:
        raise StageError(
            "invalid",
            f"the ramp {ramp} does not rise from level to level",
            resource="ramp",
        )
    if ramp and ramp[-1] > instances:
        message = f"the ramp asks for {ramp[-1]} in parallel, and each level has {instances} instances"
        raise StageError(
            "invalid",
            message,
            resource="ramp",
            hint=f"Give stackproof_instances, {ramp[-1]} at least.",
        )
    if len(ramp) * instances > MOST:
        raise StageError(
            "invalid",
            f"{len(ramp)} levels of {instances} instances are more than {MOST} in all",
        )
    return [*ramp] or [min(parallel, instances)]


def check_number(name: str, number: int) -> None:
    if not 1 <= number <= MOST:
        raise StageError(
            "invalid",
            f"{name} cannot be {number}: a load test takes 1 to {MOST}",
            resource=name,
        )


def check_rate(rate: float | None) -> None:
    if rate is not None and not (is_finite(rate) and rate > 0):
        raise StageError(
            "invalid",
            f"rate cannot be {rate}: it is a number of instances per minute",
            resource="rate",
        )


def check_id(load_id: str) -> None:
    if not RUN_ID.fullmatch(load_id) or len(load_id) > LONGEST_ID:
        message = f"{load_id!r} is not the id of a load test: 3 to {LONGEST_ID} lower-case letters, digits and hyphens"
        raise StageError("invalid", message)


def targets_of(
    load_id: str, instances: int, levels: Sequence[int], rate: float | None
) -> list[Target]:
    """Return each instance of each level. rate: how many begin in a minute; None for as fast as possible."""
    wide = len(str(instances * len(levels)))
    targets = []
    for place, level in enumerate(levels):
        before = place * instances
        for number in range(instances):
            key = f"{before + number + 1:0{wide}}"
            after_s = round(number * 60 / rate, 3) if rate else 0.0
            targets.append(
                Target(key, f"{load_id}-{key}", level, before, after_s)
            )
    return targets
