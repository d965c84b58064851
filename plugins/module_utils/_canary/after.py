# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After a run: the metrics for node_exporter, the history, and the removal of old runs."""

from __future__ import annotations

import os
import shutil

from .._history import digests
from .._history import files as history
from .._record import run as run_module
from .._record.errors import StageError
from .._report.metrics import FILE, metrics_of_sweeps
from .._sweep import files


def conclude(settings):
    runs = settings["runs"]
    told = digests.read(runs, history.MOST)
    text = metrics_of_slices(runs, settings["slices"]) if settings["slices"] else metrics_of_last(runs, told)
    if text:
        give(text, settings["metrics"])
    remove_old(runs, told, settings["keep_passed"], settings["keep_failed"])
    if told:
        history.write_of(told, runs, settings["templates"])


def metrics_of_last(runs, told):
    """The metrics of the last run, as it has written them; None if there is none."""
    if not told:
        return None
    try:
        with open(os.path.join(runs, told[-1]["directory"], FILE), encoding="utf-8") as stream:
            return stream.read()
    except FileNotFoundError:
        return None


def metrics_of_slices(runs, count):
    """The metrics of the newest sweep of each slice: so a host keeps its metrics until its next turn."""
    newest = {}
    for _directory, record in sorted(files.sweeps_below(runs), key=lambda sweep: sweep[1]["started"]):
        if record["finished"] and record["slice"] and record["slice"]["of"] == count:
            newest[record["slice"]["number"]] = record
    return metrics_of_sweeps([(record, list(runs_of(runs, record))) for record in newest.values()]) if newest else None


def runs_of(runs, sweep):
    for target in sweep["targets"]:
        try:
            yield target["name"], run_module.read_record(os.path.join(runs, target["run_id"]))
        except (StageError, OSError):
            continue  # a run that was not begun, or was removed


def give(text, path):
    """Replace the file of the metrics. The user of node_exporter must be able to read it."""
    run_module.write_whole(path, text)
    os.chmod(path, 0o644)


def remove_old(runs, told, keep_passed, keep_failed):
    """Remove the directories of old runs. Those that passed and the others have numbers of their own to keep.

    A run that has left something stays: the cleanup needs its ledger.
    """
    there = names_in(runs)
    for is_pass, keep in ((True, keep_passed), (False, keep_failed)):
        names = [run["directory"] for run in told if (run["result"] == "pass") == is_pass and run["directory"] in there]
        for name in names[: max(0, len(names) - keep)]:
            directory = os.path.join(runs, name)
            if not run_module.read_record(directory)["leftovers"]:
                shutil.rmtree(directory)
    there = names_in(runs)
    for directory, record in files.sweeps_below(runs):
        if not any(target["run_id"] in there for target in record["targets"]):
            shutil.rmtree(directory)


def names_in(runs):
    return {os.path.basename(directory) for directory in run_module.run_directories(runs)}
