# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Before a run: the removal of what a run has left that nobody could end, and the choice of the next slice."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Collection
from typing import Any

from .._end.watchdog import is_watched
from .._history import digests
from .._record import ledger
from .._record import run as run_module
from .._record.errors import MALFORMED, StageError
from .._record.run import Run
from .._sweep import slices
from .journal import leaving_alone, say

# For all cleanups of one time. The rest is done the next time: a cloud that is broken must be verified nevertheless.
LONGEST_CLEANUP = 240
# In characters: the file of the turn has one short line.
LONGEST_TURN = 4096


def prepare(settings):
    clean_up(settings, unfinished(settings["runs"]))
    if settings["slices"]:
        take_turn(settings["turn"], settings["slices"])


def clean_up(settings, runs):
    """Clean up after some runs, as far as the time goes. A run that is still watched is left to its watcher."""
    begun = time.monotonic()
    for run in runs:
        left = LONGEST_CLEANUP - (time.monotonic() - begun)
        if left <= 0 or not is_ours(run):
            continue
        say(f"Something of the run {run.id} may be in the cloud: cleaning up")
        words = [*settings["cleanup"], "-e", json.dumps({"stackproof_run_dir": run.directory})]
        try:
            # No module runs here, which would have a function of its own for commands.
            subprocess.run(words, check=False, timeout=left)  # pylint: disable=ansible-bad-function
        except subprocess.TimeoutExpired:
            say(f"The cleanup did not end in {left:.0f} s: the next one goes on with it")


def is_ours(run: Run) -> bool:
    """Whether nobody watches a run any more, as far as one can tell."""
    with leaving_alone(f"The run {run.directory}"):
        return not is_watched(run)
    return False


def unfinished(runs: str) -> list[Run]:
    """Return the runs without an end. Those in the history have one."""
    try:
        ended = digests.kept_digests(runs)
    except (StageError, OSError):
        ended = {}  # the work after a run says why
    return those(runs, lambda record: record["finished"] is None, but=ended)


def those(runs: str, is_wanted: Callable[[dict[str, Any]], bool], but: Collection[str] = ()) -> list[Run]:
    """Return the wanted runs of a folder, by their records. One that cannot be read is named, and left alone.

    but: names of directories that are not read.
    """
    found = []
    for directory in run_module.run_directories(runs):
        if os.path.basename(directory) in but:
            continue
        with leaving_alone(f"The run {directory}"):
            run = Run(directory)
            if is_wanted(run.record):
                found.append(run)
    return found


def take_turn(path: str, count: int) -> None:
    """Write the variables of the next run: the slice after that of the run before, so that each host has its turn."""
    try:
        turn = json.loads(ledger.own_text(path, LONGEST_TURN))
        number, of = slices.slice_of(turn["stackproof_slice"])
    except (OSError, StageError, *MALFORMED):
        number, of = 0, count  # the first turn, or a file that something else has written
    turn = {"stackproof_slice": f"{number % count + 1 if of == count else 1}/{count}"}
    run_module.write_whole(path, json.dumps(turn) + "\n")
