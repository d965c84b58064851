# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds the boot that is asked for in a directory of collected logs, with all its ids and lines."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from .._model.bundle import Outcome
from .._record.errors import StageError
from .._record.sole import sole
from .._record.words import listed
from .boot_lines import BootIds, FoundBoot, boots_in, grown, most_frequent
from .line import ASKED, WORKERS, Line
from .log_directory import MOST_NAMED, LogDirectory, moment, nothing_found

# This many requests are tried, as all files are read for each of them.
TRIED = 3
# In seconds: a client that has asked for a server asks for its state before they are over.
SHORTLY = 30


@dataclass(frozen=True)
class WholeBoot:
    """A boot with all its ids, and the lines that have one of them."""

    found: FoundBoot
    ids: BootIds
    lines: list[Line]


def with_server(
    logs: LogDirectory, server: str, near: float | None
) -> WholeBoot:
    """Return the boot of a server. The server may be rebuilt later; its first boot is meant."""
    lines = lines_naming(logs, server, near)
    boot = (
        first_of(server, lines)
        or by_others(logs, lines, near)
        or by_time(logs, lines, server)
        or by_ids(lines, None, server)
    )
    return whole(logs, boot, near)


def with_request(
    logs: LogDirectory, request: str, near: float | None
) -> WholeBoot | None:
    """Return the boot that a request asked for; None if it asked for something else."""
    lines = lines_naming(logs, request, near)
    boots = [
        boot
        for boot in boots_in(lines)
        if request in (boot.request, boot.client)
    ]
    if boots:
        return whole(logs, chosen(boots, request), near)
    if is_of_boot(lines, request):
        return whole(logs, by_ids(lines, request, None), near)
    return None


def lines_naming(
    logs: LogDirectory, text: str, near: float | None
) -> list[Line]:
    lines = logs.lines_with([text], near)
    if not lines:
        raise nothing_found(logs, f"no log line contains {text}")
    return lines


def is_of_boot(lines: Sequence[Line], request: str) -> bool:
    """Return whether a request without a line of its own at nova-api may be that of a boot.

    Then Nova worked on a server for it.
    """
    own = [line for line in lines if line.own_request == request]
    if any(line.exchange for line in own):
        return False
    return any(line.servers for line in own)


def whole(
    logs: LogDirectory, boot: FoundBoot, near: float | None = None
) -> WholeBoot:
    """Return a boot with all its ids and lines."""
    ids = BootIds(
        request=known(boot.request, boot.client), server=known(boot.server)
    )
    lines = lines_of(logs, boot, ids, near)
    if boot.request and shares_client(boot, lines):
        ids = replace(ids, request=frozenset({boot.request}))
        lines = lines_of(logs, boot, ids, near)
    if not lines:
        raise nothing_found(logs, "no log line mentions this boot")
    return WholeBoot(boot, grown(ids, lines), lines)


def known(*ids: str | None) -> frozenset[str]:
    return frozenset(filter(None, ids))


def lines_of(
    logs: LogDirectory, boot: FoundBoot, ids: BootIds, near: float | None
) -> list[Line]:
    return logs.lines_with(sorted(ids.request | ids.server), near or boot.at)


def shares_client(boot: FoundBoot, lines: Sequence[Line]) -> bool:
    """Return whether a client gave one id to several requests: then it is not the id of this boot alone."""
    requests = {
        other.request
        for other in boots_in(lines)
        if other.client == boot.client
    }
    return len(requests) > 1


def first_of(server: str, lines: Sequence[Line]) -> FoundBoot | None:
    return next(
        (boot for boot in boots_in(lines) if boot.server == server), None
    )


def by_others(
    logs: LogDirectory, lines: Sequence[Line], near: float | None
) -> FoundBoot | None:
    """Return the boot of a server that Nova's workers do not name, by the first requests of others that name it."""
    others = [line for line in lines if line.service not in WORKERS]
    others.sort(key=lambda line: line.at)
    servers: dict[str, str | None] = {}
    for line in reversed(others):
        servers.update(
            dict.fromkeys(line.requests, next(iter(line.servers), None))
        )
    for request in list(reversed(servers))[:TRIED]:
        boots = [
            boot
            for boot in boots_in(logs.lines_with([request], near))
            if not boot.server
        ]
        if len(boots) == 1:
            return replace(boots[0], server=servers[request])
    return None


def by_time(
    logs: LogDirectory, lines: Sequence[Line], server: str
) -> FoundBoot | None:
    """Return the boot that was asked for right before the first line of the server, if there is only one."""
    first = min(line.at for line in lines)
    boots = boots_in(logs.lines_with(ASKED, first))
    near = [
        boot
        for boot in boots
        if first - SHORTLY <= boot.at <= first and not boot.server
    ]
    return (
        replace(near[0], server=server, by_time=True)
        if len(near) == 1
        else None
    )


def by_ids(
    lines: Sequence[Line], request: str | None, server: str | None
) -> FoundBoot:
    """Return a boot by the ids alone, where its own lines are missing."""
    servers = list(chain.from_iterable(line.servers for line in lines))
    if not server and servers:
        server = most_frequent(servers)
    return FoundBoot(
        request=request,
        client=None,
        server=server,
        at=min(line.at for line in lines),
    )


def chosen(
    boots: Sequence[FoundBoot], request: str | None = None
) -> FoundBoot:
    """Return the only boot, or the only one that failed; without such a boot the user must choose."""
    failed = [boot for boot in boots if boot.outcome is Outcome.FAILED]
    boot = sole(failed) or sole(boots)
    if boot is None:
        raise ambiguous(failed or boots, counted(boots, failed, request))
    return boot


def counted(
    boots: Collection[FoundBoot],
    failed: Collection[FoundBoot],
    request: str | None,
) -> str:
    """Return how many boots there are to choose from."""
    of_request = f" of {request}" if request else ""
    if failed:
        return f"{len(failed)} boots{of_request} failed"
    return f"found {len(boots)} boots{of_request}; none is marked as failed"


def ambiguous(boots: Sequence[FoundBoot], count: str) -> StageError:
    named = [
        f"{moment(boot.at)} server {boot.server or 'unknown'}, request {boot.request}"
        for boot in boots
    ]
    hint = "Choose one of them: -e stackproof_server_id=... or -e stackproof_request_id=..."
    return StageError(
        "ambiguous", f"{count}: {listed(named, MOST_NAMED, '; ')}", hint=hint
    )
