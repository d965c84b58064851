# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ids by which a run is known outside its record."""

from __future__ import annotations

import re

from . import shapes


def keys_of(record):
    """The ids by which others know a run, by kind. A request of the boot is a `request`, any other is `asked`."""
    instance = record.get("instance") or {}
    boot = stage_of(record, "boot")
    calls = [call for stage in record["stages"] for call in stage["calls"]]
    # A poll needs no key of its own, as the server's id finds it, unless the service failed at it.
    told = [call for call in calls if call["method"] != "GET" or (call["status"] or 0) >= 500]
    request_ids = [call["request_id"] for call in told if call["request_id"]]
    of_boot = {
        call["request_id"] for call in boot["calls"] if call["path"].endswith(("/servers", "/os-volume_attachments"))
    }
    networks = [network["id"] for network in instance.get("networks", [])]
    routers = [router for network in instance.get("networks", []) for router in network["routers"]]
    ports = [port["id"] for port in instance.get("ports", [])]
    keys = {
        "request": [boot["details"].get("request_id"), *(request for request in request_ids if request in of_boot)],
        "asked": [request for request in request_ids if request not in of_boot],
        "server": [server_of(record)],
        "port": ports,
        "tap": [f"tap{port[:11]}" for port in ports],
        # The answers to DHCP name nothing else.
        "mac": [port["mac"] for port in instance.get("ports", [])],
        "network": [*networks, *made(record, "network")],
        "subnet": [subnet["id"] for network in instance.get("networks", []) for subnet in network["subnets"]],
        "router": routers,
        "volume": [*instance.get("volumes", []), *made(record, "volume")],
        "image": [(instance.get("image") or {}).get("id")],
    }
    return with_shared({kind: {text for text in ids if text} for kind, ids in keys.items()}, record)


def made(record, kind):
    """The ids of what the run has made of a kind, also if no instance came of it."""
    resources = [resource for stage in record["stages"] for resource in stage["resources"]]
    return [resource["id"] for resource in resources if resource["made"] and resource["kind"] == kind]


def server_of(record):
    instance, boot = record.get("instance") or {}, stage_of(record, "boot")
    return (instance.get("server") or boot["details"].get("server") or {}).get("id")


def with_shared(keys, record):
    """The same keys, with the ids of things that other boots may use, too, under the kind `shared`."""
    own = {resource["id"] for stage in record["stages"] for resource in stage["resources"] if resource["made"]}
    # Nova makes the port of an instance for it alone.
    own |= set().union(*(keys[kind] for kind in ("request", "asked", "server", "port", "tap", "mac")))
    shared = set().union(*keys.values()) - own
    apart = {**{kind: ids & own for kind, ids in keys.items()}, "shared": shared}
    return {kind: sorted(ids) for kind, ids in apart.items() if ids}


def stage_of(record, name):
    """A stage of the record, or an empty one if it has not run yet."""
    return next((stage for stage in record["stages"] if stage["stage"] == name), shapes.stage(name, "skipped"))


def keys_in(text, keys):
    """The run's ids that a text of ours contains, such as a path."""
    words = set(re.split(r"[^\w.:-]", text))
    contained = {kind: [text for text in ids if text in words] for kind, ids in keys.items()}
    return {kind: ids for kind, ids in contained.items() if ids}


def addresses_of(record):
    """Address to the host that has it."""
    return {address: host["host"] for host in record["hosts"] for address in host["facts"].get("addresses") or []}


def hosts_by_name(record):
    """The inventory's name of each host, by the names that the host has for itself."""
    return {name: host["host"] for host in record["hosts"] for name in host["facts"].get("names") or []}
