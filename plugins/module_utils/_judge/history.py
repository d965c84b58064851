# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a run compares with the runs before it, out of their directories."""

from __future__ import annotations

import math
import os
import re
import statistics

from .._record.errors import StageError
from .._record.run import STAGES, read_record, run_directories

# Where a record tells when it began
HEAD, STARTED = 2000, re.compile(r'"started": "([^"]+)"')


def earlier_records(runs, record, most):
    """The records of the last runs of the same cloud, as far as they can be read."""
    found = []
    # By their time and not by their names, which may be anything.
    for directory in sorted(run_directories(runs), key=began, reverse=True):
        if len(found) >= most:
            break
        try:
            other = read_record(directory)
        except (StageError, OSError):
            continue
        if other["cloud"] == record["cloud"] and other["started"] < record["started"]:
            found.append(other)
    return found


def began(directory):
    """When a run began, out of the first lines of its record: there may be thousands, of which only the last count."""
    try:
        with open(os.path.join(directory, "run.json"), encoding="utf-8", errors="replace") as stream:
            found = STARTED.search(stream.read(HEAD))
    except OSError:
        found = None
    return found[1] if found else ""


def percentile(values, share):
    """The smallest value that at least this share of all values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def summarize(records):
    """Per stage: in how many runs it worked, and how long it took them."""
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
