# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Wait until a playbook ends, and report whether its run had ended before.

The watchdog does this for most of its life. Without the SDK it is a small process, which starts at once.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import time

from .._record.errors import StageError
from .._record.ledger import LONGEST_RECORD, own_text

LOOK = 0.5
# The states of a process that has ended. It stays a zombie until its parent asks for its end, which may never happen:
# in a container the first process often does not. The letters are those of proc(5).
ENDED = ("Z", "X", "x")


def start_time(process: int) -> str | None:
    """Return the start of a process by the kernel's clock, or None if it has ended.

    It tells a process from a later one with the same id.
    """
    try:
        with open(
            f"/proc/{process}/stat", encoding="ascii", errors="replace"
        ) as stream:
            # The name of a process may have spaces and brackets in it. What follows is its state, and numbers.
            state, *numbers = stream.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if state in ENDED else numbers[18]


def is_finished(directory: str) -> bool:
    """Return whether a run has ended, or its directory is gone. A record that cannot be read now may be read later.

    Of the record only this is read: each look at all of it, and the code for that, would cost more than the wait.
    """
    with contextlib.suppress(StageError, OSError, ValueError, RecursionError):
        record = json.loads(
            own_text(os.path.join(directory, "run.json"), LONGEST_RECORD)
        )
        if isinstance(record, dict):
            return record.get("finished") is not None
    return not os.path.lexists(directory)


def is_abandoned(directory: str, controller: int) -> bool:
    """Wait until a run or its playbook ends. Return whether the playbook has ended without the run."""
    begun = start_time(controller)
    while begun is not None and start_time(controller) == begun:
        time.sleep(LOOK)
        if is_finished(directory):
            return False
    return not is_finished(directory)


def command(directory: str, controller: int, options: int) -> list[str]:
    """Return the command of a process that does this and, if it must, the watchdog's work.

    options: an open file in memory.
    """
    plugins = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
    code = f"import sys; sys.path.insert(0, {plugins!r}); from module_utils._end import lookout; lookout.main()"
    # Without -P a file in the working directory could stand for a module of Python.
    return [
        sys.executable,
        "-P",
        "-c",
        code,
        directory,
        str(controller),
        str(options),
    ]


def main() -> None:
    directory, controller, options = sys.argv[1:]
    if is_abandoned(directory, int(controller)):
        with open(int(options), encoding="utf-8") as stream:
            given = json.load(stream)
        importlib.import_module("..takeover", __name__).end(directory, given)
