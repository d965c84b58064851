# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The stop of the service in the middle of a run: wait until the run has removed what it has made."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Any

from .._end import lookout
from .._end.watchdog import is_watched
from .before import unfinished
from .journal import leaving_alone

LOOK = 0.2


def end_process(process: int) -> None:
    """Ask a process to end, and wait until it has. A zombie has, although a signal still reaches it."""
    begun = lookout.start_time(process)
    with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
        os.kill(process, signal.SIGTERM)
    while begun is not None and lookout.start_time(process) == begun:
        time.sleep(LOOK)


def interrupt(settings: dict[str, Any]) -> None:
    """End the playbook. The processes that watch its runs clean up then, and end."""
    process = int(os.environ.get("MAINPID") or 0)  # given by systemd, unless the playbook has ended by itself
    if process > 1:
        end_process(process)
    for run in unfinished(settings["runs"]):
        with leaving_alone(f"The run {run.directory}"):
            while is_watched(run):
                time.sleep(LOOK)
