# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Operations on a server after its boot: what is asked of Nova for each, and how the server is to be afterwards.

An operation is one function here, and its name in options.OPERATIONS.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

from .._cloud import servers
from .._cloud.connection import answer_of
from .._cloud.failures import failed_operation
from .._model.details import (
    BootDetails,
    JourneyDetails,
    ServerAction,
    ServerEvent,
)
from .._model.stage import Resource
from .._model.words import StageName
from .._record import ledger
from .._record.clock import Stopwatch
from .._record.errors import StageError
from .._record.waiting import Look
from . import hosts, images, snapshots, volumes
from .networking import first_named
from .stage import Named, Stage

# The kind of the image that Nova makes of a server to shelve it
SHELVED = "server_shelved"

# Since this version Nova chooses the host of a live migration and whether disks are copied.
LIVE_SINCE = "2.30"
# Since this version Nova finds out by itself whether the disk is on shared storage.
EVACUATE_SINCE = "2.14"
# Since this version the answer has the id of a new image.
SNAPSHOT_SINCE = "2.45"

# Some requests have another name than the action has in Nova's list of what was done with a server.
RECORDED_AS = {
    "os-migrateLive": "live-migration",
    "os-start": "start",
    "os-stop": "stop",
}

HOST = "OS-EXT-SRV-ATTR:host"

JsonObject = dict[str, Any]


class Traveller:
    """The server on which the operations are done."""

    def __init__(self, stage: Stage[JourneyDetails], server: Resource) -> None:
        self.stage = stage
        self.id = server.id
        self.name = server.name or server.id
        self.nova = stage.cloud.compute
        # What was requested of Nova in the operation
        self.actions: list[ServerAction] = []
        # The server as it was before the operation
        self.before: JsonObject = {}
        # The event of the operation that failed
        self.failed: ServerEvent | None = None
        # For how long the operation has waited for what only an operator does
        self.idle_s = 0.0
        # Of the request for a third guest
        self.boot_request: str | None = None

    def has_root_volume(self) -> bool:
        """Return whether it was booted from a volume: then Nova shows no image of it."""
        return not self.before.get("image")

    def host_to_leave(self) -> str:
        """Return the host that the operator is to take down: the named one, of this server and not of the second."""
        host = self.stage.params["evacuate_from"]
        if host is None:
            message = "no host is named that may be taken down"
        elif self.before.get(HOST) != host:
            message = f"the server {self.name} is not on {host}, from which it is to be evacuated"
        elif host_of_second(self.stage) == host:
            message = f"the second guest is on {host}, too, so nobody would see whether the first one answers"
        else:
            return str(host)
        hint = (
            "Let stackproof_evacuate_from and stackproof_host name the host of the first server, and "
            "stackproof_second_host another one."
        )
        raise StageError("invalid", message, hint=hint)

    @contextlib.contextmanager
    def idle(self) -> Iterator[None]:
        """Take the time of what only an operator does for no time of the operation."""
        watch = Stopwatch()
        try:
            yield
        finally:
            self.idle_s += watch.seconds()

    def begin(self) -> None:
        """Look at the server before an operation."""
        self.actions = []
        self.failed = None
        self.idle_s = 0.0
        self.boot_request = None
        self.before = servers.read(self.nova, self.id)

    @property
    def request_id(self) -> str | None:
        """Return the id of Nova's request for the last action."""
        return self.actions[-1].request_id if self.actions else None

    def act(self, action: str, body: Any = None, **options: Any) -> Any:
        """Ask Nova for an action, and return its answer."""
        self.stage.begin(f"asking for {action} of the server {self.name}")
        path = f"/servers/{self.id}/action"
        return self.ask(
            RECORDED_AS.get(action, action),
            lambda: self.nova.post(path, json={action: body}, **options),
        )

    def ask(self, action: str, send: Callable[[], Any]) -> Any:
        """Send the request for an action, which is known by it also if it fails later, and return the answer."""
        self.actions.append(ServerAction(action))
        answer = send()
        request_id = answer.headers.get("x-openstack-request-id")
        self.actions[-1] = ServerAction(action, request_id)
        return answer_of(answer)

    def wait(self, *statuses: str) -> JsonObject:
        """Return the server once it has one of these states and nothing is being done with it."""

        def look() -> Look:
            server = servers.read(self.nova, self.id)
            if server["status"] == "ERROR":
                fault = self.fault_of_event()
                raise failed_operation(
                    self.name, server.get("fault") or fault, self.request_id
                )
            if servers.is_busy(server):
                return False, servers.state_of(server), server
            is_done = server["status"] in statuses
            if not is_done:
                self.must_be_under_way(server)
            return is_done, servers.state_of(server), server

        found: JsonObject = self.stage.wait(
            f"the server {self.name} to be {' or '.join(statuses)}", look
        )
        return found

    def act_until(
        self, action: str, *statuses: str, body: Any = None, **options: Any
    ) -> JsonObject:
        """Ask Nova for an action, and return the server once it has one of these states."""
        self.act(action, body, **options)
        return self.wait(*statuses)

    def must_be_under_way(self, server: JsonObject) -> None:
        """Fail if Nova has given up the action and left the server as it was. Some failures show in no other way."""
        event = self.failed_event()
        if event is not None:
            state = servers.state_of(server)
            raise self.given_up(
                "operation_failed",
                f"the server {self.name} is {state} again",
                event,
            )

    def must_have_moved(self, after: JsonObject) -> None:
        """Refuse a migration after which the server is where it was: Nova reports one that failed in no other way."""
        if self.before.get("hostId") == after.get("hostId"):
            message = f"the server {self.name} stayed on its host"
            raise self.given_up("not_moved", message, self.failed_event())

    def wait_until_elsewhere(self) -> None:
        """Wait for Nova to show the new host: it does so a moment after the server of an evacuation is active."""

        def look() -> Look:
            server = servers.read(self.nova, self.id)
            has_moved = server["hostId"] != self.before["hostId"]
            if not has_moved:
                self.must_be_under_way(server)
            return has_moved, servers.state_of(server), None

        self.stage.wait(f"the server {self.name} to be on another host", look)

    def failed_event(self) -> ServerEvent | None:
        """Return the event of the last action that failed, as far as Nova shows it: that of a compute host, if any."""
        events = servers.events_of(self.nova, self.id, self.request_id)
        failed = [event for event in events if event.result == "Error"]
        of_compute = list(filter(attrgetter("is_of_compute"), failed))
        self.failed = next(iter([*of_compute, *failed]), None)
        return self.failed

    def fault_of_event(self) -> JsonObject | None:
        """Return the reason of the event that failed, in the form in which a server has a fault."""
        event = self.failed_event()
        return {"message": event.error} if event and event.error else None

    def given_up(
        self, kind: str, message: str, event: ServerEvent | None
    ) -> StageError:
        """Return the error of an action that Nova has given up. event: the one that failed."""
        logs = "nova-conductor, nova-scheduler and nova-compute of both hosts"
        hint = f"Look for {self.request_id} in the logs of {logs}."
        answer = None
        if event is not None:
            message += f", as {event.event} failed"
            answer = event.error
        if answer is not None:
            message += f"; the cloud answered: {answer}"
        return StageError(
            kind,
            message,
            resource=self.name,
            answer=answer,
            request_id=self.request_id,
            hint=hint,
        )


