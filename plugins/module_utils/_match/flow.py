# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Load flows, which describe a provisioning as data, and check them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

try:
    import yaml

    HAS_YAML = True
except ImportError:
    HAS_YAML = False

from .._collect.logs.phrases import Pattern
from .._model.flow import Part
from .._model.flow_definition import (
    Explanation,
    Flow,
    Phase,
    Rule,
    StepDefinition,
)
from .._model.words import Level, Since, StageName, View
from .._record.errors import MALFORMED, StageError
from . import expressions, flow_limits, flow_types, kept_data
from .flow_types import PARTS

HAS_LIBRARIES = HAS_YAML and expressions.HAS_JMESPATH
SCHEMA = "stackproof.flow/2"
# Keys of a step that refer to the steps of the flow that is extended
OF_ANOTHER = {"after", "before", "leads_to", "covers"}
# These keys say how a flow is shown and used; a flow that extends it does not inherit them.
NOT_INHERITED = {"judged", "shown_as", "shown_when", "parts"}
# More flows than this may not extend each other.
MOST_ABOVE = 5

# A flow, or a part of one, as its file has it
Json = dict[str, Any]
T = TypeVar("T")


class FlowError(StageError):
    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            "config",
            f"the flow {path}: {why}",
            hint="docs/flows.md describes the format.",
        )


def fastest_loader() -> Any:
    """Return a loader of plain values. The one in C, where it is installed, is seven times as fast."""
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load(path: str) -> Flow:
    """Read and check a flow; an error names its place."""
    return load_flow(os.path.realpath(path))


# Playbooks, roles and modules write the path of one file in different ways.
@functools.cache
def load_flow(path: str) -> Flow:
    data = data_of(path, ())
    try:
        return flow_of(data)
    except MALFORMED as exc:
        raise FlowError(
            path,
            f"a part of it has an unknown form: {type(exc).__name__}: {exc}",
        ) from exc


@functools.cache
def data_of(path: str, above: tuple[str, ...]) -> Json:
    """Return the checked data of a flow, on top of the one that it extends. They share parts: never change them."""
    if path in above:
        raise FlowError(path, "it extends itself")
    flow = parsed(path)
    if isinstance(flow, dict) and "base" in flow:
        raise FlowError(path, "it has base, which is not known")
    if len(above) > MOST_ABOVE:
        raise FlowError(
            path, f"it is the {len(above)}th of flows that extend each other"
        )
    try:
        check_head(path, flow)
        if flow.get("extends"):
            base = os.path.realpath(
                os.path.join(os.path.dirname(path), flow["extends"])
            )
            flow = extended(data_of(base, (*above, path)), flow)
        check(path, flow)
    except MALFORMED as exc:
        raise FlowError(
            path,
            f"a part of it has an unknown form: {type(exc).__name__}: {exc}",
        ) from exc
    checked: Json = flow
    return checked


def parsed(path: str) -> Any:
    try:
        return kept_data.parsed(flow_limits.read(path), values_of)
    # PyYAML raises ValueError for an invalid date, and flow_limits for a file beyond its limits.
    except (OSError, yaml.YAMLError, ValueError) as exc:
        raise FlowError(path, " ".join(str(exc).split())) from exc


def values_of(text: str) -> Any:
    flow_limits.check_shape(text, fastest_loader())
    return yaml.load(text, fastest_loader())


def extended(base: Json, more: Json) -> Json:
    """Return a flow on top of the one that it extends: its steps lie between the other's, or each sums up several."""
    base = {
        name: value
        for name, value in base.items()
        if name not in NOT_INHERITED
    }
    steps = more.get("steps") or []
    merged = {
        **base,
        **more,
        "lifelines": list(
            dict.fromkeys([*base["lifelines"], *(more.get("lifelines") or [])])
        ),
    }
    if more.get("phases"):
        merged["phases"] = {**(base.get("phases") or {}), **more["phases"]}
    if any("covers" in step for step in steps):
        return {**merged, "base": base, "steps": steps}
    return {**merged, "steps": inserted(base["steps"], steps)}


