# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lab's whole life: machines that cannot hold one, hosts switched off, builds killed, and two labs side by side."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from lab_under_test import GROUPS, INVENTORY, playbook, until
from machine import AS_ROOT, more, said, traces
from runs_under_test import kill_tree, play, verify
from test_verify import assert_sound

OTHER = "lifelab"
KILLED = 10
# A build with a root file system at hand takes this long, so each part of it may be hit.
LONGEST = 90
POWER_LOST = 5
# The controller's steps take this long.
STEPS_TAKE = 25
# All processes of a host, also those that are about to start others
LOSE_POWER = "for round in 1 2 3; do ip netns pids {}-{} | xargs --no-run-if-empty kill -KILL; done"
# How ssh keeps a connection open for the next command
LINGERS = 150


def lab_in(place, topology="five"):
    """What makes commands work on another lab than the one under test."""
    return {"LAB_NAME": OTHER, "LAB_DIRECTORY": str(place / ".lab"), "LAB_TOPOLOGY": topology, "LAB_PREFIX": ""}


@contextlib.contextmanager
def no_trace(lab):
    """Another lab for a while, of which nothing is on the machine afterwards."""
    before = traces(OTHER)
    try:
        yield
    finally:
        gone = playbook("destroy", **lab)
    assert gone.returncode == 0, gone.stdout
    assert not Path(lab["LAB_DIRECTORY"]).exists()
    last = {}

    def nothing():
        last.clear()
        last.update(more(before, traces(OTHER)))
        return not last

    with contextlib.suppress(pytest.fail.Exception):
        until("nothing is left", nothing, LINGERS, 5)
    assert not last


def assert_it_provisions(lab, runs):
    inventory = Path(lab["LAB_DIRECTORY"]) / "inventory.yml"
    clouds = {"OS_CLIENT_CONFIG_FILE": str(inventory.parent / "clouds.yaml")}
    status, output = play("verify", "-i", str(inventory), env=clouds, cloud="lab", runs=runs)
    assert status == 0, output
    assert "host checks passed" in output


# Where a lab cannot be


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            "sed 's/^MemAvailable:.*/MemAvailable: 2097152 kB/' /proc/meminfo > $1/f; mount --bind $1/f /proc/meminfo",
            "2.0 GiB of memory are available and the lab needs 10",
        ),
        ("mount -t tmpfs -o size=1g none /var/lib/stackproof", "1.0 GiB are free below /var/lib/stackproof"),
        (
            "printf 'ID=slackware\nVERSION_ID=15.0' > $1/f; mount --bind $1/f /etc/os-release",
            "This machine runs slackware 15.0. The lab is made for debian 12",
        ),
    ],
    ids=["memory", "disk", "system"],
)
def test_a_machine_that_cannot_hold_a_lab_is_told_why_and_stays_as_it_was(change, says, tmp_path):
    """What the machine has is changed for the one process that looks at it."""
    # The words of the command follow those of the change: the place for its files, and then the rest.
    before = [*AS_ROOT, "unshare", "--mount", "sh", "-ec", f'{change}; shift; exec "$@"', "sh", str(tmp_path)]
    done = playbook("up", before=before, **lab_in(tmp_path))
    assert done.returncode != 0
    assert says in done.stdout
    assert not (tmp_path / ".lab").exists()


@pytest.mark.soak
def test_a_disk_that_gets_full_during_a_build_is_said_and_no_fuller_afterwards(tmp_path):
    (tmp_path / "cache").mkdir()
    listing = tmp_path / "listing"
    change = 'mount -t tmpfs -o size=300m none "$1"; shift; "$@"; status=$?'
    before = [*AS_ROOT, "unshare", "--mount", "sh", "-c", f"{change}; find {tmp_path}/cache > {listing}; exit $status"]
    lab = lab_in(tmp_path)
    with no_trace(lab):
        done = playbook("up", "-e", f"lab_cache={tmp_path}/cache", before=[*before, "sh", f"{tmp_path}/cache"], **lab)
        assert done.returncode != 0
        assert "could not be fetched and unpacked into" in done.stdout
        assert any(words in done.stdout for words in ("No space left on device", "enough free space")), done.stdout
        assert listing.read_text().split() == [f"{tmp_path}/cache", f"{tmp_path}/cache/rootfs"]


# Hosts that go


