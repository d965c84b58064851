# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The path from a cause to the failed stage: what shows each hop, and that none is repeated or without content."""

from __future__ import annotations

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge import culprit
from ansible_collections.stackproof.provision.plugins.module_utils._judge.path import STAGE, path_of
from ansible_collections.stackproof.provision.plugins.module_utils._model.chain import Chain, Link, LinkState
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import to_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.finding import Arrow
from ansible_collections.stackproof.provision.plugins.module_utils._model.host import Examination
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import How
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Code, Kind
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages.symptoms import forms
from cases_by_hand import call, case_of, cause, seen, stage, step_of
from failed_runs import NAMES, run_of

QUEUE, COMPUTE, CONDUCTOR = ("rabbitmq", "ctl"), ("nova-compute", "c1"), ("nova-conductor", "ctl")
STEP = step_of(as_json.step("5", "nova-compute", "glance-api", "get the image", "REST", status="missing"))
MISSING = seen(Kind.STEP, "nova-compute", None, step="5")


def failed_at(own, peer, how=How.SILENT, **more):
    return seen(Kind.FAILED_AT, *own, peer=peer, how=how, **more)


def path(place, *found, step=STEP, own=None, **more):
    """The path from a cause: its own symptoms are all that are given, or those in own."""
    return list(path_of(cause(*place, *(own or found)), case_of(**more), step, found))


def ends(arrows):
    return [(arrow.source, arrow.target) for arrow in arrows]


def test_a_component_that_failed_at_the_cause_is_a_hop_with_its_symptom():
    full, silent = seen(Kind.REPORT, *QUEUE), failed_at(COMPUTE, "rabbitmq")
    assert path(QUEUE, full, silent, MISSING) == [
        Arrow(QUEUE, QUEUE, full),
        Arrow(QUEUE, COMPUTE, silent),
        Arrow(COMPUTE, STAGE, MISSING),
    ]


def test_a_symptom_of_another_is_shown_once_as_its_hop():
    silent = failed_at(COMPUTE, "rabbitmq")
    assert path(QUEUE, silent, MISSING) == [Arrow(QUEUE, COMPUTE, silent), Arrow(COMPUTE, STAGE, MISSING)]


def test_a_hop_that_nothing_shows_has_no_symptom():
    stopped = seen(Kind.STATE, "ceph-osd", "s1")
    assert path(("ceph-osd", "s1"), stopped, MISSING)[1] == Arrow(("ceph-osd", "s1"), ("nova-compute", None), None)


def test_a_hop_that_nothing_shows_has_what_the_configuration_says_of_it():
    service = {"component": "nova-compute", "unit": "nova-compute.service", "state": "running"}
    reach = [
        {"component": "rabbitmq", "address": "10.0.0.9", "port": 5672, "how": "open", "named_by": ["neutron"]},
        {"component": "rabbitmq", "address": "10.0.0.1", "port": 5672, "how": "open", "named_by": ["neutron", "nova"]},
    ]
    host = as_json.host("c1", facts={"services": [service]}, examination={**to_json(Examination()), "reach": reach})
    shown = path(QUEUE, seen(Kind.STATE, *QUEUE), MISSING, hosts=[host])[1].symptom
    assert (shown.code, shown.place, shown.peer_place) == (Code.PEER_NAMED, COMPUTE, QUEUE)
    assert forms(shown) == ("its configuration names rabbitmq at 10.0.0.1:5672",)


def test_hops_that_a_symptom_shows_are_preferred_to_shorter_ones_that_are_assumed():
    found = [
        seen(Kind.STATE, "ceph-osd", "s1"),
        failed_at(("ceph-mon", "s1"), "ceph-osd"),
        failed_at(COMPUTE, "ceph-mon"),
    ]
    assert ends(path(("ceph-osd", "s1"), *found, MISSING, own=found[:1]))[1:3] == [
        (("ceph-osd", "s1"), ("ceph-mon", "s1")),
        (("ceph-mon", "s1"), COMPUTE),
    ]


def test_a_failure_at_the_same_component_on_another_host_is_no_hop():
    stopped = seen(Kind.STATE, *CONDUCTOR)
    elsewhere = failed_at(COMPUTE, "nova-conductor", peer_host="ctl2")
    arrow = path(CONDUCTOR, stopped, elsewhere, MISSING)[1]
    assert (arrow.target[0], arrow.symptom) == ("nova-compute", None)


