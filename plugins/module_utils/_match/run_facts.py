# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Return what the record of a run says of it: the names and facts that the rules of flows ask for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .._collect.sources.api import WHOLE_SECOND
from .._model.operation import CREATED
from .._model.record import Instance, OtherBoot, Record
from .._model.stage import Call
from .._model.words import StageName, StageStatus
from .._record.clock import seconds_of
from .._record.ids import server_of
from .places import back_end_of, host_of
from .rivals import Boot

# The last word of the path at which a resource is asked for
KINDS = {
    "images": "image",
    "networks": "network",
    "subnets": "subnet",
    "routers": "router",
    "ports": "port",
    "security-groups": "security_group",
    "floatingips": "floating_ip",
    "volumes": "volume",
    "servers": "server",
    "os-volume_attachments": "attachment",
}
# The facts of a run that the condition of a step may ask for, before anything is known of it
NO_FACTS: Mapping[str, Any] = {
    "volumes": False,
    "attached": False,
    "port": None,
    "stores": None,
    "network": None,
    "created": [],
    "removed": [],
    "actions": [],
}


def names_of(record: Record) -> dict[str, str]:
    """Return the names that a rule may have in braces. A run without a volume has no {volume}."""
    names = {
        "server": server_of(record),
        **(instance_names(record.instance) if record.instance else {}),
        "host": host_of(record) if is_made(record) else None,
        "user": record.stage_or_skipped(StageName.AUTH).details.get("user"),
    }
    return {kind: name for kind, name in names.items() if name}


def is_made(record: Record) -> bool:
    """Return whether the server is being made. What is done with it later may have steps on two hosts."""
    return record.operation is None or record.operation.action == CREATED


def instance_names(instance: Instance) -> dict[str, str | None]:
    """Return the first of each kind of thing that belongs to an instance."""
    port = next(iter(instance.ports), None)
    network = next(iter(instance.networks), None)
    subnet = next(iter(network.subnets), None) if network else None
    return {
        "image": instance.image.id if instance.image else None,
        "volume": next(iter(instance.volumes), None),
        "port": port.id if port else None,
        "network": network.id if network else None,
        "subnet": subnet.id if subnet else None,
    }


def facts_of(record: Record) -> dict[str, Any]:
    image = record.instance.image if record.instance else None
    attached_later = (
        record.stage_or_skipped(StageName.BOOT).details.get("attach")
        == "after"
    )
    return {
        "volumes": has_volume(record) and not attached_later,
        "attached": has_volume(record),
        "port": record.stage_or_skipped(StageName.NETWORK).details.get("port"),
        "stores": image.stores if image else None,
        "network": back_end_of(record),
        "created": created_in(record),
        "removed": removed_in(record),
        "actions": [record.operation.action] if record.operation else [],
    }


def has_volume(record: Record) -> bool:
    is_attached = record.instance is not None and bool(record.instance.volumes)
    return (
        is_attached
        or record.stage_or_skipped(StageName.VOLUME).status is StageStatus.OK
    )


def created_in(record: Record) -> list[str]:
    """Return the kinds of resources that the run has asked for, whether or not it got them."""
    names = {call.path.rpartition("/")[2] for call in calls_of(record, "POST")}
    return sorted({KINDS[name] for name in names & KINDS.keys()})


def removed_in(record: Record) -> list[str]:
    """Return the kinds of resources that the run has asked to remove."""
    names = {call.path.split("/")[-2] for call in calls_of(record, "DELETE")}
    return sorted({KINDS[name] for name in names & KINDS.keys()})


def calls_of(record: Record, method: str) -> list[Call]:
    return [call for call in record.calls if call.method == method]


def boots_of(record: Record) -> tuple[float, list[Boot]] | None:
    """Return other boots by an administrator's answer: its moment, and each boot. None without an answer."""
    answer = record.other_boots
    if answer is None:
        return None
    # Nova's times are by the clocks of its hosts, and the answer does not say of which host each is.
    error = max(
        (abs(host.clock_offset_s or 0) for host in record.hosts), default=0
    )
    return answer.queried, [boot_of(boot, error) for boot in answer.boots]


def boot_of(boot: OtherBoot, error: float) -> Boot:
    return seconds_of(boot.started) - error, end_of(boot, error)


def end_of(boot: OtherBoot, error: float) -> float:
    if not boot.finished:
        return math.inf
    return (
        seconds_of(boot.finished)
        + WHOLE_SECOND
        + (boot.settling_s or 0)
        + error
    )
