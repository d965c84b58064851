# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Follow one run through its flows: what to look for on the hosts, and what the run's record says of it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from .._collect.sources import SOURCES
from .._model.chain import Link, LinkState
from .._model.codec import iso_of
from .._model.event import Event
from .._model.flow import FollowedFlow
from .._model.flow_definition import Flow
from .._model.operation import CREATED
from .._model.record import Record
from .._model.words import StageName
from .._record.clock import now, seconds_of
from .._record.ids import keys_of
from . import legs
from .events import Reads, of_run
from .expressions import search
from .matcher import Matcher
from .run_facts import boots_of, facts_of, names_of
from .scope import ReadLog, Scope
from .status import coverage
from .wanted import looks_back, wanted_in_logs
from .wanted import wanted as texts_in_logs

# Returns the scope of a run by its record, its events and what was read on the hosts
ScopeOf = Callable[[Record, Sequence[Event], Reads], Scope]

# In seconds: how long after a removal agents may still be at work
TIDYING = 5
# The time in which an operation that has ended still shows in logs, in seconds
SETTLING = 60
# The fields of events.jsonl that only some events have
FIELDS = sorted(
    set(chain.from_iterable(source.fields for source in SOURCES.values()))
)


def wanted(record: Record, flows: Sequence[Flow]) -> dict[str, Any]:
    """Return all that is looked for on the hosts, with times by the control node's clock."""
    own_flows = all_flows_of(record, flows)
    by_sources: dict[str, Any] = {}
    for source in SOURCES.values():
        by_sources.update(source.wanted(record))
    texts = texts_in_logs(own_flows)
    in_logs = wanted_in_logs(
        keys_of(record),
        texts,
        begin_of_logs(record),
        end_of_logs(record),
        looks_back(own_flows),
    )
    return {**by_sources, **in_logs}


def begin_of_logs(record: Record) -> float:
    """Return from when on logs are read: the begin of the run, or the time that was given with an operation."""
    return (
        record.operation.range(record.started)[0]
        if record.operation
        else record.started
    )


def end_of_logs(record: Record) -> float:
    """Return up to when logs are read: now, or when an operation that was asked about had its last effects."""
    operation, asked = record.operation, seconds_of(now())
    if operation is None:
        return asked
    # One that is under way ends when it was asked about, and its logs are read a moment later.
    return min(
        asked,
        operation.end + SETTLING
        if operation.until is None
        else operation.until,
    )


def flows_of(record: Record, flows: Iterable[Flow]) -> list[Flow]:
    """Return the flows of a run, or those of its removal; of an action that was asked about, those of that action."""
    if record.operation and record.operation.action != CREATED:
        return legs.flows_asked_about(record.operation, flows)
    return [
        flow
        for flow in flows
        if not flow.actions
        and (flow.stage is StageName.REMOVAL) == record.is_removal
    ]


def all_flows_of(record: Record, flows: Iterable[Flow]) -> list[Flow]:
    """Return the flows of a run and of the operations on its server."""
    known = list(flows)
    done = legs.followed_legs(record, known)
    return [*flows_of(record, known), *(leg.flow for leg in done)]


def scope_of(record: Record, events: Sequence[Event], reads: Reads) -> Scope:
    """Return what the record of a run shows besides its events."""
    began = record.started
    of_removal = record.is_removal
    # Agents still tidy up when the API has nothing more to remove.
    ending = [
        event
        for event in events
        if of_removal or event.source in ("api", "host")
    ]
    return Scope(
        names=names_of(record),
        facts=facts_of(record),
        logs=logs_in(reads.get("log") or {}),
        began=began,
        ended=max([began, *(event.end for event in ending)]),
        other_boots=boots_of(record),
        settled=settled_at(record),
        links=links_in(record),
        watched=record.operation is None,
        # What happened outside of the time range that was given is in no line that was read.
        complete=not (record.operation and record.operation.leaves_out(began)),
    )


def links_in(record: Record) -> dict[str, Link]:
    """Return the links of the run's chains that hold, and the first broken one of each: the others follow from it."""
    found: dict[str, Link] = {}
    for walked in record.known_chains:
        first = walked.broken
        known = [
            link
            for link in walked.links
            if link.state is LinkState.HOLDS or link is first
        ]
        found.update({link.code: link for link in known})
    return found


