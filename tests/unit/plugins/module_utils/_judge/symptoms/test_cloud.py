# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Symptoms that the cloud itself tells: answers of its APIs, services that it does not hear, Nova's own message."""

from __future__ import annotations

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._components.tables import APIS
from ansible_collections.stackproof.provision.plugins.module_utils._judge import model, shares, world
from ansible_collections.stackproof.provision.plugins.module_utils._judge.symptoms import cloud
from ansible_collections.stackproof.provision.plugins.module_utils._judge.weights import WEIGHTS
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import How
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Code, Kind
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages.symptoms import sentence
from cases_by_hand import agent, call, case_of, diagnosis, error, logged
from cases_by_hand import stage as a_stage


def told(reader, *hosts, stage=None, agents=()):
    return reader(case_of(hosts, stage, agents=list(agents)))


def failed(said=None, message="x", calls=(), kind="deadline"):
    """Return a stage that failed after these requests."""
    return a_stage("auth", calls=list(calls), error=error(kind, message=message, said=said))


HOWS = {Code.API_SILENT: How.SILENT, Code.API_ERROR: How.ERROR}
HOST = as_json.host("h1", facts={"names": ["n1", "n1.example"]})


SILENT = ("nova-api", Code.API_SILENT, "GET /v2.1/servers")


def given_up_after(seconds):
    return {**call(None), "error": "ReadTimeout", "seconds": seconds}


@pytest.mark.parametrize(
    ("calls", "symptoms"),
    [
        ([], []),
        ([call(200), call(404), call(409)], []),
        ([call(None)], [SILENT]),
        ([given_up_after(9.0)], [SILENT]),
        # At the end of the stage's time
        ([call(200), given_up_after(0.4)], []),
        ([call(503)], [("nova-api", Code.API_ERROR, "GET /v2.1/servers")]),
        # An API that answered later is well again.
        (
            [call(503), call(None, "volume", "/v3/x"), call(200)],
            [("cinder-api", Code.API_SILENT, "GET /v3/x")],
        ),
        # A service that no flow knows
        ([call(500, "dns")], []),
    ],
)
def test_an_api_is_judged_by_its_last_answer(calls, symptoms):
    found = told(cloud.answers, HOST, stage=failed(calls=calls))
    assert [(symptom.component, symptom.code, symptom.request) for symptom in found] == symptoms
    assert all(symptom.kind == Kind.ANSWER and symptom.own for symptom in found)
    assert [symptom.how for symptom in found] == [HOWS[symptom.code] for symptom in found]


@pytest.mark.parametrize(("kind", "blamed"), [("service", ["nova-api"]), ("quota", [])])
def test_a_request_that_is_too_large_is_held_against_the_api_unless_it_is_a_quota(kind, blamed):
    found = told(cloud.answers, HOST, stage=failed(calls=[call(413)], kind=kind))
    assert [symptom.component for symptom in found] == blamed


@pytest.mark.parametrize(
    ("address", "ports", "accused"),
    [
        ("10.0.0.1:8777", [8774], ("keystone", Code.WRONG_ADDRESS)),
        ("[fd00::1]:8777", [8774], ("keystone", Code.WRONG_ADDRESS)),
        ("10.0.0.1:8777", [8774, 8777], ("nova-api", Code.API_SILENT)),
        ("10.0.0.1:8774", [], ("nova-api", Code.API_SILENT)),
        ("192.0.2.1:8777", [8774], ("nova-api", Code.API_SILENT)),
        ("10.0.0.1", [8774], ("nova-api", Code.API_SILENT)),
    ],
)
def test_an_api_that_is_not_where_the_catalog_has_it_is_not_silent(address, ports, accused):
    services = [
        {"component": name, "unit": f"{name}.service", "state": "running", "since": None, "restarts": 0, "for_s": None}
        for name in ("nova-api", "keystone")
    ]
    facts = {"services": services, "addresses": ["10.0.0.1", "fd00::1"]}
    place = as_json.host("ctl", facts=facts, stores={"listening": ports})
    asked = {**call(None), "host": address}
    (symptom,) = told(cloud.answers, place, stage=failed(calls=[asked]))
    assert (symptom.component, symptom.code) == accused


