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
    assert re.match(
        r"boot, step 13: nova-compute on compute1 is frozen: .*; step 13 \(.*\) did not happen\.", verdict["reason"]
    )
    assert f"Last seen: step {verdict['last_seen']['id']} (" in verdict["reason"]
    assert set(verdict["last_seen"]) == {"id", "message", "at", "host"}
    assert verdict["next"].startswith("on compute1: systemctl status nova-compute.service; journalctl ")
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
    assert "yet, but another one was seen 0.0 s before the end: it may be slow, not broken" in verdict["reason"]
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


def test_steps_as_they_were_recorded_before_they_followed_each_other_are_no_flow(frozen):
    for step in frozen["flows"][0]["steps"]:
        del step["follows"]
    assert culprit.steps_of(frozen) == []
    assert verdict_module.judge(frozen)["step"] is None


def test_the_flow_that_says_so_is_taken_or_else_the_first(frozen):
    steps = frozen["flows"][0]["steps"]
    flows = [{"judged": False, "steps": steps[:3]}, {"judged": True, "steps": steps[:5]}]
    assert len(culprit.steps_of({"flows": flows})) == 5
    assert len(culprit.steps_of({"flows": flows[:1]})) == 3
    assert culprit.steps_of({"flows": []}) == []


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


CULPRIT = {"component": "ceph-mon", "host": None, "role": "r", "step": None, "weight": 9, "why": ["w"]}


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
    command = culprit.command_for({**CULPRIT, "component": component}, {"hosts": []})
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
