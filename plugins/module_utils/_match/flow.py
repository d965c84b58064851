# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Flows describe a provisioning as data. This module loads and checks them, and collects what they look for."""

from __future__ import annotations

import functools
import os
import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

try:
    import jmespath
    import yaml
    from jmespath.exceptions import JMESPathError, JMESPathTypeError
    from jmespath.functions import Functions

    HAS_LIBRARIES = True
except ImportError:
    HAS_LIBRARIES = False

from .._collect.logs.phrases import Pattern
from .._record.errors import MALFORMED, StageError
from . import flow_limits, flow_types
from .flow_types import PARTS
from .rivals import BUILT, RIVALS, TOOK

SCHEMA = "stackproof.flow/1"
# The service that takes a message off the queue logs one of these, with no id but the message's own.
MESSAGES = ("received message ", "received reply msg_id", "Receive incoming message with id")
TOKEN_CACHE = 300
# Stands for any name of a run when a flow is checked: like many ids it is understood between quotation marks only.
SAMPLE = "0a-b"
# Two clocks that are in step may still differ by so many seconds.
LEAD = 1
# Keys of a step that refer to the steps of the flow that is extended
OF_ANOTHER = {"after", "before", "leads_to", "covers"}
# These keys say how a flow is told and used; a flow that extends it does not inherit them.
TELLING = {"judged": False, "told_as": None, "told_when": None, "parts": []}
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
        check_head(path, flow)
        if flow.get("extends"):
            flow = extended(load(os.path.join(os.path.dirname(path), flow["extends"]), (*above, path)), flow)
        check(path, flow)
    except MALFORMED as exc:
        raise FlowError(path, f"a part of it has an unknown form: {type(exc).__name__}: {exc}") from exc
    return flow


def extended(base, more):
    """A flow on top of the one that it extends: its steps lie between the other's, or stand for several of them."""
    base = {name: value for name, value in base.items() if name not in TELLING}
    if more.get("phases"):
        more = {**more, "phases": {**(base.get("phases") or {}), **more["phases"]}}
    steps = more.get("steps") or []
    lifelines = list(dict.fromkeys([*base["lifelines"], *(more.get("lifelines") or [])]))
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


def check_head(path: str, flow: Any) -> None:
    """Refuse what is no flow, and values of a wrong type: all other code may rely on their types."""
    if not isinstance(flow, dict) or flow.get("schema") != SCHEMA:
        raise FlowError(path, f"it does not begin with schema: {SCHEMA}")
    problem = flow_types.problem(flow)
    if problem:
        raise FlowError(path, problem)


def check(path, flow):
    lacking = {"name", "title", "lifelines", "steps"} - set(flow)
    if lacking:
        raise FlowError(path, f"it lacks {', '.join(sorted(lacking))}")
    if len(flow["steps"]) > flow_limits.MOST_STEPS:
        raise FlowError(path, f"it has {len(flow['steps'])} steps, and {flow_limits.MOST_STEPS} are the most")
    check_expression(path, "counted", flow.get("counted", "@"))
    for rule in flow.get("others") or ():
        if {"where", "because"} - set(rule):
            raise FlowError(path, "a rule of others needs where and because")
        check_expression(path, "others", rule["where"], of_rule=True)
    ids = {str(step["id"]) for step in flow["steps"] if "id" in step}
    seen = set()
    for number, step in enumerate(flow["steps"], 1):
        where = f"step {step.get('id', number)}"
        check_step(path, where, step, flow, ids)
        if str(step["id"]) in seen:
            raise FlowError(path, f"{where} is there twice")
        seen.add(str(step["id"]))
        for rule in rules_of(step):
            check_rule(path, where, rule, ids)
    check_order(path, flow["steps"])
    check_telling(path, flow, ids)


def check_telling(path, flow, ids):
    """How the flow is told: its phases and parts, and whether runs are judged by it."""
    if flow.get("told_when"):
        check_expression(path, "told_when", flow["told_when"])
    for name, meaning in (flow.get("phases") or {}).items():
        if set(meaning) - {"stage", "repeats"}:
            raise FlowError(path, f"the phase {name} has keys other than stage and repeats")
    for part in flow.get("parts") or ():
        if {"name", "says", "from"} - set(part) or ("to" in part) == ("to_first" in part):
            raise FlowError(path, "a part needs name, says, from, and either to or to_first")
        named = [step for end in ("from", "to", "to_first") for step in part.get(end) or ()]
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
    ends = {name: [str(step) for step in part[name] or ()] for name in ("from", "to", "to_first") if name in part}
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
    check_keys(path, where, step)
    check_ends(path, where, step, flow["lifelines"])
    check_covers(path, where, step, flow, ids)
    check_neighbours(path, where, step, ids)
    check_references(path, where, step, flow)
    check_expression(path, where, step.get("when", "@"))


def check_keys(path, where, step):
    if {"id", "source", "target", "message", "kind"} - set(step):
        raise FlowError(path, f"{where} needs id, source, target, message and kind")
    unknown = unknown_keys(step, flow_types.STEP)
    if unknown:
        raise FlowError(path, f"{where} has {', '.join(unknown)}, which is not known")


