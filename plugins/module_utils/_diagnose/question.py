# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds in a directory of logs what was asked about: a boot, any other request, a resource, or all that failed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product

from .._components.tables import project_of, writer_of
from .._model.bundle import LoggedRequest, Outcome
from .._record.errors import StageError
from .._record.ids import REQUEST
from . import boots, failed_requests
from .boot_lines import FAR, OWN, BootIds, FoundBoot, boots_in
from .boots import WholeBoot
from .host_files import time_given
from .line import TEXTS, UUID, Line, Mark
from .log_directory import LogDirectory, nothing_found

SERVER_ID = re.compile(UUID)
# This many requests are read whole. In an outage thousands fail, and most of them in the same way.
MOST = 200
# In seconds. What a project asked for this long before a boot or after the removal, such as its network, may belong to
# it.
NEAR = 600
# In seconds. An answer that no service logged may be in the lines of another request that is this near: a client waits
# for an API about so long.
BESIDE = 10
# In seconds. What was accepted is done in the background, which begins within this time, sometimes under another id.
TAKEN_UP = 30


@dataclass(frozen=True)
class Question:
    """What is asked about: one id, what a client has printed, or a time. Each text is as the user gave it."""

    request_id: str | None = None
    server_id: str | None = None
    resource_id: str | None = None
    error: str | None = None
    since: str | None = None
    until: str | None = None


@dataclass(frozen=True)
class Subject:
    """What is looked for: the ids as logs write them, and times as seconds since the epoch."""

    request: str | None = None
    server: str | None = None
    resource: str | None = None
    since: float | None = None
    until: float | None = None

    @property
    def near(self) -> float | None:
        """Return a time close to that of the lines."""
        return self.until or self.since


@dataclass(frozen=True)
class Found:
    """The boot, if there is one, and the requests that are judged besides."""

    boot: WholeBoot | None
    requests: list[LoggedRequest]


def subject_of(question: Question) -> Subject:
    """Return what is looked for. An id or a time that cannot be one is refused."""
    since, until = range_given(question.since, question.until)
    request, server = (
        request_given(question.request_id),
        server_given(question.server_id),
    )
    resource = stripped(question.resource_id)
    if question.error:
        request = request_in(question.error)
    return Subject(request, server, resource, since, until)


def range_given(
    since: str | None, until: str | None
) -> tuple[float | None, float | None]:
    """Return the begin and the end of a time range. One that ends before it begins is refused."""
    begin, end = second_given(since), second_given(until)
    if begin and end and begin > end:
        hint = "Swap stackproof_since and stackproof_until."
        raise StageError(
            "invalid", f"the time ends at {until}, before it begins", hint=hint
        )
    return begin, end


def second_given(text: str | None) -> float | None:
    return time_given(text) if text else None


def stripped(text: str | None) -> str | None:
    return (text or "").strip() or None


def server_given(text: str | None) -> str | None:
    """Return the id of a server as logs write it."""
    name = stripped(text)
    if not name:
        return None
    if not SERVER_ID.fullmatch(name.lower()):
        raise not_an_id(name, "server id")
    return name.lower()


def request_given(text: str | None) -> str | None:
    """Return the id of a request as logs write it."""
    name = stripped(text)
    if not name:
        return None
    request = (
        f"req-{name.lower()}"
        if SERVER_ID.fullmatch(name.lower())
        else name.lower()
    )
    if not REQUEST.fullmatch(request):
        raise not_an_id(name, "request id")
    return request


def not_an_id(text: str, kind: str) -> StageError:
    """Return the error for a part of an id: only lines would be found by it, and nothing that follows from them."""
    hint = "Give the whole id, of 32 digits and letters a to f."
    return StageError(
        "invalid", f"{text!r} is not a {kind}", resource=text, hint=hint
    )


def request_in(error: str) -> str:
    """Return the request that the text names which a client has printed."""
    names: list[str] = REQUEST.findall(error)
    if not names:
        hint = "Give the time of the failure instead: -e stackproof_since=... -e stackproof_until=..."
        raise StageError(
            "invalid", "the error contains no request id (req-...)", hint=hint
        )
    return names[-1]


