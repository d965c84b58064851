# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that failed in a real cloud, where it was known who broke them; and the sentences where less is known.

recorded/failed has of each run what is judged, and the truth: the stage, components, hosts and steps of the fault that
was made. How steps follow each other is taken from the flow of today.
"""

from __future__ import annotations

import copy
import json
import re

import jsonschema
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge import advice, culprit, world
from ansible_collections.stackproof.provision.plugins.module_utils._judge import verdict as verdict_module
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow
from ansible_collections.stackproof.provision.plugins.module_utils._record import clock, shapes
from ansible_collections.stackproof.provision.plugins.module_utils._record.masking import CUT
from causes_by_hand import cause, cut, seen
from tree import RECORDED, ROLES

FAILED = {path.stem: json.loads(path.read_text()) for path in sorted((RECORDED / "failed").glob("*.json"))}
MODERN = flow.load(str(ROLES / "flow/files/flows/modern.yml"))
SCHEMA = json.loads((ROLES / "report/files/run.schema.json").read_text())
NOTHING = ["unseen", None, None]


def problems(verdict):
    validator = jsonschema.Draft202012Validator({**SCHEMA["properties"]["verdict"], "$defs": SCHEMA["$defs"]})
    return [problem.message for problem in validator.iter_errors(verdict)]


def step_of(step, status, at=None, host=None):
    return shapes.step(
        *(step.id, step.source, step.target, step.message, step.kind),
        phase=step.phase,
        stage=MODERN.stage_of(step).value,
        repeats=MODERN.repeats(step),
        owed_by=step.responsible,
        follows=list(step.follows),
        status=status,
        at=at,
        host=host,
    )


def run_of(name):
    """The record of a run that failed, as far as it is judged."""
    recorded = copy.deepcopy(FAILED[name])
    steps = [step_of(step, *recorded["steps"].get(step.id, NOTHING)) for step in MODERN.steps]
    return {**recorded["record"], "flows": [{"name": "modern", "judged": True, "steps": steps}]}


def blind(record):
    """The same evidence where nobody could look into the hosts, without all that only their logs and services show."""
    for step in record["flows"][0]["steps"]:
        if step["host"] not in (None, "localhost"):
            step.update(status="unseen", at=None, host=None)
        elif step["status"] in ("missing", "absent", "cached"):
            step["status"] = "unseen"
    record.update(hosts=[], errors=[])
    return record


@pytest.fixture
def frozen():
    return run_of("nova-compute-frozen")


def suspects(verdict):
    first = [verdict["component"]] if verdict["component"] else []
    return first + [suspect["component"] for suspect in verdict["alternatives"]]


@pytest.mark.parametrize("name", FAILED)
def test_who_broke_a_real_run_is_named(name):
    truth, verdict = FAILED[name]["truth"], verdict_module.judge(run_of(name))
    assert (verdict["result"], verdict["stage"]) == ("fail", truth["stage"])
    assert verdict["component"] in truth["components"]
    assert verdict["host"] in truth["hosts"]
    assert verdict["step"] in truth["steps"]
    assert verdict["component"] + (f" on {verdict['host']} " if verdict["host"] else " ") in verdict["reason"]
    assert verdict["evidence"]
    assert verdict["next"]


@pytest.mark.parametrize("name", FAILED)
def test_a_verdict_of_a_failure_is_as_the_schema_says(name):
    verdict = verdict_module.judge(run_of(name))
    assert set(verdict) == set(shapes.verdict("fail", None, "x"))
    assert problems(verdict) == []
    json.dumps(verdict)


@pytest.mark.parametrize("agents", [True, False], ids=["an administrator", "a plain user"])
@pytest.mark.parametrize("name", FAILED)
def test_without_hosts_nobody_is_named_wrongly_and_who_did_it_is_among_the_suspects(name, agents):
    record, truth = blind(run_of(name)), FAILED[name]["truth"]
    if not agents:
        record["agents"] = []
    verdict = verdict_module.judge(record)
    assert verdict["stage"] == truth["stage"]
    assert verdict["component"] in (None, *truth["components"])
    assert verdict["host"] in (None, *truth["hosts"])
    assert set(suspects(verdict)) & set(truth["components"])
    # The verdict names the access that would tell more.
    assert verdict["component"] or "inventory" in verdict["next"]


@pytest.mark.parametrize("name", FAILED)
def test_without_a_flow_nobody_is_named_wrongly(name):
    truth, verdict = FAILED[name]["truth"], verdict_module.judge({**run_of(name), "flows": []})
    assert (verdict["stage"], verdict["step"], verdict["last_seen"]) == (truth["stage"], None, None)
    assert verdict["component"] in (None, *truth["components"])
    assert verdict["host"] in (None, *truth["hosts"])


@pytest.mark.parametrize("name", FAILED)
def test_of_the_host_that_broke_it_nothing_can_be_read(name):
    """As if the host were down: its evidence is not known, and no other host is blamed for that."""
    record, truth = run_of(name), FAILED[name]["truth"]
    for host in record["hosts"]:
        if host["host"] in truth["hosts"]:
            host.update(status="unreachable", facts={}, unread=[])
    for step in record["flows"][0]["steps"]:
        if step["host"] in truth["hosts"] or step["status"] == "missing":
            step.update(status="unseen", at=None, host=None)
    record["errors"] = [error for error in record["errors"] if error["host"] not in truth["hosts"]]
    verdict = verdict_module.judge(record)
    assert verdict["component"] in (None, *truth["components"])
    if verdict["component"] is None:
        assert verdict["next"] == f"make {', '.join(sorted(truth['hosts']))} readable"


@pytest.mark.parametrize("name", FAILED)
def test_who_complains_a_lot_is_not_blamed_for_it(name):
    record, truth = run_of(name), FAILED[name]["truth"]
    error = {"service": "nova-api", "host": "controller1", "exception": None, "keyed": False, "count": 9}
    record["errors"] += [{**error, "logger": f"a.logger{number}"} for number in range(50)]
    assert verdict_module.judge(record)["component"] in truth["components"]


# Sentences, and errors that are not judged


@pytest.mark.parametrize("kind", culprit.OWN_ERRORS)
def test_what_the_run_asked_for_itself_is_nobodys_fault(frozen, kind):
    next(stage for stage in frozen["stages"] if stage["status"] == "failed")["error"]["kind"] = kind
    assert culprit.finding(frozen) is None
    verdict = verdict_module.judge(frozen)
    assert (verdict["component"], verdict["evidence"], verdict["alternatives"]) == (None, [], [])


def test_a_run_that_did_not_fail_has_no_finding(frozen):
    frozen["stages"] = [stage for stage in frozen["stages"] if stage["status"] != "failed"]
    assert culprit.finding(frozen) is None


def test_a_finding_says_what_was_seen_last_and_where_to_look(frozen):
    verdict = verdict_module.judge(frozen)
    assert verdict["headline"].startswith("nova-compute on compute1 is frozen")
    assert re.fullmatch(r"step 13 \(.*\) did not happen", verdict["owed"])
    assert set(verdict["last_seen"]) == {"id", "message", "at", "host"}
    assert verdict["next"].startswith("on compute1: systemctl status nova-compute.service; journalctl ")


@pytest.mark.parametrize("name", FAILED)
def test_the_reason_is_the_whole_finding_in_a_paragraph(name):
    record = run_of(name)
    verdict = verdict_module.judge(record)
    said = next(stage for stage in record["stages"] if stage["status"] == "failed")["error"]["message"]
    parts = [
        verdict["headline"],
        verdict["owed"][1:],
        f"Last seen: step {verdict['last_seen']['id']} (",
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
    last = culprit.finding(record)["last_seen"]["at"]
    stage["finished"] = last
    verdict = verdict_module.judge(record)
    assert (verdict["component"], verdict["host"]) == (None, None)
    assert verdict["headline"] == f"nobody is named: step {verdict['step']} is late, and may only be slow"
    assert verdict["owed"].endswith("0.0 s after another one: it may be slow")
    assert "stackproof_timeouts" in verdict["next"]
    assert verdict["alternatives"]


def test_alternatives_are_others_and_not_too_many(frozen):
    verdict = verdict_module.judge(frozen)
    assert 0 < len(verdict["alternatives"]) <= culprit.OTHERS
    assert (verdict["component"], verdict["host"]) not in [
        (other["component"], other["host"]) for other in verdict["alternatives"]
    ]
    weights = [other["weight"] for other in verdict["alternatives"]]
    assert weights == sorted(weights, reverse=True)


def test_who_is_not_named_has_no_host_and_no_evidence(frozen):
    verdict = verdict_module.judge(blind(frozen))
    assert (verdict["component"], verdict["host"], verdict["evidence"]) == (None, None, [])
    assert "nothing that could be read says surely why" in verdict["reason"]


def test_a_flow_of_a_users_own_without_an_order_is_one_chain(frozen):
    steps = [
        shapes.step("a", "client", "nova-api", "Ask", "REST", status="seen", at="2026-11-21T17:10:00.000000+00:00"),
        shapes.step("b", "nova-compute", "libvirt", "Do", "REST"),
    ]
    verdict = verdict_module.judge({**frozen, "flows": [{"name": "own", "judged": False, "steps": steps}]})
    assert (verdict["step"], verdict["component"], verdict["host"]) == ("b", "nova-compute", "compute1")


def test_a_flow_of_a_users_own_with_names_that_nobody_knows(frozen):
    pay = {"id": 1, "source": "billing", "target": "ledger", "message": "Pay", "kind": "?"}
    steps = [step_of(flow.step_of(pay), "missing")]
    verdict = verdict_module.judge({**frozen, "flows": [{"name": "own", "judged": False, "steps": steps}]})
    assert verdict["step"] == "1"
    assert verdict["component"] in (None, "billing")


def test_a_finding_without_a_flow_has_no_step(frozen):
    """Steps as they were recorded before they followed each other are no flow."""
    for step in frozen["flows"][0]["steps"]:
        del step["follows"]
    verdict = verdict_module.judge(frozen)
    assert (verdict["step"], verdict["owed"], verdict["last_seen"]) == (None, None, None)


@pytest.mark.parametrize("name", FAILED)
def test_a_record_of_before_there_was_a_judge_is_judged(name):
    record = run_of(name)
    for key in ("errors", "agents", "instance"):
        del record[key]
    for step in record["flows"][0]["steps"]:
        del step["owed_by"]
    for host in record["hosts"]:
        host["facts"].pop("services", None)
    assert verdict_module.judge(record)["stage"] == FAILED[name]["truth"]["stage"]


# Causes that are made by hand


@pytest.mark.parametrize("share", [1.0, culprit.FRESH / 2])
def test_an_old_change_of_settings_is_nothing_wrong(share):
    change = seen("change", text="has other settings", share=share)
    left = culprit.unexplained(cause("y", "h2"), [change])
    assert left == (["x on h has other settings"] if share == 1.0 else [])


def test_the_quote_is_of_the_weightiest_symptom_with_a_quote():
    silent, first, second = seen("state"), seen("error", quote="first"), seen("failed at", quote="second")
    assert culprit.quoted_of(cause("x", "h", silent, first, second)) == first
    assert culprit.quoted_of(cause("x", "h", second, first)) == second


def test_a_whole_line_that_says_how_it_failed_is_a_better_quote():
    cut_off, vague = seen("error", quote=f"it was{CUT}denied", how="denied"), seen("error", quote="it failed")
    good = seen("error", quote="permission denied", how="denied")
    assert culprit.quoted_of(cause("x", "h", cut_off, vague, good)) == good
    assert culprit.quoted_of(cause("x", "h", cut_off, vague)) == vague


def test_a_finding_without_a_line_of_a_log_quotes_nothing(frozen):
    assert culprit.quoted_of(None) is None
    assert culprit.quoted_of(cause("x", "h", seen("state"))) is None
    found = culprit.finding(frozen)
    assert (found["quote"], found["quoted"]) == (None, None)


def test_no_line_of_a_log_is_kept_but_the_quoted_one():
    errors = [{"quote": "a"}, {"quote": None}, {"quote": "b"}]
    culprit.keep_only("b", errors)
    assert [error["quote"] for error in errors] == [None, None, "b"]
    culprit.keep_only(None, errors)
    assert [error["quote"] for error in errors] == [None, None, None]


@pytest.mark.parametrize("name", FAILED)
def test_a_finding_does_not_explain_the_same_that_it_leaves_unexplained(name):
    record = run_of(name)
    elsewhere = {"component": "billing", "unit": "billing.service", "state": "stopped", "for_s": 9.0}
    record["hosts"][0]["facts"].setdefault("services", []).append(elsewhere)
    complaint = {"service": "accounting", "host": "controller1", "logger": "a.b", "exception": None, "keyed": False}
    record["errors"] += [{**complaint, "count": 1, "at": None}]
    found = culprit.finding(record)
    assert found["component"] in FAILED[name]["truth"]["components"]
    assert [text.split()[0] for text in found["unexplained"]].count("billing") == 1
    assert [text.split()[0] for text in found["unexplained"]].count("accounting") == 1
    assert found["evidence"]
    assert set(found["explains"]).isdisjoint(found["unexplained"])


def test_a_finding_that_names_nobody_explains_nothing(frozen):
    found = culprit.finding(blind(frozen))
    assert (found["explains"], found["unexplained"], found["leaning"], found["confidence"]) == ([], [], [], None)
    assert (found["quote"], found["way"]) == (None, None)


@pytest.mark.parametrize("name", FAILED)
def test_each_suspect_has_a_confidence_and_none_more_than_the_named_one(name):
    for record in (run_of(name), blind(run_of(name))):
        found = culprit.finding(record)
        confidences = [other["confidence"] for other in found["alternatives"]]
        assert all(0 <= confidence <= 1 for confidence in confidences)
        assert confidences == sorted(confidences, reverse=True)
        assert confidences[0] <= (found["confidence"] or culprit.NAMED)


# The path of the stage itself, and another one beside it
PATHS = [
    [
        shapes.step("1", "nova-api", "nova-conductor", "m", "AMQP cast"),
        shapes.step("2", "nova-conductor", "nova-scheduler", "m", "HTTP REST", owed_by="placement-api"),
        shapes.step("3", "nova-compute", "libvirt", "m", "libvirt"),
    ],
    [shapes.step("4", "neutron-server", "neutron-l2-agent", "m", "AMQP cast")],
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
        # or the debtor needs it.
        ("ceph-mon", "3"),
        ("database", "1"),
        # It has to do with none of them.
        ("billing", "1"),
    ],
)
def test_the_step_is_one_with_which_the_cause_has_to_do(component, step):
    assert culprit.step_of(cause(component, None), PATHS)["id"] == step


def test_the_first_step_is_owed_if_nobody_is_suspected():
    assert culprit.step_of(None, PATHS)["id"] == "1"
    assert culprit.step_of(cause("nova-api", None), []) is None


WAY = {
    "from": {"component": "nova-compute", "host": "c1"},
    "to": {"component": "rabbitmq", "host": "ctl"},
    "how": "silent",
}


@pytest.mark.parametrize("end", [("nova-compute", "c1"), ("rabbitmq", "ctl")])
def test_a_way_is_told_from_both_ends(end):
    assert culprit.way_of(cause(*end, seen("state", *end), cut())) == WAY


@pytest.mark.parametrize(
    "symptom",
    [
        # If nobody reaches the peer, the way is well.
        cut(only_from_here=False),
        # A way begins at somebody.
        cut(component=None),
        seen("failed at", "nova-compute", "c1", peer="rabbitmq", peer_host="ctl", how="silent"),
    ],
)
def test_a_peer_that_is_wrong_itself_is_not_at_the_end_of_a_way(symptom):
    assert culprit.way_of(cause("rabbitmq", "ctl", symptom)) is None
    assert culprit.way_of(None) is None


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
    found = culprit.finding(alone)
    assert found["way"] == {
        "from": {"component": "nova-compute", "host": "compute1"},
        "to": {"component": "rabbitmq", "host": "controller1"},
        "how": "silent",
    }
    assert (found["component"], found["host"]) in [
        tuple(end.values()) for end in (found["way"]["from"], found["way"]["to"])
    ]
    # The same way with another component at its beginning is no other trouble.
    assert not [text for text in found["unexplained"] if "rabbitmq" in text]
    assert found["next"] == "on compute1: nc -v -z -w 3 10.0.0.1 5672"


def test_who_leans_on_the_cause_is_in_the_verdict():
    found = verdict_module.judge(run_of("osd-stopped"))
    (edge,) = found["leaning"]
    assert edge["from"]["component"] == "nova-compute"
    assert edge["to"] == {"component": found["component"], "host": found["host"]}


def test_how_a_component_failed_at_its_peer_is_in_the_verdict(alone):
    verdict = verdict_module.judge(alone)
    here, queue = verdict["way"]["from"], verdict["way"]["to"]
    assert {"from": here, "to": queue, "how": "silent"} in verdict["leaning"]
    # Of all that fails at the queue from this host
    assert {edge["from"]["host"] for edge in verdict["leaning"]} == {"compute1"}
    assert problems(verdict) == []


# Restarts before the run

LOST = {
    "service": "nova-compute",
    "host": "compute1",
    "logger": "oslo.messaging._drivers.impl_rabbit",
    "exception": None,
    "keyed": True,
    "count": 1,
    "at": "2026-11-21T17:10:01.000000+00:00",
    "peer": "rabbitmq",
    "how": "broken off",
    "quote": "Server unexpectedly closed connection",
}


@pytest.fixture
def queue_restarted(frozen):
    """Return a function that gives a run in which nova-compute, which is well, failed at a queue started anew."""

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
def test_a_restart_before_the_run_that_ended_old_connections_is_told_and_nobody_is_named(queue_restarted, client_for_s):
    found = culprit.finding(queue_restarted(client_for_s))
    assert (found["component"], found["host"], found["confidence"], found["quote"]) == (None, None, None, None)
    told = "nobody is named: a restart of rabbitmq on controller1 had ended connections of nova-compute"
    assert found["headline"] == told
    assert found["next"] == advice.AGAIN
    # A restart is told, and is no suspect.
    reasons = [reason for other in found["alternatives"] for reason in other["why"]]
    assert reasons
    assert not [reason for reason in reasons if "started anew" in reason]


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
    found = culprit.finding(queue_restarted(client_for_s, how=how))
    assert (found["component"], found["host"]) == ("rabbitmq", "controller1")
    assert "nobody is named" not in found["headline"]
    assert found["next"].startswith("on controller1: systemctl status rabbitmq-server.service; ")


@pytest.mark.parametrize("kind", [world.COMPONENT, world.WAY])
def test_a_likely_cause_is_named_whether_it_is_a_component_or_a_way(kind):
    likely = cause("x", "h", seen("state"), kind=kind)
    assert culprit.named([likely]) is likely


@pytest.mark.parametrize("others", [[], [cause("y", "h2", seen("state"))]])
def test_nobody_is_named_if_a_restart_is_the_likeliest_cause(others):
    restart = cause("x", "h", seen("restart", ago_s=300.0), kind=world.RESTART)
    assert culprit.named([restart, *others]) is None


@pytest.mark.parametrize(("confidence", "told"), [(culprit.NAMED, True), (culprit.NAMED - 0.01, False)])
def test_a_restart_is_told_if_it_is_likely_enough(confidence, told):
    restart = {**cause("database", "ctl", kind=world.RESTART), "confidence": confidence}
    assert (culprit.restart_in([restart]) is restart) is told
    assert culprit.named([restart]) is None
