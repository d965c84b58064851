# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flows as files, and a real run that is followed through each of them."""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import re
import time
import tracemalloc
from collections import Counter
from types import SimpleNamespace

import as_json
import events_of
import jsonschema
import pytest
import yaml
from ansible_collections.stackproof.provision.plugins.module_utils._collect.api import instance
from ansible_collections.stackproof.provision.plugins.module_utils._match import expressions, run_facts
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow as flow_module
from ansible_collections.stackproof.provision.plugins.module_utils._match import follow as follow_module
from ansible_collections.stackproof.provision.plugins.module_utils._match import matcher as matcher_module
from ansible_collections.stackproof.provision.plugins.module_utils._match import rivals as rivals_module
from ansible_collections.stackproof.provision.plugins.module_utils._match import wanted as wanted_module
from ansible_collections.stackproof.provision.plugins.module_utils._match.scope import ReadLog, Scope
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import iso_of
from ansible_collections.stackproof.provision.plugins.module_utils._model.event import Event
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import OtherBoot
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import StepStatus
from ansible_collections.stackproof.provision.plugins.module_utils._record import clock, ids
from cases_by_hand import call as call_of
from tree import RECORDED, ROLES

FILES = ROLES / "flow" / "files" / "flows"
SCHEMA = json.loads((ROLES / "report" / "files" / "run.schema.json").read_text())
NAMES = ("ops_guide", "modern", "request_flow", "http_trace")
FLOWS = {name: flow_module.load(str(FILES / f"{name}.yml")) for name in NAMES}
MESSAGES = ("received", "taken", "answered")


def follow(run, *names):
    flows, _events_of_run = events_of.followed(
        run.record, [FLOWS[name] for name in names or ("ops_guide",)], {"log": run.logs}
    )
    for flow in flows:
        flow["by_id"] = {step["id"]: step for step in flow["steps"]}
    return flows[0] if len(flows) == 1 else flows


def statuses(flow):
    return Counter(step["status"] for step in flow["steps"])


def without(run, service, keep=None, sources=False):
    """The same run without the events of a service in logs, and with sources=True without its files."""
    less = copy.deepcopy(run)
    for read in less.logs.values():
        read["events"] = [event for event in read["events"] if event["service"] != service or (keep and keep(event))]
        if sources:
            read["sources"] = [source for source in read["sources"] if source["service"] != service]
    return less


# The files


@pytest.mark.parametrize(("name", "steps"), [*zip(NAMES, (67, 94, 17, 55))])
def test_each_flow_has_all_its_steps(name, steps):
    flow = FLOWS[name]
    assert (flow.name, len(flow.steps)) == (name, steps)
    assert len({step.id for step in flow.steps}) == steps
    assert all({step.source, step.target} <= set(flow.lifelines) for step in flow.steps)


def test_the_table_of_the_guide_is_there_wholly():
    rows = [step.numbers["table"] for step in FLOWS["ops_guide"].steps if "table" in step.numbers]
    assert sorted(rows) == list(range(1, 59))


@pytest.mark.parametrize(("document", "last"), [("table", 58), ("puml", 62), ("svg", 60)])
def test_numbers_of_documents_are_unique(document, last):
    numbers = [step.numbers[document] for step in FLOWS["ops_guide"].steps if document in step.numbers]
    assert len(numbers) == len(set(numbers))
    assert set(numbers) <= set(range(1, last + 1))


def test_each_step_reports_how_it_changed_since_the_guide():
    for name in ("ops_guide", "modern"):
        assert all(step.became for step in FLOWS[name].steps)


def test_new_steps_lie_where_they_belong():
    ids = [step.id for step in FLOWS["modern"].steps]
    assert ids[:2] == ["N1", "1"]
    assert ids[ids.index("4") + 1 : ids.index("4") + 3] == ["N4", "N13"]
    assert [name for name in ids if not name.startswith("N")] == [step.id for step in FLOWS["ops_guide"].steps]


def test_what_to_look_for_is_said_by_all_rules():
    wanted = wanted_module.wanted(FLOWS.values())
    assert {"service": "nova-compute", "pattern": rivals_module.TOOK} in wanted["phrases"]
    assert {"service": "keystone", "text": "v3/auth/tokens"} in wanted["windows"]
    assert {"service": "nova-conductor", "text": "received message "} in wanted["windows"]
    assert {"service": "nova-api", "text": '/servers" status: 202'} in wanted["windows"]
    for kind in ("phrases", "windows"):
        assert len({tuple(row.items()) for row in wanted[kind]}) == len(wanted[kind]) > 15
    bare = wanted_module.wanted([])
    assert (len(bare["phrases"]), len(bare["windows"])) == (1, 4)


STEP = {"id": "1", "source": "a", "target": "b", "message": "m", "kind": "k"}
RULE = {"source": "log", "service": "s"}


@pytest.fixture
def load(tmp_path):
    """Return a function that loads a flow of a user's own, from its text or from what differs from a good one."""

    def read(text=None, **more):
        flow = {
            "schema": flow_module.SCHEMA,
            "name": "n",
            "title": "t",
            "lifelines": ["a", "b"],
            "steps": [STEP],
            **more,
        }
        path = tmp_path / "own.yml"
        path.write_text(yaml.safe_dump(flow) if text is None else text)
        return flow_module.load(str(path))

    return read


def test_a_flow_of_ones_own_is_loaded(load):
    assert load(steps=[{**STEP, "observe": [{**RULE, "where": "a == 'b'", "within": [None, "1"]}]}]).name == "n"


def rule(**more):
    return [{**STEP, "observe": [{**RULE, **more}]}]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"text": "- a\n- b"}, "does not begin with schema: stackproof.flow/2"),
        ({"text": ""}, "does not begin with schema"),
        ({"text": "a: [b"}, "line 1, column"),
        ({"schema": "stackproof.flow/1"}, "does not begin with schema"),
        ({"text": "schema: stackproof.flow/2\nname: x"}, "it lacks lifelines, steps, title"),
        ({"steps": None}, "steps must be a list of steps, not nothing"),
        ({"steps": "1"}, "steps must be a list of steps, not '1'"),
        ({"lifelines": None}, "lifelines must be a list of texts, not nothing"),
        ({"steps": [STEP, 5]}, "step 2 must be a dictionary, not 5"),
        ({"steps": [{"id": 7}]}, "step 7 needs id, source, target, message and kind"),
        ({"steps": [{**STEP, "observed": []}]}, "step 1 has observed, which is not known"),
        ({"steps": [STEP, {**STEP, "id": 1}]}, "step 1 is there twice"),
        ({"steps": [{**STEP, "target": "c"}]}, "step 1: c is not a lifeline"),
        ({"steps": [{**STEP, "covers": ["1", "9"]}]}, "step 1 covers 9, which are not steps"),
        ({"steps": [{**STEP, "after": "8"}]}, "step 1 comes after 8, which is not a step"),
        (
            {"steps": [STEP, {**STEP, "id": "2", "after": "1"}]},
            "step 2 has after, but the flow does not extend another",
        ),
        ({"steps": [STEP, {**STEP, "id": "2", "leads_to": ["1"]}]}, "step 2 has leads_to, but the flow"),
        ({"steps": [{**STEP, "when": "volumes &&"}]}, "step 1 has an expression that is not understood"),
        ({"steps": [{**STEP, "observe": {"source": "log"}}]}, "step 1: observe must be a list of rules, not {"),
        ({"steps": [{**STEP, "absent": ["log"]}]}, "step 1: absent must be a list of rules, not ['log']"),
        ({"steps": rule(wher="a")}, "step 1 has a rule with wher, which is not known"),
        ({"steps": [{**STEP, "cached": [{"source": "log"}]}]}, "step 1 has a rule without source and service"),
        ({"steps": rule(level="trace")}, "step 1, rule 1 of observe: level must be info, debug or messaging"),
        ({"steps": rule(tier=4)}, "step 1, rule 1 of observe: tier must be 0, 1, 2 or 3, not 4"),
        ({"steps": rule(where="a ==")}, "step 1 has an expression that is not understood"),
        ({"steps": rule(where="startswith(a, 'b')")}, "step 1 has an expression that is not understood"),
        ({"steps": rule(where=5)}, "step 1, rule 1 of observe: where must be a non-empty text, not 5"),
        ({"steps": rule(says="a(")}, "step 1 has a rule that is not understood"),
        ({"steps": rule(within="1")}, "step 1, rule 1 of observe: within must be a list of two steps"),
        ({"steps": rule(within=["1", "77"])}, "step 1 has a rule within 77, which are not steps"),
        ({"counted": "numbers."}, "counted has an expression that is not understood"),
        ({"others": [{"where": "a"}]}, "a rule of others needs where and reason"),
        ({"others": [{"where": "a(", "reason": "b"}]}, "others has an expression that is not understood"),
        ({"extends": "nowhere.yml"}, "nowhere.yml: [Errno 2]"),
        ({"extends": "own.yml"}, "it extends itself"),
    ],
)
def test_an_error_in_a_flow_of_ones_own_is_said_with_its_place(load, more, words):
    with pytest.raises(flow_module.FlowError) as caught:
        load(**more)
    text = str(caught.value)
    assert words in text
    assert text.startswith("the flow /")
    assert "own.yml" in text or "nowhere.yml" in text


