# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Make the stages of a run from what a live cloud has recorded of an operation, so that it is judged as a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._cloud.failures import (
    LOST_IMAGE,
    failed_build,
    failed_volume,
    lost_image,
    refused_volume,
    words_of_fault,
)
from .._collect.api.operation import FAILED as ACTION_FAILED
from .._collect.api.operation import (
    Action,
    Found,
    ImageOperation,
    LiveServer,
    LostVolume,
    ServerOperation,
    VolumeOperation,
)
from .._judge.verdict import SUSPECTED
from .._match.follow import SETTLING
from .._model.codec import iso_of, to_json
from .._model.details import (
    AuthDetails,
    BootDetails,
    Server,
    ServerEvent,
    VolumeDetails,
)
from .._model.operation import CREATED, Operation
from .._model.record import ORDER, Record
from .._model.stage import Call, Failure, Resource, Stage, State, Wait
from .._model.words import StageName, StageStatus
from .._record.clock import seconds_of
from .._record.errors import StageError
from .._report.messages.words import duration

BUILDING, FAILED = "BUILD", "ERROR"
# Statuses of volumes and images that last
SETTLED_VOLUME = ("available", "in-use", "maintenance", "reserved")
SETTLED_IMAGE = "active"
LOGS_OF_NOVA = "Look for {} in the logs of Nova."
# Why the stages before say nothing
BEFORE = "it is not known how this was made"


@dataclass(frozen=True)
class Recorded:
    """What the cloud has recorded of an operation, in the form of a run. action: what it did to the subject.

    stages: those that it shows something of. ended: None while it is under way.
    """

    action: str
    subject: str
    began: float
    ended: float | None
    stages: tuple[Stage, ...]


def record_of(
    record: Record, found: Found, operation: Operation, auth: AuthDetails
) -> Record:
    """Return the record of a run that did what was found. operation: what was asked about, and when.

    auth: what the cloud offers to who asks.
    """
    recorded = recorded_of(found, operation.asked)
    about = replace(
        operation,
        action=recorded.action,
        subject=recorded.subject,
        ended=recorded.ended,
    )
    check_range(about, recorded.began)
    begin = Stage(
        StageName.AUTH,
        StageStatus.SKIPPED,
        details=to_json(replace(auth, reason=BEFORE)),
    )
    shown = {stage.stage: stage for stage in (begin, *recorded.stages)}
    last = ORDER.index(recorded.stages[-1].stage)
    stages = tuple(
        shown.get(name) or Stage.skipped(name, BEFORE)
        for name in ORDER[: last + 1]
    )
    return replace(
        record, started=recorded.began, stages=stages, operation=about
    )


def check_range(operation: Operation, began: float) -> None:
    """Refuse a time range in which the operation cannot show."""
    what = f"the action {operation.action} of {operation.subject}"
    since, until = operation.since, operation.until
    if until is not None and until < began:
        raise no_range(
            f"the time ends at {iso_of(until)}, before {what} began at {iso_of(began)}"
        )
    if since is not None and since > operation.end + SETTLING:
        raise no_range(
            f"the time begins at {iso_of(since)}, after {what} ended at {iso_of(operation.end)}"
        )


def no_range(message: str) -> StageError:
    hint = "Leave out stackproof_since and stackproof_until to have the time of the operation read."
    return StageError("invalid", message, hint=hint)


def recorded_of(found: Found, asked: float) -> Recorded:
    if isinstance(found, ServerOperation):
        return recorded_of_server(found, asked)
    if isinstance(found, VolumeOperation):
        return recorded_of_volume(found, asked)
    return recorded_of_image(found, asked)


def suspected(message: str, name: str) -> Failure:
    """Return the error of a stage that the API alone shows no fault of."""
    return StageError(
        SUSPECTED,
        message,
        resource=name,
        hint="Give an inventory, so that the hosts are examined.",
    ).failure


def made(
    resource: Resource,
    began: float,
    ended: float,
    error: Failure | None,
    state: str,
    **details: Any,
) -> Stage:
    """Return the stage that made a resource, or did not. details: those of the stage, and where it has them, calls."""
    stage = {
        "server": StageName.BOOT,
        "volume": StageName.VOLUME,
        "image": StageName.IMAGE,
    }[resource.kind]
    seconds = max(0.0, ended - began)
    # Only the state that there is now is known.
    wait = Wait(
        f"the {resource.kind} {resource.name} to be ready",
        began,
        seconds,
        (State(state, ended, seconds, None),),
        1,
    )
    return Stage(
        stage,
        StageStatus.FAILED if error else StageStatus.OK,
        started=began,
        finished=ended,
        duration_s=seconds,
        waits=(wait,),
        error=error,
        **{"resources": (resource,), **details},
    )


# A server


