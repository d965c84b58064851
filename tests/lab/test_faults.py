# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fault on the lab, and a verdict that names what broke and where; and no such verdict where nothing did."""

from __future__ import annotations

import json
import time

import pytest
from breaking import REPORTING, Lab, recovered, undone, units_of
from fault_runs import clean_up, run_with
from faults import COMPUTE, CONTROLLER, FAULTS, HERE, NETWORK, STORAGE
from lab_parts import APIS, WORKERS
from lab_under_test import INVENTORY
from runs_under_test import verify
from test_verify import assert_sound
from tree import ROOT
from truths import as_markdown, compare, note

# One of each kind: of the control plane, the queue, the network, the compute host, the storage and the metadata.
IN_SHORT = {
    "conductor-late-frozen",
    "rabbitmq-cut-compute",
    "dhcp-agent-stopped",
    "libvirt-secret-missing",
    "rbd-key-poor",
    "metadata-secret-wrong",
}
CONFUSION = ROOT / ".cache/confusion.json"
HEALTHY = 30
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
    assert {row["fault"] for row in rows} == set(FAULTS)
    assert [row["fault"] for row in rows if not all(row["alike"].values())] == []
    print("\n" + as_markdown(sorted(rows, key=lambda row: list(FAULTS).index(row["fault"]))))


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


def reconnect(lab):
    """Start anew whatever may hold an old connection to the database, or was told of one.

    An agent of Neutron may never report again after a report in the second of the restart, without a word in its log.
    """
    since = time.time()
    lab.run(CONTROLLER, f"systemctl restart {' '.join((*APIS, *WORKERS))}")
    agents = [
        (unit, host)
        for host in lab.hosts
        for unit in units_of(host)
        if unit.startswith("neutron-") and unit in REPORTING
    ]
    for unit, host in agents:
        lab.run(host, f"systemctl restart {unit}")
    lab.wait_until_well(agents, since)


@pytest.mark.soak
def test_nobody_is_blamed_for_connections_that_a_restart_of_the_database_has_ended(lab, runs):
    """Each service fails once over each old connection, and so may a run."""
    named, failed = [], 0
    for _number in range(HEALTHY // 3):
        lab.run(CONTROLLER, "systemctl restart mariadb")
        verdict = verify(runs, "-i", str(INVENTORY), **PLAIN, **HERE).record["verdict"]
        failed += verdict["result"] != "pass"
        named += [verdict] if verdict["component"] or verdict["host"] else []
        reconnect(lab)
        clean_up(lab, runs, "lab")
    print(f"\n{HEALTHY // 3} runs right after a restart of the database: {failed} failed, {len(named)} named somebody")
    assert not named


@pytest.mark.soak
def test_a_slow_disk_is_slow_and_not_broken(lab, runs):
    slow, usual = (f"{SLOW}_duration 0.1 && {SLOW}_probability {part}" for part in (0.1, 0))
    with recovered(lab, STORAGE), undone(lab, STORAGE, slow, usual):
        assert not false_alarms(runs, "with a slow disk", cloud="lab")
