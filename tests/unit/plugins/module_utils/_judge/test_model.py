# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The likeliest cause of symptoms, on small clouds. No test knows a score: each compares causes with each other."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._components.catalogue import COMPONENTS
from ansible_collections.stackproof.provision.plugins.module_utils._components.tables import (
    depends_on,
    stands_for,
    workers_of,
)
from ansible_collections.stackproof.provision.plugins.module_utils._judge import culprit, model, shares, world
from ansible_collections.stackproof.provision.plugins.module_utils._judge.symptoms import steps
from ansible_collections.stackproof.provision.plugins.module_utils._judge.weights import WEIGHTS
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.chain import Chain, Link, LinkState
from ansible_collections.stackproof.provision.plugins.module_utils._model.finding import Suspect
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import AT_PEER, How
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Code, Kind, Symptom
from ansible_collections.stackproof.provision.plugins.module_utils._model.verdict import Connection, Place
from cases_by_hand import agent, case_of, cause, diagnosis, flow, seen, step_of, with_paths
from cases_by_hand import cut as cut_to
from cases_by_hand import stage as a_stage

# Of each confidence so much may be lost or won by its rounding.
ROUNDED = 0.0005


def host(name, *components, **facts):
    running = [
        {"component": component, "unit": f"{component}.service", "state": "running", "for_s": 1.0}
        for component in components
    ]
    return as_json.host(name, facts={"names": [name], "services": running, **facts})


def causes(*found, hosts=(), **record):
    return model.causes(case_of(hosts, **record), list(found))


def named_by(found):
    return culprit.named(found, WEIGHTS)


def named(found):
    return [cause.place for cause in found]


def world_of(*found, hosts=()):
    return world.World(case_of(hosts), list(found))


def strength(symptom):
    return shares.strength(symptom, WEIGHTS)


def score(found, component, host=None):
    """Return the score of a component, or 0 if it is not among the causes."""
    return next((one.score for one in found if one.place == (component, host)), 0)


def owed(component, how=How.MISSING, **more):
    return seen(Kind.STEP, component, None, how=how, **more)


def part(component, **more):
    return Symptom(Code.STAGE_PART, component, share=WEIGHTS.stage_part, **more)


def state(component, host=None, how=How.STOPPED):
    return seen(Kind.STATE, component, host, how=how)


def failed_at(component, peer, how=How.REFUSED, own=True, host=None, **more):
    return seen(Kind.FAILED_AT, component, host, peer=peer, how=how, own=own, **more)


def error(component, number=0, host=None, **more):
    return seen(Kind.ERROR, component, host, logger=str(number), **more)


def restart(component, host, ago_s):
    return seen(Kind.RESTART, component, host, ago_s=ago_s)


def reach(component, host, peer, peer_host, only_from_here):
    return cut_to(component, host, peer, peer_host=peer_host, only_from_here=only_from_here)


def cut(component, host="c1"):
    """Return that the connection to the queue is cut."""
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
def test_a_responsible_component_that_failed_at_a_peer_is_less_likely_than_that_peer(how):
    alone = causes(owed("nova-compute"), hosts=CLOUD)
    found = causes(owed("nova-compute"), failed_at("nova-compute", "neutron-server", how, host="c1"), hosts=CLOUD)
    assert named(found)[0] == ("neutron-server", "ctl")
    assert score(found, "nova-compute", "c1") < score(alone, "nova-compute", "c1")


def test_a_responsible_component_whose_peer_failed_somebody_else_is_as_likely_as_before():
    """A line without an id of the run does not say that the run failed there."""
    others = failed_at("nova-compute", "neutron-server", own=False, host="c1")
    assert named(causes(owed("nova-compute"), others, hosts=CLOUD))[0] == ("nova-compute", "c1")


def test_who_failed_at_a_peer_that_is_unwell_waits_for_it_whoever_asked():
    """Without an id of the run, too: the peer says itself that it cannot do its work."""
    failed = failed_at("neutron-server", "rabbitmq", How.FULL, own=False, host="ctl")
    changed = seen(Kind.CHANGE, "neutron-server", "ctl")
    silent = seen(Kind.ANSWER, "neutron-server", "ctl", how=How.SILENT)
    assert named(causes(silent, changed, failed, hosts=CLOUD))[0] == ("neutron-server", "ctl")
    alarm = seen(Kind.REPORT, "rabbitmq", "ctl", how=How.ALARM)
    assert named(causes(silent, changed, failed, alarm, hosts=CLOUD))[0] == ("rabbitmq", "ctl")


def test_who_failed_at_a_peer_that_fails_several_projects_waits_for_it():
    """As a database that ends the connections of each service whose statements are too large for it."""
    silent = seen(Kind.ANSWER, "keystone", "ctl", how=How.SILENT, own=True)
    own = failed_at("keystone", "database", How.BROKEN_OFF, own=False, host="ctl")
    assert named(causes(silent, own, hosts=CLOUD))[0] == ("keystone", "ctl")
    other = failed_at("nova-conductor", "database", How.BROKEN_OFF, own=False, host="ctl")
    assert named(causes(silent, own, other, hosts=CLOUD))[0][0] == "database"
    # A peer that answers is not one of them.
    refused = [replace(failure, how=How.MISSING) for failure in (own, other)]
    assert world_of(*refused).failing == set()


