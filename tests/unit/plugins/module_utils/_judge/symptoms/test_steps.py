# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Symptoms in the flow: steps that are owed, and proved to be missing or not seen."""

from __future__ import annotations

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._components.tables import (
    carriers_of,
    entry_of,
    workers_of,
)
from ansible_collections.stackproof.provision.plugins.module_utils._judge import shares
from ansible_collections.stackproof.provision.plugins.module_utils._judge.symptoms import steps
from ansible_collections.stackproof.provision.plugins.module_utils._judge.weights import WEIGHTS
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Code, Kind
from cases_by_hand import case_of, diagnosis, error, flow, logged, step_of, with_paths
from cases_by_hand import stage as a_stage

CARRIED = ["AMQP cast", "AMQP call", "AMQP subscribe", "DB", "socket(RADOS)", "libvirt", "OVSDB", "DHCP"]


def step(name, source="a", target="b", status="unseen", kind="HTTP REST", **more):
    return as_json.step(name, source, target, f"m{name}", kind, status=status, follows=["0"], **more)


def of(case, *paths):
    """Return the symptoms of missing steps, without the components that work for the stage."""
    typed = [[step_of(entry) for entry in path] for path in paths]
    return [symptom for symptom in steps.missing(with_paths(case, typed)) if symptom.code == Code.STEP_MISSING]


def record(*entries, hosts=("h1",), stage=None, **more):
    return case_of([as_json.host(name) for name in hosts], stage, flows=[flow(entries)], **more)


def owed(*paths, stage=None):
    return of(case_of([as_json.host("h1")], stage), *paths)


def workers(stage):
    return steps.workers(case_of([as_json.host("h1")], a_stage(stage)))


def test_the_responsible_component_owes_a_step_and_its_target_was_to_take_it():
    first = step("1", "neutron-server", "database", responsible="nova-compute")
    (symptom,) = owed([first])
    assert (symptom.kind, symptom.component, symptom.peer) == (Kind.STEP, "nova-compute", "database")


def test_the_source_owes_a_step_of_an_old_record():
    first = step("1", "nova-compute", responsible=None)
    assert [symptom.component for symptom in owed([first])] == ["nova-compute"]


def test_steps_further_on_and_other_paths_count_less():
    first, second, third, other = (step(name) for name in "1234")
    strengths = [shares.strength(symptom, WEIGHTS) for symptom in owed([first, second, third], [other])]
    assert strengths[0] > strengths[1] > strengths[2]
    assert strengths[0] > strengths[3]


@pytest.mark.parametrize("kind", [*CARRIED, "HTTP REST", "a kind that nobody knows"])
def test_a_message_may_be_lost_by_its_carriers(kind):
    assert [symptom.carriers for symptom in owed([step("1", kind=kind)])] == [tuple(carriers_of(kind))]


@pytest.mark.parametrize("stage", ["auth", "image", "network", "volume", "boot", "metadata"])
def test_the_workers_of_a_stage_have_a_part_in_it(stage):
    found = workers(stage)
    usual = [name for name in workers_of(stage) if not entry_of(name).only_where_present]
    assert [symptom.component for symptom in found] == usual != []
    assert {symptom.code for symptom in found} == {Code.STAGE_PART}


def test_a_balancer_has_a_part_only_in_a_cloud_that_has_one():
    services = [{"component": "haproxy", "unit": "haproxy.service", "state": "running"}]
    with_it = steps.workers(case_of([as_json.host("h1", facts={"services": services})], a_stage("boot")))
    assert {"haproxy"} == {one.component for one in with_it} - {one.component for one in workers("boot")}


@pytest.mark.parametrize("component", ["neutron-l2-agent", "ovsdb", "ovn-controller"])
def test_the_switch_of_a_host_and_its_agent_work_for_the_metadata(component):
    """The guest asks for its address and its metadata through them."""
    assert component in workers_of("metadata")


def test_a_stage_without_workers_has_none():
    assert workers("removal") == []


def test_a_worker_counts_less_than_the_responsible_component_of_a_step_that_nobody_saw():
    (responsible,) = owed([step("1")])
    assert all(shares.strength(worker, WEIGHTS) < shares.strength(responsible, WEIGHTS) for worker in workers("boot"))


@pytest.mark.parametrize(
    ("hosts", "more", "status", "how"),
    [
        (["h1"], {}, "missing", "missing"),
        (["h1"], {}, "unseen", "unseen"),
        # If nobody looked at a host, the step may have begun all the same.
        ([], {}, "missing", "unseen"),
        # A diagnosis looked into collected logs instead.
        ([], {"diagnosis": diagnosis()}, "missing", "missing"),
    ],
)
def test_a_step_is_proved_to_be_missing_if_somebody_looked(hosts, more, status, how):
    first = step("1", status=status)
    assert [symptom.how for symptom in of(record(first, hosts=hosts, **more), [first])] == [how]


def test_a_step_that_is_proved_to_be_missing_counts_more():
    (missing,), (unseen,) = owed([step("1", status="missing")]), owed([step("1")])
    assert shares.strength(missing, WEIGHTS) > shares.strength(unseen, WEIGHTS)


SEEN, SHORTLY, LATER = (f"2026-11-21T12:00:{second}+00:00" for second in ("00.000000", "02.000000", "50.000000"))


def ended(kind, finished):
    return a_stage(error=error(kind), finished=finished)


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
        (ended("build_failed", LATER), [logged(own=True, at=SHORTLY)], "unseen"),
        (ended("build_failed", LATER), [logged(own=False, at=SHORTLY)], "missing"),
        # Nobody knows when it gave up.
        (ended("build_failed", None), [], "unseen"),
        # An API has failed at once, or after everybody had waited.
        (ended("service", SHORTLY), [], "unseen"),
        (ended("unreachable", SHORTLY), [], "unseen"),
        (ended("service", LATER), [], "missing"),
        (ended("unreachable", LATER), [], "missing"),
        (ended("service", LATER), [logged(own=True, at=SHORTLY)], "unseen"),
        # Other errors end no stage before its time.
        (ended("diagnosed", SHORTLY), [], "missing"),
    ],
)
def test_a_step_is_owed_if_it_was_waited_for(stage, errors, how):
    first, last = step("2", status="missing"), step("1", status="seen", at=SEEN)
    given = record(last, first, errors=errors, stage=stage)
    assert [symptom.how for symptom in of(given, [first])] == [how]


def test_a_boot_in_collected_logs_fails_by_its_own_outcome():
    first, last = step("2", status="missing"), step("1", status="seen", at=SEEN)
    stage = ended("diagnosed", SHORTLY)
    hows = []
    for outcome in ("failed", "built"):
        about = diagnosis(outcome)
        given = record(last, first, hosts=[], diagnosis=about, errors=[], stage=stage)
        hows += [symptom.how for symptom in of(given, [first])]
    assert hows == ["unseen", "missing"]


@pytest.mark.parametrize(
    ("written", "responsible"),
    [([], "vm-instance"), (["dhcp_start"], "dnsmasq"), (["dhcp_start", "lease"], "vm-instance")],
)
def test_a_guest_that_asked_for_a_lease_has_done_its_part(written, responsible):
    first = step("1", "vm-instance", "dnsmasq", "missing", kind="DHCP")
    guest = {"lines": 9, "steps": [{"step": name} for name in written]}
    found = owed([first], stage=a_stage("metadata", details={"guest": guest}))
    assert [(symptom.component, symptom.carriers) for symptom in found] == [(responsible, ("data network",))]