def inserted(steps: list[Json], more: list[Json]) -> list[Json]:
    """Return the steps of a flow with more of them, each after or before the one that it names, or at the end."""
    merged = list(map(dict, steps))
    for step in more:
        ids = [str(other.get("id")) for other in merged]
        near = str(step.get("after", step.get("before")))
        place = (
            ids.index(near) + ("after" in step) if near in ids else len(merged)
        )
        merged.insert(place, dict(step))
    for step in more:
        followers = set(ids_in(step, "leads_to"))
        for other in merged:
            if str(other.get("id")) in followers:
                other["follows"] = [
                    *(other.get("follows") or ()),
                    step.get("id"),
                ]
    return merged


def check_head(path: str, flow: Any) -> None:
    """Refuse what is no flow, and values of a wrong type: all other code may rely on their types."""
    if not isinstance(flow, dict) or flow.get("schema") != SCHEMA:
        raise FlowError(path, f"it does not begin with schema: {SCHEMA}")
    problem = flow_types.problem(flow)
    if problem:
        raise FlowError(path, problem)


def check(path: str, flow: Json) -> None:
    lacking = {"name", "title", "lifelines", "steps"} - set(flow)
    if lacking:
        raise FlowError(path, f"it lacks {', '.join(sorted(lacking))}")
    if len(flow["steps"]) > flow_limits.MOST_STEPS:
        raise FlowError(
            path,
            f"it has {len(flow['steps'])} steps, and {flow_limits.MOST_STEPS} are the most",
        )
    check_expression(path, "counted", flow.get("counted", "@"))
    check_others(path, flow.get("others") or ())
    ids = {str(step["id"]) for step in flow["steps"] if "id" in step}
    check_steps(path, flow, ids)
    check_order(path, flow["steps"])
    if flow.get("shown_when"):
        check_expression(path, "shown_when", flow["shown_when"])
    check_phases(path, flow.get("phases") or {})
    for part in flow.get("parts") or ():
        check_part(path, part, ids)


def check_others(path: str, rules: Iterable[Json]) -> None:
    for rule in rules:
        if {"where", "reason"} - set(rule):
            raise FlowError(path, "a rule of others needs where and reason")
        check_expression(path, "others", rule["where"], of_rule=True)


def check_steps(path: str, flow: Json, ids: set[str]) -> None:
    seen: set[str] = set()
    for number, step in enumerate(flow["steps"], 1):
        where = f"step {step.get('id', number)}"
        check_step(path, where, step, flow, ids)
        if str(step["id"]) in seen:
            raise FlowError(path, f"{where} is there twice")
        seen.add(str(step["id"]))
        for rule in rules_in(step):
            check_rule(path, where, rule, ids)


def check_phases(path: str, phases: dict[str, Json]) -> None:
    for name, meaning in phases.items():
        unknown = unknown_keys(meaning, flow_types.PHASE)
        if unknown:
            raise FlowError(
                path,
                f"the phase {name} has {', '.join(unknown)}, which is not known",
            )
        if meaning.get("when"):
            check_expression(path, f"the phase {name}", meaning["when"])


def check_part(path: str, part: Json, ids: set[str]) -> None:
    if {"name", "text", "starts"} - set(part) or ("ends" in part) == (
        "ends_first" in part
    ):
        raise FlowError(
            path,
            "a part needs name, text, starts, and either ends or ends_first",
        )
    named = (
        ids_in(part, "starts")
        + ids_in(part, "ends")
        + ids_in(part, "ends_first")
    )
    check_names(path, f"the part {part['name']} names", named, ids)


def check_names(
    path: str, where: str, names: Iterable[str], ids: set[str]
) -> None:
    unknown = set(names) - ids
    if unknown:
        raise FlowError(
            path, f"{where} {', '.join(sorted(unknown))}, which are not steps"
        )