def test_who_broke_off_the_request_of_the_run_waits_for_the_peer_at_which_it_failed():
    """A worker that has ended cannot log the id of the request any more."""
    failed = failed_at("keystone", "database", How.BROKEN_OFF, own=False, host="ctl")
    silent = seen(Kind.ANSWER, "keystone", "ctl", how=How.SILENT, own=True)
    assert named(causes(silent, failed, hosts=CLOUD))[0] == ("keystone", "ctl")
    ended = replace(silent, how=How.BROKEN_OFF)
    assert named(causes(ended, failed, hosts=CLOUD))[0][0] == "database"


def test_a_responsible_component_waits_for_what_it_depends_on_if_that_does_not_work():
    hangs = Symptom(Code.COMMAND_HANGS, "ceph-osd", host="s", how=How.SILENT)
    changed = seen(Kind.CHANGE, "nova-compute", "c1", share=0.6)
    assert named(causes(owed("nova-compute"), changed, hangs, hosts=CLOUD))[0] == ("ceph-osd", "s")
    # A broken link says more.
    broken = seen(Kind.LINK, "libvirt", "c1")
    assert named(causes(owed("nova-compute"), changed, hangs, broken, hosts=CLOUD))[0] == ("libvirt", "c1")


def test_a_peer_that_was_changed_just_now_rejects_for_that():
    """And not a caller that it has let in until then."""
    rejected = failed_at("glance-api", "ceph-rgw", How.DENIED, host="ctl")
    of_peer = seen(Kind.CHANGE, "ceph-rgw", "s", share=0.3)
    hosts = (*CLOUD, host("s", "ceph-rgw"))
    assert named(causes(rejected, hosts=hosts))[0] == ("glance-api", "ctl")
    assert named(causes(rejected, of_peer, hosts=hosts))[0] == ("ceph-rgw", "s")
    of_both = seen(Kind.CHANGE, "glance-api", "ctl", share=0.9)
    assert named(causes(rejected, of_peer, of_both, hosts=hosts))[0] == ("glance-api", "ctl")


def test_who_breaks_a_chain_waits_for_who_rejects_it_on_all_its_hosts():
    """It writes to a database of its own project, in which no project has an account."""
    link = seen(Kind.LINK, "ovn-controller", "c1", certain=True)
    rejected = [
        failed_at("ovn-controller", "ovn-sb-db", How.DENIED, own=False, certain=True, host=name)
        for name in ("c1", "c2", "c3")
    ]
    with_ovn = [host(name, "nova-compute", "ovn-controller") for name in ("c1", "c2", "c3")]
    with_ovn[0]["facts"]["domain"] = {"uuid": "x"}
    hosts = (*with_ovn, host("db", "ovn-sb-db"))
    assert named(causes(link, owed("ovn-controller"), hosts=hosts))[0] == ("ovn-controller", "c1")
    assert named(causes(link, owed("ovn-controller"), *rejected, hosts=hosts))[0] == ("ovn-sb-db", "db")
    # What was no rejection may be of other work.
    silent = [replace(one, how=How.SILENT) for one in rejected]
    assert named(causes(link, owed("ovn-controller"), *silent, hosts=hosts))[0] == ("ovn-controller", "c1")
    # One host alone may have been given something wrong, so both ends are named.
    alone = causes(link, owed("ovn-controller"), rejected[0], hosts=hosts)
    assert named_by(alone).between == rejected[0]


@pytest.mark.parametrize(
    ("state", "first"),
    [(LinkState.HOLDS, ("neutron-server", "ctl")), (LinkState.UNREADABLE, ("neutron-l2-agent", "c1"))],
)
def test_what_one_that_did_its_part_has_sent_back_explains_no_break(state, first):
    links = (
        Link("agent_alive", state, "neutron-l2-agent", "c1"),
        Link("agent_carries_network", LinkState.BROKEN, "neutron-server", "ctl"),
    )
    chains = [codec.to_json(Chain("ovs_port", "1d", links))]
    link = seen(Kind.LINK, "neutron-server", "ctl", certain=True)
    sent_back = failed_at("neutron-server", "neutron-l2-agent", How.ERROR, peer_host="c1", certain=True, host="ctl")
    found = causes(link, sent_back, owed("neutron-l2-agent"), hosts=CLOUD, chains=chains)
    assert named(found)[0] == first


def test_who_breaks_a_chain_may_have_been_given_what_it_cannot_read():
    link = seen(Kind.LINK, "ovn-controller", "c1", certain=True)
    unread = failed_at("ovn-controller", "neutron-server", How.MALFORMED, own=False, certain=True, host="c1")
    hosts = (host("c1", "nova-compute", "ovn-controller"), host("ctl", "neutron-server"))
    assert named(causes(link, hosts=hosts))[0] == ("ovn-controller", "c1")
    assert named(causes(link, unread, hosts=hosts))[0] == ("neutron-server", "ctl")


def test_a_warning_of_a_peer_does_not_make_it_unwell():
    warning = seen(Kind.REPORT, "rabbitmq", "ctl", how=How.WARNING)
    assert world_of(warning, hosts=CLOUD).unwell == set()
    assert world_of(state("rabbitmq", "ctl"), hosts=CLOUD).unwell == {"rabbitmq"}


