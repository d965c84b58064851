# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Watch a run by a process of its own, which cleans up if the playbook ends before the run does.

ansible-playbook runs no "always" when it is interrupted, and nothing when it is killed. So the run is watched from
outside: by a process that waits for the end of the playbook, and then does what the playbook would have done.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal

from .._cloud.connection import Params
from .._record import shared_memory
from .._record.ledger import private
from .._record.run import Run
from . import lookout, takeover

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STANDARD_STREAMS = (0, 1, 2)


def watch(run: Run, params: Params, controller: int) -> bool:
    """Start the watching process for the playbook with this process id. Return whether it watches."""
    if lookout.start_time(controller) is None:
        return False  # a system without /proc
    ready, tell = os.pipe()
    if os.fork():
        os.close(tell)
        # A byte once it has the lock, or nothing if it could not begin
        watches = os.read(ready, 1)
        os.close(ready)
        return bool(watches)
    # From here on in the child, which never returns.
    try:
        os.close(ready)
        watch_apart(run, params, controller, tell)
    finally:
        os._exit(0)


def watch_apart(run: Run, params: Params, controller: int, tell: int) -> None:
    """Be the watching process. tell: where a byte reports that it has the lock."""
    leave_playbook()
    if os.fork():
        os._exit(0)
    # The working directory stays: paths in clouds.yaml may be relative to it.
    with open(run.path("watched"), "a", opener=private) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        token = shared_memory.make()
        lock.write(token)
        lock.flush()
        os.write(tell, b"1")
        os.close(tell)
        stand_by(
            run.directory,
            params,
            controller,
            [lock.fileno(), int(os.path.basename(token))],
        )


def leave_playbook() -> None:
    """Leave the session of the playbook, its terminal, and the signals that end it."""
    os.setsid()
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in STANDARD_STREAMS:
        os.dup2(nothing, stream)


def is_watched(run: Run) -> bool:
    """Return whether the process that watches a run is alive, as it is until the run ends."""
    try:
        # On NFS a file must be open for writing to be locked.
        with open(run.path("watched"), "r+", opener=private) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True


def stand_by(
    directory: str, params: Params, controller: int, files: list[int]
) -> None:
    """Wait, as a process that does not have the playbook's name: somebody may kill all that have it.

    files: descriptors that stay open as long as it waits.
    """
    if os.path.isfile(__file__):
        with contextlib.suppress(OSError):
            options = os.memfd_create("options")
            os.write(options, json.dumps(dict(params)).encode())
            os.lseek(options, 0, os.SEEK_SET)
            for descriptor in (*files, options):
                os.set_inheritable(descriptor, True)
            words = lookout.command(directory, controller, options)
            os.execv(words[0], words)
    # Ansible has packed this module, and started a process of another name for it.
    if lookout.is_abandoned(directory, controller):
        takeover.end(directory, params)
