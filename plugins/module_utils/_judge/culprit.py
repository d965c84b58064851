# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds who broke a run that failed: the likeliest cause of all its symptoms, and the step that was owed.

A cause is named if it is likely enough. Otherwise the likeliest are listed, and none is named.
"""

from __future__ import annotations

from .._components.tables import carriers_of, depends_on, stands_for
from .._record.masking import CUT
from .._record.run import failed_stage
from . import dict_order as order
from . import leaning, model, symptoms
from .advice import next_of
from .wording import FRESH, HEADLINES, MOST, about, headline, is_of, owed, telling, why
from .world import RESTART

# A cause of less probability than this is not named.
NAMED = 0.6
# So many other suspects are listed beside the one that is named, and so many if none is.
OTHERS = 4
SUSPECTS = 25
# Errors of these kinds are about what the run itself asked for.
OWN_ERRORS = (
    "config", "catalog", "files", "tls", "unauthorized", "forbidden", "not_found", "ambiguous", "quota", "invalid",
    "conflict", "internal", "interrupted",
)  # fmt: skip


def finding(record):
    """The part of a verdict that is about the cause of a failure; None if the run itself asked for something wrong."""
    stage = failed_stage(record["stages"])
    if stage is None or stage["error"]["kind"] in OWN_ERRORS:
        return None
    steps = order.judged_steps(record, stage["stage"])
    followed = any(order.is_of(step, stage["stage"]) for step in steps)
    paths = order.paths(steps, stage["stage"]) if followed else []
    found = symptoms.of_record(record, stage, paths)
    causes = model.causes(record, found)
    cause = named(causes)
    told = cause or restart_in(causes)
    pause = order.pause(stage, steps)
    step = step_of(cause or (causes[0] if causes else None), paths)
    last = order.last_seen(steps)
    quote = quoted_of(cause)
    suspects = [other for other in causes if other["kind"] != RESTART]
    others = suspects[1 : 1 + OTHERS] if cause else suspects[:SUSPECTS]
    return {
        "step": step and step["id"],
        "component": cause and cause["component"],
        "host": cause and cause["host"],
        "confidence": cause and cause["confidence"],
        "headline": headline(told, step, pause),
        "owed": owed(step, pause) if step else None,
        "quote": quote and quote["quote"],
        "quoted": quote and {name: quote[name] for name in ("component", "host", "at")},
        "way": way_of(cause),
        "last_seen": last and {name: last[name] for name in ("id", "message", "at", "host")},
        "evidence": why(cause) if cause else [],
        "explains": [about(symptom) for symptom in telling(cause) if not is_of(symptom, cause)] if cause else [],
        "unexplained": unexplained(cause, found) if cause else [],
        "leaning": leaning.edges(cause) if cause else [],
        "next": next_of(told, suspects, record, pause),
        "alternatives": [alternative(other) for other in others],
    }


def named(causes):
    """The cause that is likely enough to be named. Two that are the ends of one way are so together."""
    if not causes:
        return None
    first = causes[0]
    if first["kind"] == RESTART:
        return None
    if first["confidence"] >= NAMED:
        return first
    for other in causes[1 : 1 + OTHERS]:
        confidence = first["confidence"] + other["confidence"]
        between = [symptom for symptom in first["symptoms"] if is_between(symptom, first, other)]
        if between and confidence >= NAMED:
            return {**first, "confidence": round(confidence, 3), "between": between[0]}
    return None


def restart_in(causes):
    """The restart before the run that explains it all, for which nobody is to blame."""
    first = causes[0] if causes else None
    return first if first and first["kind"] == RESTART and first["confidence"] >= NAMED else None


def is_between(symptom, first, other):
    """Whether a symptom is about the way between two causes."""
    ends = {(symptom["component"], symptom["host"]), (symptom["peer"], symptom["peer_host"])}
    return symptom["peer"] is not None and all(
        any(cause["component"] == name and host in (None, cause["host"]) for name, host in ends)
        for cause in (first, other)
    )


def step_of(cause, paths):
    """The first step that is lacking with which a cause has to do: it owes it, is to take it, or carries it."""
    steps = [step for path in paths for step in path]
    if not (cause and steps):
        return steps[0] if steps else None
    name = cause["component"]
    for has_to_do in (
        lambda step: name in stands_for(step.get("owed_by") or step["source"]),
        lambda step: name in stands_for(step["target"]) or name in carriers_of(step["kind"]),
        lambda step: name in depends_on(step.get("owed_by") or step["source"]),
    ):
        near = [step for step in steps if has_to_do(step)]
        if near:
            return near[0]
    return steps[0]


def unexplained(cause, found):
    """All else that is wrong, which the cause does not explain. An old change of settings is nothing wrong."""
    explained = {name for symptom in cause["symptoms"] for name in (about(symptom), line_of(symptom))}
    way = way_of(cause) or {"from": {"host": None}, "to": {"component": None}}
    rest = [
        symptom
        for symptom in found
        if symptom["kind"] in HEADLINES
        and symptom["component"]
        and not explained & {about(symptom), line_of(symptom)}
        and not (symptom["kind"] == "change" and symptom["share"] < FRESH)
        and (symptom["host"], symptom["peer"]) != (way["from"]["host"], way["to"]["component"])
    ]
    return list(dict.fromkeys(about(symptom) for symptom in rest))[:MOST]


def line_of(symptom):
    """The line of a log that a symptom is of, which may name several peers; or the sentence of any other symptom."""
    return (symptom["component"], symptom["host"], symptom["at"], symptom["quote"]) if symptom["at"] else about(symptom)


def quoted_of(cause):
    """The symptom with the line of a log that proves the cause best: a whole one, which says how something failed."""
    quoted = [symptom for symptom in (cause["symptoms"] if cause else ()) if symptom["quote"]]
    best = sorted(quoted, key=lambda symptom: (CUT in symptom["quote"], symptom["how"] is None))
    return best[0] if best else None


def keep_only(quote, errors):
    """Drop all quotes but one: no other line of a log is kept."""
    for error in errors:
        error["quote"] = error["quote"] if quote is not None and error["quote"] == quote else None


def way_of(cause):
    """The way that is cut, if the cause is one end of it: from, to and how."""
    for symptom in sorted(telling(cause), key=lambda symptom: not is_of(symptom, cause)) if cause else ():
        is_cut = symptom["kind"] == "reach" and symptom["only_from_here"] and symptom["component"]
        if is_cut or symptom is cause.get("between"):
            return {
                "from": {"component": symptom["component"], "host": symptom["host"]},
                "to": {"component": symptom["peer"], "host": symptom["peer_host"]},
                "how": symptom["how"],
            }
    return None


def alternative(cause):
    about = {name: cause[name] for name in ("component", "host", "confidence")}
    return {**about, "weight": max(cause["score"], 0), "why": why(cause)}
