# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find what was asked about on a live cloud, and read how it was made. Only what is recorded already is read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import chain
from typing import Annotated, Any, Optional, Union

from ..._cloud import servers
from ..._cloud.connection import answer_of
from ..._model.codec import Key, from_json
from ..._model.details import ServerEvent
from ..._model.operation import CREATED
from ..._record.errors import StageError
from .answers import OF_COMPUTE, VolumeAnswer
from .volume import messages_about

# Up to this version a server names its flavor by an id.
FLAVOR_UNTIL = "2.46"
# The message of an action that failed
FAILED = "Error"
# How nova says that it gave up waiting for a volume
NOT_CREATED = re.compile(
    r"Volume ([0-9a-f-]{36}) did not finish being created"
)
# How an error of Cinder's client ends; those of the clients of other services end otherwise
OF_CINDER = re.compile(r"\(HTTP \d{3}\) \(Request-ID: (req-[0-9a-f-]{36})\)")
# The task in which a compute host works with Cinder, and with nothing else
PREPARES_VOLUMES = "block_device_mapping"
# The number of servers among whose actions a request is looked for
MOST_SERVERS = 100


@dataclass(frozen=True)
class NamedAnswer:
    id: str


@dataclass(frozen=True)
class LiveServer:
    """A server of nova. image: an empty text if it boots from a volume."""

    id: str
    name: str
    status: str
    created: str
    updated: str
    flavor: NamedAnswer
    image: Any
    volumes: Annotated[
        tuple[VolumeAnswer, ...], Key("os-extended-volumes:volumes_attached")
    ] = ()
    launched: Annotated[Optional[str], Key("OS-SRV-USG:launched_at")] = None
    zone: Annotated[Optional[str], Key("OS-EXT-AZ:availability_zone")] = None
    host: Annotated[Optional[str], Key("OS-EXT-SRV-ATTR:host")] = None
    host_id: Annotated[Optional[str], Key("hostId")] = None
    task: Annotated[Optional[str], Key("OS-EXT-STS:task_state")] = None
    fault: Optional[Mapping[str, Any]] = None


@dataclass(frozen=True)
class LivePort:
    """A port of neutron. owner: what it is for; empty if nobody uses it. device: the id of that."""

    owner: Annotated[str, Key("device_owner")]
    device: Annotated[str, Key("device_id")]
    network: Annotated[str, Key("network_id")]
    status: str

    @property
    def is_of_server(self) -> bool:
        return self.owner.startswith(OF_COMPUTE)


@dataclass(frozen=True)
class Action:
    """An action on a server, as nova has recorded it. message: Error if it failed."""

    action: str
    request_id: str
    start_time: str
    message: Optional[str] = None


@dataclass(frozen=True)
class LostVolume:
    """A volume of a server that cinder did not make or attach, or has not yet.

    id: None before cinder has told it to Nova. messages: what cinder says about it. refusal: its answer to Nova, with
    the id of that request.
    """

    id: Optional[str] = None
    messages: tuple[str, ...] = ()
    refusal: Optional[str] = None
    request_id: Optional[str] = None


@dataclass(frozen=True)
class ServerOperation:
    """A server, with the action that was asked about and nova's events of that.

    state: the server's, in words. lost: the volume for want of which it is not built.
    """

    server: LiveServer
    state: str
    action: Optional[Action]
    events: tuple[ServerEvent, ...]
    lost: Optional[LostVolume] = None


@dataclass(frozen=True)
class LiveVolume:
    """A volume of cinder."""

    id: str
    name: Optional[str]
    status: str
    size: int
    created: Annotated[str, Key("created_at")]
    updated: Annotated[Optional[str], Key("updated_at")] = None
    type: Annotated[Optional[str], Key("volume_type")] = None
    zone: Annotated[Optional[str], Key("availability_zone")] = None


@dataclass(frozen=True)
class VolumeOperation:
    """A volume, with what cinder says about it to its user."""

    volume: LiveVolume
    messages: tuple[str, ...]


@dataclass(frozen=True)
class ImageOperation:
    """An image of glance."""

    id: str
    name: Optional[str]
    status: str
    created: Annotated[str, Key("created_at")]
    updated: Annotated[str, Key("updated_at")]


Found = Union[ServerOperation, VolumeOperation, ImageOperation]


