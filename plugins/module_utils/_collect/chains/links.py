# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The network of the kernel: its links with their MTU, addresses and drops, and the ports that are listened on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ..._model.codec import from_json
from ..._model.stores import NetworkLink
from ..commands import Host

# Links of guests and namespaces come and go, and are read with their port.
OF_GUESTS = ("tap", "qvo", "qvb", "qbr", "veth", "vnet")


@dataclass(frozen=True)
class AddressAnswer:
    local: str = ""


@dataclass(frozen=True)
class LinkAnswer:
    ifname: str
    mtu: int
    flags: tuple[str, ...]
    addr_info: tuple[AddressAnswer, ...] = ()
    stats64: Any = None


def read(host: Host) -> tuple[NetworkLink, ...]:
    answer = json.loads(
        host.ask(
            None, "ip", "-json", "-statistics", "address", "show", root=False
        )
    )
    links = [
        from_json(LinkAnswer, entry, "a link")
        for entry in filter(None, answer)
    ]
    return tuple(
        link_of(link)
        for link in links
        if not link.ifname.startswith(OF_GUESTS)
    )


def link_of(link: LinkAnswer) -> NetworkLink:
    counters = link.stats64 or {}
    dropped = sum(
        (counters.get(direction) or {}).get("dropped", 0)
        for direction in ("rx", "tx")
    )
    addresses = tuple(
        filter(None, (address.local for address in link.addr_info))
    )
    return NetworkLink(
        link.ifname, link.mtu, "UP" in link.flags, addresses, dropped
    )


def listening(host: Host) -> tuple[int, ...]:
    """Return the TCP ports that something listens on."""
    output = host.ask(
        None,
        "ss",
        "--no-header",
        "--tcp",
        "--listening",
        "--numeric",
        root=False,
    )
    ports = {
        int(line.split()[3].rpartition(":")[2])
        for line in output.splitlines()
        if line.strip()
    }
    return tuple(sorted(ports))
