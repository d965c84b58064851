# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The status of a step by its evidence, and how many steps each access would have shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from .._model.codec import to_json
from .._model.flow import Coverage, Evidence, Step
from .._model.words import Grade, Level, Proof, StepStatus
from .expressions import search
from .flow_types import TIERS

# The access with which logs are read
LOG_TIER = 2
# Each tier, and where it reads logs each level at which they may be written
ACCESSES: tuple[tuple[int, Level | None], ...] = (
    *((tier, None) for tier in TIERS if tier < LOG_TIER),
    *product([tier for tier in TIERS if tier >= LOG_TIER], Level),
)
BY_PROOF = (
    (Proof.OBSERVE, StepStatus.SEEN),
    (Proof.ABSENT, StepStatus.ABSENT),
    (Proof.CACHED, StepStatus.CACHED),
)


def status_of(
    evidence: Iterable[Evidence],
    tier: int = TIERS[-1],
    level: Level = Level.MESSAGING,
    window: bool = True,
) -> StepStatus:
    """Return the status by the evidence that an access of this tier, and logs of this level, would have."""
    proved = {
        item.proves
        for item in evidence
        if item.tier <= tier
        and (item.level or Level.INFO).rank <= level.rank
        and (window or item.grade is Grade.KEYED)
    }
    return next(
        (status for proof, status in BY_PROOF if proof in proved),
        StepStatus.UNSEEN,
    )


def coverage(
    steps: Sequence[Step], counted: str | None = None
) -> tuple[Coverage, ...]:
    """Return how many steps have each status with the access of each tier, and with logs at each level.

    counted: an expression that says which steps count; without it all do.
    """
    counting = (
        steps
        if counted is None
        else [
            step
            for step in steps
            if search(counted, to_json(step)) is not None
        ]
    )
    return tuple(
        coverage_with(counting, tier, level) for tier, level in ACCESSES
    )


def coverage_with(
    steps: Sequence[Step], tier: int, level: Level | None
) -> Coverage:
    counts: Mapping[str, Any] = Counter(
        counted_as(step, tier, level or Level.MESSAGING) for step in steps
    )
    return Coverage(tier, level, len(steps), **counts)


def counted_as(step: Step, tier: int, level: Level) -> str:
    """Return the status that a step has with such an access. One that is seen by time and place alone counts apart."""
    if step.status is StepStatus.SKIPPED:
        return StepStatus.SKIPPED.value
    status = status_of(step.evidence, tier, level)
    if (
        status is StepStatus.SEEN
        and status_of(step.evidence, tier, level, window=False) is not status
    ):
        return "window"
    return status.value