def test_a_responsible_component_on_several_hosts_that_failed_at_a_peer_is_less_likely_than_that_peer():
    hosts = [host("database1", "database"), *(host(f"ctl{number}", "neutron-server") for number in range(3))]
    failed = failed_at("neutron-server", "database", host="ctl1")
    assert named(causes(owed("neutron-server"), failed, hosts=hosts))[0] == ("database", "database1")


def test_a_component_beside_an_instance_whose_host_is_unknown_is_less_likely_than_the_peer_at_which_it_failed():
    hosts = [as_json.host("c1", facts=THERE["facts"]), THERE, CONTROLLER]
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


@pytest.mark.parametrize("kind", WEIGHTS.strength)
def test_a_component_that_failed_at_a_peer_passes_on_to_it_only_symptoms_that_may_come_from_others(kind):
    symptom = replace(EACH[kind], component="x", peer="z")
    failed = failed_at("x", "y", host="c1")
    gained = score(causes(failed, symptom), "y") - score(causes(failed), "y")
    assert (gained > 0) is (kind in shares.MAY_COME_FROM_OTHERS)


def test_a_failure_at_a_peer_that_failed_itself_speaks_for_the_one_at_which_that_one_failed():
    first, second = failed_at("z", "x", host="h", peer_host="c1"), failed_at("x", "y", host="c1")
    assert score(causes(first, second), "y") > score(causes(second), "y")
    # Elsewhere the peer has not failed.
    assert score(causes(replace(first, peer_host="c2"), second), "y") == score(causes(second), "y")


@pytest.mark.parametrize("others", [["nova-api"], ["nova-api", "nova-scheduler", "neutron-server"]])
def test_many_errors_of_others_do_not_outweigh_a_stopped_service(others):
    complaints = [error(other, number, host="ctl") for other in others for number in range(50)]
    step = owed("nova-api", How.UNSEEN, peer="nova-conductor")
    found = causes(step, *complaints, state("nova-conductor", "ctl"), hosts=CLOUD)
    assert named(found)[0] == ("nova-conductor", "ctl")


def test_a_repeated_symptom_adds_less_each_time():
    scores = [score(causes(*[state("x", "h")] * times), "x", "h") for times in range(1, 5)]
    gains = [after - before for before, after in pairwise(scores)]
    assert all(gain > 0 for gain in gains)
    assert gains == sorted(gains, reverse=True)


def test_two_kinds_of_symptoms_say_more_than_the_same_one_twice():
    twice = causes(error("x", 1, host="h", own=True), error("x", 2, host="h", own=True))
    apart = causes(error("x", 1, host="h", own=True), seen(Kind.ANSWER, "x", "h"))
    assert score(apart, "x", "h") > score(twice, "x", "h")


@pytest.mark.parametrize(
    ("less", "more"),
    [
        (state("x", how=How.STARTING), state("x")),
        (state("x", how=How.STOPPING), state("x", how=How.FAILED)),
        (seen(Kind.REPORT, "x", None, how=How.WARNING), seen(Kind.REPORT, "x", None, how=How.ALARM)),
        (seen(Kind.REPORT, "x", None, how=How.ERROR), seen(Kind.REPORT, "x", None, how=How.READ_ONLY)),
        # A component that waited for an answer has broken nothing.
        (error("x", how=How.SILENT, own=True), error("x", own=True)),
        (owed("x", How.UNSEEN), owed("x")),
        (part("x"), owed("x", How.UNSEEN)),
        (error("x"), error("x", own=True)),
        (failed_at("x", "y", own=False), failed_at("x", "y")),
        (failed_at("x", "y", certain=False), failed_at("x", "y", certain=True)),
        (error("x", share=0.5), error("x", share=1.0)),
    ],
)
def test_a_symptom_counts_less_than_a_surer_one_of_its_kind(less, more):
    assert strength(less) < strength(more)


def test_a_component_that_is_denied_access_may_be_wrong_itself():
    parts = {}
    for how in ("refused", How.DENIED):
        found = causes(failed_at("nova-compute", "neutron-server", how, host="c1"), hosts=CLOUD)
        parts[how] = score(found, "nova-compute", "c1"), score(found, "neutron-server", "ctl")
    assert parts["denied"][0] > parts["refused"][0]
    assert parts["denied"][1] < parts["refused"][1]


def test_who_rejects_the_accounts_of_several_is_not_cut_off_from_one_of_them():
    hosts = [host("ctl", "glance-api", "nova-api", "keystone")]
    own = failed_at("glance-api", "keystone", How.DENIED, host="ctl")
    other = failed_at("nova-api", "keystone", How.DENIED, host="ctl", own=False)
    assert named(causes(own, hosts=hosts))[0] == ("glance-api", "ctl")
    assert named(causes(own, other, hosts=hosts))[0] == ("keystone", "ctl")


def test_a_client_that_is_denied_access_does_not_relay_what_another_one_met():
    """With an exception of another kind, what Neutron met at Keystone may have come to the API of metadata."""
    hosts = [host("ctl", "nova-api-metadata", "neutron-server", "keystone")]
    by = {}
    for exception in ("keystoneauth1.exceptions.http.Unauthorized", None):
        denied = failed_at("nova-api-metadata", "keystone", How.DENIED, host="ctl", exception=exception)
        by[exception] = {node.component for node in world_of(denied, hosts=hosts).askers_of(denied)}
    assert by == {"keystoneauth1.exceptions.http.Unauthorized": {"nova-api-metadata"}, None: {"neutron-server"}}


