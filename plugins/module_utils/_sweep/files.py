# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The directory of a sweep: its record from begin to end, and the files for readers."""

from __future__ import annotations

import glob
import json
import os
from typing import Any

from .._cloud import connection
from .._record import ledger, run
from .._record.errors import MALFORMED, StageError, explain
from . import shape, slices, sweep
from .render import PAGE, junit, page

RECORD = "sweep.json"


def save(record, directory):
    run.write_whole(os.path.join(directory, RECORD), json.dumps(record, indent=1) + "\n")


def begin(params, check):
    """The record of a new sweep, and its directory."""
    part = slices.slice_of(params["slice"]) if params["slice"] else None
    sweep_id = slices.id_of(params["sweep_id"] or run.new_run_id(), part)
    targets = sweep.targets_of(params["hosts"], params["values"], sweep_id)
    chosen = slices.sliced(targets, part) if part else targets
    name, told = connection.cloud_name(params), (params["checks"], params["left_out"], params["at_once"])
    record = sweep.new_record(sweep_id, name, chosen, *told, part=slices.slice_record(part, targets))
    odd = shape.oddity(record)
    if odd:
        raise StageError("invalid", f"the options do not make a sweep: {odd}", resource=sweep_id)
    directory = sweep.directory_of(params["runs"], sweep_id)
    if not check:
        run.make_directory(directory, "sweep", sweep_id)
        save(record, directory)
    return record, directory


def read(directory: str) -> dict[str, Any]:
    """Return the record of a sweep. One of an earlier release knows no slices; one of another form is refused."""
    path = os.path.join(directory, RECORD)
    try:
        record = json.loads(ledger.own_text(path, run.LONGEST))
    except (ValueError, RecursionError) as exc:
        raise StageError("no_run", f"{path} cannot be read: {exc}") from None
    schema = record.get("schema") if isinstance(record, dict) else None
    if schema != sweep.SCHEMA:
        raise StageError("no_run", f"{path} cannot be read: its schema is {schema}, not {sweep.SCHEMA}")
    whole = {"slice": None, "merged": [], **record}
    odd = shape.oddity(whole)
    if odd:
        raise StageError("no_run", f"{path} cannot be read: {odd}")
    return whole


def outcome_of(target: dict[str, Any], runs: str) -> dict[str, Any]:
    """Return the outcome of a target's run; without a record that can be read it is not a pass."""
    directory = os.path.join(runs, target["run_id"])
    if not os.path.exists(directory):
        return sweep.unknown_outcome("its run was not begun")
    try:
        outcome = sweep.outcome(run.read_record(directory), os.path.join("..", target["run_id"]))
    except (StageError, OSError) as exc:
        return sweep.unknown_outcome(explain(exc, f"reading {directory}")["message"])
    except MALFORMED:
        outcome = None
    if not shape.is_outcome(outcome):
        return sweep.unknown_outcome(f"the record in {directory} has another form than a run writes")
    return outcome


def render(record, directory, templates):
    run.write_whole(os.path.join(directory, "junit.xml"), junit(record))
    if templates:
        run.write_whole(os.path.join(directory, PAGE), page(record, os.path.join(templates, "sweep.html.j2")))


def end(params):
    directory = sweep.directory_of(params["runs"], params["sweep_id"])
    record = read(directory)
    changed = record["finished"] is None
    if changed:
        sweep.finish(record, outcomes_of(record, params["runs"]), params["slow_times"], params["slow_seconds"])
        save(record, directory)
    render(record, directory, params["templates"])
    return record, directory, changed


def outcomes_of(record, runs):
    return {target["key"]: outcome_of(target, runs) for target in record["targets"]}


def merge(params):
    """The record of all sweeps in some directories as one, and its directory."""
    sweep_id = params["sweep_id"] or run.new_run_id()
    sweep.check_id(sweep_id)
    directory = sweep.directory_of(params["runs"], sweep_id)
    sweeps = [(where, ended(record, where)) for where, record in sweeps_in(params["directories"])]
    record = slices.merge(sweeps, sweep_id, directory, params["slow_times"], params["slow_seconds"])
    run.make_directory(directory, "sweep", sweep_id)
    save(record, directory)
    render(record, directory, params["templates"])
    return record, directory


def directories_below(runs):
    """The directory of each sweep in a folder of runs."""
    return list(map(os.path.dirname, sorted(glob.glob(os.path.join(glob.escape(runs), "sweep-*", RECORD)))))


def sweeps_below(runs):
    """Directory and record of each sweep in a folder of runs."""
    return [(directory, read(directory)) for directory in directories_below(runs)]


def sweeps_in(directories):
    """Directory and record of sweeps: each is given itself, or lies in a given folder, without those merged before."""
    found = {}
    for directory in map(os.path.abspath, directories):
        below = sweeps_below(directory)
        if os.path.exists(os.path.join(directory, RECORD)):
            found[directory] = read(directory)
        elif below:
            found.update((where, record) for where, record in below if not record["merged"])
        else:
            hint = "Name the directory of a sweep, or a folder of runs with sweeps in it."
            raise StageError("no_run", f"there is no sweep in {directory}", hint=hint)
    if not found:
        raise StageError("invalid", "there are no sweeps to merge: no directory was given")
    return list(found.items())


def ended(record, where):
    """The record with the outcomes of its targets, also if the sweep was broken off."""
    if record["finished"]:
        return record
    outcomes = outcomes_of(record, os.path.dirname(where))
    return {**record, "targets": [{**target, **outcomes[target["key"]]} for target in record["targets"]]}
