# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ids by which a run is known outside its record."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import chain
from operator import attrgetter

from .._model.record import Record
from .._model.stage import Call
from .._model.words import StageName

# Ids by their kinds
Keys = dict[str, list[str]]

# Ends of the paths of a boot's requests. A request of the boot is a `request`, any other is `asked`.
BOOT_PATHS = ("/servers", "/os-volume_attachments")
# The kinds of what one run has for itself. Nova makes the port of an instance for it alone.
OWN_KINDS = ("request", "asked", "server", "port", "tap", "mac")
# In characters: the kernel cuts the name of an interface, so a tap is named by the start of its port's id.
TAP_ID = 11
REQUEST = re.compile(
    r"req-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)
# What separates the words of a text that may be ids
SEPARATOR = re.compile(r"[^\w.:-]")


def keys_of(record: Record) -> Keys:
    """Return the ids by which others know a run, by kind. Those that other boots may use, too, are `shared`."""
    found: dict[str, Iterable[str | None]] = {
        **requests_of(record),
        **instance_ids(record),
        "server": [server_of(record)],
    }
    for kind in ("network", "volume"):
        found[kind] = [*found.get(kind, ()), *made(record, kind)]
    return with_shared(
        {kind: set(filter(None, ids)) for kind, ids in found.items()}, record
    )


def instance_ids(record: Record) -> dict[str, Iterable[str | None]]:
    """Return the ids of what the API reported about the instance; none without one."""
    instance = record.instance
    if instance is None:
        return {}
    networks, id_of = instance.networks, attrgetter("id")
    subnets = chain.from_iterable(map(attrgetter("subnets"), networks))
    return {
        "port": map(id_of, instance.ports),
        "tap": [f"tap{port.id[:TAP_ID]}" for port in instance.ports],
        # The answers to DHCP name nothing else.
        "mac": map(attrgetter("mac"), instance.ports),
        "network": map(id_of, networks),
        "subnet": map(id_of, subnets),
        "router": chain.from_iterable(map(attrgetter("routers"), networks)),
        "volume": instance.volumes,
        "image": [instance.image.id if instance.image else None],
    }


def requests_of(record: Record) -> dict[str, Iterable[str | None]]:
    """Return the ids of the requests of the boot, and of the others that services know a run by."""
    boot = record.stage_or_skipped(StageName.BOOT)
    of_boot = {
        call.request_id
        for call in boot.calls
        if call.path.endswith(BOOT_PATHS)
    }
    ids = [call.request_id for call in record.calls if is_notable(call)]
    return {
        "request": [
            boot.details.get("request_id"),
            *filter(of_boot.__contains__, ids),
        ],
        "asked": [
            request_id for request_id in ids if request_id not in of_boot
        ],
    }


def is_notable(call: Call) -> bool:
    """Return whether a request needs a key of its own.

    A poll does so only if the service failed at it: otherwise the server's id finds it.
    """
    return call.method != "GET" or (call.status or 0) >= 500


def made(record: Record, kind: str) -> list[str]:
    """Return the ids of what the run has made of a kind, also if no instance came of it."""
    return [resource.id for resource in record.made if resource.kind == kind]


def server_of(record: Record) -> str | None:
    if record.instance is not None:
        return record.instance.server.id
    server = (
        record.stage_or_skipped(StageName.BOOT).details.get("server") or {}
    )
    server_id: str | None = server.get("id")
    return server_id


def with_shared(ids_by_kind: Mapping[str, set[str]], record: Record) -> Keys:
    """Return the keys of a run, with the ids of things that other boots may use, too, under the kind `shared`."""
    own = {resource.id for resource in record.made}
    for kind in OWN_KINDS:
        own |= ids_by_kind.get(kind, set())
    keys = {kind: sorted(ids & own) for kind, ids in ids_by_kind.items()}
    keys["shared"] = sorted(set().union(*ids_by_kind.values()) - own)
    return {kind: ids for kind, ids in keys.items() if ids}


def keys_in(text: str, keys: Mapping[str, list[str]]) -> Keys:
    """Return the run's ids that a text of ours contains, such as a path."""
    words = set(SEPARATOR.split(text))
    contained = {
        kind: list(filter(words.__contains__, ids))
        for kind, ids in keys.items()
    }
    return {kind: ids for kind, ids in contained.items() if ids}
