# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs of verify with a fault, and what the logs of the hosts have while it is on."""

from __future__ import annotations

import base64
import json
import os
import signal
import sys
from pathlib import Path

from breaking import Lab
from lab_under_test import HOSTS, INVENTORY, lab_host, until
from runs_under_test import LIMIT, Outcome, directories, ids_made, left_of, play, start, verify, wait_for_text

LOOK = Path(__file__).with_name("look_at_logs.py")
WHOLE = ("-i", str(INVENTORY))


def run_with(lab, fault, runs, afterwards=lambda _outcome: None):
    """One run with a fault, which is gone at the end, as is all that the run could not remove because of it."""
    given = lab.given | ({"boot_timeout": 30} if fault.stage == "boot" and lab.storage else {}) | fault.variables
    if "image_file" in given:
        given.pop("image", None)
    try:
        if fault.during:
            return run_broken_on_its_way(lab, fault, runs, given, afterwards)
        with fault.make(lab):
            outcome = verify(runs, *WHOLE, **given)
            afterwards(outcome)
            return outcome
    finally:
        clean_up(lab, runs, given["cloud"])


def run_broken_on_its_way(lab, fault, runs, given, afterwards):
    process = start(runs, *WHOLE, **given)
    try:
        wait_for_text(runs, fault.during, LIMIT)
        with fault.make(lab):
            output = process.communicate(timeout=LIMIT)[0]
            outcome = Outcome(process.returncode, output, (Path(runs) / "latest").resolve())
            afterwards(outcome)
            return outcome
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            process.communicate(timeout=LIMIT)


def clean_up(lab, runs, cloud):
    """What a fault kept a run from removing goes once the fault is gone."""
    run_directories = directories(runs)
    if not left_of(run_directories, lab.admin, lab.storage):
        return
    kept = {directory: (directory / "run.json").read_text() for directory in run_directories}
    status, output = play("cleanup", cloud=cloud, runs=runs)
    for directory, text in kept.items():
        (directory / "run.json").write_text(text)  # the record of the run itself is what is judged
    assert status == 0, output
    drop_orphans(lab, run_directories)
    # Some of it goes with Nova's periodic tasks, of which each begins once a minute.
    until("nothing to be left", lambda: not left_of(run_directories, lab.admin, lab.storage), 150, 2)


def drop_orphans(lab, run_directories):
    """A scheduler that comes back late still claims a host, for a server that is gone."""
    servers = {instance["id"] for instance in lab.admin.compute.get("/servers/detail?all_tenants=1").json()["servers"]}
    for server in ids_made(run_directories).get("server", set()) - servers:
        lab.admin.placement.delete(f"/allocations/{server}")


# What the logs have


def look_at(host, ids, begun):
    script = base64.b64encode(LOOK.read_bytes()).decode()
    asked = base64.b64encode(json.dumps({"ids": ids, "begun": begun}).encode()).decode()
    return json.loads(host.check_output(f"echo {script} | base64 -d | timeout 60 python3 - {asked}"))


def ids_of(record):
    """The ids by which the services' logs know a run."""
    ids = set()
    for stage in record["stages"]:
        ids |= {call.get("request_id") for call in stage["calls"]}
        ids |= {
            resource.get("id")
            for resource in stage["resources"]
            if resource.get("kind") in ("server", "port", "volume")
        }
    instance = record.get("instance") or {}
    ids |= {port["id"] for port in instance.get("ports") or []}
    ids |= {(instance.get("server") or {}).get("id")}
    return sorted(identity for identity in ids if identity)


def logs_now(lab, record):
    """Of each host the lines of its logs with an id of a run or with an error, by the paths of the logs."""
    return {name: look_at(lab.hosts[name], ids_of(record), record["started"]) for name in HOSTS}


def end(*_signal):
    """End early, with a lab without the fault all the same: a second signal does not end what is undone."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit("ended from outside")


def has_ended():
    """Whether it was ended from outside, which an error while a fault was undone may hide."""
    return signal.getsignal(signal.SIGTERM) == signal.SIG_IGN


def lab_as_root():
    return Lab({name: lab_host(name, sudo=True) for name in HOSTS})
