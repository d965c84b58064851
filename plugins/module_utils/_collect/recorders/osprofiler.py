# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""OSProfiler: the headers that have a request traced, and the spans of its trace. Pure.

A span shows the verb and the table of a database statement, never a value; and the name of a call, never its arguments.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re

from ..._record.clock import seconds_of

KINDS = {"wsgi": "http", "rpc": "rpc", "db": "db", "neutron.db": "db"}
# Names of the client's side of a request; the span of the server has the same request
PASSED = ("neutron_api",)
NAME = re.compile(r"^[\w.@:-]{1,120}$")
VERB = re.compile(r"^\s*(SELECT|INSERT|UPDATE|DELETE)\b", re.IGNORECASE)
TABLE = re.compile(r"\b(?:FROM|INTO|UPDATE)\s+[`\"]?(\w{1,64})", re.IGNORECASE)
LONGEST = 300


def headers(key, trace):
    """The headers that name the trace of a request, signed with a key of OSProfiler's middleware."""
    packed = base64.urlsafe_b64encode(json.dumps({"base_id": trace, "parent_id": trace}).encode())
    signature = hmac.new(key.encode(), packed, hashlib.sha1).hexdigest()
    return {"X-Trace-Info": packed.decode(), "X-Trace-HMAC": signature}


def read(report):
    """The spans of a report of OSProfiler, in the order in which they began."""
    nodes = walk(report.get("children") or [])
    timed = filter(None, (span_of(info, parent) for info, parent in nodes if info["name"] not in PASSED))
    spans, looked_up = [], set()
    for span in sorted(timed, key=lambda span: span["at"]):
        # Hundreds of equal reads show no more than the first.
        if span.get("verb") == "SELECT":
            lookup = (span["service"], span["table"])
            if lookup in looked_up:
                continue
            looked_up.add(lookup)
        spans.append(span)
    return spans


def walk(nodes, parent=None):
    """(info, info of the parent or None) of each span."""
    for node in nodes:
        yield node["info"], parent
        yield from walk(node.get("children") or [], node["info"])


def service_of(info):
    return f"{fitting(info.get('project'))}/{fitting(info.get('service'))}"


def span_of(info, parent=None):
    """A span with its harmless fields; None if it has no time."""
    payloads = ((key, payload) for key, payload in info.items() if key.startswith("meta.raw_payload."))
    raw = {key.rpartition("-")[2]: payload for key, payload in payloads if payload}
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
