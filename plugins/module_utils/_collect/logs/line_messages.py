# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parse the messages of services that are about a request of HTTP or about a message on the queue. Pure."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Optional
from urllib.parse import unquote

from ..._model.codec import omitted

# In characters of a path, and of a query
LONGEST_PATH = 300
LONGEST_QUERY = 2000
# The prefix of IPv4 addresses of a server that listens on IPv6 too
MAPPED = "::ffff:"
# Request lines inside a message of oslo.log: Nova's and Placement's own, eventlet's, and Cinder's two
HTTP = [
    re.compile(
        r'^(?P<client>[^ ,]+)(?:,\S*)? "(?P<method>[A-Z]+) (?P<path>\S+)(?: HTTP/[\d.]+)?" status: (?P<status>\d{3})'
        r"(?:.*? time: (?P<seconds>\d+\.\d+))?"
    ),
    re.compile(
        r'^(?P<client>[^ ,]+)(?:,\S*)? - - \[[^]]*\] "(?P<method>[A-Z]+) (?P<path>\S+) HTTP/[\d.]+" '
        r"(?:status: )?(?P<status>\d{3})\s+(?:len: )?\S+\s+(?:time: )?(?P<seconds>\d+\.\d+)"
    ),
    re.compile(
        r"^(?P<method>GET|POST|PUT|PATCH|DELETE|HEAD) https?://[^/\s]+(?P<path>/\S*)"
    ),
    re.compile(
        r"^https?://[^/\s]+(?P<path>/\S*) returned with HTTP (?P<status>\d{3})"
    ),
]
MESSAGE_ID = r"(?P<message>[0-9a-f]{32}|[0-9a-f-]{36})"
RPC = [
    (
        "method",
        re.compile(
            r"^Calling RPC method (?P<method>\w+) on target (?P<topic>[\w.@-]+)"
        ),
    ),
    (
        "notify",
        re.compile(
            rf"^CAST unique_id: {MESSAGE_ID} NOTIFY exchange '[^']*' topic '(?P<topic>[^']+)'"
        ),
    ),
    (
        "cast",
        re.compile(
            rf"^CAST unique_id: {MESSAGE_ID} (?:exchange '[^']*' topic|FANOUT topic) '(?P<topic>[^']+)'"
        ),
    ),
    (
        "call",
        re.compile(
            rf"^CALL msg_id: {MESSAGE_ID} exchange '[^']*' topic '(?P<topic>[^']+)'"
        ),
    ),
    (
        "received",
        re.compile(
            rf"^received message (?:with unique_id|msg_id): {MESSAGE_ID}"
        ),
    ),
    (
        "taken",
        re.compile(
            rf"^Receive incoming message with id {MESSAGE_ID} and method: (?P<method>\w+)"
        ),
    ),
    ("reply", re.compile(rf"^sending reply msg_id: {MESSAGE_ID}")),
    (
        "replied",
        re.compile(
            rf"^Replied success message with id {MESSAGE_ID} and method: (?P<method>\w+)"
        ),
    ),
    ("answered", re.compile(rf"^received reply msg_id: {MESSAGE_ID}")),
]
# A word of a query that may be shown: a name, not a secret
PLAIN = re.compile(r"^[a-z_]{1,32}(?::[a-z_]{1,32})?$")
# What Nova asks Placement for: amounts of resource classes, and traits. Both have public names.
CANDIDATES = "/allocation_candidates"
CLASS = r"!?[A-Z0-9_]+(?::\d+)?"
CLASSES = re.compile(
    rf"(?:root_)?(?:resources|required)[A-Za-z0-9_-]{{0,64}}={CLASS}(?:,{CLASS})*"
)


@dataclass(frozen=True)
class HttpRequest:
    """A request that a server has answered. seconds: how long that took. began: whether the line has its begin."""

    method: Optional[str]
    path: str
    status: Optional[int]
    client: Optional[str]
    seconds: Optional[float]
    began: bool = omitted(False)


@dataclass(frozen=True)
class QueueMessage:
    """A message on the queue. action: one of RPC, what became of it. message: its id."""

    action: str
    method: Optional[str] = omitted()
    topic: Optional[str] = omitted()
    message: Optional[str] = omitted()


def message_in(text: str) -> QueueMessage | None:
    """Return the message on the queue that a line of oslo.messaging is about."""
    for action, pattern in RPC:
        match = pattern.match(text)
        if match:
            return QueueMessage(action, **match.groupdict())
    return None


def request_in(text: str) -> HttpRequest | None:
    """Return the request that the message of a line is about."""
    for pattern in HTTP:
        match = pattern.match(text)
        if match:
            return http_request(match.groupdict())
    return None


def http_request(
    texts: Mapping[str, str | None], began: bool = False
) -> HttpRequest:
    """Return a request out of the groups of a pattern."""
    status = texts.get("status")
    client = texts.get("client")
    return HttpRequest(
        method=texts.get("method"),
        path=texts.get("path") or "",
        status=int(status) if status else None,
        client=client[len(MAPPED) :]
        if client and client.startswith(MAPPED)
        else client,
        seconds=seconds_in(texts),
        began=began,
    )


def seconds_in(texts: Mapping[str, str | None]) -> float | None:
    seconds = texts.get("seconds")
    if seconds is not None:
        return float(seconds)
    milliseconds = texts.get("msecs")
    return int(milliseconds) / 1000 if milliseconds else None


def masked_path(path: str, ids: Container[str]) -> str:
    """Return a path whose query shows only ids of the run and plain names: anything else could be a secret."""
    path, mark, query = path.partition("?")
    path = path[:LONGEST_PATH]
    if not mark:
        return path
    words = []
    for pair in query[:LONGEST_QUERY].split("&"):
        if path.endswith(CANDIDATES) and CLASSES.fullmatch(unquote(pair)):
            words.append(unquote(pair))
            continue
        name, _equals, value = pair.partition("=")
        if is_plain(name):
            words.append(
                f"{name}={value if value in ids or is_plain(value) else '*'}"
            )
    return f"{path}?{'&'.join(words)}"


def is_plain(word: str) -> bool:
    return bool(PLAIN.match(word.replace("%3A", ":")))
