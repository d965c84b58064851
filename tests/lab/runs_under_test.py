# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs of verify on the lab, as an operator starts them, and what the cloud holds of them afterwards."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from guard import assert_no_defect
from lab_under_test import DIRECTORY

# Beside a devstack that is built, on a slow machine, two guests with a journey take seven minutes.
LIMIT = 900
SECONDS_TO_FREE = 60
# The processes that start has started, each with its folder of runs
STARTED = []


class Outcome(NamedTuple):
    status: int
    output: str
    directory: Path

    @property
    def record(self):
        return json.loads((self.directory / "run.json").read_text())

    def stage(self, name):
        return next(stage for stage in self.record["stages"] if stage["stage"] == name)

    @property
    def ledger(self):
        return [json.loads(line) for line in (self.directory / "ledger.jsonl").read_text().splitlines()]


TIMEOUT = "_timeout"


def command(playbook, *arguments, **variables):
    """Return a call of a playbook. A name such as boot_timeout is a key of the variable timeouts."""
    timeouts = {name.removesuffix(TIMEOUT): variables[name] for name in variables if name.endswith(TIMEOUT)}
    given = {f"stackproof_{name}": value for name, value in variables.items() if not name.endswith(TIMEOUT)}
    if timeouts:
        given["stackproof_timeouts"] = timeouts
    return ["ansible-playbook", f"stackproof.provision.{playbook}", *arguments, "-e", json.dumps(given, default=str)]


def environment(**more):
    return dict(os.environ, OS_CLIENT_CONFIG_FILE=str(DIRECTORY / "clouds.yaml")) | more


