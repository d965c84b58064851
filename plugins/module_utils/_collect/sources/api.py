# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The API: the requests of the run, the states it waited for, Nova's events of the server, and the instance."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..._model.details import JourneyDetails
from ..._model.event import NOVA_EVENTS, Event
from ..._model.instance import Port
from ..._model.record import Record
from ..._model.stage import Call, Stage
from ..._model.words import StageName
from ..._record.clock import seconds_of
from ..._record.ids import keys_in
from ..._record.masking import quote_of
from ..logs import error_text, line_formats
from .source import Context, JsonObject, Rule, Source

# Nova and Neutron give their times in whole seconds.
WHOLE_SECOND = 1.0
NOVA_COMPUTE = "nova-compute"
# OpenStack's own middleware makes these. Another server, such as Ceph's gateway, gives ids of its own.
REQUESTED = re.compile(r"^req-[0-9a-f-]{36}$")

Keys = Mapping[str, list[str]]


def events(run: Context, _reads: JsonObject) -> list[Event]:
    found: list[Event] = []
    for stage in run.record.stages:
        found += (
            from_call(call, stage.stage, run.keys) for call in stage.calls
        )
    for stage in run.record.stages:
        found += from_waits(stage, run.keys)
    found += from_token(run.record)
    found += from_nova(run.record, run.keys)
    found += from_failed_legs(run.record)
    found += from_instance(run.record)
    return found


def from_call(call: Call, stage: StageName, keys: Keys) -> Event:
    request = call.request_id
    call_keys = keys_in(call.path, keys)
    if request and REQUESTED.match(request):
        kind = "request" if request in keys.get("request", ()) else "asked"
        call_keys[kind] = [request]
    own = {
        "method": call.method,
        "path": call.path,
        "status": call.status,
        "seconds": call.seconds,
    }
    return Event(
        call.started,
        call.service or "",
        "http",
        f"{call.method} {call.path}: {call.status or 'no answer'}",
        until=call.started + call.seconds,
        keys=call_keys,
        fields={"stage": stage.value, **own},
    )


def from_waits(stage: Stage, keys: Keys) -> Iterable[Event]:
    server = {"server": keys["server"]} if "server" in keys else {}
    for wait in stage.waits:
        for state in wait.states:
            yield Event(
                state.at,
                stage.stage.value,
                "state",
                f"{wait.awaited}: {state.state}",
                resolution_s=state.resolution_s or 1e-6,
                keys=server,
                fields={"state": state.state, "waited_for": wait.awaited},
            )


def from_token(record: Record) -> Iterable[Event]:
    """Return the kind of the token. Keystone checks one of its own kind without asking anybody."""
    auth = record.stage_or_skipped(StageName.AUTH)
    token = auth.details.get("token")
    if token:
        at = record.started if auth.started is None else auth.started
        yield Event(
            at,
            "token",
            "fact",
            f"the token is of the kind {token}",
            fields={"token": token},
        )


def from_nova(record: Record, keys: Keys) -> Iterable[Event]:
    """Return Nova's own events of the server."""
    server_keys = {
        "server": keys.get("server", []),
        "request": keys.get("request", []),
    }
    for action in (
        record.stage_or_skipped(StageName.BOOT).details.get("events") or []
    ):
        if action.get("start_time"):
            yield from_action(action, server_keys)


def from_action(action: JsonObject, keys: Keys) -> Event:
    finished = action.get("finish_time")
    return Event(
        seconds_of(action["start_time"]),
        "nova",
        "server_event",
        f"nova's event {action['event']}: {action.get('result') or 'under way'}",
        until=seconds_of(finished) if finished else None,
        keys=keys,
        resolution_s=WHOLE_SECOND,
        fields={"event": action["event"], "result": action.get("result")},
    )


def from_failed_legs(record: Record) -> Iterable[Event]:
    """Return why operations after the boot failed, as Nova says. Its log has the same, but often some seconds later."""
    details = record.stage_or_skipped(StageName.JOURNEY).details_as(
        JourneyDetails
    )
    for leg in details.legs if details else ():
        failed = leg.failed
        if failed is None or not failed.is_of_compute:
            continue
        if failed.error and failed.host and failed.finish_time:
            yield Event(
                seconds_of(failed.finish_time),
                NOVA_COMPUTE,
                "error",
                f"nova's event {failed.event}: {failed.result}",
                host=record.hosts_by_name.get(failed.host, failed.host),
                resolution_s=WHOLE_SECOND,
                keys={"request": [leg.request_id]} if leg.request_id else {},
                fields=failure_of(failed.error),
            )


def failure_of(error: str) -> JsonObject:
    return {
        "logger": NOVA_EVENTS,
        "exception": line_formats.exception_in(error),
        **error_text.failure_in(error, NOVA_COMPUTE),
        "quote": quote_of(error),
    }


def from_instance(record: Record) -> Iterable[Event]:
    """Return the server, its ports, and its allocation in placement, which only an administrator sees."""
    instance = record.instance
    if instance is None:
        return
    keys = {"server": [instance.server.id]}
    created, text = (
        seconds_of(instance.server.created),
        "nova's entry of the server",
    )
    yield Event(
        created,
        "nova",
        "fact",
        text,
        keys=keys,
        resolution_s=WHOLE_SECOND,
        fields={"fact": "created"},
    )
    for port in instance.ports:
        yield from from_port(port, keys, instance.queried)
    if instance.allocations:
        text = "placement holds an allocation for the server"
        fields = {"fact": "allocation"}
        yield Event(
            instance.queried,
            "placement",
            "fact",
            text,
            keys=keys,
            timeless=True,
            fields=fields,
        )


def from_port(port: Port, server_keys: Keys, asked: float) -> Iterable[Event]:
    keys = {**server_keys, "port": [port.id]}
    if port.created:
        at, fact = seconds_of(port.created), {"fact": "port created"}
        text = "neutron's entry of the port"
        yield Event(
            at,
            "neutron",
            "fact",
            text,
            keys=keys,
            resolution_s=WHOLE_SECOND,
            fields=fact,
        )
    at = seconds_of(port.updated) if port.updated else asked
    text = f"the port is {port.status} in revision {port.revision}"
    fields = {
        "fact": "port state",
        "status": port.status,
        "binding": port.kind,
        "on": port.host,
    }
    yield Event(
        at,
        "neutron",
        "fact",
        text,
        keys=keys,
        resolution_s=WHOLE_SECOND,
        fields=fields,
    )


def to_see(
    rule: Rule, _levels: Mapping[str, Any], _services: Iterable[str]
) -> str | None:
    return "an administrator's cloud" if rule.tier == 1 else None


SOURCE = Source(
    name="api",
    tier=0,
    words="what the run did or was told, of {}",
    fields=(
        "method",
        "path",
        "status",
        "seconds",
        "state",
        "waited_for",
        "fact",
    ),
    events=events,
    to_see=to_see,
)
