# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run's record as OpenTelemetry spans, in the JSON that every OTLP receiver takes by HTTP.

Here a span is OpenTelemetry's: a piece of work with a begin, an end and a parent.
"""

from __future__ import annotations

import hashlib

from .._record.clock import seconds_of
from .text import clean

SCOPE = {"name": "stackproof.provision"}
OK, ERROR = 1, 2
SERVER, CLIENT, INTERNAL = 2, 3, 1


def spans(record):
    """One trace: the run, its stages, their requests, and the first flow's steps under the services that took them."""
    run = record["run_id"]
    services = {"stackproof": [run_span(record)]}
    for stage in record["stages"]:
        services["stackproof"] += stage_spans(run, stage)
    for flow in record["flows"][:1]:
        for step in flow["steps"]:
            if step["at"]:
                services.setdefault(step["target"], []).append(step_span(run, step))
    common = {"stackproof.run": run, "stackproof.cloud": record["cloud"]}
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": attributes({"service.name": service, **common})},
                "scopeSpans": [{"scope": SCOPE, "spans": of_service}],
            }
            for service, of_service in services.items()
        ]
    }


def run_span(record):
    verdict = record["verdict"]
    about = {"stackproof.result": verdict["result"], "stackproof.reason": verdict["reason"]}
    good = verdict["result"] == "pass"
    return span(record["run_id"], "run", None, "run", record["started"], record["finished"], about, good)


def stage_spans(run, stage):
    if not stage["started"]:
        return []
    good, error = stage["status"] != "failed", stage["error"] or {}
    about = {"stackproof.status": stage["status"], "stackproof.reason": error.get("message")}
    name = f"stage {stage['stage']}"
    of_stage = span(run, name, "run", name, stage["started"], stage["finished"], about, good)
    return [of_stage, *(call_span(run, name, number, call) for number, call in enumerate(stage["calls"]))]


def call_span(run, parent, number, call):
    about = {
        "http.request.method": call["method"],
        "url.path": call["path"],
        "peer.service": call["service"],
        "http.response.status_code": call["status"],
    }
    name = f"{call['method']} {call['path']}"
    of_call = span(run, f"{parent} {number}", parent, name, call["started"], None, about, True)
    end = str(int(of_call["startTimeUnixNano"]) + round(call["seconds"] * 1e9))
    return {**of_call, "endTimeUnixNano": end, "kind": CLIENT}


def step_span(run, step):
    first = step["evidence"][0] if step["evidence"] else {}
    about = {
        "stackproof.step": step["id"],
        "stackproof.status": step["status"],
        "stackproof.from": step["source"],
        "stackproof.to": step["target"],
        "stackproof.kind": step["kind"],
        "stackproof.evidence": first.get("text"),
        "stackproof.grade": first.get("grade"),
        "stackproof.resolution_s": step["resolution_s"],
        "host.name": step["host"],
    }
    name = f"{step['id']} {step['message']}"
    good = step["status"] != "missing"
    of_step = span(run, f"step {step['id']}", "run", name, step["at"], step["until"], about, good)
    return {**of_step, "kind": SERVER}


def span(run, key, parent, name, started, finished, about, good):
    """A span. Without an end, as for a message that was seen to be sent, it ends when it begins."""
    return {
        "traceId": digest(run, 32),
        "spanId": digest(f"{run} {key}", 16),
        **({"parentSpanId": digest(f"{run} {parent}", 16)} if parent else {}),
        "name": clean(name),
        "kind": INTERNAL,
        "startTimeUnixNano": nanoseconds(started),
        "endTimeUnixNano": nanoseconds(finished or started),
        "attributes": attributes(about),
        "status": {"code": OK if good else ERROR},
    }


def digest(text, length):
    """An id that is the same each time the record is exported."""
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def nanoseconds(text):
    return str(round(seconds_of(text) * 1e6) * 1000)


def attributes(pairs):
    return [{"key": key, "value": value_of(value)} for key, value in pairs.items() if value is not None]


def value_of(value):
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": clean(value)}