def test_a_component_and_its_connection_have_the_symptoms_of_both():
    denied = failed_at("nova-compute", "ceph-mon", How.DENIED, host="c1", peer_host="s")
    change = seen(Kind.CHANGE, "nova-compute", "c1", path="/etc/nova/nova.conf", share=0.8)
    first = causes(denied, change, hosts=CLOUD)[0]
    assert first.place == ("nova-compute", "c1")
    assert set(first.symptoms) == {denied, change}


def test_each_way_of_failing_has_its_parts():
    assert set(WEIGHTS.parts) == {*AT_PEER, None}


# Those that a component needs


def test_a_service_that_has_failed_may_have_done_so_for_want_of_another():
    """A service that was stopped was so by somebody, and accuses nobody."""
    by_how = {how: named(causes(state("nova-conductor", "ctl", how))) for how in ("stopped", "frozen", How.FAILED)}
    assert by_how["stopped"] == by_how["frozen"] == [("nova-conductor", "ctl")]
    assert {component for component, _host in by_how["failed"]} == {"nova-conductor", *depends_on("nova-conductor")}
    assert by_how["failed"][0] == ("nova-conductor", "ctl")


def test_a_service_may_disable_itself_for_want_of_another():
    """As nova-compute does if its libvirt has gone."""
    disabled, stopped = seen(Kind.DISABLED, "nova-compute", "c1"), state("libvirt", "c1")
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
        state("neutron-l2-agent", "net", How.FAILED),
        seen(Kind.NOT_REPORTING, "neutron-l2-agent", "net"),
        failed_at("x", "neutron-l2-agent", host="net"),
    ],
)
def test_a_component_needs_what_its_own_host_has_for_itself(symptom, hosts, needed):
    behind = shares.shares(symptom, world_of(symptom, hosts=hosts))
    assert [(node.component, node.host) for node in behind if node.component == needed[0]] == [needed]


@pytest.mark.parametrize("component", [entry.name for entry in COMPONENTS if entry.depends_on])
def test_the_components_that_a_responsible_component_needs_are_suspects_behind_it(component):
    first, *others = named(causes(owed(component)))
    assert first[0] == component
    assert {other for other, _host in others} == set(depends_on(component))


def test_the_components_that_a_peer_needs_are_suspects_behind_it():
    found = causes(failed_at("nova-scheduler", "placement-api"))
    places = {cause.component: number for number, cause in enumerate(found)}
    assert set(places) == {"nova-scheduler", "placement-api", *depends_on("placement-api")}
    assert all(places["placement-api"] < places[needed] for needed in depends_on("placement-api"))


def test_the_receiver_and_the_carriers_of_a_step_are_suspects_behind_its_responsible():
    found = named(causes(owed("p", peer="q", carriers=("r",))))
    assert found[0] == ("p", None)
    assert set(found) == {("p", None), ("q", None), ("r", None)}


@pytest.mark.parametrize("name", ["neutron-metadata-proxy", "client", "token-store"])
def test_names_of_flows_that_are_no_components_stand_for_others(name):
    assert {component for component, _host in named(causes(owed(name)))} == set(stands_for(name))


# Ways


def test_a_peer_that_no_host_reaches_is_the_cause():
    silent = [reach("nova-compute", name, "rabbitmq", "ctl", only_from_here=False) for name in ("c1", "c2")]
    found = causes(owed("nova-compute", How.UNSEEN), *silent, hosts=CLOUD)
    assert named(found)[0] == ("rabbitmq", "ctl")
    assert culprit.connection_of(found[0]) is None


def test_a_peer_that_one_host_alone_does_not_reach_means_the_way():
    found = causes(owed("nova-compute", How.UNSEEN), cut("nova-compute"), hosts=CLOUD)
    assert named(found)[0] == ("nova-compute", "c1")
    assert culprit.connection_of(found[0]) == Connection(
        Place("nova-compute", "c1"), Place("rabbitmq", "ctl"), "silent"
    )


ASKERS = ["neutron-l2-agent", "nova-compute"]


def test_a_way_that_is_cut_for_two_components_of_a_host_names_one_of_them_and_not_the_peer():
    cause = named_by(causes(*map(cut, ASKERS), hosts=CLOUD))
    assert cause.component in ASKERS
    assert (cause.host, cause.suspect) == ("c1", Suspect.CONNECTION)


@pytest.mark.parametrize("responsible", ASKERS)
def test_a_way_has_the_name_of_the_component_with_most_to_show(responsible):
    found = causes(owed(responsible, How.UNSEEN), *map(cut, ASKERS), hosts=CLOUD)
    assert named(found)[0] == (responsible, "c1")


@pytest.mark.parametrize("responsible", ASKERS)
def test_a_way_begins_at_the_component_whose_name_it_has(responsible):
    cause = named_by(causes(owed(responsible, How.UNSEEN), *map(cut, ASKERS), hosts=CLOUD))
    assert culprit.connection_of(cause).source == Place(responsible, "c1")