def find_request(cloud: Any, request: str) -> Found:
    """Return what a request was about: Nova knows the requests of each server, Cinder those that failed."""
    found = volume_of_request(cloud, request) or server_of_request(
        cloud, request
    )
    if found is not None:
        return found
    text = f"neither Nova nor Cinder knows the request {request} as one about the newest {MOST_SERVERS} servers"
    hint = "Give the id of the server or the volume, or the logs of the hosts as stackproof_bundle."
    raise StageError("not_found", text, resource=request, hint=hint)


def volume_of_request(cloud: Any, request: str) -> VolumeOperation | None:
    named = [
        message["resource_uuid"]
        for message in messages_of(cloud)
        if message.get("request_id") == request
    ]
    return of_volume(cloud, named[0]) if named else None


def server_of_request(cloud: Any, request: str) -> ServerOperation | None:
    for server in newest_servers(cloud):
        actions = answer_of(
            cloud.compute.get(f"/servers/{server}/os-instance-actions")
        )["instanceActions"]
        requests = [action["request_id"] for action in actions]
        if request in requests:
            return of_server(cloud, server, request)
    return None


def messages_of(cloud: Any) -> list[dict[str, Any]]:
    """Return Cinder's messages to its users; none from a cloud that has no such messages."""
    answer = cloud.block_storage.get("/messages", microversion="3.5")
    return (
        answer.json()["messages"]
        if answer.status_code == HTTPStatus.OK
        else []
    )


def newest_servers(cloud: Any) -> list[str]:
    """Return the ids of the servers that changed last; an administrator's of all projects."""
    query = {
        "sort_key": "updated_at",
        "sort_dir": "desc",
        "limit": MOST_SERVERS,
    }
    answer = cloud.compute.get("/servers", params={**query, "all_tenants": 1})
    if answer.status_code == HTTPStatus.FORBIDDEN:
        answer = cloud.compute.get("/servers", params=query)
    return [server["id"] for server in answer_of(answer)["servers"]]


def find(cloud: Any, identity: str) -> Found:
    """Return what has an id: a volume, an image, a server, or a server that uses what has it."""
    for look in (
        of_server,
        of_volume,
        of_image,
        of_port,
        of_floating_ip,
        of_network,
        of_router,
    ):
        found = look(cloud, identity)
        if found is not None:
            return found
    kinds = "server, volume, image, port, floating IP, network or router"
    message = f"the cloud has no {kinds} with the id {identity} that this user may see"
    hint = "Look for a typing error. With stackproof_admin_cloud, those of all projects are seen."
    raise StageError("not_found", message, resource=identity, hint=hint)


def unless_missing(answer: Any) -> Any:
    """Return the body of an answer; None if there is no such thing, or if an id of another form is refused."""
    return (
        None
        if answer.status_code in (HTTPStatus.NOT_FOUND, HTTPStatus.BAD_REQUEST)
        else answer_of(answer)
    )


def of_server(
    cloud: Any, identity: str, request: str | None = None
) -> ServerOperation | None:
    """Return a server with the action that is the reason for its state. request: that of the action, if it is known."""
    nova = cloud.compute
    answer = unless_missing(
        nova.get(f"/servers/{identity}", microversion=FLAVOR_UNTIL)
    )
    if answer is None:
        return None
    server = from_json(LiveServer, answer["server"], "the server")
    listed = answer_of(nova.get(f"/servers/{identity}/os-instance-actions"))[
        "instanceActions"
    ]
    actions = [
        from_json(Action, action, "an action of the server")
        for action in listed
    ]
    action = chosen(
        actions, server, servers.is_busy(answer["server"]), request
    )
    events = (
        servers.events_of(nova, identity, action.request_id) if action else ()
    )
    return ServerOperation(
        server,
        servers.state_of(answer["server"]),
        action,
        events,
        lost_volume(cloud.block_storage, server),
    )


def lost_volume(cinder: Any, server: LiveServer) -> LostVolume | None:
    """Return the volume for want of which a server is not built. Nova may have removed it since."""
    fault = (server.fault or {}).get("message") or ""
    not_created = NOT_CREATED.search(fault)
    if not_created:
        return LostVolume(
            not_created[1], tuple(messages_about(cinder, not_created[1]))
        )
    known = server.volumes[0].id if server.volumes else None
    refused = OF_CINDER.search(fault)
    if refused:
        return LostVolume(known, refusal=fault, request_id=refused[1])
    return LostVolume(known) if server.task == PREPARES_VOLUMES else None


