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
from .journal import say


def conclude(settings):
    runs, keep = settings["runs"], (settings["keep_passed"], settings["keep_failed"])
    # What is not told is not removed, so all runs are told that may be kept.
    told = digests.read(runs, max(digests.MOST, sum(keep)))
    sweeps = list(sweeps_of(runs))
    current = newest_of_slices(sweeps, settings["slices"])
    text = metrics_of_slices(runs, current) if settings["slices"] else metrics_of_last(runs, told)
    if text:
        give(text, settings["metrics"])
    remove_old_runs(runs, told, keep, spared={target["run_id"] for record in current for target in record["targets"]})
    remove_old_sweeps(runs, sweeps, spared=current)
    if told:
        history.write_of(told[-digests.MOST :], runs, settings["templates"])


def sweeps_of(runs):
    """Directory and record of each sweep. One that cannot be read is named, and stays."""
    for directory in files.directories_below(runs):
        try:
            yield directory, files.read(directory)
        except (StageError, OSError) as exc:
            say(f"The sweep {directory} is left alone: {exc}")


def newest_of_slices(sweeps, count):
    """The record of the last sweep of each slice that has ended."""
    newest = {}
    for _directory, record in sorted(sweeps, key=lambda sweep: sweep[1]["started"]):
        if record["finished"] and record["slice"] and record["slice"]["of"] == count:
            newest[record["slice"]["number"]] = record
    return list(newest.values())


def metrics_of_last(runs, told):
    """The metrics of the last run, as it has written them; None if there is none."""
    if not told:
        return None
    try:
        with open(os.path.join(runs, last_of(runs, told), FILE), encoding="utf-8") as stream:
            return stream.read()
    except FileNotFoundError:
        return None


def last_of(runs, told):
    """The name of the last run: by the link to it, as the clock may have been wrong when an earlier one began."""
    name = os.path.basename(os.path.realpath(os.path.join(runs, "latest")))
    return name if any(run["directory"] == name for run in told) else told[-1]["directory"]


def metrics_of_slices(runs, sweeps):
    """The metrics of the last sweep of each slice: so a host keeps its metrics until its next turn."""
    found = [(sweep, list(runs_of(runs, sweep))) for sweep in sweeps]
    # Where the cloud has got a host more, the others move on to other slices: the last run of a host counts.
    latest = {}
    for _sweep, records in found:
        for target, record in records:
            latest[target] = max(latest.get(target, record), record, key=lambda record: record["started"])
    told = [(sweep, [pair for pair in records if latest[pair[0]] is pair[1]]) for sweep, records in found]
    return metrics_of_sweeps(told) if told else None


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


def remove_old_runs(runs, told, keep, spared):
    """Remove the directories of old runs. Those that passed and the others have numbers of their own to keep."""
    there = names_in(runs) - spared
    for is_pass, number in zip((True, False), keep):
        names = [run["directory"] for run in told if (run["result"] == "pass") == is_pass and run["directory"] in there]
        for name in names[: max(0, len(names) - number)]:
            remove_run(os.path.join(runs, name))


def remove_run(directory):
    """Remove the directory of a run, unless its ledger is needed, or nobody can say whether it is."""
    try:
        needed = has_something(run_module.read_record(directory))
    except (StageError, OSError) as exc:
        say(f"The run {directory} is left alone: {exc}")
    else:
        if not needed:
            shutil.rmtree(directory)


def has_something(record):
    """Whether something of a run is still in the cloud, as far as its record knows: it was left, or was kept."""
    return bool(record["leftovers"]) or (record["kept"] and record["made"] != record["deleted"])


def remove_old_sweeps(runs, sweeps, spared):
    """Remove the directories of sweeps of which no run is there any more."""
    there = names_in(runs)
    for directory, record in sweeps:
        if record not in spared and not any(target["run_id"] in there for target in record["targets"]):
            shutil.rmtree(directory)


def names_in(runs):
    return {os.path.basename(directory) for directory in run_module.run_directories(runs)}
