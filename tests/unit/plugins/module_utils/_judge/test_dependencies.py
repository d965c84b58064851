# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who depends on a cause, by its symptoms: from whom, to whom, and how it failed there."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge import dependencies
from ansible_collections.stackproof.provision.plugins.module_utils._judge.weights import WEIGHTS
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import How
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Kind
from cases_by_hand import cause, cut, seen

COMPUTE, AGENT, QUEUE = ("nova-compute", "c1"), ("neutron-l2-agent", "c1"), ("rabbitmq", "ctl")


def failed_at(own, peer, how=How.REFUSED, peer_host=None, **more):
    return seen(Kind.FAILED_AT, *own, peer=peer, peer_host=peer_host, how=how, **more)


def edges(component, host, *found):
    """The edges of the cause with these symptoms, as (from, to, how)."""
    edges = dependencies.edges(cause(component, host, *found), WEIGHTS)
    return [(place(edge.source), place(edge.target), edge.how) for edge in edges]


def place(end):
    return end.component, end.host


# Direct ones


def test_a_component_that_failed_at_the_cause_depends_on_it():
    assert edges(*QUEUE, failed_at(COMPUTE, "rabbitmq")) == [(COMPUTE, QUEUE, "refused")]


@pytest.mark.parametrize("kind", [Kind.STEP, Kind.ERROR, Kind.ANSWER, Kind.STATE])
def test_a_component_that_has_something_wrong_because_of_the_cause_depends_on_it(kind):
    assert edges(*QUEUE, seen(kind, *COMPUTE)) == [(COMPUTE, QUEUE, None)]


def test_who_is_explained_by_the_cause_depends_on_it_though_no_table_says_so():
    assert edges("x", "h", seen(Kind.ERROR, "y", "h2")) == [(("y", "h2"), ("x", "h"), None)]


def test_a_cause_does_not_lean_on_itself():
    assert edges("x", "h", seen(Kind.STATE), seen(Kind.ERROR, "x", None)) == []


# Over others


def test_a_component_that_needs_another_one_for_it_depends_on_the_cause_over_a_hop():
    found = edges("ldap", "ctl", seen(Kind.ANSWER, "nova-api", "ctl"))
    assert found == [(("nova-api", "ctl"), ("keystone", None), None), (("keystone", None), ("ldap", "ctl"), None)]


def test_of_several_hops_the_first_is_reported():
    found = edges("keystone", "ctl", seen(Kind.ERROR, *COMPUTE))
    hop = ("glance-api", None)
    assert found == [(COMPUTE, hop, None), (hop, ("keystone", "ctl"), None)]


def test_a_component_that_failed_at_a_peer_depends_on_the_cause_over_that_peer():
    peer = ("neutron-server", "ctl")
    found = edges("database", "db", failed_at(COMPUTE, peer[0], How.ERROR, peer[1]))
    assert found == [(COMPUTE, peer, "error"), (peer, ("database", "db"), None)]


def test_a_peer_that_does_not_need_the_cause_does_not_lean_on_it():
    found = edges("libvirt", "c1", failed_at(("nova-api", "ctl"), "keystone", How.ERROR, "ctl"))
    assert found == [(("nova-api", "ctl"), ("keystone", "ctl"), "error")]


# On whom the cause leans itself


@pytest.mark.parametrize("symptom", [cut(*COMPUTE), failed_at(COMPUTE, QUEUE[0], How.SILENT, QUEUE[1])])
def test_a_cause_that_failed_at_a_peer_depends_on_it(symptom):
    assert edges(*COMPUTE, symptom) == [(COMPUTE, QUEUE, "silent")]


def test_another_component_depends_on_the_peer_at_which_it_failed_like_the_cause():
    assert edges(*COMPUTE, cut(*COMPUTE), cut(*AGENT)) == [(COMPUTE, QUEUE, "silent"), (AGENT, QUEUE, "silent")]


# Nobody


