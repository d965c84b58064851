# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The hosts: their clocks, their checks, and what could not be read on them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ..._model.host import Check, Host, Unread
from ..._model.words import CheckStatus
from ..units import duration, signed, words

NOT_OK = (CheckStatus.FAILED, CheckStatus.UNREADABLE)


@dataclass(frozen=True)
class CheckRow:
    name: str
    status: str
    word: str
    reason: str | None
    took: str | None


@dataclass(frozen=True)
class HostCard:
    """A host. counts: (status, its word, number of checks). wrong: the checks that are not ok."""

    name: str
    parts: str
    status: str
    reason: str | None
    clock: str
    counts: list[tuple[str, str, int]]
    wrong: list[CheckRow]
    checks: list[CheckRow]
    unread: tuple[Unread, ...]


def card(host: Host) -> HostCard:
    numbers = Counter(check.status for check in host.checks)
    counts = [
        (status.value, words(status), numbers[status])
        for status in CheckStatus
        if numbers[status]
    ]
    checks = list(map(check_row, host.checks))
    return HostCard(
        name=host.host,
        parts=", ".join(host.parts) or "none",
        status=host.status,
        reason=host.reason,
        clock=clock(host.clock_offset_s, host.clock_error_s),
        counts=counts,
        wrong=[check for check in checks if check.status in NOT_OK],
        checks=checks,
        unread=host.unread,
    )


def check_row(check: Check) -> CheckRow:
    return CheckRow(
        check.check,
        check.status,
        words(check.status),
        check.reason,
        duration(check.seconds or None),
    )


def clock(offset: float | None, error: float | None) -> str:
    """Return the difference of a host's clock to that of the control node."""
    if offset is None:
        return "not measured"
    difference = f"{signed(offset * 1000, '.1f')} ms"
    return (
        difference if error is None else f"{difference} ±{error * 1000:.1f} ms"
    )