def play(playbook, *arguments, env=None, timeout=LIMIT, **variables):
    done = subprocess.run(
        command(playbook, *arguments, **variables),
        env=environment(**(env or {})),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert_no_defect(done.stdout)
    return done.returncode, done.stdout


def verify(runs, *arguments, env=None, **variables):
    """Run verify to its end. Returns what it said and where its record is."""
    variables = {"cloud": "lab", "runs": runs, **variables}
    status, output = play("verify", *arguments, env=env, **variables)
    assert_no_defect(Path(runs))
    return Outcome(status, output, (Path(runs) / "latest").resolve())


@contextlib.contextmanager
def kept_run(runs, *arguments, **variables):
    """A run that passes and whose instance stays until the end."""
    outcome = verify(runs, *arguments, keep="always", **variables)
    assert outcome.status == 0, outcome.output
    try:
        yield outcome
    finally:
        status, output = play("cleanup", cloud=variables.get("cloud", "lab"), run_dir=outcome.directory)
        assert status == 0, output


def start(runs, *arguments, **variables):
    """Start verify in a session of its own and go on."""
    process = subprocess.Popen(
        command("verify", *arguments, **{"cloud": "lab", "runs": runs, **variables}),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    STARTED.append((process, runs))
    return process


def end_started():
    """End what was started and still goes on, as a test that failed did not wait for it. Its watcher cleans up."""
    running = [(process, runs) for process, runs in STARTED if process.poll() is None]
    folders = {Path(runs) for _process, runs in STARTED}
    STARTED.clear()
    for process, _runs in running:
        kill_tree(process)
    for path in {path for _process, runs in running for path in Path(runs).glob("*/watched")}:
        # The fixtures, which come next, say what is left.
        with contextlib.suppress(OSError, AssertionError):
            wait_for_watcher(path.parent, limit=90)
    for folder in folders:
        assert_no_defect(folder)


def descendants(process):
    """The ids of a process and of all that it has started, also in sessions of their own."""
    children = {}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(path.name))
    family = [process]
    for pid in family:
        family.extend(children.get(pid, []))
    return family


def watcher_of(runs):
    """The id of the process that watches the newest run: it names itself in the run's directory."""
    with contextlib.suppress(OSError):
        parts = (Path(runs) / "latest" / "watched").read_text().split("/")
        return int(parts[2]) if len(parts) > 2 else None
    return None


def wait_for_watcher(directory, limit=10):
    """Wait until no process watches a run any more, which is when its lock is free."""
    with open(directory / "watched", encoding="ascii") as lock:
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            with contextlib.suppress(BlockingIOError):
                return fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            time.sleep(0.1)
    raise AssertionError(f"{directory} is still watched after {limit} s")


def kill_all(process, runs):
    """The machine's end, as far as a test may bring it about: nothing of a run lives on."""
    watcher = watcher_of(runs)
    kill_tree(process, [watcher] if watcher else [])


def kill_tree(process, others=()):
    """End a process and all that it started, and others, at once and without a warning."""
    for pid in [*others, *reversed(descendants(process.pid))]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def wait_for_progress(runs, stage, limit=120, run="latest"):
    """Wait until a run, by default the newest one, says something of a stage."""
    wait_for_text(runs, f'"stage": "{stage}"', limit, run)


def wait_for_text(runs, text, limit=120, run="latest"):
    """Wait until the progress of a run, by default the newest one, has this text."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if text in (Path(runs) / run / "progress.jsonl").read_text():
                return
        time.sleep(0.05)
    raise AssertionError(f"the run did not come to {text} within {limit} s")


def wait_for_end(runs, limit=90):
    """Wait until the newest run has ended, whoever ends it."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        outcome = Outcome(0, "", (Path(runs) / "latest").resolve())
        if outcome.record["finished"]:
            return outcome
        time.sleep(0.2)
    raise AssertionError(f"the run had not ended after {limit} s")


def directories(runs):
    return [path for path in Path(runs).iterdir() if path.is_dir() and not path.is_symlink()]


def ids_made(directories):
    """Every id that the ledgers of these runs name, by its kind."""
    ids = {}
    for directory in directories:
        ledger = directory / "ledger.jsonl"
        for text in ledger.read_text().splitlines() if ledger.exists() else []:
            with contextlib.suppress(ValueError):
                line = json.loads(text)
                if line.get("id"):
                    ids.setdefault(line["kind"], set()).add(line["id"])
    return ids


def left_of(directories, admin, storage, mark="stackproof-"):
    """Whatever the cloud, Ceph and placement still hold of these runs, found by mark and by id.

    storage is the host that is asked about Ceph, if the cloud has one.
    """
    marks = [f"{mark}{directory.name}" for directory in directories]

    def is_marked(text):
        return any((text or "").startswith(prefix) for prefix in marks)

    neutron, left = admin.network, []
    listings = {
        "server": admin.compute.servers(all_projects=True),
        "volume": admin.block_storage.volumes(all_projects=True) if has_volumes(admin) else [],
        "image": admin.image.images(),
        "network": neutron.networks(),
        "subnet": neutron.subnets(),
        "router": neutron.routers(),
        "port": neutron.ports(),
        "security_group": neutron.security_groups(),
        "floating_ip": neutron.ips(),
        "keypair": admin.compute.keypairs(),
    }
    ids = ids_made(directories)
    servers = ids.get("server", set())
    for kind, listing in listings.items():
        for thing in listing:
            named = is_marked(thing.name) or is_marked(getattr(thing, "description", None))
            ours = thing.id in ids.get(kind, set()) or getattr(thing, "device_id", None) in servers
            if named or ours:
                left.append(f"{kind} {thing.name} {thing.id}")
    pools = {"vms": "server", "volumes": "volume", "images": "image"}
    for pool in [name for name in pools if storage and ids.get(pools[name])]:
        objects = storage.check_output(f"rbd --pool {pool} ls").split()
        left += [f"{pool}/{name}" for name in objects if any(identity in name for identity in ids[pools[pool]])]
    placement = admin.placement
    for server in servers:
        left += [] if is_freed(placement, server) else [f"allocation of {server}"]
    return left


def is_freed(placement, server):
    """Return whether a server that is gone holds nothing. A host that was halted frees it when it works again."""
    for _look in range(SECONDS_TO_FREE):
        if not placement.get(f"/allocations/{server}").json()["allocations"]:
            return True
        time.sleep(1)
    return False


def has_volumes(cloud):
    types = {service["type"] for service in cloud.service_catalog}
    return bool(types & {"block-storage", "volumev3", "volume"})


@contextlib.contextmanager
def nothing_left(top, admin, storage):
    """See to it that at the end nothing is left on the cloud of the runs below a folder."""
    try:
        yield
    finally:
        folders = {path.parents[1] for path in Path(top).glob("**/run.json")}
        left = {folder: things for folder in folders if (things := left_of(directories(folder), admin, storage))}
        for folder in left:
            play("cleanup", runs=folder)  # the next test finds a clean cloud even if this one failed
        assert not left
