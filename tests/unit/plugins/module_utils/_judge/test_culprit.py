# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that failed in a real cloud, where it is known who broke them; and verdicts where less is known.

How steps follow each other is taken from the flow of today.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

import as_json
import jsonschema
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge import culprit, own_errors
from ansible_collections.stackproof.provision.plugins.module_utils._judge.weights import WEIGHTS
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow as flow_module
from ansible_collections.stackproof.provision.plugins.module_utils._match.logged_errors import with_quote
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.finding import Reason, Suspect
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import How
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import LoggedError, Record
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Code, Kind
from ansible_collections.stackproof.provision.plugins.module_utils._model.verdict import Connection, Place
from ansible_collections.stackproof.provision.plugins.module_utils._record import clock
from ansible_collections.stackproof.provision.plugins.module_utils._report import finding as report
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages.headline import headline
from cases_by_hand import case_of, cause, cut, flow, logged, seen, step_of, with_paths
from failed_runs import NAMES, blind, run_of, truth_of
from failed_runs import step_of as recorded_step
from tree import ROLES

SCHEMA = json.loads((ROLES / "report/files/run.schema.json").read_text())


EXAMINED = {
    "clients": None, "own": [], "reach": [], "pending": [], "resources": [], "differences": [], "changed": [],
}  # fmt: skip


def problems(verdict):
    validator = jsonschema.Draft202012Validator({**SCHEMA["properties"]["verdict"], "$defs": SCHEMA["$defs"]})
    return [problem.message for problem in validator.iter_errors(verdict)]


def finding(record):
    return culprit.finding(codec.from_json(Record, record))


@pytest.fixture
def frozen():
    return run_of("nova-compute-frozen")


def suspects(verdict):
    first = [verdict["component"]] if verdict["component"] else []
    return first + [suspect["component"] for suspect in verdict["alternatives"]]


@pytest.mark.parametrize("name", NAMES)
def test_who_broke_a_real_run_is_named(name):
    truth, verdict = truth_of(name), as_json.verdict_on(run_of(name))
    assert (verdict["result"], verdict["stage"]) == ("fail", truth["stage"])
    assert verdict["component"] in truth["components"]
    assert verdict["host"] in truth["hosts"]
    assert verdict["step"] in truth["steps"]
    assert verdict["component"] + (f" ({verdict['host']}): " if verdict["host"] else ": ") in verdict["reason"]
    assert verdict["evidence"]
    assert verdict["next"]


@pytest.mark.parametrize("name", NAMES)
def test_a_verdict_of_a_failure_is_as_the_schema_says(name):
    verdict = as_json.verdict_on(run_of(name))
    assert verdict.keys() - {"then"} == as_json.verdict("fail", None, "x").keys()
    assert problems(verdict) == []
    json.dumps(verdict)


@pytest.mark.parametrize("agents", [True, False], ids=["an administrator", "a plain user"])
@pytest.mark.parametrize("name", NAMES)
def test_without_hosts_no_component_is_named_wrongly_and_who_did_it_is_among_the_suspects(name, agents):
    record, truth = blind(run_of(name)), truth_of(name)
    if not agents:
        record["agents"] = []
    verdict = as_json.verdict_on(record)
    assert verdict["stage"] == truth["stage"]
    assert verdict["component"] in (None, *truth["components"])
    assert verdict["host"] in (None, *truth["hosts"])
    assert set(suspects(verdict)) & set(truth["components"])
    # The verdict names the access that would tell more.
    assert verdict["component"] or "inventory" in verdict["next"]


@pytest.mark.parametrize("name", NAMES)
def test_without_a_flow_no_component_is_named_wrongly(name):
    truth, verdict = truth_of(name), as_json.verdict_on({**run_of(name), "flows": []})
    assert (verdict["stage"], verdict["step"], verdict["last_seen"]) == (truth["stage"], None, None)
    assert verdict["component"] in (None, *truth["components"])
    assert verdict["host"] in (None, *truth["hosts"])


