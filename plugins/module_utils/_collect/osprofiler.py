# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""OSProfiler: the headers that have a request traced, and what is told of the spans of its trace. Pure.

Of a statement to a database its verb and its table are told, never a value; of a call its name, never its arguments.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re

from .._record.clock import seconds_of

KINDS = {"wsgi": "http", "rpc": "rpc", "db": "db", "neutron.db": "db"}
# A client's functions around a request, which its server's span tells as well
PASSED = ("neutron_api",)
NAME = re.compile(r"^[\w.@:-]{1,120}$")
VERB = re.compile(r"^\s*(SELECT|INSERT|UPDATE|DELETE)\b", re.IGNORECASE)
TABLE = re.compile(r"\b(?:FROM|INTO|UPDATE)\s+[`\"]?(\w{1,64})", re.IGNORECASE)
LONGEST = 300


def headers(key, trace):
    """What OSProfiler's middleware accepts from who has one of its keys: which trace a request begins."""
    packed = base64.urlsafe_b64encode(json.dumps({"base_id": trace, "parent_id": trace}).encode())
    signature = hmac.new(key.encode(), packed, hashlib.sha1).hexdigest()
    return {"X-Trace-Info": packed.decode(), "X-Trace-HMAC": signature}


def read(report):
    """The spans of a report of OSProfiler's, in the order in which they began."""
    found, looked_up = [], set()
    spans = (told(info, parent) for info, parent in walk(report.get("children") or []) if info["name"] not in PASSED)
    for span in sorted(filter(None, spans), key=lambda one: one["at"]):
        # Hundreds of the same reads tell no more than the first.
        if span.get("verb") == "SELECT":
            again = (span["service"], span["table"])
            if again in looked_up:
                continue
            looked_up.add(again)
        found.append(span)
    return found


def walk(nodes, parent=None):
    """What is known of each span, with that of the span that it is a part of."""
    for node in nodes:
        yield node["info"], parent
        yield from walk(node.get("children") or [], node["info"])


def service_of(info):
    return f"{fitting(info.get('project'))}/{fitting(info.get('service'))}"


def told(info, parent=None):
    """The little that is told of a span; none of one without a time."""
    raw = {key.rpartition("-")[2]: one for key, one in info.items() if key.startswith("meta.raw_payload.") and one}
    if "start" not in raw:
        return None
    more = raw["start"].get("info") or {}
    span = {
        "name": fitting(info.get("name")),
        "kind": KINDS.get(info.get("name"), "span"),
        "service": service_of(info),
        "host": fitting(info.get("host")),
        "caller": parent and service_of(parent),
        "at": seconds_of(raw["start"]["timestamp"]),
        "until": seconds_of(raw["stop"]["timestamp"]) if "stop" in raw else None,
    }
    if "request" in more:
        span.update(method=fitting(more["request"].get("method")), path=str(more["request"].get("path"))[:LONGEST])
    if "function" in more:
        span["function"] = fitting(more["function"].get("name"))
    if "db" in more:
        statement = str(more["db"].get("statement"))
        verb, table = VERB.search(statement), TABLE.search(statement)
        span.update(verb=verb and verb[1].upper(), table=table and table[1])
    return span


def fitting(text):
    return text if isinstance(text, str) and NAME.match(text) else None
