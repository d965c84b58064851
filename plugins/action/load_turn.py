# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Wait for a turn in a load test: within the limit of the level, and after the level below it has ended."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.stackproof.provision.plugins.module_utils._judge import (
    thresholds,
)
from ansible_collections.stackproof.provision.plugins.module_utils._load import (
    files,
    load,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    StageError,
)
from ansible_collections.stackproof.provision.plugins.plugin_utils import (
    _turns,
)

# Below the directory of the load test: the targets that have ended
ENDED = "ended"
ARGUMENTS = {
    "directory": {"type": "path", "required": True},
    "target": {"type": "str", "required": True},
    "parallel": {"type": "int", "required": True},
    "before": {"type": "int", "default": 0},
    "after_s": {"type": "float", "default": 0},
    **thresholds.OPTIONS,
    "state": {
        "type": "str",
        "choices": ["taken", "returned"],
        "default": "taken",
    },
}


@dataclass(frozen=True)
class Turn:
    """The arguments of the task."""

    directory: str
    target: str
    parallel: int
    before: int
    after_s: float
    thresholds: list[dict[str, Any]]
    state: str


@dataclass(frozen=True)
class Level:
    """When a level began, by the clock that nobody sets, and the limit that broke below it, or an empty text."""

    began: float
    broken: str


def folder_of(directory: str, name: str) -> str:
    path = os.path.join(directory, name)
    os.makedirs(path, mode=0o700, exist_ok=True)
    return path


def level_of(turn: Turn) -> Level | None:
    """Return the level of a turn, or None while runs below it go on.

    To be called with the lock of the turns: the first target that finds the level below it ended begins the level.
    """
    path = os.path.join(
        folder_of(turn.directory, files.LEVELS), str(turn.before)
    )
    try:
        return Level(*files.level_state(path))
    except FileNotFoundError:
        pass
    ended = os.listdir(folder_of(turn.directory, ENDED))
    if len(ended) < turn.before:
        return None
    # All targets are processes of this machine, so they share the clock that nobody sets.
    level = Level(time.monotonic(), broken_below(turn))
    files.note_level(path, level.began, level.broken)
    return level


def broken_below(turn: Turn) -> str:
    """Return why a level is not begun; an empty text if it may begin."""
    if not turn.before or not turn.thresholds:
        return ""
    try:
        return "; ".join(
            load.broken(files.so_far(turn.directory), turn.thresholds)
        )
    except StageError as exc:
        return str(exc)


def take(turn: Turn) -> bool | None:
    """Return whether the target may go on: True or False, or None if it has to wait."""
    with _turns.alone(turn.directory) as folder:
        level = level_of(turn)
        if level is None:
            return None
        if level.broken:
            _turns.mark(folder_of(turn.directory, ENDED), turn.target)
            return False
        taken = os.listdir(folder)
        if turn.target in taken:
            return True
        is_early = time.monotonic() < level.began + turn.after_s
        if is_early or len(taken) >= turn.parallel:
            return None
        _turns.mark(folder, turn.target)
        return True


def give_back(turn: Turn) -> None:
    with _turns.alone(turn.directory) as folder:
        _turns.unmark(folder, turn.target)
        _turns.mark(folder_of(turn.directory, ENDED), turn.target)


class ActionModule(ActionBase):
    _requires_connection = False
    TRANSFERS_FILES = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        super().run(tmp, task_vars)
        _valid, args = self.validate_argument_spec(argument_spec=ARGUMENTS)
        turn = Turn(**args)
        go = True
        waited_s = 0.0
        if turn.state == "returned" and not self._task.check_mode:
            give_back(turn)
        elif not self._task.check_mode:
            go, waited_s = _turns.until(lambda: take(turn))
        return {"changed": False, "waited_s": waited_s, "go": go}
