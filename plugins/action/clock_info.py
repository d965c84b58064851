# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measure a host's clock over the connection itself, as the start of a module takes longer than clocks differ."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from ansible.plugins.action import ActionBase

LOOKS = 3


@dataclass(frozen=True)
class Difference:
    """The seconds by which a host's clock is ahead of ours, how exact that is, and when it was asked."""

    offset: float
    error: float
    asked: float


def difference(before: float, there: float, after: float) -> Difference:
    """Return the difference of a clock that was read between two times of ours."""
    middle, half = (before + after) / 2, (after - before) / 2
    return Difference(there - middle, half, before)


class ActionModule(ActionBase):
    _requires_connection = True
    TRANSFERS_FILES = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        super().run(tmp, task_vars)
        measured: list[Difference] = []
        for _look in range(LOOKS):
            before = time.time()
            answer = self._low_level_execute_command(
                "date -u +%s.%N", sudoable=False
            )
            after = time.time()
            try:
                there = float(answer["stdout"].strip())
            except ValueError:
                output = (answer["stderr"] or answer["stdout"]).strip()
                return {
                    "failed": True,
                    "msg": f"date did not print a time with fractions of a second: {output}",
                }
            measured.append(difference(before, there, after))
        best = min(measured, key=lambda one: one.error)
        return {
            "changed": False,
            "offset_s": round(best.offset, 6),
            "error_s": round(best.error, 6),
            "began": round(measured[0].asked, 3),
        }
