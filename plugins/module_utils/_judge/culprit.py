# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds who broke a run that failed: the likeliest cause of all its symptoms, and the step that was owed.

A cause is named if it is likely enough. Otherwise the likeliest are listed, and none is named.
"""

from __future__ import annotations

from .._match import order
from .._match.components import CARRIERS, LEANS_ON, STANDS_FOR
from .._record.run import failed_stage
from .._report.finding import place_of
from . import model, symptoms

# A cause of less probability than this is not named.
NAMED = 0.6
# So many other suspects are listed beside the one that is named, and so many if none is.
OTHERS = 4
SUSPECTS = 25
# So many reasons are listed.
MOST = 10
LONGEST_HEADLINE = 100
# What says most about a cause in a line stands first.
HEADLINES = ("state", "words", "ground", "reach", "failed at", "error", "unheard", "answer", "change")
TELLING = (*HEADLINES, "owed")
# A change of settings is told beside what it did, if it counts at least this part of one of this moment.
FRESH = 0.25
# Helps against slowness
PATIENCE = (
    "give the stage more time (-e stackproof_boot_timeout=, -e stackproof_metadata_timeout=), and look at the load"
)
# Errors of these kinds are about what the run itself asked for.
OWN_ERRORS = (
    "config", "catalog", "files", "tls", "unauthorized", "forbidden", "not_found", "ambiguous", "quota", "invalid",
    "conflict", "internal", "interrupted",
)  # fmt: skip


def finding(record):
    """What the verdict says of who broke a run that failed, or None if the run itself asked for something wrong."""
    stage = failed_stage(record["stages"])
    if stage is None or stage["error"]["kind"] in OWN_ERRORS:
        return None
    steps = order.judged_steps(record)
    followed = any(order.is_of(step, stage["stage"]) for step in steps)
    paths = order.paths(steps, stage["stage"]) if followed else []
    found = symptoms.of_record(record, stage, paths)
    causes = model.causes(record, found)
    cause = named(causes)
    pause = order.pause(stage, steps)
    step = step_of(cause or (causes[0] if causes else None), paths)
    last = order.last_seen(steps)
    others = causes[1 : 1 + OTHERS] if cause else causes[:SUSPECTS]
    return {
        "step": step and step["id"],
        "component": cause and cause["component"],
        "host": cause and cause["host"],
        "confidence": cause and cause["confidence"],
        "headline": headline(cause, step, pause),
        "owed": owed(step, pause) if step else None,
        "quote": quote_of(cause),
        "way": way_of(cause),
        "last_seen": last and {name: last[name] for name in ("id", "message", "at", "host")},
        "evidence": why(cause) if cause else [],
        "explains": [about(symptom) for symptom in telling(cause) if not is_of(symptom, cause)] if cause else [],
        "unexplained": unexplained(cause, found) if cause else [],
        "next": next_of(cause, record, pause),
        "alternatives": [alternative(other) for other in others],
    }


def named(causes):
    """The cause that is likely enough to be named. Two that are the ends of one way are so together."""
    if not causes:
        return None
    first = causes[0]
    if first["confidence"] >= NAMED:
        return first
    for other in causes[1 : 1 + OTHERS]:
        confidence = first["confidence"] + other["confidence"]
        between = [symptom for symptom in first["symptoms"] if is_between(symptom, first, other)]
        if between and confidence >= NAMED:
            return {**first, "confidence": round(confidence, 3), "between": between[0]}
    return None


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
        lambda step: name in names_of(step.get("owed_by") or step["source"]),
        lambda step: name in names_of(step["target"]) or name in CARRIERS.get(step["kind"], ()),
        lambda step: name in LEANS_ON.get(step.get("owed_by") or step["source"], ()),
    ):
        near = [step for step in steps if has_to_do(step)]
        if near:
            return near[0]
    return steps[0]


def names_of(name):
    """The components that a name in a flow stands for."""
    return STANDS_FOR.get(name, [name])


def telling(cause):
    """The symptoms that say something of a cause, the weightiest first, each sentence once."""
    chosen = {}
    for symptom in cause["symptoms"]:
        if symptom["kind"] in TELLING and symptom["component"] != "client" and symptom["how"] != "part":
            chosen.setdefault(about(symptom), symptom)
    return list(chosen.values())


def about(symptom):
    """A symptom as a sentence without its end: who, where, and what."""
    return (
        f"{place_of(symptom['component'], symptom['host'])} {symptom['text']}"
        if symptom["component"]
        else symptom["text"]
    )


def is_of(symptom, cause):
    return symptom["component"] == cause["component"] and symptom["host"] in (None, cause["host"])


def why(cause):
    """What speaks for a cause: what it shows itself, and what others say of it."""
    return list(dict.fromkeys(f"it {s['text']}" if is_of(s, cause) else about(s) for s in telling(cause)))[:MOST]


def unexplained(cause, found):
    """What else is wrong, which the cause does not explain. An old change of settings is nothing wrong."""
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


def quote_of(cause):
    """The line of a log that proves the cause best: a whole one, which says how something failed."""
    quoted = [symptom for symptom in (cause["symptoms"] if cause else ()) if symptom["quote"]]
    best = sorted(quoted, key=lambda symptom: (symptom["quote"].endswith("..."), symptom["how"] is None))
    return best[0]["quote"] if best else None


def keep_only(quote, errors):
    """Drop all quotes but one: no other line of a log is kept."""
    for error in errors:
        error["quote"] = error["quote"] if quote is not None and error["quote"] == quote else None


def way_of(cause):
    """The way that is cut, if the cause is one end of it: from, to and how."""
    for symptom in telling(cause) if cause else ():
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


def headline(cause, step, pause):
    """Who, where and what, in at most 100 characters."""
    if cause:
        text = f"{place_of(cause['component'], cause['host'])} {main_reason(cause)}"
    elif step is None:
        return None
    elif pause is not None:
        text = f"nobody is named: step {step['id']} is late, and may only be slow"
    else:
        text = f"nobody is named: step {step['id']} is lacking, and nothing that could be read says why"
    return text if len(text) <= LONGEST_HEADLINE else f"{text[: LONGEST_HEADLINE - 3].rstrip()}..."


# What a component does to another one that failed at it, and what that one meets
DOES = {
    "refused": ("refuses connections of", "is refused connections by"),
    "silent": ("does not answer", "gets no answer from"),
    "denied": ("denies access to", "is denied access by"),
    "error": ("answers with errors to", "gets errors from"),
    "full": ("has no room for", "finds no room at"),
    "read-only": ("lets nothing be written by", "may not write to"),
    "broken off": ("breaks off connections with", "loses its connections with"),
    "missing": ("has not what is asked for by", "does not find what it needs at"),
    "unreachable": ("cannot be reached by", "cannot reach"),
    "malformed": ("does not understand", "is not understood by"),
    None: ("is at fault for", "failed at"),
}


def main_reason(cause):
    """What is wrong with a cause in a few words: what it shows itself, or else what others met at it."""
    shown = [symptom for symptom in telling(cause) if symptom["kind"] in HEADLINES]
    shown.sort(key=lambda s: (s["kind"] == "change", not is_of(s, cause), HEADLINES.index(s["kind"])))
    for symptom in shown:
        does, meets = DOES.get(symptom["how"], DOES[None])
        if is_of(symptom, cause):
            text = f"{meets} {symptom['peer']}" if symptom["kind"] == "failed at" else symptom["text"]
            return text + changed(shown, symptom)
        if symptom["peer"] == cause["component"]:
            return f"{does} {place_of(symptom['component'], symptom['host'])}" + changed(shown, symptom)
    first = (telling(cause) or cause["symptoms"])[0]
    if is_of(first, cause) or first["component"] is None:
        return first["text"]
    return f"is needed by {place_of(first['component'], first['host'])}, which {first['text']}"


def changed(shown, main):
    """That its settings are new, if it is not said already."""
    new = [symptom for symptom in shown if symptom["kind"] == "change" and symptom["share"] >= FRESH]
    return "; its settings were changed" if new and main["kind"] not in ("change", "state") else ""


def owed(step, pause):
    """The step that was owed, as a sentence."""
    lacks = "did not happen" if step["status"] == "missing" else "was not seen to happen"
    late = "" if pause is None else f", {pause:.1f} s after another one: it may be slow"
    return f"step {step['id']} ({step['message']}) {lacks}{late}"


def next_of(culprit, record, pause):
    """The next thing to do: look at the culprit, have patience, or give more access."""
    if culprit:
        return command_for(culprit, record)
    return access(record) if pause is None else PATIENCE


def command_for(culprit, record):
    """The command that shows more, and where to run it."""
    for symptom in telling(culprit):
        if symptom["kind"] == "reach" and symptom["only_from_here"] and is_of(symptom, culprit):
            return f"on {symptom['host']}: nc -v -z -w 3 {symptom['address']} {symptom['port']}"
    units = [
        (host["host"], service["unit"])
        for host in record["hosts"]
        for service in host["facts"].get("services") or []
        if service["component"] == culprit["component"] and culprit["host"] in (None, host["host"])
    ]
    if units:
        host, unit = units[0]
        return f"on {host}: systemctl status {unit}; journalctl --unit {unit} --since -15min"
    return {
        "ceph-mon": "ceph status; ceph health detail",
        "ceph-osd": "ceph osd tree; ceph health detail",
        "data network": "ping between the hosts' addresses of the tunnels; ovs-vsctl show",
        "vm-instance": "openstack console log show, of an instance that is kept: -e stackproof_keep=on_failure",
    }.get(culprit["component"])


def access(record):
    """The access that would tell more."""
    if not record["hosts"]:
        return "give an inventory of the cloud's hosts (-i), so that their services and logs can be read"
    unread = sorted(host["host"] for host in record["hosts"] if host["status"] != "read")
    if unread:
        return f"make {', '.join(unread)} readable"
    return more_logs(record["flows"]) if record["flows"] else None


def more_logs(flows):
    """What the services would have to log besides, by the levels of the evidence that they gave."""
    levels = {item["level"] for flow in flows for step in flow["steps"] for item in step["evidence"]}
    if "messaging" in levels:
        return None
    if "debug" in levels:
        return "let the services log oslo.messaging at DEBUG, or record the queue (stackproof_firehose)"
    return "let the services log with debug = true, and oslo.messaging at DEBUG"