def test_a_way_explains_what_each_of_those_who_ask_at_its_end_owes():
    seen = world_of(*map(cut, ASKERS), hosts=CLOUD)
    (way,) = seen.connections
    assert [shares.shares(owed(responsible), seen)[way] for responsible in ASKERS] == [1.0, 1.0]


@pytest.mark.parametrize(("how", "explained"), [("silent", True), ("broken off", True), ("error", False)])
def test_a_way_that_is_cut_explains_failures_at_its_end_except_answers(how, explained):
    seen = world_of(cut("nova-compute"))
    symptom = failed_at("neutron-l2-agent", "rabbitmq", how, host="c1", peer_host="ctl")
    assert seen.connections.issubset(shares.shares(symptom, seen)) is explained


def test_a_way_is_that_of_one_host_to_one_peer():
    cuts = [cut("nova-compute"), cut("nova-compute", "c2"), reach("nova-compute", "c1", "glance-api", "ctl", True)]
    assert len(world_of(*cuts, *cuts).connections) == len(cuts)


def test_a_way_whose_only_asker_this_cloud_does_not_have_blames_nobody():
    """OVN may have DHCP agents, too, for bare metal."""
    hosts = [host("net", "neutron-dhcp-agent", "ovn-controller"), CONTROLLER]
    found = causes(cut("neutron-dhcp-agent", "net"), hosts=hosts)
    assert "neutron-dhcp-agent" not in {component for component, _host in named(found)}


DENIED = failed_at("nova-compute", "rabbitmq", How.DENIED, host="c1")


def test_a_host_that_a_peer_does_not_let_in_is_named_and_not_the_peer():
    found = causes(owed("nova-compute", How.UNSEEN), DENIED, hosts=CLOUD)
    assert named(found)[0] == ("nova-compute", "c1")
    assert (found[0].suspect, found[1].component) == (Suspect.CONNECTION, "rabbitmq")


@pytest.mark.parametrize(
    ("symptom", "is_way"),
    [
        (DENIED, True),
        (replace(DENIED, certain=True), True),
        (replace(DENIED, certain=False), False),
        # Who is forbidden something has been let in.
        (replace(DENIED, exception="cinderclient.exceptions.Forbidden"), False),
        # It may be of another run.
        (replace(DENIED, own=False), False),
        (replace(DENIED, how=How.REFUSED), False),
        (replace(DENIED, component="rabbitmq"), False),
        (error("nova-compute", how=How.DENIED, own=True), False),
        (cut("nova-compute"), True),
        (cut(None), False),
        (reach("nova-compute", "c1", "rabbitmq", "ctl", only_from_here=False), False),
    ],
)
def test_a_way_is_a_suspect_if_one_host_alone_cannot_use_it(symptom, is_way):
    assert len(world_of(symptom).connections) == is_way
    kinds = [cause.suspect for cause in causes(symptom, hosts=CLOUD)]
    assert kinds.count(Suspect.CONNECTION) == is_way


def suspect(component, host, kind, confidence):
    return cause(component, host, suspect=kind, confidence=confidence)


def test_a_component_and_the_ways_from_it_are_one_cause_and_as_likely_as_both():
    both = [
        suspect("y", "h", Suspect.COMPONENT, 0.3),
        suspect("x", "h", Suspect.CONNECTION, 0.25),
        suspect("x", "h", Suspect.COMPONENT, 0.2),
        suspect("x", "h2", Suspect.COMPONENT, 0.1),
        suspect("x", "h", Suspect.CONNECTION, 0.05),
    ]
    merged = model.merged_by_name(both)
    assert [(cause.confidence, *named([cause])[0], cause.suspect) for cause in merged] == [
        (0.5, "x", "h", Suspect.CONNECTION),
        (0.3, "y", "h", Suspect.COMPONENT),
        (0.1, "x", "h2", Suspect.COMPONENT),
    ]


def test_a_component_and_its_restart_are_two_causes():
    """To name the one is to blame it, and to tell of the other is to blame nobody."""
    both = [suspect("x", "h", Suspect.RESTART, 0.5), suspect("x", "h", Suspect.COMPONENT, 0.4)]
    assert model.merged_by_name(both) == both


# Restarts before the run

LOST = failed_at("nova-compute", "rabbitmq", How.BROKEN_OFF, host="c1")
RESTARTED = restart("rabbitmq", "ctl", 300.0)


@pytest.mark.parametrize(
    "others",
    [
        [],
        # The client was restarted before the peer.
        [restart("nova-compute", "c1", 400.0)],
        # Of several services of the peer the last one counts.
        [restart("nova-compute", "c1", 400.0), restart("rabbitmq", "ctl", 500.0)],
        # Another client is younger.
        [restart("nova-compute", "c2", 200.0)],
    ],
)
@pytest.mark.parametrize("turned", [1, -1])
def test_a_restart_that_ended_a_connection_of_an_older_client_is_the_cause_and_no_component_is_named(others, turned):
    found = causes(*[owed("nova-compute"), LOST, RESTARTED, *others][::turned], hosts=CLOUD)
    assert (*named(found)[0], found[0].suspect) == ("rabbitmq", "ctl", Suspect.RESTART)
    assert named_by(found) is None


