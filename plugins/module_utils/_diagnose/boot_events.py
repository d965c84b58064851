# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the events of a boot show of the hosts: which one runs the instance, their addresses, and when they fell silent.

The events are those that log_info returns, as JSON.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import Any

from .._model.bundle import LOOKING
from . import host_files
from .boot_lines import FAR
from .log_directory import LogDirectory
from .sos.report import COMMANDS, Report

Json = Mapping[str, Any]
# Host to what log_info returns there
Hosts = Mapping[str, dict[str, Any]]


def events_in(hosts: Hosts) -> Iterator[Json]:
    for read in hosts.values():
        yield from read["events"]


def silence(logs: LogDirectory, hosts: Hosts) -> float:
    """Return for how many seconds the logs go on after the last event of the boot.

    A report holds all that its host had logged before it was begun, even if that was nothing for long.
    """
    own = [
        event
        for event in events_in(hosts)
        if not {"request", "server"}.isdisjoint(event["keys"])
    ]
    # Where only lookups were logged, these are the last that is known of it.
    signs = list(filter(is_sign, own)) or own
    if not signs:
        return 0.0
    last_sign: float = max(event["at"] for event in signs)
    last = last_sign
    for end in sorted([*logs.ends, *reported_until(logs)]):
        # A file that ends more than a day after all others has a line of a wrong clock, and proves nothing.
        if end - last <= FAR:
            last = max(last, end)
    return last - last_sign


def reported_until(logs: LogDirectory) -> list[float]:
    """Return up to when the reports of all their hosts have what was logged; an empty list without reports.

    A report without a manifest does not say when it was made: its files may be as old as a copy.
    """
    begun: list[float] = []
    for place in logs.places:
        if not place.whole_host:
            continue
        report = Report(place.top)
        if not report.has(COMMANDS):
            continue
        if report.begun is None:
            return []
        begun.append(report.begun)
    if not begun:
        return []
    return [min(begun)]


def is_sign(event: Json) -> bool:
    """Return whether an event shows that the boot goes on.

    A request for its state does not, and what clients ask nova-api of the server besides is no part of its boot.
    """
    if event.get("method") in LOOKING:
        return False
    if "request" in event["keys"]:
        return True
    return "server" in event["keys"] and event["service"] != "nova-api"


def add_addresses(
    logs: LogDirectory, hosts: Hosts, ports: Collection[str]
) -> None:
    """Give each host the addresses by which the others know it."""
    addresses = addresses_in_files(logs, hosts)
    worker = compute_host(hosts)
    if worker in addresses:
        known = set(chain.from_iterable(addresses.values()))
        clients = dict.fromkeys(binding_clients(hosts, ports))
        addresses[worker] += [
            client for client in clients if client not in known
        ]
    for host, read in hosts.items():
        read["addresses"] = addresses[host]


def addresses_in_files(
    logs: LogDirectory, hosts: Collection[str]
) -> dict[str, list[str]]:
    """Return the addresses of each host that its own files or those of the others have."""
    whole_hosts = [place for place in logs.places if place.whole_host]
    addresses = host_files.named_addresses(
        [place.top for place in whole_hosts], hosts
    )
    for place in whole_hosts:
        if place.name in addresses:
            addresses[place.name] = sorted(
                {*addresses[place.name], *host_files.addresses_of(place.top)}
            )
    return addresses


def binding_clients(hosts: Hosts, ports: Collection[str]) -> list[str]:
    """Return the addresses from which the server's port was changed: only the host of the instance does so."""
    return [
        event["client"]
        for event in events_in(hosts)
        if is_binding(event, ports)
    ]


def is_binding(event: Json, ports: Collection[str]) -> bool:
    if event["kind"] != "http" or event.get("method") != "PUT":
        return False
    if not event.get("client"):
        return False
    return any(f"/ports/{port}" in event["path"] for port in ports)


def compute_host(hosts: Hosts) -> str | None:
    """Return the host whose nova-compute worked on the server last, or else the one that was last asked to build it."""
    worked: dict[str, float] = {}
    asked: dict[str, float] = {}
    for host, read in hosts.items():
        for event in read["events"]:
            if is_work(event):
                worked[host] = max(event["at"], worked.get(host, 0))
            name = host_asked(event, hosts)
            if name:
                asked[name] = event["at"]
    times = worked or asked
    return max(times, key=lambda host: times[host], default=None)


def is_work(event: Json) -> bool:
    return event["service"] == "nova-compute" and not {
        "server",
        "request",
    }.isdisjoint(event["keys"])


def host_asked(event: Json, hosts: Collection[str]) -> str | None:
    """Return the host that a message asks to build the server, by the name that it has here."""
    if event.get("method") != "build_and_run_instance":
        return None
    topic = event.get("topic") or ""
    service, _dot, name = topic.partition(".")
    if service != "compute" or not name:
        return None
    short = short_name(name)
    for host in hosts:
        if short_name(host) == short:
            return host
    return name


def short_name(host: str) -> str:
    return host.partition(".")[0]
