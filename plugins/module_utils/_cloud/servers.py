# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read from Nova how a server is, and what it has done for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

from .._cloud.connection import answer_of
from .._cloud.errors import CLOUD_ERRORS
from .._model import codec
from .._model.details import ServerEvent
from .._record.masking import words_of

POWER: Mapping[Any, str] = {
    0: "no state",
    1: "running",
    3: "paused",
    4: "shut down",
    6: "crashed",
    7: "suspended",
}
GROUPS = "/os-server-groups"
# Since this version a group has one policy, which may be a soft one. In an older one Nova refuses to show such a group.
GROUPS_SINCE = "2.64"
# An operation has some five events.
MOST_EVENTS = 100
# Since the second version users see the events with the host's hash, and since the first one with the reason of a
# failure, if they may.
EVENT_VERSIONS = ("2.84", "2.62")
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
    error: Annotated[str | None, codec.Key("details")] = None


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
    path = f"/servers/{identity}/os-instance-actions/{request_id}"
    try:
        for version in EVENT_VERSIONS:
            answer = nova.get(path, microversion=version)
            if answer.status_code == HTTPStatus.OK:
                events = answer.json()["instanceAction"].get("events") or []
                return tuple(map(event_of, events[:MOST_EVENTS]))
            if answer.status_code != HTTPStatus.NOT_ACCEPTABLE:
                return ()
    except UNREADABLE:
        return ()
    return ()


def event_of(answer: Any) -> ServerEvent:
    event = codec.from_json(EventAnswer, answer, "event")
    error = " ".join(words_of(event.error or "").split())
    return ServerEvent(**{**vars(event), "error": error or None})


def groups_of(nova: Any) -> list[JsonObject]:
    """Return the server groups of this project."""
    answer = nova.get(GROUPS, microversion=GROUPS_SINCE)
    groups: list[JsonObject] = answer_of(answer)["server_groups"]
    return groups
