# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A process that watches a run, and cleans up if the playbook ends before the run does.

ansible-playbook runs no "always" when it is interrupted, and nothing when it is killed. So the run is watched from
outside: by a process that waits for the end of the playbook, and then does what the playbook would have done.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import time

from .._cloud.errors import explain
from .._judge import verdict
from .._record import shared_memory
from .._record.clock import Stopwatch
from .._record.errors import StageError
from .._record.ledger import private, regular
from .._record.run import Run
from . import clean, finish, lookout

# How long a stage that lost its playbook may take to end
PATIENCE = 20


def watch(run, params, controller):
    """Start the watching process for the playbook with this process id. Returns whether it watches."""
    if lookout.start_time(controller) is None:
        return False  # a system without /proc
    ready, tell = os.pipe()
    if os.fork():
        os.close(tell)
        watches = os.read(ready, 1)  # a byte once it has the lock, or nothing if it could not begin
        os.close(ready)
        return bool(watches)
    # From here on in the child, which never returns.
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # a signal that ends the playbook must not end this process as well
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
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
            os.close(ready)
            stand_by(run.directory, params, controller, [lock.fileno(), int(os.path.basename(token))])
    finally:
        os._exit(0)


def is_watched(run):
    """Whether the process that watches a run is alive, as it is until the run ends."""
    try:
        # On NFS a file must be open for writing to be locked.
        with open(run.path("watched"), "r+", opener=private) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True


def stand_by(directory, params, controller, files):
    """Wait, as a process that does not have the playbook's name: somebody may kill all that have it.

    files: descriptors that stay open as long as it waits.
    """
    if os.path.isfile(__file__):
        with contextlib.suppress(OSError):
            options = os.memfd_create("options")
            os.write(options, json.dumps(params).encode())
            os.lseek(options, 0, os.SEEK_SET)
            for descriptor in (*files, options):
                os.set_inheritable(descriptor, True)
            words = lookout.command(directory, controller, options)
            os.execv(words[0], words)
    # Ansible has packed this module, and started a process of another name for it.
    if lookout.is_abandoned(directory, controller):
        end(directory, params)


def end(directory, params):
    """Do the work that the playbook did not come to: stop its stage, clean up, and end the record."""
    watch, signals = Stopwatch(), set()
    while True:
        run = Run(directory, recover=True)
        try:
            with run.alone():
                return end_alone(run, params)
        except StageError:
            patient = watch.seconds() < PATIENCE
            stop_stage(directory, signal.SIGTERM if patient else signal.SIGKILL, signals)
            if watch.seconds() > 2 * PATIENCE:
                return run.say("end", "the stage does not end, so nothing was removed: run the cleanup playbook")
            time.sleep(lookout.LOOK)


def stop_stage(directory, number, signals):
    """Send the process that holds the run's lock a signal, each only once. signals has those that were sent."""
    with (
        contextlib.suppress(OSError, ValueError),
        open(os.path.join(directory, "lock"), "r+", encoding="ascii", opener=regular) as lock,
    ):
        process = int(lock.read())
        # No stage has such a number; a signal to -1 would go to all processes of the user.
        if process <= 1 or (process, number) in signals:
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            signals.add((process, number))
            os.kill(process, number)


def end_alone(run, params):
    if params["keep"] != "never":
        clean.keep(run)
    else:
        try:
            clean.clean(run, {**params, "timeout": params["cleanup_timeout"]})
        except Exception as exc:
            error = explain(exc, "cleaning up after the playbook had ended")
            run.record["leftovers"] = [{"kind": "run", "id": run.id, "name": run.mark, "why": error["message"]}]
    finish.finish(run, params["thresholds"], broke_off=verdict.AFTER_STAGES)
    finish.render(run)
