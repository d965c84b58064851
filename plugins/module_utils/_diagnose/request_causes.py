# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judges the requests that failed in logs, whatever they asked for, and puts together those that have one cause."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from typing import Any

from .._components.tables import (
    api_stage_of,
    project_of,
    service_type_of,
    writer_of,
)
from .._match.logged_errors import errors_of, with_usual
from .._model import codec
from .._model.baseline import Baseline
from .._model.bundle import Answer, LoggedRequest
from .._model.diagnosis import AffectedRequest, Diagnosis, RequestFailure
from .._model.event import Event
from .._model.host import Host, Unread
from .._model.record import LoggedError, Record
from .._model.stage import Call, Stage
from .._model.verdict import QuoteSource, Verdict
from .._model.words import Result, StageName, StageStatus
from .._record.errors import StageError
from .._record.run import new_record
from .._report.messages.words import at_place
from .failed_requests import NEAR, likeness
from .judging import failure, keep_quote

ATTACHMENT = "os-volume_attachments"
# This many requests of each cause are kept.
MOST_REQUESTS = 20

# Host to what log_info returns there
Hosts = Mapping[str, Any]
UNREAD: Any = tuple[Unread, ...]


@dataclass(frozen=True)
class RequestCause:
    """The cause for which requests failed: the verdict on the first of them, and its stage."""

    verdict: Verdict
    stage: Stage
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
        weights = list(map(weight, self.requests))
        best = max(weights)
        asked, failed, changes = best
        return (
            not asked,
            not failed,
            not changes,
            -weights.count(best),
            self.requests[0].at,
        )


def weight(request: LoggedRequest) -> tuple[bool, bool, bool]:
    return request.asked, request.has_failed, not request.is_removal


def causes_of(
    found: Iterable[LoggedRequest],
    hosts: Hosts,
    events: Sequence[Event],
    quotes: bool = True,
    baseline: Baseline | None = None,
) -> list[RequestCause]:
    """Return the causes of requests that failed, the one behind most of them first.

    hosts: what was read for all the requests together. events: all that is in it. baseline: as a bundle has it.
    """
    causes: dict[tuple[Any, ...], RequestCause] = {}
    for request in found:
        if not (request.has_failed or request.is_refused):
            continue
        record = record_of(request, events, hosts, baseline)
        judged = judge(record, quotes)
        identity = (
            (judged.component, judged.host)
            if judged.component
            else likeness(request)
        )
        cause = causes.setdefault(
            identity, RequestCause(judged, record.stages[0], [])
        )
        cause.requests.append(request)
    return sorted(causes.values(), key=lambda cause: cause.rank)


def judge(record: Record, quotes: bool) -> Verdict:
    """Return the verdict on the only stage of a record."""
    judged_by = record if quotes else keep_quote(record, None)
    return with_first_line(failure(judged_by), judged_by.known_errors)


def with_first_line(judged: Verdict, errors: Iterable[LoggedError]) -> Verdict:
    """Return the verdict; without a component it quotes the first line of the request, which may say what failed."""
    first = next(
        (error for error in errors if error.own and error.quote), None
    )
    if judged.component or first is None or first.quote is None:
        return judged
    component = writer_of(first.service)
    reason = f"{judged.reason} {at_place(component, first.host, first.quote)}"
    source = QuoteSource(component, first.host, codec.iso_of(first.at))
    return replace(
        judged, reason=reason, quote=first.quote, quote_source=source
    )


