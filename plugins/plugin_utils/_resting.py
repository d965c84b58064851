# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Do some work in Ansible's first process while that waits for a task.

A run begins earlier if what only its later tasks need is loaded while it waits for the boot.

PRIVATE to the collection: no promise is made to other users of this file.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable

# In seconds. The first stages begin processes faster than this, and the boot takes longer.
REST = 1.5
# In seconds, between two looks at whether the process rests
LOOK = 0.1
# With so many processes begun there are many hosts, and no rest to wait for.
MOST_FORKS = 8


class Rest(threading.Thread):
    """Do some work once, when this process has begun no other one for a while, or has begun many.

    It begins none during the work: a fork would wait forever for a lock that this thread holds, and that it lacks.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._lock = threading.Lock()
        self._is_over = False
        self._forks = 0
        self._last = time.monotonic()

    def watch(self) -> None:
        """Wait for a rest from the first process on that this one begins."""
        os.register_at_fork(before=self._before, after_in_parent=self._after, after_in_child=self._in_child)

    def run(self) -> None:
        while not self._is_over:
            time.sleep(LOOK)
            with self._lock:
                if time.monotonic() - self._last >= REST:
                    self._do()

    def _do(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        # A process that needs what could not be loaded reports that itself.
        with contextlib.suppress(Exception):
            self._work()

    def _before(self) -> None:
        self._lock.acquire()
        self._forks += 1
        if self._forks >= MOST_FORKS:
            self._do()

    def _after(self) -> None:
        self._last = time.monotonic()
        self._lock.release()
        if not self._is_over and self.ident is None:
            self.start()

    def _in_child(self) -> None:
        """Leave the work alone: this process loads what it needs."""
        self._is_over = True
        self._lock.release()