@pytest.mark.parametrize("service", APIS)
def test_an_api_that_did_not_answer_has_a_part_in_any_stage(service):
    (symptom,) = told(cloud.answers, stage=failed(calls=[call(None, service)]))
    assert symptom.component in model.near_components([symptom], world.World(case_of(), [symptom]))


def test_a_silent_api_counts_less_if_nobody_looked_at_a_host():
    """It may wait for another component, which only its host shows."""
    stage = failed(calls=[call(None)])
    (unseen,), (seen,) = told(cloud.answers, stage=stage), told(cloud.answers, HOST, stage=stage)
    assert shares.strength(unseen, WEIGHTS) < shares.strength(seen, WEIGHTS)


DIAGNOSIS = diagnosis()


@pytest.mark.parametrize(
    ("status", "share"),
    [(503, WEIGHTS.failing_api_unseen), (500, WEIGHTS.failing_api_unseen), (None, WEIGHTS.silent_api_unseen)],
)
@pytest.mark.parametrize(
    ("hosts", "diagnosis", "is_blind"),
    [([], None, True), ([HOST], None, False), ([], DIAGNOSIS, False), ([HOST], DIAGNOSIS, False)],
)
def test_an_api_that_fails_counts_less_if_nobody_looked_at_a_host_or_into_logs(
    status, share, hosts, diagnosis, is_blind
):
    """It may have failed at another component, which only its host and its log show."""
    (symptom,) = cloud.answers(case_of(hosts, failed(calls=[call(status)]), diagnosis=diagnosis))
    assert symptom.share == (share if is_blind else 1.0)


def test_the_peer_that_an_api_names_counts_less_if_nobody_looked_at_a_host():
    stage = failed("Connection to glance host failed: timed out", calls=[call(503)])
    (answer, unseen), (_answer, seen) = told(cloud.answers, stage=stage), told(cloud.answers, HOST, stage=stage)
    assert unseen.share == answer.share == WEIGHTS.failing_api_unseen
    assert shares.strength(unseen, WEIGHTS) < shares.strength(seen, WEIGHTS)


def test_an_api_that_refuses_is_not_there_whether_anybody_looked_or_not():
    stage = failed(message="connection refused", calls=[call(None)])
    (unseen,), (seen,) = told(cloud.answers, stage=stage), told(cloud.answers, HOST, stage=stage)
    assert unseen == seen
    assert seen.how == How.REFUSED


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
    assert (answer.kind, answer.component) == (Kind.ANSWER, "nova-api")
    assert [(symptom.kind, symptom.component, symptom.peer) for symptom in found] == [
        (Kind.FAILED_AT, "nova-api", peer) for peer in peers
    ]
    # Words that name one peer say more than words that name several.
    assert all(symptom.own and symptom.certain is (len(peers) == 1) for symptom in found)


def test_a_silent_api_says_nothing_of_its_peers():
    (symptom,) = told(cloud.answers, HOST, stage=failed("rabbitmq is away", calls=[call(None)]))
    assert symptom.kind == Kind.ANSWER


@pytest.mark.parametrize(
    ("more", "kinds"),
    [
        ({}, []),
        ({"state": "down"}, [Kind.NOT_REPORTING]),
        ({"enabled": False}, [Kind.DISABLED]),
        # A service that is disabled may be silent by right, but it is silent all the same.
        ({"state": "down", "enabled": False}, [Kind.NOT_REPORTING]),
    ],
)
def test_agents_have_the_inventorys_names_of_their_hosts(more, kinds):
    found = told(cloud.agents, HOST, agents=[agent(**more)])
    assert [(symptom.kind, symptom.component, symptom.host) for symptom in found] == [
        (kind, "nova-compute", "h1") for kind in kinds
    ]


def test_an_agent_of_a_host_that_nobody_read_keeps_its_name():
    assert told(cloud.agents, agents=[agent(state="down")])[0].host == "n1"


