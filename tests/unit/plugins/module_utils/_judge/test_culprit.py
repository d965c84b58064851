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
from ansible_collections.stackproof.provision.plugins.module_utils._collect import failures
from ansible_collections.stackproof.provision.plugins.module_utils._judge import culprit
from ansible_collections.stackproof.provision.plugins.module_utils._judge import verdict as verdict_module
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow
from ansible_collections.stackproof.provision.plugins.module_utils._record import shapes
from tree import RECORDED, ROLES

FAILED = {path.stem: json.loads(path.read_text()) for path in sorted((RECORDED / "failed").glob("*.json"))}
MODERN = flow.load(str(ROLES / "flow/files/flows/modern.yml"))
SCHEMA = json.loads((ROLES / "report/files/run.schema.json").read_text())
NOTHING = ["unseen", None, None]


def step_of(step, status, at=None, host=None):
    meaning = MODERN["phases"].get(step.get("phase")) or {}
    return shapes.step(
        *(step[name] for name in ("id", "source", "target", "message", "kind")),
        phase=step.get("phase"),
        **meaning,
        owed_by=step.get("owed_by", step["source"]),
        follows=[str(name) for name in step.get("follows") or ()],
        status=status,
        at=at,
        host=host,
    )


def run_of(name):
    """The record of a run that failed, as far as it is judged."""
    recorded = copy.deepcopy(FAILED[name])
    steps = [step_of(step, *recorded["steps"].get(str(step["id"]), NOTHING)) for step in MODERN["steps"]]
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
    validator = jsonschema.Draft202012Validator({**SCHEMA["properties"]["verdict"], "$defs": SCHEMA["$defs"]})
    assert [problem.message for problem in validator.iter_errors(verdict)] == []
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
    assert "-e stackproof_boot_timeout=" in verdict["next"]
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
    assert "nothing that could be read says why" in verdict["reason"]


def test_a_flow_of_a_users_own_without_an_order_is_one_chain(frozen):
    steps = [
        shapes.step("a", "client", "nova-api", "Ask", "REST", status="seen", at="2026-11-21T17:10:00.000000+00:00"),
        shapes.step("b", "nova-compute", "libvirt", "Do", "REST"),
    ]
    verdict = verdict_module.judge({**frozen, "flows": [{"name": "own", "judged": False, "steps": steps}]})
    assert (verdict["step"], verdict["component"], verdict["host"]) == ("b", "nova-compute", "compute1")


def test_a_flow_of_a_users_own_with_names_that_nobody_knows(frozen):
    steps = [step_of({"id": 1, "source": "billing", "target": "ledger", "message": "Pay", "kind": "?"}, "missing")]
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


# Causes as the model has them, made by hand


def cause(component, host, *found):
    """A cause with its symptoms, the weightiest first."""
    return {"component": component, "host": host, "score": 9.0, "confidence": 0.9, "symptoms": list(found)}


def seen(kind, component="x", host="h", text="is not well", **more):
    return shapes.symptom(kind, component, text, host=host, **more)


def cut(component="nova-compute", host="c1", peer="rabbitmq", peer_host="ctl", only_from_here=True, **more):
    """A peer that does not answer a host."""
    about = {"peer": peer, "peer_host": peer_host, "how": "silent", "address": "10.0.0.1", "port": 5672, **more}
    return seen("reach", component, host, f"gets no connection to {peer}", only_from_here=only_from_here, **about)


LONG = "a-component-with-a-name-that-is-far-too-long-for-a-line"
LONG_HOST = "compute-4711.rack-12.room-3.frankfurt.cloud.example.org"
STOPPED = f"is stopped since 123456 s ({LONG}@{LONG_HOST}.service)"


@pytest.mark.parametrize(
    "long",
    [
        cause(LONG, LONG_HOST, seen("state", LONG, LONG_HOST, STOPPED)),
        cause(LONG, None, seen("failed at", "x", LONG_HOST, "failed", peer=LONG, how="missing")),
        cause("x", "h", seen("failed at", how="silent", peer=LONG * 3)),
        cause("x", "h", seen("words", text="is not well, as Ceph says: " + "; ".join(["1 osds down"] * 20))),
    ],
)
def test_a_headline_fits_into_a_line(long):
    headline = culprit.headline(long, None, None)
    assert len(headline) <= culprit.LONGEST_HEADLINE
    assert headline.endswith("...")
    assert headline.startswith(culprit.place_of(long["component"], long["host"])[:90])


def test_a_headline_of_nobody_fits_into_a_line():
    step = shapes.step("N" * 60, "a", "b", "m", "DB")
    assert all(len(culprit.headline(None, step, pause)) <= culprit.LONGEST_HEADLINE for pause in (None, 2.0))


def test_a_headline_that_fits_is_whole():
    assert culprit.headline(cause("x", "h", seen("state", text="is stopped")), None, None) == "x on h is stopped"


@pytest.mark.parametrize("weightiest", [0, 1, 2])
def test_a_headline_prefers_a_state_to_words_to_errors(weightiest):
    told = [
        seen("state", text="is stopped"),
        seen("words", text="has an alarm"),
        seen("error", text="logged an error"),
    ]
    turned = told[weightiest:] + told[:weightiest]
    for symptom in told:
        assert culprit.main_reason(cause("x", "h", *turned)) == symptom["text"]
        turned.remove(symptom)


def test_a_headline_prefers_its_own_symptom_to_those_of_others():
    others = seen("failed at", "y", "h2", "failed at x", peer="x", how="refused")
    assert culprit.main_reason(cause("x", "h", others, seen("error", text="logged an error"))) == "logged an error"
    assert culprit.main_reason(cause("x", "h", others)) == "refuses connections of y on h2"