HEAD = f"schema: {flow_module.SCHEMA}\nname: n\ntitle: t\nlifelines: [a, b]\n"
ONE = "  - {id: '1', source: a, target: b, message: m, kind: k}\n"
LAUGHS = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 10))
MERGES = "".join(f"l{n}: &l{n} {{<<: [{', '.join([f'*l{n - 1}'] * 9)}]}}\n" for n in range(1, 10))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{HEAD}l0: &l0 [lol]\n{LAUGHS}steps:\n{ONE}", "more than 100000 values, with what aliases stand for"),
        (f"{HEAD}l0: &l0 {{lol: 1}}\n{MERGES}steps:\n{ONE}", "more than 100000 values, with what aliases stand for"),
        (f"{HEAD}numbers: &own [1, *own]\nsteps:\n{ONE}", "line 5 has the alias *own for what is not whole before it"),
        (f"{HEAD}numbers: *none\nsteps:\n{ONE}", "line 5 has the alias *none for what is not whole before it"),
        # Newer parsers have a limit of their own, which they reach first as they look for the end of a list.
        (HEAD + "steps: " + "[" * 200000, ("line 5 lies more than 20 levels deep", "exceeded maximum nesting depth")),
        (HEAD + "steps: " + "{a: " * 200000, "line 5 lies more than 20 levels deep"),
        (HEAD + "steps: " + "- " * 200000, "line 5"),
        (HEAD + "steps:\n" + "- " * 200000, "line 6 lies more than 20 levels deep"),
        (HEAD + "steps:\n" + ONE * 1001, "it has 1001 steps, and 1000 are the most"),
        (HEAD + "steps:\n" + ONE + "#" * (1 << 20), "it is longer than 1048576 characters"),
        (HEAD + "steps: [" + "a, " * 110000 + "]", "more than 100000 values"),
        (f"{HEAD}when: 2026-99-99\nsteps:\n{ONE}", "month must be in 1..12"),
        (f"{HEAD}steps: !!python/object/apply:os.system ['exit 3']\n", "could not determine a constructor"),
        (f"{HEAD}steps: !!python/name:os.system\n", "could not determine a constructor"),
    ],
)
def test_a_strangers_flow_costs_neither_memory_nor_time_nor_runs_anything(load, text, words):
    began = time.process_time()
    tracemalloc.start()
    try:
        with pytest.raises(flow_module.FlowError) as caught:
            load(text)
        memory = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert any(text in str(caught.value) for text in ([words] if isinstance(words, str) else words))
    assert time.process_time() - began < 10
    assert memory < 200 << 20


def test_an_alias_is_as_good_as_what_it_stands_for(load):
    text = f"{HEAD}steps:\n  - &one {{id: '1', source: a, target: b, message: m, kind: k}}\n  - {{<<: *one, id: '2'}}\n"
    assert [step.id for step in load(text).steps] == ["1", "2"]


@pytest.mark.parametrize("says", ["(a+)+$", "(" * 249 + ")" * 249, r"(?P<x>a)\1", "[a", "a" * 501])
def test_a_pattern_that_is_not_of_the_plain_kind_is_refused_with_its_place(load, says):
    with pytest.raises(flow_module.FlowError) as caught:
        load(steps=rule(says=says))
    assert "step 1 has a rule that is not understood: the pattern " in str(caught.value)


@pytest.mark.parametrize("says", ["a{9}|b|c", r"Took (?P<seconds>[\d.]+) .*x.*", r"Attempt \d+"])
def test_a_pattern_of_the_plain_kind_is_taken(load, says):
    assert load(steps=rule(says=says))


@pytest.mark.parametrize("name", ["a", "'", "' || 'a' == 'a"])
def test_a_name_in_an_expression_stands_for_itself_alone(name):
    expression = expressions.compiled("path == '{server}'", {"server": name})
    assert (expression.search({"path": name}), expression.search({"path": "b"})) == (True, False)


@pytest.mark.parametrize("name", ["\\", "\\' || 'b' == '", "\\\\' || 'b' == 'b"])
def test_a_name_with_a_backslash_matches_nothing(name):
    """JMESPath has no way to write it."""
    assert expressions.compiled("path == '{server}'", {"server": name}).search({"path": "b"}) is False


def test_a_fact_that_is_not_known_fulfils_no_condition(followed):
    assert expressions.search("contains(made, 'network')", {}) is None
    assert run_facts.NO_FACTS.keys() == run_facts.facts_of(as_json.typed(followed.record)).keys()


@pytest.mark.parametrize("where", ["a" * 2001, "(" * 900 + "a" + ")" * 900, "[" * 1990, "!" * 1990 + "a"])
def test_an_expression_without_measure_is_refused_or_understood(load, where):
    """It raises no error but the one that names the place."""
    with contextlib.suppress(flow_module.FlowError):
        load(steps=rule(where=where))
    if len(where) > 2000:
        with pytest.raises(flow_module.FlowError, match="an expression of 2001 characters, and 2000 are the most"):
            load(steps=rule(where=where))


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ("steps: [5]", "step 1 must be a dictionary, not 5"),
        ("steps: five", "steps must be a list of steps, not 'five'"),
        ("steps: [{covers: ['1']}]", "step 1 needs id"),
        ("steps: [{message: a}, {message: b}]", "needs id, source"),
        ("lifelines: 5\nsteps: []", "lifelines"),
    ],
)
def test_an_error_in_a_flow_that_extends_another_is_said_too(load, steps, words):
    text = f"schema: {flow_module.SCHEMA}\nname: n\nextends: {FILES}/ops_guide.yml\n{steps}\n"
    if steps.startswith("lifelines"):
        with pytest.raises(flow_module.FlowError, match=words):
            load(text)
        return
    with pytest.raises(flow_module.FlowError, match=words):
        load(text)


# The recorded run


@pytest.fixture(scope="module")
def all_of():
    """The recorded run, followed through each flow; not to be changed."""
    record, logs = {}, {}
    folder = RECORDED / "followed"
    record = json.loads((folder / "run.json").read_text())
    for line in map(json.loads, (folder / "logs.jsonl").read_text().splitlines()):
        if "event" in line:
            logs[line["host"]]["events"].append(line["event"])
        else:
            logs[line["host"]] = {"events": [], **line}
    return {flow["name"]: flow for flow in follow(SimpleNamespace(record=record, logs=logs), *NAMES)}


