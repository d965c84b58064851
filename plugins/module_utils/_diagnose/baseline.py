# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read what there was while all worked, from the directory of a run that passed, or from logs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._match.events import of_run
from .._match.logged_errors import errors_of
from .._match.wanted import NO_TEXTS, wanted_in_logs
from .._model.baseline import Baseline, IdleService
from .._model.error_kind import ErrorKind
from .._model.host import Host
from .._model.record import LoggedError, Record
from .._model.service import RUNNING, services_of
from .._model.words import Result
from .._record.errors import StageError
from .._record.run import new_record, read_record
from .archive import directory_of
from .log_directory import LogDirectory


@dataclass(frozen=True)
class LogNames:
    """How the logs of a baseline are read, as LogDirectory takes it."""

    services: Sequence[Mapping[str, Any]]
    zone: str
    zones: dict[str, Any]


def baseline_in(path: str, names: LogNames) -> Baseline:
    """Return what there was in a run that passed, or in a directory or an archive of logs."""
    if os.path.exists(os.path.join(path, "run.json")):
        return of_passed_run(read_record(path))
    return Baseline(
        os.path.basename(path) or path, errors=errors_in(path, names)
    )


def of_passed_run(record: Record) -> Baseline:
    """Return what there was in a run. One that did not pass is refused: what broke it would explain nothing."""
    result = record.verdict.result
    if result is not Result.PASS:
        message = f"the run {record.run_id} cannot be a baseline: its result is {result.value}, not {Result.PASS.value}"
        hint = "Give stackproof_baseline the directory of a run that passed, or logs of a time when all worked."
        raise StageError("invalid", message, resource=record.run_id, hint=hint)
    return Baseline(
        record.run_id,
        cloud=record.cloud,
        passed=record.finished,
        errors=kinds_of(record.known_errors)
        if has_read_logs(record)
        else None,
        idle=tuple(idle_in(record.hosts)),
        health=tuple(sorted(set(failed_checks(record.hosts)))),
    )


def has_read_logs(record: Record) -> bool:
    return any(host.sources for host in record.known_logs)


def idle_in(hosts: Iterable[Host]) -> Iterator[IdleService]:
    for host in hosts:
        for service in services_of(host):
            if service.state != RUNNING:
                yield IdleService(host.host, service.component, service.state)


def failed_checks(hosts: Iterable[Host]) -> Iterator[str]:
    """Yield the checks of Ceph that a host reported as not passed."""
    for host in hosts:
        facts = host.facts.get("ceph") or {}
        health = facts.get("health") or {}
        yield from health.get("checks") or ()


def errors_in(path: str, names: LogNames) -> tuple[ErrorKind, ...] | None:
    """Return the kinds of errors in a directory or an archive of logs; None if no line there has a time."""
    with directory_of(path) as (directory, _doubts):
        logs = LogDirectory(directory, names.services, names.zone, names.zones)
        # To know which time they cover
        logs.lines_with((), None)
        if not (logs.begins and logs.ends):
            return None
        wanted = wanted_in_logs({}, NO_TEXTS, min(logs.begins), max(logs.ends))
        reads = logs.events(wanted)
    return kinds_of(
        errors_of(of_run(new_record("baseline", None), {"log": reads.hosts}))
    )


def kinds_of(errors: Iterable[LoggedError]) -> tuple[ErrorKind, ...]:
    return tuple(
        sorted(
            {error.kind for error in errors if not error.is_warning}, key=str
        )
    )
