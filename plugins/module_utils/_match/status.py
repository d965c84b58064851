# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The status of a step by its evidence, and how many steps each access would have shown."""

from __future__ import annotations

from .._record.levels import LEVELS
from .flow import search
from .flow_types import TIERS

STATUSES = ("seen", "cached", "absent", "skipped", "unseen", "missing")


def status_of(evidence, tier=3, level="messaging", window=True):
    """(status, reason) by the evidence that an access of this tier, and logs of this level, would have."""
    proved = [
        item["proves"]
        for item in evidence
        if item["tier"] <= tier
        and LEVELS.index(item["level"] or "info") <= LEVELS.index(level)
        and (window or item["grade"] == "keyed")
    ]
    for part, status in (("observe", "seen"), ("absent", "absent"), ("cached", "cached")):
        if part in proved:
            return status, None
    return "unseen", None


def coverage(steps, counted="@"):
    """How many steps are seen, cached and so on with the access of each tier, and of tier 2 at each level of logs.

    counted is an expression that says which steps count.
    """
    steps = [step for step in steps if search(counted, step) is not None]
    return [
        {"tier": tier, "level": level, "of": len(steps), **counts_of(steps, tier, level or "messaging")}
        for tier in TIERS
        for level in (LEVELS if tier >= 2 else (None,))
    ]


def counts_of(steps, tier, level):
    """How many steps have each status with such an access."""
    counts = dict.fromkeys([*STATUSES, "window"], 0)
    for step in steps:
        if step["status"] == "skipped":
            counts["skipped"] += 1
            continue
        status = status_of(step["evidence"], tier, level)[0]
        sure = status_of(step["evidence"], tier, level, window=False)[0]
        # A step that only an event without an id shows is counted apart.
        counts["window" if status == "seen" and sure != status else status] += 1
    return counts
