# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ids by which a run is known outside its record."""

from __future__ import annotations

import re

from . import shapes


def keys_of(record):
    """Kind to the ids by which a run is known outside its record: request is of the boot, asked of any other."""
    instance = record.get("instance") or {}
    boot = stage_of(record, "boot")
    calls = [call for stage in record["stages"] for call in stage["calls"]]
    # Polls are known by the server's id, and need no key each.
    asked = [call["request_id"] for call in calls if call["method"] != "GET" and call["request_id"]]
    booted = {
        call["request_id"] for call in boot["calls"] if call["path"].endswith(("/servers", "/os-volume_attachments"))
    }
    networks = [network["id"] for network in instance.get("networks", [])]
    routers = [router for network in instance.get("networks", []) for router in network["routers"]]
    ports = [port["id"] for port in instance.get("ports", [])]
    made = {
        "request": [boot["details"].get("request_id"), *(one for one in asked if one in booted)],
        "asked": [one for one in asked if one not in booted],
        "server": [server_of(record)],
        "port": ports,
        "tap": [f"tap{port[:11]}" for port in ports],
        "network": networks,
        "subnet": [subnet["id"] for network in instance.get("networks", []) for subnet in network["subnets"]],
        "router": routers,
        "volume": instance.get("volumes", []),
        "image": [(instance.get("image") or {}).get("id")],
    }
    return with_shared({kind: {text for text in texts if text} for kind, texts in made.items()}, record)


def server_of(record):
    instance, boot = record.get("instance") or {}, stage_of(record, "boot")
    return (instance.get("server") or boot["details"].get("server") or {}).get("id")


def with_shared(keys, record):
    """The same keys, those of things that other boots may use as well under a name of their own."""
    own = {one["id"] for stage in record["stages"] for one in stage["resources"] if one["made"]}
    # Nova makes the port of an instance for it alone.
    own |= set().union(*(keys[kind] for kind in ("request", "asked", "server", "port", "tap")))
    shared = set().union(*keys.values()) - own
    apart = {**{kind: texts & own for kind, texts in keys.items()}, "shared": shared}
    return {kind: sorted(texts) for kind, texts in apart.items() if texts}


def stage_of(record, name):
    """A stage of the record; one that has not come yet has nothing in it."""
    return next((stage for stage in record["stages"] if stage["stage"] == name), shapes.stage(name, "skipped"))


def keys_in(text, keys):
    """The run's ids in a text of ours, such as a path."""
    words = set(re.split(r"[^\w.:-]", text))
    found = {kind: [one for one in texts if one in words] for kind, texts in keys.items()}
    return {kind: texts for kind, texts in found.items() if texts}


def hosts_by_name(record):
    """The inventory's names of the hosts, by those that the hosts give themselves."""
    return {name: host["host"] for host in record["hosts"] for name in host["facts"].get("names") or []}