def test_every_step_of_the_guide_was_seen_or_is_explained(all_of):
    assert statuses(all_of["ops_guide"]) == {"seen": 59, "absent": 6, "cached": 2}
    for step in all_of["ops_guide"]["steps"]:
        assert step["evidence"]
        assert all(item["text"] and item["service"] for item in step["evidence"])


def test_every_step_of_today_was_seen_or_is_explained(all_of):
    unknown = {step["id"] for step in all_of["modern"]["steps"] if step["status"] not in ("seen", "absent", "cached")}
    # These are of clouds with OVN.
    assert unknown == {f"N{number}" for number in range(20, 28)}
    assert statuses(all_of["modern"])["skipped"] == 8
    assert all_of["modern"]["by_id"]["N19"]["status"] == "absent"
    assert statuses(all_of["request_flow"]) == {"seen": 17}


def test_what_is_found_is_as_the_schema_of_the_record_says(all_of):
    validator = jsonschema.Draft202012Validator({"$ref": "#/$defs/followed_flow", "$defs": SCHEMA["$defs"]})
    for flow in all_of.values():
        plain = {name: value for name, value in flow.items() if name != "by_id"}
        assert [
            f"{list(problem.absolute_path)}: {problem.message[:200]}" for problem in validator.iter_errors(plain)
        ] == []


@pytest.mark.parametrize(
    ("tier", "level", "least"),
    [(0, None, 10), (1, None, 15), (2, "info", 33), (2, "debug", 42), (2, "messaging", 50), (3, "messaging", 50)],
)
def test_more_access_shows_more(all_of, tier, level, least):
    (row,) = (row for row in all_of["ops_guide"]["coverage"] if (row["tier"], row["level"]) == (tier, level))
    assert row["total"] == 58
    assert row["seen"] + row["absent"] >= least
    assert sum(row[name] for name in (*StepStatus, "window")) == 58


def test_coverage_grows_with_access(all_of):
    for flow in all_of.values():
        unseen = [row["unseen"] for row in flow["coverage"]]
        assert [row["tier"] for row in flow["coverage"]] == [0, 1, 2, 2, 2, 3, 3, 3]
        assert unseen[:5] == sorted(unseen[:5], reverse=True)
        assert unseen[2:5] == unseen[5:]


def test_every_exchange_was_found_or_is_explained(all_of):
    trace = all_of["http_trace"]
    assert set(statuses(trace)) == {"seen", "skipped"}
    assert statuses(trace)["seen"] >= 31
    assert all(step["reason"] for step in trace["steps"] if step["status"] == "skipped")
    assert trace["others"]
    assert [exchange["what"] for exchange in trace["others"] if not exchange["reason"]] == []


def test_each_exchange_is_shown_by_an_event_of_its_own(followed):
    (trace,), events = events_of.followed(followed.record, [FLOWS["http_trace"]], {"log": followed.logs})
    there = Counter((event["service"], event["host"], iso_of(event["at"])) for event in events)
    shown = Counter((item["service"], item["host"], item["at"]) for step in trace["steps"] for item in step["evidence"])
    assert len(shown) > 20
    assert shown <= there


# How nova 2025.1 works: the first of each pair is not after the second.
ORDER = [
    *("1 3", "3 4", "4 6", "6 7", "7 8", "8 9", "9 10", "10 11", "11 12", "12 13", "13 14", "14 17", "17 18"),
    *("4 5", "13 26", "26 26c", "27 29", "29 32", "39 42", "42 19", "19 20", "21 22", "22 44", "20 44", "44 36"),
    *("36 37", "37 38", "34 36", "38 45", "45 46", "46 47", "43 52", "52 54", "55 58"),
]


def order_of(flow, pair):
    first, second = (flow["by_id"][name] for name in pair.split())
    seconds = clock.seconds_of(second["at"]) - clock.seconds_of(first["at"])
    return seconds, sum(step["resolution_s"] + step["error_s"] for step in (first, second))


@pytest.mark.parametrize("pair", ORDER)
def test_steps_come_in_the_order_in_which_nova_works(all_of, pair):
    seconds, unsure = order_of(all_of["ops_guide"], pair)
    assert seconds >= -unsure
    assert unsure < 2.1


def test_the_network_is_ready_and_the_guest_asks_in_this_order_without_doubt(all_of):
    for pair in ("12 19", "26 44", "44 36", "38 52", "8 13", "13 26"):
        seconds, unsure = order_of(all_of["ops_guide"], pair)
        assert seconds > unsure


def test_the_story_is_as_long_as_the_steps_it_covers(all_of):
    story, guide = all_of["request_flow"]["by_id"], all_of["ops_guide"]["by_id"]
    times = [guide[name]["at"] for name in ("13", "14", "15", "16", "17", "18")]
    assert story["9"]["at"] == min(times)
    assert story["9"]["until"] >= max(times)
    assert story["9"]["covers"] == ["13", "14", "15", "16", "17", "18"]
    assert story["9"]["duration_s"] == pytest.approx(
        clock.seconds_of(story["9"]["until"]) - clock.seconds_of(story["9"]["at"]), abs=1e-5
    )


# Evidence that is lacking


@pytest.mark.parametrize(
    ("service", "sources", "step", "reason"),
    [
        ("nova-scheduler", True, "8", "would be shown by the log of nova-scheduler"),
        (
            "nova-scheduler",
            False,
            "8",
            "nova-scheduler with oslo.messaging at DEBUG, or nova-scheduler with",
        ),
        ("nova-conductor", True, "17", "would be shown by the log of nova-conductor"),
        ("cinder-api", True, "39", "would be shown by the log of cinder-api"),
        ("cinder-api", False, "39", "would be shown by OSProfiler (stackproof_profiler_key)"),
        ("placement", True, "9", "would be shown by the log of placement"),
        ("neutron-l2-agent", True, "36", "would be shown by the log of neutron-l2-agent"),
    ],
)
def test_without_its_evidence_a_step_is_unseen_and_says_what_would_show_it(followed, service, sources, step, reason):
    unseen = follow(without(followed, service, sources=sources))["by_id"][step]
    assert (unseen["status"], unseen["at"], unseen["evidence"]) == ("unseen", None, [])
    assert reason in unseen["reason"]


def test_without_messages_their_level_is_asked_for(followed):
    run = without(followed, "nova-api", lambda event: event["kind"] != "rpc")
    step = follow(run)["by_id"]["6"]
    ways = "nova-api with oslo.messaging at DEBUG, or the messages on the queue (stackproof_firehose)"
    assert (step["status"], step["reason"]) == ("unseen", f"would be shown by {ways}")


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("something_else", "missing", "it is not in the log of nova-compute on compute2"),
        (None, "unseen", "would be shown by the messages on the queue (stackproof_firehose)"),
    ],
)
def test_where_messages_are_logged_without_the_names_of_calls_no_call_is_missing(followed, name, status, reason):
    """As oslo.messaging does it in Zed."""
    for read in followed.logs.values():
        for event in read["events"]:
            if name is None or (event["service"], event.get("action")) == ("nova-compute", "call"):
                event["method"] = name
    step = follow(followed)["by_id"]["45"]
    assert (step["status"], step["reason"]) == (status, reason)


def test_a_message_that_was_recorded_as_well_is_no_less_shown_by_the_log(followed):
    (taken,) = [
        event
        for event in followed.logs["controller1"]["events"]
        if (event.get("action"), event.get("method")) == ("taken", "dhcp_ready_on_ports") and event["texts"]
    ][-1:]
    ports = ids.keys_of(as_json.typed(followed.record))["port"]
    call = {**taken, "action": "call", "level": None, "topic": "q-plugin", "client": "10.71.16.13", "window": []}
    queue = {"controller1": {"events": [{**call, "service": "rabbitmq", "keys": {"port": ports}}]}}
    (flow,), _events_of_run = events_of.followed(
        followed.record, [FLOWS["ops_guide"]], {"log": followed.logs, "queue": queue}
    )
    step = next(step for step in flow["steps"] if step["id"] == "33")
    assert ("log", "messaging", "keyed") in {
        (item["source"], item["level"], item["grade"]) for item in step["evidence"]
    }


