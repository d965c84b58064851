# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many steps of a flow each access, and each level of logs, would have shown."""

from __future__ import annotations

from dataclasses import dataclass

from ..._model.flow import Coverage, FollowedFlow
from ..statuses import COUNTED
from ..units import share

# By the number of the tier
TIERS = ("plain user", "administrator", "ssh and logs", "instrumented")


@dataclass(frozen=True)
class Row:
    """An access. counts: (status, number of steps, share in percent)."""

    tier: int
    access: str
    level: str | None
    counts: list[tuple[str, int, float]]
    total: int


@dataclass(frozen=True)
class Table:
    title: str
    columns: tuple[str, ...]
    rows: list[Row]


def table(flow: FollowedFlow) -> Table:
    return Table(
        title=flow.title,
        columns=COUNTED,
        rows=list(map(row, flow.coverage)),
    )


def row(coverage: Coverage) -> Row:
    numbers = [(name, getattr(coverage, name)) for name in COUNTED]
    counts = [
        (name, number, share(number, coverage.total))
        for name, number in numbers
    ]
    return Row(
        coverage.tier,
        TIERS[coverage.tier],
        coverage.level,
        counts,
        coverage.total,
    )