def host_of_second(stage: Stage[JourneyDetails]) -> Any:
    second = stage.needed("second_server")
    return servers.read(stage.cloud.compute, second.id).get(HOST)


def reboot(server: Traveller) -> None:
    reboot_as(server, "SOFT")


def hard_reboot(server: Traveller) -> None:
    reboot_as(server, "HARD")


def reboot_as(server: Traveller, kind: str) -> None:
    """Reboot the server. It is active before and afterwards, so only Nova's events say whether it was rebooted."""
    after = server.act_until("reboot", "ACTIVE", body={"type": kind})
    server.must_be_under_way(after)


def stop(server: Traveller) -> None:
    server.act_until("os-stop", "SHUTOFF")
    server.act_until("os-start", "ACTIVE")


def pause(server: Traveller) -> None:
    server.act_until("pause", "PAUSED")
    server.act_until("unpause", "ACTIVE")


def suspend(server: Traveller) -> None:
    server.act_until("suspend", "SUSPENDED")
    server.act_until("resume", "ACTIVE")


def shelve(server: Traveller) -> None:
    """Shelve the server and take it back. Nova keeps its disk as an image meanwhile, which a failure leaves behind."""
    name, stage = f"{server.name}-shelved", server.stage
    has_image = not server.has_root_volume()
    if has_image:
        stage.run.ledger.write(ledger.BEGUN, SHELVED, name)
    # A cloud may keep a shelved server on its host for a while.
    server.act_until("shelve", "SHELVED_OFFLOADED", "SHELVED")
    server.act_until("unshelve", "ACTIVE")
    # Nova deletes it, and says nothing if it cannot.
    if has_image and image_named(stage, name) is None:
        stage.run.ledger.write(ledger.REFUSED, SHELVED, name)


def image_named(stage: Stage[JourneyDetails], name: str) -> Any:
    """Return an image by its name, or None."""
    return first_named(name, stage.cloud.image.images(name=name))


def snapshot(server: Traveller) -> None:
    make_image(server)


def make_image(server: Traveller) -> Named:
    """Make an image of the server, and return it. The cleanup deletes it."""
    stage = server.stage
    if any(made.kind == "snapshot" for made in stage.resources):
        message = "a run makes one image of its server, and it has made it"
        hint = "Name snapshot or boot_snapshot only once."
        raise StageError("invalid", message, hint=hint)
    name = f"{stage.run.mark}-snapshot"

    def make() -> Named:
        answer = server.act(
            "createImage", {"name": name}, microversion=SNAPSHOT_SINCE
        )
        return Named(answer["image_id"], name)

    image: Named = stage.create(
        "snapshot",
        name,
        make,
        lambda: image_named(stage, name),
    )
    images.wait_until_active(stage, image)
    server.wait("ACTIVE", "SHUTOFF")
    return image


