# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""List what is in a state that does not last, or has failed: servers, volumes, ports and images."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Optional

from ..._cloud.connection import answer_of
from ..._cloud.failures import LOST_IMAGE
from ..._cloud.servers import is_busy, state_of
from ..._model.codec import Key, from_json
from ..._model.stuck import StuckThing
from ..._record.clock import seconds_of
from ..._record.masking import words_of
from .answers import OF_COMPUTE

ERROR, BUILD = "ERROR", "BUILD"
# Servers do not stay in these statuses, and no server keeps a task.
PASSING_SERVER = (
    "BUILD",
    "REBUILD",
    "RESIZE",
    "MIGRATING",
    "REBOOT",
    "HARD_REBOOT",
    "PASSWORD",
)
LASTING_VOLUME = (
    "available",
    "in-use",
    "maintenance",
    "reserved",
    "awaiting-transfer",
)
PASSING_IMAGE = ("queued", "saving", "uploading", "importing")
BINDING_FAILED = "binding_failed"
# The owner of a port of a router has this in its name.
OF_ROUTER = "router"
# How many things one request returns
PAGE = 1000
# Where the listing has no reason, at most this many servers in error are asked for theirs one by one.
MOST_FAULTS = 50

JsonObject = Mapping[str, Any]


@dataclass(frozen=True)
class ServerRow:
    id: str
    name: str
    status: str
    created: str
    updated: str
    project_id: Annotated[str, Key("tenant_id")]
    task: Annotated[Optional[str], Key("OS-EXT-STS:task_state")] = None
    host: Annotated[Optional[str], Key("OS-EXT-SRV-ATTR:host")] = None
    fault: Optional[Mapping[str, Any]] = None


@dataclass(frozen=True)
class VolumeRow:
    id: str
    name: Optional[str]
    status: str
    created: Annotated[str, Key("created_at")]
    updated: Annotated[Optional[str], Key("updated_at")] = None
    project_id: Annotated[
        Optional[str], Key("os-vol-tenant-attr:tenant_id")
    ] = None
    host: Annotated[Optional[str], Key("os-vol-host-attr:host")] = None


@dataclass(frozen=True)
class PortRow:
    id: str
    name: str
    status: str
    owner: Annotated[str, Key("device_owner")]
    device: Annotated[str, Key("device_id")]
    network: Annotated[str, Key("network_id")]
    project_id: str
    updated: Annotated[str, Key("updated_at")]
    host: Annotated[Optional[str], Key("binding:host_id")] = None
    kind: Annotated[Optional[str], Key("binding:vif_type")] = None

    @property
    def diagnosed_by(self) -> str | None:
        """Return the id by which it is diagnosed: its own only if a server has it."""
        if self.owner.startswith(OF_COMPUTE):
            return None
        return self.device if OF_ROUTER in self.owner else self.network


@dataclass(frozen=True)
class ImageRow:
    id: str
    name: Optional[str]
    status: str
    updated: Annotated[str, Key("updated_at")]
    owner: Optional[str] = None


def everything(cloud: Any, all_projects: bool) -> list[StuckThing]:
    """Return all that may be stuck, of the user's project or of all, whatever its age."""
    servers = list(
        pages(cloud.compute, "servers", "/servers/detail", all_projects)
    )
    active = {server["id"] for server in servers if is_settled(server)}
    volumes = pages(
        cloud.block_storage, "volumes", "/volumes/detail", all_projects
    )
    ports = pages(cloud.network, "ports", "/ports")
    images = pages(cloud.image, "images", "/images")
    found = [
        *map(of_server, with_faults(cloud.compute, servers)),
        *map(of_volume, volumes),
        *map(functools.partial(of_port, active), ports),
        *map(of_image, images),
    ]
    return list(filter(None, found))


def pages(
    service: Any, kind: str, path: str, all_projects: bool = False
) -> Iterator[JsonObject]:
    """Yield the things of a listing, page by page. A service may return fewer at once than it is asked for."""
    query: dict[str, Any] = {
        "limit": PAGE,
        **({"all_tenants": 1} if all_projects else {}),
    }
    known: set[str] = set()
    while True:
        page = answer_of(service.get(path, params=query))[kind]
        # One that knows no pages returns the same again.
        new = [thing for thing in page if thing["id"] not in known]
        if not new:
            return
        yield from new
        known.update(thing["id"] for thing in new)
        query["marker"] = page[-1]["id"]


def with_faults(nova: Any, servers: list[JsonObject]) -> Iterator[JsonObject]:
    """Yield servers, each in error with its fault. A listing has none of those that no host was found for."""
    asked = 0
    for server in servers:
        if (
            server["status"] == ERROR
            and not server.get("fault")
            and asked < MOST_FAULTS
        ):
            asked += 1
            answer = nova.get(f"/servers/{server['id']}")
            fault = (
                answer_of(answer)["server"].get("fault")
                if answer.status_code == HTTPStatus.OK
                else None
            )
            yield {**server, "fault": fault}
        else:
            yield server


def is_settled(server: JsonObject) -> bool:
    """Return whether a server runs, and nothing is being done with it: its ports are up."""
    return server["status"] == "ACTIVE" and not is_busy(server)


def of_server(answer: JsonObject) -> StuckThing | None:
    row = from_json(ServerRow, dict(answer), "a server")
    if row.task is None and row.status not in (ERROR, *PASSING_SERVER):
        return None
    fault = row.fault or {}
    reason = words_of(fault.get("message") or "")
    return StuckThing(
        kind="server",
        id=row.id,
        name=row.name,
        project=row.project_id,
        state=state_of(dict(answer)),
        # Before a host has it, Nova calls a server updated at each time that it is asked.
        since=seconds_of(row.created if row.status == BUILD else row.updated),
        host=row.host,
        reason=reason or None,
    )


def of_volume(answer: JsonObject) -> StuckThing | None:
    row = from_json(VolumeRow, dict(answer), "a volume")
    if row.status in LASTING_VOLUME:
        return None
    since = seconds_of(row.updated or row.created)
    return StuckThing(
        "volume",
        row.id,
        row.name or "",
        row.project_id,
        row.status,
        since,
        row.host,
    )


def of_port(active: set[str], answer: JsonObject) -> StuckThing | None:
    """Return a port of a server if no host could wire it, or if it is down although its server runs."""
    row = from_json(PortRow, dict(answer), "a port")
    is_down = (
        row.owner.startswith(OF_COMPUTE)
        and row.device in active
        and row.status != "ACTIVE"
    )
    if not (is_down or row.kind == BINDING_FAILED):
        return None
    state = (
        f"{row.status}, {BINDING_FAILED}"
        if row.kind == BINDING_FAILED
        else row.status
    )
    return StuckThing(
        kind="port",
        id=row.id,
        name=row.name,
        project=row.project_id,
        state=state,
        since=seconds_of(row.updated),
        host=row.host or None,
        diagnosed_by=row.diagnosed_by,
    )


def of_image(answer: JsonObject) -> StuckThing | None:
    row = from_json(ImageRow, dict(answer), "an image")
    if row.status not in PASSING_IMAGE and row.status not in LOST_IMAGE:
        return None
    return StuckThing(
        "image",
        row.id,
        row.name or "",
        row.owner,
        row.status,
        seconds_of(row.updated),
    )
