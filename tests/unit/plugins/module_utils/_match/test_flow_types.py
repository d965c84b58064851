# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of a wrong type in a flow: each is refused when the flow is loaded, or does no harm when a run is followed."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow as flow_module
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow_types, follow
from ansible_collections.stackproof.provision.plugins.module_utils._match.events import of_run
from ansible_collections.stackproof.provision.plugins.module_utils._match.matcher import Matcher
from ansible_collections.stackproof.provision.plugins.module_utils._match.wanted import looks_back, wanted
from ansible_collections.stackproof.provision.plugins.module_utils._model.flow_definition import Flow
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from tree import ROOT

SCHEMA = json.loads((ROOT / "roles/flow/files/flow.schema.json").read_text())
WRONG = [None, 1, [], {}, "", [1], [[]], {"a": 1}, 1.5, True]

# Each key that a step may have, whatever the flow
FIRST = {
    "id": "1",
    "source": "client",
    "target": "nova-api",
    "message": "Ask for a server",
    "kind": "HTTP REST",
    "observe": [{"source": "api", "service": "compute", "kind": "http", "where": "method == 'POST'"}],
}
SECOND = {
    "id": "2",
    "phase": "request",
    "source": "nova-api",
    "target": "client",
    "responsible": "nova-api",
    "message": "Answer",
    "kind": "HTTP REST",
    "numbers": {"table": 2, "svg": [2, "2a"]},
    "became": "same",
    "today": "As before",
    "when": "contains(made, 'server')",
    "unless": "no server was asked for",
    "follows": ["1"],
    "otherwise": "nobody writes it",
    "observe": [{"source": "log", "service": "nova-api", "says": "Going to run", "level": "debug"}],
    "cached": [{"source": "log", "service": "keystone", "window": "v3/auth/tokens", "pick": "last"}],
    "absent": [{"source": "log", "service": "nova-api", "kind": "http", "where": "method == 'PUT'"}],
    "state": ["ovn_claimed"],
}
# Without the fact the step is absent, and its rules are not looked at.
THIRD = {**FIRST, "id": "3", "when": "volumes && attached && port", "instead": "the cloud has another way"}
FLOW = {
    "schema": flow_module.SCHEMA,
    "name": "mine",
    "title": "What I want to see",
    "lifelines": ["client", "nova-api"],
    "stage": "boot",
    "judged": True,
    "shown_as": "guide",
    "shown_when": "network == 'agents'",
    "counted": "numbers.table",
    "exclusive": True,
    "phases": {
        "request": {"stage": "boot", "repeats": True},
        "late": {"when": "volumes", "unless": "the run has no volume", "instead": "the cloud has another way"},
    },
    "actions": ["resize"],
    "parts": [
        {"name": "a", "text": "the whole", "starts": ["1"], "ends": ["2"]},
        {"name": "b", "text": "the half", "starts": ["1"], "ends_first": ["2"]},
    ],
    "others": [{"where": "method == 'GET'", "reason": "a poll"}],
    "steps": [FIRST, SECOND, THIRD],
}
MORE = {"schema": flow_module.SCHEMA, "name": "more", "title": "More than that", "extends": "base.yml"}
# Its steps lie between those of the other flow.
BETWEEN = {
    **MORE,
    "lifelines": ["keystone"],
    "steps": [
        {**FIRST, "id": "N1", "after": "1", "follows": ["1"], "leads_to": ["2"]},
        {**FIRST, "id": "N2", "before": "3"},
    ],
}
# Its steps stand for steps of the other flow.
STORY = {**MORE, "steps": [{**FIRST, "id": "S1", "covers": ["1", "2"]}, {**FIRST, "id": "S2", "covers": ["3"]}]}
FLOWS = {"plain": FLOW, "between": BETWEEN, "story": STORY}
# A rule of each kind, with each key that has a meaning for it
COMMON = {"within": ["1", None], "pick": "first", "edge": "end", "tier": 2, "text": "in other words"}
RULES = {
    "request of the run": {**COMMON, "source": "api", "service": "compute", "kind": "http", "where": "status == `202`"},
    "state": {**COMMON, "source": "api", "service": "boot", "kind": "state", "where": "state == 'ACTIVE'"},
    "console": {**COMMON, "source": "console", "service": "guest", "kind": "console", "where": "contains(text, 'x')"},
    "line": {**COMMON, "source": "log", "service": "nova-api", "kind": "line", "says": "run", "level": "info"},
    "window": {**COMMON, "source": "log", "service": "keystone", "window": "v3/auth/tokens", "level": "debug"},
    "message": {**COMMON, "source": "log", "service": "nova-conductor", "kind": "rpc", "where": "method == 'build'"},
    "key": {**COMMON, "source": "log", "service": "nova-api", "kind": "http", "needs": "asked", "where": "caller"},
    "fact": {**COMMON, "source": "host", "service": "nova", "kind": "fact", "where": "fact == '{server}'"},
    "queue": {**COMMON, "source": "queue", "service": "rabbitmq", "where": "action == 'cast'", "needs": "request"},
    "span": {**COMMON, "source": "span", "service": "nova/api", "kind": "db", "where": "verb == 'INSERT'"},
}


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Return the path of each key and each element of a flow."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield (*path, name)
        yield from places(inner, (*path, name))


