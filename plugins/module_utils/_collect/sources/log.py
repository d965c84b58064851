# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lines that the services logged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..._model import codec
from ..._model.event import Event
from ..._model.record import HostLogs
from ..._model.words import Level
from ..logs import reader
from .event_text import words_of
from .source import Context, JsonObject, Rule, Source


def read(host: Any, params: JsonObject) -> JsonObject | None:
    """Return the logs of a host; None if the run is not followed. Logs take longer to read than anything else."""
    if not params["wanted"]:
        return None
    patient = host.patient()
    services = params["platform"].get("logs") or []
    logs = reader.read_packed(
        patient, services, params["wanted"], params["offset_s"]
    )
    return {**logs, "unread": patient.unread}


def events(run: Context, reads: JsonObject) -> list[Event]:
    found: list[Event] = []
    for host, read in reads.items():
        found += [
            from_line(logged, host, run.hosts)
            for logged in reader.events_in(read)
        ]
    return found


def from_line(
    logged: JsonObject, host: str, hosts: Mapping[str, str]
) -> Event:
    kind = logged["kind"]
    caller = hosts.get(logged.get("client", ""), logged.get("client"))
    at, until = times_of(logged)
    more = {"caller": caller} if kind == "http" else {}
    return Event.from_host(
        {**logged, **more},
        at=at,
        until=until,
        error_s=0.0,
        host=host,
        source="log",
        clock=host,
        text=words_of(kind, logged, caller),
    )


def times_of(logged: JsonObject) -> tuple[float, float | None]:
    """Return the begin and the end of what a line reports.

    A line with a duration is written at the end, but uwsgi and Apache write the time at which a request began.
    """
    at: float = logged["at"]
    seconds = logged.get("seconds")
    if logged["kind"] == "http" and seconds is not None:
        if logged.get("began"):
            return at, at + seconds
        return at - seconds, at
    if seconds:
        return at - float(seconds), at
    return at, None


def to_see(
    rule: Rule, levels: Mapping[str, Level], services: Iterable[str]
) -> str | None:
    if rule.service not in services:
        return f"the log of {rule.service}"
    if rule.needed_level.rank > levels.get(rule.service, Level.INFO).rank:
        setting = (
            "debug = true"
            if rule.level is Level.DEBUG
            else "oslo.messaging at DEBUG"
        )
        return f"{rule.service} with {setting}"
    return None


def account(reads: JsonObject) -> tuple[HostLogs, ...]:
    """Return the logs that were read on each host, and the reasons why others were not."""
    return tuple(
        account_of(host, read or {}) for host, read in sorted(reads.items())
    )


def account_of(host: str, read: JsonObject) -> HostLogs:
    reason = (
        None if "events" in read else read.get("msg") or "it was not asked"
    )
    files, unread = read.get("sources") or (), read.get("unread") or ()
    known = {
        "host": host,
        "reason": reason,
        "sources": files,
        "unread": unread,
    }
    return codec.from_json(HostLogs, known, f"the logs of {host}")


SOURCE = Source(
    name="log",
    tier=2,
    words="the log of {}",
    fields=(
        "method",
        "path",
        "status",
        "client",
        "caller",
        "seconds",
        "action",
        "topic",
        "message",
        "logger",
        "exception",
        "raised_in",
        "how",
        "peer",
    ),
    events=events,
    to_see=to_see,
    of_others=True,
    read=read,
    returned="logs",
    variable="stackproof_evidence",
    account=account,
    filed_as="logs",
)
