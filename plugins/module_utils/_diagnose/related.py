# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds boots in lines, and the ids that belong to a boot, by lines that name two of them. Pure.

A line is a dictionary here: at, host, service, requests, owner (user and project), ids (kind to texts), marks, seconds,
http, failed (whether it is an error), and names (the requests of others that it speaks of). Its text is not kept.
"""

from __future__ import annotations

import re

from .._collect.logs import line_formats
from .._components.tables import working_on_boots

# A user and a project stand behind the request in the context of a line; what nobody asked for has neither.
OWNER = re.compile(r"\[(?:\S+ )?req-[0-9a-f-]{36} (?P<user>[\w-]+) (?P<project>[\w-]+)")
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
# How services name the resources that they work on
NAMED = [
    ("server", rf"\[instance: ({UUID})\]|/servers/({UUID})|for instance ({UUID})|/allocations/({UUID})"),
    ("server", rf"[?&]device_id=({UUID})|[ /]({UUID})_disk"),
    ("port", rf"/ports/({UUID})|network-(?:vif-plugged|vif-unplugged|vif-deleted|changed)[:-]({UUID})"),
    ("port", rf"Successfully (?:created|updated) port:? ({UUID})|'Port': \['ID=({UUID})|[?&]port_id=({UUID})"),
    ("port", rf"\({UUID}/{UUID}/({UUID})\)"),
    ("tap", r"\b(tap[0-9a-f]{8}-[0-9a-f]{2})\b"),
    ("volume", rf"[Bb]ooting with volume ({UUID})|/volumes/({UUID})|volume-({UUID})"),
    ("image", rf"/images/({UUID})"),
    ("network", rf"\(({UUID})/{UUID}/{UUID}\)|/networks/({UUID})"),
    ("subnet", rf"\({UUID}/({UUID})/{UUID}\)"),
]
NAMED = [(kind, re.compile(pattern)) for kind, pattern in NAMED]
# Texts that only lines of a boot have: of its begin, of its two ends, and of the server's removal
MARKS = {
    "begun": [
        "Starting instance...", "Claim successful on node", "Attempting claim", "Selected host: ",
        "block_device_mapping [", "Going to run ",
    ],
    "built": ["seconds to build instance"],
    "failed": [
        "to ERROR state", "failed to spawn", "Failed to build and run instance", "Instance build failed",
        "Failed to schedule instances", "Failed to allocate the network", "Failed to compute_task_build_instances",
        "Failed to provision instance", "Build of instance",
    ],
    "deleted": ["Terminating instance"],
}  # fmt: skip
# Nova's own line of a request, and eventlet's
ASKED = ('/servers" status: 202', '/servers HTTP/1.1" status: 202')
TEXTS = sorted({*ASKED, *(text for texts in MARKS.values() for text in texts)})
# The calls of other services have requests of their own.
WORKERS = working_on_boots()
# No boot takes a day: a line further from the others is of a host whose clock is wrong.
FAR = 86400
# Kinds that belong to one boot alone, and those that others use too
OWN, SHARED = ("port", "tap", "volume"), ("image", "network", "subnet")


def line_of(parsed, text, host, service):
    """The line of a text: its ids and marks."""
    ids = {}
    for kind, pattern in NAMED:
        for match in pattern.finditer(text):
            ids.setdefault(kind, []).extend(filter(None, match.groups()))
    marks = [mark for mark, texts in MARKS.items() if any(text in parsed.text for text in texts)]
    http = parsed.http
    path = http.path.partition("?")[0] if http else ""
    if http and http.method == "POST" and path.endswith("/servers") and parsed.requests:
        marks.append("asked" if http.status in (None, 202) else "refused")
    if http and http.method == "DELETE" and re.search(rf"/servers/{UUID}$", path):
        marks.append("deleted")
    return {
        "at": parsed.at,
        "host": host,
        "service": service,
        "requests": list(parsed.requests),
        "ids": {kind: sorted(set(texts)) for kind, texts in ids.items()},
        "marks": marks,
        "seconds": (http and http.seconds) or 0,
        "http": http_of(http) if http else None,
        "owner": owner_of(text),
        "failed": parsed.failed,
        "names": sorted(set(line_formats.REQUEST.findall(parsed.text)) - set(parsed.requests)),
    }


def http_of(http):
    """What was asked and answered. The query of a path is left out: it may hold a secret."""
    return {"method": http.method, "path": http.path.partition("?")[0][:300], "status": http.status}


def owner_of(text):
    """(user, project) for whom a line was logged, or None."""
    match = OWNER.search(text[: line_formats.LONGEST])
    return match.groups() if match and match["user"] not in ("-", "None") else None


def own_request(line):
    """The request of Nova that a line belongs to: the last one, as a request that the client gave stands before it."""
    return line["requests"][-1] if line["requests"] and line["service"] in WORKERS else None


def boots_in(lines):
    """The boots that lines tell of, by the time at which they began."""
    by_request = {}
    for line in lines:
        request = own_request(line)
        if request and line["marks"]:
            by_request.setdefault(request, []).append(line)
    boots = []
    for request, of_request in by_request.items():
        if has_boot(of_request):
            servers = by_server(of_request)
            for server, of_server in (servers or {None: of_request}).items():
                boots.append(boot_of(request, of_request, server, of_server, max(0, len(servers) - 1)))
    return sorted(boots, key=lambda boot: (boot["at"], boot["server"] or ""))


def marks_of(lines):
    return {mark for line in lines for mark in line["marks"]}


def has_boot(lines):
    """Whether the lines of a request are of a boot. A mark of a failure is not enough: a deletion fails, too."""
    if marks_of(lines) & {"asked", "begun", "built", "refused"}:
        return True
    return any(line["service"] == "nova-conductor" for line in lines)


def by_server(lines):
    servers = {}
    for line in lines:
        for server in line["ids"].get("server", []):
            servers.setdefault(server, []).append(line)
    return servers


def boot_of(request, of_request, server, of_server, siblings):
    clients = {client for line in of_request for client in line["requests"][:-1]}
    near, _far = near_and_far(of_request)
    return {
        "request": request,
        "client": min(clients, default=None),
        "server": server,
        "at": min(line["at"] - line["seconds"] for line in near),
        "outcome": outcome_of(marks_of(of_server)),
        "siblings": siblings,
    }


def outcome_of(marks):
    if "built" in marks:
        return "built"
    return "failed" if marks & {"failed", "refused"} else None


def grown(keys, lines):
    """The keys of a boot with the ids that lines name beside one of them; shared ids are used by other boots, too.

    keys: kind to set of texts. A line counts if it has the boot's request or names its server.
    """
    more = {kind: set(texts) for kind, texts in keys.items()}
    for kind in ("request", "server", *OWN, "shared"):
        more.setdefault(kind, set())
    for line in lines:
        servers = set(line["ids"].get("server", []))
        of_server = bool(servers & more["server"])
        if servers and more["server"] and not of_server:
            continue  # the line is about another server
        if not of_server and not set(line["requests"]) & more["request"]:
            continue
        for kind in OWN:
            more[kind].update(line["ids"].get(kind, []))
        for kind in SHARED:
            more["shared"].update(line["ids"].get(kind, []))
    more["tap"].update(f"tap{port[:11]}" for port in more["port"])
    return more


def named(lines, keys):
    """Kind to the shared id that the lines of the boot name most often."""
    ids = {kind: [] for kind in SHARED}
    for line in lines:
        for kind in SHARED:
            ids[kind] += [text for text in line["ids"].get(kind, []) if text in keys["shared"]]
    return {kind: max(set(texts), key=texts.count) for kind, texts in ids.items() if texts}


def lines_of_boot(lines, keys):
    """The lines of a boot: of its requests, or else of its server."""
    # Lines of the server may be of other requests, long after its boot.
    of_request = [line for line in lines if set(line["requests"]) & keys["request"]]
    return of_request or [line for line in lines if set(line["ids"].get("server", [])) & keys["server"]]


def is_deleted(lines, keys):
    """Whether the server was asked to go: then its boot is over, however far it came."""
    return any("deleted" in line["marks"] and set(line["ids"].get("server", [])) & keys["server"] for line in lines)


def near_and_far(lines):
    """(lines near the median time, lines far from it)"""
    if not lines:
        return [], []
    middle = sorted(line["at"] for line in lines)[len(lines) // 2]
    near = [line for line in lines if abs(line["at"] - middle) <= FAR]
    return near, [line for line in lines if abs(line["at"] - middle) > FAR]


def interval(lines, keys, settling):
    """(begin, end) of a boot: from its request to its last line, and the time in which its effects settle."""
    near, _far = near_and_far(lines_of_boot(lines, keys) or lines)
    first = min(line["at"] - line["seconds"] for line in near)
    last = max(line["at"] for line in near)
    return first, last + settling
