# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measure what the history of many runs costs: history.py RUN.JSON [RUNS], by default 2000.

The lines of all runs but the last are made of that of one real run: its times vary by a seed, every fiftieth run fails,
and the image changes now and then. As after each run, one new record is read, and all files are written.
"""

from __future__ import annotations

import json
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path

from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._runs.digest import digest_of
from tree import ROOT

LIMIT_S, LIMIT_BYTES = 2, 2 << 20
EVERY = timedelta(minutes=5)


def lines(record, number, chance):
    """The lines of so many runs, five minutes apart, up to the real one."""
    digest = codec.to_json(digest_of(codec.from_json(Record, record), record["run_id"]))
    last = datetime.fromisoformat(digest["started"])
    for back in range(number, 0, -1):
        name, began = f"{back:06d}-before", last - back * EVERY
        failed = chance.random() < 0.02
        yield {
            **digest,
            "directory": name,
            "run_id": name,
            "started": f"{began:%Y-%m-%dT%H:%M:%S.%f}+00:00",
            "result": "fail" if failed else "pass",
            "headline": f"the service is silent for {chance.randrange(60)} s" if failed else None,
            "component": f"service-{chance.randrange(12)}" if failed else None,
            "how": "silent" if failed else None,
            "stages": {stage: varied(seconds, chance) for stage, seconds in digest["stages"].items()},
            "steps": {step: varied(seconds, chance) for step, seconds in digest["steps"].items()},
            "facts": {**digest["facts"], "image": f"image-{back // 400}", "host": f"compute{chance.randrange(40):02d}"},
            "size": 1,
            "changed": 1,
        }


def varied(seconds, chance):
    return round(seconds * chance.lognormvariate(0, 0.2), 3)


def main():
    path, number = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    record = json.loads(path.read_text())
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder)
        (runs / record["run_id"]).mkdir()
        shutil.copy(path, runs / record["run_id"] / "run.json")
        with (runs / "history.jsonl").open("w") as stream:
            stream.writelines(json.dumps(line) + "\n" for line in lines(record, number - 1, random.Random(1)))
        arguments = {"runs": str(runs), "most": number, "templates": str(ROOT / "roles/report/templates")}
        command = [sys.executable, "-m", "ansible_collections.stackproof.provision.plugins.modules.history"]
        given = json.dumps({"ANSIBLE_MODULE_ARGS": arguments})
        begun = time.monotonic()
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
        took = time.monotonic() - begun
        assert re.search(rf'"runs": {number}\b', done.stdout), done.stdout
        size = (runs / "history.html").stat().st_size
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        kept = (runs / "history.jsonl").stat().st_size / number
        print(
            f"{number} runs: {took:.2f} s, {memory:.0f} MiB; page {size / 1024:.0f} KiB; {kept:.0f} bytes for each run"
        )
    if took > LIMIT_S or size > LIMIT_BYTES:
        sys.exit(f"the limits are {LIMIT_S} s and {LIMIT_BYTES >> 10} KiB")


if __name__ == "__main__":
    main()
