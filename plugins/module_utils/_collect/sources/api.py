# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The API: the requests of the run, the states it waited for, Nova's events of the server, and the instance."""

from __future__ import annotations

import re

from ..._record.clock import seconds_of
from ..._record.ids import keys_in, stage_of
from ..._record.shapes import event
from .source import Source

# Nova's and Neutron's databases cut times to the second.
WHOLE_SECOND = 1.0
REQUESTED = re.compile(r"^req-[0-9a-f-]{36}$")


def events(run, _reads):
    stages = run.record["stages"]
    calls = [from_call(call, stage["stage"], run.keys) for stage in stages for call in stage["calls"]]
    states = [state for stage in stages for state in from_waits(stage, run.keys)]
    return [
        *calls,
        *states,
        *from_token(run.record),
        *from_nova(run.record, run.keys),
        *from_instance(run.record),
    ]


def from_call(call, stage, keys):
    at, request = seconds_of(call["started"]), call["request_id"]
    call_keys = keys_in(call["path"], keys)
    if request and REQUESTED.match(request):
        call_keys["request" if request in keys.get("request", ()) else "asked"] = [request]
    return event(
        at,
        call["service"],
        "http",
        f"{call['method']} {call['path']}: {call['status'] or 'no answer'}",
        until=at + call["seconds"],
        keys=call_keys,
        stage=stage,
        **{name: call[name] for name in ("method", "path", "status", "seconds")},
    )


def from_waits(stage, keys):
    server = {"server": keys["server"]} if "server" in keys else {}
    return [
        event(
            seconds_of(state["at"]),
            stage["stage"],
            "state",
            f"{wait['for']}: {state['state']}",
            resolution_s=state["resolution_s"] or 1e-6,
            keys=server,
            state=state["state"],
            waited_for=wait["for"],
        )
        for wait in stage["waits"]
        for state in wait["states"]
    ]


def from_token(record):
    auth = stage_of(record, "auth")
    token = auth["details"].get("token")
    if not token:
        return []
    return [event(seconds_of(auth["started"]), "token", "fact", f"the token is of the kind {token}", token=token)]


def from_nova(record, keys):
    """Nova's own events of the server."""
    server_keys = {"server": keys.get("server", []), "request": keys.get("request", [])}
    return [
        event(
            seconds_of(action["start_time"]),
            "nova",
            "server_event",
            f"nova's event {action['event']}: {action.get('result') or 'under way'}",
            until=seconds_of(action["finish_time"]) if action.get("finish_time") else None,
            keys=server_keys,
            resolution_s=WHOLE_SECOND,
            event=action["event"],
            result=action.get("result"),
        )
        for action in stage_of(record, "boot")["details"].get("events") or []
        if action.get("start_time")
    ]


def from_instance(record):
    """The server, its ports, and its allocation in placement, which only an administrator sees."""
    instance = record.get("instance")
    if not instance:
        return []
    server, asked = instance["server"], seconds_of(instance["asked"])
    keys = {"server": [server["id"]]}
    created, text = {"resolution_s": WHOLE_SECOND, "fact": "created"}, "nova's entry of the server"
    events = [event(seconds_of(server["created"]), "nova", "fact", text, keys=keys, **created)]
    for port in instance["ports"]:
        events += from_port(port, keys, asked)
    if instance.get("allocations"):
        text = "placement holds an allocation for the server"
        events.append(event(asked, "placement", "fact", text, keys=keys, fact="allocation", timeless=True))
    return events


def from_port(port, server_keys, asked):
    events, about = [], {"keys": {**server_keys, "port": [port["id"]]}, "resolution_s": WHOLE_SECOND}
    if port.get("created"):
        at, text = seconds_of(port["created"]), "neutron's entry of the port"
        events.append(event(at, "neutron", "fact", text, fact="port created", **about))
    at = seconds_of(port["updated"]) if port.get("updated") else asked
    text = f"the port is {port.get('status')} in revision {port.get('revision')}"
    fields = {"status": port.get("status"), "binding": port.get("kind"), "on": port.get("host")}
    return [*events, event(at, "neutron", "fact", text, fact="port state", **fields, **about)]


def to_see(rule, _levels, _services):
    return "an administrator's cloud" if rule.get("tier") == 1 else None


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