def chosen(
    actions: Sequence[Action],
    server: LiveServer,
    is_busy: bool,
    request: str | None,
) -> Action | None:
    """Return the action of a request, or the one that is under way or has failed; else the one that made the server.

    Nova lists the newest first.
    """
    made = creation_in(actions)
    if request is not None:
        return next(
            (action for action in actions if action.request_id == request),
            made,
        )
    if server.launched is None:
        return made
    if is_busy:
        return next(iter(actions), made)
    if server.status != "ERROR":
        return made
    return next(
        (action for action in actions if action.message == FAILED), made
    )


def creation_in(actions: Sequence[Action]) -> Action | None:
    return next(
        (action for action in actions if action.action == CREATED), None
    )


def of_volume(cloud: Any, identity: str) -> VolumeOperation | None:
    cinder = cloud.block_storage
    answer = unless_missing(cinder.get(f"/volumes/{identity}"))
    if answer is None:
        return None
    return VolumeOperation(
        from_json(LiveVolume, answer["volume"], "the volume"),
        tuple(messages_about(cinder, identity)),
    )


def of_image(cloud: Any, identity: str) -> ImageOperation | None:
    answer = unless_missing(cloud.image.get(f"/images/{identity}"))
    return (
        None
        if answer is None
        else from_json(ImageOperation, answer, "the image")
    )


def of_port(cloud: Any, identity: str) -> ServerOperation | None:
    """Return the server of a port."""
    answer = unless_missing(cloud.network.get(f"/ports/{identity}"))
    if answer is None:
        return None
    port = from_json(LivePort, answer["port"], "the port")
    server = of_server(cloud, port.device) if port.is_of_server else None
    if server is None:
        message = f"the port {identity} belongs to no server, but to {port.owner or 'nobody'} {port.device}".rstrip()
        raise StageError(
            "invalid",
            message,
            resource=identity,
            hint="Give the id of a server that uses it.",
        )
    return server


def of_floating_ip(cloud: Any, identity: str) -> ServerOperation | None:
    """Return the server that has a floating IP."""
    answer = unless_missing(cloud.network.get(f"/floatingips/{identity}"))
    if answer is None:
        return None
    floating = answer["floatingip"]
    if not floating["port_id"]:
        message = f"the floating IP {floating['floating_ip_address']} is given to no port"
        raise StageError(
            "invalid",
            message,
            resource=identity,
            hint="Give it to a port first, or name the server.",
        )
    return of_port(cloud, floating["port_id"])


def of_network(cloud: Any, identity: str) -> ServerOperation | None:
    """Return a server on a network."""
    if unless_missing(cloud.network.get(f"/networks/{identity}")) is None:
        return None
    return server_on(cloud, f"the network {identity}", [identity])


def of_router(cloud: Any, identity: str) -> ServerOperation | None:
    """Return a server on one of the networks between which a router forwards."""
    if unless_missing(cloud.network.get(f"/routers/{identity}")) is None:
        return None
    # Its other ports, such as that of its gateway, are on networks that it does not serve.
    interfaces = [
        port
        for port in ports_of(cloud, device_id=identity)
        if "interface" in port.owner
    ]
    return server_on(
        cloud, f"the router {identity}", [port.network for port in interfaces]
    )


def server_on(
    cloud: Any, what: str, networks: Sequence[str]
) -> ServerOperation:
    """Return a server with a port on one of these networks: rather one whose port does not work."""
    ports = chain.from_iterable(
        ports_of(cloud, network_id=network) for network in networks
    )
    of_servers = [port for port in ports if port.is_of_server]
    for port in sorted(of_servers, key=lambda port: port.status == "ACTIVE"):
        server = of_server(cloud, port.device)
        if server is not None:
            return server
    hint = "Boot a server there, or use the playbook verify with stackproof_network, and diagnose that."
    raise StageError(
        "invalid",
        f"{what} serves no server that this user may see",
        resource=what,
        hint=hint,
    )


def ports_of(cloud: Any, **query: str) -> list[LivePort]:
    listed = answer_of(cloud.network.get("/ports", params=query))["ports"]
    return [from_json(LivePort, port, "a port") for port in listed]