def recorded_of_server(found: ServerOperation, asked: float) -> Recorded:
    server, action = found.server, found.action
    began = seconds_of(action.start_time if action else server.created)
    if action is not None and action.action != CREATED:
        return recorded_of_action(found, action, began, asked)
    if found.lost is not None:
        stage = stage_of_lost(found, found.lost, began, asked)
        return Recorded(CREATED, server.name, began, stage.finished, (stage,))
    boot = boot_stage(found, began, asked)
    stages = (
        (boot,)
        if boot.error
        else (boot, guest_stage(server, boot.finished or asked, asked))
    )
    ended = None if server.status == BUILDING else stages[-1].finished
    return Recorded(CREATED, server.name, began, ended, stages)


def stage_of_lost(
    found: ServerOperation, lost: LostVolume, began: float, asked: float
) -> Stage:
    """Return the stage of a volume that a server lacks: what broke it is to be looked for in Cinder."""
    volumes = (
        (Resource("volume", lost.id, None, created=False),) if lost.id else ()
    )
    is_awaited = found.server.status == BUILDING
    ended = asked if is_awaited else ended_at(found.server, asked)
    return made(
        Resource(
            "volume",
            lost.id or found.server.id,
            found.server.name,
            created=False,
        ),
        began,
        ended,
        replace(
            error_of_lost(found, lost, ended - began).failure,
            resource=found.server.name,
        ),
        "awaited" if is_awaited else "error",
        resources=(*volumes, *resources_of(found.server)),
        details=to_json(VolumeDetails()),
    )


def error_of_lost(
    found: ServerOperation, lost: LostVolume, waited_s: float
) -> StageError:
    name = f"of the server {found.server.name}"
    if lost.refusal:
        return refused_volume(name, lost.refusal, lost.request_id)
    if found.server.status == BUILDING:
        message = f"the volume {name} is not ready {duration(waited_s)} after the server was asked for"
        return StageError(
            "deadline",
            message,
            hint=LOGS_OF_NOVA.format(f"the id {found.server.id}"),
        )
    return failed_volume(
        name, lost.id or "of the server", "unusable", lost.messages
    )


def recorded_of_action(
    found: ServerOperation, action: Action, began: float, asked: float
) -> Recorded:
    """Return what is recorded of an action on a server that was made before."""
    server = found.server
    ended = None
    error = unfinished(found, action, asked - began)
    if action.message == ACTION_FAILED:
        ended = ended_by_events(found.events)
        error = failed_action(found, action)
    details = BootDetails(
        request_id=action.request_id,
        server=place_and_state(server),
        events=found.events,
    )
    stage = made(
        Resource("server", server.id, server.name, created=False),
        began,
        ended or asked,
        error,
        found.state,
        resources=resources_of(server),
        details=to_json(details),
    )
    return Recorded(action.action, server.name, began, ended, (stage,))


def unfinished(
    found: ServerOperation, action: Action, age_s: float
) -> Failure:
    what = f"the action {action.action} on the server {found.server.name}"
    where = place_of(found.events)
    message = f"{what} has not ended {duration(age_s)} after it was asked for{where}; its state is {found.state}"
    return StageError(
        "deadline",
        message,
        resource=found.server.name,
        request_id=action.request_id,
        hint=LOGS_OF_NOVA.format(action.request_id),
    ).failure


def failed_action(found: ServerOperation, action: Action) -> Failure:
    fault = words_of_fault(found.server.fault)
    what = f"the action {action.action} on the server {found.server.name}"
    message = f"{what} failed{place_of(found.events)}; its state is {found.state}, the cloud answered: {fault}"
    return StageError(
        "service",
        message,
        resource=found.server.name,
        answer=fault,
        request_id=action.request_id,
        hint=LOGS_OF_NOVA.format(action.request_id),
    ).failure


def place_and_state(server: LiveServer) -> Server:
    return Server(
        server.id,
        server.zone,
        server.host,
        server.host_id,
        server.launched,
        ports=(),
        fixed_ips=(),
    )


def ended_by_events(events: Sequence[ServerEvent]) -> float | None:
    """Return when the last event of an action ended; None if Nova does not show that to this user."""
    ends = [
        seconds_of(event.finish_time) for event in events if event.finish_time
    ]
    return max(ends, default=None)


def place_of(events: Sequence[ServerEvent]) -> str:
    """Return at which event an action failed or still is, and on which host, in words."""
    unfinished = [
        event
        for event in events
        if event.result == ACTION_FAILED or not event.finish_time
    ]
    if not unfinished:
        return ""
    event = unfinished[0]
    return (
        f" at {event.event} on {event.host}"
        if event.host
        else f" at {event.event}"
    )


