# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Wait for a turn in a sweep, in the process that Ansible has for the target anyway: a module would need another."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.stackproof.provision.plugins.plugin_utils._turns import (
    give_back,
    take,
    until,
)

ARGUMENTS = {
    "directory": {"type": "path", "required": True},
    "target": {"type": "str", "required": True},
    "parallel": {"type": "int", "default": 4},
    "state": {
        "type": "str",
        "choices": ["taken", "returned"],
        "default": "taken",
    },
}


class ActionModule(ActionBase):
    _requires_connection = False
    TRANSFERS_FILES = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        super().run(tmp, task_vars)
        _valid, args = self.validate_argument_spec(argument_spec=ARGUMENTS)
        waited_s = 0.0 if self._task.check_mode else self.perform(**args)
        return {"changed": False, "waited_s": waited_s}

    def perform(
        self, directory: str, target: str, parallel: int, state: str
    ) -> float:
        """Take a turn or return it. Returns the seconds that the target has waited for it."""
        if state == "returned":
            give_back(directory, target)
            return 0.0
        turns = max(1, parallel)
        _taken, waited_s = until(
            lambda: take(directory, target, turns) or None
        )
        return waited_s
