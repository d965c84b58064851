# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The stop of the service in the middle of a run: wait until the run has removed what it has made."""

from __future__ import annotations

import os
import signal
import time

from .._end.watchdog import is_watched
from .before import unfinished

LOOK = 0.2


def interrupt(settings):
    """End the playbook. The processes that watch its runs clean up then, and end."""
    process = int(os.environ.get("MAINPID") or 0)  # given by systemd, unless the playbook has ended by itself
    if process > 1:
        os.kill(process, signal.SIGTERM)
    while process > 1 and is_alive(process):
        time.sleep(LOOK)
    for run in unfinished(settings["runs"]):
        while is_watched(run):
            time.sleep(LOOK)


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
