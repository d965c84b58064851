# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Symptoms that the cloud itself tells: answers of its APIs, services that it does not hear, Nova's own message."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge import model, shares, world
from ansible_collections.stackproof.provision.plugins.module_utils._judge.symptoms import cloud
from ansible_collections.stackproof.provision.plugins.module_utils._record import shapes


def call(status, service="compute", path="/v2.1/servers"):
    return {"method": "GET", "path": path, "service": service, "status": status}


def agent(**more):
    return {"component": "nova-compute", "host": "n1", "state": "up", "enabled": True, "heard": "noon", **more}


def told(reader, *hosts, stage=None, agents=()):
    return reader({"hosts": list(hosts), "agents": list(agents)}, stage)


def failed(said=None, message="x", calls=()):
    """A stage that failed after these requests."""
    return shapes.stage("auth", "failed", calls=list(calls), error={"said": said, "message": message})


HOST = shapes.host("h1", facts={"names": ["n1", "n1.example"]})


@pytest.mark.parametrize(
    ("calls", "symptoms"),
    [
        ([], []),
        ([call(200), call(404), call(409)], []),
        ([call(None)], [("nova-api", "silent", "did not answer GET /v2.1/servers")]),
        ([call(503)], [("nova-api", "error", "answered 503 to GET /v2.1/servers")]),
        # An API that answered later is well again.
        (
            [call(503), call(None, "volume", "/v3/x"), call(200)],
            [("cinder-api", "silent", "did not answer GET /v3/x")],
        ),
        # A service that no flow knows
        ([call(500, "dns")], []),
    ],
)
def test_an_api_is_judged_by_its_last_answer(calls, symptoms):
    found = told(cloud.answers, HOST, stage=failed(calls=calls))
    assert [(symptom["component"], symptom["how"], symptom["text"]) for symptom in found] == symptoms
    assert all(symptom["kind"] == "answer" and symptom["keyed"] for symptom in found)


@pytest.mark.parametrize("service", cloud.APIS)
def test_an_api_that_did_not_answer_has_a_part_in_any_stage(service):
    (symptom,) = told(cloud.answers, stage=failed(calls=[call(None, service)]))
    record = {"hosts": [], "logs": []}
    assert symptom["component"] in model.near_components([symptom], world.World(record, [symptom]))


def test_a_silent_api_counts_less_if_nobody_looked_at_a_host():
    """It may wait for another component, which only its host shows."""
    stage = failed(calls=[call(None)])
    (unseen,), (seen,) = told(cloud.answers, stage=stage), told(cloud.answers, HOST, stage=stage)
    assert shares.strength(unseen) < shares.strength(seen)


DIAGNOSIS = {"host": None, "boot": {"outcome": None}}


@pytest.mark.parametrize(
    ("status", "share"), [(503, cloud.UNSEEN_FAILURE), (500, cloud.UNSEEN_FAILURE), (None, cloud.UNSEEN_WAITING)]
)
@pytest.mark.parametrize(
    ("hosts", "diagnosis", "is_blind"),
    [([], None, True), ([HOST], None, False), ([], DIAGNOSIS, False), ([HOST], DIAGNOSIS, False)],
)
def test_an_api_that_fails_counts_less_if_nobody_looked_at_a_host_or_into_logs(
    status, share, hosts, diagnosis, is_blind
):
    """It may have failed at another component, which only its host and its log show."""
    record = {"hosts": hosts, "diagnosis": diagnosis}
    (symptom,) = cloud.answers(record, failed(calls=[call(status)]))
    assert symptom["share"] == (share if is_blind else 1.0)


def test_the_peer_that_an_api_names_counts_less_if_nobody_looked_at_a_host():
    stage = failed("Connection to glance host failed: timed out", calls=[call(503)])
    (answer, unseen), (_answer, seen) = told(cloud.answers, stage=stage), told(cloud.answers, HOST, stage=stage)
    assert unseen["share"] == answer["share"] == cloud.UNSEEN_FAILURE
    assert shares.strength(unseen) < shares.strength(seen)


