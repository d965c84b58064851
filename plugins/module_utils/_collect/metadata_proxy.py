# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the metadata proxy of a network or of a router has done for an address."""

from __future__ import annotations

import re

from . import log_lines
from .host import processes

SOURCES = {"journals": ["haproxy-metadata-proxy-{owner}"], "files": []}
# A router's proxy listens on IPv6 too, and writes IPv4 addresses in its way.
MAPPED = "::ffff:"
REQUEST = re.compile(
    r"(?P<address>[0-9a-f.:]+):\d+ \[.*?\] .*? (?:-?\d+/){4}\+?(?P<took>-?\d+) (?P<status>-?\d+) "
    r".*\"(?P<request>[^\"]*)\""
)


def read(host, owners, address, since, sources=None):
    """For each owner (a network or a router) its proxy's process, and the requests of an address that it passed on."""
    found = []
    for owner in owners:
        running = host.attempt("the processes of haproxy", haproxies_of, owner)
        chosen = of_owner(sources or SOURCES, owner)
        lines = host.attempt("the log of the metadata proxy", said_of, chosen, address, since)
        requests = None if lines is None else [*filter(None, (parse_request(line, address) for line in lines))]
        found.append({"owner": owner, "processes": running, "requests": requests})
    return {"proxies": found}


def of_owner(sources, owner):
    return {kind: [name.replace("{owner}", owner) for name in names] for kind, names in sources.items()}


def haproxies_of(host, owner):
    found = processes(host, "metadata", f"/{owner}.conf")
    return [pid for pid, words in found if words[0].rpartition("/")[2] == "haproxy"]


def said_of(host, sources, address, since):
    return log_lines.read(host, "metadata", sources, f"{address}:", since)


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
