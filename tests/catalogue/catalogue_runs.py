# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a slice of the catalogue of faults on a lab and files each record with its truth; it can be taken up again.

make faults FAULTS=SEED:FROM-TO HALF=open|kept
"""

from __future__ import annotations

import json
import re
import signal
import sys
import tempfile
import traceback
from pathlib import Path

import pytest
from catalogue import KEPT, OPEN, drawn
from devstack_faults import Devstack
from devstack_under_test import HOST
from fault_runs import end, has_ended, lab_as_root, run_with
from lab_under_test import NETWORK, connect, lab_host

SLICE = re.compile(r"(\w+):(\d+)-(\d+)")
HALVES = {"open": OPEN, "kept": KEPT}


def filed(lab, fault, folder):
    """Run a fault and file its record beside its truth, also if the lab does not become well afterwards."""
    truth = {"components": sorted(fault.components), "hosts": sorted(fault.hosts), "moment": fault.moment}
    told = []

    def file(outcome):
        told.append(outcome.record["verdict"])
        row = {"fault": fault.name, "truth": truth, "record": outcome.record}
        (folder / f"{fault.name}.json").write_text(json.dumps(row))

    with tempfile.TemporaryDirectory() as runs:
        run_with(lab, fault, Path(runs), file)
    return told[0]


def devstack_as_root():
    return Devstack(lab_host(HOST, sudo=True), connect("devstack-admin"))


def main():
    signal.signal(signal.SIGTERM, end)
    folder, half = Path(sys.argv[1]), HALVES[sys.argv[2]]
    seed, first, last = SLICE.fullmatch(sys.argv[3]).groups()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lab = lab_as_root() if NETWORK else devstack_as_root()
    failed = []
    for fault in drawn(seed, half)[int(first) : int(last)]:
        if (folder / f"{fault.name}.json").exists():
            continue
        try:
            verdict = filed(lab, fault, folder)
            print(f"{fault.name}: {verdict['result']}, {verdict['stage']}: {verdict['reason'][:300]}", flush=True)
        except (Exception, pytest.fail.Exception):  # what was waited for in vain is no Exception
            failed.append(fault.name)
            print(f"{fault.name}: failed", flush=True)
            traceback.print_exc()
            if has_ended():
                break
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
