# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The directory of a sweep: its record from begin to end, and the files for readers."""

from __future__ import annotations

import dataclasses
import glob
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from .._cloud import connection
from .._model import codec
from .._model.codec import MalformedError
from .._model.sweep import SCHEMA, ExcludedHost, PreflightCheck, Sweep, Target
from .._record import ledger, run
from .._record.errors import MALFORMED, StageError, explain
from .._runs import archive
from . import combine, sweep, targets
from .render import PAGE, junit, page
from .sweep import Limits

RECORD = "sweep.json"

Params = Mapping[str, Any]
# What the options checks and excluded have
Checks: Any = tuple[PreflightCheck, ...]
Hosts: Any = tuple[ExcludedHost, ...]


def save(record: Sweep, directory: str) -> None:
    run.write_whole(os.path.join(directory, RECORD), text_of(record))


def text_of(record: Sweep) -> str:
    return json.dumps(codec.to_json(record), indent=1) + "\n"


def begin(params: Params, check: bool) -> tuple[Sweep, str]:
    """Return the record of a new sweep, and its directory."""
    part = targets.slice_of(params["slice"]) if params["slice"] else None
    sweep_id = targets.id_of(params["sweep_id"] or run.new_run_id(), part)
    peers = params["peers"] if params["dataplane"] else 0
    whole = targets.targets_of(
        params["hosts"], params["values"], sweep_id, peers
    )
    chosen = targets.sliced(whole, part) if part else whole
    try:
        record = sweep.new_sweep(
            sweep_id,
            connection.cloud_name(params),
            chosen,
            preflight=codec.from_json(Checks, params["checks"], "checks"),
            excluded=codec.from_json(Hosts, params["excluded"], "excluded"),
            parallel=params["parallel"],
            part=targets.slice_record(part, whole),
            level=params["level"],
        )
        # A record that could not be read again is refused as well, such as one with a name that is too long.
        codec.from_json(Sweep, codec.to_json(record))
    except MalformedError as exc:
        raise StageError(
            "invalid",
            f"the options do not make a sweep: {exc}",
            resource=sweep_id,
        ) from None
    directory = sweep.directory_of(params["runs"], sweep_id)
    if not check:
        run.make_directory(directory, "sweep", sweep_id)
        save(record, directory)
    return record, directory


def limits_of(params: Params) -> Limits:
    return Limits(times=params["slow_times"], seconds=params["slow_seconds"])


def read(directory: str) -> Sweep:
    """Return the record of a sweep. Anybody may have put the file there: one of another form is refused."""
    path = os.path.join(directory, RECORD)
    try:
        data = json.loads(ledger.own_text(path, ledger.LONGEST_RECORD))
    except (ValueError, RecursionError) as exc:
        raise StageError("no_run", f"{path} cannot be read: {exc}") from None
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise StageError(
            "no_run",
            f"{path} cannot be read: its schema is {schema}, not {SCHEMA}",
        )
    try:
        record = codec.from_json(Sweep, data)
        check_slices(record)
    except (MalformedError, RecursionError) as exc:
        raise StageError("no_run", f"{path} cannot be read: {exc}") from None
    return record


def check_slices(record: Sweep) -> None:
    for part in combine.parts_of(record):
        if part.slice and part.slice.number > part.slice.of:
            raise MalformedError(
                "slice", f"one of {part.slice.of} slices", part.slice.number
            )


def outcome_of(target: Target, runs: str) -> Target:
    """Return a target with the result of its run; without a record that can be read it is not a pass."""
    directory = os.path.join(runs, target.run_id)
    if not os.path.exists(directory):
        return sweep.without_run(target, "its run was not begun")
    try:
        return sweep.with_run(
            target,
            run.read_record(directory),
            os.path.join("..", target.run_id),
        )
    except (StageError, OSError) as exc:
        reason = explain(exc, f"reading {directory}")["message"]
    except MALFORMED as exc:
        reason = f"the record in {directory} is malformed: {exc}"
    return sweep.without_run(target, reason, sweep.UNREADABLE)


def render(record: Sweep, directory: str, templates: str | None) -> None:
    for name, text in rendered(record, templates).items():
        run.write_whole(os.path.join(directory, name), text)


def rendered(record: Sweep, templates: str | None) -> dict[str, str]:
    """Return the files for readers by their names. The page needs its templates."""
    of_page = {PAGE: page(record, templates)} if templates else {}
    return {"junit.xml": junit(record), **of_page}


def end(params: Params) -> tuple[Sweep, str, bool]:
    """End a sweep, and write its files. Return its record, its directory, and whether it had not ended before."""
    directory = sweep.directory_of(params["runs"], params["sweep_id"])
    record = read(directory)
    is_new = record.finished is None
    if is_new:
        record = sweep.finish(
            record, outcomes_of(record, params["runs"]), limits_of(params)
        )
        save(record, directory)
    render(record, directory, params["templates"])
    if params["archive"]:
        archive.write_sweep(directory, record)
    return record, directory, is_new


def outcomes_of(record: Sweep, runs: str) -> tuple[Target, ...]:
    return tuple(outcome_of(target, runs) for target in record.targets)


def combined(params: Params) -> tuple[Sweep, str]:
    """Return the combined record of all sweeps in some directories, and its directory."""
    sweep_id = params["sweep_id"] or run.new_run_id()
    targets.check_id(sweep_id)
    directory = sweep.directory_of(params["runs"], sweep_id)
    placed = [
        (where, ended(record, where))
        for where, record in sweeps_in(params["directories"])
    ]
    record = combine.combine(placed, sweep_id, directory, limits_of(params))
    run.make_directory(directory, "sweep", sweep_id)
    save(record, directory)
    render(record, directory, params["templates"])
    if params["archive"]:
        archived = archive.in_archive(record)
        archive.write_sweep(
            directory,
            record,
            {
                RECORD: text_of(archived),
                **rendered(archived, params["templates"]),
            },
        )
    return record, directory


def directories_below(runs: str) -> list[str]:
    """Return the directory of each sweep in a folder of runs."""
    return list(
        map(
            os.path.dirname,
            sorted(
                glob.glob(os.path.join(glob.escape(runs), "sweep-*", RECORD))
            ),
        )
    )


def sweeps_below(runs: str) -> list[combine.Placed]:
    """Return each sweep in a folder of runs, with its directory."""
    return [
        (directory, read(directory)) for directory in directories_below(runs)
    ]


def sweeps_in(directories: Sequence[str]) -> list[combine.Placed]:
    """Return sweeps with their directories: each is given itself, or lies in a given folder and is not combined."""
    found: dict[str, Sweep] = {}
    for directory in map(os.path.abspath, directories):
        below = sweeps_below(directory)
        if os.path.exists(os.path.join(directory, RECORD)):
            found[directory] = read(directory)
        elif below:
            found.update(
                (where, record)
                for where, record in below
                if not record.combined
            )
        else:
            hint = "Name the directory of a sweep, or a folder of runs with sweeps in it."
            raise StageError(
                "no_run", f"there is no sweep in {directory}", hint=hint
            )
    if not found:
        raise StageError(
            "invalid", "there are no sweeps to combine: no directory was given"
        )
    return list(found.items())


def ended(record: Sweep, where: str) -> Sweep:
    """Return a sweep with the results of its targets, also if it was interrupted."""
    if record.finished:
        return record
    return dataclasses.replace(
        record, targets=outcomes_of(record, os.path.dirname(where))
    )