@pytest.mark.parametrize(
    ("restarts", "how"),
    [
        # The connections of the client are younger than the peer.
        ([restart("nova-compute", "c1", 200.0), RESTARTED], How.BROKEN_OFF),
        ([restart("nova-compute", "c1", 300.0), RESTARTED], How.BROKEN_OFF),
        # Another peer was restarted.
        ([restart("rabbitmq", "ctl2", 300.0)], How.BROKEN_OFF),
        ([restart("database", "ctl", 300.0)], How.BROKEN_OFF),
        *(([RESTARTED], how) for how in WEIGHTS.parts if how != How.BROKEN_OFF),
    ],
)
def test_a_restart_that_does_not_explain_a_failure_changes_nothing(restarts, how):
    failed = replace(LOST, how=how)
    before = named_by(causes(owed("nova-compute"), failed, hosts=CLOUD))
    found = causes(owed("nova-compute"), failed, *restarts, hosts=CLOUD)
    assert Suspect.RESTART not in {cause.suspect for cause in found}
    after = named_by(found)
    assert (after and named([after])) == (before and named([before]))


@pytest.mark.parametrize("symptom", [LOST, owed("nova-compute")])
def test_a_restart_explains_a_failure_wholly_and_what_the_client_owes_instead_of_its_peer(symptom):
    peer = world.Node("rabbitmq", "ctl")
    before = shares.shares(symptom, world_of(LOST, hosts=CLOUD))
    after = shares.shares(symptom, world_of(LOST, RESTARTED, hosts=CLOUD))
    assert after[peer._replace(suspect=Suspect.RESTART)] == 1.0
    assert after.get(peer, 0) < before[peer]


@pytest.mark.parametrize("others", [[], [part("rabbitmq")]])
def test_a_restart_alone_is_nothing_wrong(others):
    found = causes(RESTARTED, *others, hosts=CLOUD)
    assert found == causes(*others, hosts=CLOUD)
    assert named_by(found) is None


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


def test_a_responsible_component_that_passes_on_a_failure_is_less_likely_than_the_peer():
    found = causes(owed("neutron-dhcp-agent"), PASSES_ON, hosts=[host("net", "neutron-dhcp-agent"), CONTROLLER])
    assert named(found)[0] == ("database", "ctl")


def test_a_restart_is_compared_with_the_age_of_the_component_that_asked():
    hosts = [host("net", "neutron-dhcp-agent"), CONTROLLER]
    passes_on = replace(PASSES_ON, how=How.BROKEN_OFF)
    for young, kind in (
        (("neutron-dhcp-agent", "net"), Suspect.RESTART),
        (("neutron-server", "ctl"), Suspect.COMPONENT),
    ):
        found = causes(restart("database", "ctl", 300.0), restart(*young, 200.0), passes_on, hosts=hosts)
        assert (*named(found)[0], found[0].suspect) == ("database", "ctl", kind)


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
    assert world.places_of(case_of([host("a", "x", "y"), host("b", "y"), as_json.host("c")])) == {
        "x": {"a"},
        "y": {"a", "b"},
    }


LOG = {"path": "x.log", "complete": True, "first": None, "reason": None}


def test_in_collected_logs_a_component_is_where_it_logs():
    logs = [
        {"host": name, "reason": None, "unread": [], "sources": [{**LOG, "service": service} for service in services]}
        for name, services in (("a", ["slapd", "x"]), ("b", ["x"]))
    ]
    assert world.places_of(case_of(diagnosis=diagnosis(), logs=logs)) == {"ldap": {"a"}, "x": {"a", "b"}}
    # A run reads logs as well, and knows its services.
    assert world.places_of(case_of(logs=logs)) == {}


def test_a_symptom_without_a_host_counts_for_each_host_of_its_component():
    of_all, of_one, of_other = ((number, seen(Kind.STATE, "x", None)) for number in (1.0, 2.0, 3.0))
    of_way, of_restart = world.Node(None, "a", Suspect.CONNECTION, "x"), world.Node("x", "c", Suspect.RESTART)
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
    stopped, part = state("cinder-volume", "st1"), owed("cinder-volume", share=0.0)
    near, far = (score(causes(stopped, *others), "cinder-volume", "st1") for others in ([part], []))
    assert far < near


def test_a_component_that_others_need_is_the_likelier_the_more_these_have_to_do_with_what_failed():
    parts = [
        owed("neutron-server", share=0.0),
        # The run only met it.
        error("neutron-server", own=True, share=0.0),
        error("neutron-server", share=0.0),
    ]
    scores = [score(causes(state("database", "ctl"), part), "database", "ctl") for part in parts]
    assert scores == sorted(set(scores), reverse=True)


NEEDED = depends_on("nova-api-metadata")


@pytest.mark.parametrize(
    ("symptom", "near", "behind"),
    [
        (owed("nova-api-metadata", peer="p", carriers=("c",)), {"nova-api-metadata", "p", "c", *NEEDED}, ()),
        (seen(Kind.ANSWER, "nova-api-metadata", None), {"nova-api-metadata", *NEEDED}, ()),
        # A component that only complains has no part in what failed,
        (error("nova-api-metadata"), (), ()),
        (failed_at("nova-api-metadata", "p", own=False), (), ()),
        (state("nova-api-metadata", "ctl"), (), ()),
        (restart("nova-api-metadata", "ctl", 300.0), (), ()),
        # and one that complains of the run has one, and those that it needs have less.
        (error("nova-api-metadata", own=True), {"nova-api-metadata"}, NEEDED),
        (failed_at("nova-api-metadata", "p"), {"nova-api-metadata", "p"}, NEEDED),
        (failed_at("p", "nova-api-metadata"), {"nova-api-metadata", "p"}, NEEDED),
    ],
)
def test_components_of_the_steps_and_those_that_they_need_have_a_part_in_what_failed(symptom, near, behind):
    costs = {**dict.fromkeys(near, 0), **dict.fromkeys(behind, WEIGHTS.behind)}
    assert model.near_components([symptom], world_of(symptom)) == costs


