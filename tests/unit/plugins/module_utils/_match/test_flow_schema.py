# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The schema of flows accepts the shipped ones and a user's own, and refuses typical mistakes."""

from __future__ import annotations

import copy
import json
import re

import jsonschema
import pytest
import yaml
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow as flow_module
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow_types
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import Level
from ansible_collections.stackproof.provision.plugins.module_utils._record import errors
from tree import FLOWS, ROOT

SCHEMA = json.loads((ROOT / "roles/flow/files/flow.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
SHIPPED = sorted(FLOWS.glob("*.yml"))
DOCUMENT = (ROOT / "docs/flows.md").read_text()
# The flow that the page shows to its readers
EXAMPLE = next(
    yaml.safe_load(block)
    for block in re.findall(r"```yaml\n(.*?)```", DOCUMENT, re.DOTALL)
    if block.startswith("schema:")
)
EXTENSION = {
    "schema": "stackproof.flow/2",
    "name": "more",
    "title": "One step more",
    "extends": "ops_guide.yml",
    "steps": [
        {
            "id": "X1",
            "after": "4",
            "follows": ["4"],
            "leads_to": [5],
            "source": "nova-api",
            "target": "keystone",
            "message": "Ask",
            "kind": "HTTP REST",
            "when": "volumes",
            "unless": "there is no volume",
            "observe": [{"source": "log", "service": "nova-api", "within": ["4", None], "window": "asked"}],
        }
    ],
}


def problems(flow):
    return [f"{list(problem.absolute_path)}: {problem.message}" for problem in VALIDATOR.iter_errors(flow)]


def changed(flow, way, value):
    """A copy with one place changed; a minus before the last key takes it away."""
    flow = copy.deepcopy(flow)
    *keys, last = way.split(".")
    place = flow
    for key in keys:
        place = place[int(key) if key.isdigit() else key]
    if last.startswith("-"):
        del place[last[1:]]
    else:
        place[last] = value
    return flow


def test_it_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_it_knows_the_same_names_as_the_code():
    assert SCHEMA["properties"]["schema"]["const"] == flow_module.SCHEMA
    assert set(SCHEMA["$defs"]["step"]["properties"]) == set(flow_types.STEP) >= flow_module.OF_ANOTHER
    rule = SCHEMA["$defs"]["rule"]["properties"]
    assert set(rule) == set(flow_types.RULE)
    # docs/flows.md names them in its table of a rule's keys.
    for name in ("source", "kind"):
        row = next(line for line in DOCUMENT.splitlines() if line.startswith(f"| `{name}`"))
        assert set(rule[name]["enum"]) == set(re.findall(r"`(\w+)`", row)) - {name}
    assert (tuple(rule["level"]["enum"]), tuple(rule["tier"]["enum"])) == (tuple(Level), flow_types.TIERS)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_flow_of_the_collection_is_valid(path):
    assert problems(yaml.safe_load(path.read_text())) == []


@pytest.mark.parametrize("flow", [EXAMPLE, EXTENSION], ids=["example", "extension"])
def test_a_flow_of_a_users_own_is_valid_and_is_read(flow, tmp_path):
    assert problems(flow) == []
    (tmp_path / "ops_guide.yml").write_text((SHIPPED[0].parent / "ops_guide.yml").read_text())
    (tmp_path / "own.yml").write_text(yaml.safe_dump(flow))
    assert flow_module.load(str(tmp_path / "own.yml")).name == flow["name"]


def test_what_leads_to_a_step_of_another_flow_is_followed_by_it(tmp_path):
    (tmp_path / "ops_guide.yml").write_text((SHIPPED[0].parent / "ops_guide.yml").read_text())
    (tmp_path / "own.yml").write_text(yaml.safe_dump(EXTENSION))
    steps = {step.id: step for step in flow_module.load(str(tmp_path / "own.yml")).steps}
    assert steps["5"].follows == ("4", "X1")
    assert steps["X1"].follows == ("4",)


MISTAKES = [
    ("schema", "stackproof.flow/1"),
    ("-schema", None),
    ("-name", None),
    ("-title", None),
    ("-lifelines", None),
    ("-steps", None),
    ("steps", []),
    ("steps", {"1": {}}),
    ("lifelines", "client"),
    ("lifelines", ["client", "client"]),
    ("lifeline", ["client"]),
    ("exclusive", "yes"),
    ("counted", 3),
    ("others", [{"where": "@"}]),
    ("steps.0.-id", None),
    ("steps.0.-message", None),
    ("steps.0.id", ["1"]),
    ("steps.0.follow", ["1"]),
    ("steps.0.follows", "1"),
    ("steps.0.follows", 1),
    ("steps.0.follows", ["1", "1"]),
    ("steps.0.follows", []),
    ("steps.0.became", "old"),
    ("steps.0.numbers", 3),
    ("steps.0.unless", "there is no when"),
    # These keys refer to a flow that is extended.
    ("steps.0.leads_to", ["2"]),
    ("steps.0.after", "1"),
    ("steps.0.covers", ["1"]),
    ("steps.0.observe", {"source": "api", "service": "compute"}),
    ("steps.0.observe.0.-source", None),
    ("steps.0.observe.0.-service", None),
    ("steps.0.observe.0.source", "logs"),
    ("steps.0.observe.0.kind", "https"),
    ("steps.0.observe.0.were", "@"),
    ("steps.0.observe.0.tier", 4),
    ("steps.0.observe.0.tier", "1"),
    ("steps.0.observe.0.says", "only a log says something"),
    ("steps.0.observe.1.level", "trace"),
    ("steps.0.observe.1.pick", "any"),
    ("steps.0.observe.1.edge", "begin"),
    ("steps.0.observe.1.within", ["1"]),
    ("steps.0.observe.1.within", "1"),
    ("steps.0.observe.1.text", ""),
]


@pytest.mark.parametrize(("way", "value"), MISTAKES, ids=lambda value: re.sub(r"\W+", "-", str(value))[:40])
def test_a_typical_mistake_is_not_valid(way, value):
    assert problems(changed(EXAMPLE, way, value)) != []


@pytest.mark.parametrize("value", ["1", 1, {"1": None}])
@pytest.mark.parametrize("name", ["follows", "leads_to", "covers"])
def test_what_must_be_a_list_of_steps_is_said_where_it_is_none(tmp_path, name, value):
    (tmp_path / "own.yml").write_text(yaml.safe_dump(changed(EXAMPLE, f"steps.0.{name}", value)))
    with pytest.raises(errors.StageError, match=f"step 1: {name} must be a list of steps, not "):
        flow_module.load(str(tmp_path / "own.yml"))


@pytest.mark.parametrize("follows", [{"1": ["1"]}, {"1": ["3"], "2": ["1"], "3": [2]}])
def test_steps_that_follow_each_other_in_a_circle_are_said(tmp_path, follows):
    flow = copy.deepcopy(EXAMPLE)
    flow["steps"] = [{**EXAMPLE["steps"][0], "id": name, "follows": follows.get(name, [])} for name in ("1", "2", "3")]
    (tmp_path / "own.yml").write_text(yaml.safe_dump(flow))
    with pytest.raises(errors.StageError, match="in a circle"):
        flow_module.load(str(tmp_path / "own.yml"))


def test_a_step_that_follows_what_is_not_there_is_said(tmp_path):
    (tmp_path / "own.yml").write_text(yaml.safe_dump(changed(EXAMPLE, "steps.0.follows", ["7"])))
    with pytest.raises(errors.StageError, match="step 1 follows 7, which are not steps"):
        flow_module.load(str(tmp_path / "own.yml"))


def test_an_answer_is_known_by_its_status():
    """Some services also log when a request begins: that line is not an answer."""
    rules = [
        (step["id"], rule)
        for path in SHIPPED
        for step in yaml.safe_load(path.read_text())["steps"]
        for rule in step.get("observe", [])
        if (rule["source"], rule.get("kind"), rule.get("edge")) == ("log", "http", "end")
    ]
    # RGW's log of operations has only lines of those that are over.
    loose = [name for name, rule in rules if "status" not in rule["where"] and rule["service"] != "rgw"]
    assert len(rules) >= 5
    assert loose == []
