# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a step's evidence says of it, and how many steps each access would have shown."""

from __future__ import annotations

from .._record.levels import LEVELS
from .flow import TIERS, search

STATUSES = ("seen", "cached", "absent", "skipped", "unseen", "missing")


def status_of(evidence, tier=3, level="messaging", window=True):
    """(status, reason) by the evidence that an access of this tier, and logs of this level, would have."""
    allowed = [
        one["proves"]
        for one in evidence
        if one["tier"] <= tier
        and LEVELS.index(one["level"] or "info") <= LEVELS.index(level)
        and (window or one["grade"] == "keyed")
    ]
    for part, status in (("observe", "seen"), ("absent", "absent"), ("cached", "cached")):
        if part in allowed:
            return status, None
    return "unseen", None


def coverage(steps, counted="@"):
    """How many steps are seen, cached and so on with the access of each tier, and of tier 2 at each level of logs.

    counted is an expression that says which steps count.
    """
    steps = [step for step in steps if search(counted, step) is not None]
    rows = []
    for tier in TIERS:
        for level in LEVELS if tier >= 2 else (None,):
            counts = dict.fromkeys([*STATUSES, "window"], 0)
            for step in steps:
                if step["status"] == "skipped":
                    counts["skipped"] += 1
                    continue
                status = status_of(step["evidence"], tier, level or "messaging")[0]
                sure = status_of(step["evidence"], tier, level or "messaging", window=False)[0]
                # What only an event without an id shows is counted apart.
                counts["window" if status == "seen" and sure != status else status] += 1
            rows.append({"tier": tier, "level": level, "of": len(steps), **counts})
    return rows
