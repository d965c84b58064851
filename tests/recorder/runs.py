# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole directories of runs by a plain user, without a look at the hosts: one after the other in one folder."""

from __future__ import annotations

import contextlib
import json
import os
import signal

from runs_under_test import LIMIT, start, wait_for_end, wait_for_text

from recorder.making import lines, old, pretty

FILES = ("run.json", "ledger.jsonl", "progress.jsonl", "junit.xml", "metrics.prom")
NO_VOLUME = {"volume": "none"}
REACHED = {"floating_ip": True, "tcp_port": 80}
WAITING = '"stage": "metadata", "text": "waiting for the guest'
GIANT = "recorder-giant"
# The names of the recorded runs, in their order; how each is started, and with which status it ends
RUNS = {
    "20261121-064729-83fa19": ({}, 0),
    "20261121-064827-3a1ecd": ({}, 0),
    "20261121-065105-bdb5f5": ({}, 0),
    "20261121-065322-ce7f74": ({"host": "compute1"}, 2),
    "20261121-065330-a90299": ({"volume_type": "nope"}, 2),
    "20261121-065335-3d402b": ({"services": ["compute", "dns"]}, 2),
    "20261121-065405-617d6b": (REACHED, None),
    "20261121-065813-30e86c": (REACHED, 0),
    "20261121-065959-7ac54f": ({"cloud": "lab-admin", "host": "compute2", **NO_VOLUME}, 0),
    "20261121-072312-484866": (NO_VOLUME, 0),
    "20261121-073057-d8aefd": ({"flavor": GIANT, **NO_VOLUME}, 2),
}


def runs(making):
    with giant_flavor(making.lab.admin):
        for name, (variables, status) in RUNS.items():
            given = {"cloud": "lab", **variables}
            if status is None:
                outcome = broken_off(making.work / "runs", given)
            else:
                outcome = making.run("runs", status=status, **given)
            file_run(making, outcome, name)


@contextlib.contextmanager
def giant_flavor(admin):
    """A flavor that the project's quota does not hold."""
    flavor = admin.compute.create_flavor(name=GIANT, ram=1 << 20, vcpus=1, disk=1)
    try:
        yield
    finally:
        admin.compute.delete_flavor(flavor)


def broken_off(folder, variables):
    """A run that its user interrupts while it waits for the guest."""
    process = start(folder, **variables)
    wait_for_text(folder, WAITING)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=LIMIT)
    return wait_for_end(folder)


def file_run(making, outcome, name):
    rewrite = making.rewriting(outcome.record, old(f"runs/{name}/run.json"))
    for file in FILES:
        text = (outcome.directory / file).read_text()
        if file == "run.json":
            # What the API alone shows of the flows is long; they are recorded elsewhere.
            text = pretty({**rewrite(json.loads(text)), "flows": []})
        elif file.endswith(".jsonl"):
            text = lines(rewrite(json.loads(line)) for line in text.splitlines())
        else:
            text = rewrite.text(text)
        making.write(f"runs/{name}/{file}", text)
