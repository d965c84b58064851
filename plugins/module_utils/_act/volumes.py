# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Attach the volume of a run to its servers, detach it, and extend it while a server has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._cloud import servers
from .._cloud.connection import answer_of
from .._model.details import VolumeDetails
from .._model.stage import Resource
from .._model.words import StageName
from .._record.errors import StageError
from .._record.waiting import Look
from .stage import Stage

AVAILABLE, IN_USE = "available", "in-use"
# What a volume in each of these states is to its server
MEANING = {AVAILABLE: "detached", IN_USE: "attached"}
# Since this version Cinder extends a volume that a server has.
EXTEND_SINCE = "3.42"
# Since this version of Nova a server can have a volume that another one has as well.
MULTIATTACH_SINCE = "2.60"

# Sends a request, and returns what the cloud answered. action: what Nova calls it.
Ask = Callable[[str, Callable[[], Any]], Any]


def plainly(_action: str, send: Callable[[], Any]) -> Any:
    return answer_of(send())


def is_multiattach(stage: Stage[Any]) -> bool:
    """Return whether several servers may have the volume of the run at once."""
    volume = stage.details_of(StageName.VOLUME, VolumeDetails).volume
    return volume is not None and volume.multiattach


def version_for(stage: Stage[Any]) -> dict[str, str]:
    """Return what asks for the version of Nova's API that a request with the volume of the run needs, if any."""
    if not is_multiattach(stage):
        return {}
    return {"microversion": MULTIATTACH_SINCE}


def attach(
    stage: Stage[Any],
    server_id: str,
    volume: Resource,
    ask: Ask = plainly,
) -> None:
    """Attach a volume to a server that does not have it yet, and wait until it is in use."""
    nova = stage.cloud.compute
    stage.begin(f"attaching the volume {volume.name}")
    if not is_attached(nova, server_id, volume):
        body = {"volumeAttachment": {"volumeId": volume.id}}
        path = f"/servers/{server_id}/os-volume_attachments"
        version = version_for(stage)
        ask("attach_volume", lambda: nova.post(path, json=body, **version))
    if is_multiattach(stage):
        wait_until_shared(stage, server_id, volume)
    else:
        # Nova reserves the volume before it answers: available means that it gave up.
        wait_until(stage, volume, IN_USE, given_up=AVAILABLE)


def wait_until_shared(
    stage: Stage[Any], server_id: str, volume: Resource
) -> None:
    """Wait until a server has a volume that is in use by another one before, and after, whatever becomes of this."""
    cloud = stage.cloud

    def look() -> Look:
        current = cloud.block_storage.get_volume(volume.id)
        owners = [entry["server_id"] for entry in current.attachments]
        if server_id in owners:
            return True, IN_USE, current
        if not is_attached(cloud.compute, server_id, volume):
            raise failure(volume, f"the server gave up {volume.name}")
        return False, current.status, current

    stage.wait(f"the server to have the volume {volume.name}", look)


def failure(volume: Resource, message: str) -> StageError:
    hint = hint_for("nova-compute and cinder-volume")
    return StageError("service", message, resource=volume.name, hint=hint)


def detach(
    stage: Stage[Any],
    server_id: str,
    volume: Resource,
    ask: Ask = plainly,
    status: str = AVAILABLE,
) -> None:
    """Detach a volume from a server. status: of the volume after it, which is in use if another server has it too."""
    stage.begin(f"detaching the volume {volume.name}")
    nova = stage.cloud.compute
    path = f"/servers/{server_id}/os-volume_attachments/{volume.id}"
    ask("detach_volume", lambda: nova.delete(path))
    wait_until(stage, volume, status)

    # Cinder has it back a moment before Nova forgets it.
    def look() -> Look:
        is_there = is_attached(nova, server_id, volume)
        return not is_there, "attached" if is_there else "detached", None

    stage.wait(f"the server to be without the volume {volume.name}", look)


def is_attached(nova: Any, server_id: str, volume: Resource) -> bool:
    attached = servers.read(nova, server_id)[
        "os-extended-volumes:volumes_attached"
    ]
    return volume.id in [attached_volume["id"] for attached_volume in attached]


def extend(stage: Stage[Any], volume: Resource, ask: Ask) -> None:
    """Make a volume one gigabyte larger, and wait until it is so and in use as before."""
    cinder = stage.cloud.block_storage
    stage.begin(f"extending the volume {volume.name}")
    size = cinder.get_volume(volume.id).size + 1
    body = {"os-extend": {"new_size": size}}
    path = f"/volumes/{volume.id}/action"
    ask(
        "extend_volume",
        lambda: cinder.post(path, json=body, microversion=EXTEND_SINCE),
    )
    extended = wait_until(stage, volume, IN_USE)
    if extended.size != size:
        message = f"the volume {volume.name} has {extended.size} GB after its extension, not {size}"
        raise StageError(
            "service",
            message,
            resource=volume.name,
            hint=hint_for("cinder-volume"),
        )


def wait_until(
    stage: Stage[Any],
    volume: Resource,
    status: str,
    given_up: str | None = None,
) -> Any:
    """Return the volume once it has a status. given_up: the status that means that it will not come to that."""
    cinder = stage.cloud.block_storage

    def look() -> Look:
        current = cinder.get_volume(volume.id)
        if current.status.startswith("error") or current.status == given_up:
            message = f"the volume {volume.name} is {current.status}, not {MEANING[status]}"
            raise failure(volume, message)
        return current.status == status, current.status, current

    return stage.wait(
        f"the volume {volume.name} to be {status.replace('-', ' ')}", look
    )


def hint_for(services: str) -> str:
    return f"Look for the volume's id in the logs of {services}."
