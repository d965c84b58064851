# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures a host's clock over the connection itself, as the start of a module takes longer than clocks differ."""

from __future__ import annotations

import time

from ansible.plugins.action import ActionBase

LOOKS = 3


def difference(before, there, after):
    """(offset, error) of a clock that was read between two times of ours."""
    return there - (before + after) / 2, (after - before) / 2


class ActionModule(ActionBase):
    _requires_connection = True
    TRANSFERS_FILES = False

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        measured = []
        for _look in range(LOOKS):
            before = time.time()
            answer = self._low_level_execute_command("date -u +%s.%N", sudoable=False)
            after = time.time()
            try:
                measured.append(difference(before, float(answer["stdout"].strip()), after))
            except ValueError:
                output = (answer["stderr"] or answer["stdout"]).strip()
                return {"failed": True, "msg": f"date did not print a time with fractions of a second: {output}"}
        offset, error = min(measured, key=lambda pair: pair[1])
        return {"changed": False, "offset_s": round(offset, 6), "error_s": round(error, 6)}