@pytest.mark.parametrize("name", NAMES)
def test_of_the_host_that_broke_it_nothing_can_be_read(name):
    """As if the host were down: its evidence is not known, and no other host is blamed for that."""
    record, truth = run_of(name), truth_of(name)
    for host in record["hosts"]:
        if host["host"] in truth["hosts"]:
            host.update(status="unreachable", facts={}, unread=[])
    for step in record["flows"][0]["steps"]:
        if step["host"] in truth["hosts"] or step["status"] == "missing":
            step.update(status="unseen", at=None, host=None)
    record["errors"] = [error for error in record["errors"] if error["host"] not in truth["hosts"]]
    verdict = as_json.verdict_on(record)
    assert verdict["component"] in (None, *truth["components"])
    if verdict["component"] is None:
        assert verdict["next"] == f"make {', '.join(sorted(truth['hosts']))} readable"


@pytest.mark.parametrize("name", NAMES)
def test_who_complains_a_lot_is_not_blamed_for_it(name):
    record, truth = run_of(name), truth_of(name)
    error = logged("nova-api", host="controller1", own=False, count=9)
    record["errors"] += [{**error, "logger": f"a.logger{number}"} for number in range(50)]
    assert as_json.verdict_on(record)["component"] in truth["components"]


# Sentences, and errors that are not judged


@pytest.mark.parametrize("kind", own_errors.KINDS)
def test_what_the_run_asked_for_itself_is_nobodys_fault(frozen, kind):
    next(stage for stage in frozen["stages"] if stage["status"] == "failed")["error"]["kind"] = kind
    # A quota has a headline of its own.
    assert (finding(frozen).unsatisfied is None) is (kind != "quota")
    verdict = as_json.verdict_on(frozen)
    assert (verdict["component"], verdict["evidence"], verdict["alternatives"]) == (None, [], [])


def test_a_run_that_did_not_fail_has_no_finding(frozen):
    frozen["stages"] = [stage for stage in frozen["stages"] if stage["status"] != "failed"]
    assert finding(frozen) is None


def test_a_finding_says_what_was_seen_last_and_where_to_look(frozen):
    verdict = as_json.verdict_on(frozen)
    assert verdict["headline"].startswith("nova-compute (compute1): suspended")
    assert re.fullmatch(r".* \(step 13\) did not happen", verdict["missing_step"])
    assert set(verdict["last_seen"]) == {"id", "message", "at", "host"}
    assert verdict["next"].startswith("on compute1: ps -e -o pid,stat,unit,args | grep nova-compute.service; ")


@pytest.mark.parametrize("name", NAMES)
def test_the_reason_is_the_whole_finding_in_a_paragraph(name):
    record = run_of(name)
    verdict = as_json.verdict_on(record)
    said = next(stage for stage in record["stages"] if stage["status"] == "failed")["error"]["message"]
    parts = [
        verdict["headline"],
        verdict["missing_step"][1:],
        f"Last seen: {verdict['last_seen']['message']} (step {verdict['last_seen']['id']})",
        said.rstrip("."),
    ]
    places = [verdict["reason"].find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)
    assert verdict["reason"].startswith(f"{verdict['stage']}: {verdict['headline']}. ")
    assert verdict["reason"].endswith(f"Next: {verdict['next']}.")


def test_a_boot_whose_time_was_over_while_it_went_on_is_slow_and_blames_nobody():
    record = run_of("scheduler-stopped")
    for host in record["hosts"]:
        host["facts"]["services"] = []
    record.update(agents=[], errors=[])
    stage = next(other for other in record["stages"] if other["status"] == "failed")
    assert stage["error"]["kind"] == "deadline"
    stage["finished"] = codec.iso_of(finding(record).last_seen.at)
    verdict = as_json.verdict_on(record)
    assert (verdict["component"], verdict["host"]) == (None, None)
    assert verdict["headline"] == f"no component identified: step {verdict['step']} is overdue; it may just be slow"
    assert verdict["missing_step"].endswith("0.0 s before the end: it may just be slow")
    assert "stackproof_timeouts" in verdict["next"]
    assert verdict["alternatives"]


