# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the merge of a sweep costs: merge.py RUN.JSON [TARGETS [SLICES]], by default 1000 in 10 slices.

The outcome of every target is that of one real run: its times vary by a seed, and every fiftieth target fails.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import Result
from ansible_collections.stackproof.provision.plugins.module_utils._sweep import files, sweep, targets
from tree import ROOT

LIMIT_S = 5


def slice_of(runs, part, hosts, run, chance):
    """Write the directory of a slice that has ended."""
    whole = targets.targets_of(hosts, {}, "bench")
    sweep_id, chosen = targets.id_of("bench", part), targets.sliced(whole, part)
    record = sweep.new_sweep(sweep_id, "bench", chosen, parallel=4, part=targets.slice_record(part, whole))
    outcomes = [outcome(run, target, chance) for target in record.targets]
    directory = runs / f"sweep-{sweep_id}"
    directory.mkdir()
    files.save(sweep.finish(record, outcomes, sweep.Limits(times=3, seconds=5)), directory)


def outcome(run, target, chance):
    made = sweep.with_run(target, run, f"../{target.run_id}")
    failed = chance.random() < 0.02
    stages = [replace(stage, seconds=varied(stage.seconds or 0, chance)) for stage in made.stages]
    made = replace(made, stages=tuple(stages))
    if not failed:
        return made
    component = f"service-{chance.randrange(5)}"
    return replace(
        made, result=Result.FAIL, reason=f"{component} ({target.name}): silent", stage="boot", component=component
    )


def varied(seconds, chance):
    return round(seconds * chance.lognormvariate(0, 0.2), 3)


def main():
    path, targets, count = Path(sys.argv[1]), *map(int, [*sys.argv[2:], 1000, 10][:2])
    run, chance = from_json(Record, json.loads(path.read_text())), random.Random(1)
    hosts = [f"compute{number:04d}" for number in range(targets)]
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder)
        for number in range(1, count + 1):
            slice_of(runs, (number, count), hosts, run, chance)
        templates = str(ROOT / "roles/report/templates")
        options = {
            "state": "combined",
            "directories": [folder],
            "runs": folder,
            "sweep_id": "whole",
            "templates": templates,
        }
        command = [sys.executable, "-m", "ansible_collections.stackproof.provision.plugins.modules.sweep"]
        begun = time.monotonic()
        given = json.dumps({"ANSIBLE_MODULE_ARGS": options})
        # Its status is that of the verdict.
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
        took = time.monotonic() - begun
        answer = json.loads(done.stdout)
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        page = runs / "sweep-whole" / "sweep.html"
        record = json.loads((runs / "sweep-whole" / "sweep.json").read_text())
        assert len(record["targets"]) == targets
        size, lines = page.stat().st_size / 1024, len(answer["summary"])
        print(
            f"{targets} targets of {count} slices: {took:.2f} s, {memory:.0f} MiB; page {size:.0f} KiB; {lines} lines"
        )
        print(*answer["summary"][:10], sep="\n")
    if took > LIMIT_S:
        sys.exit(f"the limit is {LIMIT_S} s")


if __name__ == "__main__":
    main()
