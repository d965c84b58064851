# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Describe the paths between two guests of a run on which packets are lost, so that hosts can trace these packets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..._model.details import FIRST, SECOND, PathCheck
from ..._model.instance import DescribedInstance, GuestPath
from ..._model.words import CheckStatus
from .instance import look as look_at_instance

# A packet that is too large for a link is none that a switch drops.
TRACED = ("ping", "ping6", "open")
# What is lost if the first guest does not answer the second one: the question, or the answer
SILENT = tuple(
    PathCheck("ping", source, target, CheckStatus.FAILED, "no answer")
    for source, target in ((SECOND, FIRST), (FIRST, SECOND))
)


def look(
    cloud: Any,
    first: DescribedInstance,
    second: str,
    checks: Iterable[PathCheck],
) -> tuple[GuestPath, ...]:
    """Return the paths of the failed checks between an instance and a second server, by its id."""
    lost = [
        check
        for check in checks
        if check.status is CheckStatus.FAILED and check.check in TRACED
    ]
    if not lost:
        return ()
    guests = {FIRST: first, SECOND: look_at_instance(cloud, second)}
    if not all(described.ports for described in guests.values()):
        return ()
    return tuple(
        path_of(check, guests[check.source], guests[check.target or SECOND])
        for check in lost
    )


def path_of(
    check: PathCheck, source: DescribedInstance, target: DescribedInstance
) -> GuestPath:
    here, there = source.ports[0], target.ports[0]
    port = int(check.value) if check.check == "open" and check.value else None
    return GuestPath(
        check.check,
        here,
        source.network_of(here),
        there,
        target.network_of(there),
        port,
    )