def settled_at(record: Record) -> float:
    """Return the time from which effects may come after the logs were read.

    The logs of a removal are read as soon as the API has nothing more to remove.
    """
    if (
        record.is_removal
        and record.removal
        and record.removal.finished is not None
    ):
        return record.removal.finished - TIDYING
    return math.inf


def follow(
    record: Record,
    flows: Iterable[Flow],
    reads: Reads,
    scope_of: ScopeOf = scope_of,
) -> tuple[list[FollowedFlow], list[Event]]:
    """Return the flows with what became of their steps, and all events.

    scope_of: what is known besides the events; of a boot that only logs show, its record does not have it.
    """
    events = of_run(record, reads)
    return steps_by(events, record, flows, reads, scope_of), events


def steps_by(
    events: Sequence[Event],
    record: Record,
    flows: Iterable[Flow],
    reads: Reads,
    scope_of: ScopeOf = scope_of,
) -> list[FollowedFlow]:
    """Return the flows with what became of their steps, by events that are known."""
    known = list(flows)
    scope = scope_of(record, events, reads)
    results = followed(flows_of(record, known), Matcher(events, scope))
    for leg in legs.followed_legs(record, known):
        matcher = Matcher(leg.events(events), leg.scope(scope))
        results.append(follow_one(leg.flow, matcher))
    return results


def logs_in(reads: Reads) -> list[ReadLog]:
    """Return the logs that were read. reads: host to what was read there."""
    logs: list[ReadLog] = []
    for host, read in reads.items():
        logs += [
            ReadLog.from_json(host, source)
            for source in (read or {}).get("sources") or []
        ]
    return logs


def followed(flows: Iterable[Flow], matcher: Matcher) -> list[FollowedFlow]:
    """Return the flows of a run. One that is shown on a condition, which holds, stands before its like."""
    results: list[FollowedFlow] = []
    for flow in flows:
        result = follow_one(flow, matcher)
        place = index_of_like(result, results) if flow.shown_when else None
        if place is None:
            results.append(result)
        else:
            results[place] = replace(results[place], shown_as=None)
            results.insert(place, result)
    return results


def index_of_like(
    result: FollowedFlow, results: Sequence[FollowedFlow]
) -> int | None:
    """Return the place of the flow that a page would show where it has to show this one."""
    if result.shown_as is None:
        return None
    return next(
        (
            place
            for place, other in enumerate(results)
            if other.shown_as == result.shown_as
        ),
        None,
    )


def follow_one(flow: Flow, matcher: Matcher) -> FollowedFlow:
    steps, others = matcher.match(flow)
    is_shown = flow.shown_when is None or search(
        flow.shown_when, matcher.scope.facts
    )
    return FollowedFlow(
        name=flow.name,
        title=flow.title,
        lifelines=flow.lifelines,
        steps=steps,
        coverage=coverage(steps, flow.counted),
        judged=flow.judged,
        shown_as=flow.shown_as if is_shown else None,
        parts=flow.parts,
        concurrent_boots=matcher.rivals,
        others=others,
    )


def accounts(reads: Reads) -> dict[str, Any]:
    """Return fields of the record that say of each source what was read, what was not, and why."""
    fields: dict[str, Any] = {}
    for source in SOURCES.values():
        read = reads.get(source.name) or {}
        rows = source.account(read)
        if not rows and source.filed_as != "logs":
            continue
        if source.filed_as == "sources":
            by_source = fields.setdefault("sources", {})
            by_source[source.name] = rows
        else:
            fields[source.filed_as] = rows
    return fields


def kept(events: Iterable[Event]) -> list[Event]:
    """Return the events to keep. One without an id may be anybody's; where it is evidence, the flow has it."""
    return [
        event
        for event in events
        if event.keys or event.source == "api" or event.kind == "error"
    ]


def lines(events: Iterable[Event]) -> Iterator[str]:
    """Return the events as a file has them, one a line, with no fields but those that may be shown."""
    for event in events:
        own = {
            name: event.get(name)
            for name in FIELDS
            if event.get(name) is not None
        }
        yield json.dumps({**common_fields(event), **own}, sort_keys=True)


def common_fields(event: Event) -> dict[str, Any]:
    return {
        "at": iso_of(event.at),
        "until": iso_of(event.until),
        "host": event.host,
        "service": event.service,
        "source": event.source,
        "kind": event.kind,
        "level": event.level and event.level.value,
        "keys": event.keys,
        "text": event.text,
        "resolution_s": event.resolution_s,
        "error_s": event.error_s,
    }