def test_alternatives_are_others_and_not_too_many(frozen):
    verdict = as_json.verdict_on(frozen)
    assert 0 < len(verdict["alternatives"]) <= WEIGHTS.alternatives
    assert (verdict["component"], verdict["host"]) not in [
        (other["component"], other["host"]) for other in verdict["alternatives"]
    ]
    weights = [other["weight"] for other in verdict["alternatives"]]
    assert weights == sorted(weights, reverse=True)


def test_who_is_not_named_has_no_host_and_no_evidence(frozen):
    verdict = as_json.verdict_on(blind(frozen))
    assert (verdict["component"], verdict["host"], verdict["evidence"]) == (None, None, [])
    assert "no evidence explains why" in verdict["reason"]


def test_a_flow_of_a_users_own_without_an_order_is_one_chain(frozen):
    steps = [
        as_json.step("a", "client", "nova-api", "Ask", "REST", status="seen", at="2026-11-21T17:10:00.000000+00:00"),
        as_json.step("b", "nova-compute", "libvirt", "Do", "REST"),
    ]
    verdict = as_json.verdict_on({**frozen, "flows": [flow(steps, judged=False)]})
    assert (verdict["step"], verdict["component"], verdict["host"]) == ("b", "nova-compute", "compute1")


def test_a_flow_of_a_users_own_with_names_that_nobody_knows(frozen):
    pay = {"id": 1, "source": "billing", "target": "ledger", "message": "Pay", "kind": "?"}
    steps = [recorded_step(flow_module.step_of(pay), "missing")]
    verdict = as_json.verdict_on({**frozen, "flows": [flow(steps, judged=False)]})
    assert verdict["step"] == "1"
    assert verdict["component"] in (None, "billing")


def test_a_finding_without_a_flow_has_no_step(frozen):
    verdict = as_json.verdict_on({**frozen, "flows": []})
    assert (verdict["step"], verdict["missing_step"], verdict["last_seen"]) == (None, None, None)


@pytest.mark.parametrize("name", NAMES)
def test_a_record_of_before_there_was_a_judge_is_judged(name):
    record = run_of(name)
    for key in ("errors", "agents", "instance"):
        del record[key]
    for step in record["flows"][0]["steps"]:
        del step["responsible"]
    for host in record["hosts"]:
        host["facts"].pop("services", None)
    assert as_json.verdict_on(record)["stage"] == truth_of(name)["stage"]


# Causes that are made by hand


def test_a_finding_without_a_line_of_a_log_quotes_nothing(frozen):
    assert finding(frozen).quoted is None
    verdict = as_json.verdict_on(frozen)
    assert (verdict["quote"], verdict["quote_source"]) == (None, None)


def test_no_line_of_a_log_is_kept_but_the_quoted_one():
    errors = [codec.from_json(LoggedError, logged(quote=quote)) for quote in ("a", None, "b")]
    assert [error.quote for error in with_quote(errors, "b")] == [None, None, "b"]
    assert [error.quote for error in with_quote(errors, None)] == [None, None, None]


@pytest.mark.parametrize("name", NAMES)
def test_a_finding_does_not_explain_the_same_that_it_leaves_unexplained(name):
    record = run_of(name)
    elsewhere = {"component": "billing", "unit": "billing.service", "state": "stopped", "for_s": 9.0}
    record["hosts"][0]["facts"].setdefault("services", []).append(elsewhere)
    record["errors"] += [logged("accounting", host="controller1", logger="a.b", own=False)]
    found = finding(record)
    assert found.cause.component in truth_of(name)["components"]
    assert [symptom.component for symptom in found.unexplained].count("billing") == 1
    assert [symptom.component for symptom in found.unexplained].count("accounting") == 1
    assert found.evidence
    explained = {symptom.identity for symptom in found.explains}
    assert explained.isdisjoint(symptom.identity for symptom in found.unexplained)


