# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds in lines the requests that failed: what each asked for, who answered, and which others it has made. Pure.

A request fails if an API answers 5xx to it, or if a service logs an error for it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from .._model.bundle import LOOKING, Answer, LoggedRequest, Owner, is_rejection
from .line import Line

# Texts of lines that may be of a request that failed. Each access log writes the status in its own way.
ACCESS = (
    " status: ",
    'HTTP/1.1" ',
    'HTTP/1.0" ',
    "(HTTP/1.1 ",
    "returned with HTTP ",
)
FAILED = (" ERROR ", " CRITICAL ", *(f"{text}5" for text in ACCESS))
REFUSED = tuple(f"{text}4" for text in ACCESS)
# In seconds: errors without an id may be of a request if they are this near to it.
NEAR = 2.0
# What differs between the paths of two requests of one kind: ids and numbers
OWN_PARTS = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}|\d+")

# The lines of each request, by its id
LinesById = Mapping[str, Sequence[Line]]


def requests_in(lines: Iterable[Line]) -> list[LoggedRequest]:
    """Return the requests in lines, by the time at which they began; those that one has made itself are in it."""
    by_id: dict[str, list[Line]] = {}
    for line in lines:
        if line.own_request:
            by_id.setdefault(line.own_request, []).append(line)
    makers = makers_of(by_id)
    groups: dict[str, list[str]] = {}
    for name in by_id:
        groups.setdefault(root_of(name, makers), []).append(name)
    found = [
        request_of(root, sorted(names), by_id)
        for root, names in groups.items()
    ]
    return sorted(found, key=lambda request: (request.at, request.id))


def makers_of(by_id: LinesById) -> dict[str, str]:
    """Return for each request the one that has made it.

    It is known by the id that is handed on, or by an error that names the other's id.
    """
    makers: dict[str, str] = {}
    for name, lines in by_id.items():
        for line in lines:
            for maker in others_in(line.requests[:-1], name, by_id):
                makers[name] = maker
            if not line.failed:
                continue
            for made in others_in(line.names, name, by_id):
                makers.setdefault(made, name)
    return makers


def others_in(names: Iterable[str], own: str, by_id: LinesById) -> list[str]:
    return [name for name in names if name in by_id and name != own]


def root_of(name: str, makers: Mapping[str, str]) -> str:
    """Return the first request of a chain; two that name each other are no chain."""
    seen = [name]
    while makers.get(seen[-1]) not in (None, *seen):
        seen.append(makers[seen[-1]])
    return seen[-1]


def request_of(
    root: str, names: Sequence[str], by_id: LinesById
) -> LoggedRequest:
    """Return a request with all that was logged for it and for those that it has made."""
    all_lines = chain.from_iterable(by_id[name] for name in names)
    lines = sorted(all_lines, key=lambda line: line.at)
    answers = answers_in(lines)
    own_answers = [answer for answer in answers if answer.id == root]
    # Of several answers that of the API which the client itself has asked shows what was asked for.
    first = first_answer(own_answers or answers)
    by = first or lines[0]
    owner = owner_in(by_id[root])
    began = min(line.began for line in lines)
    request = LoggedRequest(
        id=root,
        ids=tuple(names),
        at=began,
        until=lines[-1].at,
        service=by.service,
        host=by.host,
        method=None,
        path=None,
        status=None,
        owner=owner,
        asked=bool(owner or own_answers),
        answers=tuple(answers),
        errors=[line.failed for line in lines].count(True),
        resources=resources_in(lines),
    )
    if first is None:
        return request
    return replace(
        request, method=first.method, path=first.path, status=first.status
    )


def first_answer(answers: Iterable[Answer]) -> Answer | None:
    """Return the first answer, of those to a change if there is one."""
    return min(
        answers,
        key=lambda answer: (answer.method in LOOKING, answer.at),
        default=None,
    )


def owner_in(lines: Iterable[Line]) -> Owner | None:
    return next(filter(None, (line.owner for line in lines)), None)


def resources_in(lines: Iterable[Line]) -> dict[str, tuple[str, ...]]:
    """Return the ids of the resources that lines name, by their kind."""
    resources: dict[str, set[str]] = {}
    for line in lines:
        for kind, texts in line.ids.items():
            resources.setdefault(kind, set()).update(texts)
    return {kind: tuple(sorted(texts)) for kind, texts in resources.items()}


def answers_in(lines: Collection[Line]) -> list[Answer]:
    """Return the answers of APIs by time, each kind once."""
    methods = methods_in(lines)
    answers: dict[tuple[object, ...], Answer] = {}
    for line in lines:
        answer = answer_in(line, methods)
        if answer:
            kind = (
                answer.service,
                answer.host,
                answer.method,
                answer.path,
                answer.status,
            )
            answers.setdefault(kind, answer)
    return list(answers.values())


def methods_in(lines: Iterable[Line]) -> dict[tuple[str | None, str], str]:
    """Return the method of each path that a request asked for: not each line of it has the method."""
    methods = {}
    for line in lines:
        if line.exchange and line.exchange.method:
            methods[line.own_request, line.exchange.path] = (
                line.exchange.method
            )
    return methods


def answer_in(
    line: Line, methods: Mapping[tuple[str | None, str], str]
) -> Answer | None:
    asked, request = line.exchange, line.own_request
    if not asked or not asked.status or not request:
        return None
    return Answer(
        service=line.service,
        host=line.host,
        method=methods.get((request, asked.path)),
        path=asked.path,
        status=asked.status,
        id=request,
        at=line.at,
        seconds=line.seconds,
    )


def is_sign(line: Line) -> bool:
    """Return whether a line shows that its request failed or was refused."""
    if not line.requests:
        return False
    return line.failed or (
        line.exchange is not None
        and is_rejection(line.exchange.method, line.exchange.status)
    )


def is_failure(line: Line) -> bool:
    """Return whether a line shows that its request failed, and was not only refused."""
    return line.failed or (
        line.exchange is not None and (line.exchange.status or 0) >= 500
    )


def likeness(
    request: LoggedRequest,
) -> tuple[str, str | None, str, int | None]:
    """Return what two requests that fail in the same way have in common."""
    path = OWN_PARTS.sub("*", request.path or "")
    return (
        request.service,
        request.method,
        path.partition("?")[0],
        request.status,
    )
