# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Before a run: the removal of what a run has left that nobody could end, and the choice of the next slice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

from .._end.watchdog import is_watched
from .._history import digests
from .._record import run as run_module
from .._record.errors import StageError
from .._record.run import Run
from .._sweep import slices

# For all cleanups of one time. The rest is done the next time: a cloud that is broken must be verified nevertheless.
LONGEST_CLEANUP = 240


def prepare(settings):
    remove_left(settings)
    if settings["slices"]:
        take_turn(settings["turn"], settings["slices"])


def remove_left(settings):
    begun = time.monotonic()
    for run in unfinished(settings["runs"]):
        left = LONGEST_CLEANUP - (time.monotonic() - begun)
        if is_watched(run) or left <= 0:
            continue
        say(f"The run {run.id} was never ended: cleaning up")
        words = [*settings["cleanup"], "-e", json.dumps({"stackproof_run_dir": run.directory})]
        try:
            # No module runs here, which would have a function of its own for commands.
            subprocess.run(words, check=False, timeout=left)  # pylint: disable=ansible-bad-function
        except subprocess.TimeoutExpired:
            say(f"The cleanup did not end in {left:.0f} s: it goes on before the next run")


def say(text):
    """Write a line, which systemd puts into its journal."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def unfinished(runs):
    """The runs without an end, as far as their records can be read. Those in the history have one."""
    ended = digests.kept_digests(runs)
    found = []
    for directory in run_module.run_directories(runs):
        if os.path.basename(directory) in ended:
            continue
        try:
            run = Run(directory)
        except (StageError, OSError):
            continue
        if run.record["finished"] is None:
            found.append(run)
    return found


def take_turn(path, count):
    """Write the variables of the next run: the slice after that of the run before, so that each host has its turn."""
    try:
        with open(path, encoding="utf-8") as stream:
            number, of = slices.slice_of(json.load(stream)["stackproof_slice"])
    except (OSError, ValueError, KeyError, TypeError, StageError):
        number, of = 0, count
    turn = {"stackproof_slice": f"{number % count + 1 if of == count else 1}/{count}"}
    run_module.write_whole(path, json.dumps(turn) + "\n")
