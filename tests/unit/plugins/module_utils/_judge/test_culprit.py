# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who broke runs that failed in a real cloud, where it was known who did; and what is said where less is known.

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
from tree import RECORDED, ROLES

FAILED = {path.stem: json.loads(path.read_text()) for path in sorted((RECORDED / "failed").glob("*.json"))}
MODERN = flow.load(str(ROLES / "flow/files/flows/modern.yml"))
SCHEMA = json.loads((ROLES / "report/files/run.schema.json").read_text())
NOTHING = ["unseen", None, None]


def step_of(step, status, at=None, host=None):
    return {
        **{name: step.get(name) for name in ("phase", "source", "target", "message", "kind", "became")},
        "id": str(step["id"]),
        "owed_by": step.get("owed_by", step["source"]),
        "follows": [str(one) for one in step.get("follows") or ()],
        "status": status,
        "at": at,
        "host": host,
    }


def run_of(name):
    """The record of a run that failed, as far as it is judged."""
    known = copy.deepcopy(FAILED[name])
    steps = [step_of(step, *known["steps"].get(str(step["id"]), NOTHING)) for step in MODERN["steps"]]
    return {**known["record"], "flows": [{"name": "modern", "steps": steps}]}


def blind(record):
    """The same evidence where nobody could look into the hosts: what only their logs and services tell is not known."""
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
    return first + [one["component"] for one in verdict["alternatives"]]


@pytest.mark.parametrize("name", FAILED)
def test_who_broke_a_real_run_is_named(name):
    truth, found = FAILED[name]["truth"], verdict_module.judge(run_of(name))
    assert (found["result"], found["stage"]) == ("fail", truth["stage"])
    assert found["component"] in truth["components"]
    assert found["host"] in truth["hosts"]
    assert found["step"] in truth["steps"]
    assert found["component"] + (f" on {found['host']} " if found["host"] else " ") in found["reason"]
    assert found["evidence"]
    assert found["next"]


@pytest.mark.parametrize("name", FAILED)
def test_a_verdict_of_a_failure_is_as_the_schema_says(name):
    found = verdict_module.judge(run_of(name))
    assert set(found) == set(verdict_module.verdict("fail", None, "x"))
    validator = jsonschema.Draft202012Validator({**SCHEMA["properties"]["verdict"], "$defs": SCHEMA["$defs"]})
    assert [one.message for one in validator.iter_errors(found)] == []
    json.dumps(found)


@pytest.mark.parametrize("agents", [True, False], ids=["an administrator", "a plain user"])
@pytest.mark.parametrize("name", FAILED)
def test_without_hosts_nobody_is_named_wrongly_and_who_did_it_is_among_the_suspects(name, agents):
    record, truth = blind(run_of(name)), FAILED[name]["truth"]
    if not agents:
        record["agents"] = []
    found = verdict_module.judge(record)
    assert found["stage"] == truth["stage"]
    assert found["component"] in (None, *truth["components"])
    assert found["host"] in (None, *truth["hosts"])
    assert set(suspects(found)) & set(truth["components"])
    # What would tell more is said.
    assert found["component"] or "inventory" in found["next"]


@pytest.mark.parametrize("name", FAILED)
def test_without_a_flow_nobody_is_named_wrongly(name):
    truth, found = FAILED[name]["truth"], verdict_module.judge({**run_of(name), "flows": []})
    assert (found["stage"], found["step"], found["last_seen"]) == (truth["stage"], None, None)
    assert found["component"] in (None, *truth["components"])
    assert found["host"] in (None, *truth["hosts"])


@pytest.mark.parametrize("name", FAILED)
def test_of_the_host_that_broke_it_nothing_can_be_read(name):
    """As where the host is down: what it would have said is not known, and no other one is blamed for it."""
    record, truth = run_of(name), FAILED[name]["truth"]
    for host in record["hosts"]:
        if host["host"] in truth["hosts"]:
            host.update(status="unreachable", facts={}, unread=[])
    for step in record["flows"][0]["steps"]:
        if step["host"] in truth["hosts"] or step["status"] == "missing":
            step.update(status="unseen", at=None, host=None)
    record["errors"] = [one for one in record["errors"] if one["host"] not in truth["hosts"]]
    found = verdict_module.judge(record)
    assert found["component"] in (None, *truth["components"])
    if found["component"] is None:
        assert found["next"] == f"make {', '.join(sorted(truth['hosts']))} readable"


@pytest.mark.parametrize("name", FAILED)
def test_who_complains_a_lot_is_not_blamed_for_it(name):
    record, truth = run_of(name), FAILED[name]["truth"]
    error = {"service": "nova-api", "host": "controller1", "exception": None, "keyed": False, "count": 9}
    record["errors"] += [{**error, "logger": f"a.logger{number}"} for number in range(50)]
    assert verdict_module.judge(record)["component"] in truth["components"]


# What is said, and what is not judged


@pytest.mark.parametrize("kind", culprit.OWN_WORDS)
def test_what_the_run_asked_for_itself_is_nobodys_fault(frozen, kind):
    next(one for one in frozen["stages"] if one["status"] == "failed")["error"]["kind"] = kind
    assert culprit.finding(frozen) is None
    found = verdict_module.judge(frozen)
    assert (found["component"], found["evidence"], found["alternatives"]) == (None, [], [])


