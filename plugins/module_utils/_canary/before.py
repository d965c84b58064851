# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Before a run: the removal of what a run has left that nobody could end, and the choice of the next slice."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time

from .._end.watchdog import is_watched
from .._history import digests
from .._record import run as run_module
from .._record.errors import StageError
from .._record.run import Run
from .._sweep import slices
from .journal import say

# For all cleanups of one time. The rest is done the next time: a cloud that is broken must be verified nevertheless.
LONGEST_CLEANUP = 240


def prepare(settings):
    clean_up(settings, unfinished(settings["runs"]))
    if settings["slices"]:
        take_turn(settings["turn"], settings["slices"])


def clean_up(settings, runs):
    """Clean up after some runs, as far as the time goes. A run that is still watched is left to its watcher."""
    begun = time.monotonic()
    for run in runs:
        left = LONGEST_CLEANUP - (time.monotonic() - begun)
        if is_watched(run) or left <= 0:
            continue
        say(f"Something of the run {run.id} may be in the cloud: cleaning up")
        words = [*settings["cleanup"], "-e", json.dumps({"stackproof_run_dir": run.directory})]
        try:
            # No module runs here, which would have a function of its own for commands.
            subprocess.run(words, check=False, timeout=left)  # pylint: disable=ansible-bad-function
        except subprocess.TimeoutExpired:
            say(f"The cleanup did not end in {left:.0f} s: the next one goes on with it")


def unfinished(runs):
    """The runs without an end, as far as their records can be read. Those in the history have one."""
    try:
        ended = digests.kept_digests(runs)
    except StageError:
        ended = {}  # the work after a run says why
    return [run for run in readable(runs, but=ended) if run.record["finished"] is None]


def readable(runs, but=()):
    """The runs of a folder whose records can be read, without those whose directories have some names."""
    for directory in run_module.run_directories(runs):
        if os.path.basename(directory) not in but:
            with contextlib.suppress(StageError, OSError):
                yield Run(directory)


def take_turn(path, count):
    """Write the variables of the next run: the slice after that of the run before, so that each host has its turn."""
    try:
        with open(path, encoding="utf-8") as stream:
            number, of = slices.slice_of(json.load(stream)["stackproof_slice"])
    except (OSError, ValueError, KeyError, TypeError, StageError):
        number, of = 0, count
    turn = {"stackproof_slice": f"{number % count + 1 if of == count else 1}/{count}"}
    run_module.write_whole(path, json.dumps(turn) + "\n")
