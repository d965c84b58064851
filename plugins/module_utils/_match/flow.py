# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Flows: how a provisioning goes, as data. Loads and checks them, and says what they look for."""

from __future__ import annotations

import functools
import os
import re
from collections import defaultdict

try:
    import jmespath
    import yaml
    from jmespath.exceptions import JMESPathError, JMESPathTypeError

    HAS_LIBRARIES = True
except ImportError:
    HAS_LIBRARIES = False

from .._collect.phrases import Pattern
from .._collect.sources import SOURCES
from .._record.errors import StageError
from .._record.levels import LEVELS
from . import flow_limits
from .rivals import BUILT, RIVALS, TOOK

SCHEMA = "stackproof.flow/1"
TIERS = (0, 1, 2, 3)
# What is written of a message on the queue by who takes it: no id but the message's own
MESSAGES = ("received message ", "received reply msg_id", "Receive incoming message with id")
TOKEN_CACHE = 300
STEP_KEYS = {"id", "phase", "source", "target", "message", "kind", "numbers", "became", "today", "when", "unless"}
STEP_KEYS |= {"follows", "owed_by", "observe", "cached", "absent", "otherwise"}
# What is said of another flow's steps
OF_ANOTHER = {"after", "before", "leads_to", "covers"}
# How a flow is told and used is its own affair, and not that of a flow that extends it.
TELLING = {"judged": False, "told_as": None, "parts": []}
RULE_KEYS = {
    "source",
    "service",
    "kind",
    "where",
    "says",
    "window",
    "within",
    "tier",
    "level",
    "pick",
    "edge",
    "text",
    "needs",
}


class FlowError(StageError):
    def __init__(self, path, why):
        super().__init__("config", f"the flow {path}: {why}", hint="docs/flows.md describes the format.")


def fastest_loader():
    """Both make plain values only; the one in C, where there is one, is seven times as fast."""
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@functools.cache
def load(path, above=()):
    """A flow, checked: what is wrong in a user's own file is said with its place. Flows share parts: change none."""
    if path in above:
        raise FlowError(path, "it extends itself")
    try:
        text = flow_limits.read(path)
        flow_limits.check_shape(text, fastest_loader())
        flow = yaml.load(text, fastest_loader())
    # A date that is none is a ValueError, as is what is beyond a limit.
    except (OSError, yaml.YAMLError, ValueError) as exc:
        raise FlowError(path, " ".join(str(exc).split())) from exc
    if isinstance(flow, dict) and flow.get("schema") == SCHEMA and flow.get("extends"):
        flow = extended(load(os.path.join(os.path.dirname(path), str(flow["extends"])), (*above, path)), flow)
    check(path, flow)
    return flow


def extended(base, more):
    """A flow with steps between those of another one, or that tells the other's steps in fewer of its own."""
    base = {name: value for name, value in base.items() if name not in TELLING}
    if isinstance(more.get("phases"), dict):
        more = {**more, "phases": {**(base.get("phases") or {}), **more["phases"]}}
    steps, lifelines = more.get("steps") or [], more.get("lifelines") or []
    if not isinstance(lifelines, list):
        return {**base, **more}  # what is wrong is said by the check
    lifelines = list(dict.fromkeys([*base["lifelines"], *lifelines]))
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        return {**base, **more, "lifelines": lifelines}
    if any("covers" in step for step in steps):
        return {**base, **more, "lifelines": lifelines, "base": base, "steps": steps}
    merged = [dict(step) for step in base["steps"]]
    for step in steps:
        ids = [str(one.get("id")) for one in merged]
        near = str(step.get("after", step.get("before")))
        merged.insert(ids.index(near) + ("after" in step) if near in ids else len(merged), dict(step))
    for step in steps:
        for one in merged:
            if str(one.get("id")) in map(str, step.get("leads_to") or ()):
                one["follows"] = [*(one.get("follows") or ()), step.get("id")]
    return {**base, **more, "lifelines": lifelines, "steps": merged}


