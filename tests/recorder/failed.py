# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that failed by a fault that was made: of each what is judged, and of some the lines of logs with their ids."""

from __future__ import annotations

import functools
import re

from fault_runs import logs_now, run_with
from faults import FAULTS
from tree import RECORDED

from recorder.judged import judged
from recorder.making import old, pretty
from recorder.names import Names, same_ids
from recorder.rewriting import Rewriting
from recorder.thinning import fewer_alike
from recorder.times import Shift

# A line of the boot has the number of the client's request and Nova's own.
REQUESTS = re.compile(r"\[(req-[0-9a-f-]{36}) (req-[0-9a-f-]{36}) ")


def failed(making):
    for path in sorted((RECORDED / "failed").glob("*.json")):
        fault = FAULTS[path.stem]
        run_with(making.lab, fault, making.work / fault.name, functools.partial(file_run, making, fault))


def file_run(making, fault, outcome):
    """Called while the fault is there still."""
    record, path = outcome.record, f"failed/{fault.name}.json"
    now, before = judged(record, fault.name, fault.truth), old(path)
    shift = Shift(record["started"], before["record"]["started"])
    names = Names(same_ids(now["record"], before["record"]))
    making.write(path, pretty(Rewriting(names, shift, making.secrets)(now)))
    folder = RECORDED / "diagnosed" / fault.name
    if folder.exists():
        file_logs(making, logs_now(making.lab, record), record, folder, Rewriting(names, shift, making.secrets))


def file_logs(making, logs, record, folder, rewrite):
    """The lines with the ids of the boot, of all hosts, as a bundle of collected logs has them."""
    (boot,) = (stage for stage in record["stages"] if stage["stage"] == "boot")
    server = record["instance"]["server"]["id"]
    ours = {boot["details"]["request_id"], server}
    lines = {(host, path): [line for line in written if any(identity in line for identity in ours)]
             for host, files in logs.items() for path, written in files.items()}  # fmt: skip
    conductor = ("controller1", "/var/log/nova/nova-conductor.log")
    before = (folder / "controller1/var/log/nova/nova-conductor.log").read_text()
    for pair in zip(REQUESTS.search("".join(lines[conductor])).groups(), REQUESTS.search(before).groups()):
        rewrite.names.add(*(text.removeprefix("req-") for text in pair))
    making.clear(f"diagnosed/{folder.name}")
    for (host, path), kept in lines.items():
        if kept:
            making.write(f"diagnosed/{folder.name}/{host}{path}", rewrite.text("".join(fewer_alike(kept))))
