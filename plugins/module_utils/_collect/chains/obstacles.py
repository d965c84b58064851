# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What keeps packets from a router or from dnsmasq inside its namespace, and was put there by no agent of Neutron.

The agents have chains of their own, into which the kernel's chains lead.
"""

from __future__ import annotations

import re

from ..._model.instance import DescribedInstance
from ..._model.stores import Obstacle
from ..commands import Host
from ..hosts import router

DHCP_NAMESPACE = "qdhcp-{}"
CHAINS = "(?:INPUT|FORWARD|OUTPUT|PREROUTING|POSTROUTING)"
# A rule, or the policy, of one of the kernel's chains that drops packets. Those of no connection may be dropped.
DROPPING = re.compile(
    rf"-A {CHAINS} (?!.*\bINVALID\b).*-j (?:DROP|REJECT)\b.*|:{CHAINS} DROP\b"
)
QUOTED = re.compile(r'"[^"]*"')
FORWARDING = "/proc/sys/net/ipv4/ip_forward"


def read(
    host: Host, instance: DescribedInstance
) -> tuple[Obstacle, ...] | None:
    """Return what is in the way in the namespaces of the instance's networks that are on a host; None without any."""
    here = set(host.attempt("the namespaces", router.namespaces, default=[]))
    spaces = {DHCP_NAMESPACE.format(one.id) for one in instance.networks}
    for network in instance.networks:
        spaces.update(map(router.NAMESPACE.format, network.routers))
    found: list[Obstacle] = []
    for space in sorted(spaces & here):
        found += rules_in(host, space)
        found += without_forwarding(host, space)
    return tuple(found) if spaces & here else None


def rules_in(host: Host, space: str) -> list[Obstacle]:
    """Return the foreign rules of both versions of IP."""
    found: list[Obstacle] = []
    for program in ("iptables-save", "ip6tables-save"):
        listing = f"ip netns exec {space} {program}"
        lines = host.attempt(
            "the packet filter", lines_of, listing, default=[]
        )
        matches = filter(None, map(DROPPING.match, lines))
        found += [Obstacle(space, match[0], listing) for match in matches]
    return found


def lines_of(host: Host, command: str) -> list[str]:
    """Return what a command prints, without comments and prefixes of logs."""
    return QUOTED.sub('""', host.ask(None, *command.split())).splitlines()


def without_forwarding(host: Host, space: str) -> list[Obstacle]:
    """Return that a router does not forward; dnsmasq has nothing to."""
    if space.startswith("qdhcp"):
        return []
    command = f"ip netns exec {space} cat {FORWARDING}"
    lines = host.attempt(
        "the packet forwarding", lines_of, command, default=[]
    )
    if lines != ["0"]:
        return []
    return [Obstacle(space, "net.ipv4.ip_forward is 0", command)]