@pytest.mark.parametrize(
    ("component", "host", "is_second"),
    [
        ("nova-scheduler", "controller1", True),
        # Another host has one that works.
        ("nova-conductor", "controller1", False),
        # No step of a boot needs it.
        ("billing", "controller1", False),
        # It serves the instances of another host.
        ("nova-compute", "compute2", False),
    ],
)
def test_another_component_that_is_stopped_and_needed_is_a_second_cause(component, host, is_second):
    record = run_of("osd-stopped")
    stopped = {"component": component, "unit": f"{component}.service", "state": "stopped", "for_s": 9.0}
    (facts,) = [one["facts"] for one in record["hosts"] if one["host"] == host]
    facts["services"] = [one for one in facts.get("services", []) if one["component"] != component] + [stopped]
    (other,) = [one["facts"] for one in record["hosts"] if one["host"] == "storage1"]
    other["services"].append({"component": "nova-conductor", "unit": "nova-conductor.service", "state": "running"})
    verdict = as_json.verdict_on(record)
    assert verdict["component"] == "ceph-osd"
    expected = [f"{component} ({host}): stopped 9 s ago ({component}.service)"] if is_second else []
    assert verdict.get("also", []) == expected
    record["verdict"] = verdict
    assert [text for name, text in report.parts(as_json.typed(record)) if name == "also broken"] == expected


def test_a_finding_that_names_nobody_explains_nothing(frozen):
    found = as_json.verdict_on(blind(frozen))
    assert (found["explains"], found["unexplained"], found["dependencies"], found["confidence"]) == ([], [], [], None)
    assert (found["quote"], found["connection"]) == (None, None)


@pytest.mark.parametrize("name", NAMES)
def test_each_suspect_has_a_confidence_and_none_more_than_the_named_one(name):
    for record in (run_of(name), blind(run_of(name))):
        found = as_json.verdict_on(record)
        confidences = [other["confidence"] for other in found["alternatives"]]
        assert all(0 <= confidence <= 1 for confidence in confidences)
        assert confidences == sorted(confidences, reverse=True)
        assert confidences[0] <= (found["confidence"] or WEIGHTS.named)


# The path of the stage itself, and another one beside it
PATHS = [
    [
        step_of(as_json.step("1", "nova-api", "nova-conductor", "m", "AMQP cast")),
        step_of(as_json.step("2", "nova-conductor", "nova-scheduler", "m", "HTTP REST", responsible="placement-api")),
        step_of(as_json.step("3", "nova-compute", "libvirt", "m", "libvirt")),
    ],
    [step_of(as_json.step("4", "neutron-server", "neutron-l2-agent", "m", "AMQP cast"))],
]


@pytest.mark.parametrize(
    ("component", "step"),
    [
        # It owes the step
        ("nova-api", "1"),
        ("placement-api", "2"),
        ("nova-compute", "3"),
        ("neutron-server", "4"),
        # or is to take it, or carries it
        ("nova-conductor", "1"),
        ("nova-scheduler", "2"),
        ("libvirt", "3"),
        ("rabbitmq", "1"),
        ("neutron-l2-agent", "4"),
        # or the responsible needs it.
        ("ceph-mon", "3"),
        ("database", "1"),
        # It has to do with none of them.
        ("billing", "1"),
    ],
)
def test_the_step_is_one_with_which_the_cause_has_to_do(component, step):
    assert culprit.step_of(cause(component, None), with_paths(case_of(), PATHS)).id == step


def test_the_first_step_is_owed_if_nobody_is_suspected():
    assert culprit.step_of(None, with_paths(case_of(), PATHS)).id == "1"
    assert culprit.step_of(cause("nova-api", None), case_of()) is None


CONNECTION = Connection(Place("nova-compute", "c1"), Place("rabbitmq", "ctl"), "silent")


@pytest.mark.parametrize("end", [("nova-compute", "c1"), ("rabbitmq", "ctl")])
def test_a_way_is_reported_from_both_ends(end):
    assert culprit.connection_of(cause(*end, seen(Kind.STATE, *end), cut())) == CONNECTION