PERIODIC = "0" * 32


def test_a_periodic_task_that_is_told_of_the_server_shows_no_step(followed):
    """Its request is another one: the conductor took its call before the cast, and the answer names the server."""
    before = follow(followed)["by_id"]["15"]
    logged = followed.logs["controller1"]["events"]
    (cast,) = [event for event in logged if event["service"] == "nova-conductor" and event.get("action") == "cast"]
    early = {**cast, "at": cast["at"] - 0.4, "action": "received", "method": None, "message": PERIODIC, "keys": {}}
    logged.append(early)
    reply = {**early, "service": "rabbitmq", "action": "reply", "method": None, "client": "10.71.16.12", "texts": []}
    call = {**reply, "action": "call", "method": "object_class_action_versions", "client": "10.71.16.15"}
    reply["keys"] = {"server": ids.keys_of(as_json.typed(followed.record))["server"]}
    queue = {"controller1": {"events": [call, reply]}}
    (flow,), events = events_of.followed(followed.record, [FLOWS["ops_guide"]], {"log": followed.logs, "queue": queue})
    (taken,) = [event for event in events if (event.get("message"), event.get("action")) == (PERIODIC, "received")]
    assert (taken["method"], taken["keys"]) == ("object_class_action_versions", {"message": [PERIODIC]})
    (step,) = [step for step in flow["steps"] if step["id"] == "15"]
    assert step["at"] == before["at"]


def test_where_libvirts_events_are_not_logged_the_driver_says_that_the_instance_was_started(followed):
    """Nova may fail to register for them, and then the guest's console comes long after what followed the start."""
    followed.record["hosts"] = []
    before = follow(followed)["by_id"]
    assert [item["source"] for item in before["43"]["evidence"]] == ["console"]
    logged = followed.logs["compute2"]["events"]
    saved = [event for event in logged if event.get("action") == "call" and event["method"] == "object_action"][-1]
    spawned = {**saved, "kind": "line", "level": "info", "at": saved["at"] - 1, "action": None, "method": None}
    logged.append(
        {
            **spawned,
            "phrases": ["Instance spawned successfully"],
            "keys": {"server": ids.keys_of(as_json.typed(followed.record))["server"]},
        }
    )
    after = follow(followed)["by_id"]
    assert after["43"]["evidence"][0]["text"] == "the driver has spawned the instance"
    assert clock.seconds_of(after["43"]["at"]) == pytest.approx(spawned["at"], abs=1e-5)
    assert after["45"]["status"] == "seen"


def test_without_any_host_ssh_is_asked_for(followed):
    followed.record["hosts"], followed.logs = [], {}
    flow = follow(followed)
    assert "ssh to the host of qemu" in flow["by_id"]["49"]["reason"]
    assert "the log of glance-api" in flow["by_id"]["19"]["reason"]
    assert flow["by_id"]["4"]["status"] == "seen"
    (row,) = (row for row in flow["coverage"] if row["tier"] == 0)
    assert row["seen"] + row["absent"] >= 10


def test_steps_of_a_volume_are_skipped_where_there_is_none(followed):
    followed.record["instance"]["volumes"] = []
    as_json.stage_in(followed.record, "volume")["status"] = "skipped"
    step = follow(followed)["by_id"]["39"]
    assert (step["status"], step["reason"], step["evidence"]) == ("skipped", "the instance boots without a volume", [])


def test_a_volume_that_the_instance_gets_after_its_boot_shows_no_step_of_the_boot(followed):
    as_json.stage_in(followed.record, "boot")["details"]["attach"] = "after"
    steps = follow(followed)["by_id"]
    assert {steps[name]["status"] for name in ("39", "40", "41", "42")} == {"skipped"}


def test_every_step_with_ovn_was_seen_or_is_explained(followed_in_ovn):
    """What agents would do is absent, with what OVN does in its place, and OVN's own steps are seen."""
    modern = follow(followed_in_ovn, "modern")
    assert set(statuses(modern)) <= {"seen", "absent", "cached"}
    assert {modern["by_id"][f"N{number}"]["status"] for number in range(20, 28)} == {"seen"}
    instead = {name for name, step in modern["by_id"].items() if (step["reason"] or "").startswith("OVN")}
    assert instead == {"27", *map(str, range(29, 37)), "N16", "N17"}
    assert {modern["by_id"][name]["status"] for name in instead} == {"absent"}


def test_steps_of_ovn_happen_in_their_order(followed_in_ovn):
    steps = follow(followed_in_ovn, "modern")["by_id"]
    chain = ["26", "N20", "N12", "N22", "N23", "N24", "N25", "38", "N27", "52"]
    times = [steps[name]["at"] for name in chain]
    assert None not in times
    assert times == sorted(times)


STAGE_OF = {
    "upload_image": "image",
    "make_network": "network",
    "make_volume": "volume",
    "attach_volume": "boot",
    "give_floating_ip": "boot",
}
OF_STAGES = {name: flow_module.load(str(FILES / f"{name}.yml")) for name in STAGE_OF}


@pytest.mark.parametrize("name", OF_STAGES)
def test_a_flow_beside_a_stage_is_judged_told_and_of_that_stage(name):
    flow = OF_STAGES[name]
    assert (flow.name, flow.judged, flow.shown_as, flow.stage) == (name, True, "stage", STAGE_OF[name])


@pytest.mark.parametrize("name", ["make_network", "make_volume"])
def test_the_steps_of_the_other_stages_are_seen_on_a_recorded_run(followed, name):
    (flow,), _events = events_of.followed(followed.record, [OF_STAGES[name]], {"log": followed.logs})
    statuses = {step["id"]: step["status"] for step in flow["steps"]}
    assert "missing" not in statuses.values()
    assert {step["stage"] for step in flow["steps"]} == {name.partition("_")[2]}
    assert sum(status == "seen" for status in statuses.values()) >= 3, statuses


def test_an_upload_that_the_run_did_not_make_is_skipped_and_says_why(followed):
    (flow,), _events = events_of.followed(followed.record, [OF_STAGES["upload_image"]], {"log": followed.logs})
    assert {(step["status"], step["reason"]) for step in flow["steps"]} == {("skipped", "the run uploaded no image")}


def post(path, method="POST"):
    return {**call_of(None, path=path), "method": method}


@pytest.mark.parametrize(
    ("calls", "made"),
    [
        ([post("/v3/a/volumes")], ["volume"]),
        ([post("/v2.0/networks"), post("/v2.0/subnets")], ["network", "subnet"]),
        ([post("/v2.0/security-groups"), post("/v2/images")], ["image", "security_group"]),
        ([post("/v2.0/floatingips"), post("/v2.0/routers"), post("/v2.0/ports")], ["floating_ip", "port", "router"]),
        ([post("/v2.0/networks", "GET"), post("/v2.1/servers/a/action"), post("/v3/auth/tokens")], []),
    ],
)
def test_what_a_run_makes_is_what_it_has_asked_for_with_or_without_an_answer(calls, made):
    stages = [as_json.stage("auth", "ok"), as_json.stage("network", "failed", calls=calls)]
    assert run_facts.created_in(as_json.typed({"stages": stages})) == made


def told(run, *names):
    return [(flow["name"], flow["shown_as"]) for flow in follow(run, *names)]


