# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The likeliest cause of symptoms, on small clouds. No test knows a score: each compares causes with each other."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs import error_text
from ansible_collections.stackproof.provision.plugins.module_utils._components.catalogue import COMPONENTS
from ansible_collections.stackproof.provision.plugins.module_utils._components.tables import (
    depends_on,
    stands_for,
    workers_of,
)
from ansible_collections.stackproof.provision.plugins.module_utils._judge import (
    culprit,
    model,
    shares,
    symptoms,
    weights,
    world,
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


def world_of(*found, hosts=()):
    return world.World({"hosts": list(hosts), "logs": []}, list(found))


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


def restart(component, host, ago_s):
    return shapes.symptom("restart", component, "was started anew", host=host, ago_s=ago_s)


def reach(component, host, peer, peer_host, only_from_here):
    about = {"peer": peer, "peer_host": peer_host, "how": "silent", "address": "10.0.0.1", "port": 1}
    return shapes.symptom(
        "reach", component, f"gets nothing from {peer}", host=host, only_from_here=only_from_here, **about
    )


def cut(component, host="c1"):
    """A way to the queue that is cut."""
    return reach(component, host, "rabbitmq", "ctl", only_from_here=True)


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


def test_a_debtor_on_several_hosts_that_failed_at_a_peer_is_less_likely_than_that_peer():
    hosts = [host("database1", "database"), *(host(f"ctl{number}", "neutron-server") for number in range(3))]
    failed = failed_at("neutron-server", "database", host="ctl1")
    assert named(causes(owed("neutron-server"), failed, hosts=hosts))[0] == ("database", "database1")


def test_a_debtor_beside_an_instance_whose_host_is_unknown_is_less_likely_than_the_peer_at_which_it_failed():
    hosts = [shapes.host("c1", facts=THERE["facts"]), THERE, CONTROLLER]
    failed = failed_at("nova-compute", "rabbitmq", host="c1")
    assert named(causes(owed("nova-compute"), failed, hosts=hosts))[0] == ("rabbitmq", "ctl")


@pytest.mark.parametrize(
    ("place", "peers"),
    [("c1", {"x", "z"}), ("c2", {"y", "z"}), ("c3", {"z"}), (None, {"x", "y", "z"})],
)
def test_all_that_a_component_failed_at_on_its_host_may_be_behind_it(place, peers):
    """A failure on a host that nobody knows may be of each, and so may a component whose host nobody knows."""
    failures_of_it = [failed_at("a", peer, host=place) for place, peer in (("c1", "x"), ("c2", "y"), (None, "z"))]
    seen = world_of(*failures_of_it, failed_at("b", "w", host="c1"))
    assert {node.component for node in seen.behind_all("a", place)} == peers


@pytest.mark.parametrize("kind", weights.STRENGTH)
def test_a_component_that_failed_at_a_peer_passes_on_to_it_only_symptoms_that_may_come_from_others(kind):
    symptom = {**EACH[kind], "component": "x", "peer": "z"}
    failed = failed_at("x", "y", host="c1")
    gained = score(causes(failed, symptom), "y") - score(causes(failed), "y")
    assert (gained > 0) is (kind in weights.MAY_COME_FROM_OTHERS)


def test_a_failure_at_a_peer_that_failed_itself_speaks_for_the_one_at_which_that_one_failed():
    first, second = failed_at("z", "x", host="h", peer_host="c1"), failed_at("x", "y", host="c1")
    assert score(causes(first, second), "y") > score(causes(second), "y")
    # Elsewhere the peer has not failed.
    assert score(causes({**first, "peer_host": "c2"}, second), "y") == score(causes(second), "y")


@pytest.mark.parametrize("others", [["nova-api"], ["nova-api", "nova-scheduler", "neutron-server"]])
def test_many_errors_of_others_do_not_outweigh_a_stopped_service(others):
    complaints = [error(other, number, host="ctl") for other in others for number in range(50)]
    step = owed("nova-api", "unseen", peer="nova-conductor")
    found = causes(step, *complaints, state("nova-conductor", "ctl"), hosts=CLOUD)
    assert named(found)[0] == ("nova-conductor", "ctl")


def test_a_repeated_symptom_adds_less_each_time():
    scores = [score(causes(*[state("x", "h")] * times), "x", "h") for times in range(1, 5)]
    gains = [after - before for before, after in pairwise(scores)]
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
    assert shares.strength(less) < shares.strength(more)


def test_a_component_that_is_denied_access_may_be_wrong_itself():
    parts = {}
    for how in ("refused", "denied"):
        found = causes(failed_at("nova-compute", "neutron-server", how, host="c1"), hosts=CLOUD)
        parts[how] = score(found, "nova-compute", "c1"), score(found, "neutron-server", "ctl")
    assert parts["denied"][0] > parts["refused"][0]
    assert parts["denied"][1] < parts["refused"][1]


def test_each_way_of_failing_has_its_parts():
    assert set(weights.PARTS) == {*error_text.HOW, None}


# Those that a component needs


def test_a_service_that_has_failed_may_have_done_so_for_want_of_another():
    """A service that was stopped was so by somebody, and accuses nobody."""
    by_how = {how: named(causes(state("nova-conductor", "ctl", how))) for how in ("stopped", "frozen", "failed")}
    assert by_how["stopped"] == by_how["frozen"] == [("nova-conductor", "ctl")]
    assert {component for component, _host in by_how["failed"]} == {"nova-conductor", *depends_on("nova-conductor")}
    assert by_how["failed"][0] == ("nova-conductor", "ctl")


def test_a_service_may_disable_itself_for_want_of_another():
    """As nova-compute does if its libvirt has gone."""
    disabled, stopped = shapes.symptom("disabled", "nova-compute", "is disabled", host="c1"), state("libvirt", "c1")
    found = causes(disabled, stopped, hosts=CLOUD)
    assert named(found)[0] == ("libvirt", "c1")
    assert score(found, "libvirt", "c1") > score(causes(stopped, hosts=CLOUD), "libvirt", "c1")


WITH_SWITCH = host("net", "neutron-l2-agent", "ovsdb", "rabbitmq")
SWITCHES = [host("c1", "nova-compute", "neutron-l2-agent", "ovsdb", domain={"uuid": "x"}), WITH_SWITCH]


@pytest.mark.parametrize(
    ("hosts", "needed"),
    [
        # Each host has a switch of its own,
        (SWITCHES, ("ovsdb", "net")),
        # and one whose switch nobody saw may lack that of the instance.
        ([SWITCHES[0], host("net", "neutron-l2-agent")], ("ovsdb", "c1")),
        ([host("net", "neutron-l2-agent")], ("ovsdb", None)),
        # Others serve all hosts.
        ([*SWITCHES, CONTROLLER], ("rabbitmq", None)),
        ([*SWITCHES, CONTROLLER], ("neutron-server", "ctl")),
    ],
)
@pytest.mark.parametrize(
    "symptom",
    [
        state("neutron-l2-agent", "net", "failed"),
        shapes.symptom("unheard", "neutron-l2-agent", "t", host="net"),
        failed_at("x", "neutron-l2-agent", host="net"),
    ],
)
def test_a_component_needs_what_its_own_host_has_for_itself(symptom, hosts, needed):
    behind = shares.shares(symptom, world_of(symptom, hosts=hosts))
    assert [(node.component, node.host) for node in behind if node.component == needed[0]] == [needed]


@pytest.mark.parametrize("component", [entry.name for entry in COMPONENTS if entry.depends_on])
def test_the_components_that_a_debtor_needs_are_suspects_behind_it(component):
    first, *others = named(causes(owed(component)))
    assert first[0] == component
    assert {other for other, _host in others} == set(depends_on(component))


def test_the_components_that_a_peer_needs_are_suspects_behind_it():
    found = causes(failed_at("nova-scheduler", "placement-api"))
    places = {cause["component"]: number for number, cause in enumerate(found)}
    assert set(places) == {"nova-scheduler", "placement-api", *depends_on("placement-api")}
    assert all(places["placement-api"] < places[needed] for needed in depends_on("placement-api"))


def test_the_receiver_and_the_carriers_of_a_step_are_suspects_behind_its_debtor():
    found = named(causes(owed("p", peer="q", carriers=["r"])))
    assert found[0] == ("p", None)
    assert set(found) == {("p", None), ("q", None), ("r", None)}


@pytest.mark.parametrize("name", ["neutron-metadata-proxy", "client", "token-store"])
def test_names_of_flows_that_are_no_components_stand_for_others(name):
    assert {component for component, _host in named(causes(owed(name)))} == set(stands_for(name))


# Ways


def test_a_peer_that_no_host_reaches_is_the_cause():
    silent = [reach("nova-compute", name, "rabbitmq", "ctl", only_from_here=False) for name in ("c1", "c2")]
    found = causes(owed("nova-compute", "unseen"), *silent, hosts=CLOUD)
    assert named(found)[0] == ("rabbitmq", "ctl")
    assert culprit.way_of(found[0]) is None


def test_a_peer_that_one_host_alone_does_not_reach_means_the_way():
    found = causes(owed("nova-compute", "unseen"), cut("nova-compute"), hosts=CLOUD)
    assert named(found)[0] == ("nova-compute", "c1")
    assert culprit.way_of(found[0]) == {
        "from": {"component": "nova-compute", "host": "c1"},
        "to": {"component": "rabbitmq", "host": "ctl"},
        "how": "silent",
    }


ASKERS = ["neutron-l2-agent", "nova-compute"]


def test_a_way_that_is_cut_for_two_components_of_a_host_names_one_of_them_and_not_the_peer():
    cause = culprit.named(causes(*map(cut, ASKERS), hosts=CLOUD))
    assert cause["component"] in ASKERS
    assert (cause["host"], cause["kind"]) == ("c1", world.WAY)


@pytest.mark.parametrize("debtor", ASKERS)
def test_a_way_has_the_name_of_the_component_with_most_to_show(debtor):
    found = causes(owed(debtor, "unseen"), *map(cut, ASKERS), hosts=CLOUD)
    assert named(found)[0] == (debtor, "c1")


@pytest.mark.parametrize("debtor", ASKERS)
def test_a_way_begins_at_the_component_whose_name_it_has(debtor):
    cause = culprit.named(causes(owed(debtor, "unseen"), *map(cut, ASKERS), hosts=CLOUD))
    assert culprit.way_of(cause)["from"] == {"component": debtor, "host": "c1"}


def test_a_way_explains_what_each_of_those_who_ask_at_its_end_owes():
    seen = world_of(*map(cut, ASKERS), hosts=CLOUD)
    (way,) = seen.ways
    assert [shares.shares(owed(debtor), seen)[way] for debtor in ASKERS] == [1.0, 1.0]


@pytest.mark.parametrize(("how", "explained"), [("silent", True), ("broken off", True), ("error", False)])
def test_a_way_that_is_cut_explains_failures_at_its_end_except_answers(how, explained):
    seen = world_of(cut("nova-compute"))
    symptom = failed_at("neutron-l2-agent", "rabbitmq", how, host="c1", peer_host="ctl")
    assert seen.ways.issubset(shares.shares(symptom, seen)) is explained


def test_a_way_is_that_of_one_host_to_one_peer():
    cuts = [cut("nova-compute"), cut("nova-compute", "c2"), reach("nova-compute", "c1", "glance-api", "ctl", True)]
    assert len(world_of(*cuts, *cuts).ways) == len(cuts)


def test_a_way_whose_only_asker_this_cloud_does_not_have_blames_nobody():
    """OVN may have DHCP agents, too, for bare metal."""
    hosts = [host("net", "neutron-dhcp-agent", "ovn-controller"), CONTROLLER]
    found = causes(cut("neutron-dhcp-agent", "net"), hosts=hosts)
    assert "neutron-dhcp-agent" not in {component for component, _host in named(found)}


DENIED = failed_at("nova-compute", "rabbitmq", "denied", host="c1")


def test_a_host_that_a_peer_does_not_let_in_is_named_and_not_the_peer():
    found = causes(owed("nova-compute", "unseen"), DENIED, hosts=CLOUD)
    assert named(found)[0] == ("nova-compute", "c1")
    assert (found[0]["kind"], found[1]["component"]) == (world.WAY, "rabbitmq")


@pytest.mark.parametrize(
    ("symptom", "is_way"),
    [
        (DENIED, True),
        ({**DENIED, "sure": True}, True),
        ({**DENIED, "sure": False}, False),
        # It may be of another run.
        ({**DENIED, "keyed": False}, False),
        ({**DENIED, "how": "refused"}, False),
        ({**DENIED, "component": "rabbitmq"}, False),
        (error("nova-compute", how="denied", keyed=True), False),
        (cut("nova-compute"), True),
        (cut(None), False),
        (reach("nova-compute", "c1", "rabbitmq", "ctl", only_from_here=False), False),
    ],
)
def test_a_way_is_a_suspect_if_one_host_alone_cannot_use_it(symptom, is_way):
    assert len(world_of(symptom).ways) == is_way
    kinds = [cause["kind"] for cause in causes(symptom, hosts=CLOUD)]
    assert kinds.count(world.WAY) == is_way


def suspect(component, host, kind, confidence):
    return {"component": component, "host": host, "kind": kind, "confidence": confidence, "score": 1.0, "symptoms": []}


def test_a_component_and_the_ways_from_it_are_one_cause_and_as_likely_as_both():
    both = [
        suspect("y", "h", world.COMPONENT, 0.3),
        suspect("x", "h", world.WAY, 0.25),
        suspect("x", "h", world.COMPONENT, 0.2),
        suspect("x", "h2", world.COMPONENT, 0.1),
        suspect("x", "h", world.WAY, 0.05),
    ]
    merged = model.of_one_name(both)
    assert [(cause["confidence"], *named([cause])[0], cause["kind"]) for cause in merged] == [
        (0.5, "x", "h", world.WAY),
        (0.3, "y", "h", world.COMPONENT),
        (0.1, "x", "h2", world.COMPONENT),
    ]


def test_a_component_and_its_restart_are_two_causes():
    """To name the one is to blame it, and to tell of the other is to blame nobody."""
    both = [suspect("x", "h", world.RESTART, 0.5), suspect("x", "h", world.COMPONENT, 0.4)]
    assert model.of_one_name(both) == both


# Restarts before the run

LOST = failed_at("nova-compute", "rabbitmq", "broken off", host="c1")
RESTARTED = restart("rabbitmq", "ctl", 300.0)


@pytest.mark.parametrize(
    "others",
    [
        [],
        # The client was started anew before the peer.
        [restart("nova-compute", "c1", 400.0)],
        # Of several services of the peer the last one counts.
        [restart("nova-compute", "c1", 400.0), restart("rabbitmq", "ctl", 500.0)],
        # Another client is younger.
        [restart("nova-compute", "c2", 200.0)],
    ],
)
@pytest.mark.parametrize("turned", [1, -1])
def test_a_restart_that_ended_a_connection_of_an_older_client_is_the_cause_and_nobody_is_named(others, turned):
    found = causes(*[owed("nova-compute"), LOST, RESTARTED, *others][::turned], hosts=CLOUD)
    assert (*named(found)[0], found[0]["kind"]) == ("rabbitmq", "ctl", world.RESTART)
    assert culprit.named(found) is None


@pytest.mark.parametrize(
    ("restarts", "how"),
    [
        # The connections of the client are younger than the peer.
        ([restart("nova-compute", "c1", 200.0), RESTARTED], "broken off"),
        ([restart("nova-compute", "c1", 300.0), RESTARTED], "broken off"),
        # Another peer was started anew.
        ([restart("rabbitmq", "ctl2", 300.0)], "broken off"),
        ([restart("database", "ctl", 300.0)], "broken off"),
        *(([RESTARTED], how) for how in weights.PARTS if how != "broken off"),
    ],
)
def test_a_restart_that_does_not_explain_a_failure_changes_nothing(restarts, how):
    failed = {**LOST, "how": how}
    before = culprit.named(causes(owed("nova-compute"), failed, hosts=CLOUD))
    found = causes(owed("nova-compute"), failed, *restarts, hosts=CLOUD)
    assert world.RESTART not in {cause["kind"] for cause in found}
    after = culprit.named(found)
    assert (after and named([after])) == (before and named([before]))


@pytest.mark.parametrize("symptom", [LOST, owed("nova-compute")])
def test_a_restart_explains_a_failure_wholly_and_what_the_client_owes_instead_of_its_peer(symptom):
    peer = world.Node("rabbitmq", "ctl")
    before = shares.shares(symptom, world_of(LOST, hosts=CLOUD))
    after = shares.shares(symptom, world_of(LOST, RESTARTED, hosts=CLOUD))
    assert after[peer._replace(kind=world.RESTART)] == 1.0
    assert after.get(peer, 0) < before[peer]


@pytest.mark.parametrize("others", [[], [owed("rabbitmq", "part")]])
def test_a_restart_alone_is_nothing_wrong(others):
    found = causes(RESTARTED, *others, hosts=CLOUD)
    assert found == causes(*others, hosts=CLOUD)
    assert culprit.named(found) is None


# Components that pass on the failure of another one


@pytest.mark.parametrize(
    ("component", "peer", "asker"),
    [
        ("cinder-scheduler", "ceph-mon", ("cinder-volume", "st")),
        ("neutron-dhcp-agent", "database", ("neutron-server", "ctl")),
        ("nova-conductor", "placement-api", ("nova-scheduler", "ctl")),
        ("nova-scheduler", "keystone", ("placement-api", "st")),
        # It needs the peer itself,
        ("cinder-volume", "ceph-mon", ("cinder-volume", "h")),
        ("cinder-scheduler", "rabbitmq", ("cinder-scheduler", "h")),
        ("neutron-dhcp-agent", "rabbitmq", ("neutron-dhcp-agent", "h")),
        # calls several that need it,
        ("nova-compute", "database", ("nova-compute", "h")),
        # or nobody who does.
        ("nova-compute", "ldap", ("nova-compute", "h")),
        ("billing", "ledger", ("billing", "h")),
    ],
)
def test_a_peer_is_asked_by_the_only_component_that_needs_it_of_those_that_one_calls(component, peer, asker):
    symptom = failed_at(component, peer, host="h")
    hosts = [CONTROLLER, host("st", "cinder-volume", "placement-api")]
    (node,) = world_of(symptom, hosts=hosts).askers_of(symptom)
    assert (node.component, node.host) == asker


PASSES_ON = failed_at("neutron-dhcp-agent", "database", host="net")


def test_a_component_that_only_passes_on_a_failure_is_no_suspect_and_the_one_that_asked_is():
    found = named(causes(PASSES_ON, hosts=[host("net", "neutron-dhcp-agent"), CONTROLLER]))
    assert found[0] == ("database", "ctl")
    assert ("neutron-server", "ctl") in found
    assert ("neutron-dhcp-agent", "net") not in found


def test_a_debtor_that_passes_on_a_failure_is_less_likely_than_the_peer():
    found = causes(owed("neutron-dhcp-agent"), PASSES_ON, hosts=[host("net", "neutron-dhcp-agent"), CONTROLLER])
    assert named(found)[0] == ("database", "ctl")


def test_a_restart_is_compared_with_the_age_of_the_component_that_asked():
    hosts = [host("net", "neutron-dhcp-agent"), CONTROLLER]
    passes_on = {**PASSES_ON, "how": "broken off"}
    for young, kind in ((("neutron-dhcp-agent", "net"), world.RESTART), (("neutron-server", "ctl"), world.COMPONENT)):
        found = causes(restart("database", "ctl", 300.0), restart(*young, 200.0), passes_on, hosts=hosts)
        assert (*named(found)[0], found[0]["kind"]) == ("database", "ctl", kind)


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
    assert world.places_of({"hosts": [host("a", "x", "y"), host("b", "y"), {"host": "c", "facts": {}}]}) == {
        "x": {"a"},
        "y": {"a", "b"},
    }


def test_in_collected_logs_a_component_is_where_it_logs():
    logs = [
        {"host": "a", "sources": [{"service": "slapd"}, {"service": "x"}]},
        {"host": "b", "sources": [{"service": "x"}]},
    ]
    assert world.places_of({"hosts": [], "diagnosis": {"host": None}, "logs": logs}) == {"ldap": {"a"}, "x": {"a", "b"}}
    # A run reads logs as well, and knows its services.
    assert world.places_of({"hosts": [], "logs": logs}) == {}


def test_a_symptom_without_a_host_counts_for_each_host_of_its_component():
    of_all, of_one, of_other = ((number, shapes.symptom("state", "x", "t")) for number in (1.0, 2.0, 3.0))
    of_way, of_restart = world.Node(None, "a", world.WAY, "x"), world.Node("x", "c", world.RESTART)
    of_restart_anywhere = of_restart._replace(host=None)
    merged = model.with_hosts(
        {
            world.Node("x", None): [of_all],
            world.Node("x", "a"): [of_one],
            world.Node("x", "b"): [of_other],
            world.Node("y", None): [of_all],
            # Of a way and of a restart nothing more is known.
            of_way: [of_one],
            of_restart: [of_all],
            of_restart_anywhere: [of_other],
        }
    )
    assert {node: sorted(weight for weight, _symptom in parts) for node, parts in merged.items()} == {
        world.Node("x", "a"): [1.0, 2.0],
        world.Node("x", "b"): [1.0, 3.0],
        world.Node("y", None): [1.0],
        of_way: [2.0],
        of_restart: [1.0],
        of_restart_anywhere: [3.0],
    }


# Components without a part in what failed


def test_a_component_without_a_part_in_what_failed_needs_more_evidence():
    stopped, part = state("cinder-volume", "st1"), owed("cinder-volume", "part", share=0.0)
    near, far = (score(causes(stopped, *others), "cinder-volume", "st1") for others in ([part], []))
    assert far < near


def test_a_component_that_others_need_is_the_likelier_the_more_these_have_to_do_with_what_failed():
    parts = [
        owed("neutron-server", share=0.0),
        # The run only met it.
        error("neutron-server", keyed=True, share=0.0),
        error("neutron-server", share=0.0),
    ]
    scores = [score(causes(state("database", "ctl"), part), "database", "ctl") for part in parts]
    assert scores == sorted(set(scores), reverse=True)


NEEDED = depends_on("nova-api-metadata")


@pytest.mark.parametrize(
    ("symptom", "near", "behind"),
    [
        (owed("nova-api-metadata", peer="p", carriers=["c"]), {"nova-api-metadata", "p", "c", *NEEDED}, ()),
        (shapes.symptom("answer", "nova-api-metadata", "t"), {"nova-api-metadata", *NEEDED}, ()),
        # A component that only complains has no part in what failed,
        (error("nova-api-metadata"), (), ()),
        (failed_at("nova-api-metadata", "p", keyed=False), (), ()),
        (state("nova-api-metadata", "ctl"), (), ()),
        (restart("nova-api-metadata", "ctl", 300.0), (), ()),
        # and one that complains of the run has one, and those that it needs have less.
        (error("nova-api-metadata", keyed=True), {"nova-api-metadata"}, NEEDED),
        (failed_at("nova-api-metadata", "p"), {"nova-api-metadata", "p"}, NEEDED),
        (failed_at("p", "nova-api-metadata"), {"nova-api-metadata", "p"}, NEEDED),
    ],
)
def test_components_of_the_steps_and_those_that_they_need_have_a_part_in_what_failed(symptom, near, behind):
    costs = {**dict.fromkeys(near, 0), **dict.fromkeys(behind, weights.BEHIND)}
    assert model.near_components([symptom], world_of(symptom)) == costs


def test_a_component_that_a_debtor_needs_is_near_whatever_else_the_run_met():
    met, debtor = error("nova-compute", keyed=True), owed("nova-api-metadata")
    costs = model.near_components([met, debtor], world_of(met, debtor))
    assert [costs[name] for name in NEEDED] == [0] * len(NEEDED)
    assert costs["libvirt"] == weights.BEHIND


def test_a_stopped_service_far_from_the_stage_is_named_if_nothing_else_speaks():
    part = owed("keystone", "part")
    assert "cinder-volume" not in model.near_components([part], world_of(part))
    first, *_others = causes(part, state("cinder-volume", "st1"))
    assert (first["component"], first["host"]) == ("cinder-volume", "st1")
    assert first["confidence"] >= culprit.NAMED


def test_a_stopped_service_near_the_stage_comes_before_one_that_is_far():
    found = causes(owed("keystone", "part"), state("cinder-volume", "st1"), state("keystone", "ctl"))
    assert named(found)[:2] == [("keystone", "ctl"), ("cinder-volume", "st1")]


OF_BACK_END = {
    back_end: {entry.name for entry in COMPONENTS if entry.network_back_end == back_end}
    for back_end in ("agents", "ovn")
}


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
    cut("nova-compute"),
    cut("neutron-l2-agent"),
    failed_at("neutron-l2-agent", "neutron-server", "denied", host="c2"),
    failed_at("nova-scheduler", "database", "broken off", host="ctl"),
    failed_at("neutron-dhcp-agent", "database", "broken off", host="net"),
    restart("database", "ctl", 300.0),
    restart("nova-scheduler", "ctl", 200.0),
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


STAGES = ("auth", "image", "network", "volume", "boot", "metadata")


@pytest.mark.parametrize("stage", STAGES)
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
    first, *behind = causes(shapes.symptom(kind, "nova-compute", "t", host="c1"), hosts=CLOUD)
    assert named([first]) == [("nova-compute", "c1")]
    assert first["confidence"] < culprit.NAMED
    # Only a service that is disabled may have been so for want of another.
    assert bool(behind) is (kind == "disabled")


@pytest.mark.parametrize("how", ["stopped", "failed", "frozen"])
@pytest.mark.parametrize(("stage", "component"), [(stage, name) for stage in STAGES for name in workers_of(stage)])
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
    "restart": restart("nova-compute", "c1", 300.0),
    "reach": cut("nova-compute"),
    "answer": shapes.symptom("answer", "nova-compute", "t", host="c1", how="error", keyed=True),
    "unheard": shapes.symptom("unheard", "nova-compute", "t", host="c1"),
    "failed at": failed_at("nova-compute", "neutron-server", host="c1"),
    "error": error("nova-compute", host="c1", keyed=True),
    "change": shapes.symptom("change", "nova-compute", "t", host="c1"),
    "difference": shapes.symptom("difference", "nova-compute", "t", host="c1", how="option"),
    "disabled": shapes.symptom("disabled", "nova-compute", "t", host="c1"),
    "owed": owed("nova-compute"),
}


@pytest.mark.parametrize("kind", weights.STRENGTH)
def test_a_symptom_of_each_kind_makes_its_component_likelier(kind):
    part = owed("nova-compute", "part")
    before, after = causes(part, hosts=CLOUD), causes(part, EACH[kind], hosts=CLOUD)
    # A restart is nothing wrong itself.
    assert (score(after, "nova-compute", "c1") > score(before, "nova-compute", "c1")) is (kind != "restart")


@pytest.mark.parametrize("kind", ["reach", "failed at"])
def test_a_symptom_at_a_peer_makes_that_peer_likelier(kind):
    part = owed("nova-compute", "part")
    peer = EACH[kind]["peer"]
    before, after = causes(part, hosts=CLOUD), causes(part, EACH[kind], hosts=CLOUD)
    assert score(after, peer, "ctl") > score(before, peer, "ctl")
