# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run's record as OpenTelemetry spans, in the JSON that every OTLP receiver takes by HTTP.

Here a span is OpenTelemetry's: a piece of work with a begin, an end and a parent.
"""

from __future__ import annotations

import hashlib
import re

from .._record.clock import seconds_of
from .._record.run import with_removal
from .text import clean

SCOPE = {"name": "stackproof.provision"}
OK, ERROR = 1, 2
SERVER, CLIENT, INTERNAL = 2, 3, 1
NAMESPACE = "openstack"
# What differs between two requests of one kind: ids, and the names of what a run makes
OWN = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|stackproof-[\w.-]+")


def spans(record):
    """One trace: the run, its stages, their requests, and the steps under the service and the host that took each.

    The names of attributes are those of OpenTelemetry's semantic conventions; what these do not know begins with
    stackproof.
    """
    run = record["run_id"]
    own = [run_span(record)]
    for stage in with_removal(record):
        own += stage_spans(run, stage)
    common = {"stackproof.run": run, "stackproof.cloud": record["cloud"]}
    resources = [resource({"service.name": "stackproof", **common}, own)]
    stages = {stage["stage"] for stage in with_removal(record) if stage["started"]}
    by_place = {}
    for flow in judged(record["flows"]):
        for step in flow["steps"]:
            if step["at"]:
                place = step["target"], step["host"]
                by_place.setdefault(place, []).append(step_span(run, flow["name"], step, stages))
    for (service, host), taken in by_place.items():
        about = {"service.name": service, "service.namespace": NAMESPACE, "host.name": host}
        resources.append(resource({**about, **common}, taken))
    return {"resourceSpans": resources}


def judged(flows):
    """The flows by which the stages are judged; the first of a record of 0.1.0, which does not say it."""
    return [flow for flow in flows if flow["judged"]] or flows[:1]


def resource(about, of_resource):
    return {
        "resource": {"attributes": attributes(about)},
        "scopeSpans": [{"scope": SCOPE, "spans": of_resource}],
    }


def run_span(record):
    verdict = record["verdict"]
    wrong = None if verdict["result"] == "pass" else verdict["reason"]
    about = {"stackproof.result": verdict["result"], "stackproof.reason": verdict["reason"]}
    return span(record["run_id"], "run", None, "run", record["started"], record["finished"], about, wrong)


def stage_spans(run, stage):
    if not stage["started"]:
        return []
    error = stage["error"] or {}
    wrong = (error.get("message") or "it failed") if stage["status"] == "failed" else None
    about = {
        "stackproof.status": stage["status"],
        "stackproof.reason": error.get("message"),
        "error.type": error.get("kind"),
    }
    name = f"stage {stage['stage']}"
    of_stage = span(run, name, "run", name, stage["started"], stage["finished"], about, wrong)
    return [of_stage, *(call_span(run, name, number, call) for number, call in enumerate(stage["calls"]))]


def call_span(run, parent, number, call):
    path, _mark, query = call["path"].partition("?")
    address, _colon, port = (call.get("host") or "").rpartition(":")
    status = call["status"]
    failed = "no answer" if status is None else str(status) if status >= 400 else None
    template = OWN.sub("{id}", path)
    about = {
        "http.request.method": call["method"],
        "http.response.status_code": status,
        "url.path": path,
        "url.query": query or None,
        "url.template": template,
        "server.address": address.strip("[]") or None,
        "server.port": int(port) if address and port.isdigit() else None,
        "service.peer.name": call["service"],
        "error.type": failed,
        "stackproof.request_id": call.get("request_id"),
    }
    of_call = span(
        run, f"{parent} {number}", parent, f"{call['method']} {template}", call["started"], None, about, failed
    )
    end = str(int(of_call["startTimeUnixNano"]) + round(call["seconds"] * 1e9))
    return {**of_call, "endTimeUnixNano": end, "kind": CLIENT}


def step_span(run, flow, step, stages):
    first = step["evidence"][0] if step["evidence"] else {}
    about = {
        "stackproof.flow": flow,
        "stackproof.step": step["id"],
        "stackproof.status": step["status"],
        "stackproof.from": step["source"],
        "stackproof.to": step["target"],
        "stackproof.kind": step["kind"],
        "stackproof.evidence": first.get("text"),
        "stackproof.grade": first.get("grade"),
        "stackproof.resolution_s": step["resolution_s"],
    }
    name = f"{step['id']} {step['message']}"
    parent = f"stage {step['stage']}" if step["stage"] in stages else "run"
    wrong = (step["reason"] or "it is missing") if step["status"] == "missing" else None
    of_step = span(run, f"step {flow} {step['id']}", parent, name, step["at"], step["until"], about, wrong)
    return {**of_step, "kind": SERVER}


def span(run, key, parent, name, started, finished, about, wrong):
    """A span; wrong says why it failed. Without an end, as for a message that was seen to be sent, it ends at once."""
    return {
        "traceId": digest(run, 32),
        "spanId": digest(f"{run} {key}", 16),
        **({"parentSpanId": digest(f"{run} {parent}", 16)} if parent else {}),
        "name": clean(name),
        "kind": INTERNAL,
        "startTimeUnixNano": nanoseconds(started),
        "endTimeUnixNano": nanoseconds(finished or started),
        "attributes": attributes(about),
        "status": {"code": ERROR, "message": clean(wrong)} if wrong else {"code": OK},
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