def answer(logs: LogDirectory, subject: Subject) -> Found:
    """Return what is found for the id or the time that was given."""
    if subject.server:
        return of_server(logs, subject.server, subject.near)
    if subject.request:
        return of_request(logs, subject.request, subject.near)
    if subject.resource:
        return of_resource(logs, subject.resource, subject.near)
    return of_time(
        logs,
        subject.since or -math.inf,
        subject.until or math.inf,
        subject.near,
    )


def of_server(logs: LogDirectory, server: str, near: float | None) -> Found:
    boot = boots.with_server(logs, server, near)
    return Found(boot, around(logs, boot))


def of_request(logs: LogDirectory, request: str, near: float | None) -> Found:
    boot = boots.with_request(logs, request, near)
    if boot:
        return Found(boot, [])
    asked = read_whole(logs, [request], near)
    if asked and not any(found.has_known_end for found in asked):
        asked += beside(logs, asked, near)
    elif not any(found.went_wrong for found in asked):
        asked += taken_up(logs, asked, near)
    return without_boot(logs, asked)


def beside(
    logs: LogDirectory, asked: Sequence[LoggedRequest], near: float | None
) -> list[LoggedRequest]:
    """Return what failed at the same time at the same project, for the same user or for an unknown one."""
    since = min(request.at for request in asked) - BESIDE
    until = max(request.until for request in asked) + BESIDE
    owners = {request.owner for request in asked} | {None}
    projects = {project_of(writer_of(request.service)) for request in asked}
    found: list[LoggedRequest] = []
    for request in failed_in(logs, since, until, near):
        if request.owner not in owners:
            continue
        project = project_of(writer_of(request.service))
        if project in projects:
            found.append(request)
    return found


def taken_up(
    logs: LogDirectory, asked: Sequence[LoggedRequest], near: float | None
) -> list[LoggedRequest]:
    """Return what failed shortly after requests that were accepted, under other ids, for a resource that they name."""
    resources = resources_of(asked)
    if not resources:
        return []
    since = min(request.at for request in asked)
    until = max(request.until for request in asked) + TAKEN_UP
    known = set(chain.from_iterable(request.ids for request in asked))
    return [
        request
        for request in failed_in(logs, since, until, near)
        if request.has_failed
        and known.isdisjoint(request.ids)
        and resources & resources_of([request])
    ]


def resources_of(requests: Iterable[LoggedRequest]) -> set[str]:
    """Return the ids of the resources that requests name, without those that others use as well."""
    of_kinds = product(requests, ("server", *OWN))
    return set(
        chain.from_iterable(
            request.resources.get(kind, ()) for request, kind in of_kinds
        )
    )


def of_resource(
    logs: LogDirectory, resource: str, near: float | None
) -> Found:
    """Return all requests that name a resource; of a server what is found of any server."""
    lines = boots.lines_naming(logs, resource, near)
    if any(resource in line.servers for line in lines):
        return of_server(logs, resource, near)
    names = unique(line.own_request for line in lines)
    if not names:
        services = ", ".join(sorted({line.service for line in lines}))
        message = f"no log line that mentions {resource} has a request id; {services} mention it"
        raise StageError(
            "not_found", message, hint="Give the time of the failure instead."
        )
    return without_boot(logs, read_whole(logs, names, near))


def of_time(
    logs: LogDirectory, since: float, until: float, near: float | None
) -> Found:
    """Return the requests that failed in a time, and of the boots the first one that failed."""
    failed = failed_in(logs, since, until, near)
    there = [
        boot
        for boot in boots_in(logs.lines_with(TEXTS, near))
        if since <= boot.at <= until
    ]
    if not (there or failed):
        raise nothing_found(
            logs, "no request failed and no server was booted in that time"
        )
    boot = boot_to_follow(there, has_failures=bool(failed))
    if not boot:
        return without_boot(logs, failed)
    whole = boots.whole(logs, boot, near)
    return Found(whole, others(failed, whole.ids))


def boot_to_follow(
    there: Sequence[FoundBoot], has_failures: bool
) -> FoundBoot | None:
    """Return the boot that is judged; None if other requests failed and no boot is known to have done so."""
    if not has_failures:
        return boots.chosen(there)
    unbuilt: list[FoundBoot] = []
    for boot in there:
        if boot.outcome is Outcome.FAILED:
            return boot
        if boot.outcome is not Outcome.BUILT:
            unbuilt.append(boot)
    if len(unbuilt) != 1:
        return None
    return boots.chosen(there)