@pytest.mark.parametrize("how", [*failures.HOW, None])
def test_each_way_of_failing_can_be_said_of_both_ends(how):
    failed = seen("failed at", "y", "h2", "failed at x", peer="x", how=how)
    at_peer, at_victim = culprit.main_reason(cause("x", "h", failed)), culprit.main_reason(cause("y", "h2", failed))
    assert at_peer.endswith(" y on h2")
    assert at_victim.endswith(" x")
    assert how in culprit.DOES


@pytest.mark.parametrize("new", [True, False])
def test_a_headline_says_that_settings_were_changed_if_they_are_new(new):
    change = seen("change", text="has other settings", share=1.0 if new else culprit.FRESH / 2)
    told = culprit.main_reason(cause("x", "h", change, seen("error", text="logged an error")))
    assert told.startswith("logged an error")
    assert ("settings were changed" in told) is new


def test_a_headline_tells_a_change_of_settings_after_the_harm_that_it_did():
    change, harm = seen("change", share=1.0), seen("failed at", "y", "h2", "failed", peer="x", how="refused")
    assert culprit.main_reason(cause("x", "h", change, harm)).startswith("refuses connections of y on h2; ")


@pytest.mark.parametrize("share", [1.0, culprit.FRESH / 2])
def test_an_old_change_of_settings_is_nothing_wrong(share):
    change = seen("change", text="has other settings", share=share)
    left = culprit.unexplained(cause("y", "h2"), [change])
    assert left == (["x on h has other settings"] if share == 1.0 else [])


def test_the_client_tells_nothing_of_a_cause():
    """It is the run itself, which failed at everybody."""
    told = [seen("failed at", name, None, "failed at x", peer="x") for name in ("client", "nova-api")]
    assert culprit.telling(cause("x", "h", *told)) == told[1:]


def test_the_quote_is_of_the_weightiest_symptom_with_a_quote():
    silent, first, second = seen("state"), seen("error", quote="first"), seen("failed at", quote="second")
    assert culprit.quote_of(cause("x", "h", silent, first, second)) == "first"
    assert culprit.quote_of(cause("x", "h", second, first)) == "second"


def test_a_whole_line_that_says_how_it_failed_is_a_better_quote():
    cut_off, vague = seen("error", quote="it was...", how="denied"), seen("error", quote="it failed")
    good = seen("error", quote="permission denied", how="denied")
    assert culprit.quote_of(cause("x", "h", cut_off, vague, good)) == "permission denied"
    assert culprit.quote_of(cause("x", "h", cut_off, vague)) == "it failed"


def test_a_finding_without_a_line_of_a_log_quotes_nothing(frozen):
    assert culprit.quote_of(None) is None
    assert culprit.quote_of(cause("x", "h", seen("state"))) is None
    assert culprit.finding(frozen)["quote"] is None


def test_no_line_of_a_log_is_kept_but_the_quoted_one():
    errors = [{"quote": "a"}, {"quote": None}, {"quote": "b"}]
    culprit.keep_only("b", errors)
    assert [error["quote"] for error in errors] == [None, None, "b"]
    culprit.keep_only(None, errors)
    assert [error["quote"] for error in errors] == [None, None, None]


def test_the_weightiest_reason_comes_first_and_each_once():
    told = [seen("state", text="is stopped"), seen("error", "y", "h2", "failed"), seen("answer", text="is silent")]
    assert culprit.why(cause("x", "h", *told, told[2])) == ["it is stopped", "y on h2 failed", "it is silent"]


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
    assert (found["explains"], found["unexplained"], found["confidence"]) == ([], [], None)
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


def test_a_way_that_is_cut_is_in_the_finding(frozen):
    """As if nova-compute were well, and its host alone did not reach the queue."""
    peer = {"component": "rabbitmq", "address": "10.0.0.1", "port": 5672, "named_by": ["neutron", "nova"]}
    for host in frozen["hosts"]:
        for service in host["facts"].get("services") or []:
            service["state"] = "running"
        host["examination"] = {"reach": [{**peer, "how": "silent" if host["host"] == "compute1" else "open"}]}
        host["facts"]["addresses"] = ["10.0.0.1"] if host["host"] == "controller1" else []
    found = culprit.finding(frozen)
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


@pytest.mark.parametrize(
    ("component", "words"),
    [
        ("ceph-mon", "ceph status"),
        ("ceph-osd", "ceph osd tree"),
        ("data network", "ping between"),
        ("vm-instance", "stackproof_keep"),
        ("somebody", None),
    ],
)
def test_where_to_look_next_for_who_is_no_unit_that_was_read(component, words):
    command = culprit.command_for(cause(component, None, seen("words", component)), {"hosts": []})
    assert command is None if words is None else words in command


HOST = {"host": "a", "status": "read", "facts": {}}


def shown_at(*levels):
    """A flow with evidence of these levels."""
    return [{"steps": [{"evidence": [{"level": level}]} for level in levels]}]


@pytest.mark.parametrize(
    ("hosts", "flows", "words"),
    [
        ([], [], "give an inventory"),
        (
            [HOST, {**HOST, "host": "c", "status": "unreachable"}, {**HOST, "host": "b", "status": "failed"}],
            [],
            "make b, c readable",
        ),
        ([HOST], shown_at(None, "info"), "debug = true"),
        ([HOST], shown_at("info", "debug"), "let the services log oslo.messaging at DEBUG"),
        ([HOST], shown_at("debug", "messaging"), None),
        ([HOST], [], None),
    ],
)
def test_which_access_would_tell_more(hosts, flows, words):
    access = culprit.access({"hosts": hosts, "flows": flows})
    assert access is None if words is None else words in access
