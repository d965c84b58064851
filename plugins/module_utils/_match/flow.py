# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Flows describe a provisioning as data. This module loads and checks them, and collects what they look for."""

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
from .._record.errors import MALFORMED, StageError
from .._record.levels import LEVELS
from . import flow_limits
from .rivals import BUILT, RIVALS, TOOK

SCHEMA = "stackproof.flow/1"
TIERS = (0, 1, 2, 3)
# The service that takes a message off the queue logs one of these, with no id but the message's own.
MESSAGES = ("received message ", "received reply msg_id", "Receive incoming message with id")
TOKEN_CACHE = 300
# Two clocks that are in step may still differ by so many seconds.
LEAD = 1
STEP_KEYS = {"id", "phase", "source", "target", "message", "kind", "numbers", "became", "today", "when", "unless"}
STEP_KEYS |= {"follows", "owed_by", "observe", "cached", "absent", "otherwise", "instead"}
# Keys of a step that refer to the steps of the flow that is extended
OF_ANOTHER = {"after", "before", "leads_to", "covers"}
# The places on the page: each step of the boot, the boot in few steps, or the steps of another stage
PLACES = ("guide", "story", "stage")
# These keys say how a flow is told and used; a flow that extends it does not inherit them.
TELLING = {"judged": False, "told_as": None, "told_when": None, "parts": []}
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


# So many flows may extend each other.
MOST_ABOVE = 5


class FlowError(StageError):
    def __init__(self, path, why):
        super().__init__("config", f"the flow {path}: {why}", hint="docs/flows.md describes the format.")


def fastest_loader():
    """Both loaders make plain values only; the one in C, where it is installed, is seven times as fast."""
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load(path, above=()):
    """Read and check a flow; an error names its place. Flows share parts: never change one that was loaded."""
    return load_file(os.path.realpath(path), above)


# Playbooks, roles and modules write the path of one file in different ways.
@functools.cache
def load_file(path, above):
    if path in above:
        raise FlowError(path, "it extends itself")
    try:
        text = flow_limits.read(path)
        flow_limits.check_shape(text, fastest_loader())
        flow = yaml.load(text, fastest_loader())
    # PyYAML raises ValueError for an invalid date, and flow_limits for a file beyond its limits.
    except (OSError, yaml.YAMLError, ValueError) as exc:
        raise FlowError(path, " ".join(str(exc).split())) from exc
    if isinstance(flow, dict) and "base" in flow:
        raise FlowError(path, "it has base, which is not known")
    if len(above) > MOST_ABOVE:
        raise FlowError(path, f"it is the {len(above)}th of flows that extend each other")
    try:
        if isinstance(flow, dict) and flow.get("schema") == SCHEMA and flow.get("extends"):
            flow = extended(load(os.path.join(os.path.dirname(path), str(flow["extends"])), (*above, path)), flow)
        check(path, flow)
    except MALFORMED as exc:
        raise FlowError(path, f"a part of it has an unknown form: {type(exc).__name__}: {exc}") from exc
    return flow


def extended(base, more):
    """A flow on top of the one that it extends: its steps lie between the other's, or stand for several of them."""
    base = {name: value for name, value in base.items() if name not in TELLING}
    if isinstance(more.get("phases"), dict):
        more = {**more, "phases": {**(base.get("phases") or {}), **more["phases"]}}
    steps, lifelines = more.get("steps") or [], more.get("lifelines") or []
    if not isinstance(lifelines, list):
        return {**base, **more}  # check() reports the error
    lifelines = list(dict.fromkeys([*base["lifelines"], *lifelines]))
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        return {**base, **more, "lifelines": lifelines}
    if any("covers" in step for step in steps):
        return {**base, **more, "lifelines": lifelines, "base": base, "steps": steps}
    merged = [dict(step) for step in base["steps"]]
    for step in steps:
        ids = [str(other.get("id")) for other in merged]
        near = str(step.get("after", step.get("before")))
        merged.insert(ids.index(near) + ("after" in step) if near in ids else len(merged), dict(step))
    for step in steps:
        for other in merged:
            if str(other.get("id")) in map(str, step.get("leads_to") or ()):
                other["follows"] = [*(other.get("follows") or ()), step.get("id")]
    return {**base, **more, "lifelines": lifelines, "steps": merged}


