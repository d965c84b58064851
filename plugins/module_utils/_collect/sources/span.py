# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The spans of the boot's trace, as OSProfiler has kept them (stackproof_profiler_key)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..._model.event import Event
from ..._model.record import Record, SpanAccount
from ..._model.words import StageName
from .source import Context, JsonObject, Rule, Source

FIELDS = ("method", "path", "function", "verb", "table")


def wanted(record: Record) -> JsonObject:
    return {
        "trace": record.stage_or_skipped(StageName.BOOT).details.get("trace")
    }


def events(run: Context, reads: JsonObject) -> list[Event]:
    trace = wanted(run.record)["trace"]
    names = run.record.hosts_by_name
    found: list[Event] = []
    for read_on, read in reads.items():
        if not read:
            continue
        for span in read.get("spans") or []:
            host = names.get(span["host"], span["host"] or read_on)
            found.append(from_span(span, trace, host))
    return found


def from_span(span: JsonObject, trace: str, host: str) -> Event:
    """Return a span, which has the clock of its own host."""
    return Event(
        span["at"],
        span["service"],
        span["kind"],
        text_of(span),
        until=span.get("until"),
        host=host,
        clock=host,
        source="span",
        keys={"trace": [trace]},
        fields={
            name: span[name]
            for name in ("caller", "name", *FIELDS)
            if name in span
        },
    )


def text_of(span: JsonObject) -> str:
    details = filter(None, (span.get(name) for name in FIELDS))
    text = " ".join([span["name"] or "span", *details])
    if span["kind"] == "http" and span["caller"]:
        return f"{text}, asked by {span['caller']}"
    return text


def to_see(
    _rule: Rule, _levels: Mapping[str, Any], _services: Iterable[str]
) -> str | None:
    return "OSProfiler (stackproof_profiler_key)"


def account(reads: JsonObject) -> tuple[SpanAccount, ...]:
    """Return the number of spans that were read on the host that was asked, or the reason why there are none."""
    return tuple(
        SpanAccount(host, len(read.get("spans") or []), read.get("msg"))
        for host, read in sorted(reads.items())
        if read and not read.get("skipped")
    )


SOURCE = Source(
    name="span",
    tier=3,
    words="a span of OSProfiler, of {}",
    fields=("caller", *FIELDS),
    events=events,
    to_see=to_see,
    variable="stackproof_spans",
    wanted=wanted,
    account=account,
    filed_as="spans",
)
