# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waits for a turn in a sweep, in the process that Ansible has for the target anyway: a module would need another."""

from __future__ import annotations

from ansible.plugins.action import ActionBase
from ansible_collections.stackproof.provision.plugins.plugin_utils._turns import give_back, take, until

ARGUMENTS = {
    "directory": {"type": "path", "required": True},
    "target": {"type": "str", "required": True},
    "at_once": {"type": "int", "default": 4},
    "state": {"type": "str", "choices": ["taken", "returned"], "default": "taken"},
}


class ActionModule(ActionBase):
    _requires_connection = False
    TRANSFERS_FILES = False

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        _valid, args = self.validate_argument_spec(argument_spec=ARGUMENTS)
        if self._task.check_mode:
            return {"changed": False, "waited_s": 0.0}
        directory, target, waited_s = args["directory"], args["target"], 0.0
        if args["state"] == "returned":
            give_back(directory, target)
        else:
            _taken, waited_s = until(lambda: take(directory, target, max(1, args["at_once"])) or None)
        return {"changed": False, "waited_s": waited_s}
