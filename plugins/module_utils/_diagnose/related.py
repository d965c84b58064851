# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which ids belong to one boot, by the lines that name two of them, and which boots there were. Pure.

What is known of a line (told): at, host, service, requests, ids (kind to texts), marks, seconds.
"""

from __future__ import annotations

import re

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
# How services name what they work on. "id" stands for any of these ids.
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
# What only a boot says, and how it ends. The texts are looked for in lines without an id that is known, too.
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
}  # fmt: skip
ASKED = '/servers" status: 202'
TEXTS = sorted({ASKED, *(text for texts in MARKS.values() for text in texts)})
# These work for one boot at a time, by its own request; what others ask of it has a request of its own.
WORKERS = ("nova-conductor", "nova-scheduler", "nova-compute", "nova-api")
# No boot takes a day. A line further from the others is of a host whose clock is wrong.
FAR = 86400
# Kinds that belong to one boot alone, and those that others use too
OWN, SHARED = ("port", "tap", "volume"), ("image", "network", "subnet")


def told(parsed, line, host, service):
    """What a line says of ids: all that is kept of it here."""
    ids = {}
    for kind, pattern in NAMED:
        for match in pattern.finditer(line):
            ids.setdefault(kind, []).extend(one for one in match.groups() if one)
    marks = [mark for mark, texts in MARKS.items() if any(text in parsed["text"] for text in texts)]
    http = parsed.get("http") or {}
    if http.get("method") == "POST" and http["path"].partition("?")[0].endswith("/servers") and parsed["requests"]:
        marks.append("asked" if http.get("status") in (None, 202) else "refused")
    return {
        "at": parsed["at"],
        "host": host,
        "service": service,
        "requests": parsed["requests"],
        "ids": {kind: sorted(set(texts)) for kind, texts in ids.items()},
        "marks": marks,
        "seconds": http.get("seconds") or 0,
    }


def own_request(line):
    """The request of Nova that a line is of: behind the one that its client gave, if it gave one."""
    return line["requests"][-1] if line["requests"] and line["service"] in WORKERS else None


def boots_in(lines):
    """The boots that lines tell of, by the time at which they began."""
    found = {}
    for line in lines:
        request = own_request(line)
        if not request or not line["marks"]:
            continue
        one = found.setdefault(request, {"request": request, "clients": set(), "servers": {}, "lines": []})
        one["clients"].update(line["requests"][:-1])
        one["lines"].append(line)
        for server in line["ids"].get("server", []):
            one["servers"].setdefault(server, []).append(line)
    boots = []
    for one in found.values():
        # A request that has only failed at something is no boot: a deletion fails, too.
        if {"asked", "begun", "built", "refused"} & {mark for line in one["lines"] for mark in line["marks"]} or any(
            line["service"] == "nova-conductor" for line in one["lines"]
        ):
            for server, its in (one["servers"] or {None: one["lines"]}).items():
                boots.append(boot(one, server, its))
    return sorted(boots, key=lambda one: (one["at"], one["server"] or ""))


def boot(one, server, lines):
    marks = {mark for line in lines for mark in line["marks"]}
    outcome = "built" if "built" in marks else "failed" if marks & {"failed", "refused"} else None
    return {
        "request": one["request"],
        "client": next(iter(sorted(one["clients"])), None),
        "server": server,
        "at": min(line["at"] - line["seconds"] for line in apart(one["lines"])[0]),
        "outcome": outcome,
        "siblings": len(one["servers"]) - 1 if server else 0,
    }


def grown(keys, lines):
    """The keys of a boot with those that lines name beside one of them; shared is what other boots use too.

    keys: kind to set of texts. A line counts if it is of the boot's request, or names its server.
    """
    more = {kind: set(texts) for kind, texts in keys.items()}
    for kind in ("request", "server", *OWN, "shared"):
        more.setdefault(kind, set())
    for line in lines:
        servers = set(line["ids"].get("server", []))
        mine = bool(servers & more["server"])
        if servers and not mine and more["server"]:
            continue  # it is about another one
        if not mine and not set(line["requests"]) & more["request"]:
            continue
        for kind in OWN:
            more[kind].update(line["ids"].get(kind, []))
        for kind in SHARED:
            more["shared"].update(line["ids"].get(kind, []))
    more["tap"].update(f"tap{port[:11]}" for port in more["port"])
    return more


def named(lines, keys):
    """The things that other boots use too, each kind apart, as the lines of the boot name them."""
    found = {kind: [] for kind in SHARED}
    for line in lines:
        for kind in SHARED:
            found[kind] += [text for text in line["ids"].get(kind, []) if text in keys["shared"]]
    return {kind: max(set(texts), key=texts.count) for kind, texts in found.items() if texts}


def about(lines, keys):
    """The lines of a boot: of its requests, or else of its server."""
    of_request = [line for line in lines if set(line["requests"]) & keys["request"]]
    # What is done to a server long after its boot is of other requests.
    return of_request or [line for line in lines if set(line["ids"].get("server", [])) & keys["server"]]


def apart(lines):
    """(lines near the middle one of all, lines far from it)"""
    middle = sorted(line["at"] for line in lines)[len(lines) // 2]
    near = [line for line in lines if abs(line["at"] - middle) <= FAR]
    return near, [line for line in lines if abs(line["at"] - middle) > FAR]


def span(lines, keys, settling):
    """(first, last) of a boot: from the request, to the last line of it and what may come of it shortly after."""
    near, _far = apart(about(lines, keys))
    first = min(line["at"] - line["seconds"] for line in near)
    last = max(line["at"] for line in near)
    return first, last + settling