@pytest.mark.parametrize(
    ("of_keystone", "found"),
    [
        (201, [(Code.API_NAMES_PEER, "glance-api", "keystone", How.DENIED)]),
        # It is the user's password that is wrong.
        (401, [(Code.API_ERROR, "keystone", None, None)]),
    ],
)
def test_a_token_that_keystone_has_just_given_is_rejected_by_either_of_two(of_keystone, found):
    calls = [call(of_keystone, "identity", "/v3/auth/tokens")]
    calls += [call(401, "image", "/v2/images/probe")] if of_keystone < 400 else []
    stage = a_stage("image", calls=calls, error={**error("unauthorized"), "status": 401})
    assert [(one.code, one.component, one.peer, one.how) for one in told(cloud.answers, HOST, stage=stage)] == found


LATE = "2026-11-21 17:30:00"


def heard_of(component, last_report=LATE, others=({},)):
    """Return the symptom of a service that counts as dead, beside others."""
    silent = agent(component=component, state="down", last_report=last_report)
    return told(cloud.agents, HOST, agents=[silent, *(agent(**other) for other in others)])[0]


def test_a_service_whose_last_report_is_in_the_future_has_a_wrong_clock():
    symptom = heard_of("nova-scheduler")
    assert (symptom.kind, symptom.code, symptom.host) == (Kind.REPORT, Code.SERVICE_AHEAD, "h1")
    assert sentence(symptom).startswith("nova-scheduler (h1): reports to the cloud with a time that is 330 min ahead")


@pytest.mark.parametrize(
    ("component", "last_report", "others"),
    [
        # Another service writes when this one has reported.
        ("nova-compute", LATE, [{}]),
        # The clock of this host may be the wrong one.
        ("nova-scheduler", LATE, [{"last_report": "2026-11-21 17:29:55"}]),
        ("nova-scheduler", LATE, []),
        ("nova-scheduler", LATE, [{"state": "down"}]),
        ("nova-scheduler", None, [{}]),
    ],
)
def test_no_clock_is_taken_for_wrong_without_another_report_beside_it(component, last_report, others):
    assert heard_of(component, last_report, others).code is Code.SERVICE_NOT_REPORTING


@pytest.mark.parametrize(
    ("for_s", "code"),
    [
        (36.0, Code.SERVICE_AHEAD),
        # It may not have reported yet.
        (5.0, Code.SERVICE_NOT_REPORTING),
        # It has reported since it began, and then no more.
        (90000.0, Code.SERVICE_NOT_REPORTING),
        (None, Code.SERVICE_NOT_REPORTING),
    ],
)
def test_a_service_that_reported_hours_before_it_began_has_a_clock_that_is_behind(for_s, code):
    service = {"component": "nova-conductor", "unit": "nova-conductor.service", "state": "running"}
    here = as_json.host(
        "h1", facts={"services": [service if for_s is None else {**service, "for_s": for_s}], "names": ["n1"]}
    )
    silent = agent(component="nova-conductor", state="down", last_report="2026-11-21 10:00:00")
    asked = {"started": "2026-11-21T12:00:10+00:00", "finished": "2026-11-21T12:00:14+00:00"}
    symptom = cloud.agents(case_of([here], agents=[silent, agent()], evidence=asked))[0]
    assert (symptom.component, symptom.code) == ("nova-conductor", code)
    if code is Code.SERVICE_AHEAD:
        assert "with a time that is 120 min behind" in sentence(symptom)


@pytest.mark.parametrize(
    ("state", "last_report"), [("failed", "2026-11-21 10:00:00"), ("running", "2026-11-21 10:07:00")]
)
def test_a_service_that_was_away_has_no_clock_that_is_behind(state, last_report):
    """It does not run, or has not been away for a multiple of what zones of time differ by."""
    service = {"component": "nova-conductor", "unit": "nova-conductor.service", "state": state, "for_s": 45.0}
    here = as_json.host("h1", facts={"services": [service], "names": ["n1"]})
    silent = agent(component="nova-conductor", state="down", last_report=last_report)
    asked = {"started": "2026-11-21T12:00:10+00:00", "finished": "2026-11-21T12:00:14+00:00"}
    symptom = cloud.agents(case_of([here], agents=[silent, agent()], evidence=asked))[0]
    assert symptom.code is Code.SERVICE_NOT_REPORTING


