# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Group what is stuck by what it has in common: kind, state, host, and what the cloud says about it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .._model.stuck import StuckGroup, StuckThing

# What differs between the words about two things that failed in the same way: ids, addresses, numbers and names
OWN_PARTS = re.compile(
    r"[0-9a-f]{8}-[0-9a-f-]{27}|\b[0-9a-f]{32}\b|\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b|\d+(?:\.\d+)*|'[^']*'|\"[^\"]*\""
)
# The number of things that are shown of a group
SHOWN = 5

Likeness = tuple[str, str, "str | None", str]


def grouped(things: Iterable[StuckThing]) -> tuple[StuckGroup, ...]:
    """Return the groups of things, the largest first."""
    by_likeness: dict[Likeness, list[StuckThing]] = {}
    for thing in things:
        by_likeness.setdefault(likeness(thing), []).append(thing)
    groups = list(map(group_of, by_likeness.values()))
    return tuple(sorted(groups, key=lambda group: (-group.count, group.since)))


def likeness(thing: StuckThing) -> Likeness:
    """Return what two things that are stuck for one reason have in common.

    Where the cloud gives a reason, it does not matter on which host.
    """
    reason = OWN_PARTS.sub("*", thing.reason or "")
    return thing.kind, thing.state, None if reason else thing.host, reason


def group_of(alike: list[StuckThing]) -> StuckGroup:
    alike = sorted(alike, key=lambda thing: thing.since)
    first, hosts = alike[0], {thing.host for thing in alike}
    return StuckGroup(
        kind=first.kind,
        state=first.state,
        host=first.host if len(hosts) == 1 else None,
        reason=first.reason,
        count=len(alike),
        since=first.since,
        things=tuple(alike[:SHOWN]),
    )