def boot_stage(found: ServerOperation, began: float, asked: float) -> Stage:
    server, request = (
        found.server,
        found.action.request_id if found.action else None,
    )
    details = BootDetails(
        request_id=request,
        requested_zone=server.zone or None,
        server=place_and_state(server),
        events=found.events,
    )
    return made(
        Resource("server", server.id, server.name, created=False),
        began,
        ended_at(server, asked),
        error_of_server(found, request, asked - began),
        found.state,
        resources=resources_of(server),
        calls=calls_of(request, began),
        details=to_json(details),
    )


def ended_at(server: LiveServer, asked: float) -> float:
    if server.status == FAILED:
        return seconds_of(
            (server.fault or {}).get("created") or server.updated
        )
    return seconds_of(server.launched) if server.launched else asked


def error_of_server(
    found: ServerOperation, request: str | None, age_s: float
) -> Failure | None:
    """Return why the boot has failed, or what it waits for; None if the server was launched."""
    server = found.server
    if server.launched:
        return None
    if server.status == FAILED:
        return failed_build(
            server.name, dict(server.fault or {}), request
        ).failure
    asked = f"{duration(age_s)} after it was asked for"
    message = f"the server {server.name} is not active {asked}: its state is {found.state}"
    hint = LOGS_OF_NOVA.format(server.id)
    return StageError(
        "deadline",
        message,
        resource=server.name,
        request_id=request,
        hint=hint,
    ).failure


def resources_of(server: LiveServer) -> tuple[Resource, ...]:
    """Return what the server was made of; none of it is ours."""
    made_of = [
        Resource("server", server.id, server.name, created=False),
        Resource("flavor", server.flavor.id, None, created=False),
    ]
    if server.image:
        made_of.append(
            Resource("image", server.image["id"], None, created=False)
        )
    made_of += [
        Resource("volume", volume.id, None, created=False)
        for volume in server.volumes
    ]
    return tuple(made_of)


def calls_of(request: str | None, began: float) -> tuple[Call, ...]:
    """Return the request for the server, as Nova has recorded it."""
    if request is None:
        return ()
    return (
        Call(
            "POST",
            "compute",
            "/v2.1/servers",
            202,
            started=began,
            seconds=0.0,
            request_id=request,
        ),
    )


def guest_stage(server: LiveServer, began: float, asked: float) -> Stage:
    """Return the stage of the guest's network and metadata, of which the API alone does not show how it went."""
    unknown = "whether its guest has network and metadata shows on the hosts"
    message = f"the server {server.name} is {server.status}; {unknown}"
    return Stage(
        StageName.METADATA,
        StageStatus.FAILED,
        started=began,
        finished=asked,
        duration_s=max(0.0, asked - began),
        error=suspected(message, server.name),
    )


# A volume, an image


def recorded_of_volume(found: VolumeOperation, asked: float) -> Recorded:
    volume = found.volume
    name, began = volume.name or volume.id, seconds_of(volume.created)
    has_failed, is_settled = (
        volume.status.startswith("error"),
        volume.status in SETTLED_VOLUME,
    )
    ended = (
        seconds_of(volume.updated)
        if volume.updated and (has_failed or is_settled)
        else None
    )
    if has_failed:
        error = failed_volume(
            name, volume.id, volume.status, found.messages
        ).failure
    elif is_settled:
        error = suspected(
            f"the volume {name} is {volume.status}; what lies behind it shows on the hosts",
            name,
        )
    else:
        since = seconds_of(volume.updated) if volume.updated else began
        error = waits_for(
            f"the volume {name}", volume.status, name, asked - since
        )
    details = VolumeDetails(
        requested_type=volume.type,
        requested_zone=volume.zone,
        requested_size_gib=volume.size,
    )
    resource = Resource("volume", volume.id, name, created=False)
    stage = made(
        resource,
        began,
        ended or asked,
        error,
        volume.status,
        details=to_json(details),
    )
    return Recorded(CREATED, name, began, ended, (stage,))


def recorded_of_image(image: ImageOperation, asked: float) -> Recorded:
    name, began = image.name or image.id, seconds_of(image.created)
    ended = (
        seconds_of(image.updated)
        if image.status in (SETTLED_IMAGE, *LOST_IMAGE)
        else None
    )
    if image.status in LOST_IMAGE:
        error = lost_image(name, image.status).failure
    elif image.status == SETTLED_IMAGE:
        error = suspected(
            f"the image {name} is active; what lies behind it shows on the hosts",
            name,
        )
    else:
        error = waits_for(
            f"the image {name}",
            image.status,
            name,
            asked - seconds_of(image.updated),
        )
    resource = Resource("image", image.id, name, created=False)
    return Recorded(
        CREATED,
        name,
        began,
        ended,
        (made(resource, began, ended or asked, error, image.status),),
    )


def waits_for(what: str, status: str, name: str, age_s: float) -> Failure:
    message = f"{what} has been {status} for {duration(age_s)}"
    return StageError(
        "deadline",
        message,
        resource=name,
        hint="Look for its id in the logs of its service.",
    ).failure
