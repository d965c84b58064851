# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compares a run with the runs before it, out of their directories."""

from __future__ import annotations

import os
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from .._record.errors import StageError
from .._record.ledger import regular
from .._record.numbers import percentile
from .._record.run import STAGES, read_record, run_directories

# A record says among its first characters when the run began.
HEAD = 2000
WORD = (str, type(None))
Record = Mapping[str, Any]
# Service, logger and exception
ErrorKind = tuple[str, str, str | None]
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
    """Return when a run started by the first lines of its record: there may be thousands, and only the last count."""
    try:
        path = os.path.join(directory, "run.json")
        with open(path, encoding="utf-8", errors="replace", opener=regular) as stream:
            match = STARTED.search(stream.read(HEAD))
    except OSError:
        match = None
    return match[1] if match else ""


def usual_errors(records: Iterable[Record]) -> dict[ErrorKind, float]:
    """Return the share of the runs that passed which logged each kind of error.

    Only runs count whose logs were read.
    """
    read = [record for record in records if isinstance(record.get("errors"), list)]
    passed = [record for record in read if (record.get("verdict") or {}).get("result") == "pass"]
    counts = Counter(kind for record in passed for kind in kinds_of(record["errors"]))
    return {kind: round(count / len(passed), 3) for kind, count in counts.items()}


def kinds_of(errors: Iterable[Any]) -> set[ErrorKind]:
    """Return the kinds of errors, which another version may have written, or anybody else."""
    listed = [error for error in errors if isinstance(error, dict)]
    kinds = set()
    for error in listed:
        service, logger, exception = (error.get(name) for name in ("service", "logger", "exception"))
        if isinstance(service, str) and isinstance(logger, str) and isinstance(exception, WORD):
            kinds.add((service, logger, exception))
    return kinds


def summarize(records: Iterable[Record]) -> dict[str, dict[str, Any]]:
    """Return in how many runs each stage worked, and how long it took."""
    listed = list(records)
    summary = {}
    for name in STAGES:
        seconds = [
            stage["duration_s"]
            for record in listed
            for stage in record["stages"]
            if stage["stage"] == name and stage["status"] == "ok" and stage.get("duration_s") is not None
        ]
        if seconds:
            summary[name] = {
                "runs": len(seconds),
                "median_s": round(statistics.median(seconds), 3),
                "p95_s": round(percentile(seconds, 0.95), 3),
            }
    return summary
