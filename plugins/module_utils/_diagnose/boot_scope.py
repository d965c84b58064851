# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is known of a boot in logs besides its events, as the matcher has it of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from .._collect.logs.reader import events_in
from .._components.tables import is_beside_instance
from .._match.events import Reads
from .._match.follow import links_in, logs_in
from .._match.rivals import TOOK
from .._match.run_facts import NO_FACTS
from .._match.scope import Scope
from .._model.bundle import Bundle
from .._model.event import Event
from .._model.record import Record
from .._model.words import Level
from .boot_events import is_work

# In seconds. Nova waits for nothing longer than this (vif_plugging_timeout): a boot that is silent for longer has
# stopped.
LONGEST_WAIT = 300
# In seconds. Until a host works on the server, and after the network has reported all its ports as plugged, Nova waits
# for calls over the queue only: an answer takes a minute at most (rpc_response_timeout), and some are asked for twice.
LONGEST_CALL = 120
PLUGGED = "network-vif-plugged"


def scope_of(
    bundle: Bundle, record: Record, events: Sequence[Event], reads: Reads
) -> Scope:
    """Return the scope in which the boot of a bundle is followed."""
    hosts = reads["log"]
    worker = hosts.get(bundle.host) or {}
    return Scope(
        names=names_of(bundle),
        facts={**NO_FACTS, "volumes": bool(bundle.keys.get("volume"))},
        logs=logs_in(hosts),
        began=bundle.began,
        ended=bundle.until,
        levels=levels_of(bundle, events),
        links=links_in(record),
        logs_alone=True,
        caller_known=bool(worker.get("addresses")),
        complete=shows_all(bundle, events),
    )


def names_of(bundle: Bundle) -> dict[str, str]:
    """Return the names that a rule may use in braces."""
    names = {
        kind: bundle.keys[kind][0]
        for kind in ("server", "port", "volume")
        if bundle.keys.get(kind)
    }
    names.update(bundle.named)
    if bundle.host:
        names["host"] = bundle.host
    return names


def shows_all(bundle: Bundle, events: Sequence[Event]) -> bool:
    """Return whether the logs would show each step that happened.

    A boot that was built lacks nothing, without its request not all its lines are found, and what the logs do not show
    may have happened after their end.
    """
    return (
        took(events) is None
        and bool(bundle.keys.get("request"))
        and is_over(bundle)
    )


def is_over(bundle: Bundle) -> bool:
    """Return whether the logs show how the boot ended, or go on for so long after it that it cannot be running."""
    if bundle.boot is None or bundle.boot.outcome:
        return True
    return bundle.deleted or bundle.silent_s > longest_silence(bundle)


def longest_silence(bundle: Bundle) -> int:
    """Return for how many seconds a boot may log nothing while it goes on."""
    events = list(chain.from_iterable(map(events_in, bundle.hosts.values())))
    if not any(map(is_work, events)):
        return LONGEST_CALL
    ports = set(bundle.keys.get("port", ()))
    if not ports:
        return LONGEST_WAIT
    if ports <= plugged_ports(events):
        return LONGEST_CALL
    return LONGEST_WAIT


def plugged_ports(events: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the ids of the ports of which Neutron has reported that they are plugged."""
    plugged: set[str] = set()
    for event in events:
        phrases = event.get("phrases", ())
        if any(PLUGGED in phrase for phrase in phrases):
            ports = event["keys"].get("port", ())
            plugged.update(ports)
    return plugged


def took(events: Sequence[Event]) -> float | None:
    """Return how long nova-compute logged that it took to build the server; None if it was not built."""
    for event in reversed(events):
        if TOOK in event.phrases and event.keys and event.until is not None:
            return round(event.until - event.at, 3)
    return None


def levels_of(bundle: Bundle, events: Sequence[Event]) -> dict[str, Level]:
    """Return the level at which each service logs, by all its lines; of hosts that may do the work, the least."""
    levels = {service: dict(hosts) for service, hosts in bundle.levels.items()}
    for event in events:
        by_host, host = levels.get(event.service, {}), event.host
        if host in by_host and event.level:
            by_host[host] = max(by_host[host], event.level, key=rank)
    return {
        service: least(bundle, service, hosts)
        for service, hosts in levels.items()
    }


def least(bundle: Bundle, service: str, hosts: dict[str, Level]) -> Level:
    if is_beside_instance(service) and bundle.host in hosts:
        return hosts[bundle.host]
    return min(hosts.values(), key=rank)


def rank(level: Level) -> int:
    return level.rank
