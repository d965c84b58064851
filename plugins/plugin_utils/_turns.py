# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Turns that the targets of a playbook take: a file each in a folder, under the lock of the directory above it.

PRIVATE to the collection: no promise is made to other users of this file.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from ansible.errors import AnsibleActionFail

TURNS = "turns"
# In seconds, between two attempts
LOOK = 0.1

Answer = TypeVar("Answer")


@contextlib.contextmanager
def alone(directory: str) -> Iterator[str]:
    """Yield the folder of the turns, while no other target looks at it."""
    handle = os.open(directory, os.O_RDONLY)
    folder = os.path.join(directory, TURNS)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        yield folder
        with contextlib.suppress(OSError):
            os.rmdir(folder)  # works only when the last turn was returned
    finally:
        os.close(handle)


def mark(folder: str, name: str) -> None:
    os.close(
        os.open(os.path.join(folder, name), os.O_CREAT | os.O_WRONLY, 0o600)
    )


def unmark(folder: str, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, name))


def take(directory: str, target: str, parallel: int) -> bool:
    """Take a turn if there is a free one. Returns whether the target has a turn now."""
    with alone(directory) as folder:
        taken = os.listdir(folder)
        if target not in taken and len(taken) >= parallel:
            return False
        mark(folder, target)
        return True


def give_back(directory: str, target: str) -> None:
    with alone(directory) as folder:
        unmark(folder, target)


def until(attempt: Callable[[], Answer | None]) -> tuple[Answer, float]:
    """Try until there is an answer that is not None. Returns it, and the seconds that it took."""
    parent = os.getppid()
    begun = time.monotonic()
    while (answer := attempt()) is None:
        time.sleep(LOOK)
        if os.getppid() != parent:
            raise AnsibleActionFail(
                "the playbook ended while the target waited for its turn"
            )
    return answer, round(time.monotonic() - begun, 3)
