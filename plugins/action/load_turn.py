# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waits for a turn in a load: not more at once than the level allows, no level before the one below it has ended."""

from __future__ import annotations

import contextlib
import os
import time

from ansible.plugins.action import ActionBase
from ansible_collections.stackproof.provision.plugins.module_utils._judge import thresholds
from ansible_collections.stackproof.provision.plugins.module_utils._load import files, load
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from ansible_collections.stackproof.provision.plugins.plugin_utils import _turns

# Below the directory of the load: the targets that have ended
ENDED = "ended"
ARGUMENTS = {
    "directory": {"type": "path", "required": True},
    "target": {"type": "str", "required": True},
    "at_once": {"type": "int", "required": True},
    "before": {"type": "int", "default": 0},
    "after_s": {"type": "float", "default": 0},
    **thresholds.OPTIONS,
    "state": {"type": "str", "choices": ["taken", "returned"], "default": "taken"},
}


def folder_of(directory, name):
    path = os.path.join(directory, name)
    os.makedirs(path, mode=0o700, exist_ok=True)
    return path


def level_of(directory, before, limits):
    """The state of a level: when it began, or the limit that broke below it. None while runs below it go on.

    To be called with the lock of the turns: the first target that finds the level below it ended begins the level.
    """
    path = os.path.join(folder_of(directory, files.LEVELS), str(before))
    try:
        return files.level_state(path)
    except FileNotFoundError:
        if len(os.listdir(folder_of(directory, ENDED))) < before:
            return None
        # All targets are processes of this machine, so they share the clock that nobody sets.
        began, why = time.monotonic(), stop_before(directory, before, limits)
        files.note_level(path, began, why)
        return began, why


def stop_before(directory, before, limits):
    """Why a level is not begun; an empty text if it may begin."""
    if not before or not limits:
        return ""
    try:
        return "; ".join(load.broken(files.so_far(directory), limits))
    except StageError as exc:
        return str(exc)


def take(directory, args):
    """Whether the target may go on: True or False, or None if it has to wait."""
    with _turns.alone(directory) as folder:
        level = level_of(directory, args["before"], args["thresholds"])
        if level is None:
            return None
        began, why = level
        if why:
            _turns.mark(folder_of(directory, ENDED), args["target"])
            return False
        taken = os.listdir(folder)
        if args["target"] in taken:
            return True
        if time.monotonic() < began + args["after_s"] or len(taken) >= args["at_once"]:
            return None
        _turns.mark(folder, args["target"])
        return True


def give_back(directory, target):
    with _turns.alone(directory) as folder:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, target))
        _turns.mark(folder_of(directory, ENDED), target)


class ActionModule(ActionBase):
    _requires_connection = False
    TRANSFERS_FILES = False

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        _valid, args = self.validate_argument_spec(argument_spec=ARGUMENTS)
        if self._task.check_mode:
            return {"changed": False, "waited_s": 0.0, "go": True}
        directory, go, waited_s = args["directory"], True, 0.0
        if args["state"] == "returned":
            give_back(directory, args["target"])
        else:
            go, waited_s = _turns.until(lambda: take(directory, args))
        return {"changed": False, "waited_s": waited_s, "go": go}