@pytest.mark.parametrize(
    "symptom",
    [
        failed_at(("client", None), "rabbitmq"),
        seen(Kind.STEP, "client", None),
        # A name in flows that stands for no component
        seen(Kind.STEP, "token-store", None),
        # A host where nobody needs the peer, and a fault of the ground
        cut(None),
        seen(Kind.RESOURCE, None),
    ],
)
def test_the_client_and_who_has_no_name_lean_on_nobody(symptom):
    assert edges(*QUEUE, symptom) == []


def test_a_name_in_flows_is_the_first_component_for_which_it_stands():
    (edge,) = edges("nova-api-metadata", "ctl", seen(Kind.STEP, "neutron-metadata-proxy", None))
    assert edge[0] == ("neutron-metadata-proxy", None)


def test_no_more_edges_are_told_than_are_of_use():
    many = [seen(Kind.ERROR, f"y{number}") for number in range(WEIGHTS.dependencies + 2)]
    assert [edge[0][0] for edge in edges("x", "h", *many)] == [f"y{number}" for number in range(WEIGHTS.dependencies)]


# Places


@pytest.mark.parametrize(
    ("symptoms", "expected"),
    [
        # Who owes a step, and a hop,
        ([seen(Kind.ERROR, *COMPUTE), seen(Kind.STEP, COMPUTE[0], None)], [(COMPUTE, QUEUE, None)]),
        (
            [seen(Kind.STEP, "neutron-dhcp-agent", "net"), seen(Kind.ERROR, "neutron-server", "ctl")],
            [(("neutron-dhcp-agent", "net"), QUEUE, None), (("neutron-server", "ctl"), QUEUE, None)],
        ),
        # of several hosts the one that was known first,
        (
            [seen(Kind.STEP, COMPUTE[0], None), seen(Kind.ERROR, *COMPUTE), seen(Kind.ERROR, COMPUTE[0], "c2")],
            [(COMPUTE, QUEUE, None), ((COMPUTE[0], "c2"), QUEUE, None)],
        ),
        # or none.
        ([seen(Kind.STEP, COMPUTE[0], None)], [((COMPUTE[0], None), QUEUE, None)]),
    ],
)
def test_a_component_whose_host_is_not_known_stands_at_its_known_host(symptoms, expected):
    assert edges(*QUEUE, *symptoms) == expected


def test_a_hop_and_a_peer_stand_at_their_known_hosts():
    keystone = ("keystone", "ctl")
    found = edges("ldap", "ctl", seen(Kind.ANSWER, "nova-api", "ctl"), seen(Kind.ERROR, *keystone))
    assert found == [(("nova-api", "ctl"), keystone, None), (keystone, ("ldap", "ctl"), None)]
    server = ("neutron-server", "ctl")
    found = edges("database", "db", failed_at(COMPUTE, server[0]), seen(Kind.ERROR, *server))
    assert found == [(COMPUTE, server, "refused"), (server, ("database", "db"), None)]


# How a component failed


@pytest.mark.parametrize("hows", [[How.REFUSED, How.SILENT], [None, How.REFUSED], [How.REFUSED, None]])
def test_an_edge_tells_the_weightiest_that_is_known_of_how_it_failed(hows):
    symptoms = [failed_at(COMPUTE, "rabbitmq", how, exception=str(number)) for number, how in enumerate(hows)]
    assert edges(*QUEUE, *symptoms) == [(COMPUTE, QUEUE, "refused")]


@pytest.mark.parametrize("turned", [1, -1])
def test_an_edge_keeps_how_it_failed_if_its_component_owes_a_step_somewhere(turned):
    """Who owes a step has no host, and stands where it failed."""
    symptoms = [failed_at(COMPUTE, "rabbitmq"), seen(Kind.STEP, COMPUTE[0], None)]
    assert edges(*QUEUE, *symptoms[::turned]) == [(COMPUTE, QUEUE, "refused")]
