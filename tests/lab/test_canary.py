# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The canary on the control node of the lab: it verifies again and again, and leaves nothing when it is stopped."""

from __future__ import annotations

import json
import time
from itertools import pairwise

import pytest
from canary_under_test import TOP, WHEELS, WHEELS_ALONE, bring_wheels, ended_on, runs_on
from lab_under_test import DIRECTORY, GROUPS, INVENTORY, until
from prometheus import watching
from runs_under_test import play

HOST = GROUPS["controller"][0]
NAME = "stackproof-canary"
METRICS = "/var/lib/canary-metrics"
# So many seconds between the begin of two runs: they follow each other at once.
EVERY = "1s"
KEPT = 20
OPTIONS = {
    "canary_host": HOST,
    "canary_clouds": str(DIRECTORY / "clouds.yaml"),
    "canary_variables": {"stackproof_cloud": "lab"},
    "canary_every": EVERY,
    "canary_keep_passed": 2,
    "canary_metrics": METRICS,
    "canary_pip_options": WHEELS_ALONE,
}

# The packages are installed, and each run takes its time.
pytestmark = pytest.mark.soak


def canary(**options):
    return play("canary", "-i", str(INVENTORY), **{**OPTIONS, **options})


@pytest.fixture(scope="module")
def host(lab_hosts):
    return lab_hosts[HOST]


@pytest.fixture(scope="module", autouse=True)
def installed(host):
    bring_wheels(HOST)
    assert host.run(f"mkdir -p {METRICS}").rc == 0
    status, output = canary()
    assert status == 0, output
    yield
    # Also where it was removed before
    status, output = canary(canary_state="absent")
    host.run(f"rm -rf {METRICS} {WHEELS}")
    assert status == 0, output


def history_of(host):
    text = host.run(f"cat {TOP}/runs/history.json").stdout
    return json.loads(text)["clouds"][0] if text else {"runs": 0}


def runs_told(host):
    return history_of(host)["runs"]


def rests(host):
    """Whether no run is under way, also none that is just beginning, or that cleans up behind itself."""
    return host.run(f"systemctl is-active {NAME}").stdout.strip() in ("inactive", "failed")


def room_at_rest(host):
    """What the canary takes of the disk between two runs, how many processes it has then, and all memory in use."""
    host.run(f"systemctl stop {NAME}.timer")
    until("no run", lambda: rests(host), 120)
    disk = host.run(f"du --summarize --exclude=history* {TOP}").stdout.split()[0]
    memory = dict(line.split(":") for line in host.run("cat /proc/meminfo").stdout.splitlines())
    used = [int(memory[name].split()[0]) for name in ("MemTotal", "MemAvailable")]
    processes = host.run(f"ps -u {NAME} -o pid=").stdout.split()
    return {"disk_kb": int(disk), "processes": len(processes), "memory_kb": used[0] - used[1]}


def nothing_of_runs(admin):
    servers = [server.name for server in admin.compute.servers(all_projects=True)]
    volumes = [volume.name for volume in admin.block_storage.volumes(all_projects=True)]
    kinds = (admin.network.networks, admin.network.subnets, admin.network.security_groups)
    of_network = [thing.name for listed in kinds for thing in listed()]
    return not [name for name in [*servers, *volumes, *of_network] if str(name).startswith("stackproof-2")]


def test_it_verifies_again_and_again(host):
    ended = until("two runs", lambda: len(done := ended_on(host)) > 1 and done, timeout=180)
    assert {record["verdict"]["result"] for record in ended} == {"pass"}
    # Never two at once
    for earlier, later in pairwise(ended):
        assert earlier["finished"] <= later["started"]


def test_its_metrics_can_be_read_by_anybody(host):
    text = until("metrics", lambda: host.run(f"sudo -u nobody cat {METRICS}/{NAME}.prom").stdout, timeout=180)
    assert 'stackproof_run_passed{cloud="lab"} 1' in text


def test_its_secrets_can_be_read_by_itself_alone(host):
    for name in ("clouds.yaml", "variables.json"):
        stat = host.file(f"{TOP}/{name}")
        assert (stat.user, stat.mode) == (NAME, 0o600)
    assert host.run(f"sudo -u nobody ls {TOP}/runs").rc != 0


def test_its_service_is_confined(host):
    score = host.run(f"systemd-analyze security --no-pager {NAME}.service | tail -n 1").stdout
    assert "OK" in score, score


def test_installing_it_again_changes_nothing():
    status, output = canary()
    assert status == 0, output
    assert "nothing changed" in output, output


def test_old_runs_are_removed(host):
    until("a third run", lambda: runs_told(host) > 2, timeout=180)
    assert len(ended_on(host)) <= 3