@pytest.mark.parametrize(
    "symptom",
    [
        # If nobody reaches the peer, the way is well.
        cut(only_from_here=False),
        # A way begins at somebody.
        cut(component=None),
        seen(Kind.FAILED_AT, "nova-compute", "c1", peer="rabbitmq", peer_host="ctl", how=How.SILENT),
    ],
)
def test_a_peer_that_is_wrong_itself_is_not_at_the_end_of_a_way(symptom):
    assert culprit.connection_of(cause("rabbitmq", "ctl", symptom)) is None


@pytest.fixture
def alone(frozen):
    """A run in which nova-compute is well, and its host alone does not reach the queue."""
    peer = {"component": "rabbitmq", "address": "10.0.0.1", "port": 5672, "named_by": ["neutron", "nova"]}
    for host in frozen["hosts"]:
        for service in host["facts"].get("services") or []:
            service["state"] = "running"
        host["examination"] = {"reach": [{**peer, "how": "silent" if host["host"] == "compute1" else "open"}]}
        host["facts"]["addresses"] = ["10.0.0.1"] if host["host"] == "controller1" else []
    return frozen


def test_a_way_that_is_cut_is_in_the_finding(alone):
    found = as_json.verdict_on(alone)
    assert found["connection"] == {
        "source": {"component": "nova-compute", "host": "compute1"},
        "target": {"component": "rabbitmq", "host": "controller1"},
        "how": "silent",
    }
    assert (found["component"], found["host"]) in [
        tuple(end.values()) for end in (found["connection"]["source"], found["connection"]["target"])
    ]
    # The same way with another component at its beginning is no other trouble.
    assert not [text for text in found["unexplained"] if "rabbitmq" in text]
    assert found["next"].startswith(
        "on compute1: nc -v -z -w 3 10.0.0.1 5672; nft list ruleset | grep --word-regexp 5672; on controller1: ss"
    )


@pytest.mark.parametrize(
    ("kind", "is_examined", "confidence"),
    [(Kind.STEP, False, 0.9), (Kind.STATE, True, 0.9), (Kind.STEP, True, 0.36)],
)
def test_a_missing_step_alone_says_less_where_the_hosts_were_examined(kind, is_examined, confidence):
    case = case_of([as_json.host("ctl", examination=EXAMINED if is_examined else None)])
    shown = seen(kind, "nova-conductor", None, how=How.MISSING)
    (first,) = culprit.without_guess([cause("nova-conductor", "ctl", shown, confidence=0.9)], case)
    assert first.confidence == confidence


def test_who_depends_on_the_cause_is_in_the_verdict():
    found = as_json.verdict_on(run_of("osd-stopped"))
    (edge,) = found["dependencies"]
    assert edge["source"]["component"] == "nova-compute"
    assert edge["target"] == {"component": found["component"], "host": found["host"]}


def test_how_a_component_failed_at_its_peer_is_in_the_verdict(alone):
    verdict = as_json.verdict_on(alone)
    here, queue = verdict["connection"]["source"], verdict["connection"]["target"]
    assert {"source": here, "target": queue, "how": "silent"} in verdict["dependencies"]
    # Of all that fails at the queue from this host
    assert {edge["source"]["host"] for edge in verdict["dependencies"]} == {"compute1"}
    assert problems(verdict) == []


# Restarts before the run

LOST = logged(
    host="compute1",
    logger="oslo.messaging._drivers.impl_rabbit",
    at="2026-11-21T17:10:01.000000+00:00",
    peer="rabbitmq",
    how=How.BROKEN_OFF,
    quote="Server unexpectedly closed connection",
)


@pytest.fixture
def queue_restarted(frozen):
    """Return a function that gives a run in which nova-compute, which is well, failed at a queue restarted."""

    def make(client_for_s, **error):
        stage = next(stage for stage in frozen["stages"] if stage["status"] == "failed")
        stage["finished"] = "2026-11-21T17:10:29.000000+00:00"
        failed = clock.seconds_of(stage["finished"])
        since = {"rabbitmq": failed - 300, "nova-compute": failed - client_for_s}
        for host in frozen["hosts"]:
            for service in host["facts"].get("services") or []:
                service.update(state="running", since=since.get(service["component"]))
        frozen["instance"]["claimed_on"] = ["compute1"]
        # nova-compute was heard as long as the others.
        frozen.update(errors=[{**LOST, **error}], agents=[])
        return frozen

    return make


