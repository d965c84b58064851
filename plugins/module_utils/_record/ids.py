# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ids by which a run is known outside its record."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from . import shapes

# A record, or a part of one
Record = Mapping[str, Any]
# Ids by their kinds
Keys = dict[str, list[str]]

# Ends of the paths of a boot's requests. A request of the boot is a `request`, any other is `asked`.
BOOT_PATHS = ("/servers", "/os-volume_attachments")
# The kinds of what one run has for itself. Nova makes the port of an instance for it alone.
OWN_KINDS = ("request", "asked", "server", "port", "tap", "mac")
# In characters: the kernel cuts the name of an interface, so a tap is named by the start of its port's id.
TAP_ID = 11
# What separates the words of a text that may be ids
SEPARATOR = re.compile(r"[^\w.:-]")


def keys_of(record: Record) -> Keys:
    """Return the ids by which others know a run, by kind. Those that other boots may use, too, are `shared`."""
    instance = record.get("instance") or {}
    networks = instance.get("networks", [])
    ports = instance.get("ports", [])
    port_ids = each(ports, "id")
    image = instance.get("image") or {}
    found = {
        **requests_of(record),
        "server": [server_of(record)],
        "port": port_ids,
        "tap": [f"tap{port_id[:TAP_ID]}" for port_id in port_ids],
        # The answers to DHCP name nothing else.
        "mac": each(ports, "mac"),
        "network": [*each(networks, "id"), *made(record, "network")],
        "subnet": each(together(networks, "subnets"), "id"),
        "router": together(networks, "routers"),
        "volume": [*instance.get("volumes", []), *made(record, "volume")],
        "image": [image.get("id")],
    }
    return with_shared({kind: set(filter(None, ids)) for kind, ids in found.items()}, record)


def requests_of(record: Record) -> dict[str, list[str | None]]:
    """Return the ids of the requests of the boot, and of the others that services know a run by."""
    boot = stage_of(record, "boot")
    boot_calls = [call for call in boot["calls"] if call["path"].endswith(BOOT_PATHS)]
    of_boot = set(each(boot_calls, "request_id"))
    calls = filter(is_notable, together(record["stages"], "calls"))
    ids = each(calls, "request_id")
    return {
        "request": [boot["details"].get("request_id"), *filter(of_boot.__contains__, ids)],
        "asked": [request_id for request_id in ids if request_id not in of_boot],
    }


def is_notable(call: Record) -> bool:
    """Return whether a request needs a key of its own.

    A poll does so only if the service failed at it: otherwise the server's id finds it.
    """
    return call["method"] != "GET" or (call["status"] or 0) >= 500


def each(things: Iterable[Record], name: str) -> list[Any]:
    """Return a field of each thing."""
    return [thing[name] for thing in things]


def together(things: Iterable[Record], name: str) -> list[Any]:
    """Return what the lists in a field of each thing hold."""
    return list(chain.from_iterable(each(things, name)))


def resources_made(record: Record) -> list[Record]:
    return [resource for resource in together(record["stages"], "resources") if resource["created"]]


def made(record: Record, kind: str) -> list[str]:
    """Return the ids of what the run has made of a kind, also if no instance came of it."""
    return [resource["id"] for resource in resources_made(record) if resource["kind"] == kind]


def server_of(record: Record) -> str | None:
    instance = record.get("instance") or {}
    server = instance.get("server") or stage_of(record, "boot")["details"].get("server") or {}
    server_id: str | None = server.get("id")
    return server_id


def with_shared(ids_by_kind: Mapping[str, set[str]], record: Record) -> Keys:
    """Return the keys of a run, with the ids of things that other boots may use, too, under the kind `shared`."""
    own = set(each(resources_made(record), "id"))
    for kind in OWN_KINDS:
        own |= ids_by_kind[kind]
    keys = {kind: sorted(ids & own) for kind, ids in ids_by_kind.items()}
    keys["shared"] = sorted(set().union(*ids_by_kind.values()) - own)
    return {kind: ids for kind, ids in keys.items() if ids}


def stage_of(record: Record, name: str) -> Record:
    """Return a stage of the record, or an empty one if it has not run yet."""
    stages = (stage for stage in record["stages"] if stage["stage"] == name)
    return next(stages, shapes.stage(name, "skipped"))


def keys_in(text: str, keys: Mapping[str, list[str]]) -> Keys:
    """Return the run's ids that a text of ours contains, such as a path."""
    words = set(SEPARATOR.split(text))
    contained = {kind: list(filter(words.__contains__, ids)) for kind, ids in keys.items()}
    return {kind: ids for kind, ids in contained.items() if ids}


def addresses_of(record: Record) -> dict[str, str]:
    """Return the host that has an address, by address."""
    return hosts_by_fact(record, "addresses")


def hosts_by_name(record: Record) -> dict[str, str]:
    """Return the inventory's name of each host, by the names that the host has for itself."""
    return hosts_by_fact(record, "names")


def hosts_by_fact(record: Record, fact: str) -> dict[str, str]:
    """Return the host of each value in a list among its facts."""
    found: dict[str, str] = {}
    for host in record["hosts"]:
        values = host["facts"].get(fact) or []
        found.update(dict.fromkeys(values, host["host"]))
    return found
