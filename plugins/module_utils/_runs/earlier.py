# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Earlier runs on the same cloud, from their directories: how long they took, and which errors they logged as well."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from .._model import codec
from .._record.errors import StageError
from .._record.ledger import regular
from .._record.run import STAGES, read_record, run_directories
from .figures import usual_of

Record = dict[str, Any]
# Service, logger and exception of an error
ErrorKind = tuple[str, str, "str | None"]

# A record has the time at which its run began among its first characters.
HEAD = 2000
WORD = (str, type(None))
STARTED = re.compile(r'"started": "([^"]+)"')


def earlier_records(runs: str, record: Record, most: int) -> list[Record]:
    """Return the records of the last runs of the same cloud, as far as they can be read."""
    records: list[Record] = []
    # Sorted by their time and not by their names, which may be anything.
    for directory in sorted(run_directories(runs), key=began, reverse=True):
        if len(records) >= most:
            break
        try:
            other = read_record(directory)
        except (StageError, OSError):
            continue
        if other["cloud"] == record["cloud"] and other["started"] < record["started"]:
            records.append(other)
    return records


def began(directory: str) -> str:
    """Return the begin of a run by the first lines of its record: there may be thousands, and only the last count."""
    try:
        path = os.path.join(directory, "run.json")
        with open(path, encoding="utf-8", errors="replace", opener=regular) as stream:
            match = STARTED.search(stream.read(HEAD))
    except OSError:
        match = None
    return match[1] if match else ""


def usual_errors(records: Iterable[Record]) -> dict[ErrorKind, float]:
    """Return for each kind of error the share of the runs that passed which logged it as well.

    Only runs count whose logs were read.
    """
    read = [record for record in records if isinstance(record.get("errors"), list)]
    passed = [record for record in read if (record.get("verdict") or {}).get("result") == "pass"]
    counts: Counter[ErrorKind] = Counter()
    for record in passed:
        counts.update(kinds_of(record["errors"]))
    return {kind: round(count / len(passed), 3) for kind, count in counts.items()}


def kinds_of(errors: Iterable[Any]) -> set[ErrorKind]:
    """Return the kinds of some errors, which another release or anything else may have written."""
    kinds = set()
    for error in errors:
        if not isinstance(error, dict):
            continue
        service, logger, exception = (error.get(name) for name in ("service", "logger", "exception"))
        if isinstance(service, str) and isinstance(logger, str) and isinstance(exception, WORD):
            kinds.add((service, logger, exception))
    return kinds


def summarize(records: Iterable[Record]) -> dict[str, Record]:
    """Return for each stage in how many runs it worked, and how long it took."""
    seconds: dict[str, list[float]] = {name: [] for name in STAGES}
    for record in records:
        for stage in record["stages"]:
            taken = stage.get("duration_s")
            if stage["status"] == "ok" and taken is not None and stage["stage"] in seconds:
                seconds[stage["stage"]].append(taken)
    usual = {name: usual_of(taken) for name, taken in seconds.items()}
    return {name: codec.to_json(found) for name, found in usual.items() if found}
