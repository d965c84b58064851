# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The directory of a sweep: its record from begin to end, and the files for readers."""

from __future__ import annotations

import json
import os

from .._cloud import connection
from .._record import ledger, run
from .._record.errors import StageError, explain
from . import sweep
from .render import PAGE, junit, page


def save(record, directory):
    run.write_whole(os.path.join(directory, "sweep.json"), json.dumps(record, indent=1) + "\n")


def begin(params, check):
    """The record of a new sweep, and its directory."""
    sweep_id = params["sweep_id"] or run.new_run_id()
    targets = sweep.targets_of(params["hosts"], params["values"], sweep_id)
    name = connection.cloud_name(params)
    record = sweep.new_record(sweep_id, name, targets, params["checks"], params["left_out"], params["at_once"])
    directory = sweep.directory_of(params["runs"], sweep_id)
    if not check:
        try:
            os.makedirs(directory, mode=0o700)
        except FileExistsError:
            hint = "Choose another id, or none."
            raise StageError("conflict", f"there was a sweep {sweep_id} before", resource=sweep_id, hint=hint) from None
        save(record, directory)
    return record, directory


def read(directory):
    path = os.path.join(directory, "sweep.json")
    try:
        return json.loads(ledger.own_text(path, run.LONGEST))
    except (ValueError, RecursionError) as exc:
        raise StageError("no_run", f"{path} cannot be read: {exc}") from None


def outcome_of(target, runs):
    """The outcome of a target's run; without a record that can be read it is not a pass."""
    directory = os.path.join(runs, target["run_id"])
    if not os.path.exists(directory):
        return sweep.unknown_outcome("its run was not begun")
    try:
        return sweep.outcome(run.read_record(directory), os.path.join("..", target["run_id"]))
    except (StageError, OSError) as exc:
        return sweep.unknown_outcome(explain(exc, f"reading {directory}")["message"])


def render(record, directory, templates):
    run.write_whole(os.path.join(directory, "junit.xml"), junit(record))
    if templates:
        texts = []
        for name in ("sweep.html.j2", "report.html.j2"):
            with open(os.path.join(templates, name), encoding="utf-8") as stream:
                texts.append(stream.read())
        run.write_whole(os.path.join(directory, PAGE), page(record, *texts))


def end(params):
    directory = sweep.directory_of(params["runs"], params["sweep_id"])
    record = read(directory)
    changed = record["finished"] is None
    if changed:
        outcomes = {target["key"]: outcome_of(target, params["runs"]) for target in record["targets"]}
        sweep.finish(record, outcomes, params["slow_times"], params["slow_seconds"])
        save(record, directory)
    render(record, directory, params["templates"])
    return record, directory, changed
