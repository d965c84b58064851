# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the run itself saw, and what the API says: its requests, the states it waited for, Nova's own words."""

from __future__ import annotations

import re

from ..._record.clock import seconds_of
from ..._record.ids import keys_in, stage_of
from ..._record.shapes import event
from .source import Source

# A cut-off second of nova's and neutron's database
WHOLE_SECOND = 1.0
REQUESTED = re.compile(r"^req-[0-9a-f-]{36}$")


def events(run, _reads):
    stages = run.record["stages"]
    found = [from_call(call, stage["stage"], run.keys) for stage in stages for call in stage["calls"]]
    found += [state for stage in stages for state in from_waits(stage, run.keys)]
    return [*found, *from_token(run.record), *from_nova(run.record, run.keys), *from_instance(run.record)]


def from_call(call, stage, keys):
    at, request = seconds_of(call["started"]), call["request_id"]
    mine = keys_in(call["path"], keys)
    if request and REQUESTED.match(request):
        mine["request" if request in keys.get("request", ()) else "asked"] = [request]
    return event(
        at,
        call["service"],
        "http",
        f"{call['method']} {call['path']}: {call['status'] or 'no answer'}",
        until=at + call["seconds"],
        keys=mine,
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
        )
        for wait in stage["waits"]
        for state in wait["states"]
    ]


def from_token(record):
    auth = stage_of(record, "auth")
    token = auth["details"].get("token")
    text = f"the token is of the kind {token}"
    return [event(seconds_of(auth["started"]), "token", "fact", text, token=token)] if token else []


def from_nova(record, keys):
    """Nova's own events of the server."""
    mine = {"server": keys.get("server", []), "request": keys.get("request", [])}
    return [
        event(
            seconds_of(action["start_time"]),
            "nova",
            "server_event",
            f"nova's event {action['event']}: {action.get('result') or 'under way'}",
            until=seconds_of(action["finish_time"]) if action.get("finish_time") else None,
            keys=mine,
            resolution_s=WHOLE_SECOND,
            event=action["event"],
            result=action.get("result"),
        )
        for action in stage_of(record, "boot")["details"].get("events") or []
        if action.get("start_time")
    ]


def from_instance(record):
    """What the API says of the instance, its ports, and to an administrator of its place."""
    instance = record.get("instance")
    if not instance:
        return []
    server, asked = instance["server"], seconds_of(instance["asked"])
    mine = {"server": [server["id"]]}
    found = [
        event(
            seconds_of(server["created"]), "nova", "fact", "nova's entry of the server", keys=mine,
            resolution_s=WHOLE_SECOND, fact="created",
        )
    ]  # fmt: skip
    for port in instance["ports"]:
        about = {**mine, "port": [port["id"]]}
        fields = {"status": port.get("status"), "binding": port.get("kind"), "on": port.get("host")}
        if port.get("created"):
            found.append(
                event(
                    seconds_of(port["created"]), "neutron", "fact", "neutron's entry of the port", keys=about,
                    resolution_s=WHOLE_SECOND, fact="port created",
                )
            )  # fmt: skip
        at = seconds_of(port["updated"]) if port.get("updated") else asked
        text = f"the port is {port.get('status')} in revision {port.get('revision')}"
        found.append(
            event(at, "neutron", "fact", text, keys=about, resolution_s=WHOLE_SECOND, fact="port state", **fields)
        )
    if instance.get("allocations"):
        text = "placement holds an allocation for the server"
        found.append(event(asked, "placement", "fact", text, keys=mine, fact="allocation", timeless=True))
    return found


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
        "fact",
    ),
    events=events,
    to_see=to_see,
)
