# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judges the requests that failed in logs, whatever they asked for, and puts together those that have one cause."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._components.tables import api_stage_of, project_of, service_type_of, writer_of
from .._match.logged_errors import errors_of
from .._model.bundle import Answer, LoggedRequest
from .._model.codec import iso_of, to_json
from .._model.diagnosis import AffectedRequest, Diagnosis, RequestFailure
from .._model.event import Event
from .._model.words import StageName
from .._record import shapes
from .._record.errors import StageError
from .._record.run import new_record
from .._report.messages.words import at_place
from .failed_requests import NEAR, likeness
from .judging import failure, keep_quote

ATTACHMENT = "os-volume_attachments"
# This many requests of each cause are kept.
MOST_REQUESTS = 20

Json = dict[str, Any]
# Host to what log_info returns there
Hosts = Mapping[str, Any]


@dataclass(frozen=True)
class RequestCause:
    """The cause for which requests failed: the verdict on the first of them, and its stage."""

    verdict: Json
    stage: Json
    requests: list[LoggedRequest]

    def is_failure(self, asked_for: bool) -> bool:
        """Return whether a user got a failure. What a service does by itself, it tries again.

        asked_for: whether somebody wants to know of just these requests. Else a refusal is none: users ask for too
        much.
        """
        asked = [request for request in self.requests if request.asked]
        return any(asked_for or request.has_failed for request in asked)

    @property
    def rank(self) -> tuple[bool, bool, bool, int, float]:
        """Return its place: the requests of users before those of services, failures before refusals."""
        weights = [weight(request) for request in self.requests]
        best = max(weights)
        asked, failed, changes = best
        return not asked, not failed, not changes, -weights.count(best), self.requests[0].at


def weight(request: LoggedRequest) -> tuple[bool, bool, bool]:
    return request.asked, request.has_failed, not request.is_removal


def causes_of(
    found: Iterable[LoggedRequest], hosts: Hosts, events: Sequence[Event], quotes: bool = True
) -> list[RequestCause]:
    """Return the causes of requests that failed, the one behind most of them first.

    hosts: what was read for all the requests together. events: all that is in it.
    """
    causes: dict[tuple[Any, ...], RequestCause] = {}
    for request in found:
        if not (request.has_failed or request.is_refused):
            continue
        record = record_of(request, events, hosts)
        judged = judge(record, quotes)
        identity = (judged["component"], judged["host"]) if judged["component"] else likeness(request)
        cause = causes.setdefault(identity, RequestCause(judged, record["stages"][0], []))
        cause.requests.append(request)
    return sorted(causes.values(), key=lambda cause: cause.rank)


def judge(record: Json, quotes: bool) -> Json:
    """Return the verdict on the only stage of a record."""
    if not quotes:
        keep_quote(record, None)
    return with_first_line(failure(record), record["errors"])


def with_first_line(judged: Json, errors: Iterable[Json]) -> Json:
    """Return the verdict; without a component it quotes the first line of the request, which may say what failed."""
    first = next((error for error in errors if error["own"] and error["quote"]), None)
    if judged["component"] or not first:
        return judged
    component, host = writer_of(first["service"]), first["host"]
    reason = f"{judged['reason']} {at_place(component, host, first['quote'])}"
    quoted = {"component": component, "host": host, "at": first["at"]}
    return {**judged, "reason": reason, "quote": first["quote"], "quote_source": quoted}


def failure_of(cause: RequestCause) -> RequestFailure:
    """Return a cause as a diagnosis has it."""
    judged = cause.verdict
    return RequestFailure(
        stage=StageName(judged["stage"]),
        component=judged["component"],
        host=judged["host"],
        confidence=judged["confidence"],
        headline=judged["headline"],
        next=judged["next"],
        reason=judged["reason"],
        count=len(cause.requests),
        requests=tuple(affected(request) for request in cause.requests[:MOST_REQUESTS]),
    )


def affected(request: LoggedRequest) -> AffectedRequest:
    return AffectedRequest(
        id=request.id,
        at=request.at,
        service=request.service,
        host=request.host,
        method=request.method,
        path=request.path,
        status=request.status,
    )


def record_of(request: LoggedRequest, events: Iterable[Event], hosts: Hosts) -> Json:
    """Return a record in which the request is the only stage. It is judged, and filed nowhere."""
    began, until = iso_of(request.at), iso_of(request.until)
    return {
        **new_record("request", "logs"),
        "started": began,
        "finished": until,
        "hosts": [host_of(name, read) for name, read in sorted(hosts.items())],
        "logs": [],
        "errors": errors_of(events_of(request, events)),
        "diagnosis": to_json(Diagnosis(created=request.at)),
        "stages": [stage_of(request)],
    }


def host_of(name: str, read: Json) -> shapes.Host:
    """Return a host as a record has it, with the addresses by which others know it."""
    return shapes.host(name, facts={"addresses": read["addresses"]}, unread=read["unread"])


def events_of(request: LoggedRequest, events: Iterable[Event]) -> list[Event]:
    """Return the events of a request, and errors near it that name no request."""
    return [event for event in events if is_event_of(request, event)]


def is_event_of(request: LoggedRequest, event: Event) -> bool:
    if not event.keys:
        return event.kind == "error" and request.at - NEAR <= event.at <= request.until + NEAR
    return not set(request.ids).isdisjoint(event.keys.get("request", ()))


def stage_of(request: LoggedRequest) -> shapes.Stage:
    kind = "service" if request.has_failed else "invalid"
    error = StageError(kind, in_words(request), request_id=request.id).record
    return shapes.stage(
        stage_name_of(request.service, request.path),
        "failed",
        started=iso_of(request.at),
        finished=iso_of(request.until),
        duration_s=round(request.until - request.at, 6),
        calls=[call_of(answer) for answer in request.answers if answer.method],
        error={**error, "hint": ""},
    )


def call_of(answer: Answer) -> Json:
    """Return an answer as a stage has those to its own requests."""
    return {
        "service": service_type_of(project_of(writer_of(answer.service))),
        "method": answer.method,
        "path": answer.path,
        "status": answer.status,
        "seconds": answer.seconds,
        "started": iso_of(answer.at - answer.seconds),
        "request_id": answer.id,
    }


def stage_name_of(service: str, path: str | None) -> str:
    """Return the stage of a run that asks for such a thing."""
    if ATTACHMENT in (path or ""):
        return "volume"
    return api_stage_of(project_of(writer_of(service)))


def in_words(request: LoggedRequest) -> str:
    """Return what was asked for, and how it was answered."""
    asked = f"{request.method} {request.path}" if request.path else f"a request to {request.service}"
    answered = f"was answered {request.status}" if request.status else "was not answered"
    if request.status and request.status < 400 and request.has_failed:
        answered += " and failed afterwards"
    return f"{asked} ({request.id}) {answered}"


def nothing_failed(found: Sequence[LoggedRequest], by_time: bool) -> shapes.Verdict:
    """Return the verdict on requests of which none failed."""
    if by_time:
        return shapes.verdict("pass", None, "The logs show no failed user request in that time.")
    answered = [request for request in found if request.status]
    if not answered:
        names = ", ".join(request.id for request in found[:MOST_REQUESTS])
        return shapes.verdict("incomplete", None, f"The logs do not show the outcome of {names}.")
    count = f"none of the {len(found)} requests failed" if len(found) > 1 else "the request did not fail"
    return shapes.verdict("pass", None, f"The logs show that {count}: {in_words(answered[-1])}.")