def test_an_api_that_refuses_is_not_there_whether_anybody_looked_or_not():
    stage = failed(message="connection refused", calls=[call(None)])
    (unseen,), (seen,) = told(cloud.answers, stage=stage), told(cloud.answers, HOST, stage=stage)
    assert unseen == seen
    assert seen["how"] == "refused"


@pytest.mark.parametrize(
    ("said", "peers"),
    [
        (None, []),
        ("The server has either erred or is incapable of performing the requested operation.", []),
        ("Connection to glance host failed: timed out", ["glance-api"]),
        ("oslo_db: lost connection to the database, memcached is away", ["database", "memcached"]),
        # It speaks of its own project all the time.
        ("nova-api failed", []),
    ],
)
def test_an_api_that_answers_with_an_error_names_the_peer_at_which_it_failed(said, peers):
    answer, *found = told(cloud.answers, HOST, stage=failed(said, calls=[call(503)]))
    assert (answer["kind"], answer["component"]) == ("answer", "nova-api")
    assert [(symptom["kind"], symptom["component"], symptom["peer"]) for symptom in found] == [
        ("failed at", "nova-api", peer) for peer in peers
    ]
    # Words that name one peer say more than words that name several.
    assert all(symptom["keyed"] and symptom["sure"] is (len(peers) == 1) for symptom in found)


def test_a_silent_api_says_nothing_of_its_peers():
    (symptom,) = told(cloud.answers, HOST, stage=failed("rabbitmq is away", calls=[call(None)]))
    assert symptom["kind"] == "answer"


@pytest.mark.parametrize(
    ("more", "kinds"),
    [
        ({}, []),
        ({"state": "down"}, ["unheard"]),
        ({"enabled": False}, ["disabled"]),
        # A service that is disabled may be silent by right, but it is silent all the same.
        ({"state": "down", "enabled": False}, ["unheard"]),
    ],
)
def test_agents_have_the_inventorys_names_of_their_hosts(more, kinds):
    found = told(cloud.agents, HOST, agents=[agent(**more)])
    assert [(symptom["kind"], symptom["component"], symptom["host"]) for symptom in found] == [
        (kind, "nova-compute", "h1") for kind in kinds
    ]


def test_an_agent_of_a_host_that_nobody_read_keeps_its_name():
    assert told(cloud.agents, agents=[agent(state="down")])[0]["host"] == "n1"


def test_a_service_is_said_to_be_silent_since_it_was_heard_last():
    assert "noon" in told(cloud.agents, HOST, agents=[agent(state="down")])[0]["text"]


def test_a_silent_service_counts_less_on_a_host_that_nobody_looked_at():
    (unseen,) = told(cloud.agents, agents=[agent(state="down")])
    (seen,) = told(cloud.agents, HOST, agents=[agent(state="down")])
    assert shares.strength(unseen) < shares.strength(seen)


def test_a_plain_user_is_told_of_no_agents():
    assert cloud.agents({"hosts": [HOST]}, None) == []
    assert cloud.agents({"hosts": [HOST], "agents": None}, None) == []


@pytest.mark.parametrize(
    "stage", [failed(message="No valid host was found."), failed(said="No valid host was found. There are not enough.")]
)
def test_no_valid_host_points_at_placement_and_at_the_computes_that_are_away(stage):
    agents = [
        agent(state="down"),
        agent(host="n2", enabled=False),
        agent(host="n3"),
        agent(component="cinder-volume", state="down"),
    ]
    found = told(cloud.words_of_nova, HOST, stage=stage, agents=agents)
    assert {(symptom["kind"], symptom["component"]) for symptom in found} == {("failed at", "nova-scheduler")}
    assert [(symptom["peer"], symptom["peer_host"]) for symptom in found] == [
        ("placement-api", None),
        ("nova-compute", "h1"),
        ("nova-compute", "n2"),
    ]


def test_no_valid_host_is_of_this_run_and_says_that_something_is_missing():
    (symptom,) = told(cloud.words_of_nova, stage=failed(message="No valid host was found."))
    assert (symptom["how"], symptom["keyed"]) == ("missing", True)


@pytest.mark.parametrize("said", [None, "", "no end after 44 s"])
def test_other_words_of_nova_say_nothing(said):
    assert told(cloud.words_of_nova, HOST, stage=failed(said), agents=[agent(state="down")]) == []
