# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Addresses of a cloud's services: their parts, whether two lead to the same place, and the service behind one."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import SplitResult, urlsplit

from .._model.stage import Call

DEFAULT_PORTS = {"http": 80, "https": 443}

# The type of a service, and the URL of one of its endpoints
Endpoint = tuple[str, str]


def path_of(url: str) -> str:
    """Return the path of a URL, without the host and the query, which may hold a signature."""
    return urlsplit(url).path or "/"


def host_of(url: str) -> str:
    """Return address and port of a URL, without user and password."""
    return urlsplit(url).netloc.rpartition("@")[2]


def is_login(url: str) -> bool:
    """Return whether a URL is that under which Keystone issues tokens."""
    return urlsplit(url).path.endswith("/auth/tokens")


def is_same_place(known: str, other: str) -> bool:
    """Return whether a URL leads to the host and port of a known one. A service may insist on TLS."""
    try:
        old, new = urlsplit(known), urlsplit(other)
        same = (old.scheme, old.hostname, port_of(old)) == (
            new.scheme,
            new.hostname,
            port_of(new),
        )
    except ValueError:
        return False  # no port has such a number
    return same or (old.hostname, old.scheme, new.scheme) == (
        new.hostname,
        "http",
        "https",
    )


def port_of(parts: SplitResult) -> int | None:
    return parts.port or DEFAULT_PORTS.get(parts.scheme)


def with_services(
    calls: Iterable[Call], endpoints: list[Endpoint]
) -> tuple[Call, ...]:
    """Return the calls; each that names no service has the one behind its address."""
    return tuple(with_service(call, endpoints) for call in calls)


def with_service(call: Call, endpoints: list[Endpoint]) -> Call:
    if call.service is not None or call.host is None:
        return call
    return replace(
        call, service=service_behind(call.host or "", call.path, endpoints)
    )


def service_behind(
    host: str, path: str, endpoints: list[Endpoint]
) -> str | None:
    """Return the service whose endpoint is most like a call: services behind one host differ by their paths."""
    candidates = []
    for service, url in endpoints:
        if host_of(url) == host:
            candidates.append(
                (common_start(urlsplit(url).path, path), service)
            )
    if not candidates:
        return None
    return max(candidates)[1]


def common_start(one: str, other: str) -> int:
    """Return how many characters two texts share from their start."""
    same = itertools.takewhile(
        lambda pair: pair[0] == pair[1], zip(one, other)
    )
    return len(list(same))