def around(logs: LogDirectory, boot: WholeBoot) -> list[LoggedRequest]:
    """Return the requests that failed near a boot, or until the server was removed, and that may concern it.

    If there are none, return those of others whose clients got a failure: they count if the boot went well.
    """
    began, projects = boot.found.at, projects_of(boot)
    failed = failed_in(logs, began - NEAR, end_near(boot), began)
    of_others = others(failed, boot.ids)
    concerning = [
        request
        for request in of_others
        if may_concern(request, boot.ids, projects)
    ]
    if concerning:
        return concerning
    visible = [
        request
        for request in of_others
        if request.asked and request.has_failed_for_client
    ]
    return [replace(request, of_others=True) for request in visible]


def end_near(boot: WholeBoot) -> float:
    """Return the time until which a request may concern a boot."""
    deletions = [
        line
        for line in boot.lines
        if Mark.DELETED in line.marks and boot.ids.has_server_of(line)
    ]
    return min([boot.found.at + FAR, *(line.at + NEAR for line in deletions)])


def projects_of(boot: WholeBoot) -> set[str]:
    """Return the projects for which the boot's requests were logged."""
    owners = {
        line.owner for line in boot.lines if boot.ids.has_request_of(line)
    }
    return {owner.project for owner in filter(None, owners)}


def may_concern(
    request: LoggedRequest, ids: BootIds, projects: set[str]
) -> bool:
    """Return whether a request may have to do with a boot.

    It is about a resource of the boot, or of the boot's project and about no server.
    """
    if not request.asked or (
        request.is_removal and not request.has_failed_for_client
    ):
        return False
    servers = request.resources.get("server", ())
    if servers:
        return not ids.server.isdisjoint(servers)
    about = set(chain.from_iterable(request.resources.values()))
    if about & (ids.port | ids.volume | ids.shared) or not projects:
        return True
    return request.owner is not None and request.owner.project in projects


def others(
    failed: Iterable[LoggedRequest], ids: BootIds
) -> list[LoggedRequest]:
    """Return the requests that are not those of the boot itself."""
    return [
        request for request in failed if ids.request.isdisjoint(request.ids)
    ]


def failed_in(
    logs: LogDirectory, since: float, until: float, near: float | None
) -> list[LoggedRequest]:
    """Return the requests that failed, or were refused, in a time."""
    lines = logs.lines_with(
        [*failed_requests.FAILED, *failed_requests.REFUSED], near
    )
    signs = [
        line
        for line in lines
        if failed_requests.is_sign(line) and since <= line.at <= until
    ]
    # If there are more than are read, those that failed come before those that were refused.
    signs.sort(
        key=lambda line: (not failed_requests.is_failure(line), line.at)
    )
    names = unique(chain.from_iterable(line.requests for line in signs))
    found = read_whole(logs, names, near) if names else []
    return [request for request in found if request.went_wrong]


def read_whole(
    logs: LogDirectory, names: Sequence[str], near: float | None
) -> list[LoggedRequest]:
    """Return the requests of these ids, with all their lines, and those that their errors name as the cause."""
    if len(names) > MOST:
        logs.doubt(
            f"{MOST} of {len(names)} requests were read: narrow the time"
        )
    lines = logs.lines_with(names[:MOST], near)
    made = made_by(lines, names)
    if made:
        more = logs.lines_with(made[:MOST], near)
        lines += [line for line in more if line.own_request in made]
    return failed_requests.requests_in(lines)


def made_by(lines: Iterable[Line], names: Sequence[str]) -> list[str]:
    """Return the requests that errors name besides those that are read already."""
    known = set(names)
    mentioned = unique(
        chain.from_iterable(line.names for line in lines if line.failed)
    )
    return [name for name in mentioned if name not in known]


def unique(names: Iterable[str | None]) -> list[str]:
    """Return the names in their order, each once."""
    return list(dict.fromkeys(filter(None, names)))


def without_boot(logs: LogDirectory, found: list[LoggedRequest]) -> Found:
    if not found:
        raise nothing_found(logs, "no log line has it as its own request")
    return Found(None, found)
