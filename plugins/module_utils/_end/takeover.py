# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Do what the playbook of a run would have done, after it has ended: stop the stage, clean up, and end the record."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import time

from .._cloud.connection import Params
from .._cloud.errors import failure_of
from .._judge import verdict
from .._model.record import ORDER
from .._model.stage import Leftover
from .._record.clock import Stopwatch
from .._record.errors import StageError
from .._record.ledger import regular
from .._record.run import LOCK, Run
from . import clean, description, finish, lookout

# How long a stage that lost its playbook may take to end
PATIENCE = 20


def end(directory: str, params: Params) -> None:
    """Do the work that the playbook did not come to: stop its stage, clean up, and end the record."""
    watch = Stopwatch()
    signals: set[tuple[int, signal.Signals]] = set()
    while True:
        run = Run(directory, recover=True)
        try:
            with run.alone():
                end_alone(run, params)
            return
        except StageError:
            patient = watch.seconds() < PATIENCE
            stop_stages(
                directory,
                signal.SIGTERM if patient else signal.SIGKILL,
                signals,
            )
            if watch.seconds() > 2 * PATIENCE:
                run.say(
                    "end",
                    "the stage does not end, so nothing was removed: run the cleanup playbook",
                )
                return
            time.sleep(lookout.LOOK)


def stop_stages(
    directory: str,
    number: signal.Signals,
    signals: set[tuple[int, signal.Signals]],
) -> None:
    """Send the processes that work on the run a signal, each only once. signals has those that were sent."""
    for name in (LOCK, *(f"{LOCK}.{stage}" for stage in ORDER)):
        stop_holder(os.path.join(directory, name), number, signals)


def stop_holder(
    path: str, number: signal.Signals, signals: set[tuple[int, signal.Signals]]
) -> None:
    """Send the process that holds a lock a signal."""
    with (
        contextlib.suppress(OSError, ValueError),
        open(path, "r+", encoding="ascii", opener=regular) as lock,
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


def end_alone(run: Run, params: Params) -> None:
    if params["keep"] != "never":
        clean.keep(run)
    else:
        try:
            clean.clean(run, {**params, "timeout": params["cleanup_timeout"]})
        except Exception as exc:
            failure = failure_of(
                exc, "cleaning up after the playbook had ended"
            )
            whole = Leftover(
                kind="run", id=run.id, name=run.mark, reason=failure.message
            )
            run.update(leftovers=(whole,))
    finish.finish(
        run,
        finish.earlier_of(run),
        params["thresholds"],
        broke_off=verdict.AFTER_STAGES,
    )
    description.describe(run, params)
    finish.render(run)