def failure_of(cause: RequestCause) -> RequestFailure:
    """Return a cause as a diagnosis has it."""
    judged = cause.verdict
    return RequestFailure(
        stage=cause.stage.stage,
        component=judged.component,
        host=judged.host,
        confidence=judged.confidence,
        headline=judged.headline,
        next=judged.next,
        reason=judged.reason,
        count=len(cause.requests),
        requests=tuple(
            affected(request) for request in cause.requests[:MOST_REQUESTS]
        ),
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


def record_of(
    request: LoggedRequest,
    events: Iterable[Event],
    hosts: Hosts,
    baseline: Baseline | None,
) -> Record:
    """Return a record in which the request is the only stage. It is judged, and filed nowhere."""
    return replace(
        new_record("request", "logs"),
        started=request.at,
        finished=request.until,
        hosts=hosts_of(hosts),
        logs=(),
        errors=with_usual(errors_of(events_of(request, events)), baseline),
        diagnosis=Diagnosis(created=request.at),
        stages=(stage_of(request),),
    )


def hosts_of(hosts: Hosts) -> tuple[Host, ...]:
    """Return hosts as a record has them, with the addresses by which others know them."""
    return tuple(starmap(host_of, sorted(hosts.items())))


def host_of(name: str, read: Mapping[str, Any]) -> Host:
    unread: tuple[Unread, ...] = codec.from_json(
        UNREAD, read["unread"], f"unread of {name}"
    )
    return Host(name, facts={"addresses": read["addresses"]}, unread=unread)


def events_of(request: LoggedRequest, events: Iterable[Event]) -> list[Event]:
    """Return the events of a request, and errors near it that name no request."""
    return [event for event in events if is_event_of(request, event)]


def is_event_of(request: LoggedRequest, event: Event) -> bool:
    if not event.keys:
        return (
            event.kind == "error"
            and request.at - NEAR <= event.at <= request.until + NEAR
        )
    return not set(request.ids).isdisjoint(event.keys.get("request", ()))


def stage_of(request: LoggedRequest) -> Stage:
    kind = "service" if request.has_failed else "invalid"
    error = StageError(kind, in_words(request), request_id=request.id).failure
    return Stage(
        StageName(stage_name_of(request.service, request.path)),
        StageStatus.FAILED,
        started=request.at,
        finished=request.until,
        duration_s=round(request.until - request.at, 6),
        calls=tuple(
            call_of(answer) for answer in request.answers if answer.method
        ),
        error=replace(error, hint=""),
    )


def call_of(answer: Answer) -> Call:
    """Return an answer as a stage has those to its own requests."""
    return Call(
        method=answer.method or "",
        service=service_type_of(project_of(writer_of(answer.service))),
        path=answer.path,
        status=answer.status,
        started=answer.at - answer.seconds,
        seconds=answer.seconds,
        request_id=answer.id,
    )


def stage_name_of(service: str, path: str | None) -> str:
    """Return the stage of a run that asks for such a thing."""
    if ATTACHMENT in (path or ""):
        return "volume"
    return api_stage_of(project_of(writer_of(service)))


def in_words(request: LoggedRequest) -> str:
    """Return what was asked for, and how it was answered."""
    asked = (
        f"{request.method} {request.path}"
        if request.path
        else f"a request to {request.service}"
    )
    answered = (
        f"was answered {request.status}"
        if request.status
        else "was not answered"
    )
    if request.status and request.status < 400 and request.has_failed:
        answered += " and failed afterwards"
    return f"{asked} ({request.id}) {answered}"


def nothing_failed(found: Sequence[LoggedRequest], by_time: bool) -> Verdict:
    """Return the verdict on requests of which none failed."""
    if by_time:
        return Verdict(
            Result.PASS,
            None,
            "The logs show no failed user request in that time.",
        )
    answered = [request for request in found if request.status]
    if not answered:
        names = ", ".join(request.id for request in found[:MOST_REQUESTS])
        return Verdict(
            Result.INCOMPLETE,
            None,
            f"The logs do not show the outcome of {names}.",
        )
    count = (
        f"none of the {len(found)} requests failed"
        if len(found) > 1
        else "the request did not fail"
    )
    return Verdict(
        Result.PASS,
        None,
        f"The logs show that {count}: {in_words(answered[-1])}.",
    )
