# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run's record as OpenTelemetry spans, in the JSON that every OTLP receiver takes by HTTP.

Here a span is OpenTelemetry's: a piece of work with a begin, an end and a parent.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .._match.order import judged_flows
from .._model.flow import Step
from .._model.record import Record
from .._model.stage import Call, Stage
from .._model.words import Result, StageStatus, StepStatus
from .._record.words import clean

SCOPE = {"name": "stackproof.provision"}
OK, ERROR = 1, 2
SERVER, CLIENT, INTERNAL = 2, 3, 1
NAMESPACE = "openstack"
RUN = "run"
FIRST_ERROR = 400
# What differs between two requests of one kind: ids, and the names of what a run creates
OWN = re.compile(
    r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|stackproof-[\w.-]+"
)

Attributes = Mapping[str, "str | float | None"]
# A message of OTLP as JSON
Message = dict[str, Any]


@dataclass(frozen=True)
class Span:
    """A piece of work. key: what its id is made of. error: why it failed.

    Without an end, as for a message that was seen to be sent, it ends when it begins.
    """

    key: str
    parent: str | None
    name: str
    started: float
    finished: float | None
    attributes: Attributes
    error: str | None
    kind: int = INTERNAL

    def message(self, run: str) -> Message:
        parent = (
            {}
            if self.parent is None
            else {"parentSpanId": digest(f"{run} {self.parent}", 16)}
        )
        end = self.started if self.finished is None else self.finished
        return {
            "traceId": digest(run, 32),
            "spanId": digest(f"{run} {self.key}", 16),
            **parent,
            "name": clean(self.name),
            "kind": self.kind,
            "startTimeUnixNano": nanoseconds(self.started),
            "endTimeUnixNano": nanoseconds(end),
            "attributes": pairs_of(self.attributes),
            "status": {"code": ERROR, "message": clean(self.error)}
            if self.error
            else {"code": OK},
        }


def spans(record: Record) -> Message:
    """Return one trace: the run, its stages, their requests, and the steps under the service and the host of each.

    The names of attributes are those of OpenTelemetry's semantic conventions; what these do not know begins with
    stackproof.
    """
    common = {
        "stackproof.run": record.run_id,
        "stackproof.cloud": record.cloud,
    }
    own = [run_span(record)]
    for stage in record.stages_and_removal:
        own += stage_spans(stage)
    resources = [
        resource({"service.name": "stackproof", **common}, own, record.run_id)
    ]
    for (service, host), taken in spans_by_place(record).items():
        about = {
            "service.name": service,
            "service.namespace": NAMESPACE,
            "host.name": host,
        }
        resources.append(resource({**about, **common}, taken, record.run_id))
    return {"resourceSpans": resources}


def spans_by_place(record: Record) -> dict[tuple[str, str | None], list[Span]]:
    """Return the steps that have a time, by the service and the host that took each."""
    stages = {
        stage.stage
        for stage in record.stages_and_removal
        if stage.started is not None
    }
    by_place = defaultdict(list)
    for flow, step in judged_steps(record):
        if step.at is not None:
            parent = f"stage {step.stage}" if step.stage in stages else RUN
            by_place[step.target, step.host].append(
                step_span(flow, step, step.at, parent)
            )
    return by_place


def judged_steps(record: Record) -> Iterator[tuple[str, Step]]:
    """Yield the steps by which the stages are judged, with the name of their flow."""
    for flow in judged_flows(record.flows):
        for step in flow.steps:
            yield flow.name, step


def resource(about: Attributes, of_resource: list[Span], run: str) -> Message:
    return {
        "resource": {"attributes": pairs_of(about)},
        "scopeSpans": [
            {
                "scope": SCOPE,
                "spans": [span.message(run) for span in of_resource],
            }
        ],
    }


def run_span(record: Record) -> Span:
    verdict = record.verdict
    error = None if verdict.result == Result.PASS else verdict.reason
    about = {
        "stackproof.result": verdict.result,
        "stackproof.reason": verdict.reason,
    }
    return Span(RUN, None, RUN, record.started, record.finished, about, error)


def stage_spans(stage: Stage) -> list[Span]:
    """Return a stage that was begun, and its requests."""
    if stage.started is None:
        return []
    about = {
        "stackproof.status": stage.status,
        "stackproof.reason": stage.error.message if stage.error else None,
        "error.type": stage.error_kind,
    }
    name = f"stage {stage.stage}"
    own = Span(
        name,
        RUN,
        name,
        stage.started,
        stage.finished,
        about,
        error_of_stage(stage),
    )
    return [
        own,
        *(
            call_span(name, number, call)
            for number, call in enumerate(stage.calls)
        ),
    ]


def error_of_stage(stage: Stage) -> str | None:
    if stage.status != StageStatus.FAILED:
        return None
    return stage.error_message or "it failed"


def call_span(parent: str, number: int, call: Call) -> Span:
    path, _mark, query = call.path.partition("?")
    address, _colon, port = (call.host or "").rpartition(":")
    template = OWN.sub("{id}", path)
    error = error_of_call(call)
    about = {
        "http.request.method": call.method,
        "http.response.status_code": call.status,
        "url.path": path,
        "url.query": query or None,
        "url.template": template,
        "server.address": address.strip("[]") or None,
        "server.port": int(port) if address and port.isdigit() else None,
        "service.peer.name": call.service,
        "error.type": error,
        "stackproof.request_id": call.request_id,
    }
    key, name = f"{parent} {number}", f"{call.method} {template}"
    return Span(
        key,
        parent,
        name,
        call.started,
        call.started + call.seconds,
        about,
        error,
        CLIENT,
    )


def error_of_call(call: Call) -> str | None:
    if call.status is None:
        return "no answer"
    if call.status >= FIRST_ERROR:
        return str(call.status)
    return None


def step_span(flow: str, step: Step, at: float, parent: str) -> Span:
    first = next(iter(step.evidence), None)
    about = {
        "stackproof.flow": flow,
        "stackproof.step": step.id,
        "stackproof.status": step.status,
        "stackproof.from": step.source,
        "stackproof.to": step.target,
        "stackproof.kind": step.kind,
        "stackproof.evidence": first.text if first else None,
        "stackproof.grade": first.grade if first else None,
        "stackproof.resolution_s": step.resolution_s,
    }
    error = (
        (step.reason or "it is missing")
        if step.status == StepStatus.MISSING
        else None
    )
    return Span(
        f"step {flow} {step.id}",
        parent,
        f"{step.id} {step.message}",
        at,
        step.until,
        about,
        error,
        SERVER,
    )


def digest(text: str, length: int) -> str:
    """Return an id that is the same each time the record is exported."""
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def nanoseconds(at: float) -> str:
    """Return a time as OTLP has it. Records have microseconds, and a float no more of these days."""
    return str(round(at * 1e6) * 1000)


def pairs_of(attributes: Attributes) -> list[Message]:
    known = [
        (key, value) for key, value in attributes.items() if value is not None
    ]
    return [{"key": key, "value": value_of(value)} for key, value in known]


def value_of(value: str | float) -> Message:
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": clean(value)}
