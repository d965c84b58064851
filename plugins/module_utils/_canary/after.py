# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After a run: the metrics for node_exporter, the history, and the removal of old runs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

from .._history import digests
from .._history import files as history
from .._model.codec import from_json
from .._model.record import Record
from .._record import ledger
from .._record import run as run_module
from .._record.errors import StageError
from .._report.metrics import FILE, metrics, metrics_of_sweeps
from .._sweep import files
from .journal import leaving_alone

# In characters: the metrics of a run have some ten thousand.
LONGEST_METRICS = 4 << 20


def conclude(settings: dict[str, Any]) -> None:
    """Give the metrics of the last run or sweeps, remove what is old, and write the history.

    Where the history cannot be read, no run is removed, as only the history would tell of it; the error comes last.
    """
    runs, keep = settings["runs"], (settings["keep_passed"], settings["keep_failed"])
    told, unread = None, None
    try:
        # What is not told is not removed, so all runs are told that may be kept.
        told = digests.read(runs, max(digests.MOST, sum(keep)))
    except (StageError, OSError) as exc:
        unread = exc
    sweeps = list(sweeps_of(runs))
    current = newest_of_slices(sweeps, settings["slices"])
    text = metrics_of_slices(runs, current) if settings["slices"] else metrics_of_last(runs, told)
    if text:
        give(text, settings["metrics"])
    remove_old_runs(
        runs, told or [], keep, spared={target["run_id"] for record in current for target in record["targets"]}
    )
    remove_old_sweeps(runs, sweeps, spared=current)
    if told:
        history.write_of(told[-digests.MOST :], runs, settings["templates"])
    if unread:
        raise unread


def sweeps_of(runs: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the directory and the record of each sweep. One that cannot be read is named, and stays."""
    for directory in files.directories_below(runs):
        with leaving_alone(f"The sweep {directory}"):
            yield directory, files.read(directory)


def newest_of_slices(sweeps, count):
    """The record of the last sweep of each slice that has ended."""
    newest = {}
    for _directory, record in sorted(sweeps, key=lambda sweep: sweep[1]["started"]):
        if record["finished"] and record["slice"] and record["slice"]["of"] == count:
            newest[record["slice"]["number"]] = record
    return list(newest.values())


def metrics_of_last(runs: str, told: list[dict[str, Any]] | None) -> str | None:
    """Return the metrics of the last run, as it has written them; None if there are none, or nobody can read them.

    told: the runs of the history, or None if nobody can read it.
    """
    if told == []:
        return None
    path = os.path.join(runs, last_of(runs, told), FILE)
    if os.path.lexists(path):
        with leaving_alone(f"The file {path}"):
            return ledger.own_text(path, LONGEST_METRICS)
    return None


def last_of(runs: str, told: list[dict[str, Any]] | None) -> str:
    """Return the name of the last run, by the link to it: the clock may have been wrong when an earlier one began."""
    name = os.path.basename(os.path.realpath(os.path.join(runs, run_module.LATEST)))
    return name if told is None or any(run["directory"] == name for run in told) else told[-1]["directory"]


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


def runs_of(runs: str, sweep: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name of each target and the record of its run, but for runs that were not begun, or were removed."""
    for target in sweep["targets"]:
        directory = os.path.join(runs, target["run_id"])
        if not os.path.lexists(os.path.join(directory, "run.json")):
            continue
        with leaving_alone(f"The run {directory}"):
            record = run_module.read_record(directory)
            # A record without what they are made of would take those of all other targets with it.
            metrics(from_json(Record, record))
            yield target["name"], record


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


def remove_run(directory: str) -> None:
    """Remove the directory of a run, unless its ledger is needed, or nobody can say whether it is."""
    with leaving_alone(f"The run {directory}"):
        record = run_module.read_record(directory)
        if record["finished"] and not has_something(record):
            shutil.rmtree(directory)


def has_something(record):
    """Whether something of a run is still in the cloud, as far as its record knows: it was left, or was kept."""
    return bool(record["leftovers"]) or (record["kept"] and record["made"] != record["deleted"])


def remove_old_sweeps(runs: str, sweeps: list[tuple[str, dict[str, Any]]], spared: list[dict[str, Any]]) -> None:
    """Remove the directories of sweeps of which no run is there any more."""
    there = names_in(runs)
    for directory, record in sweeps:
        if record not in spared and not any(target["run_id"] in there for target in record["targets"]):
            with leaving_alone(f"The sweep {directory}"):
                shutil.rmtree(directory)


def names_in(runs):
    return {os.path.basename(directory) for directory in run_module.run_directories(runs)}