def test_a_cause_that_is_responsible_for_the_step_leads_to_the_stage_by_itself():
    stopped = seen(Kind.STATE, *COMPUTE)
    assert ends(path(COMPUTE, stopped, MISSING)) == [(COMPUTE, COMPUTE), (COMPUTE, STAGE)]


def test_a_missing_step_alone_is_shown_once():
    assert path(COMPUTE, MISSING) == [Arrow(COMPUTE, STAGE, MISSING)]


def test_without_a_path_to_the_stage_only_the_cause_is_shown():
    stopped = seen(Kind.STATE, "cinder-scheduler", "ctl")
    assert ends(path(("cinder-scheduler", "ctl"), stopped, MISSING)) == [
        (("cinder-scheduler", "ctl"), ("cinder-scheduler", "ctl"))
    ]


def test_without_a_flow_the_path_ends_at_who_answered_the_last_request():
    stopped = seen(Kind.STATE, "database", "ctl")
    asked = stage("volume", calls=[call(500, "volumev3")])
    arrows = path(("database", "ctl"), stopped, step=None, stage=asked)
    assert ends(arrows)[1:] == [(("database", "ctl"), ("cinder-api", None)), (("cinder-api", None), STAGE)]
    assert [arrow.symptom for arrow in arrows[1:]] == [None, None]


# By a chain


def test_an_answer_with_which_the_stage_ended_leads_to_it_by_itself():
    calls = [call(500, "identity")]
    keystone = ("keystone", "ctl")
    answered, logged = seen(Kind.ANSWER, *keystone), seen(Kind.ERROR, *keystone)
    given = {"step": None, "stage": stage("auth", calls=calls)}
    assert path(keystone, answered, **given) == [Arrow(keystone, STAGE, answered)]
    assert path(keystone, answered, own=[logged], **given) == [
        Arrow(keystone, keystone, logged),
        Arrow(keystone, STAGE, answered),
    ]
    assert path(keystone, logged, **given)[-1] == Arrow(keystone, STAGE, None)


def link(code, state, owner, host):
    return Link(code, LinkState(state), owner, host)


NORTHD, CONTROLLER = ("ovn-northd", "ctl"), ("ovn-controller", "c1")
TRANSLATES, CLAIMED = (
    link("ovn_northd_translates", "broken", *NORTHD),
    link("ovn_claimed", "broken", *CONTROLLER),
)


def walked(*links):
    return {"chains": [to_json(Chain("ovn_port", "port", links))]}


def test_the_last_broken_link_behind_the_break_is_a_hop():
    first = seen(Kind.LINK, *NORTHD, link=TRANSLATES)
    holds = link("ovn_plugged", "holds", "ovsdb", "c1")
    arrows = path(NORTHD, first, MISSING, **walked(TRANSLATES, holds, CLAIMED))
    assert ends(arrows) == [(NORTHD, NORTHD), (NORTHD, CONTROLLER), (CONTROLLER, STAGE)]
    assert (arrows[1].symptom.code, arrows[1].symptom.link) == (Code.LINK_BROKEN, CLAIMED)


def test_a_break_with_nothing_broken_behind_it_leads_to_the_stage():
    first = seen(Kind.LINK, *CONTROLLER, link=CLAIMED)
    assert ends(path(CONTROLLER, first, MISSING, **walked(CLAIMED))) == [
        (CONTROLLER, CONTROLLER),
        (CONTROLLER, STAGE),
    ]


def test_a_chain_that_breaks_elsewhere_is_no_path_of_the_cause():
    stopped = seen(Kind.STATE, *COMPUTE)
    assert ends(path(COMPUTE, stopped, MISSING, **walked(CLAIMED))) == [(COMPUTE, COMPUTE), (COMPUTE, STAGE)]


# Recorded failures


@pytest.mark.parametrize("name", NAMES)
def test_the_path_of_a_recorded_failure_leads_to_its_stage_hop_by_hop(name):
    found = culprit.finding(as_json.typed(run_of(name)))
    arrows = found.path
    assert arrows[0].source == found.cause.place
    assert arrows[-1].ends_at_stage
    assert [arrow.target for arrow in arrows[:-1]] == [arrow.source for arrow in arrows[1:]]
    assert len(set(ends(arrows))) == len(arrows)
    shown = [arrow.symptom for arrow in arrows if arrow.symptom]
    assert len({symptom.identity for symptom in shown}) == len(shown)