@pytest.mark.parametrize("client_for_s", [400.0, 4780.0, 90000.0])
def test_a_restart_before_the_run_that_ended_old_connections_is_reported_and_no_component_is_named(
    queue_restarted, client_for_s
):
    record = queue_restarted(client_for_s)
    found, verdict = finding(record), as_json.verdict_on(record)
    assert [verdict[name] for name in ("component", "host", "confidence", "quote")] == [None] * 4
    line = "no fault: an earlier restart of rabbitmq (controller1) dropped connections of nova-compute"
    assert verdict["headline"] == line
    assert found.advice.reason == Reason.RUN_AGAIN
    # A restart is reported, and is no suspect.
    listed = {symptom.code for suspect in found.suspects for symptom in suspect.symptoms}
    assert listed
    assert Code.UNIT_RESTARTED_BEFORE_RUN not in listed


@pytest.mark.parametrize(
    ("client_for_s", "how"),
    [
        # Its connections are younger than the queue.
        (200.0, "broken off"),
        # A queue that has ended old connections refuses no new ones.
        (4780.0, "refused"),
        (4780.0, "silent"),
    ],
)
def test_a_peer_is_named_for_failures_that_its_restart_does_not_explain(queue_restarted, client_for_s, how):
    found = finding(queue_restarted(client_for_s, how=how))
    assert found.cause.place == ("rabbitmq", "controller1")
    assert headline(found).startswith("rabbitmq (controller1): ")
    assert (found.advice.reason, found.advice.host) == (Reason.SHOW_STATE, "controller1")
    assert found.advice.command.startswith("systemctl status rabbitmq-server.service; ")


@pytest.mark.parametrize("suspect", [Suspect.COMPONENT, Suspect.CONNECTION])
def test_a_likely_cause_is_named_whether_it_is_a_component_or_a_connection(suspect):
    likely = cause("x", "h", seen(Kind.STATE), suspect=suspect)
    assert culprit.named([likely], WEIGHTS) is likely


@pytest.mark.parametrize("others", [[], [cause("y", "h2", seen(Kind.STATE))]])
def test_no_component_is_named_if_a_restart_is_the_likeliest_cause(others):
    restart = cause("x", "h", seen(Kind.RESTART, ago_s=300.0), suspect=Suspect.RESTART)
    assert culprit.named([restart, *others], WEIGHTS) is None


@pytest.mark.parametrize(("confidence", "told"), [(WEIGHTS.named, True), (WEIGHTS.named - 0.01, False)])
def test_a_restart_is_reported_if_it_is_likely_enough(confidence, told):
    restart = cause("database", "ctl", suspect=Suspect.RESTART, confidence=confidence)
    assert (culprit.restart_in([restart], WEIGHTS) is restart) is told
    assert culprit.named([restart], WEIGHTS) is None


# How sure a verdict is


def doubted(confidence, *others):
    named = replace(cause("x", "h"), confidence=confidence)
    rest = [replace(cause("y", "h"), confidence=other) for other in others]
    named, rest = culprit.with_doubt(named, rest, WEIGHTS)
    return named.confidence, [other.confidence for other in rest]


@pytest.mark.parametrize(
    ("confidence", "printed"), [(1.0, 0.969), (0.999, 0.969), (0.9, 0.75), (0.6, 0.551), (0.5, 0.5)]
)
def test_a_cause_is_as_sure_as_such_ones_were_right(confidence, printed):
    assert doubted(confidence) == (printed, [])


def test_what_is_taken_from_a_cause_is_given_to_the_others():
    assert doubted(0.9, 0.06, 0.02) == (0.75, [0.15, 0.05])


def test_the_other_end_of_a_connection_gets_no_more_than_is_left():
    """It is counted in what is known of both."""
    confidence, (other,) = doubted(0.95, 0.45)
    assert confidence + other <= 1