def check(path, flow):
    if not isinstance(flow, dict) or flow.get("schema") != SCHEMA:
        raise FlowError(path, f"it does not begin with schema: {SCHEMA}")
    lacking = {"name", "title", "lifelines", "steps"} - set(flow)
    if lacking:
        raise FlowError(path, f"it lacks {', '.join(sorted(lacking))}")
    for name in ("lifelines", "steps"):
        if not isinstance(flow[name], list):
            raise FlowError(path, f"{name} is not a list")
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
                raise FlowError(path, f"{where}: {part} is not a list of rules")
            for rule in rules:
                check_rule(path, where, rule, ids)
    check_order(path, flow["steps"])
    check_telling(path, flow, ids)


def check_telling(path, flow, ids):
    """How the flow is told: its phases and parts, and whether runs are judged by it."""
    if flow.get("told_as") not in (None, *PLACES):
        raise FlowError(path, f"it is told_as {flow['told_as']}, which is none of {', '.join(PLACES)}")
    if flow.get("told_when"):
        check_expression(path, "told_when", flow["told_when"])
    phases = flow.get("phases") or {}
    if not isinstance(phases, dict) or not all(isinstance(meaning, dict) for meaning in phases.values()):
        raise FlowError(path, "phases is not a dictionary of dictionaries")
    for name, meaning in phases.items():
        if set(meaning) - {"stage", "repeats"}:
            raise FlowError(path, f"the phase {name} has keys other than stage and repeats")
    for part in flow.get("parts") or ():
        if not isinstance(part, dict) or {"name", "says", "from"} - set(part) or ("to" in part) == ("to_first" in part):
            raise FlowError(path, "a part needs name, says, from, and either to or to_first")
        named = [*part["from"], *part.get("to", ()), *part.get("to_first", ())]
        unknown = {str(step) for step in named} - ids
        if unknown:
            raise FlowError(path, f"the part {part['name']} names {', '.join(sorted(unknown))}, which are not steps")


def telling(flow, facts=None):
    """How a flow is told, as a run's record has it: that which is told on a condition is so by the facts of a run."""
    keys = {name: flow.get(name) or default for name, default in TELLING.items()}
    condition = keys.pop("told_when")
    if condition and not search(condition, facts or {}):
        keys["told_as"] = None
    return {**keys, "parts": [part_of(part) for part in keys["parts"]]}


def part_of(part):
    ends = {name: [str(step) for step in part[name]] for name in ("from", "to", "to_first") if name in part}
    return {"name": part["name"], "says": part["says"], **ends}


def with_telling(recorded, flows):
    """The flows of a record. 0.1.0 did not record how they are told: that is taken from the flow of the same name."""
    tellings = {flow["name"]: telling(flow) for flow in flows}
    return [{**flow, **tellings.get(flow["name"], {})} for flow in recorded]


def check_order(path, steps):
    """Refuse steps that follow each other in a circle: none of them would ever be owed."""
    waiting = {str(step["id"]): set(map(str, step.get("follows") or ())) for step in steps}
    while waiting:
        ready = [name for name, before in waiting.items() if not before & waiting.keys()]
        if not ready:
            raise FlowError(path, f"the steps {', '.join(waiting)} follow each other in a circle")
        for name in ready:
            del waiting[name]


