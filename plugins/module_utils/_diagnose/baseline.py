# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The errors that were logged while all worked: what is logged only in a failure says more."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from .._match.events import of_run
from .._match.logged_errors import errors_of
from .._match.wanted import NO_TEXTS, wanted_in_logs
from .._model.error_kind import ErrorKind
from .._model.record import LoggedError
from .._record.run import new_record, read_record
from .archive import directory_of
from .log_directory import LogDirectory


def errors_in(
    path: str, services: Iterable[Mapping[str, Any]], zone: str, zones: dict[str, Any]
) -> tuple[ErrorKind, ...]:
    """Return the kinds of errors in the record of a run, or in a directory or an archive of logs."""
    if os.path.exists(os.path.join(path, "run.json")):
        return kinds_of(read_record(path).known_errors)
    with directory_of(path) as (directory, _doubts):
        logs = LogDirectory(directory, services, zone, zones)
        # To know which time they cover
        logs.lines_with((), None)
        if not (logs.begins and logs.ends):
            return ()
        wanted = wanted_in_logs({}, NO_TEXTS, min(logs.begins), max(logs.ends))
        reads = logs.events(wanted)
    return kinds_of(errors_of(of_run(new_record("baseline", None), {"log": reads.hosts})))


def kinds_of(errors: Iterable[LoggedError]) -> tuple[ErrorKind, ...]:
    return tuple(sorted({error.kind for error in errors if not error.is_warning}, key=str))


def with_usual(errors: Iterable[LoggedError], baseline: Collection[ErrorKind] | None) -> tuple[LoggedError, ...]:
    """Return errors that know whether the run that passed had them, too; as they are without such a run."""
    if baseline is None:
        return tuple(errors)
    return tuple(replace(error, usual=1.0 if error.kind in baseline else 0.0) for error in errors)
