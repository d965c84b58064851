# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the kernel of a network host knows of Neutron's routers: their namespaces, addresses and translations."""

from __future__ import annotations

import json
import re

from ..commands import UnreadError

NAMESPACE = "qrouter-{}"
# Neutron's name for the interface by which a router reaches the outside
OUTER = "qg-"
# The rules of a floating IP, for what comes and for what goes
TO_FIXED = re.compile(r"-A \S+-PREROUTING -d (?P<address>[0-9.]+)/32 .*-j DNAT --to-destination (?P<fixed>[0-9.]+)")
FROM_FIXED = re.compile(r"-A \S+-float-snat -s (?P<fixed>[0-9.]+)/32 .*-j SNAT --to-source (?P<address>[0-9.]+)")


def read(host, routers):
    """Id of each router to its facts; None if its namespace is not on this host."""
    names = host.attempt("the namespaces", namespaces, default=[]) if routers else []
    spaces = {router: NAMESPACE.format(router) for router in routers}
    return {router: facts_of(host, space) if space in names else None for router, space in spaces.items()}


def namespaces(host):
    """The names of all namespaces. Their folder is made with the first of them."""
    try:
        return host.ask(None, "ls", "/run/netns", root=False).split()
    except UnreadError as exc:
        if "No such file" in exc.output:
            return []
        raise


def facts_of(host, namespace):
    return {
        "outer": host.attempt("the router's addresses", outer_of, namespace, default=[]),
        **host.attempt("the router's translations", translations, namespace, default={"to": [], "from": []}),
    }


def outer_of(host, namespace):
    """The interfaces to the outside, with their MAC and their addresses."""
    interfaces = json.loads(host.ask(None, "ip", "-json", "-netns", namespace, "address", "show"))
    return [
        {
            "name": interface["ifname"],
            "mac": interface["address"],
            "up": "UP" in interface["flags"],
            "addresses": [address["local"] for address in interface["addr_info"] if address["family"] == "inet"],
        }
        for interface in interfaces
        if interface["ifname"].startswith(OUTER)
    ]


def translations(host, namespace):
    """The floating IPs by the rules: `to` the fixed address for what comes, `from` it for what goes."""
    rules = host.ask(None, "ip", "netns", "exec", namespace, "iptables-save", "--table=nat").splitlines()
    return {"to": matched(TO_FIXED, rules), "from": matched(FROM_FIXED, rules)}


def matched(pattern, rules):
    found = (pattern.match(rule) for rule in rules)
    return [match.groupdict() for match in found if match]