def test_a_run_that_did_not_fail_has_no_finding(frozen):
    frozen["stages"] = [one for one in frozen["stages"] if one["status"] != "failed"]
    assert culprit.finding(frozen) is None


def test_a_finding_says_what_was_seen_last_and_where_to_look(frozen):
    found = verdict_module.judge(frozen)
    assert re.match(
        r"boot, step 13: nova-compute on compute1 is frozen: .*; step 13 \(.*\) did not happen\.", found["reason"]
    )
    assert f"Last seen: step {found['last_seen']['id']} (" in found["reason"]
    assert set(found["last_seen"]) == {"id", "message", "at", "host"}
    assert found["next"].startswith("on compute1: systemctl status nova-compute.service; journalctl ")
    assert found["reason"].endswith(f"Next: {found['next']}.")


def test_a_boot_whose_time_was_over_while_it_went_on_is_slow_and_blames_nobody():
    record = run_of("scheduler-stopped")
    for host in record["hosts"]:
        host["facts"]["services"] = []
    record.update(agents=[], errors=[])
    stage = next(one for one in record["stages"] if one["status"] == "failed")
    assert stage["error"]["kind"] == "deadline"
    last = culprit.finding(record)["last_seen"]["at"]
    stage["finished"] = last
    found = verdict_module.judge(record)
    assert (found["component"], found["host"]) == (None, None)
    assert "yet, but another one was seen 0.0 s before the end: it may be slow, not broken" in found["reason"]
    assert "-e stackproof_boot_timeout=" in found["next"]
    assert found["alternatives"]


def test_alternatives_are_others_and_not_too_many(frozen):
    found = verdict_module.judge(frozen)
    assert 0 < len(found["alternatives"]) <= culprit.OTHERS
    assert (found["component"], found["host"]) not in [(one["component"], one["host"]) for one in found["alternatives"]]
    weights = [one["weight"] for one in found["alternatives"]]
    assert weights == sorted(weights, reverse=True)


def test_who_is_not_named_has_no_host_and_no_evidence(frozen):
    found = verdict_module.judge(blind(frozen))
    assert (found["component"], found["host"], found["evidence"]) == (None, None, [])
    assert "nothing that could be read says why" in found["reason"]


def test_a_flow_of_a_users_own_without_an_order_is_one_chain(frozen):
    step = {"phase": None, "kind": "HTTP REST", "became": None, "follows": [], "host": None}
    steps = [
        {**step, "id": "a", "source": "client", "target": "nova-api", "message": "Ask", "status": "seen",
         "at": "2026-11-21T17:10:00.000000+00:00"},
        {**step, "id": "b", "source": "nova-compute", "target": "libvirt", "message": "Do", "status": "unseen",
         "at": None},
    ]  # fmt: skip
    found = verdict_module.judge({**frozen, "flows": [{"name": "own", "steps": steps}]})
    assert (found["step"], found["component"], found["host"]) == ("b", "nova-compute", "compute1")


def test_a_flow_of_a_users_own_with_names_that_nobody_knows(frozen):
    steps = [step_of({"id": 1, "source": "billing", "target": "ledger", "message": "Pay", "kind": "?"}, "missing")]
    found = verdict_module.judge({**frozen, "flows": [{"name": "own", "steps": steps}]})
    assert found["step"] == "1"
    assert found["component"] in (None, "billing")


def test_steps_as_they_were_recorded_before_they_followed_each_other_are_no_flow(frozen):
    for step in frozen["flows"][0]["steps"]:
        del step["follows"]
    assert culprit.steps_of(frozen) == []
    assert verdict_module.judge(frozen)["step"] is None


def test_the_flow_that_knows_most_of_today_is_taken(frozen):
    steps = frozen["flows"][0]["steps"]
    flows = [{"name": "ops_guide", "steps": steps[:3]}, {"name": "modern", "steps": steps[:5]}]
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


ONE = {"component": "ceph-mon", "host": None, "role": "r", "step": None, "weight": 9, "why": ["w"]}


@pytest.mark.parametrize(
    ("component", "said"),
    [
        ("ceph-mon", "ceph status"),
        ("ceph-osd", "ceph osd tree"),
        ("data network", "ping between"),
        ("vm-instance", "stackproof_keep"),
        ("somebody", None),
    ],
)
def test_where_to_look_next_for_who_is_no_unit_that_was_read(component, said):
    found = culprit.next_of({**ONE, "component": component}, {"hosts": []})
    assert found is None if said is None else said in found


HOST = {"host": "a", "status": "read", "facts": {}}


@pytest.mark.parametrize(
    ("hosts", "flows", "said"),
    [
        ([], [], "give an inventory"),
        (
            [HOST, {**HOST, "host": "c", "status": "unreachable"}, {**HOST, "host": "b", "status": "failed"}],
            [],
            "make b, c readable",
        ),
        ([HOST], [{}], "debug = true"),
        ([HOST], [], None),
    ],
)
def test_which_access_would_tell_more(hosts, flows, said):
    found = culprit.access({"hosts": hosts, "flows": flows})
    assert found is None if said is None else said in found
