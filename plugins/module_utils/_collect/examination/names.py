# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Resolve the names of peers on a host: others may find another address behind them, or none."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address, IPv6Address, ip_address

from ..._model.reach import ResolvedName
from ..commands import Host, UnreadError
from .peer_probes import AT_ONCE, NamedPeers

MOST = 20
# getent ends with it where a name is unknown.
UNKNOWN = "exit status 2"


def read(
    host: Host, peers: NamedPeers, others: Iterable[str] = ()
) -> tuple[ResolvedName, ...]:
    """Return what the names of peers and of other hosts mean on a host."""
    known = {peer.address for peer in peers}
    names = sorted(filter(is_name, known.union(others)))[:MOST]
    if not names:
        return ()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked = [
            pool.submit(host.attempt, "the address of a peer", resolved, name)
            for name in names
        ]
    answers = [question.result() for question in asked]
    return tuple(filter(None, answers))


def is_name(address: str) -> bool:
    # What getent would take for an option is no name.
    return address_in(address) is None and not address.startswith("-")


def address_in(text: str) -> IPv4Address | IPv6Address | None:
    """Return the address that a text is; None for any other text."""
    try:
        return ip_address(text)
    except ValueError:
        return None


def resolved(host: Host, name: str) -> ResolvedName:
    """Return the addresses behind a name, as any program of the host finds them."""
    try:
        output = host.ask(None, "getent", "ahosts", name, root=False)
    except UnreadError as exc:
        if exc.output != UNKNOWN:
            raise
        return ResolvedName(name, ())
    return ResolvedName(
        name,
        tuple(
            unique(
                line.split()[0] for line in output.splitlines() if line.strip()
            )
        ),
    )


def unique(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))
