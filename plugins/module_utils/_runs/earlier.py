# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Earlier runs on the same cloud, from their directories: how long they took, and which errors they logged as well."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable

from .._model.error_kind import ErrorKind
from .._model.record import EarlierRun, EarlierRuns, Record
from .._model.words import Result, StageStatus
from .._record.errors import StageError
from .._record.ledger import regular
from .._record.run import OPTIONAL, STAGES, read_as, run_directories
from .figures import usual_of

# A record has the time at which its run began among its first characters.
HEAD = 2000
STARTED = re.compile(r'"started": "([^"]+)"')


def earlier_runs(runs: str, record: Record, most: int) -> list[EarlierRun]:
    """Return the last runs of the same cloud before this one, as far as they can be read."""
    found: list[EarlierRun] = []
    # Sorted by their time and not by their names, which may be anything.
    for directory in sorted(run_directories(runs), key=began, reverse=True):
        if len(found) >= most:
            break
        try:
            other = read_as(EarlierRun, directory)
        except (StageError, OSError):
            continue
        if other.cloud == record.cloud and other.started < record.started:
            found.append(other)
    return found


def began(directory: str) -> str:
    """Return the begin of a run by the first lines of its record: there may be thousands, and only the last count."""
    try:
        path = os.path.join(directory, "run.json")
        with open(
            path, encoding="utf-8", errors="replace", opener=regular
        ) as stream:
            match = STARTED.search(stream.read(HEAD))
    except OSError:
        match = None
    return match[1] if match else ""


def usual_errors(runs: Iterable[EarlierRun]) -> dict[ErrorKind, float]:
    """Return for each kind of error the share of the runs that passed which logged it as well.

    Only runs count whose logs were read.
    """
    passed = [
        run.errors
        for run in runs
        if run.errors is not None and run.verdict.result is Result.PASS
    ]
    counts: Counter[ErrorKind] = Counter()
    for errors in passed:
        counts.update(set(errors))
    return {
        kind: round(count / len(passed), 3) for kind, count in counts.items()
    }


def summarize(runs: Iterable[EarlierRun]) -> dict[str, EarlierRuns]:
    """Return for each stage in how many runs it worked, and how long it took."""
    seconds: dict[str, list[float]] = {
        name.value: [] for name in (*STAGES, *OPTIONAL)
    }
    for run in runs:
        for stage in run.stages:
            if stage.status is not StageStatus.OK or stage.duration_s is None:
                continue
            if stage.stage in seconds:
                seconds[stage.stage.value].append(stage.duration_s)
    summary = {}
    for name, taken in seconds.items():
        usual = usual_of(taken)
        if usual:
            summary[name] = usual
    return summary
