# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read what the kernel of a network host knows of Neutron's routers: their namespaces, addresses, translations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..._model.facts import Router, RouterInterface, Translation
from ..commands import Host, UnreadError

NAMESPACE = "qrouter-{}"
# Neutron's name for the interface by which a router reaches the outside
OUTER = "qg-"
# The rules of a floating IP, for what comes and for what goes
TO_FIXED = re.compile(
    r"-A \S+-PREROUTING -d (?P<address>[0-9.]+)/32 .*-j DNAT --to-destination (?P<fixed>[0-9.]+)"
)
FROM_FIXED = re.compile(
    r"-A \S+-float-snat -s (?P<fixed>[0-9.]+)/32 .*-j SNAT --to-source (?P<address>[0-9.]+)"
)


def read(host: Host, routers: Iterable[str]) -> dict[str, Router | None]:
    """Return each router by its id; None if its namespace is not on this host."""
    facts: dict[str, Router | None] = {}
    spaces = {router: NAMESPACE.format(router) for router in routers}
    here = (
        host.attempt("the namespaces", namespaces, default=[])
        if spaces
        else []
    )
    for router, space in spaces.items():
        facts[router] = router_in(host, space) if space in here else None
    return facts


def namespaces(host: Host) -> list[str]:
    """Return the names of all namespaces. Their folder is made with the first of them."""
    try:
        return host.ask(None, "ls", "/run/netns", root=False).split()
    except UnreadError as exc:
        if "No such file" in exc.output:
            return []
        raise


def router_in(host: Host, namespace: str) -> Router:
    interfaces = host.attempt(
        "the router's addresses", interfaces_of, namespace, default=[]
    )
    rules = host.attempt(
        "the router's translations", rules_of, namespace, default=[]
    )
    return Router(
        outer_of(interfaces),
        inbound=matched(TO_FIXED, rules),
        outbound=matched(FROM_FIXED, rules),
        mtus={one["ifname"]: one["mtu"] for one in interfaces} or None,
    )


def interfaces_of(host: Host, namespace: str) -> list[dict[str, Any]]:
    """Return all interfaces of a namespace, as ip has them in JSON."""
    words = ("ip", "-json", "-netns", namespace, "address", "show")
    found: list[dict[str, Any]] = json.loads(host.ask(None, *words))
    return found


def outer_of(
    interfaces: Iterable[Mapping[str, Any]],
) -> tuple[RouterInterface, ...]:
    """Return the interfaces to the outside, with their MAC and their addresses."""
    outer = []
    for interface in filter(is_outer, interfaces):
        addresses = [
            address["local"]
            for address in interface["addr_info"]
            if address["family"] == "inet"
        ]
        up = "UP" in interface["flags"]
        outer.append(
            RouterInterface(
                interface["ifname"], interface["address"], up, tuple(addresses)
            )
        )
    return tuple(outer)


def is_outer(interface: Mapping[str, Any]) -> bool:
    name: str = interface["ifname"]
    return name.startswith(OUTER)


def rules_of(host: Host, namespace: str) -> list[str]:
    return host.ask(
        None, "ip", "netns", "exec", namespace, "iptables-save", "--table=nat"
    ).splitlines()


def matched(
    pattern: re.Pattern[str], rules: Iterable[str]
) -> tuple[Translation, ...]:
    found = map(pattern.match, rules)
    return tuple(
        Translation(**match.groupdict()) for match in filter(None, found)
    )