def check_order(path: str, steps: list[Json]) -> None:
    """Refuse steps that follow each other in a circle: none of them would ever be owed."""
    waiting = {str(step["id"]): set(ids_in(step, "follows")) for step in steps}
    while waiting:
        ready = [
            name
            for name, before in waiting.items()
            if not before & waiting.keys()
        ]
        if not ready:
            raise FlowError(
                path,
                f"the steps {', '.join(waiting)} follow each other in a circle",
            )
        for name in ready:
            del waiting[name]


def check_step(
    path: str, where: str, step: Json, flow: Json, ids: set[str]
) -> None:
    check_keys(path, where, step)
    check_ends(path, where, step, flow["lifelines"])
    check_covers(path, where, step, flow, ids)
    check_neighbours(path, where, step, ids)
    check_references(path, where, step, flow)
    check_expression(path, where, step.get("when", "@"))


def check_keys(path: str, where: str, step: Json) -> None:
    if {"id", "source", "target", "message", "kind"} - set(step):
        raise FlowError(
            path, f"{where} needs id, source, target, message and kind"
        )
    unknown = unknown_keys(step, flow_types.STEP)
    if unknown:
        raise FlowError(
            path, f"{where} has {', '.join(unknown)}, which is not known"
        )


def check_ends(
    path: str, where: str, step: Json, lifelines: list[str]
) -> None:
    for end in ("source", "target", "responsible"):
        if end in step and step[end] not in lifelines:
            raise FlowError(path, f"{where}: {step[end]} is not a lifeline")


def check_covers(
    path: str, where: str, step: Json, flow: Json, ids: set[str]
) -> None:
    if "base" in flow and not step.get("covers"):
        raise FlowError(
            path, f"{where} needs covers, as other steps of the flow have it"
        )
    coverable = (
        {str(other["id"]) for other in flow["base"]["steps"]}
        if "base" in flow
        else ids
    )
    check_names(path, f"{where} covers", ids_in(step, "covers"), coverable)


def check_neighbours(path: str, where: str, step: Json, ids: set[str]) -> None:
    """Refuse a step that is placed by others which the flow does not have."""
    for name in ("follows", "leads_to"):
        check_names(
            path, f"{where} {name.replace('_', ' ')}", ids_in(step, name), ids
        )
    for name in ("after", "before"):
        if name in step and str(step[name]) not in ids:
            raise FlowError(
                path, f"{where} comes {name} {step[name]}, which is not a step"
            )


def check_references(path: str, where: str, step: Json, flow: Json) -> None:
    """Refuse keys that refer to the steps of another flow if there is none."""
    refers = sorted(set(step) & OF_ANOTHER)
    if refers and not flow.get("extends"):
        raise FlowError(
            path,
            f"{where} has {', '.join(refers)}, but the flow does not extend another",
        )


def unknown_keys(
    values: dict[Any, Any], kinds: dict[str, flow_types.Kind]
) -> list[str]:
    # YAML takes any scalar for a key.
    return sorted(map(str, set(values).difference(kinds)))


def check_expression(
    path: str, where: str, text: str, of_rule: bool = False
) -> None:
    try:
        expressions.check(text, of_rule)
    except expressions.ExpressionError as exc:
        raise FlowError(
            path, f"{where} has an expression that is not understood: {exc}"
        ) from exc


def check_rule(path: str, where: str, rule: Json, ids: set[str]) -> None:
    unknown = unknown_keys(rule, flow_types.RULE)
    if unknown:
        raise FlowError(
            path,
            f"{where} has a rule with {', '.join(unknown)}, which is not known",
        )
    if "source" not in rule or "service" not in rule:
        raise FlowError(path, f"{where} has a rule without source and service")
    named = [str(step) for step in rule.get("within", ()) if step is not None]
    missing = [step for step in named if step not in ids]
    if missing:
        raise FlowError(
            path,
            f"{where} has a rule within {', '.join(missing)}, which are not steps",
        )
    check_expression(path, where, rule.get("where", "@"), of_rule=True)
    try:
        Pattern(rule.get("says", ""))
    except StageError as exc:
        raise FlowError(
            path, f"{where} has a rule that is not understood: {exc}"
        ) from exc


