# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compares a run with the runs before it, out of their directories."""

from __future__ import annotations

import os
import re
import statistics
from collections import Counter

from .._record.errors import StageError
from .._record.ledger import regular
from .._record.numbers import percentile
from .._record.run import STAGES, read_record, run_directories

# A record says among its first characters when the run began.
HEAD = 2000
WORD = (str, type(None))
STARTED = re.compile(r'"started": "([^"]+)"')


def earlier_records(runs, record, most):
    """The records of the last runs of the same cloud, as far as they can be read."""
    records = []
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


def began(directory):
    """The start of a run by the first lines of its record: there may be thousands of runs, and only the last count."""
    try:
        path = os.path.join(directory, "run.json")
        with open(path, encoding="utf-8", errors="replace", opener=regular) as stream:
            match = STARTED.search(stream.read(HEAD))
    except OSError:
        match = None
    return match[1] if match else ""


def usual_errors(records):
    """(service, logger, exception) of errors to the share of the runs that passed which logged such a one as well.

    Only runs count whose logs were read.
    """
    read = [record for record in records if isinstance(record.get("errors"), list)]
    passed = [record for record in read if (record.get("verdict") or {}).get("result") == "pass"]
    counts = Counter(kind for record in passed for kind in kinds_of(record["errors"]))
    return {kind: round(count / len(passed), 3) for kind, count in counts.items()}


def kinds_of(errors):
    """Another version may have written them, or anybody else."""
    listed = [error for error in errors if isinstance(error, dict)]
    kinds = [tuple(error.get(name) for name in ("service", "logger", "exception")) for error in listed]
    return {kind for kind in kinds if all(isinstance(word, str) for word in kind[:2]) and isinstance(kind[2], WORD)}


def summarize(records):
    """Of each stage: in how many runs it worked, and how long it took."""
    summary = {}
    for name in STAGES:
        seconds = [
            stage["duration_s"]
            for record in records
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