def test_a_component_that_a_responsible_component_needs_is_near_whatever_else_the_run_met():
    met, responsible = error("nova-compute", own=True), owed("nova-api-metadata")
    costs = model.near_components([met, responsible], world_of(met, responsible))
    assert [costs[name] for name in NEEDED] == [0] * len(NEEDED)
    assert costs["libvirt"] == WEIGHTS.behind


def test_a_stopped_service_far_from_the_stage_is_named_if_nothing_else_speaks():
    worker = part("keystone")
    assert "cinder-volume" not in model.near_components([worker], world_of(worker))
    first, *_others = causes(worker, state("cinder-volume", "st1"))
    assert (first.component, first.host) == ("cinder-volume", "st1")
    assert first.confidence >= WEIGHTS.named


def test_a_stopped_service_near_the_stage_comes_before_one_that_is_far():
    found = causes(part("keystone"), state("cinder-volume", "st1"), state("keystone", "ctl"))
    assert named(found)[:2] == [("keystone", "ctl"), ("cinder-volume", "st1")]


OF_BACK_END = {
    back_end: {entry.name for entry in COMPONENTS if entry.network_back_end == back_end}
    for back_end in ("agents", "ovn")
}


@pytest.mark.parametrize(("reporting", "back_end"), [("neutron-l2-agent", "agents"), ("ovn-controller", "ovn")])
def test_a_component_that_this_cloud_does_not_have_is_not_a_suspect(reporting, back_end):
    parts = [owed(component) for component in sorted(set().union(*OF_BACK_END.values()))]
    present = {component for component, _host in named(causes(*parts, agents=[agent(component=reporting)]))}
    lacking = set().union(*(names for other, names in OF_BACK_END.items() if other != back_end))
    assert present >= OF_BACK_END[back_end]
    assert not present & lacking
    # Where nobody knows what the cloud has, each may be it.
    assert {component for component, _host in named(causes(*parts))} >= present | lacking


# Confidences

MIXED = [
    owed("nova-conductor", peer="nova-compute", carriers=("rabbitmq",)),
    owed("nova-compute", How.UNSEEN, peer="libvirt", carriers=("libvirt",), share=0.5),
    part("nova-api"),
    state("neutron-server", "ctl", How.FAILED),
    state("nova-compute", "c2"),
    failed_at("nova-compute", "neutron-server", host="c1"),
    failed_at("nova-compute", "libvirt", How.DENIED, own=False, host="c1"),
    *(error("nova-api", number, host="ctl", own=bool(number % 2)) for number in range(7)),
    cut("nova-compute"),
    cut("neutron-l2-agent"),
    failed_at("neutron-l2-agent", "neutron-server", How.DENIED, host="c2"),
    failed_at("nova-scheduler", "database", How.BROKEN_OFF, host="ctl"),
    failed_at("neutron-dhcp-agent", "database", How.BROKEN_OFF, host="net"),
    restart("database", "ctl", 300.0),
    restart("nova-scheduler", "ctl", 200.0),
    seen(Kind.NOT_REPORTING, "nova-compute", "c2"),
    seen(Kind.ANSWER, "nova-api", None, how=How.ERROR, own=True),
    seen(Kind.CHANGE, "nova-compute", "c1", share=0.3),
    seen(Kind.REPORT, "ceph-osd", None, how=How.WARNING),
]


@pytest.mark.parametrize(
    "found",
    [
        [owed("x", How.UNSEEN)],
        [state("x", "h")],
        [state("x", "h")] * 9,
        [state(f"x{number}", "h") for number in range(9)],
        [seen(Kind.DIFFERENCE, "x", "h")],
        MIXED,
        MIXED * 3,
    ],
)
def test_confidences_are_probabilities_beside_an_unknown_cause(found):
    confidences = [cause.confidence for cause in causes(*found, hosts=CLOUD)]
    assert all(0 <= confidence <= 1 for confidence in confidences)
    assert sum(confidences) <= 1 + ROUNDED * len(confidences)
    assert confidences == sorted(confidences, reverse=True)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_the_evidence_does_not_matter(seed):
    """Logs and hosts are read in any order."""
    shuffled = random.Random(seed).sample(MIXED, len(MIXED))

    def in_short(found):
        return [(*cause.place, cause.score, cause.confidence) for cause in found]

    assert in_short(causes(*shuffled, hosts=CLOUD)) == in_short(causes(*MIXED, hosts=CLOUD))
    assert in_short(causes(*MIXED, hosts=CLOUD[::-1])) == in_short(causes(*MIXED, hosts=CLOUD))


STAGES = ("auth", "image", "network", "volume", "boot", "metadata")


