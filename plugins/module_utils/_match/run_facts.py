# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the record of a run says of it: the names and facts that the rules of flows ask for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .._collect.sources.api import WHOLE_SECOND
from .._record.clock import seconds_of
from .._record.ids import server_of, stage_of
from .places import back_end_of, host_of
from .rivals import Boot

Record = dict[str, Any]

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
}


def names_of(record: Record) -> dict[str, str]:
    """Return the names that a rule may have in braces. A run without a volume has no {volume}."""
    instance = record.get("instance") or {}
    network: Record = next(iter(instance.get("networks") or []), {})
    names = {
        "server": server_of(record),
        "image": (instance.get("image") or {}).get("id"),
        "volume": next(iter(instance.get("volumes") or []), None),
        "port": first_id(instance.get("ports")),
        "network": network.get("id"),
        "subnet": first_id(network.get("subnets")),
        "host": host_of(record),
        "user": stage_of(record, "auth")["details"].get("user"),
    }
    return {kind: name for kind, name in names.items() if name}


def first_id(things: list[Record] | None) -> str | None:
    return things[0]["id"] if things else None


def facts_of(record: Record) -> dict[str, Any]:
    instance = record.get("instance") or {}
    attached_later = stage_of(record, "boot")["details"].get("attach") == "after"
    return {
        "volumes": has_volume(record) and not attached_later,
        "attached": has_volume(record),
        "port": stage_of(record, "network")["details"].get("port"),
        "stores": (instance.get("image") or {}).get("stores"),
        "network": back_end_of(record),
        "created": created_in(record),
        "removed": removed_in(record),
    }


def has_volume(record: Record) -> bool:
    return bool((record.get("instance") or {}).get("volumes")) or stage_of(record, "volume")["status"] == "ok"


def created_in(record: Record) -> list[str]:
    """Return the kinds of resources that the run has asked for, whether or not it got them."""
    names = {call["path"].rpartition("/")[2] for call in calls_of(record, "POST")}
    return sorted({KINDS[name] for name in names & KINDS.keys()})


def removed_in(record: Record) -> list[str]:
    """Return the kinds of resources that the run has asked to remove."""
    names = {call["path"].split("/")[-2] for call in calls_of(record, "DELETE")}
    return sorted({KINDS[name] for name in names & KINDS.keys()})


def calls_of(record: Record, method: str) -> list[Record]:
    return [call for stage in record["stages"] for call in stage["calls"] if call["method"] == method]


def boots_of(record: Record) -> tuple[float, list[Boot]] | None:
    """Return other boots by an administrator's answer: its moment, and each boot. None without an answer."""
    answer = record.get("other_boots")
    if not answer:
        return None
    # Nova's times are by the clocks of its hosts, and the answer does not say of which host each is.
    error = max((abs(host["clock_offset_s"] or 0) for host in record["hosts"]), default=0)
    boots = [(seconds_of(boot["started"]) - error, end_of(boot, error)) for boot in answer["boots"]]
    return seconds_of(answer["queried"]), boots


def end_of(boot: Record, error: float) -> float:
    if not boot["finished"]:
        return math.inf
    settled: float = boot["settling_s"] + error
    return seconds_of(boot["finished"]) + WHOLE_SECOND + settled