def check(path, flow):
    if not isinstance(flow, dict) or flow.get("schema") != SCHEMA:
        raise FlowError(path, f"it does not begin with schema: {SCHEMA}")
    lacking = {"name", "title", "lifelines", "steps"} - set(flow)
    if lacking:
        raise FlowError(path, f"it lacks {', '.join(sorted(lacking))}")
    for name in ("lifelines", "steps"):
        if not isinstance(flow[name], list):
            raise FlowError(path, f"{name} is no list")
    if len(flow["steps"]) > flow_limits.MOST_STEPS:
        raise FlowError(path, f"it has {len(flow['steps'])} steps, and {flow_limits.MOST_STEPS} are the most")
    check_expression(path, "counted", flow.get("counted", "@"))
    for rule in flow.get("others") or ():
        if not isinstance(rule, dict) or {"where", "because"} - set(rule):
            raise FlowError(path, "a rule of others needs where and because")
        check_expression(path, "others", rule["where"])
    ids = {str(step["id"]) for step in flow["steps"] if isinstance(step, dict) and "id" in step}
    seen = set()
    for number, step in enumerate(flow["steps"], 1):
        where = f"step {step.get('id', number)}" if isinstance(step, dict) else f"step {number}"
        check_step(path, where, step, flow, ids)
        if str(step["id"]) in seen:
            raise FlowError(path, f"{where} is there twice")
        seen.add(str(step["id"]))
        for part in ("observe", "cached", "absent"):
            rules = step.get(part) or []
            if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
                raise FlowError(path, f"{where}: {part} is no list of rules")
            for rule in rules:
                check_rule(path, where, rule, ids)
    check_order(path, flow["steps"])
    check_telling(path, flow, ids)


def check_telling(path, flow, ids):
    """How the flow is told: its phases and parts, and whether runs are judged by it."""
    if flow.get("told_as") not in (None, "guide", "story"):
        raise FlowError(path, f"it is told_as {flow['told_as']}, which is neither guide nor story")
    phases = flow.get("phases") or {}
    if not isinstance(phases, dict) or not all(isinstance(meaning, dict) for meaning in phases.values()):
        raise FlowError(path, "phases is not a dictionary of dictionaries")
    for name, meaning in phases.items():
        if set(meaning) - {"stage", "repeats"}:
            raise FlowError(path, f"the phase {name} has more than stage and repeats")
    for part in flow.get("parts") or ():
        if not isinstance(part, dict) or {"name", "says", "from"} - set(part) or ("to" in part) == ("to_first" in part):
            raise FlowError(path, "a part needs name, says, from, and either to or to_first")
        named = [*part["from"], *part.get("to", ()), *part.get("to_first", ())]
        unknown = {str(step) for step in named} - ids
        if unknown:
            raise FlowError(path, f"the part {part['name']} names {', '.join(sorted(unknown))}, which are not steps")


def telling(flow):
    """How a flow is told, as a run's record has it."""
    found = {name: flow.get(name) or usual for name, usual in TELLING.items()}
    return {**found, "parts": [part_of(part) for part in found["parts"]]}


def part_of(part):
    ends = {name: [str(step) for step in part[name]] for name in ("from", "to", "to_first") if name in part}
    return {"name": part["name"], "says": part["says"], **ends}


def with_telling(recorded, flows):
    """The flows of a record; one of 0.1.0 does not say how it is told, and takes that from the flow of its name."""
    known = {flow["name"]: telling(flow) for flow in flows}
    return [{**flow, **known.get(flow["name"], {})} for flow in recorded]


def check_order(path, steps):
    """What follows itself, by whatever way, would never be owed."""
    left = {str(step["id"]): {str(one) for one in step.get("follows") or ()} for step in steps}
    while left:
        ready = [one for one, before in left.items() if not before & left.keys()]
        if not ready:
            raise FlowError(path, f"the steps {', '.join(left)} follow each other in a circle")
        for one in ready:
            del left[one]


def check_step(path, where, step, flow, ids):
    if not isinstance(step, dict) or {"id", "source", "target", "message", "kind"} - set(step):
        raise FlowError(path, f"{where} needs id, source, target, message and kind")
    if set(step) - STEP_KEYS - OF_ANOTHER:
        raise FlowError(
            path, f"{where} has {', '.join(sorted(set(step) - STEP_KEYS - OF_ANOTHER))}, which is not known"
        )
    for name in ("follows", "leads_to", "covers"):
        if not isinstance(step.get(name) or [], list):
            raise FlowError(path, f"{where}: {name} is no list")
    for end in ("source", "target", "owed_by"):
        if end in step and step[end] not in flow["lifelines"]:
            raise FlowError(path, f"{where}: {step[end]} is no lifeline")
    known = {str(one["id"]) for one in flow["base"]["steps"]} if "base" in flow else ids
    unknown = {str(one) for one in step.get("covers") or ()} - known
    if unknown:
        raise FlowError(path, f"{where} covers {', '.join(sorted(unknown))}, which are no steps")
    for name in ("follows", "leads_to"):
        unknown = {str(one) for one in step.get(name) or ()} - ids
        if unknown:
            raise FlowError(path, f"{where} {name.replace('_', ' ')} {', '.join(sorted(unknown))}, which are no steps")
    for name in ("after", "before"):
        if name in step and str(step[name]) not in ids:
            raise FlowError(path, f"{where} comes {name} {step[name]}, which is no step")
    if set(step) & OF_ANOTHER and not flow.get("extends"):
        raise FlowError(path, f"{where} has {', '.join(sorted(set(step) & OF_ANOTHER))}, but the flow extends no other")
    check_expression(path, where, step.get("when", "@"))


