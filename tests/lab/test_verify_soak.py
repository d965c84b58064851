# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What takes long or is repeated often: many runs at once, many killed, and how sharp the times are. For make soak."""

from __future__ import annotations

import contextlib
import random
import statistics
import time
from datetime import datetime

import pytest
from runs_under_test import directories, kill_all, left_of, play, start, verify
from test_verify import assert_passed, built_at

pytestmark = pytest.mark.soak
AT_ONCE, KILLED, BOOTS = 20, 25, 10


@contextlib.contextmanager
def room_for_many(admin):
    """Lift the limits for the time of a test: the lab and its project are made for a handful of instances."""
    project = admin.identity.find_project("lab").id
    quotas = {
        "compute": {"instances": 50, "cores": 50},
        "network": {"security_groups": 100, "networks": 100, "ports": 500},
        "volume": {"volumes": 50, "gigabytes": 200},
    }
    placement = admin.placement
    providers = [provider["uuid"] for provider in placement.get("/resource_providers").json()["resource_providers"]]
    before = {}
    try:
        for uuid in providers:
            inventory = placement.get(f"/resource_providers/{uuid}/inventories/VCPU").json()
            before[uuid] = inventory["allocation_ratio"]
            placement.put(f"/resource_providers/{uuid}/inventories/VCPU", json=inventory | {"allocation_ratio": 32.0})
        for service, limits in quotas.items():
            getattr(admin, f"set_{service}_quotas")(project, **limits)
        yield
    finally:
        for service in quotas:
            getattr(admin, f"delete_{service}_quotas")(project)
        for uuid, ratio in before.items():
            inventory = placement.get(f"/resource_providers/{uuid}/inventories/VCPU").json()
            placement.put(f"/resource_providers/{uuid}/inventories/VCPU", json=inventory | {"allocation_ratio": ratio})


def test_many_runs_at_once_on_one_project(runs, admin, storage):
    begun = time.monotonic()
    slow = {f"{stage}_timeout": 1500 for stage in ("auth", "image", "network", "volume", "boot", "metadata", "cleanup")}
    with room_for_many(admin):
        processes = [start(runs, **slow) for _one in range(AT_ONCE)]
        outputs = [process.communicate(timeout=2400)[0] for process in processes]
    failed = [output for process, output in zip(processes, outputs) if process.returncode]
    print(f"\n{AT_ONCE} runs at once: {AT_ONCE - len(failed)} passed, {time.monotonic() - begun:.0f} s")
    assert not failed, failed[0]
    assert len(directories(runs)) == AT_ONCE
    assert not left_of(directories(runs), admin, storage)


def test_runs_killed_at_random_moments_and_one_cleanup(runs, admin, storage):
    seed = int(time.time())
    chance, begun = random.Random(seed), time.monotonic()
    with room_for_many(admin):
        for _one in range(KILLED):
            process = start(runs)
            time.sleep(chance.uniform(1.5, 35))
            kill_all(process, runs)
    killed = time.monotonic() - begun
    held = len(left_of(directories(runs), admin, storage))
    status, output = play("cleanup", runs=runs)
    print(f"\n{KILLED} runs killed in {killed:.0f} s (seed {seed}), {held} things left by them;", end=" ")
    print(f"one cleanup took {time.monotonic() - begun - killed:.0f} s")
    assert status == 0, output
    assert held
    assert not left_of(directories(runs), admin, storage)


def test_how_soon_active_is_known(runs, lab_hosts):
    late = []
    for _one in range(BOOTS):
        outcome = verify(runs, volume="none")
        assert_passed(outcome)
        seen_at = datetime.fromisoformat(outcome.stage("boot")["waits"][0]["states"][-1]["at"])
        server = outcome.stage("boot")["details"]["server"]["id"]
        late.append((seen_at - built_at(lab_hosts, server)).total_seconds())
    late.sort()
    print(f"\nACTIVE known after nova-compute's word, {BOOTS} boots: median {statistics.median(late):.3f} s, ", end="")
    print(f"p95 {late[-1]:.3f} s, least {late[0]:.3f} s")
    assert late[-1] <= 0.5
