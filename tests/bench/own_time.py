#!/usr/bin/env python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long verify takes beside its requests and its waits for the cloud, by part: own_time.py CLOUD [RUNS].

Everything is at its defaults. Fails if the median of the whole is over the limit.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

LIMIT = 2.5
START, BETWEEN, END = "until the run begins", "between the stages", "after the record"


def busy(stage):
    """The spans of time in which a stage waited for the cloud, in their order."""
    spans = []
    for line in [*stage["calls"], *stage["waits"]]:
        begun = datetime.fromisoformat(line["started"])
        spans.append((begun, begun + timedelta(seconds=line["seconds"])))
    return sorted(spans)


def own_seconds(begun, ended, spans):
    """The seconds from begun to ended that lie in none of the spans."""
    own, at = timedelta(), begun
    for first, last in spans:
        own += max(first - at, timedelta())
        at = max(at, last)
    return (own + max(ended - at, timedelta())).total_seconds()


def parts_of(record, called, returned):
    """Part of a run to its own seconds. called and returned: when ansible-playbook began and ended."""
    stages = [stage for stage in [*record["stages"], record["removal"]] if stage and stage["started"]]
    parts = {START: own_seconds(called, datetime.fromisoformat(record["started"]), [])}
    begun, finished = (datetime.fromisoformat(record[key]) for key in ("started", "finished"))
    of_stages = []
    for stage in stages:
        span = tuple(datetime.fromisoformat(stage[key]) for key in ("started", "finished"))
        of_stages.append(span)
        parts[stage["stage"]] = own_seconds(*span, busy(stage))
    parts[BETWEEN] = own_seconds(begun, finished, sorted(of_stages))
    parts[END] = own_seconds(finished, returned, [])
    return parts


def measure(cloud, runs):
    variables = json.dumps({"stackproof_cloud": cloud, "stackproof_runs": runs})
    called = datetime.now(timezone.utc)
    command = ["ansible-playbook", "stackproof.provision.verify", "-e", variables]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    returned = datetime.now(timezone.utc)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    record = json.loads(Path(runs, "latest/run.json").read_text())
    return parts_of(record, called, returned)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    cloud, times = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory() as runs:
        measured = [measure(cloud, runs) for _time in range(times)]
    print(f"{'part':<22} median s  of {times} runs")
    for part in measured[0]:
        seconds = [parts[part] for parts in measured]
        print(f"{part:<22} {statistics.median(seconds):>8.2f}  {', '.join(f'{value:.2f}' for value in seconds)}")
    whole = [sum(parts.values()) for parts in measured]
    print(f"{'own time':<22} {statistics.median(whole):>8.2f}  {', '.join(f'{value:.2f}' for value in whole)}")
    print(f"limit {LIMIT}")
    sys.exit(statistics.median(whole) > LIMIT)


if __name__ == "__main__":
    main()
