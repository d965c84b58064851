# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The directory of a load: its record from begin to end, and the files for readers."""

from __future__ import annotations

import json
import os

from .._cloud import connection
from .._history import files as history
from .._judge.thresholds import check_expressions
from .._record import ledger, run
from .._record.errors import StageError, explain
from . import load, page, plan
from .overhead import overhead

RECORD = "load.json"
# Below the directory of a load: for each level when it began, or why it did not
LEVELS = "levels"


def directory_of(runs, load_id):
    return os.path.join(os.path.abspath(runs), f"load-{load_id}")


def save(record, directory):
    run.write_whole(os.path.join(directory, RECORD), json.dumps(record, indent=1) + "\n")


def read(directory):
    path = os.path.join(directory, RECORD)
    try:
        record = json.loads(ledger.own_text(path, run.LONGEST))
        if record["schema"] == load.SCHEMA:
            return record
        raise ValueError(f"its schema is {record['schema']}, not {load.SCHEMA}")
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as exc:
        raise StageError("no_run", f"{path} cannot be read: {exc}") from None


def begin(params, check):
    """The record of a new load, its directory, and its targets. None is begun where the cloud has no room for them."""
    load_id = params["load_id"] or run.new_run_id()
    plan.check_id(load_id)
    plan.check_rate(params["rate"])
    check_expressions(params["thresholds"])
    levels = plan.levels_of(params["instances"], params["at_once"], params["ramp"])
    full = [check["reason"] for check in params["checks"] if is_lack(check)]
    if full:
        hint = "Raise the quota, or lower stackproof_at_once or the ramp."
        raise StageError("quota", f"the project has no room for this load: {'; '.join(full)}", hint=hint)
    targets = plan.targets_of(load_id, params["instances"], levels, params["rate"])
    name = connection.cloud_name(params)
    record = load.new_record(load_id, name, params["instances"], levels, params["rate"], targets, params["checks"])
    directory = directory_of(params["runs"], load_id)
    if not check:
        run.make_directory(directory, "load", load_id)
        save(record, directory)
    return record, directory, targets


def is_lack(check):
    return check["status"] == "failed" and check["name"].startswith("the quota of ")


def so_far(directory):
    """The record with the figures of all runs that were begun until now."""
    record, runs = read(directory), os.path.dirname(directory)
    directories = [os.path.join(runs, target["run_id"]) for target in record["runs"]]
    begun = {
        target["key"]: place
        for target, place in zip(record["runs"], directories)
        if os.path.exists(os.path.join(place, "run.json"))
    }
    outcomes = {key: outcome_of(place) for key, place in begun.items()}
    return load.told(record, outcomes, history.labels(list(begun.values())))


def outcome_of(directory):
    """The outcome of a run; without a record that can be read it is not a pass."""
    try:
        return load.outcome_of(run.read_record(directory), os.path.basename(directory))
    except (StageError, OSError) as exc:
        return load.not_begun(explain(exc, f"reading {directory}")["message"])


def stopped(directory):
    """Why levels of a load were not begun, each reason once."""
    folder, whys = os.path.join(directory, LEVELS), {}
    for name in sorted(os.listdir(folder), key=int) if os.path.isdir(folder) else []:
        _began, why = level_state(os.path.join(folder, name))
        whys.setdefault(why)
    return [why for why in whys if why]


def level_state(path):
    """When a level began, by the clock that nobody sets, and why it was not begun, or an empty text."""
    with open(path, encoding="utf-8") as stream:
        began, _space, why = stream.read().partition(" ")
    return float(began), why


def note_level(path, began, why):
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(f"{began} {why}")


def end(params):
    """End a load, and write its files. Returns its record, its directory, and whether that was new."""
    directory = directory_of(params["runs"], params["load_id"])
    record = read(directory)
    changed = record["finished"] is None
    if changed:
        begun = so_far(directory)
        cost = overhead(sum(bool(entry["started"]) for entry in begun["runs"]))
        record = load.finish(begun, params["thresholds"], cost, stopped(directory))
        save(record, directory)
    if params["templates"]:
        text = page.render(record, os.path.join(params["templates"], "load.html.j2"))
        run.write_whole(os.path.join(directory, page.PAGE), text)
    return record, directory, changed
