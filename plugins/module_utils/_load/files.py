# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The directory of a load test: its record from begin to end, its targets, and its page."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from .._cloud import connection
from .._judge.thresholds import check_expressions
from .._model import codec
from .._model.load import SCHEMA, LoadPlan, LoadRun, LoadTest
from .._model.sweep import PreflightCheck, PreflightKind, PreflightStatus
from .._record import ledger, run
from .._record.errors import MALFORMED, StageError, explain
from .._runs.records import name_of, read_labels
from . import load, page, plan
from .figures import Outcome
from .overhead import overhead
from .plan import Target

RECORD = "load.json"
# Below the directory of a load test: for each level when it began, or why it did not
LEVELS = "levels"

Params = Mapping[str, Any]
# What the option checks has
Checks: Any = tuple[PreflightCheck, ...]


def directory_of(runs: str, load_id: str) -> str:
    return os.path.join(os.path.abspath(runs), f"load-{load_id}")


def save(test: LoadTest, directory: str) -> None:
    run.write_whole(
        os.path.join(directory, RECORD),
        json.dumps(codec.to_json(test), indent=1) + "\n",
    )


def read(directory: str) -> LoadTest:
    """Return the record of a load test. Anybody may have put the file there: one of another form is refused."""
    path = os.path.join(directory, RECORD)
    try:
        data = json.loads(ledger.own_text(path, ledger.LONGEST_RECORD))
        if data["schema"] != SCHEMA:
            raise ValueError(f"its schema is {data['schema']}, not {SCHEMA}")
        return codec.from_json(LoadTest, data)
    except (OSError, *MALFORMED) as exc:
        raise StageError("no_run", f"{path} cannot be read: {exc}") from None


def begin(params: Params, check: bool) -> tuple[LoadTest, str, list[Target]]:
    """Return a new load test, its directory, and its targets. None is begun where the cloud has no room for them."""
    load_id = params["load_id"] or run.new_run_id()
    plan.check_id(load_id)
    plan.check_rate(params["rate"])
    check_expressions(params["thresholds"])
    levels = plan.levels_of(
        params["instances"], params["parallel"], params["ramp"]
    )
    preflight = checks_in(params)
    refuse_lack(preflight)
    targets = plan.targets_of(
        load_id, params["instances"], levels, params["rate"]
    )
    planned = LoadPlan(
        instances=params["instances"],
        levels=tuple(levels),
        rate=params["rate"],
    )
    runs = [
        LoadRun(key=target.key, run_id=target.run_id, parallel=target.parallel)
        for target in targets
    ]
    test = load.new_load(
        load_id,
        connection.cloud_name(params),
        planned,
        [*map(not_begun, runs)],
        preflight,
    )
    directory = directory_of(params["runs"], load_id)
    if not check:
        run.make_directory(directory, "load", load_id)
        save(test, directory)
    return test, directory, targets


def checks_in(params: Params) -> tuple[PreflightCheck, ...]:
    try:
        checks: tuple[PreflightCheck, ...] = codec.from_json(
            Checks, params["checks"], "checks"
        )
    except ValueError as exc:
        raise StageError(
            "invalid", f"the options do not make a load test: {exc}"
        ) from None
    return checks


def refuse_lack(preflight: tuple[PreflightCheck, ...]) -> None:
    """Refuse a load test for which a quota is too small, or whose instances do not fit on the hosts."""
    failed = [
        check for check in preflight if check.status is PreflightStatus.FAILED
    ]
    quotas = [
        check.reason for check in failed if check.kind is PreflightKind.QUOTA
    ]
    hosts = [
        check.reason
        for check in failed
        if check.kind is PreflightKind.CAPACITY
    ]
    if quotas:
        hint = "Raise the quota, or lower stackproof_at_once or the ramp."
        raise StageError(
            "quota",
            f"the project has no room for this load test: {'; '.join(quotas)}",
            hint=hint,
        )
    if hosts:
        hint = (
            "Choose a smaller flavor, or lower stackproof_at_once or the ramp."
        )
        raise StageError(
            "invalid",
            f"the cloud has no room for this load test: {'; '.join(hosts)}",
            hint=hint,
        )


def so_far(directory: str) -> LoadTest:
    """Return a load test with the figures of all runs that were begun until now."""
    test, runs = read(directory), os.path.dirname(directory)
    outcomes = [outcome_in(each, runs) for each in test.runs]
    begun = [
        os.path.join(runs, each.run.run_id)
        for each in outcomes
        if each.run.started is not None
    ]
    return load.with_outcomes(test, outcomes, read_labels(begun))


def outcome_in(target: LoadRun, runs: str) -> Outcome:
    """Return an instance with the figures of its run; without a record that can be read it is not a pass."""
    directory = os.path.join(runs, target.run_id)
    if not os.path.exists(os.path.join(directory, "run.json")):
        return Outcome(not_begun(target))
    try:
        return load.outcome_of(
            target, run.read_record(directory), name_of(directory)
        )
    except (StageError, OSError) as exc:
        reason = explain(exc, f"reading {directory}")["message"]
    except MALFORMED as exc:
        reason = f"the record in {directory} is malformed: {exc}"
    return Outcome(load.without_run(target, reason, load.UNREADABLE))


def not_begun(target: LoadRun) -> LoadRun:
    return load.without_run(target, "its run was not begun", load.NOT_BEGUN)


def stopped(directory: str) -> list[str]:
    """Return why levels of a load test were not begun, each reason once."""
    folder = os.path.join(directory, LEVELS)
    if not os.path.isdir(folder):
        return []
    reasons = [
        level_state(os.path.join(folder, name))[1]
        for name in sorted(os.listdir(folder), key=int)
    ]
    return list(filter(None, dict.fromkeys(reasons)))


def level_state(path: str) -> tuple[float, str]:
    """Return when a level began, by the monotonic clock, and why it was not begun, or an empty text."""
    with open(path, encoding="utf-8") as stream:
        began, _space, reason = stream.read().partition(" ")
    return float(began), reason


def note_level(path: str, began: float, reason: str) -> None:
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(f"{began} {reason}")


def end(params: Params) -> tuple[LoadTest, str, bool]:
    """End a load test, and write its files. Return its record, its directory, and whether it had not ended before."""
    directory = directory_of(params["runs"], params["load_id"])
    test = read(directory)
    is_new = test.finished is None
    if is_new:
        found = so_far(directory)
        begun = sum(each.started is not None for each in found.runs)
        test = load.finish(
            found, params["thresholds"], overhead(begun), stopped(directory)
        )
        save(test, directory)
    if params["templates"]:
        run.write_whole(
            os.path.join(directory, page.PAGE),
            page.render(test, params["templates"]),
        )
    return test, directory, is_new
