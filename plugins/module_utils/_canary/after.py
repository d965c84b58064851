# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After a run: the metrics for node_exporter, the history, and the removal of old runs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter

from .._history import files as history
from .._model.history import RunDigest
from .._model.record import Record
from .._model.sweep import Sweep
from .._record import ledger
from .._record import run as run_module
from .._record.errors import StageError
from .._report.metrics import FILE, joined, metrics, metrics_of_sweeps
from .._runs import digests
from .._sweep import files
from .service import Settings, has_resources, leaving_alone

# In characters: the metrics of a run have some ten thousand.
LONGEST_METRICS = 4 << 20
# The name of the file with the metrics of what is stuck, beside the runs
STUCK = "stuck.prom"

# The name of a target, and the record of its run
TargetRun = tuple[str, Record]


def conclude(settings: Settings) -> None:
    """Publish the metrics of the last run or sweeps, remove what is old, and write the history.

    Where the history cannot be read, no run is removed, as only the history would know of it; the error comes last.
    """
    runs = settings.runs
    found, unread = None, None
    try:
        # What is not in the history is not removed, so it has all runs that may be kept.
        found = digests.read(
            runs,
            max(digests.MOST, settings.keep_passed + settings.keep_failed),
        )
    except (StageError, OSError) as exc:
        unread = exc
    sweeps = list(sweeps_of(runs))
    current = newest_of_slices(
        (sweep for _directory, sweep in sweeps), settings.slices
    )
    text = (
        metrics_of_slices(runs, current)
        if settings.slices
        else metrics_of_last(runs, found)
    )
    if text:
        publish(with_stuck(text, runs), settings.metrics)
    spared = chain.from_iterable(map(attrgetter("targets"), current))
    spared_ids = set(map(attrgetter("run_id"), spared))
    remove_old_runs(settings, found or [], spared_ids)
    remove_old_sweeps(runs, sweeps, spared=current)
    if found:
        history.write_of(found[-digests.MOST :], runs, settings.templates)
    if unread:
        raise unread


# Metrics


def sweeps_of(runs: str) -> Iterator[tuple[str, Sweep]]:
    """Yield the directory and the record of each sweep. One that cannot be read is named, and stays."""
    for directory in files.directories_below(runs):
        with leaving_alone(f"The sweep {directory}"):
            yield directory, files.read(directory)


def newest_of_slices(sweeps: Iterable[Sweep], count: int) -> list[Sweep]:
    """Return the last sweep of each slice that has ended."""
    newest = {}
    for sweep in sorted(sweeps, key=lambda each: each.started):
        if sweep.finished and sweep.slice and sweep.slice.of == count:
            newest[sweep.slice.number] = sweep
    return list(newest.values())


def metrics_of_last(
    runs: str, found: Sequence[RunDigest] | None
) -> str | None:
    """Return the metrics of the last run, as it has written them; None if there are none, or they cannot be read.

    found: the runs of the history, or None if it cannot be read.
    """
    if found is not None and not found:
        return None
    return metrics_in(os.path.join(runs, last_of(runs, found), FILE))


def metrics_in(path: str) -> str | None:
    """Return the metrics in a file; None if there is no such file, or it cannot be read."""
    if os.path.lexists(path):
        with leaving_alone(f"The file {path}"):
            return ledger.own_text(path, LONGEST_METRICS)
    return None


def last_of(runs: str, found: Sequence[RunDigest] | None) -> str:
    """Return the name of the last run, by the link to it: the clock may have been wrong when an earlier one began."""
    name = os.path.basename(
        os.path.realpath(os.path.join(runs, run_module.LATEST))
    )
    if found is None or any(run.directory == name for run in found):
        return name
    return found[-1].directory


def metrics_of_slices(runs: str, sweeps: Iterable[Sweep]) -> str | None:
    """Return the metrics of the last sweep of each slice: so a host keeps its metrics until its next turn."""
    found = [(sweep, list(runs_of(runs, sweep))) for sweep in sweeps]
    if not found:
        return None
    # Where the cloud has got a host more, the others move on to other slices: the last run of a host counts.
    latest = latest_runs(chain.from_iterable(pairs for _sweep, pairs in found))
    current = []
    for sweep, pairs in found:
        newest = [pair for pair in pairs if latest[pair[0]] is pair[1]]
        current.append((sweep, newest))
    return metrics_of_sweeps(current)


def latest_runs(pairs: Iterable[TargetRun]) -> dict[str, Record]:
    latest: dict[str, Record] = {}
    for target, record in pairs:
        if target not in latest or latest[target].started < record.started:
            latest[target] = record
    return latest


def runs_of(runs: str, sweep: Sweep) -> Iterator[TargetRun]:
    """Yield the name of each target and the record of its run, but for runs that were not begun, or were removed."""
    for target in sweep.targets:
        directory = os.path.join(runs, target.run_id)
        if not os.path.lexists(os.path.join(directory, "run.json")):
            continue
        with leaving_alone(f"The run {directory}"):
            record = run_module.read_record(directory)
            # A record without what they are made of would take those of all other targets with it.
            metrics(record)
            yield target.name, record


def with_stuck(text: str, runs: str) -> str:
    """Return metrics with those of what is stuck, where these are listed after each run."""
    stuck = metrics_in(os.path.join(runs, STUCK))
    return joined(text, stuck) if stuck else text


def publish(text: str, path: str) -> None:
    """Replace the file of the metrics. The user of node_exporter must be able to read it."""
    run_module.write_whole(path, text)
    os.chmod(path, 0o644)


# Removal of what is old


def remove_old_runs(
    settings: Settings, found: Sequence[RunDigest], spared: Collection[str]
) -> None:
    """Remove the directories of old runs. Those that passed and the others have numbers of their own to keep."""
    there = names_in(settings.runs).difference(spared)
    for is_pass, number in (
        (True, settings.keep_passed),
        (False, settings.keep_failed),
    ):
        names = [
            run.directory
            for run in found
            if run.passed == is_pass and run.directory in there
        ]
        for name in names[: max(0, len(names) - number)]:
            remove_run(os.path.join(settings.runs, name))


def remove_run(directory: str) -> None:
    """Remove the directory of a run, unless its ledger is needed, or that cannot be read."""
    with leaving_alone(f"The run {directory}"):
        record = run_module.read_record(directory)
        if record.finished and not has_resources(record):
            shutil.rmtree(directory)


def remove_old_sweeps(
    runs: str, sweeps: Iterable[tuple[str, Sweep]], spared: Collection[Sweep]
) -> None:
    """Remove the directories of sweeps whose runs are all gone."""
    there = names_in(runs)
    for directory, sweep in sweeps:
        if sweep not in spared and not any(
            target.run_id in there for target in sweep.targets
        ):
            with leaving_alone(f"The sweep {directory}"):
                shutil.rmtree(directory)


def names_in(runs: str) -> set[str]:
    return {
        os.path.basename(directory)
        for directory in run_module.run_directories(runs)
    }
