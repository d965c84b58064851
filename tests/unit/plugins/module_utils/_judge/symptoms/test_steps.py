# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Symptoms in the flow: steps that are owed, and proved to be missing or not seen."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._components.tables import carriers_of, workers_of
from ansible_collections.stackproof.provision.plugins.module_utils._judge import shares
from ansible_collections.stackproof.provision.plugins.module_utils._judge.symptoms import steps
from ansible_collections.stackproof.provision.plugins.module_utils._record import shapes

# A stage that no component works for, so that only the steps speak
NO_STAGE = {"stage": "none"}
CARRIED = ["AMQP cast", "AMQP call", "AMQP subscribe", "DB", "socket(RADOS)", "libvirt", "OVSDB", "DHCP"]


def step(name, source="a", target="b", status="unseen", kind="HTTP REST", **more):
    return shapes.step(name, source, target, f"m{name}", kind, status=status, follows=["0"], **more)


def record(*flow, hosts=("h1",), **more):
    flows = [{"judged": True, "steps": list(flow)}]
    return {"hosts": [shapes.host(name) for name in hosts], "flows": flows, **more}


def owed(*paths, stage=None, record=None):
    given = record or {"hosts": [shapes.host("h1")], "flows": []}
    return steps.owed(given, stage or NO_STAGE, [list(path) for path in paths])


def test_the_debtor_owes_a_step_and_its_target_was_to_take_it():
    first = step("1", "neutron-server", "database", owed_by="nova-compute")
    (symptom,) = owed([first])
    assert (symptom["kind"], symptom["component"], symptom["peer"]) == ("owed", "nova-compute", "database")


def test_the_source_owes_a_step_of_an_old_record():
    first = step("1", "nova-compute")
    del first["owed_by"]
    assert [symptom["component"] for symptom in owed([first])] == ["nova-compute"]


def test_steps_further_on_and_other_paths_count_less():
    first, second, third, other = (step(name) for name in "1234")
    strengths = [shares.strength(symptom) for symptom in owed([first, second, third], [other])]
    assert strengths[0] > strengths[1] > strengths[2]
    assert strengths[0] > strengths[3]


@pytest.mark.parametrize("kind", [*CARRIED, "HTTP REST", "a kind that nobody knows"])
def test_a_message_may_be_lost_by_its_carriers(kind):
    assert [symptom["carriers"] for symptom in owed([step("1", kind=kind)])] == [carriers_of(kind)]


@pytest.mark.parametrize("stage", ["auth", "image", "network", "volume", "boot", "metadata"])
def test_the_workers_of_a_stage_have_a_part_in_it(stage):
    found = owed(stage={"stage": stage})
    assert [symptom["component"] for symptom in found] == workers_of(stage) != []
    assert {symptom["how"] for symptom in found} == {"part"}


@pytest.mark.parametrize("component", ["neutron-l2-agent", "ovsdb", "ovn-controller"])
def test_the_switch_of_a_host_and_its_agent_work_for_the_metadata(component):
    """The guest asks for its address and its metadata through them."""
    assert component in workers_of("metadata")


def test_a_stage_that_nobody_knows_has_no_workers():
    assert owed(stage={"stage": "dance"}) == []


def test_a_worker_counts_less_than_the_debtor_of_a_step_that_nobody_saw():
    debtor, *workers = owed([step("1")], stage={"stage": "boot"})
    assert all(shares.strength(worker) < shares.strength(debtor) for worker in workers)


@pytest.mark.parametrize(
    ("hosts", "more", "status", "how"),
    [
        (["h1"], {}, "missing", "missing"),
        (["h1"], {}, "unseen", "unseen"),
        # If nobody looked at a host, the step may have begun all the same.
        ([], {}, "missing", "unseen"),
        # A diagnosis looked into collected logs instead.
        ([], {"diagnosis": {"boot": {"outcome": None}}}, "missing", "missing"),
    ],
)
def test_a_step_is_proved_to_be_missing_if_somebody_looked(hosts, more, status, how):
    first = step("1", status=status)
    given = record(first, hosts=hosts, **more)
    assert [symptom["how"] for symptom in owed([first], record=given)] == [how]


def test_a_step_that_is_proved_to_be_missing_counts_more():
    (missing,), (unseen,) = owed([step("1", status="missing")]), owed([step("1")])
    assert shares.strength(missing) > shares.strength(unseen)


SEEN, SHORTLY, LATER = (f"2026-11-21T12:00:{second}+00:00" for second in ("00", "02", "50"))


def ended(kind, finished):
    return {"stage": "none", "error": {"kind": kind}, "finished": finished}


@pytest.mark.parametrize(
    ("stage", "errors", "how"),
    [
        # Steps were still under way when Nova gave up, or when the time was over.
        (ended("build_failed", SHORTLY), [], "unseen"),
        (ended("deadline", SHORTLY), [], "unseen"),
        # Nova, or the run, has waited for the step.
        (ended("build_failed", LATER), [], "missing"),
        (ended("deadline", LATER), [], "missing"),
        # Nova gives up with its first error, and the stage learns of it later.
        (ended("build_failed", LATER), [{"keyed": True, "at": SHORTLY}], "unseen"),
        (ended("build_failed", LATER), [{"keyed": False, "at": SHORTLY}], "missing"),
        # Nobody knows when it gave up.
        (ended("build_failed", None), [], "unseen"),
        # An API has failed at once, or after everybody had waited.
        (ended("service", SHORTLY), [], "unseen"),
        (ended("unreachable", SHORTLY), [], "unseen"),
        (ended("service", LATER), [], "missing"),
        (ended("unreachable", LATER), [], "missing"),
        (ended("service", LATER), [{"keyed": True, "at": SHORTLY}], "unseen"),
        # Other errors end no stage before its time.
        (ended("diagnosed", SHORTLY), [], "missing"),
    ],
)
def test_a_step_is_owed_if_it_was_waited_for(stage, errors, how):
    first, last = step("2", status="missing"), step("1", status="seen", at=SEEN)
    given = record(last, first, errors=errors)
    assert [symptom["how"] for symptom in owed([first], stage=stage, record=given)] == [how]


def test_a_boot_in_collected_logs_fails_by_its_own_outcome():
    first, last = step("2", status="missing"), step("1", status="seen", at=SEEN)
    stage = {"stage": "none", "error": {"kind": "diagnosed"}, "finished": SHORTLY}
    hows = []
    for outcome in ("failed", "active"):
        given = record(last, first, hosts=[], diagnosis={"boot": {"outcome": outcome}}, errors=[])
        hows += [symptom["how"] for symptom in owed([first], stage=stage, record=given)]
    assert hows == ["unseen", "missing"]


@pytest.mark.parametrize(
    ("written", "debtor"),
    [([], "vm-instance"), (["dhcp_start"], "dnsmasq"), (["dhcp_start", "lease"], "vm-instance")],
)
def test_a_guest_that_asked_for_a_lease_has_done_its_part(written, debtor):
    first = step("1", "vm-instance", "dnsmasq", "missing", kind="DHCP")
    stage = {"stage": "metadata", "details": {"guest": {"lines": 9, "steps": [{"step": name} for name in written]}}}
    found = [symptom for symptom in owed([first], stage=stage) if symptom["how"] != "part"]
    assert [(symptom["component"], symptom["carriers"]) for symptom in found] == [(debtor, ["data network"])]