def test_a_stop_in_the_middle_of_a_run_leaves_nothing(host, admin):
    host.run(f"systemctl stop {NAME}.timer")
    until("no run", lambda: rests(host), 120)
    assert host.run(f"systemctl start {NAME}").rc == 0
    until("a server", lambda: [*admin.compute.servers(all_projects=True)], timeout=60)
    assert host.run(f"systemctl stop {NAME}").rc == 0
    assert nothing_of_runs(admin)
    last = runs_on(host)[-1]
    assert last["finished"]
    assert (last["verdict"]["result"], last["leftovers"]) == ("incomplete", [])


def test_a_run_that_lost_its_power_is_cleaned_up_before_the_next(host, admin):
    assert host.run(f"systemctl start {NAME}").rc == 0
    until("a server", lambda: [*admin.compute.servers(all_projects=True)], timeout=60)
    host.run(f"systemctl kill --kill-whom=all --signal=KILL {NAME}")
    until("the end", lambda: rests(host), 60)
    broken = runs_on(host)[-1]
    assert broken["finished"] is None
    assert host.run(f"systemctl start {NAME}").rc == 0
    assert host.run(f"systemctl stop {NAME}").rc == 0
    (ended,) = [record for record in runs_on(host) if record["run_id"] == broken["run_id"]]
    assert ended["finished"]
    assert ended["leftovers"] == []
    assert nothing_of_runs(admin)


def test_a_fault_is_named_in_the_next_run_and_fires_within_two(host, admin, tmp_path):
    """The metrics of the lab's host are brought to a Prometheus on this machine."""
    with watching(tmp_path) as prometheus:

        def brought():
            (tmp_path / "metrics" / f"{NAME}.prom").write_text(host.run(f"cat {METRICS}/{NAME}.prom").stdout)
            return True

        before = runs_told(host)
        assert host.run(f"systemctl start {NAME}.timer").rc == 0
        until("a run that passes", lambda: runs_told(host) > before and brought(), timeout=240)
        prometheus.wait(lambda: prometheus.value("stackproof_run_passed") == ["1"])
        assert prometheus.firing() == []
        assert host.run("systemctl stop nova-scheduler").rc == 0
        try:
            before = runs_told(host)
            (alert,) = until("the alert", lambda: brought() and prometheus.failed_runs(), timeout=480)
            # The run that was under way may have had its host already.
            assert runs_told(host) - before <= 2
        finally:
            assert host.run("systemctl start nova-scheduler").rc == 0
        # This canary reads no host, so it cannot say which component it was.
        told = [alert["labels"][name] for name in ("alertname", "cloud", "stage")]
        assert told == ["StackproofRunFailed", "lab", "boot"]
        until("the alarm to end", lambda: brought() and not prometheus.failed_runs(), timeout=480)
    host.run(f"systemctl stop {NAME}.timer {NAME}.service")
    assert nothing_of_runs(admin)


def test_a_hundred_runs_take_no_more_room_than_those_that_are_kept(host, admin):
    """Disk, processes and memory of the control node when as many runs are there as are kept, and a hundred later.

    The memory is that of the whole machine, whose cloud's own services grow with what they are asked.
    """
    status, output = canary(canary_keep_passed=KEPT)
    assert status == 0, output
    begun, earlier = time.monotonic(), history_of(host)
    until("as many runs as are kept", lambda: runs_told(host) >= earlier["runs"] + KEPT, timeout=1800, pause=5)
    first, before = room_at_rest(host), runs_told(host)
    assert host.run(f"systemctl start {NAME}.timer").rc == 0
    until("a hundred more", lambda: runs_told(host) >= before + 100, timeout=7200, pause=5)
    last = room_at_rest(host)
    print(f"\n{runs_told(host)} runs in {time.monotonic() - begun:.0f} s: {first}, and {last} a hundred runs later")
    told = history_of(host)
    assert told["runs"] - told["passed"] == earlier["runs"] - earlier["passed"]
    # One run's record is up to a twentieth larger than another's; what stays behind would be a hundred runs' worth.
    assert last["disk_kb"] < 1.1 * first["disk_kb"]
    assert last["processes"] == first["processes"] == 0
    assert last["memory_kb"] < first["memory_kb"] + 512 * 1024
    host.run(f"systemctl stop {NAME}.timer {NAME}.service")
    assert nothing_of_runs(admin)


def test_nothing_of_it_is_left_when_it_is_removed(host, admin):
    status, output = canary(canary_state="absent")
    assert status == 0, output
    assert host.run(f"ls -d {TOP} {METRICS}/* /etc/systemd/system/{NAME}* 2>/dev/null").stdout == ""
    assert host.run(f"id {NAME}").rc != 0
    assert host.run(f"systemctl cat {NAME}.timer").rc != 0
    assert nothing_of_runs(admin)
