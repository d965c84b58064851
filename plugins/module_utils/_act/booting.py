# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Make a server, and wait until it is active."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from .._cloud import servers
from .._cloud.connection import answer_of
from .._cloud.errors import CLOUD_ERRORS, failure_of
from .._cloud.failures import failed_build
from .._model import codec
from .._model.details import Server
from .._model.stage import Failure
from .._record.errors import StageError
from .._record.run import Run
from .._record.waiting import Look
from . import guest
from .networking import addresses_of, first_named
from .stage import Named, Stage

# Since this version a server can be sent to a host.
HOST_SINCE = "2.74"
HOST_HINT = "Use an administrator's cloud as stackproof_cloud, or do not choose the host."

# A part of a request or an answer
JsonObject = dict[str, Any]


def proof_of(run: Run, paths: str = "") -> JsonObject:
    """Return the part of the request about the proof that the guest is to give.

    paths: what the guest is to run after it, if anything.
    """
    nonces = guest.nonces(run.id, run.record.started)
    script = guest.user_data(nonces.user_data) + paths
    return {
        "metadata": {
            "stackproof_run": run.id,
            "stackproof_nonce": nonces.metadata,
        },
        "user_data": base64.b64encode(script.encode()).decode(),
    }


def make_server(
    stage: Stage[Any],
    kind: str,
    request: JsonObject,
    headers: Mapping[str, Any],
    host: str | None = None,
    version: Mapping[str, str] = MappingProxyType({}),
) -> Named:
    """Make a server of the run.

    request: the body of the request, with its name. host: that the user has chosen. version: the option by which the
    request asks for the version of Nova's API that it needs, if any; that for a host is newer than all others.
    """
    nova, name = stage.cloud.compute, request["server"]["name"]
    options = {"microversion": HOST_SINCE} if host else version

    def make() -> Named:
        answer = nova.post(
            "/servers", json=request, headers=headers, **options
        )
        return Named(answer_of(answer)["server"]["id"], name)

    def find() -> Any:
        # A listing by name matches patterns, so the name is compared again.
        listed = answer_of(nova.get("/servers", params={"name": f"^{name}$"}))[
            "servers"
        ]
        return first_named(name, map(Named.from_json, listed))

    try:
        made: Named = stage.create(kind, name, make, find)
    except CLOUD_ERRORS as exc:
        failure = failure_of(exc, stage.doing)
        if not host or failure.kind != "forbidden":
            raise
        raise refused_host(failure) from exc
    return made


def refused_host(failure: Failure) -> StageError:
    """Return the failure of a user who may not choose the host of a server."""
    return StageError(
        failure.kind,
        failure.message,
        answer=failure.answer,
        hint=HOST_HINT,
        request_id=failure.request_id,
        status=failure.status,
    )


def wait_until_active(stage: Stage[Any], server: Named) -> JsonObject:
    """Return the server as Nova describes it once it is active."""
    nova = stage.cloud.compute

    def look() -> Look:
        found = servers.read(nova, server.id)
        if found["status"] == "ERROR":
            raise failed_build(
                server.name, found.get("fault") or {}, stage.details.request_id
            )
        return found["status"] == "ACTIVE", servers.state_of(found), found

    active: JsonObject = stage.wait(
        f"the server {server.name} to be active", look
    )
    return active


def ports_of(stage: Stage[Any], server: Named) -> list[Any]:
    """Return the ports of a server. A cloud that ignores the filter lists those of others, too."""
    return [
        port
        for port in stage.cloud.network.ports(device_id=server.id)
        if port.device_id == server.id
    ]


def describe(server: JsonObject, ports: Iterable[Any]) -> Server:
    """Return the server's place and addresses, as the record has them."""
    addresses: list[str] = []
    for port in ports:
        addresses += addresses_of(port)
    facts = {
        "id": server["id"],
        "zone": server.get("OS-EXT-AZ:availability_zone"),
        "host": server.get("OS-EXT-SRV-ATTR:host"),
        "host_id": server.get("hostId"),
        "launched": server.get("OS-SRV-USG:launched_at"),
        "ports": [port.id for port in ports],
        "fixed_ips": addresses,
    }
    return codec.from_json(Server, facts, "server")
