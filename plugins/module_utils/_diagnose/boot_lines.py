# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds boots in lines, and the ids that belong to a boot, by lines that name two of them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import chain

from .._model.bundle import LoggedBoot, Outcome
from .line import Line, Mark

# In seconds. No boot takes a day: a line further from the others is of a host whose clock is wrong.
FAR = 86400
# Kinds of resources that belong to one boot alone, and those that others use as well
OWN, SHARED = ("port", "tap", "volume"), ("image", "network", "subnet")
# The marks of which one proves that a request is a boot
OF_BOOT = frozenset(
    {Mark.ASKED, Mark.BEGUN, Mark.BUILT, Mark.ENDED, Mark.REFUSED}
)


@dataclass(frozen=True)
class FoundBoot(LoggedBoot):
    """A boot in lines. by_time: whether its request is known only by the time at which it came."""

    at: float = 0.0
    by_time: bool = False

    @property
    def logged(self) -> LoggedBoot:
        return LoggedBoot(
            self.request, self.client, self.server, self.outcome, self.siblings
        )


@dataclass(frozen=True)
class BootIds:
    """The ids of a boot, by their kind. shared: those that other boots use as well."""

    request: frozenset[str] = frozenset()
    server: frozenset[str] = frozenset()
    port: frozenset[str] = frozenset()
    tap: frozenset[str] = frozenset()
    volume: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()

    @property
    def keys(self) -> dict[str, tuple[str, ...]]:
        """Return the kinds of which there are ids, with these."""
        by_kind = {
            field.name: sorted(getattr(self, field.name))
            for field in fields(self)
        }
        return {kind: tuple(texts) for kind, texts in by_kind.items() if texts}

    def has_request_of(self, line: Line) -> bool:
        return not self.request.isdisjoint(line.requests)

    def has_server_of(self, line: Line) -> bool:
        return not self.server.isdisjoint(line.servers)


def boots_in(lines: Iterable[Line]) -> list[FoundBoot]:
    """Return the boots that lines show, by the time at which they began."""
    by_request: dict[str, list[Line]] = {}
    for line in lines:
        request = line.worker_request
        if request and line.marks:
            by_request.setdefault(request, []).append(line)
    boots: list[FoundBoot] = []
    for request, of_request in by_request.items():
        if shows_boot(of_request):
            boots += boots_of(request, of_request)
    return sorted(boots, key=lambda boot: (boot.at, boot.server or ""))


def marks_of(lines: Iterable[Line]) -> frozenset[Mark]:
    return frozenset().union(*(line.marks for line in lines))


def shows_boot(lines: Collection[Line]) -> bool:
    """Return whether the lines of a request are of a boot. A mark of a failure is not enough: a deletion fails, too."""
    if marks_of(lines) & OF_BOOT:
        return True
    return any(line.service == "nova-conductor" for line in lines)


def boots_of(request: str, lines: Sequence[Line]) -> list[FoundBoot]:
    """Return the boots of one request: one for each server that its lines name."""
    servers = by_server(lines)
    if not servers:
        return [boot_of(request, lines, None, lines, 0)]
    siblings = len(servers) - 1
    return [
        boot_of(request, lines, server, of_server, siblings)
        for server, of_server in servers.items()
    ]


def by_server(lines: Iterable[Line]) -> dict[str, list[Line]]:
    servers: dict[str, list[Line]] = {}
    for line in lines:
        for server in line.servers:
            servers.setdefault(server, []).append(line)
    return servers


def boot_of(
    request: str,
    of_request: Sequence[Line],
    server: str | None,
    of_server: Iterable[Line],
    siblings: int,
) -> FoundBoot:
    clients = set(
        chain.from_iterable(line.requests[:-1] for line in of_request)
    )
    near, _far = near_and_far(of_request)
    return FoundBoot(
        request=request,
        client=min(clients, default=None),
        server=server,
        outcome=outcome_of(marks_of(of_server)),
        siblings=siblings,
        at=min(line.began for line in near),
    )


def outcome_of(marks: frozenset[Mark]) -> Outcome | None:
    if Mark.BUILT in marks:
        return Outcome.BUILT
    # Nova logs that it has built a server before it lets go of it.
    return (
        Outcome.FAILED
        if marks & {Mark.FAILED, Mark.REFUSED, Mark.ENDED}
        else None
    )


def grown(ids: BootIds, lines: Iterable[Line]) -> BootIds:
    """Return the ids of a boot with those that its lines name beside one of them."""
    more = {kind: set(getattr(ids, kind)) for kind in (*OWN, "shared")}
    for line in lines:
        if not is_line_of(line, ids):
            continue
        for kind in OWN:
            more[kind].update(line.ids.get(kind, ()))
        for kind in SHARED:
            more["shared"].update(line.ids.get(kind, ()))
    more["tap"].update(f"tap{port[:11]}" for port in more["port"])
    return BootIds(
        ids.request,
        ids.server,
        **{kind: frozenset(texts) for kind, texts in more.items()},
    )


def is_line_of(line: Line, ids: BootIds) -> bool:
    """Return whether a line has the boot's request or names its server, and is not about another server."""
    if ids.has_server_of(line):
        return True
    if line.servers and ids.server:
        return False
    return ids.has_request_of(line)


def named(lines: Sequence[Line], ids: BootIds) -> dict[str, str]:
    """Return of each kind the shared id that the lines of the boot name most often."""
    names = {}
    for kind in SHARED:
        texts = chain.from_iterable(line.ids.get(kind, ()) for line in lines)
        shared = [text for text in texts if text in ids.shared]
        if shared:
            names[kind] = most_frequent(shared)
    return names


def most_frequent(texts: Sequence[str]) -> str:
    return max(sorted(set(texts)), key=texts.count)


def lines_of_boot(lines: Sequence[Line], ids: BootIds) -> list[Line]:
    """Return the lines of a boot: of its requests, or else of its server."""
    # Lines of the server may be of other requests, long after its boot.
    of_request = list(filter(ids.has_request_of, lines))
    if of_request:
        return of_request
    return list(filter(ids.has_server_of, lines))


def is_deleted(lines: Iterable[Line], ids: BootIds) -> bool:
    """Return whether the removal of the server was asked for: then its boot is over, however far it came."""
    return any(
        Mark.DELETED in line.marks and ids.has_server_of(line)
        for line in lines
    )


def near_and_far(lines: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """Return the lines near the median time, and those far from it."""
    if not lines:
        return [], []
    middle = sorted(line.at for line in lines)[len(lines) // 2]
    near: list[Line] = []
    far: list[Line] = []
    for line in lines:
        (near if abs(line.at - middle) <= FAR else far).append(line)
    return near, far


def interval(
    lines: Sequence[Line], ids: BootIds, settling_s: float
) -> tuple[float, float]:
    """Return begin and end of a boot: from its request to its last line, and the time in which its effects settle."""
    near, _far = near_and_far(lines_of_boot(lines, ids) or lines)
    first = min(line.began for line in near)
    last = max(line.at for line in near)
    return first, last + settling_s
