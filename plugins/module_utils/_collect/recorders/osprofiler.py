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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Optional

from ..._record.clock import seconds_of

KINDS = {"wsgi": "http", "rpc": "rpc", "db": "db", "neutron.db": "db"}
# Names of the client's side of a request; the span of the server has the same request
PASSED = ("neutron_api",)
NAME = re.compile(r"^[\w.@:-]{1,120}$")
VERB = re.compile(r"^\s*(SELECT|INSERT|UPDATE|DELETE)\b", re.IGNORECASE)
TABLE = re.compile(r"\b(?:FROM|INTO|UPDATE)\s+[`\"]?(\w{1,64})", re.IGNORECASE)
LONGEST = 300
PAYLOAD = "meta.raw_payload."

# A span as OSProfiler reports it
Info = Mapping[str, Any]


@dataclass(frozen=True)
class Span:
    """A span. caller: the service that has it made. at, until: in seconds since the epoch, by the clock of its host."""

    name: Optional[str]
    kind: str
    service: str
    host: Optional[str]
    caller: Optional[str]
    at: float
    until: Optional[float]


@dataclass(frozen=True)
class RequestSpan(Span):
    method: Optional[str]
    path: str


@dataclass(frozen=True)
class CallSpan(Span):
    function: Optional[str]


@dataclass(frozen=True)
class StatementSpan(Span):
    verb: Optional[str]
    table: Optional[str]


def headers(key: str, trace: str) -> dict[str, str]:
    """Return the headers that name the trace of a request, signed with a key of OSProfiler's middleware."""
    packed = base64.urlsafe_b64encode(
        json.dumps({"base_id": trace, "parent_id": trace}).encode()
    )
    signature = hmac.new(key.encode(), packed, hashlib.sha1).hexdigest()
    return {"X-Trace-Info": packed.decode(), "X-Trace-HMAC": signature}


def read(report: Mapping[str, Any]) -> list[Span]:
    """Return the spans of a report of OSProfiler, in the order in which they began."""
    spans: list[Span] = []
    looked_up = set()
    for span in sorted(timed(report), key=began):
        # Hundreds of equal reads show no more than the first.
        if isinstance(span, StatementSpan) and span.verb == "SELECT":
            lookup = (span.service, span.table)
            if lookup in looked_up:
                continue
            looked_up.add(lookup)
        spans.append(span)
    return spans


def timed(report: Mapping[str, Any]) -> Iterator[Span]:
    for info, parent in walk(report.get("children") or []):
        if info["name"] in PASSED:
            continue
        span = span_of(info, parent)
        if span:
            yield span


def began(span: Span) -> float:
    return span.at


def walk(
    nodes: Iterable[Mapping[str, Any]], parent: Info | None = None
) -> Iterator[tuple[Info, Info | None]]:
    """Yield (info, info of the parent or None) of each span."""
    for node in nodes:
        info = node["info"]
        yield info, parent
        yield from walk(node.get("children") or [], info)


def service_of(info: Info) -> str:
    return f"{fitting(info.get('project'))}/{fitting(info.get('service'))}"


def span_of(info: Info, parent: Info | None = None) -> Span | None:
    """Return a span with its harmless fields; None if it has no time."""
    payloads = payloads_of(info)
    start = payloads.get("start")
    if start is None:
        return None
    stop = payloads.get("stop")
    common = Span(
        name=fitting(info.get("name")),
        kind=KINDS.get(info.get("name") or "", "span"),
        service=service_of(info),
        host=fitting(info.get("host")),
        caller=service_of(parent) if parent else None,
        at=seconds_of(start["timestamp"]),
        until=seconds_of(stop["timestamp"]) if stop else None,
    )
    return with_details(common, start.get("info") or {})


def payloads_of(info: Info) -> dict[str, Mapping[str, Any]]:
    """Return what OSProfiler has noted at the start and at the stop of a span."""
    payloads = {}
    for key, payload in info.items():
        if payload and key.startswith(PAYLOAD):
            payloads[key.rpartition("-")[2]] = payload
    return payloads


def with_details(span: Span, details: Mapping[str, Any]) -> Span:
    """Return a span with what its kind has besides."""
    common = vars(span)
    if "db" in details:
        statement = str(details["db"].get("statement"))
        verb, table = VERB.search(statement), TABLE.search(statement)
        return StatementSpan(
            **common,
            verb=verb[1].upper() if verb else None,
            table=table[1] if table else None,
        )
    if "function" in details:
        return CallSpan(
            **common, function=fitting(details["function"].get("name"))
        )
    if "request" in details:
        request = details["request"]
        return RequestSpan(
            **common,
            method=fitting(request.get("method")),
            path=str(request.get("path"))[:LONGEST],
        )
    return span


def fitting(text: Any) -> str | None:
    return text if isinstance(text, str) and NAME.match(text) else None