def test_a_service_is_said_to_be_silent_since_it_was_heard_last():
    assert told(cloud.agents, HOST, agents=[agent(state="down")])[0].last_report == agent()["last_report"]


@pytest.mark.parametrize("never", ["1970-01-01T00:00:00Z", "1970-01-01 00:00:00", None])
def test_a_service_that_never_reported_has_no_time_of_its_last_report(never):
    assert told(cloud.agents, HOST, agents=[agent(state="down", last_report=never)])[0].last_report is None


@pytest.mark.parametrize(
    ("errors", "statuses"),
    [
        ([logged("nova-api")], [409]),
        ([], []),
        ([logged("nova-api", own=False)], []),
        ([logged("nova-api", severity="warning")], []),
        ([logged("neutron-server")], []),
    ],
)
def test_a_refusal_is_a_failure_of_an_api_that_logged_an_error_for_it(errors, statuses):
    found = cloud.answers(case_of(stage=failed(calls=[call(409)]), errors=errors))
    assert [(symptom.component, symptom.status) for symptom in found] == [("nova-api", status) for status in statuses]
    assert all(symptom.share == WEIGHTS.refusal for symptom in found)


def test_a_silent_service_counts_less_on_a_host_that_nobody_looked_at():
    (unseen,) = told(cloud.agents, agents=[agent(state="down")])
    (seen,) = told(cloud.agents, HOST, agents=[agent(state="down")])
    assert shares.strength(unseen, WEIGHTS) < shares.strength(seen, WEIGHTS)


def test_a_plain_user_is_reported_of_no_agents():
    assert cloud.agents(case_of([HOST])) == cloud.agents(case_of([HOST], agents=None)) == []


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
    found = told(cloud.no_valid_host, HOST, stage=stage, agents=agents)
    assert {(symptom.kind, symptom.component) for symptom in found} == {(Kind.FAILED_AT, "nova-scheduler")}
    assert [(symptom.peer, symptom.peer_host) for symptom in found] == [
        ("placement-api", None),
        ("nova-compute", "h1"),
        ("nova-compute", "n2"),
    ]


def test_no_valid_host_is_of_this_run_and_says_that_something_is_missing():
    (symptom,) = told(cloud.no_valid_host, stage=failed(message="No valid host was found."))
    assert (symptom.how, symptom.own) == (How.MISSING, True)


@pytest.mark.parametrize("said", [None, "", "no end after 44 s"])
def test_other_words_of_nova_say_nothing(said):
    assert told(cloud.no_valid_host, HOST, stage=failed(said), agents=[agent(state="down")]) == []


@pytest.mark.parametrize(
    ("reason", "code", "peer"),
    [
        ("AUTO: Connection to libvirt lost", Code.API_NAMES_PEER, "libvirt"),
        ("AUTO: something else", Code.SERVICE_DISABLED, None),
        ("the libvirt there is upgraded", Code.SERVICE_DISABLED, None),
    ],
)
def test_a_service_that_has_disabled_itself_fails_at_a_peer(reason, code, peer):
    (found,) = told(cloud.agents, HOST, agents=[agent(enabled=False, reason=reason)])
    assert (found.code, found.peer) == (code, peer)


@pytest.mark.parametrize(
    ("component", "asked", "accused"),
    [
        ("neutron-l2-agent", "12:00:10", Code.SERVICE_TAKEN_FOR_DOWN),
        ("neutron-l2-agent", "12:01:40", Code.SERVICE_NOT_REPORTING),
        # Each of Nova's services decides for itself.
        ("nova-compute", "12:00:10", Code.SERVICE_NOT_REPORTING),
    ],
)
def test_an_agent_that_has_just_reported_is_not_down_whatever_neutron_says(component, asked, accused):
    evidence = dict.fromkeys(("started", "finished"), f"2026-11-21T{asked}.000000+00:00")
    silent = agent(component=component, state="down", last_report="2026-11-21 12:00:00")
    (symptom,) = cloud.agents(case_of([HOST], a_stage(), agents=[silent], evidence=evidence))
    assert symptom.code is accused
    assert ("neutron-server" in (symptom.component, symptom.peer)) is (accused is Code.SERVICE_TAKEN_FOR_DOWN)