def check_ends(path, where, step, lifelines):
    for end in ("source", "target", "owed_by"):
        if end in step and step[end] not in lifelines:
            raise FlowError(path, f"{where}: {step[end]} is not a lifeline")


def check_covers(path, where, step, flow, ids):
    if "base" in flow and not step.get("covers"):
        raise FlowError(path, f"{where} needs covers, as other steps of the flow have it")
    coverable = {str(other["id"]) for other in flow["base"]["steps"]} if "base" in flow else ids
    unknown = set(map(str, step.get("covers") or ())) - coverable
    if unknown:
        raise FlowError(path, f"{where} covers {', '.join(sorted(unknown))}, which are not steps")


def check_neighbours(path, where, step, ids):
    """Refuse a step that is placed by others which the flow does not have."""
    for name in ("follows", "leads_to"):
        unknown = set(map(str, step.get(name) or ())) - ids
        if unknown:
            raise FlowError(path, f"{where} {name.replace('_', ' ')} {', '.join(sorted(unknown))}, which are not steps")
    for name in ("after", "before"):
        if name in step and str(step[name]) not in ids:
            raise FlowError(path, f"{where} comes {name} {step[name]}, which is not a step")


def check_references(path, where, step, flow):
    """Refuse keys that refer to the steps of another flow if there is none."""
    refers = sorted(set(step) & OF_ANOTHER)
    if refers and not flow.get("extends"):
        raise FlowError(path, f"{where} has {', '.join(refers)}, but the flow does not extend another")


def unknown_keys(values: dict[Any, Any], kinds: dict[str, flow_types.Kind]) -> list[str]:
    # YAML takes any scalar for a key.
    return sorted(str(key) for key in values if key not in kinds)


def check_expression(path: str, where: str, text: str, of_rule: bool = False) -> None:
    """Refuse an expression that JMESPath does not understand, whatever it is asked about.

    of_rule: whether the names of a run are put into it.
    """
    try:
        flow_limits.check_expression(text)
        expression = jmespath.compile(filled(text, defaultdict(lambda: SAMPLE)) if of_rule else text)
        check_functions(expression.parsed)
        expression.search({})
    except JMESPathTypeError:
        pass  # an event may have the field that is missing here
    # Deeply nested parentheses exhaust the stack.
    except (JMESPathError, TypeError, ValueError, ArithmeticError, RecursionError) as exc:
        raise FlowError(path, f"{where} has an expression that is not understood: {exc}") from exc


def check_functions(node: dict[str, Any]) -> None:
    """Refuse calls that JMESPath would refuse only on those data for which it comes to evaluate them."""
    nodes = [node]
    while nodes:
        node = nodes.pop()
        nodes += [child for child in node.get("children", ()) if isinstance(child, dict)]
        if node["type"] == "function_expression":
            check_call(node["value"], len(node["children"]))


def check_call(name: str, given: int) -> None:
    if name not in Functions.FUNCTION_TABLE:
        raise ValueError(f"there is no function {name}()")
    signature = Functions.FUNCTION_TABLE[name]["signature"]
    takes_more = bool(signature) and signature[-1].get("variadic", False)
    if given < len(signature) or (given > len(signature) and not takes_more):
        raise ValueError(f"{name}() takes {len(signature)} arguments{' or more' * takes_more}, not {given}")


def check_rule(path, where, rule, ids):
    unknown = unknown_keys(rule, flow_types.RULE)
    if unknown:
        raise FlowError(path, f"{where} has a rule with {', '.join(unknown)}, which is not known")
    if "source" not in rule or "service" not in rule:
        raise FlowError(path, f"{where} has a rule without source and service")
    named = [str(step) for step in rule.get("within", ()) if step is not None]
    missing = [step for step in named if step not in ids]
    if missing:
        raise FlowError(path, f"{where} has a rule within {', '.join(missing)}, which are not steps")
    check_expression(path, where, rule.get("where", "@"), of_rule=True)
    try:
        Pattern(rule.get("says", ""))
    except StageError as exc:
        raise FlowError(path, f"{where} has a rule that is not understood: {exc}") from exc


def rules_of(step):
    return [rule for part in PARTS for rule in step.get(part) or []]


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
    """Return the result of a compiled expression on an event; None where it cannot be told of this event."""
    try:
        return expression.search(event)
    # JMESPath leaves some errors to Python: contains('text', `1`) is a TypeError, ceil() of infinity an OverflowError.
    except (JMESPathError, TypeError, ValueError, ArithmeticError, RecursionError):
        return None


def search(text, data):
    """The result of an expression of a flow on some data; None where they lack what it asks for."""
    return agrees(jmespath.compile(text), data)


def compiled(text: str, names: Mapping[str, str]) -> Any:
    """Return a rule's expression with the run's names in it. Raise KeyError where the run has no such name.

    So too where the expression has no way to write the name.
    """
    # A name stands between quotation marks, and may be anybody's text.
    safe = {name: str(value).replace("\\", "\\\\").replace("'", "\\'") for name, value in names.items()}
    try:
        return jmespath.compile(filled(text, safe))
    except JMESPathError as exc:
        raise KeyError(text) from exc
