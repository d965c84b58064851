# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read from Nova how a server is, and what it has done for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from .._cloud.connection import answer_of
from .._cloud.errors import CLOUD_ERRORS
from .._model import codec
from .._model.details import ServerEvent

POWER: Mapping[Any, str] = {
    0: "no state",
    1: "running",
    3: "paused",
    4: "shut down",
    6: "crashed",
    7: "suspended",
}
# An operation has some five events.
MOST_EVENTS = 100
# Since this version users see the events with the host's hash.
EVENTS_SINCE = "2.62"
# What reading them may raise. An operation is judged without them, too.
UNREADABLE: tuple[type[BaseException], ...] = (
    *CLOUD_ERRORS,
    ValueError,
    KeyError,
)

# An answer of Nova, or a part of one
JsonObject = dict[str, Any]


@dataclass(frozen=True)
class EventAnswer(ServerEvent):
    """An event as Nova answers it."""

    host_id: Annotated[str | None, codec.Key("hostId")] = None


def read(nova: Any, identity: str) -> JsonObject:
    server: JsonObject = answer_of(nova.get(f"/servers/{identity}"))["server"]
    return server


def state_of(server: JsonObject) -> str:
    """Return status, task and power state as one short text."""
    task, power = (
        server.get("OS-EXT-STS:task_state"),
        server.get("OS-EXT-STS:power_state"),
    )
    parts = (server["status"], task, POWER.get(power, f"power {power}"))
    return ", ".join(filter(None, parts))


def is_busy(server: Mapping[str, Any]) -> bool:
    """Return whether something is being done with a server that has a task for it."""
    return server.get("OS-EXT-STS:task_state") is not None


def events_of(
    nova: Any, identity: str, request_id: str | None
) -> tuple[ServerEvent, ...]:
    """Return the events of an operation on a server, as far as Nova shows them to this user."""
    try:
        answer = nova.get(
            f"/servers/{identity}/os-instance-actions/{request_id}",
            microversion=EVENTS_SINCE,
        )
        if answer.status_code != 200:
            return ()
        events = answer.json()["instanceAction"].get("events") or []
        return tuple(event_of(event) for event in events[:MOST_EVENTS])
    except UNREADABLE:
        return ()


def event_of(answer: Any) -> ServerEvent:
    return ServerEvent(**vars(codec.from_json(EventAnswer, answer, "event")))
