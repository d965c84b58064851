# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fault on the lab, and a verdict that names what broke and where; and no such verdict where nothing did."""

from __future__ import annotations

import json
import time

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._record.clock import seconds_between
from breaking import REPORTING, Lab, recovered, undone
from fault_runs import run_with
from faults import COMPUTE, CONTROLLER, FAULTS, HERE, NETWORK, STORAGE
from lab_under_test import INVENTORY, until
from runs_under_test import LIMIT, start, verify, wait_for_text
from test_verify import assert_sound
from tree import ROOT
from truths import as_markdown, compare, note

# One of each kind: of the control plane, the queue, the network, the compute host and the storage.
IN_SHORT = {
    "conductor-late-frozen",
    "rabbitmq-cut-compute",
    "dhcp-agent-stopped",
    "libvirt-secret-missing",
    "rbd-key-poor",
}
CONFUSION = ROOT / ".cache/confusion.json"
HEALTHY = 30
# For so many seconds a host is away.
AWAY = 70
# Restarted just before a healthy run, one after the other.
RESTARTED = [
    (CONTROLLER, "nova-conductor"),
    (CONTROLLER, "nova-scheduler"),
    (CONTROLLER, "neutron-rpc-server"),
    (CONTROLLER, "memcached"),
    (CONTROLLER, "cinder-volume"),
    (COMPUTE, "nova-compute"),
    (COMPUTE, "neutron-openvswitch-agent"),
    (COMPUTE, "libvirtd"),
    (NETWORK, "neutron-dhcp-agent"),
    (NETWORK, "neutron-metadata-agent"),
]
SLOW = "ceph tell osd.0 config set osd_debug_inject_dispatch_delay"
PLAIN = {"image": "probe", "volume_type": "ceph", "admin_cloud": "lab-admin"}


def cases():
    return [
        pytest.param(fault, id=name, marks=[] if name in IN_SHORT else pytest.mark.soak)
        for name, fault in FAULTS.items()
    ]


@pytest.fixture(scope="module")
def lab(lab_hosts):
    return Lab(lab_hosts)


@pytest.mark.parametrize("fault", cases())
def test_the_verdict_names_what_broke(fault, lab, runs):
    outcome = run_with(lab, fault, runs)
    row = compare(fault, outcome.record)
    note(CONFUSION, row)
    assert_sound(outcome)
    assert all(row["alike"].values()), json.dumps(row, indent=1)
    assert all(all(parts.values()) for parts in row["less"].values()), json.dumps(row, indent=1)


@pytest.mark.soak
def test_how_verdicts_and_truth_compare():
    """Told as a table, out of the runs above and earlier ones. None may lack, and none may have been wrong."""
    rows = json.loads(CONFUSION.read_text())
    told = {row["fault"] for row in rows}
    # make soak leaves those in short to make test, which may not have run here.
    missing = [name for name in FAULTS if name not in told]
    assert not missing, f"no row of these; make them with pytest {__file__} -k '{' or '.join(missing)}'"
    assert told == set(FAULTS), f"there are no such faults any more: remove their rows from {CONFUSION}"
    assert [row["fault"] for row in rows if not all(row["alike"].values())] == []
    print("\n" + as_markdown(sorted(rows, key=lambda row: list(FAULTS).index(row["fault"]))))


@pytest.mark.soak
def test_a_host_that_goes_away_while_it_is_read_does_not_keep_the_verdict(lab, runs):
    """Its connection stands, and nobody answers there: TCP alone would wait for a quarter of an hour."""
    lab.run(CONTROLLER, "systemctl stop cinder-api")
    try:
        process = start(runs, "-i", str(INVENTORY), cloud="lab-admin", **PLAIN)
        wait_for_text(runs, "failed after")
        lab.run(STORAGE, f"systemd-run --unit=away sh -c 'pkill -STOP sshd; sleep {AWAY}; pkill -CONT sshd'")
        output = process.communicate(timeout=LIMIT)[0]
    finally:
        lab.run(CONTROLLER, "systemctl start cinder-api")
        until("the host to come back", lambda: is_back(lab), AWAY)
        lab.wait_until_well()
    record = json.loads((runs / "latest/run.json").read_text())
    failed = next(stage for stage in record["stages"] if stage["status"] == "failed")
    assert seconds_between(failed["finished"], record["finished"]) < AWAY - 10, output
    named = {name: record["verdict"][name] for name in ("component", "host")}
    assert named == {"component": "cinder-api", "host": CONTROLLER}
    away = next(host for host in record["hosts"] if host["host"] == STORAGE)
    assert away["status"] == "unreadable"
    assert "Timed out" in away["reason"]


def is_back(lab):
    """Whether the host that went away answers again."""
    try:
        return lab.run(STORAGE, "systemctl is-active away || true").strip() != "active"
    except RuntimeError:  # ssh itself did not reach it
        return False


# Nothing is broken


def false_alarms(runs, what, before=None, **variables):
    """What healthy runs said that they should not have; each has something done before it."""
    alarms = []
    for number in range(HEALTHY // 3):
        if before:
            before(number)
        outcome = verify(runs, "-i", str(INVENTORY), **PLAIN, **variables)
        verdict = outcome.record["verdict"]
        if verdict["result"] != "pass" or any(verdict[name] for name in ("stage", "component", "host", "step")):
            alarms.append(verdict)
        assert_sound(outcome)
    print(f"\n{HEALTHY // 3} healthy runs {what}: {len(alarms)} false alarms")
    return alarms


@pytest.mark.soak
def test_errors_of_another_instance_a_moment_ago_are_no_fault_of_this_one(lab, runs, tmp_path):
    failed = run_with(lab, FAULTS["libvirt-secret-missing"], tmp_path / "before")
    assert failed.status == 2, failed.output
    assert not false_alarms(runs, "after one that failed", **HERE)


@pytest.mark.soak
def test_a_service_that_was_restarted_a_moment_ago_is_well(lab, runs):
    def restart(number):
        host, unit = RESTARTED[number % len(RESTARTED)]
        since = time.time()
        lab.run(host, f"systemctl restart {unit}")
        lab.wait_until_well([(unit, host)] if unit in REPORTING else [], since)

    assert not false_alarms(runs, "right after a restart of a service", restart, **HERE)
    lab.wait_until_well()


@pytest.mark.soak
def test_a_restart_of_the_database_breaks_no_run(lab, runs):
    """The processes find out by themselves which connections in their pools are old."""
    for _number in range(HEALTHY // 3):
        lab.run(CONTROLLER, "systemctl restart mariadb")
        outcome = verify(runs, "-i", str(INVENTORY), **PLAIN, **HERE)
        assert outcome.status == 0, outcome.output
        lab.wait_until_well()


@pytest.mark.soak
def test_a_slow_disk_is_slow_and_not_broken(lab, runs):
    slow, usual = (f"{SLOW}_duration 0.1 && {SLOW}_probability {part}" for part in (0.1, 0))
    with recovered(lab, STORAGE), undone(lab, STORAGE, slow, usual):
        assert not false_alarms(runs, "with a slow disk", cloud="lab")


@pytest.mark.soak
def test_without_the_cache_of_tokens_runs_pass(lab, runs):
    with undone(lab, CONTROLLER, "systemctl stop memcached", "systemctl start memcached"):
        assert not false_alarms(runs, "without memcached", **HERE)