def check_expression(path, where, text):
    """Whether an expression is understood; what it finds in an event is another matter."""
    try:
        flow_limits.check_expression(text)
        jmespath.compile(filled(text, defaultdict(lambda: "x"))).search({})
    except JMESPathTypeError:
        pass  # an event may have what nothing has not
    # Parentheses may lie so deep in each other that there is an end to the stack.
    except (JMESPathError, TypeError, ValueError, RecursionError) as exc:
        raise FlowError(path, f"{where} has an expression that is not understood: {exc}") from exc


def check_rule(path, where, rule, ids):
    if set(rule) - RULE_KEYS:
        raise FlowError(path, f"{where} has a rule with {', '.join(sorted(set(rule) - RULE_KEYS))}, which is not known")
    if "source" not in rule or "service" not in rule:
        raise FlowError(path, f"{where} has a rule without source and service")
    if rule["source"] not in SOURCES:
        raise FlowError(path, f"{where} has a rule of the source {rule['source']}; there are {', '.join(SOURCES)}")
    if rule.get("level", "info") not in LEVELS or rule.get("tier", 0) not in TIERS:
        raise FlowError(path, f"{where} has a rule of the level {rule.get('level')} and the tier {rule.get('tier')}")
    within = rule.get("within") or [None, None]
    if not isinstance(within, list) or len(within) != 2:
        raise FlowError(path, f"{where} has a rule within something that is not two steps")
    unknown = [str(one) for one in within if one is not None and str(one) not in ids]
    if unknown:
        raise FlowError(path, f"{where} has a rule within {', '.join(unknown)}, which are no steps")
    check_expression(path, where, rule.get("where", "@"))
    try:
        Pattern(rule.get("says", ""))
    except (TypeError, StageError) as exc:
        raise FlowError(path, f"{where} has a rule that is not understood: {exc}") from exc


def rules_of(step):
    return [rule for part in ("observe", "cached", "absent") for rule in step.get(part) or []]


def filled(text, names):
    """A rule with the run's own names in it: {host} is the instance's host, {server} its id, and so on."""
    return re.sub(r"\{(\w+)\}", lambda match: str(names[match[1]]), text)


def wanted(flows):
    """What to look for in logs, by all rules: phrases in lines that are ours, and texts in those that have no id."""
    phrases = [{"service": "nova-compute", "says": TOOK}]
    windows = [{"service": "nova-api", "text": text} for text in RIVALS] + [{"service": "nova-compute", "text": BUILT}]
    for flow in flows:
        for rule in (rule for step in flow.get("base", flow)["steps"] for rule in rules_of(step)):
            if rule["source"] == "log" and rule.get("says"):
                phrases.append({"service": rule["service"], "says": rule["says"]})
            if rule["source"] == "log" and rule.get("window"):
                windows.append({"service": rule["service"], "text": rule["window"]})
            if rule["source"] == "log" and rule.get("kind") == "rpc":
                windows += [{"service": rule["service"], "text": text} for text in MESSAGES]
    return {"phrases": unique(phrases), "windows": unique(windows)}


def unique(pairs):
    return [dict(pair) for pair in sorted({tuple(sorted(one.items())) for one in pairs})]


def agrees(expression, one):
    """What an expression finds in an event: nothing, where it asks for what the event has not."""
    try:
        return expression.search(one)
    except JMESPathTypeError:
        return None


def search(text, one):
    """What an expression of a flow says of something."""
    return jmespath.search(text, one)


def compiled(text, names):
    """A rule's expression with the run's own names in it; a KeyError where the run has no such name."""
    return jmespath.compile(filled(text, names))