def test_the_flow_that_knows_ovn_is_told_where_the_cloud_has_it(followed, followed_in_ovn):
    story, list_of_requests = ("request_flow", "story"), ("http_trace", None)
    agents = [("ops_guide", "guide"), ("modern", None), story, list_of_requests]
    assert told(followed, *NAMES) == agents
    assert told(followed_in_ovn, *NAMES) == [("modern", "guide"), ("ops_guide", None), story, list_of_requests]
    # The user's own order counts for the rest, and without another guide nothing moves.
    assert told(followed_in_ovn, "http_trace", "ops_guide", "modern") == [
        list_of_requests,
        ("modern", "guide"),
        ("ops_guide", None),
    ]
    assert told(followed_in_ovn, "http_trace", "modern") == [list_of_requests, ("modern", "guide")]


@pytest.mark.parametrize(("distributed", "status"), [(True, "absent"), (False, "missing")])
def test_no_agent_is_owed_the_address_where_ovn_answers_dhcp(followed, distributed, status):
    """There Neutron casts nothing to a DHCP agent, though its log was read whole."""
    for network in followed.record["instance"]["networks"]:
        network.update(distributed=distributed, dhcp_ports=[])
    followed.record["hosts"] = []
    silent = without(
        followed,
        "neutron-server",
        lambda event: (
            event.get("method") not in ("port_create_end", "dhcp_ready_on_ports")
            and "Allocated IP" not in event["phrases"]
        ),
    )
    for service in ("neutron-dhcp-agent", "dnsmasq"):
        silent = without(silent, service, sources=True)
    step = follow(silent)["by_id"]["27"]
    assert step["status"] == status
    assert ("OVN has no DHCP agent" in step["reason"]) == distributed
    assert [item["proves"] for item in step["evidence"]] == (["absent"] if distributed else [])


def test_where_the_back_end_is_not_known_the_steps_of_agents_are_part_of_the_run(followed):
    followed.record["instance"]["networks"] = []
    followed.record["agents"] = []
    for host in followed.record["hosts"]:
        host["facts"]["services"] = []
    assert follow(followed)["by_id"]["27"]["status"] == "seen"


@pytest.mark.parametrize(
    ("path", "status"), [("/identity", 300), ("/", 300), ("/identity/v3/", 200), ("/identity/v3", 200)]
)
def test_the_discovery_of_versions_is_seen_wherever_keystone_is(followed, path, status):
    """With devstack it is below a path, where the list of versions has the status 300."""
    calls = as_json.stage_in(followed.record, "auth")["calls"]
    assert (calls[0]["service"], calls[0]["method"]) == ("identity", "GET")
    calls[0].update(path=path, status=status)
    assert follow(followed, "modern")["by_id"]["N1"]["status"] == "seen"


def test_a_run_that_came_to_nothing_is_followed_all_the_same(followed):
    record = followed.record
    record.update(instance=None, evidence=None, hosts=[])
    record["stages"] = [stage for stage in record["stages"] if stage["stage"] == "auth"]
    missing = {}
    for flow in follow(followed, *NAMES):
        assert set(statuses(flow)) <= set(StepStatus)
        missing[flow["name"]] = [step["id"] for step in flow["steps"] if step["status"] == "missing"]
    # Nothing but what comes next: the look-up of names, or the request for the server.
    assert missing == {"ops_guide": ["4"], "modern": ["N2"], "request_flow": ["3"], "http_trace": ["10"]}
    follow_module.wanted(as_json.typed(record), FLOWS.values())


def test_exchanges_are_told_where_the_run_has_no_name_for_a_rule_to_explain_them(followed):
    followed.record["instance"]["ports"], followed.record["hosts"] = [], []
    trace = follow(followed, "http_trace")
    assert trace["others"]
    assert any(exchange["reason"] for exchange in trace["others"])


def slapd(followed):
    return next(source for source in followed.logs["controller1"]["sources"] if source["service"] == "slapd")


def test_absence_is_proved_by_a_source_that_was_read_whole(followed):
    step = follow(followed)["by_id"]["1a"]
    assert (step["status"], step["at"], step["host"]) == ("absent", None, "controller1")
    (proof,) = step["evidence"]
    assert (proof["proves"], proof["text"]) == ("absent", "the LDAP server was not asked to bind as the user")


def test_absence_is_not_proved_by_a_source_that_was_not_read_whole(followed):
    slapd(followed)["complete"] = False
    assert follow(followed)["by_id"]["1a"]["status"] == "unseen"


def test_absence_is_not_proved_where_one_of_two_hosts_was_not_read_whole(followed):
    followed.logs["network1"]["sources"].append({**slapd(followed), "complete": False})
    assert follow(followed)["by_id"]["1a"]["status"] == "unseen"


def test_absence_is_not_proved_without_a_source(followed):
    followed.logs["controller1"]["sources"].remove(slapd(followed))
    step = follow(followed)["by_id"]["1a"]
    assert (step["status"], step["reason"]) == ("unseen", "would be shown by the log of slapd")


def test_absence_is_proved_only_at_the_level_that_would_show_it(followed):
    assert follow(followed, "modern")["by_id"]["N19"]["status"] == "absent"
    quiet = without(followed, "nova-compute", lambda event: event["level"] != "messaging")
    step = follow(quiet, "modern")["by_id"]["N19"]
    assert (step["status"], "oslo.messaging at DEBUG" in step["reason"]) == ("unseen", True)


def test_absence_is_not_proved_when_the_span_of_time_is_not_known(followed):
    for stage in followed.record["stages"]:
        stage["calls"] = [call for call in stage["calls"] if not call["path"].endswith("/auth/tokens")]
    flow = follow(without(followed, "keystone"))
    assert flow["by_id"]["3"]["status"] == "unseen"
    assert flow["by_id"]["1a"]["status"] == "unseen"


BIND = next(step for step in FLOWS["ops_guide"].steps if step.id == "1a").observe[0].says


def bind(followed, at, who=None):
    who = who or as_json.stage_in(followed.record, "auth")["details"]["user"]
    event = {"at": at, "resolution_s": 1e-6, "service": "slapd", "kind": "line", "level": "info", "keys": {},
             "phrases": [BIND], "who": who, "texts": ["BIND dn="]}  # fmt: skip
    followed.logs["controller1"]["events"].append(event)


def test_a_bind_while_the_token_was_made_is_seen_and_no_absence(followed):
    bind(followed, clock.seconds_of(follow(followed)["by_id"]["1"]["at"]) + 0.1)
    rivals = set(rivals_module.RIVALS)
    followed = without(followed, "nova-api", lambda event: event["keys"] or not rivals & set(event["texts"]))
    step = follow(followed)["by_id"]["1a"]
    assert (step["status"], step["evidence"][0]["grade"], len(step["evidence"])) == ("seen", "window", 1)


def test_a_bind_of_somebody_else_is_no_step(followed):
    bind(followed, clock.seconds_of(follow(followed)["by_id"]["1"]["at"]) + 0.1, who="somebody")
    assert follow(followed)["by_id"]["1a"]["status"] == "absent"


def test_a_bind_that_may_be_of_others_proves_neither(followed):
    at = clock.seconds_of(follow(followed)["by_id"]["1"]["at"]) + 0.1
    bind(followed, at)
    rival(followed, at - 1)
    assert follow(followed)["by_id"]["1a"]["status"] == "unseen"


# Others at the same time


def rival(followed, at):
    """Another boot, as the log of nova-api shows it."""
    event = {"at": at, "resolution_s": 0.001, "service": "nova-api", "kind": "http", "level": "info", "keys": {},
             "phrases": [], "texts": ['/servers" status: 202'], "method": "POST", "path": "/v2.1/servers",
             "status": 202, "client": "10.71.16.99", "seconds": None}  # fmt: skip
    followed.logs["controller1"]["events"].append(event)


WINDOWED = ("19a", "26a", "33")
PROVISIONED = "Provisioning .*entity DHCP"


