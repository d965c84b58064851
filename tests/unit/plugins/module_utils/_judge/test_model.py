# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The likeliest cause of symptoms, on small clouds. No test knows a score: each compares causes with each other."""

from __future__ import annotations

import random

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect import failures
from ansible_collections.stackproof.provision.plugins.module_utils._judge import culprit, model, symptoms
from ansible_collections.stackproof.provision.plugins.module_utils._match.components import (
    LEANS_ON,
    OF_BACK_END,
    STANDS_FOR,
    WORKERS,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record import shapes

# Of each confidence so much may be lost or won by its rounding.
ROUNDED = 0.0005


def host(name, *components, **facts):
    running = [
        {"component": component, "unit": f"{component}.service", "state": "running", "for_s": 1.0}
        for component in components
    ]
    return shapes.host(name, facts={"names": [name], "services": running, **facts})


def causes(*found, hosts=(), **record):
    return model.causes({"hosts": list(hosts), "logs": [], **record}, list(found))


def named(found):
    return [(cause["component"], cause["host"]) for cause in found]


def score(found, component, host=None):
    """The score of a component, or of none at all if it is not among the causes."""
    return next((one["score"] for one in found if (one["component"], one["host"]) == (component, host)), 0)


def owed(component, how="missing", **more):
    return shapes.symptom("owed", component, "owed what is lacking", how=how, **more)


def state(component, host=None, how="stopped"):
    return shapes.symptom("state", component, f"is {how}", host=host, how=how)


def failed_at(component, peer, how="refused", keyed=True, **more):
    return shapes.symptom("failed at", component, f"failed at {peer}", peer=peer, how=how, keyed=keyed, **more)


def error(component, number=0, **more):
    return shapes.symptom("error", component, f"logged an error of {number}", **more)


def reach(component, host, peer, peer_host, only_from_here):
    about = {"peer": peer, "peer_host": peer_host, "how": "silent", "address": "10.0.0.1", "port": 1}
    return shapes.symptom(
        "reach", component, f"gets nothing from {peer}", host=host, only_from_here=only_from_here, **about
    )


# An instance on c1, beside another compute host, and a controller
HERE = host("c1", "nova-compute", "libvirt", "neutron-l2-agent", domain={"uuid": "x"})
THERE = host("c2", "nova-compute", "libvirt", "neutron-l2-agent")
CONTROLLER = host("ctl", "nova-api", "nova-conductor", "nova-scheduler", "neutron-server", "rabbitmq", "database")
CLOUD = (HERE, THERE, CONTROLLER)


def test_without_symptoms_there_are_no_causes():
    assert causes() == causes(hosts=CLOUD) == []


# How symptoms stand against each other


def test_a_state_outweighs_the_order_of_the_steps():
    found = causes(owed("nova-conductor", peer="nova-compute"), state("nova-compute", "c1"), hosts=CLOUD)
    assert named(found)[0] == ("nova-compute", "c1")


@pytest.mark.parametrize("how", ["refused", "silent", "error"])
def test_a_debtor_that_failed_at_a_peer_is_less_likely_than_that_peer(how):
    alone = causes(owed("nova-compute"), hosts=CLOUD)
    found = causes(owed("nova-compute"), failed_at("nova-compute", "neutron-server", how, host="c1"), hosts=CLOUD)
    assert named(found)[0] == ("neutron-server", "ctl")
    assert score(found, "nova-compute", "c1") < score(alone, "nova-compute", "c1")


def test_a_debtor_whose_peer_failed_somebody_else_is_as_likely_as_before():
    """A line without an id of the run does not say that the run failed there."""
    others = failed_at("nova-compute", "neutron-server", keyed=False, host="c1")
    assert named(causes(owed("nova-compute"), others, hosts=CLOUD))[0] == ("nova-compute", "c1")


@pytest.mark.parametrize("kind", model.STRENGTH)
def test_a_component_that_failed_at_a_peer_passes_on_to_it_only_symptoms_that_may_come_from_others(kind):
    symptom = {**EACH[kind], "component": "x", "peer": "x"}
    failed = failed_at("x", "y", host="c1")
    gained = score(causes(failed, symptom), "y") - score(causes(failed), "y")
    assert (gained > 0) is (kind in model.MAY_COME_FROM_OTHERS)


@pytest.mark.parametrize("others", [["nova-api"], ["nova-api", "nova-scheduler", "neutron-server"]])
def test_many_errors_of_others_do_not_outweigh_a_stopped_service(others):
    complaints = [error(other, number, host="ctl") for other in others for number in range(50)]
    step = owed("nova-api", "unseen", peer="nova-conductor")
    found = causes(step, *complaints, state("nova-conductor", "ctl"), hosts=CLOUD)
    assert named(found)[0] == ("nova-conductor", "ctl")


def test_a_repeated_symptom_adds_less_each_time():
    scores = [score(causes(*[state("x", "h")] * times), "x", "h") for times in range(1, 5)]
    gains = [after - before for before, after in zip(scores, scores[1:])]
    assert all(gain > 0 for gain in gains)
    assert gains == sorted(gains, reverse=True)


def test_two_kinds_of_symptoms_say_more_than_the_same_one_twice():
    twice = causes(error("x", 1, host="h", keyed=True), error("x", 2, host="h", keyed=True))
    apart = causes(error("x", 1, host="h", keyed=True), shapes.symptom("answer", "x", "answered 500", host="h"))
    assert score(apart, "x", "h") > score(twice, "x", "h")


@pytest.mark.parametrize(
    ("less", "more"),
    [
        (state("x", how="activating"), state("x")),
        (state("x", how="deactivating"), state("x", how="failed")),
        (shapes.symptom("words", "x", "t", how="warning"), shapes.symptom("words", "x", "t", how="alarm")),
        (shapes.symptom("words", "x", "t", how="error"), shapes.symptom("words", "x", "t", how="read-only")),
        # A component that waited in vain has broken nothing.
        (error("x", how="silent", keyed=True), error("x", keyed=True)),
        (owed("x", "unseen"), owed("x")),
        (owed("x", "part"), owed("x", "unseen")),
        (error("x"), error("x", keyed=True)),
        (failed_at("x", "y", keyed=False), failed_at("x", "y")),
        (failed_at("x", "y", sure=False), failed_at("x", "y", sure=True)),
        (error("x", share=0.5), error("x", share=1.0)),
    ],
)
def test_a_symptom_counts_less_than_a_surer_one_of_its_kind(less, more):
    assert model.strength(less) < model.strength(more)


def test_a_component_that_is_denied_access_may_be_wrong_itself():
    parts = {}
    for how in ("refused", "denied"):
        found = causes(failed_at("nova-compute", "neutron-server", how, host="c1"), hosts=CLOUD)
        parts[how] = score(found, "nova-compute", "c1"), score(found, "neutron-server", "ctl")
    assert parts["denied"][0] > parts["refused"][0]
    assert parts["denied"][1] < parts["refused"][1]


def test_each_way_of_failing_has_its_parts():
    assert set(model.PARTS) == {*failures.HOW, None}


# Those that a component needs


def test_a_service_that_has_failed_may_have_done_so_for_want_of_another():
    """A service that was stopped was so by somebody, and accuses nobody."""
    by_how = {how: named(causes(state("nova-conductor", "ctl", how))) for how in ("stopped", "frozen", "failed")}
    assert by_how["stopped"] == by_how["frozen"] == [("nova-conductor", "ctl")]
    assert {component for component, _host in by_how["failed"]} == {"nova-conductor", *LEANS_ON["nova-conductor"]}
    assert by_how["failed"][0] == ("nova-conductor", "ctl")


@pytest.mark.parametrize("component", sorted(LEANS_ON))
def test_the_components_that_a_debtor_needs_are_suspects_behind_it(component):
    first, *others = named(causes(owed(component)))
    assert first[0] == component
    assert {other for other, _host in others} == set(LEANS_ON[component])


def test_the_components_that_a_peer_needs_are_suspects_behind_it():
    found = causes(failed_at("nova-scheduler", "placement-api"))
    places = {cause["component"]: number for number, cause in enumerate(found)}
    assert set(places) == {"nova-scheduler", "placement-api", *LEANS_ON["placement-api"]}
    assert all(places["placement-api"] < places[needed] for needed in LEANS_ON["placement-api"])


def test_the_receiver_and_the_carriers_of_a_step_are_suspects_behind_its_debtor():
    found = named(causes(owed("p", peer="q", carriers=["r"])))
    assert found[0] == ("p", None)
    assert set(found) == {("p", None), ("q", None), ("r", None)}


@pytest.mark.parametrize(("name", "components"), STANDS_FOR.items())
def test_names_of_flows_that_are_no_components_stand_for_others(name, components):
    assert {component for component, _host in named(causes(owed(name)))} == set(components)


# Ways


def test_a_peer_that_no_host_reaches_is_the_cause():
    cut = [reach("nova-compute", name, "rabbitmq", "ctl", only_from_here=False) for name in ("c1", "c2")]
    found = causes(owed("nova-compute", "unseen"), *cut, hosts=CLOUD)
    assert named(found)[0] == ("rabbitmq", "ctl")
    assert culprit.way_of(found[0]) is None


def test_a_peer_that_one_host_alone_does_not_reach_means_the_way():
    cut = reach("nova-compute", "c1", "rabbitmq", "ctl", only_from_here=True)
    found = causes(owed("nova-compute", "unseen"), cut, hosts=CLOUD)
    assert named(found)[0] == ("nova-compute", "c1")
    assert culprit.way_of(found[0]) == {
        "from": {"component": "nova-compute", "host": "c1"},
        "to": {"component": "rabbitmq", "host": "ctl"},
        "how": "silent",
    }


# Hosts and places


def test_a_component_on_one_host_has_its_place_and_one_on_two_has_none():
    hosts = [host("ctl", "keystone", "memcached"), host("ctl2", "memcached")]
    places = dict(named(causes(owed("keystone"), hosts=hosts)))
    assert (places["keystone"], places["memcached"], places["ldap"]) == ("ctl", None, None)


@pytest.mark.parametrize("component", ["nova-compute", "libvirt", "neutron-l2-agent"])
def test_a_component_beside_the_instance_is_on_its_host(component):
    assert (component, "c1") in named(causes(owed(component), hosts=CLOUD))
    # Where the host of the instance is not known, each may be it.
    assert (component, None) in named(causes(owed(component), hosts=[THERE, {**HERE, "facts": THERE["facts"]}]))


def test_a_component_fails_at_the_peer_beside_it():
    found = named(causes(failed_at("nova-compute", "libvirt", host="c2"), hosts=CLOUD))
    assert found[0] == ("libvirt", "c2")


def test_places_are_by_component():
    assert model.places_of({"hosts": [host("a", "x", "y"), host("b", "y"), {"host": "c", "facts": {}}]}) == {
        "x": {"a"},
        "y": {"a", "b"},
    }


def test_in_collected_logs_a_component_is_where_it_logs():
    logs = [
        {"host": "a", "sources": [{"service": "slapd"}, {"service": "x"}]},
        {"host": "b", "sources": [{"service": "x"}]},
    ]
    assert model.places_of({"hosts": [], "diagnosis": {"host": None}, "logs": logs}) == {"ldap": {"a"}, "x": {"a", "b"}}
    # A run reads logs as well, and knows its services.
    assert model.places_of({"hosts": [], "logs": logs}) == {}


def test_a_symptom_without_a_host_counts_for_each_host_of_its_component():
    of_all, of_one, of_other = ((number, shapes.symptom("state", "x", "t")) for number in (1.0, 2.0, 3.0))
    merged = model.with_hosts(
        {("x", None): [of_all], ("x", "a"): [of_one], ("x", "b"): [of_other], ("y", None): [of_all]}
    )
    assert {node: sorted(weight for weight, _symptom in parts) for node, parts in merged.items()} == {
        ("x", "a"): [1.0, 2.0],
        ("x", "b"): [1.0, 3.0],
        ("y", None): [1.0],
    }


# Components without a part in what failed


def test_a_component_without_a_part_in_what_failed_needs_more_evidence():
    node, parts = ("cinder-volume", "st1"), [(1.0, state("cinder-volume", "st1"))]
    near, far = (model.hypothesis(node, parts, is_near) for is_near in (True, False))
    assert far["score"] < near["score"]


@pytest.mark.parametrize(
    ("symptom", "near"),
    [
        (owed("nova-api-metadata", peer="p", carriers=["c"]), {"nova-api-metadata", "p", "c"}),
        (shapes.symptom("answer", "nova-api-metadata", "t"), {"nova-api-metadata"}),
        # A component that only complains has no part in what failed.
        (error("nova-api-metadata", keyed=True), set()),
        (state("nova-api-metadata", "ctl"), set()),
    ],
)
def test_components_of_the_steps_and_those_that_they_need_have_a_part_in_what_failed(symptom, near):
    needed = LEANS_ON["nova-api-metadata"] if near else []
    assert model.near_components([symptom], model.World({"hosts": []}, [symptom])) == near.union(needed)


def test_a_stopped_service_far_from_the_stage_is_named_if_nothing_else_speaks():
    part = owed("keystone", "part")
    assert "cinder-volume" not in model.near_components([part], model.World({"hosts": []}, [part]))
    first, *_others = causes(part, state("cinder-volume", "st1"))
    assert (first["component"], first["host"]) == ("cinder-volume", "st1")
    assert first["confidence"] >= culprit.NAMED


def test_a_stopped_service_near_the_stage_comes_before_one_that_is_far():
    found = causes(owed("keystone", "part"), state("cinder-volume", "st1"), state("keystone", "ctl"))
    assert named(found)[:2] == [("keystone", "ctl"), ("cinder-volume", "st1")]


@pytest.mark.parametrize(("reporting", "back_end"), [("neutron-l2-agent", "agents"), ("ovn-controller", "ovn")])
def test_a_component_that_this_cloud_does_not_have_is_not_a_suspect(reporting, back_end):
    parts = [owed(component) for component in sorted(set().union(*OF_BACK_END.values()))]
    present = {component for component, _host in named(causes(*parts, agents=[{"component": reporting}]))}
    lacking = set().union(*(names for other, names in OF_BACK_END.items() if other != back_end))
    assert present >= OF_BACK_END[back_end]
    assert not present & lacking
    # Where nobody knows what the cloud has, each may be it.
    assert {component for component, _host in named(causes(*parts))} >= present | lacking


# Confidences

MIXED = [
    owed("nova-conductor", peer="nova-compute", carriers=["rabbitmq"]),
    owed("nova-compute", "unseen", peer="libvirt", carriers=["libvirt"], share=0.5),
    owed("nova-api", "part"),
    state("neutron-server", "ctl", "failed"),
    state("nova-compute", "c2"),
    failed_at("nova-compute", "neutron-server", host="c1"),
    failed_at("nova-compute", "libvirt", "denied", keyed=False, host="c1"),
    *(error("nova-api", number, host="ctl", keyed=bool(number % 2)) for number in range(7)),
    reach("nova-compute", "c1", "rabbitmq", "ctl", only_from_here=True),
    shapes.symptom("unheard", "nova-compute", "is not heard", host="c2"),
    shapes.symptom("answer", "nova-api", "answered 500", how="error", keyed=True),
    shapes.symptom("change", "nova-compute", "has other settings", host="c1", share=0.3),
    shapes.symptom("words", "ceph-osd", "is not well", how="warning"),
]


@pytest.mark.parametrize(
    "found",
    [
        [owed("x", "unseen")],
        [state("x", "h")],
        [state("x", "h")] * 9,
        [state(f"x{number}", "h") for number in range(9)],
        [shapes.symptom("difference", "x", "differs", host="h")],
        MIXED,
        MIXED * 3,
    ],
)
def test_confidences_are_probabilities_beside_an_unknown_cause(found):
    confidences = [cause["confidence"] for cause in causes(*found, hosts=CLOUD)]
    assert all(0 <= confidence <= 1 for confidence in confidences)
    assert sum(confidences) <= 1 + ROUNDED * len(confidences)
    assert confidences == sorted(confidences, reverse=True)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_the_evidence_does_not_matter(seed):
    """Logs and hosts are read in any order."""
    shuffled = random.Random(seed).sample(MIXED, len(MIXED))

    def told(found):
        return [{name: cause[name] for name in ("component", "host", "score", "confidence")} for cause in found]

    assert told(causes(*shuffled, hosts=CLOUD)) == told(causes(*MIXED, hosts=CLOUD))
    assert told(causes(*MIXED, hosts=CLOUD[::-1])) == told(causes(*MIXED, hosts=CLOUD))


@pytest.mark.parametrize("stage", WORKERS)
def test_nobody_is_named_if_nothing_but_the_order_of_unseen_steps_speaks(stage):
    steps = [
        shapes.step("1", "nova-api", "nova-conductor", "m", "AMQP cast"),
        shapes.step("2", "nova-conductor", "x", "m", "DB"),
    ]
    record = {"hosts": list(CLOUD), "flows": [], "logs": []}
    found = symptoms.steps.owed(record, {"stage": stage}, [steps])
    assert all(cause["confidence"] < culprit.NAMED for cause in model.causes(record, found))


@pytest.mark.parametrize("kind", ["change", "difference", "disabled"])
def test_nobody_is_named_for_being_otherwise_alone(kind):
    (first,) = causes(shapes.symptom(kind, "nova-compute", "t", host="c1"), hosts=CLOUD)
    assert first["confidence"] < culprit.NAMED


@pytest.mark.parametrize("how", ["stopped", "failed", "frozen"])
@pytest.mark.parametrize(("stage", "component"), [(stage, name) for stage, names in WORKERS.items() for name in names])
def test_a_state_of_a_component_of_the_stage_names_it_if_nothing_else_speaks(stage, component, how):
    record = {"hosts": [], "flows": [], "logs": []}
    parts = symptoms.steps.owed(record, {"stage": stage}, [])
    first, *_others = model.causes(record, [*parts, state(component, "h", how)])
    assert (first["component"], first["host"]) == (component, "h")
    assert first["confidence"] >= culprit.NAMED


# One symptom of each kind, at nova-compute on c1
EACH = {
    "state": state("nova-compute", "c1"),
    "words": shapes.symptom("words", "nova-compute", "t", host="c1", how="alarm"),
    "ground": shapes.symptom("ground", "nova-compute", "t", host="c1", how="no space"),
    "reach": reach("nova-compute", "c1", "rabbitmq", "ctl", only_from_here=True),
    "answer": shapes.symptom("answer", "nova-compute", "t", host="c1", how="error", keyed=True),
    "unheard": shapes.symptom("unheard", "nova-compute", "t", host="c1"),
    "failed at": failed_at("nova-compute", "neutron-server", host="c1"),
    "error": error("nova-compute", host="c1", keyed=True),
    "change": shapes.symptom("change", "nova-compute", "t", host="c1"),
    "difference": shapes.symptom("difference", "nova-compute", "t", host="c1", how="option"),
    "disabled": shapes.symptom("disabled", "nova-compute", "t", host="c1"),
    "owed": owed("nova-compute"),
}


@pytest.mark.parametrize("kind", model.STRENGTH)
def test_a_symptom_of_each_kind_makes_its_component_likelier(kind):
    part = owed("nova-compute", "part")
    before, after = causes(part, hosts=CLOUD), causes(part, EACH[kind], hosts=CLOUD)
    assert score(after, "nova-compute", "c1") > score(before, "nova-compute", "c1")


@pytest.mark.parametrize("kind", ["reach", "failed at"])
def test_a_symptom_at_a_peer_makes_that_peer_likelier(kind):
    part = owed("nova-compute", "part")
    peer = EACH[kind]["peer"]
    before, after = causes(part, hosts=CLOUD), causes(part, EACH[kind], hosts=CLOUD)
    assert score(after, peer, "ctl") > score(before, peer, "ctl")
