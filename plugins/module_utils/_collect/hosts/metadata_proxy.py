# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The metadata proxies of networks and routers, and the requests of an address that they passed on."""

from __future__ import annotations

import re

from ..commands import processes
from ..logs import matching_lines

SOURCES = {"journals": ["haproxy-metadata-proxy-{owner}"], "files": []}
# The prefix of IPv4 addresses in the log of a router's proxy, which listens on IPv6 too
MAPPED = "::ffff:"
REQUEST = re.compile(
    r"(?P<address>[0-9a-f.:]+):\d+ \[[^\]]*\] \S+ \S+ (?:-?\d+/){4}\+?(?P<took>-?\d+) (?P<status>-?\d+) "
    r"[^\"]*\"(?P<request>[^\"]*)\""
)


def read(host, owners, address, since, sources=None):
    """The processes of each owner's proxy, and the requests of an address. An owner is a network or a router."""
    proxies = []
    for owner in owners:
        running = host.attempt("the processes of haproxy", haproxies_of, owner)
        chosen = of_owner(sources or SOURCES, owner)
        lines = host.attempt("the log of the metadata proxy", log_of, chosen, address, since)
        requests = None if lines is None else [*filter(None, (parse_request(line, address) for line in lines))]
        proxies.append({"owner": owner, "processes": running, "requests": requests})
    return {"proxies": proxies}


def of_owner(sources, owner):
    return {kind: [name.replace("{owner}", owner) for name in names] for kind, names in sources.items()}


def haproxies_of(host, owner):
    running = processes(host, "metadata", f"/{owner}.conf")
    return [pid for pid, words in running if words[0].rpartition("/")[2] == "haproxy"]


def log_of(host, sources, address, since):
    return matching_lines.read(host, "metadata", sources, f"{address}:", since)


def parse_request(line, address):
    match = REQUEST.search(line["text"])
    if not match or match["address"].removeprefix(MAPPED) != address:
        return None
    words = match["request"].split()
    return {
        "at": line["at"],
        "resolution_s": line["resolution_s"],
        "status": int(match["status"]),
        "path": words[1] if len(words) > 1 else None,
        # From the first byte to the last, in milliseconds; the line is written at the end.
        "seconds": max(0, int(match["took"])) / 1000,
    }
