# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long a million log lines take on one core, and how much memory: log_lines.py.

Each size is read by a process of its own, so that its memory is its own. One line of 500 is ours.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ansible_collections.stackproof.provision.plugins.module_utils._collect import commands, info_module
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs import reader
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs.wanted import Wanted, Writer
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json

SIZES = (250_000, 500_000, 1_000_000)
MOST_SECONDS, MOST_MIB = 30, 300
OURS = "req-5f0a7c1e-33b2-4d1c-9a57-3f6f0c7f8e11"
BEGIN = 1_700_000_000


def lines(count):
    """Lines as nova-compute writes them at DEBUG, a second of them for each thousand."""
    for number in range(count):
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(BEGIN + number // 1000))
        request = OURS if number % 500 == 0 else f"req-{number:08x}-0000-4000-8000-{number:012x}"
        level, message = ("INFO", "Claim successful on node c1") if number % 500 == 0 else ("DEBUG", "Lock released")
        yield (
            f"{stamp}.{number % 1000:03d} 386 {level} nova.compute.manager [{request} {request} {number:032x} "
            f"{number:032x} - - default default] [instance: {number:08x}-0000-4000-8000-{number:012x}] {message} "
            "inner /usr/lib/python3/dist-packages/oslo_concurrency/lockutils.py:424\n"
        )


def read(folder, count):
    """In a process of its own: seconds, mebibytes of it and its commands, and events."""
    wanted = {
        "keys": {"request": [OURS]},
        "phrases": [{"service": "nova-compute", "pattern": "Claim successful on node"}],
        "windows": [{"service": "nova-compute", "text": "seconds to build instance"}],
        "since": BEGIN - 300,
        "began": BEGIN,
        "until": BEGIN + count // 1000 + 1,
    }
    writers = [Writer("nova-compute", (f"{folder}/nova-compute.log",))]
    begun = time.monotonic()
    answer = reader.read(commands.Host(info_module.execute), writers, from_json(Wanted, wanted))
    took = time.monotonic() - begun
    kib = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps({"lines": count, "seconds": round(took, 2), "mib": kib // 1024, "events": len(answer.events)}))


def measure(count):
    with tempfile.TemporaryDirectory() as folder:
        with (Path(folder) / "nova-compute.log").open("w", encoding="utf-8") as log:
            log.writelines(lines(count))
        command = ["taskset", "--cpu-list", "0", sys.executable, __file__, folder, str(count)]
        return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def main():
    results = [measure(count) for count in SIZES]
    for result in results:
        print("{lines:>9} lines: {seconds:>6} s, {mib:>4} MiB, {events} events".format(**result))
    last, first = results[-1], results[0]
    assert last["events"] == last["lines"] // 500, "an event was lost"
    assert last["seconds"] <= MOST_SECONDS, f"more than {MOST_SECONDS} s"
    assert last["mib"] <= MOST_MIB, f"more than {MOST_MIB} MiB"
    growth = (last["seconds"] / first["seconds"]) / (last["lines"] / first["lines"])
    print(f"growth beside that of the lines: {growth:.2f}")
    assert growth < 1.5, "more than linear"


if __name__ == "__main__":
    read(sys.argv[1], int(sys.argv[2])) if len(sys.argv) == 3 else main()
