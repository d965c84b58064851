# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Before and around a run: the removal of what other runs have left, the choice of the next slice, stop and removal."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterable

from .._end import lookout
from .._end.watchdog import is_watched
from .._record import ledger
from .._record import run as run_module
from .._record.errors import MALFORMED, StageError
from .._record.run import Run
from .._runs import digests
from .._sweep import targets
from .service import Settings, has_resources, leaving_alone, runs_in, say

# For all cleanups of one time. The rest is done the next time: a cloud that is broken must be verified nevertheless.
LONGEST_CLEANUP = 240
# In characters: the file of the turn has one short line.
LONGEST_TURN = 4096
# In seconds, between two looks at a process
PAUSE = 0.2


def prepare(settings: Settings) -> None:
    """Remove what earlier runs have left, and choose the next slice."""
    clean_up(settings, unfinished(settings.runs))
    if settings.slices:
        take_turn(settings.turn, settings.slices)


def interrupt(settings: Settings) -> None:
    """Stop the service in the middle of a run: the processes that watch its runs clean up then, and end."""
    # Given by systemd, unless the playbook has ended by itself
    process = int(os.environ.get("MAINPID") or 0)
    if process > 1:
        end_process(process)
    for run in unfinished(settings.runs):
        with leaving_alone(f"The run {run.directory}"):
            while is_watched(run):
                time.sleep(PAUSE)


def uninstall(settings: Settings) -> None:
    """Remove all that the runs have in the cloud, as only their ledgers name it, before the canary is removed."""
    clean_up(settings, open_runs(settings.runs))
    left = open_runs(settings.runs)
    if left:
        message = f"these runs still have resources in the cloud: {', '.join(run.directory for run in left)}"
        raise StageError("leftovers", message)


def clean_up(settings: Settings, runs: Iterable[Run]) -> None:
    """Clean up after some runs, as far as the time goes. A run that is still watched is left to its watcher."""
    begun = time.monotonic()
    for run in runs:
        left = LONGEST_CLEANUP - (time.monotonic() - begun)
        if left <= 0 or not is_ours(run):
            continue
        say(f"The run {run.id} may have resources in the cloud: cleaning up")
        words = [
            *settings.cleanup,
            "-e",
            json.dumps({"stackproof_run_dir": run.directory}),
        ]
        try:
            # No module runs here, which would have a function of its own for commands.
            subprocess.run(words, check=False, timeout=left)  # pylint: disable=ansible-bad-function
        except subprocess.TimeoutExpired:
            say(
                f"The cleanup did not end in {left:.0f} s: the next one goes on with it"
            )


def is_ours(run: Run) -> bool:
    """Return whether no process watches a run any more, as far as that can be read."""
    with leaving_alone(f"The run {run.directory}"):
        return not is_watched(run)
    return False


def unfinished(runs: str) -> list[Run]:
    """Return the runs without an end. Those in the history have one."""
    try:
        ended = digests.kept_names(runs)
    except (StageError, OSError):
        ended = set()  # the work after a run reports why
    return runs_in(runs, lambda record: record.finished is None, but=ended)


def open_runs(runs: str) -> list[Run]:
    """Return the runs that have not ended, or have resources in the cloud, as far as their records can be read."""
    return runs_in(
        runs, lambda record: record.finished is None or has_resources(record)
    )


def take_turn(path: str, count: int) -> None:
    """Write the variables of the next run: the slice after that of the run before, so that each host has its turn."""
    try:
        turn = json.loads(ledger.own_text(path, LONGEST_TURN))
        number, of = targets.slice_of(turn["stackproof_slice"])
    except (OSError, StageError, *MALFORMED):
        # The first turn, or a file that something else has written
        number, of = 0, count
    following = number % count + 1 if of == count else 1
    run_module.write_whole(
        path, json.dumps({"stackproof_slice": f"{following}/{count}"}) + "\n"
    )


def end_process(process: int) -> None:
    """Ask a process to end, and wait until it has. A zombie has, although a signal still reaches it."""
    begun = lookout.start_time(process)
    with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
        os.kill(process, signal.SIGTERM)
    while begun is not None and lookout.start_time(process) == begun:
        time.sleep(PAUSE)