@pytest.fixture
def vague(followed):
    """The recorded run without the line that says by the port's id that Neutron waits for DHCP no longer."""
    return without(followed, "neutron-server", lambda event: PROVISIONED not in event["phrases"])


def grades(flow):
    return {item["grade"] for step in flow["steps"] for item in step["evidence"]}


def test_what_only_its_time_shows_is_counted_apart(vague):
    flow = follow(vague)
    assert flow["by_id"]["33"]["evidence"][0]["grade"] == "window"
    (row,) = (row for row in flow["coverage"] if (row["tier"], row["level"]) == (2, "messaging"))
    assert row["window"] == 3
    sure = {"seen", "window"}
    tabled = [step for step in flow["steps"] if "table" in step["numbers"] and step["status"] in sure]
    assert row["seen"] + row["window"] == len(tabled)


def test_what_only_its_time_shows_counts_for_nothing_while_another_boots(vague):
    # Each may go on for three minutes, as its end is not known.
    for seconds in (-305, -150, 20):
        rival(vague, clock.seconds_of(vague.record["started"]) + seconds)
    flow = follow(vague)
    assert flow["concurrent_boots"] == 2  # the first is over before this boot begins
    assert grades(flow) == {"keyed"}
    assert {flow["by_id"][name]["status"] for name in WINDOWED} == {"unseen"}


def test_a_boot_that_ended_long_before_is_no_rival(followed):
    began = clock.seconds_of(followed.record["started"])
    before = follow(followed)
    rival(followed, began - 200)
    after = follow(followed)
    assert after["concurrent_boots"] == before["concurrent_boots"]
    assert after["by_id"]["26a"]["evidence"][0]["grade"] == "window"


def rivals_in(posts, ends):
    made = [
        [Event.from_host({"service": "s", "kind": "line", **event}) for event in events] for events in (posts, ends)
    ]
    return rivals_module.rivals_in(*made)


def test_a_rival_is_over_when_nova_compute_and_its_guest_are_done():
    post = {"at": 100.0, "until": 101.0, "texts": ['/servers" status: 202'], "keys": {}, "resolution_s": 0.001}
    built = {"at": 102.0, "until": 110.0, "texts": [rivals_module.BUILT], "keys": {}}
    assert rivals_in([post], []) == [(100.0, 280.0)]
    assert rivals_in([post], [built]) == [(100.0, 170.0)]
    assert rivals_in([post], [{**built, "keys": {"server": ["x"]}}]) == [(100.0, 280.0)]
    assert rivals_in([post], [{**built, "at": 140.0}]) == [(100.0, 280.0)]


def test_our_own_request_in_the_web_servers_log_is_no_rival_and_another_in_the_same_second_is():
    own = {"at": 100.2, "texts": ['/servers" status: 202'], "keys": {"request": ["r"]}, "resolution_s": 0.001}
    web = {"at": 100.0, "texts": ["/servers => generated"], "keys": {}, "resolution_s": 1, "began": True}
    other = {**own, "at": 100.3, "keys": {}}
    assert rivals_in([own, web], []) == []
    assert rivals_in([own], []) == []
    assert rivals_in([own, web, other], []) == [(100.3, 280.3)]
    assert rivals_in([own, other], []) == [(100.3, 280.3)]
    assert len(rivals_in([own, web, other, {**web, "at": 101.0}], [])) == 2
    assert len(rivals_in([web], [])) == 1


def server(status, launched=None, gone=None):
    times = {"created": "2026-11-21T10:00:00Z", "updated": "2026-11-21T10:00:30Z"}
    return {"id": "x", "status": status, "OS-SRV-USG:launched_at": launched, "OS-SRV-USG:terminated_at": gone, **times}


@pytest.mark.parametrize(
    ("answer", "ended", "settling"),
    [
        (server("BUILD"), None, None),
        (server("ACTIVE", "2026-11-21T10:00:20.000000"), "2026-11-21T10:00:20.000000", 60),
        (server("ERROR"), "2026-11-21T10:00:30Z", 5),
        (server("DELETED"), "2026-11-21T10:00:30Z", 5),
        (server("ACTIVE", "2026-11-21T10:00:20.000000", "2026-11-21T10:00:29.000000"), "2026-11-21T10:00:29.000000", 5),
    ],
)
def test_nova_says_when_another_boot_was_over(monkeypatch, answer, ended, settling):
    servers = SimpleNamespace(get=lambda *_path, **_query: {"servers": [answer]})
    monkeypatch.setattr(instance, "answer_of", lambda answered: answered)
    others = functools.partial(instance.other_boots, SimpleNamespace(compute=servers))
    assert others("y", "2026-11-21").boots == (OtherBoot(answer["created"], ended, settling),)
    assert others("x", "2026-11-21").boots == ()


def test_a_boot_that_an_administrator_knows_to_be_over_is_no_rival(vague):
    """The logs alone would leave it open for three minutes."""
    began = clock.seconds_of(vague.record["started"])
    rival(vague, began - 100)
    boot = {"started": iso_of(began - 100), "finished": iso_of(began - 80), "settling_s": 5}
    vague.record["other_boots"] = {"queried": iso_of(began + 60), "boots": [boot]}
    assert follow(vague)["by_id"]["33"]["evidence"][0]["grade"] == "window"
    boot["finished"] = None
    assert follow(vague)["by_id"]["33"]["evidence"] == []


def test_a_boot_that_began_after_an_administrator_was_asked_is_a_rival(vague):
    began = clock.seconds_of(vague.record["started"])
    vague.record["other_boots"] = {"queried": iso_of(began - 20), "boots": []}
    rival(vague, began - 10)
    assert follow(vague)["by_id"]["33"]["evidence"] == []


@pytest.mark.parametrize("change", ["none of it", "of one of two hosts", "no source"])
def test_what_only_its_time_shows_counts_for_nothing_if_nova_apis_log_was_not_read_whole(vague, change):
    sources = vague.logs["controller1"]["sources"]
    api = [source for source in sources if source["service"] == "nova-api"]
    if change == "none of it":
        for source in api:
            source["complete"] = False
    elif change == "no source":
        vague.logs["controller1"]["sources"] = [source for source in sources if source not in api]
    else:
        vague.logs["network1"]["sources"].append({**api[0], "complete": False})
    flow = follow(vague)
    assert grades(flow) == {"keyed"}
    assert {flow["by_id"][name]["status"] for name in WINDOWED} == {"unseen"}


def test_one_of_two_logs_of_nova_api_on_a_host_is_enough(followed):
    next(source for source in followed.logs["controller1"]["sources"] if source["service"] == "nova-api")[
        "complete"
    ] = False
    assert "window" in grades(follow(followed))


def second_run(followed):
    """The same boot by somebody else a second later, as log_info would read its lines: none of its ids is ours.

    A little more than a second, as some logs have whole seconds, and each time must tell whose it is.
    """
    own = {text for texts in ids.keys_of(as_json.typed(followed.record)).values() for text in texts} - {
        followed.record["instance"]["image"]["id"]
    }
    pattern = re.compile("|".join(map(re.escape, sorted(own, key=len, reverse=True))))

    def other(text):
        return pattern.sub(lambda match: match[0][:-4] + "ffff", text)

    copies = {}
    for host, read in followed.logs.items():
        events = json.loads(other(json.dumps(read["events"])))
        for event in events:
            event["at"] += 1.00037
            event["keys"] = {kind: texts for kind, texts in event["keys"].items() if kind == "shared"}
            if event.get("message"):
                event["message"] = event["message"][::-1]
            if not event["texts"] and event["kind"] == "rpc" and event["action"] in MESSAGES:
                event["texts"] = ["received message "]
        copies[host] = events
    return copies