@pytest.mark.soak
@pytest.mark.parametrize("group", ["storage", "compute", "controller", "network"])
def test_a_host_that_was_switched_off_is_named_and_started_again(group, lab_hosts, runs):
    host = GROUPS[group][0]
    # A moment later, so that the command itself ends well.
    lab_hosts[host].check_output("systemd-run --on-active=1 systemctl poweroff")
    named = f"{host}: the host could not be checked"
    until("the status names it", lambda: named in playbook("status").stdout, 60)
    # Its last processes may still be ending.
    begun = time.monotonic()
    built = playbook("up")
    assert built.returncode == 0, built.stdout
    print(f"\n{host} was switched off, and all was well {time.monotonic() - begun:.0f} s later")
    outcome = verify(runs, "-i", str(INVENTORY), cloud="lab-admin", host=GROUPS["compute"][0])
    assert outcome.status == 0, outcome.output
    assert_sound(outcome)


# Other labs


@pytest.mark.soak
def test_a_lab_of_one_host_beside_this_one_comes_and_goes_without_a_trace(tmp_path, runs):
    lab = lab_in(tmp_path, "one")
    with no_trace(lab):
        built = playbook("up", **lab)
        assert built.returncode == 0, built.stdout
        assert_it_provisions(lab, tmp_path / "runs")
        assert verify(runs, "-i", str(INVENTORY)).status == 0
        # Who has built it need not say again how many hosts it has.
        its = {**lab, "LAB_TOPOLOGY": ""}
        for which in (its, {}):
            well = playbook("status", **which)
            assert "all healthy" in well.stdout
        for name in ("stop", "up", "status"):
            done = playbook(name, **its)
            assert done.returncode == 0, done.stdout
        assert "on 1 host," in done.stdout
    assert "all healthy" in playbook("status").stdout


@pytest.mark.soak
def test_hosts_that_outlive_their_keeper_are_started_once_and_leave_no_trace(tmp_path):
    lab = lab_in(tmp_path, "one")
    with no_trace(lab):
        for _time in range(2):
            built = playbook("up", **lab)
            assert built.returncode == 0, built.stdout
            end_keeper()
        assert playbook("destroy", **lab).returncode == 0


def end_keeper():
    """End the process that holds the mounts of the lab's hosts, as the end of a job of CI would."""
    claim = json.loads(said("cat", f"/var/lib/stackproof/{OTHER}/claim.json"))
    said("kill", "-KILL", str(claim["keeper"]))


@pytest.mark.soak
def test_a_build_that_is_killed_again_and_again_ends_all_the_same(tmp_path):
    lab, seed = lab_in(tmp_path), int(time.time())
    chance = random.Random(seed)
    print(f"\nthe moments are those of the seed {seed}")
    # The first one has no root file system at hand. What is left of it is large, and packages' own.
    with tempfile.TemporaryDirectory() as cache, no_trace(lab):
        caches = {0: ["-e", f"lab_cache={cache}"]}
        killed = 0
        while killed < KILLED:
            moment = chance.uniform(1, LONGEST)
            process = subprocess.Popen(
                ["ansible-playbook", "stackproof.lab.up", *caches.get(killed, [])],
                env=dict(os.environ, **lab),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            try:
                output = process.communicate(timeout=moment)[0]
            except subprocess.TimeoutExpired:
                kill_tree(process)
                killed += 1
                print(f"\nkilled after {moment:.0f} s: {process.stdout.read().splitlines()[-1:]}")
                continue
            assert process.returncode == 0, output
            assert playbook("destroy", **lab).returncode == 0
        built = playbook("up", **lab)
        assert built.returncode == 0, built.stdout
        assert "all healthy" in playbook("status", **lab).stdout
        assert_it_provisions(lab, tmp_path / "runs")


@pytest.mark.soak
def test_a_host_that_loses_its_power_within_its_one_time_steps_is_built_on(tmp_path):
    lab, seed = lab_in(tmp_path), int(time.time())
    chance = random.Random(seed)
    print(f"\nthe moments are those of the seed {seed}")
    with no_trace(lab):
        for _time in range(POWER_LOST):
            process = subprocess.Popen(
                ["ansible-playbook", "stackproof.lab.up"],
                env=dict(os.environ, **lab),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for line in process.stdout:
                if "Run the one-time steps" in line:
                    break
            else:
                pytest.fail(f"the build ended with {process.wait()} before the one-time steps")
            moment = chance.uniform(1, STEPS_TAKE)
            time.sleep(moment)
            subprocess.run([*AS_ROOT, "sh", "-c", LOSE_POWER.format(OTHER, "controller1")], check=True)
            output = process.communicate(timeout=600)[0]
            print(f"\ncontroller1 lost its power {moment:.0f} s after the first step had begun")
            assert process.returncode != 0, output
            built = playbook("up", **lab)
            assert built.returncode == 0, built.stdout
            assert "all healthy" in playbook("status", **lab).stdout
            assert playbook("destroy", **lab).returncode == 0
