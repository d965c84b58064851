# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waits for a turn in a sweep, in the process that Ansible has for the target anyway: a module would need another."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

LOOK = 0.2
ARGUMENTS = {
    "directory": {"type": "path", "required": True},
    "target": {"type": "str", "required": True},
    "at_once": {"type": "int", "default": 4},
    "state": {"type": "str", "choices": ["taken", "returned"], "default": "taken"},
}


@contextlib.contextmanager
def alone(directory):
    """The folder of the turns, while no other target looks at it."""
    handle = os.open(directory, os.O_RDONLY)
    folder = os.path.join(directory, "turns")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        yield folder
        with contextlib.suppress(OSError):
            os.rmdir(folder)  # works only when the last turn was returned
    finally:
        os.close(handle)


def take(directory, target, at_once):
    """Take a turn if there is a free one. Returns whether the target has a turn now."""
    with alone(directory) as folder:
        taken = os.listdir(folder)
        if target not in taken and len(taken) >= at_once:
            return False
        os.close(os.open(os.path.join(folder, target), os.O_CREAT | os.O_WRONLY, 0o600))
        return True


def give_back(directory, target):
    with alone(directory) as folder, contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, target))


class ActionModule(ActionBase):
    _requires_connection = False
    TRANSFERS_FILES = False

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        _valid, args = self.validate_argument_spec(argument_spec=ARGUMENTS)
        if self._task.check_mode:
            return {"changed": False, "waited_s": 0.0}
        directory, parent = args["directory"], os.getppid()
        begun = time.monotonic()
        if args["state"] == "returned":
            give_back(directory, args["target"])
        else:
            while not take(directory, args["target"], max(1, args["at_once"])):
                time.sleep(LOOK)
                if os.getppid() != parent:
                    raise AnsibleActionFail("the playbook ended while the target waited for its turn")
        return {"changed": False, "waited_s": round(time.monotonic() - begun, 3)}
