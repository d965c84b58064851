# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judges the requests that failed in logs, whatever they asked for, and puts together those that have one cause."""

from __future__ import annotations

from .._components.tables import api_stage_of, project_of, service_type_of, writer_of
from .._judge import culprit
from .._match.logged_errors import errors_of
from .._record import shapes
from .._record.clock import iso_of
from .._record.errors import StageError
from .._record.run import new_record
from .._report.messages.verdict import of_record
from .._report.messages.words import at_place
from . import requests

ATTACHMENT = "os-volume_attachments"
# So many requests of each cause are kept.
MOST_REQUESTS = 20


def causes_of(found, hosts, events, quotes=True):
    """The causes of requests that failed, the one behind most of them first; each with its verdict and its requests.

    hosts: what log_info returns by host, read for all the requests at once. events: all that is in it.
    """
    causes = {}
    for request in found:
        if not (requests.has_failed(request) or requests.is_refused(request)):
            continue
        record = record_of(request, events, hosts)
        if not quotes:
            culprit.keep_only(None, record["errors"])
        (stage,) = record["stages"]
        judged = with_line(of_record(record), record["errors"])
        about = (judged["component"], judged["host"]) if judged["component"] else requests.is_like(request)
        causes.setdefault(about, {"verdict": judged, "stage": stage, "requests": []})["requests"].append(request)
    return sorted(causes.values(), key=lambda cause: rank(cause["requests"]))


def with_line(judged, errors):
    """Return the verdict; one without a component with the first line that the request left, which may say more."""
    first = next((error for error in errors if error["keyed"] and error["quote"]), None)
    if judged["component"] or not first:
        return judged
    component, host = writer_of(first["service"]), first["host"]
    reason = f"{judged['reason']} {at_place(component, host, first['quote'])}"
    quoted = {"component": component, "host": host, "at": first["at"]}
    return {**judged, "reason": reason, "quote": first["quote"], "quoted": quoted}


def rank(of_cause):
    """What users have asked for goes before what a service does by itself, and failures before refusals."""
    weights = [weight(request) for request in of_cause]
    best = max(weights)
    return [not part for part in best], -weights.count(best), of_cause[0]["at"]


def weight(request):
    return request["asked"], requests.has_failed(request), not requests.is_removal(request)


def is_failure(cause, asked_for):
    """Whether a user has asked in vain. What a service does by itself, it tries again.

    asked_for: whether somebody wants to know of just these requests. Else a refusal is none: users ask for too much.
    """
    asked = [request for request in cause["requests"] if request["asked"]]
    return any(asked_for or requests.has_failed(request) for request in asked)


def as_record(cause):
    """A cause as run.json has it."""
    judged = {name: cause["verdict"][name] for name in ("stage", "component", "host", "confidence", "headline", "next")}
    shown = [{**about(request), "at": iso_of(request["at"])} for request in cause["requests"][:MOST_REQUESTS]]
    return {**judged, "reason": cause["verdict"]["reason"], "count": len(cause["requests"]), "requests": shown}


def about(request):
    return {name: request[name] for name in ("id", "service", "host", "method", "path", "status")}


def nothing_failed(found, by_time):
    """The verdict on requests of which none failed."""
    if by_time:
        return shapes.verdict("pass", None, "By the logs, no request of a user failed in that time.")
    told = [request for request in found if request["status"]]
    if not told:
        names = ", ".join(request["id"] for request in found[:MOST_REQUESTS])
        return shapes.verdict("incomplete", None, f"The logs do not tell what became of {names}.")
    count = f"Of the {len(found)} requests none failed" if len(found) > 1 else "The request did not fail"
    return shapes.verdict("pass", None, f"{count}, by the logs: {in_words(told[-1])}.")


def record_of(request, events, hosts):
    """A record in which the request is the only stage. It is judged, and filed nowhere."""
    began, until = iso_of(request["at"]), iso_of(request["until"])
    return {
        **new_record("request", "logs"),
        "started": began,
        "finished": until,
        "hosts": [shapes.host(name, facts={"addresses": read["addresses"]}) for name, read in sorted(hosts.items())],
        "logs": [],
        "errors": errors_of(events_of(request, events)),
        "diagnosis": {"boot": None, "host": None},
        "stages": [stage_of(request, began, until)],
    }


def events_of(request, events):
    """The events of a request, and errors near it that name no request."""
    ids, near = set(request["ids"]), (request["at"] - requests.NEAR, request["until"] + requests.NEAR)
    return [
        event
        for event in events
        if ids.intersection(event.keys.get("request", ()))
        or (not event.keys and event.kind == "error" and near[0] <= event.at <= near[1])
    ]


def stage_of(request, began, until):
    kind = "service" if requests.has_failed(request) else "invalid"
    error = StageError(kind, in_words(request), request_id=request["id"]).record
    return shapes.stage(
        name_of(request),
        "failed",
        started=began,
        finished=until,
        duration_s=round(request["until"] - request["at"], 6),
        calls=[call_of(answer) for answer in request["answers"] if answer["method"]],
        error={**error, "hint": ""},
    )


def call_of(answer):
    """An answer as a stage has those to its own requests."""
    return {
        "service": service_type_of(project_of(writer_of(answer["service"]))),
        **{name: answer[name] for name in ("method", "path", "status", "seconds")},
        "started": iso_of(answer["at"] - answer["seconds"]),
        "request_id": answer["id"],
    }


def name_of(request):
    """The stage of a run that asks for such a thing."""
    if ATTACHMENT in (request["path"] or ""):
        return "volume"
    return api_stage_of(project_of(writer_of(request["service"])))


def in_words(request):
    """What was asked for, and what became of it."""
    asked = f"{request['method']} {request['path']}" if request["path"] else f"a request to {request['service']}"
    answered = f"was answered {request['status']}" if request["status"] else "was not answered"
    if request["status"] and request["status"] < 400 and requests.has_failed(request):
        answered += ", and failed afterwards"
    return f"{asked} ({request['id']}) {answered}"