def test_a_second_boot_a_second_later_brings_no_evidence_into_the_steps_of_the_first(followed):
    alone = {flow["name"]: flow for flow in follow(followed, *NAMES)}
    second = SimpleNamespace(record=followed.record, logs=copy.deepcopy(followed.logs))
    for host, events in second_run(followed).items():
        second.logs[host]["events"] = events
        followed.logs[host]["events"] = followed.logs[host]["events"] + events
    all_events = events_of.logs(second.record, second.logs)
    theirs = {
        (iso_of(event[name]), event["service"], event["host"])
        for event in all_events
        for name in ("at", "until")
        if event[name]
    }
    for together in follow(followed, *NAMES):
        assert together["concurrent_boots"] >= alone[together["name"]]["concurrent_boots"] + 2
        for step in together["steps"]:
            before = alone[together["name"]]["by_id"][step["id"]]["evidence"]
            # A cache may have been filled by anybody.
            shown = [item for item in step["evidence"] if item["proves"] != "cached"]
            assert [item for item in shown if (item["at"], item["service"], item["host"]) in theirs] == [], step["id"]
            keyed = [[item for item in evidence if item["grade"] == "keyed"] for evidence in (before, step["evidence"])]
            assert [item for item in keyed[1] if item not in keyed[0]] == [], step["id"]
            lost = [item for item in keyed[0] if item not in keyed[1]]
            assert {item["proves"] for item in lost} <= {"absent"}, step["id"]


def test_the_second_boot_is_really_in_the_logs(followed):
    ours = sum(len(read["events"]) for read in followed.logs.values())
    others = [event for events in second_run(followed).values() for event in events]
    assert len(others) == ours
    assert sum(set(rivals_module.RIVALS) & set(event["texts"]) != set() for event in others) >= 2
    assert not any(event["keys"].keys() - {"shared"} for event in others)


def test_what_others_use_too_is_ours_only_when_nobody_else_could_be_meant(followed):
    """A line that names the image, and no request of ours."""
    for logged in followed.logs["controller1"]["events"]:
        if logged["service"] == "glance-api" and logged["client"] == "10.71.16.15":
            at, logged["keys"] = logged["at"], {"shared": [followed.record["instance"]["image"]["id"]]}
    run = without(followed, "nova-compute")
    step = follow(run)["by_id"]["19"]
    assert (step["status"], step["evidence"][0]["grade"]) == ("seen", "window")
    rival(run, at - 5)
    assert follow(run)["by_id"]["19"]["status"] == "unseen"


# Rules


def match(events, steps, began=0.0, ended=100.0, names=None, sources=(), **more):
    """A flow of some steps, on some events."""
    flow = flow_of([{**STEP, **step} for step in steps])
    logs = [ReadLog.from_json(source["host"], source) for source in sources]
    scope = Scope(names or {}, {}, logs, began, ended, **more)
    return matcher_module.Matcher(events, scope).match(flow)[0]


def flow_of(steps):
    return flow_module.flow_of({"name": "n", "title": "t", "lifelines": ["a", "b"], "steps": steps})


def fact(at, name, **more):
    return event(at, "s", "fact", name, fact=name, source="host", **more)


def event(at, service, kind, text, **more):
    """An event, with the fields of its own kind among the others."""
    about = {"at": at, "service": service, "kind": kind, "text": text}
    known = {name: more.pop(name) for name in ("source", "resolution_s", "until", "timeless", "keys") if name in more}
    return Event(**about, **known, fields=more)


@pytest.mark.parametrize(("settled", "status"), [(5.0, "missing"), (4.0, "unseen")])
def test_a_step_is_not_missing_if_its_log_may_have_been_read_before_it(settled, status):
    steps = [
        {"id": "1", "observe": [{"source": "host", "service": "s", "where": "fact == 'begun'"}]},
        {"id": "2", "follows": ["1"], "observe": [{"source": "log", "service": "t", "says": "done"}]},
    ]
    whole = [{"host": "h", "service": "t", "complete": True}]
    assert match([fact(5.0, "begun")], steps, sources=whole, settled=settled)[1].status == status


@pytest.mark.parametrize(
    ("watched", "passed_on", "status"), [(True, False, "missing"), (False, True, "missing"), (False, False, "unseen")]
)
def test_a_request_that_others_may_log_under_another_id_is_not_missing(watched, passed_on, status):
    """Whoever was not the client knows Nova's id alone, and the client may have given its request another one."""
    neutron = {"source": "log", "service": "neutron-server", "says": "done", "needs": "request"}
    steps = [
        {"id": "1", "observe": [{"source": "host", "service": "s", "where": "fact == 'begun'"}]},
        {"id": "2", "follows": ["1"], "observe": [neutron]},
    ]
    services = ["nova-api", *(["glance-api"] if passed_on else [])]
    logged = [event(5.0, service, "line", "asked", source="log", keys=("request",)) for service in services]
    whole = [{"host": "h", "service": "neutron-server", "complete": True}]
    assert match([fact(5.0, "begun"), *logged], steps, sources=whole, watched=watched)[1].status == status


def test_exchanges_that_no_step_shows_are_found_in_a_run_whose_calls_have_no_service(followed):
    """Before the catalog is known, as with a wrong password, no service is either."""
    for stage in followed.record["stages"]:
        for call in stage["calls"]:
            call["service"] = None
    trace = follow(followed, "http_trace")
    assert [exchange["what"] for exchange in trace["others"]] != []


def test_a_run_that_ended_at_a_wrong_password_is_followed(followed):
    """It has one call, of no service, and nothing that came after it."""
    auth = as_json.stage_in(followed.record, "auth")
    auth["calls"] = [{**call, "service": None, "status": 401} for call in auth["calls"][:1]]
    followed.record.update(stages=[auth], instance=None)
    for flow in follow(followed, *NAMES):
        assert len(flow["steps"]) == len(FLOWS[flow["name"]].steps)


@pytest.mark.parametrize(
    ("rules", "seconds"),
    [
        ([{"says": "a"}], matcher_module.LEAD),
        ([{"says": "a", "within": ["1", None]}], matcher_module.LEAD),
        ([{"says": "a", "within": [None, "1"]}], matcher_module.TOKEN_CACHE),
        ([{"says": "a"}, {"window": "a"}], matcher_module.TOKEN_CACHE),
    ],
)
def test_logs_are_read_from_an_earlier_time_only_for_rules_that_look_back(rules, seconds):
    observe = [{"source": "log", "service": "s", **rule} for rule in rules]
    assert wanted_module.looks_back([flow_of([{**STEP, "observe": observe}])]) == seconds


@pytest.mark.parametrize(
    ("requests", "status", "reason"),
    [
        (True, "missing", "it is not in the log of placement on controller1"),
        (False, "unseen", "the log of placement shows no request at all"),
        # A journal, of which it is not known
        (None, "unseen", "the log of placement shows no request at all"),
    ],
)
def test_a_request_is_missing_only_where_requests_are_logged(requests, status, reason):
    steps = [
        {"id": "1", "observe": [{"source": "host", "service": "s", "where": "fact == 'begun'"}]},
        {"id": "2", "follows": ["1"], "observe": [{"source": "log", "service": "placement", "kind": "http"}]},
    ]
    whole = [{"host": "controller1", "service": "placement", "complete": True, "requests": requests}]
    step = match([fact(5.0, "begun")], steps, sources=whole)[1]
    assert (step.status, step.reason) == (status, reason)