def check_step(path, where, step, flow, ids):
    if not isinstance(step, dict) or {"id", "source", "target", "message", "kind"} - set(step):
        raise FlowError(path, f"{where} needs id, source, target, message and kind")
    if set(step) - STEP_KEYS - OF_ANOTHER:
        unknown = sorted(set(step) - STEP_KEYS - OF_ANOTHER)
        raise FlowError(path, f"{where} has {', '.join(unknown)}, which is not known")
    for name in ("follows", "leads_to", "covers"):
        if not isinstance(step.get(name) or [], list):
            raise FlowError(path, f"{where}: {name} is not a list")
    for end in ("source", "target", "owed_by"):
        if end in step and step[end] not in flow["lifelines"]:
            raise FlowError(path, f"{where}: {step[end]} is not a lifeline")
    coverable = {str(other["id"]) for other in flow["base"]["steps"]} if "base" in flow else ids
    unknown = set(map(str, step.get("covers") or ())) - coverable
    if unknown:
        raise FlowError(path, f"{where} covers {', '.join(sorted(unknown))}, which are not steps")
    for name in ("follows", "leads_to"):
        unknown = set(map(str, step.get(name) or ())) - ids
        if unknown:
            raise FlowError(path, f"{where} {name.replace('_', ' ')} {', '.join(sorted(unknown))}, which are not steps")
    for name in ("after", "before"):
        if name in step and str(step[name]) not in ids:
            raise FlowError(path, f"{where} comes {name} {step[name]}, which is not a step")
    refers = sorted(set(step) & OF_ANOTHER)
    if refers and not flow.get("extends"):
        raise FlowError(path, f"{where} has {', '.join(refers)}, but the flow does not extend another")
    check_expression(path, where, step.get("when", "@"))


def check_expression(path, where, text):
    """Refuse an expression that JMESPath does not understand."""
    try:
        flow_limits.check_expression(text)
        jmespath.compile(filled(text, defaultdict(lambda: "x"))).search({})
    except JMESPathTypeError:
        pass  # an event may have the field that is missing here
    # Deeply nested parentheses exhaust the stack.
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
    unknown = [str(step) for step in within if step is not None and str(step) not in ids]
    if unknown:
        raise FlowError(path, f"{where} has a rule within {', '.join(unknown)}, which are not steps")
    check_expression(path, where, rule.get("where", "@"))
    try:
        Pattern(rule.get("says", ""))
    except (TypeError, StageError) as exc:
        raise FlowError(path, f"{where} has a rule that is not understood: {exc}") from exc


def rules_of(step):
    return [rule for part in ("observe", "cached", "absent") for rule in step.get(part) or []]


def filled(text, names):
    """Put the run's names into a text: {host} becomes the host of the instance, {server} its id, and so on."""
    return re.sub(r"\{(\w+)\}", lambda match: str(names[match[1]]), text)


def wanted(flows):
    """All that the rules look for in logs: phrases in lines with our ids, and texts in lines without an id."""
    phrases = [{"service": "nova-compute", "says": TOOK}]
    windows = [*({"service": "nova-api", "text": text} for text in RIVALS), {"service": "nova-compute", "text": BUILT}]
    for rule in log_rules(flows):
        if rule.get("says"):
            phrases.append({"service": rule["service"], "says": rule["says"]})
        if rule.get("window"):
            windows.append({"service": rule["service"], "text": rule["window"]})
        if rule.get("kind") == "rpc":
            windows += [{"service": rule["service"], "text": text} for text in MESSAGES]
    return {"phrases": unique(phrases), "windows": unique(windows)}


def looks_back(flows):
    """For how many seconds before a run the logs may show something of it."""
    early = any(rule.get("window") or rule.get("within", [""])[0] is None for rule in log_rules(flows))
    return TOKEN_CACHE if early else LEAD


def log_rules(flows):
    steps = [step for flow in flows for step in flow.get("base", flow)["steps"]]
    return [rule for step in steps for rule in rules_of(step) if rule["source"] == "log"]


def unique(pairs):
    return [dict(items) for items in sorted({tuple(sorted(pair.items())) for pair in pairs})]


def agrees(expression, event):
    """The result of a compiled expression on an event; None where the event lacks what it asks for."""
    try:
        return expression.search(event)
    except JMESPathTypeError:
        return None


def search(text, data):
    """The result of an expression of a flow on some data; None where they lack what it asks for."""
    return agrees(jmespath.compile(text), data)


def compiled(text, names):
    """A rule's expression with the run's names in it. Raises KeyError where the run has no such name."""
    # A name stands between quotation marks, and may be anybody's text.
    safe = {name: str(text).replace("\\", "\\\\").replace("'", "\\'") for name, text in names.items()}
    return jmespath.compile(filled(text, safe))
