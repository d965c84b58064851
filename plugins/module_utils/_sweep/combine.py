# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The combination of several sweeps, such as the slices of one, into one. Pure."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterable, Sequence
from itertools import chain

from .._model.sweep import (
    ExcludedHost,
    PreflightCheck,
    PreflightStatus,
    Sweep,
    SweepPart,
    Target,
)
from .._record.errors import StageError
from . import verdict
from .sweep import Limits, new_sweep, outliers, spreads

# Where two sweeps have made the same check, the worst result counts.
WORST_FIRST = (
    PreflightStatus.FAILED,
    PreflightStatus.UNREADABLE,
    PreflightStatus.OK,
)

# A sweep with its directory
Placed = tuple[str, Sweep]


def combine(
    placed: Sequence[Placed], sweep_id: str, directory: str, limits: Limits
) -> Sweep:
    """Return one sweep of several, whose targets have their results. directory: that of the new one."""
    check_apart(placed)
    sweeps = [sweep for _where, sweep in placed]
    targets = targets_of(placed, directory)
    usual = spreads(targets)
    slow = outliers(targets, usual, limits)
    started = min(sweep.started for sweep in sweeps)
    finished = max(map(end_of, sweeps))
    preflight = worst_of(
        chain.from_iterable(sweep.preflight for sweep in sweeps)
    )
    clouds = dict.fromkeys(sweep.cloud for sweep in sweeps)
    return dataclasses.replace(
        new_sweep(sweep_id, ", ".join(clouds), []),
        started=started,
        finished=finished,
        duration_s=round(finished - started, 6),
        parallel=sum(sweep.parallel or 0 for sweep in sweeps),
        verdict=verdict.judge(
            targets, preflight, slow, missing=missing(sweeps)
        ),
        preflight=tuple(preflight),
        excluded=once(chain.from_iterable(sweep.excluded for sweep in sweeps)),
        targets=tuple(targets),
        stages=tuple(usual),
        outliers=tuple(slow),
        combined=tuple(chain.from_iterable(map(parts_of, sweeps))),
        level=common_level(sweeps),
    )


def common_level(sweeps: Sequence[Sweep]) -> str | None:
    """Return the level of all sweeps; None where they differ."""
    levels = {sweep.level for sweep in sweeps}
    if len(levels) != 1:
        return None
    return levels.pop()


def end_of(sweep: Sweep) -> float:
    return sweep.started if sweep.finished is None else sweep.finished


def targets_of(placed: Sequence[Placed], directory: str) -> list[Target]:
    """Return all targets. Each slice has hosts from everywhere; in the order of their names they are ranges again."""
    targets = []
    for where, sweep in placed:
        targets += [
            moved(target, where, directory) for target in sweep.targets
        ]
    return sorted(targets, key=lambda target: in_order(target.name))


def in_order(name: str) -> list[tuple[str, int] | tuple[str]]:
    """Return a key by which compute9 comes before compute10."""
    parts = re.split(r"([0-9]+)", name)
    return [*zip(parts[::2], map(int, parts[1::2])), (parts[-1],)]


def check_apart(placed: Sequence[Placed]) -> None:
    """Refuse sweeps of which two have provisioned on the same target."""
    seen: dict[str, str] = {}
    for where, sweep in placed:
        for target in sweep.targets:
            earlier = seen.setdefault(target.name, where)
            if earlier != where:
                message = (
                    f"{target.name} is a target of both {earlier} and {where}"
                )
                hint = "Name only the directories of the sweeps that belong together."
                raise StageError(
                    "conflict", message, resource=target.name, hint=hint
                )


def moved(target: Target, where: str, directory: str) -> Target:
    """Return a target whose run is found from another directory."""
    if target.directory is None:
        return target
    return dataclasses.replace(
        target,
        directory=os.path.relpath(
            os.path.join(where, target.directory), directory
        ),
    )


def worst_of(checks: Iterable[PreflightCheck]) -> list[PreflightCheck]:
    """Return each check once, with the worst of its results."""
    by_name: dict[str, PreflightCheck] = {}
    for check in checks:
        kept = by_name.get(check.name, check)
        by_name[check.name] = min(
            kept, check, key=lambda each: WORST_FIRST.index(each.status)
        )
    return list(by_name.values())


def once(hosts: Iterable[ExcludedHost]) -> tuple[ExcludedHost, ...]:
    return tuple({host.host: host for host in hosts}.values())


def parts_of(sweep: Sweep) -> Sequence[SweepPart]:
    """Return the sweeps that a sweep combines, or itself."""
    return sweep.combined or [SweepPart(sweep.sweep_id, sweep.slice)]


def missing(sweeps: Sequence[Sweep]) -> list[str]:
    """Return the slices that are not among the sweeps, as texts such as 4/10."""
    parts = chain.from_iterable(map(parts_of, sweeps))
    there = {
        (part.slice.number, part.slice.of) for part in parts if part.slice
    }
    absent = []
    for count in sorted({count for _number, count in there}):
        absent += [
            f"{number}/{count}"
            for number in range(1, count + 1)
            if (number, count) not in there
        ]
    return absent