def replaced(flow: dict[str, Any], path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    flow = copy.deepcopy(flow)
    place: Any = flow
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return flow


def loaded_or_refused(path: Path) -> Flow | StageError:
    try:
        # Each file has the same name here, and those that are loaded by their name are kept.
        loaded: Flow = flow_module.flow_of(flow_module.data_of.__wrapped__(str(path), ()))
    except StageError as refusal:
        return refusal
    return loaded


@pytest.fixture(scope="module")
def matcher(recorded_run):
    """The events of the recorded run, which do not depend on a flow."""
    reads = {"log": recorded_run.logs}
    record = as_json.typed(recorded_run.record)
    events = of_run(record, reads)
    return Matcher(events, follow.scope_of(record, events, reads))


@pytest.fixture
def refused_or_followed(tmp_path, matcher):
    """Return a function that loads a flow and follows the recorded run by it; it returns the refusal, or None."""
    (tmp_path / "base.yml").write_text(json.dumps(FLOW))
    path = tmp_path / "own.yml"

    def act(flow: dict[str, Any]) -> str | None:
        # JSON is YAML, too, and is written ten times as fast.
        path.write_text(json.dumps(flow))
        loaded = loaded_or_refused(path)
        if isinstance(loaded, StageError):
            assert loaded.record["kind"] in ("config", "invalid")
            assert str(loaded).startswith(f"the flow {path}: ")
            return str(loaded)
        wanted([loaded])
        looks_back([loaded])
        follow.followed([loaded], matcher)
        return None

    return act


@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
def test_a_flow_with_each_key_is_followed(refused_or_followed, flow):
    assert refused_or_followed(flow) is None


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_with_each_key_is_followed(refused_or_followed, rule):
    assert refused_or_followed(replaced(FLOW, ("steps", 1, "observe", 0), rule)) is None


def test_each_key_of_a_flow_a_step_and_a_rule_is_tried():
    steps = [step for flow in FLOWS.values() for step in flow["steps"]]
    assert set().union(*FLOWS.values()) == set(flow_types.FLOW) | {"schema"}
    assert set().union(*steps) == set(flow_types.STEP)
    assert set().union(*RULES.values()) == set(flow_types.RULE)


@pytest.mark.parametrize(
    ("name", "path"), [(name, path) for name, flow in FLOWS.items() for path in places(flow)], ids=str
)
def test_a_value_of_a_wrong_type_is_refused_or_harmless(refused_or_followed, name, path):
    for value in WRONG:
        refused_or_followed(replaced(FLOWS[name], path, value))


@pytest.mark.parametrize("key", flow_types.RULE)
@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("part", ["observe", "absent"])
def test_a_value_of_a_wrong_type_in_a_rule_is_refused_or_harmless(refused_or_followed, part, kind, key):
    for value in WRONG:
        rule = {**RULES[kind], key: value}
        refused_or_followed(replaced(FLOW, ("steps", 1, part, 0), rule))


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("steps", 1, "observe", 0, "window"), 1, "step 2, rule 1 of observe: window must be a non-empty text, not 1"),
        (
            ("steps", 1, "cached", 0, "service"),
            [],
            "step 2, rule 1 of cached: service must be a non-empty text, not []",
        ),
        (
            ("steps", 1, "absent", 0, "where"),
            None,
            "step 2, rule 1 of absent: where must be a non-empty text, not nothing",
        ),
        (("steps", 1, "absent", 0, "where"), "", "step 2, rule 1 of absent: where must be a non-empty text, not ''"),
        (("steps", 1, "observe", 0, "pick"), "lats", "pick must be first or last, not 'lats'"),
        (("steps", 1, "observe", 0, "kind"), "htpp", "kind must be http, rpc, line, state, fact, server_event,"),
        (("steps", 1, "observe", 0, "tier"), True, "tier must be 0, 1, 2 or 3, not True"),
        (
            ("steps", 1, "observe", 0, "within"),
            ["1"],
            "within must be a list of two steps, either of which may be null",
        ),
        (("steps", 1, "observe", 0, "within"), [[], None], "within must be a list of two steps"),
        (("steps", 1, "observe"), {"source": "log"}, "step 2: observe must be a list of rules, not {'source': 'log'}"),
        (("steps", 1, "observe"), ["log"], "step 2: observe must be a list of rules, not ['log']"),
        (("steps", 1, "phase"), ["a"], "step 2: phase must be a non-empty text, not ['a']"),
        (("steps", 1, "id"), 1.5, "step 1.5: id must be a non-empty text or a whole number, not 1.5"),
        (("steps", 1, "follows"), [["1"]], "step 2: follows must be a list of steps, not [['1']]"),
        (("steps", 1, "numbers"), {"table": {}}, "step 2: numbers must be a dictionary of whole numbers, texts and"),
        (("steps", 1), "ask", "step 2 must be a dictionary, not 'ask'"),
        (("lifelines",), ["a", 1], "lifelines must be a list of texts, not ['a', 1]"),
        (
            ("stage",),
            "bot",
            "stage must be auth, image, network, volume, boot, metadata, dataplane, journey or removal, not 'bot'",
        ),
        (("judged",), "yes", "judged must be true or false, not 'yes'"),
        (("phases", "request", "stage"), 1, "the phase request: stage must be auth, image,"),
        (("parts", 0, "starts"), 1, "part 1: starts must be a list of steps, not 1"),
        (("others", 0, "reason"), 1, "rule 1 of others: reason must be a non-empty text, not 1"),
        (("title",), ["x" * 500], "title must be a non-empty text, not ['xxxx"),
    ],
)
def test_a_value_of_a_wrong_type_is_refused_with_its_place_and_what_is_expected(
    refused_or_followed, path, value, words
):
    refusal = refused_or_followed(replaced(FLOW, path, value))
    assert words in refusal
    assert len(refusal) < 400


