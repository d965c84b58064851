# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a sweep in slices costs that several processes share: slices.py [HOSTS...], by default 50, 100 and 200.

Four slices run at the same time on the played cloud of sweep.py, and are merged. From all sizes follows what a thousand
hosts would cost on this machine.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import threading
from pathlib import Path

from sweep import Spent, command_of, expected, names, played, refuse_some, results_of
from tree import ROOT

SLICES = 4
MANY = 1000
LIMIT_OF_MERGE_S = 5


class Memory(threading.Thread):
    """The most memory that processes and all their descendants had at one time. What they share counts once."""

    def __init__(self, processes):
        super().__init__(daemon=True)
        self.roots, self.most, self.ended = {process.pid for process in processes}, 0, threading.Event()

    def run(self):
        while not self.ended.wait(1):
            self.most = max(self.most, sum(map(share, family(self.roots))))


def family(roots):
    """The numbers of processes and of all their descendants."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(") ")[2].split()[1])
        except OSError:  # it has ended
            continue
    found, new = set(roots), set(roots)
    while new:
        new = {process for process, parent in parents.items() if parent in new} - found
        found |= new
    return found


def share(process):
    """The share of a process in the memory of this machine, in MiB."""
    try:
        said = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:  # it has ended
        return 0
    return int(re.search(r"^Pss: +(\d+) kB$", said, re.MULTILINE)[1]) / 1024


def begin(cloud, hosts, folder, number):
    part = {"slice": f"{number}/{SLICES}", "sweep_id": "shared"}
    command, environment = command_of(cloud, hosts, folder, **part)
    with (folder / f"log-{number}").open("w") as log:
        return subprocess.Popen(command, env=environment, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)


def shared(cloud, number, folder):
    """A sweep of so many hosts in slices: seconds, seconds of the processor, MiB, and the seconds of the merge."""
    hosts = names(number)
    refuse_some(cloud, hosts)
    with Spent() as spent:
        processes = [begin(cloud, hosts, folder, index) for index in range(1, SLICES + 1)]
        memory = Memory(processes)
        memory.start()
        for process in processes:
            process.wait()
        memory.ended.set()
        memory.join()

    given = {
        "stackproof_sweeps": [str(folder / "runs")],
        "stackproof_runs": str(folder),
        "stackproof_sweep_id": "whole",
    }
    command = ["ansible-playbook", "stackproof.provision.merge", "-e", json.dumps(given)]
    with Spent() as merging:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    record = json.loads((folder / "sweep-whole/sweep.json").read_text())
    assert results_of(record) == expected(number), done.stdout[-3000:]
    assert len({target["name"] for target in record["targets"]}) == number
    return spent.seconds, spent.own, memory.most, merging.seconds


def at(many, sizes, values):
    """The value for so many hosts, on the straight line through those that were measured."""
    slope, start = statistics.linear_regression(sizes, values)
    return start + slope * many


def main():
    sizes = [int(word) for word in sys.argv[1:]] or [50, 100, 200]
    measured = []
    for number in sizes:
        with played() as (cloud, folder):
            measured.append(shared(cloud, number, folder))
        took, own, memory, merged = measured[-1]
        print(
            f"{number} hosts in {SLICES} slices at once: {took:.0f} s, {own / number:.2f} s of the processor for each, "
            f"{memory:.0f} MiB; merge {merged:.1f} s, all of Ansible included",
            flush=True,
        )
    if len(sizes) > 1:
        took, own, memory, merged = (at(MANY, sizes, values) for values in zip(*measured, strict=True))
        print(
            f"{MANY} hosts would take {took / 60:.0f} min, {own / MANY:.2f} s of the processor for each, "
            f"{memory:.0f} MiB; merge {merged:.1f} s"
        )
        if merged > LIMIT_OF_MERGE_S:
            sys.exit(f"the merge of {MANY} hosts would take more than {LIMIT_OF_MERGE_S} s")


if __name__ == "__main__":
    main()