@pytest.mark.parametrize(
    ("callers", "status", "reason"),
    [
        (["controller1", "192.0.2.1"], "missing", "it is not in the log of cinder-api on controller1"),
        # The compute host itself has asked for something else.
        (["compute1"], "missing", "it is not in the log of cinder-api on controller1"),
        (["controller1", "controller1"], "unseen", "controller1, as from a load balancer"),
    ],
)
def test_a_request_is_not_missing_where_a_balancer_may_have_asked_for_all(callers, status, reason):
    def request(caller):
        return event(
            6.0, "cinder-api", "http", "GET", source="log", client=caller, caller=caller,
            keys={"request": ["req-1"]}, method="POST",
        )  # fmt: skip

    steps = [
        {"id": "1", "observe": [{"source": "host", "service": "s", "where": "fact == 'begun'"}]},
        {
            "id": "2",
            "follows": ["1"],
            "observe": [{"source": "log", "service": "cinder-api", "where": "method == 'GET' && caller == '{host}'"}],
        },
    ]
    whole = [{"host": "controller1", "service": "cinder-api", "complete": True}]
    events = [fact(5.0, "begun"), *map(request, callers)]
    step = match(events, steps, names={"host": "compute1"}, sources=whole)[1]
    assert step.status == status
    assert step.reason.endswith(reason)


@pytest.mark.parametrize(
    ("clients", "beside", "status", "reason"),
    [
        (["10.0.0.5", "10.0.0.9"], "nova-compute", "seen", None),
        (["127.0.0.1", "10.0.0.5"], "nova-compute", "seen", None),  # somebody on the host itself asked, too
        (["127.0.0.1"], "nova-compute", "unseen", "a proxy in front of glance-api hides the address"),
        (["10.0.0.5"], "nova-scheduler", "unseen", "nova-scheduler and nova-compute have one address"),
    ],
)
def test_a_request_shows_a_step_only_if_its_address_tells_who_asked(clients, beside, status, reason):
    hosts = {"10.0.0.5": "compute1"}
    events = [
        event(
            5.0, "glance-api", "http", "GET", source="log", client=client, caller=hosts.get(client, client),
            keys={"request": ["req-1"]}, method="GET",
        )
        for client in clients
    ]  # fmt: skip
    rule = {"source": "log", "service": "glance-api", "where": "method == 'GET' && caller == '{host}'"}
    sources = [{"host": "compute1", "service": name, "complete": True} for name in (beside, "glance-api")]
    (step,) = match(events, [{"observe": [rule]}], names={"host": "compute1"}, sources=sources)
    assert (step.status, step.reason) == (
        status,
        reason and f"it is not known who sent such requests: {reason}",
    )


def test_what_is_true_later_shows_that_it_happened_but_not_when_and_frees_no_other_from_its_time():
    events = [fact(50.0, "later", timeless=True), fact(500.0, "flows")]
    rule_of = {"source": "host", "service": "s"}
    (step,) = match(events, [{"observe": [rule_of]}])
    assert [(item.text, item.at) for item in step.evidence] == [("later", None)]
    (step,) = match(events, [{"observe": [rule_of]}], ended=600.0)
    assert (step.at, len(step.evidence)) == (500.0, 2)


def test_a_rule_that_asks_for_what_an_event_has_not_finds_nothing():
    where = "contains(path, 'x') || fact == 'y'"
    events = [fact(5.0, "y"), fact(6.0, "y", path="xx")]
    (step,) = match(events, [{"observe": [{**RULE, "source": "host", "where": where}]}])
    assert [item.at for item in step.evidence] == [6.0]


def test_a_rule_with_a_name_that_the_run_has_not_finds_nothing():
    rules = [{**RULE, "source": "host", "where": "'{volume}' == fact"}]
    assert match([fact(5.0, "y")], [{"observe": rules}])[0].status == "unseen"
    assert match([fact(5.0, "y")], [{"observe": rules}], names={"volume": "y"})[0].status == "seen"


@pytest.mark.parametrize(
    ("pick", "edge", "times"), [("first", None, [1.0]), ("last", None, [3.0]), (None, "end", [9.0, 9.0, 9.0])]
)
def test_the_first_the_last_or_the_end_of_what_is_found(pick, edge, times):
    more = {name: value for name, value in (("pick", pick), ("edge", edge)) if value}
    events = [fact(at, "y", until=9.0) for at in (1.0, 2.0, 3.0)]
    (step,) = match(events, [{"observe": [{**RULE, "source": "host", **more}]}])
    assert [item.at for item in step.evidence] == times


def test_the_best_time_is_a_fine_one_of_what_carries_an_id_and_of_these_the_first():
    events = [fact(1.0, "y", resolution_s=1.0), fact(2.0, "y"), fact(3.0, "y")]
    (step,) = match(events, [{"observe": [{**RULE, "source": "host"}]}])
    assert (step.at, step.resolution_s) == (2.0, 1e-6)


# Hostile text


HOSTILE = '<script>alert(\'x\')</script>\x1b[31m\u202e\n{"keys": {"request": ["x"]}}'


def written_of(run):
    """The lines of events.jsonl."""
    _flows, events = follow_module.follow(as_json.typed(run.record), list(FLOWS.values()), {"log": run.logs})
    return list(follow_module.lines(events))


def test_hostile_text_stays_text_and_is_no_key(followed):
    boot = as_json.stage_in(followed.record, "boot")
    boot["waits"][0]["states"][0]["state"] = HOSTILE
    boot["calls"][0]["path"] = f"/v2.1/{HOSTILE}"
    boot["details"]["events"][0]["event"] = HOSTILE
    logged = next(
        event for event in followed.logs["controller1"]["events"] if event["kind"] == "http" and event["keys"]
    )
    logged["path"] = HOSTILE
    wanted = follow_module.wanted(as_json.typed(followed.record), FLOWS.values())
    assert "script" not in json.dumps(wanted["keys"])
    flows, events = events_of.followed(followed.record, list(FLOWS.values()), {"log": followed.logs})
    texts = [event["text"] for event in events if HOSTILE in event["text"]]
    assert len(texts) == 4
    assert "script" not in json.dumps([event["keys"] for event in events])
    written = written_of(followed)
    assert all("\n" not in line and "\x1b" not in line for line in written)
    assert [json.loads(line)["text"] for line in written] == [event["text"] for event in events]
    assert all(step["id"] for flow in flows for step in flow["steps"])


def test_fields_that_are_not_known_are_not_written(followed):
    for read in followed.logs.values():
        for event in read["events"]:
            event.update(headers={"X-Auth-Token": "gAAAAsecret"}, user_data="secret", line="secret", password="secret")
    flows, events = events_of.followed(followed.record, list(FLOWS.values()), {"log": followed.logs})
    assert "secret" in json.dumps(events)
    written = written_of(followed)
    assert "secret" not in "".join(written)
    assert "secret" not in json.dumps(flows)
    assert len(written) == len(events) > 800
    assert {"at", "host", "service", "kind", "keys", "text", "path", "status"} <= {
        name for line in written for name in json.loads(line)
    }


def timed(run):
    began = time.process_time()
    follow_module.follow(as_json.typed(run.record), list(FLOWS.values()), {"log": run.logs})
    return time.process_time() - began


def test_ten_times_the_events_take_ten_times_as_long(followed):
    many = copy.deepcopy(followed)
    for read in many.logs.values():
        others = [{**event, "keys": {}} for event in read["events"]]
        read["events"] = read["events"] + others * 9
    timed(followed)
    assert timed(many) < 15 * min(timed(followed) for _turn in range(3)) + 0.1


def test_a_flow_of_a_stranger_brings_no_base_of_its_own(load):
    with pytest.raises(flow_module.FlowError, match="it has base, which is not known"):
        load(f"{HEAD}base: {{steps: [{{id: 1, observe: [{{says: '(a+)+$'}}]}}]}}\nsteps:\n{ONE}")


def test_few_flows_extend_each_other(tmp_path):
    for number in range(20):
        text = HEAD + (f"extends: {number + 1}.yml\n" if number < 19 else "") + f"steps:\n{ONE}"
        (tmp_path / f"{number}.yml").write_text(text)
    with pytest.raises(flow_module.FlowError, match="of flows that extend each other"):
        flow_module.load(str(tmp_path / "0.yml"))