def test_a_step_that_covers_nothing_beside_others_that_do_is_refused(refused_or_followed):
    flow = copy.deepcopy(STORY)
    del flow["steps"][1]["covers"]
    assert "step S2 needs covers, as other steps of the flow have it" in refused_or_followed(flow)


@pytest.mark.parametrize("key", ["follows", "observe", "cached", "absent"])
def test_a_list_of_a_step_that_is_left_empty_is_no_mistake(refused_or_followed, key):
    assert refused_or_followed(replaced(FLOW, ("steps", 1, key), None)) is None


@pytest.mark.parametrize(
    ("path", "expression"),
    [
        # Where its left side is false JMESPath does not look at the other one, and so not when it is tried on nothing.
        (("steps", 1, "absent", 0, "where"), "path && nosuch(path)"),
        (("steps", 1, "absent", 0, "where"), "path && starts_with(path)"),
        (("steps", 1, "absent", 0, "where"), "path && not_null()"),
        (("steps", 1, "when"), "made && nosuch(made)"),
        # The names of a run stand between quotation marks, and only in the rules.
        (("steps", 1, "absent", 0, "where"), "path == {server}"),
        (("steps", 1, "when"), "{server} == 'a'"),
        (("counted",), "{server}"),
        (("shown_when",), "{server}"),
    ],
)
def test_an_expression_that_would_fail_on_a_run_is_refused(refused_or_followed, path, expression):
    assert "an expression that is not understood" in refused_or_followed(replaced(FLOW, path, expression))


@pytest.mark.parametrize(
    "expression", ["contains(path, `1`)", "path && ceil(`1e999`)", "path && path[::-1] && sum(path)"]
)
def test_an_expression_that_fails_on_some_event_agrees_with_none(refused_or_followed, expression):
    assert refused_or_followed(replaced(FLOW, ("steps", 1, "absent", 0, "where"), expression)) is None


def test_the_schema_expects_the_same_values():
    expected = {
        "step": (flow_types.STEP, ["became"]),
        "rule": (flow_types.RULE, ["source", "kind", "pick", "edge", "tier", "level"]),
    }
    for name, (kinds, keys) in expected.items():
        for key in keys:
            assert set(kinds[key].choices) == set(SCHEMA["$defs"][name]["properties"][key]["enum"])
    for key in ("stage", "shown_as"):
        assert set(flow_types.FLOW[key].choices) == set(SCHEMA["properties"][key]["enum"])
