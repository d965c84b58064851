# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a slice of the catalogue of faults on a lab and files each record with its truth; it can be taken up again.

make faults FAULTS=SEED:FROM-TO HALF=open|kept|fresh|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth,
or
FAULTS=SEED:FROM-TO:wrong for one class, or FAULTS=NAME,NAME
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
from catalogue import KEPT, OPEN, UNSEEN, catalogue, drawn, unseen_faults
from catalogue_parts import FaultClass
from catalogue_undone import differences, fingerprint
from devstack_faults import Devstack
from devstack_under_test import HOST
from fault_runs import end, has_ended, lab_as_root, run_with
from lab_under_test import NETWORK, connect, lab_host

SLICE = re.compile(r"(\w+):(\d+)-(\d+)(?::(dead|wrong))?")
HALVES = {"open": OPEN, "kept": KEPT, **UNSEEN}


def filed(lab, fault, folder):
    """Run a fault and file its record beside its truth, also if the lab does not become well afterwards."""
    verdicts = []

    def file(outcome):
        verdicts.append(outcome.record["verdict"])
        row = {"fault": fault.name, "cloud": NETWORK or "devstack", "truth": fault.truth, "record": outcome.record}
        (folder / f"{fault.name}.json").write_text(json.dumps(row))

    with tempfile.TemporaryDirectory() as runs:
        run_with(lab, fault, Path(runs), file)
    return verdicts[0]


def chosen(text, half):
    """The faults of a half that a slice or a list of names chooses."""
    slice_of = SLICE.fullmatch(text)
    if slice_of:
        seed, first, last, fault_class = slice_of.groups()
        return drawn(seed, half, FaultClass(fault_class) if fault_class else None)[int(first) : int(last)]
    faults = {**catalogue(), **unseen_faults()}
    return [faults[name] for name in text.split(",") if faults[name].half == half]


def devstack_as_root():
    return Devstack(lab_host(HOST, sudo=True), connect("devstack-admin"))


def main():
    signal.signal(signal.SIGTERM, end)
    folder, half = Path(sys.argv[1]), HALVES[sys.argv[2]]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lab = lab_as_root() if NETWORK else devstack_as_root()
    failed = []
    for fault in chosen(sys.argv[3], half):
        if (folder / f"{fault.name}.json").exists():
            continue
        try:
            before = fingerprint(lab)
            verdict = filed(lab, fault, folder)
            print(f"{fault.name}: {verdict['result']}, {verdict['stage']}: {verdict['reason'][:300]}", flush=True)
            left = differences(before, fingerprint(lab))
            if left:
                failed.append(fault.name)
                print(f"{fault.name}: not undone: {'; '.join(left)}", flush=True)
        except (Exception, pytest.fail.Exception):  # a wait that timed out is no Exception
            failed.append(fault.name)
            print(f"{fault.name}: failed", flush=True)
            traceback.print_exc()
            if has_ended():
                break
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