def boot_snapshot(server: Traveller) -> None:
    """Boot a third guest from an image of the server, which is off meanwhile: so its disk is whole."""
    if server.has_root_volume():
        message = f"the root disk of the server {server.name} is a volume, of which an image has no data"
        hint = "Leave out boot_snapshot, or stackproof_attach=root."
        raise StageError("invalid", message, hint=hint)
    server.act_until("os-stop", "SHUTOFF")
    image = make_image(server)
    server.act_until("os-start", "ACTIVE")
    server.boot_request = f"req-{uuid.uuid4()}"
    snapshots.boot_from(server.stage, image, server.boot_request)


def rebuild(server: Traveller) -> None:
    """Build the server again from its own image."""
    image = server.stage.resource("image")
    if image is None:
        raise StageError(
            "invalid",
            "there is no image to rebuild from",
            hint="Run the stage image of this run first.",
        )
    server.act_until("rebuild", "ACTIVE", body={"imageRef": image.id})


def resize(server: Traveller) -> None:
    server.act_until(
        "resize", "VERIFY_RESIZE", body={"flavorRef": other_flavor(server)}
    )
    server.act_until("confirmResize", "ACTIVE")


def resize_revert(server: Traveller) -> None:
    server.act_until(
        "resize", "VERIFY_RESIZE", body={"flavorRef": other_flavor(server)}
    )
    server.act_until("revertResize", "ACTIVE")


def migrate(server: Traveller) -> None:
    """Move the server while it is stopped."""
    server.act_until("migrate", "VERIFY_RESIZE")
    after = server.act_until("confirmResize", "ACTIVE")
    server.must_have_moved(after)


def live_migrate(server: Traveller) -> None:
    """Move the server while it runs."""
    body = {"host": None, "block_migration": "auto"}
    after = server.act_until(
        "os-migrateLive", "ACTIVE", body=body, microversion=LIVE_SINCE
    )
    server.must_have_moved(after)


def evacuate(server: Traveller) -> None:
    """Build the server on another host, as its own is down, which the operator has seen to; and wait for that one.

    Only a host that is back removes what it still has of the server, and only while Nova knows the server.
    """
    host = server.host_to_leave()
    with server.idle():
        hosts.await_down(server.stage, host)
    server.act_until(
        "evacuate", "ACTIVE", body={}, microversion=EVACUATE_SINCE
    )
    server.wait_until_elsewhere()
    with server.idle():
        hosts.await_up(server.stage, host)


def extend_volume(server: Traveller) -> None:
    """Make the run's volume larger while the server has it."""
    volumes.extend(server.stage, volume_of(server), server.ask)
    server.wait("ACTIVE")


def reattach_volume(server: Traveller) -> None:
    volume = volume_of(server)
    volumes.detach(server.stage, server.id, volume, server.ask)
    volumes.attach(server.stage, server.id, volume, server.ask)


def volume_of(server: Traveller) -> Resource:
    volume = server.stage.resource("volume")
    if volume is None:
        hint = "Leave out the operations with a volume, or stackproof_volume=none."
        raise StageError("invalid", "the run has no volume", hint=hint)
    return volume


def other_flavor(server: Traveller) -> str:
    """Return the smallest flavor that the server does not have, and that is not smaller than that of its boot."""
    least = server.stage.details_of(StageName.BOOT, BootDetails).flavor
    if least is None:
        hint = "Run the stage boot of this run first."
        raise StageError(
            "invalid", "the flavor of the server is not known", hint=hint
        )
    current = server.before["flavor"].get("id")
    fitting = [
        flavor
        for flavor in server.nova.flavors()
        if flavor.id != current
        and flavor.ram >= least.ram
        and flavor.vcpus >= least.vcpus
        and flavor.disk >= least.disk
    ]
    if not fitting:
        message = f"no other flavor is at least as large as {least.name}, so the server cannot be resized"
        raise StageError(
            "not_found",
            message,
            hint="Use a smaller flavor for the run, or leave out resize.",
        )
    chosen = min(
        fitting,
        key=lambda flavor: (
            flavor.ram,
            flavor.vcpus,
            flavor.disk,
            flavor.name,
        ),
    )
    return str(chosen.id)


OPERATIONS: dict[str, Callable[[Traveller], None]] = {
    "reboot": reboot,
    "hard_reboot": hard_reboot,
    "stop": stop,
    "pause": pause,
    "suspend": suspend,
    "shelve": shelve,
    "snapshot": snapshot,
    "rebuild": rebuild,
    "resize": resize,
    "resize_revert": resize_revert,
    "migrate": migrate,
    "live_migrate": live_migrate,
    "evacuate": evacuate,
    "boot_snapshot": boot_snapshot,
    "extend_volume": extend_volume,
    "reattach_volume": reattach_volume,
}
