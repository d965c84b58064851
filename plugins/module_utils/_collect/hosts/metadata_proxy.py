# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The metadata proxies of networks and routers, and the requests of an address that they passed on."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from ..._model.facts import MetadataProxy, ProxiedRequest
from ..commands import Host, processes
from ..logs import matching_lines
from ..logs.matching_lines import LogSources, MatchingLine

SOURCES: LogSources = {
    "journals": ["haproxy-metadata-proxy-{owner}"],
    "files": [],
}
# What is read of a proxy, by the name under which it is unread
ADDRESSES = "the addresses of the metadata proxy"
# An address of the host in the kernel's table of routes
LOCAL_ADDRESS = re.compile(r"\|-- ([0-9.]+)\n\s+/32 host LOCAL", re.ASCII)
# The prefix of IPv4 addresses in the log of a router's proxy, which listens on IPv6 too
MAPPED = "::ffff:"
REQUEST = re.compile(
    r"(?P<address>[0-9a-f.:]+):\d+ \[[^\]]*\] \S+ \S+ (?:-?\d+/){4}\+?(?P<took>-?\d+) (?P<status>-?\d+) "
    r"[^\"]*\"(?P<request>[^\"]*)\""
)


def read(
    host: Host,
    owners: Iterable[str],
    address: str,
    since: float,
    sources: LogSources | None = None,
) -> tuple[MetadataProxy, ...]:
    """Return each owner's proxy with the requests of an address. An owner is a network or a router."""
    return tuple(
        proxy_of(host, owner, address, since, sources or SOURCES)
        for owner in owners
    )


def proxy_of(
    host: Host, owner: str, address: str, since: float, sources: LogSources
) -> MetadataProxy:
    running = host.attempt("the processes of haproxy", haproxies_of, owner)
    lines = host.attempt(
        "the log of the metadata proxy",
        log_of,
        of_owner(sources, owner),
        address,
        since,
    )
    return MetadataProxy(
        owner,
        running,
        None if lines is None else requests_in(lines, address),
    )


def with_addresses(host: Host, proxy: MetadataProxy) -> MetadataProxy:
    """Return a proxy with the addresses that it has on its network; one that does not run has none to show."""
    if not proxy.processes:
        return proxy
    addresses = host.attempt(ADDRESSES, addresses_of, proxy.processes[0])
    return replace(proxy, addresses=addresses)


def addresses_of(host: Host, process: int) -> tuple[str, ...]:
    """Return the addresses of IPv4 in the network namespace of a process, which any user may read in its routes."""
    routes = host.ask(
        "metadata", "cat", f"/proc/{process}/net/fib_trie", root=False
    )
    return tuple(dict.fromkeys(LOCAL_ADDRESS.findall(routes)))


def of_owner(sources: LogSources, owner: str) -> LogSources:
    places = {}
    for kind, names in sources.items():
        places[kind] = [name.replace("{owner}", owner) for name in names or ()]
    return places


def haproxies_of(host: Host, owner: str) -> tuple[int, ...]:
    running = processes(host, "metadata", f"/{owner}.conf")
    return tuple(
        pid
        for pid, words in running
        if words[0].rpartition("/")[2] == "haproxy"
    )


def log_of(
    host: Host, sources: LogSources, address: str, since: float
) -> list[MatchingLine] | None:
    return matching_lines.read(host, "metadata", sources, f"{address}:", since)


def requests_in(
    lines: Iterable[MatchingLine], address: str
) -> tuple[ProxiedRequest, ...]:
    requests = [parse_request(line, address) for line in lines]
    return tuple(filter(None, requests))


def parse_request(line: MatchingLine, address: str) -> ProxiedRequest | None:
    match = REQUEST.search(line.text)
    if not match or match.group("address").removeprefix(MAPPED) != address:
        return None
    words = match.group("request").split()
    return ProxiedRequest(
        at=line.at,
        resolution_s=line.resolution_s,
        status=int(match.group("status")),
        path=words[1] if len(words) > 1 else None,
        # From the first byte to the last, in milliseconds; the line is written at the end.
        seconds=max(0, int(match.group("took"))) / 1000,
    )


def telling(requests: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the requests of an instance whose answers say whether it gets its metadata.

    One that has it may have none of what else it asks for, such as user data; what it was given before is missing.
    """
    given = {
        request.get("path")
        for request in requests
        if request["status"] == HTTPStatus.OK
    }
    if not given:
        return list(requests)
    return [
        request for request in requests if not is_never_there(request, given)
    ]


def is_never_there(
    request: Mapping[str, Any], given: Container[str | None]
) -> bool:
    """Return whether a guest that has its metadata asked for what does not exist. given: the paths that it has."""
    return (
        request["status"] == HTTPStatus.NOT_FOUND
        and request.get("path") not in given
    )