def rules_in(step: Json) -> Iterator[Json]:
    for part in PARTS:
        yield from step.get(part) or ()


# From plain data that were checked to a flow


def flow_of(data: Json) -> Flow:
    """Return a flow from its checked data. A value that is null is as good as none."""
    given = {name: value for name, value in data.items() if value is not None}
    phases = {
        name: phase_of(phase)
        for name, phase in given.get("phases", {}).items()
    }
    return Flow(
        name=given["name"],
        title=given["title"],
        lifelines=tuple(given["lifelines"]),
        steps=tuple(
            under(phases.get(step.get("phase")), step_of(step))
            for step in given["steps"]
        ),
        stage=made(StageName, given.get("stage")),
        judged=given.get("judged", False),
        shown_as=made(View, given.get("shown_as")),
        shown_when=given.get("shown_when"),
        counted=given.get("counted"),
        exclusive=given.get("exclusive", False),
        phases=phases,
        parts=tuple(part_of(part) for part in given.get("parts", ())),
        actions=tuple(given.get("actions", ())),
        others=tuple(
            Explanation(rule["where"], rule["reason"])
            for rule in given.get("others", ())
        ),
        base=made(flow_of, given.get("base")),
        extends=given.get("extends"),
    )


def made(kind: Callable[[Any], T], value: Any) -> T | None:
    """Return a value as what it stands for; None without one."""
    return None if value is None else kind(value)


def phase_of(data: Json) -> Phase:
    return Phase(
        made(StageName, data.get("stage")),
        bool(data.get("repeats")),
        data.get("when"),
        data.get("unless"),
        data.get("instead"),
    )


def under(phase: Phase | None, step: StepDefinition) -> StepDefinition:
    """Return a step with the condition of its phase, if it has none of its own."""
    if phase is None or phase.when is None or step.when is not None:
        return step
    return replace(
        step, when=phase.when, unless=phase.unless, instead=phase.instead
    )


def part_of(data: Json) -> Part:
    return Part(
        data["name"],
        data["text"],
        ids_in(data, "starts"),
        ids_in(data, "ends"),
        ids_in(data, "ends_first"),
    )


def ids_in(data: Json, name: str) -> tuple[str, ...]:
    return tuple(map(str, data.get(name) or ()))


def step_of(data: Json) -> StepDefinition:
    names = ("phase", "today", "when", "unless", "instead", "otherwise")
    texts: Json = {
        name: data[name] for name in names if data.get(name) is not None
    }
    return StepDefinition(
        id=str(data["id"]),
        source=data["source"],
        target=data["target"],
        message=data["message"],
        kind=data["kind"],
        responsible=data.get("responsible") or data["source"],
        numbers=data.get("numbers") or {},
        became=made(Since, data.get("became")),
        follows=ids_in(data, "follows"),
        covers=ids_in(data, "covers"),
        state=ids_in(data, "state"),
        observe=tuple(map(rule_of, data.get("observe") or ())),
        cached=tuple(map(rule_of, data.get("cached") or ())),
        absent=tuple(map(rule_of, data.get("absent") or ())),
        **texts,
    )


def rule_of(data: Json) -> Rule:
    given = dict(data)
    within, level = given.pop("within", None), given.pop("level", None)
    return Rule(
        **given, within=made(ends_of, within), level=made(Level, level)
    )


def ends_of(within: list[Any]) -> tuple[str | None, str | None]:
    first, last = within
    return made(str, first), made(str, last)
