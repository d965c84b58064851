# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A line of a collected log: its time, its ids, and what it shows of a boot or a request. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from itertools import chain

from .._collect.logs import error_text, line_formats
from .._collect.logs.line_messages import HttpRequest
from .._components.tables import working_on_boots
from .._model.bundle import Owner
from .._record import ids

# A user and a project stand behind the request in the context of a line; what no client asked for has neither.
OWNER = re.compile(
    r"\[(?:\S+ )?req-[0-9a-f-]{36} (?P<user>[\w-]+) (?P<project>[\w-]+)"
)
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
# How services name the resources that they work on
PATTERNS = (
    (
        "server",
        rf"\[instance: ({UUID})\]|/servers/({UUID})|for instance ({UUID})|/allocations/({UUID})",
    ),
    (
        "server",
        rf'Lock "({UUID})" "?released"? by "[^"]*_locked_do_build_and_run_instance"',
    ),
    ("server", rf"[?&]device_id=({UUID})|[ /]({UUID})_disk"),
    (
        "port",
        rf"/ports/({UUID})|network-(?:vif-plugged|vif-unplugged|vif-deleted|changed)[:-]({UUID})",
    ),
    (
        "port",
        rf"Successfully (?:created|updated) port:? ({UUID})|'Port': \['ID=({UUID})|[?&]port_id=({UUID})",
    ),
    ("port", rf"\({UUID}/{UUID}/({UUID})\)"),
    ("tap", r"\b(tap[0-9a-f]{8}-[0-9a-f]{2})\b"),
    (
        "volume",
        rf"[Bb]ooting with volume ({UUID})|/volumes/({UUID})|volume-({UUID})",
    ),
    ("image", rf"/images/({UUID})"),
    ("network", rf"\(({UUID})/{UUID}/{UUID}\)|/networks/({UUID})"),
    ("subnet", rf"\({UUID}/({UUID})/{UUID}\)"),
)
NAMED = tuple((kind, re.compile(pattern)) for kind, pattern in PATTERNS)
DELETED_SERVER = re.compile(rf"/servers/{UUID}$")
LONGEST_PATH = 300


class Mark(Enum):
    """What a line shows of a boot."""

    ASKED = auto()
    REFUSED = auto()
    BEGUN = auto()
    BUILT = auto()
    ENDED = auto()
    FAILED = auto()
    DELETED = auto()


# Texts that only lines of a boot have: of its begin, of its two ends, and of the server's removal. At DEBUG
# nova-compute also logs that it does not work on the server any more.
MARKS = {
    Mark.BEGUN: (
        "Starting instance...", "Claim successful on node", "Attempting claim", "Selected host: ",
        "block_device_mapping [", "Going to run ",
    ),
    Mark.BUILT: ("seconds to build instance",),
    Mark.ENDED: ('_locked_do_build_and_run_instance" :: held',),
    Mark.FAILED: (
        "to ERROR state", "failed to spawn", "Failed to build and run instance", "Instance build failed",
        "Failed to schedule instances", "Failed to allocate the network", "Failed to compute_task_build_instances",
        "Failed to provision instance", "Build of instance",
    ),
    Mark.DELETED: ("Terminating instance",),
}  # fmt: skip
MARK_PATTERNS = tuple(
    (mark, re.compile("|".join(map(re.escape, texts))))
    for mark, texts in MARKS.items()
)
# Nova's own line of a request, and eventlet's
ASKED = ('/servers" status: 202', '/servers HTTP/1.1" status: 202')
TEXTS = sorted({*ASKED, *chain.from_iterable(MARKS.values())})
# The calls of other services have requests of their own.
WORKERS = working_on_boots()


@dataclass(frozen=True)
class Exchange:
    """What was asked of an API, and its answer."""

    method: str | None
    path: str
    status: int | None


@dataclass(frozen=True)
class Line:
    """A line of a log. Its text is not kept.

    requests: the last one is its own; one that the client gave, or for which another service asks, stands before it.
    ids: kind of a resource to the ids that it names. seconds: how long it took what it reports.
    failed: whether it is an error. names: requests of others that it mentions.
    """

    at: float
    host: str
    service: str
    requests: tuple[str, ...]
    ids: Mapping[str, tuple[str, ...]]
    marks: frozenset[Mark]
    seconds: float
    exchange: Exchange | None
    owner: Owner | None
    failed: bool
    names: tuple[str, ...]

    @property
    def own_request(self) -> str | None:
        return self.requests[-1] if self.requests else None

    @property
    def worker_request(self) -> str | None:
        """Return the request of Nova that the line belongs to."""
        return self.own_request if self.service in WORKERS else None

    @property
    def servers(self) -> tuple[str, ...]:
        return self.ids.get("server", ())

    @property
    def began(self) -> float:
        return self.at - self.seconds


def line_of(
    parsed: line_formats.Line, text: str, host: str, service: str
) -> Line:
    """Return the line of a text that was parsed."""
    http, requests = parsed.http, tuple(parsed.requests)
    mentioned = set(ids.REQUEST.findall(parsed.text)) - set(requests)
    return Line(
        at=parsed.at or 0.0,
        host=host,
        service=service,
        requests=requests,
        ids=ids_in(text),
        marks=marks_in(parsed.text) | marks_of_request(http, requests),
        seconds=(http and http.seconds) or 0.0,
        exchange=exchange_of(http) if http else None,
        owner=owner_of(text),
        failed=parsed.failed
        and not error_text.is_periodic(parsed.logger, parsed.text),
        names=tuple(sorted(mentioned)),
    )


def ids_in(text: str) -> dict[str, tuple[str, ...]]:
    """Return the ids of resources that a text names, by their kind."""
    ids: dict[str, set[str]] = {}
    for kind, pattern in NAMED:
        for match in pattern.finditer(text):
            ids.setdefault(kind, set()).update(filter(None, match.groups()))
    return {kind: tuple(sorted(texts)) for kind, texts in ids.items()}


def marks_in(message: str) -> frozenset[Mark]:
    return frozenset(
        mark for mark, pattern in MARK_PATTERNS if pattern.search(message)
    )


def marks_of_request(
    http: HttpRequest | None, requests: tuple[str, ...]
) -> frozenset[Mark]:
    """Return whether a request to an API asks for a server or removes one."""
    if http is None:
        return frozenset()
    path = plain_path(http.path)
    if http.method == "POST" and path.endswith("/servers") and requests:
        if http.status in (None, 202):
            return frozenset({Mark.ASKED})
        return frozenset({Mark.REFUSED})
    if http.method == "DELETE" and DELETED_SERVER.search(path):
        return frozenset({Mark.DELETED})
    return frozenset()


def exchange_of(http: HttpRequest) -> Exchange:
    return Exchange(
        http.method, plain_path(http.path)[:LONGEST_PATH], http.status
    )


def plain_path(path: str) -> str:
    """Return a path without its query, which may hold a secret."""
    return path.partition("?")[0]


def owner_of(text: str) -> Owner | None:
    """Return for whom a line was logged."""
    match = OWNER.search(text[: line_formats.LONGEST])
    if not match or match["user"] in ("-", "None"):
        return None
    return Owner(match["user"], match["project"])