@pytest.mark.parametrize("stage", STAGES)
def test_no_component_is_named_if_nothing_but_the_order_of_unseen_steps_speaks(stage):
    path = [
        step_of(as_json.step("1", "nova-api", "nova-conductor", "m", "AMQP cast")),
        step_of(as_json.step("2", "nova-conductor", "x", "m", "DB")),
    ]
    case = with_paths(case_of(CLOUD, a_stage(stage)), [path])
    assert all(cause.confidence < WEIGHTS.named for cause in model.causes(case, steps.missing(case)))


@pytest.mark.parametrize("kind", [Kind.CHANGE, Kind.DIFFERENCE, Kind.DISABLED])
def test_no_component_is_named_for_being_otherwise_alone(kind):
    first, *behind = causes(seen(kind, "nova-compute", "c1"), hosts=CLOUD)
    assert named([first]) == [("nova-compute", "c1")]
    assert first.confidence < WEIGHTS.named
    # Only a service that is disabled may have been so for want of another.
    assert bool(behind) is (kind == Kind.DISABLED)


@pytest.mark.parametrize("how", [How.STOPPED, How.FAILED, How.FROZEN])
@pytest.mark.parametrize(("stage", "component"), [(stage, name) for stage in STAGES for name in workers_of(stage)])
def test_a_state_of_a_component_of_the_stage_names_it_if_nothing_else_speaks(stage, component, how):
    case = case_of(stage=a_stage(stage))
    first, *_others = model.causes(case, [*steps.missing(case), state(component, "h", how)])
    assert (first.component, first.host) == (component, "h")
    assert first.confidence >= WEIGHTS.named


# One symptom of each kind, at nova-compute on c1
EACH = {
    Kind.STATE: state("nova-compute", "c1"),
    Kind.LINK: seen(Kind.LINK, "nova-compute", "c1", own=True),
    Kind.REPORT: seen(Kind.REPORT, "nova-compute", "c1", how=How.ALARM),
    Kind.RESOURCE: seen(Kind.RESOURCE, "nova-compute", "c1", how=How.NO_SPACE),
    Kind.RESTART: restart("nova-compute", "c1", 300.0),
    Kind.REACH: cut("nova-compute"),
    Kind.ANSWER: seen(Kind.ANSWER, "nova-compute", "c1", how=How.ERROR, own=True),
    Kind.NOT_REPORTING: seen(Kind.NOT_REPORTING, "nova-compute", "c1"),
    Kind.FAILED_AT: failed_at("nova-compute", "neutron-server", host="c1"),
    Kind.ERROR: error("nova-compute", host="c1", own=True),
    Kind.CHANGE: seen(Kind.CHANGE, "nova-compute", "c1"),
    Kind.DIFFERENCE: seen(Kind.DIFFERENCE, "nova-compute", "c1"),
    Kind.DISABLED: seen(Kind.DISABLED, "nova-compute", "c1"),
    Kind.STEP: owed("nova-compute"),
}


@pytest.mark.parametrize("kind", WEIGHTS.strength)
def test_a_symptom_of_each_kind_makes_its_component_likelier(kind):
    worker = part("nova-compute")
    before, after = causes(worker, hosts=CLOUD), causes(worker, EACH[kind], hosts=CLOUD)
    # A restart is nothing wrong itself.
    assert (score(after, "nova-compute", "c1") > score(before, "nova-compute", "c1")) is (kind != Kind.RESTART)


@pytest.mark.parametrize("kind", [Kind.REACH, Kind.FAILED_AT])
def test_a_symptom_at_a_peer_makes_that_peer_likelier(kind):
    worker = part("nova-compute")
    peer = EACH[kind].peer
    before, after = causes(worker, hosts=CLOUD), causes(worker, EACH[kind], hosts=CLOUD)
    assert score(after, peer, "ctl") > score(before, peer, "ctl")


STARTED_AT = 1795262400.0


@pytest.mark.parametrize(
    ("at", "is_blamed"),
    [
        # The run may go on after an error that was logged before its last step.
        (STARTED_AT, False),
        (STARTED_AT + 5, True),
    ],
)
def test_an_error_with_which_a_run_ended_is_why_a_later_step_did_not_happen(at, is_blamed):
    times = {"status": "seen", "at": "2026-11-21T12:00:04.000000+00:00"}
    followed = [
        as_json.step("0", "client", "nova-api", "m", "HTTP REST", status="seen", at="2026-11-21T12:00:01.000000+00:00"),
        as_json.step("1", "nova-api", "nova-conductor", "m", "AMQP cast", follows=["0"], **times),
    ]
    found = causes(
        owed("nova-compute"),
        failed_at("nova-conductor", "database", How.MISSING, at=at, host="ctl"),
        hosts=[host("ctl", "nova-conductor", "database"), host("c1", "nova-compute", domain={"name": "i"})],
        flows=[flow(followed)],
    )
    first = found[0]
    assert (first.component == "database") is is_blamed


def test_who_is_forbidden_something_has_not_given_a_wrong_password():
    unknown = failed_at("nova-compute", "neutron-server", How.DENIED, exception="nova.exception.Unauthorized")
    known = replace(unknown, exception="nova.exception.Forbidden")
    shares_of_peer = [
        dict(shares.shares(one, world_of(one)))[world.Node("neutron-server", None)] for one in (unknown, known)
    ]
    assert shares_of_peer[0] < shares_of_peer[1]
