# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read what the components of a host report about themselves: alarms of the broker, limits of the database, links."""

from __future__ import annotations

import json
from collections.abc import Callable, Container
from typing import Any

from ..._model.host import OwnReport
from ..commands import Host, UnreadError

INTERFACES = (
    "ovs-vsctl",
    "--timeout=4",
    "--format=json",
    "--columns=name,error,external_ids",
    "find",
    "interface",
    "error!=[]",
)
LINKS = ("ovs-vsctl", "--timeout=4", "--format=json", "--columns=name,type,external_ids", "find", "interface",
         "link_state=down")  # fmt: skip
# With fewer connections left than this, the next client may get none.
FEW = 3
# MariaDB and MySQL have these in tables of different names. A node outside its cluster still answers such a question.
QUERY = (
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'max_connections', 'wsrep_on'); "
    "SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', 'wsrep_ready', 'wsrep_cluster_status')"
)


def broker(host: Host) -> list[OwnReport]:
    """Return alarms and maintenance, which keep publishers back."""
    status = json.loads(
        host.ask(
            "queue", "rabbitmq-diagnostics", "status", "--formatter", "json"
        )
    )
    alarms = map(name_of, status.get("alarms") or [])
    reports = [
        OwnReport("rabbitmq", "alarm", f"alarm: {name}") for name in alarms
    ]
    if status.get("is_under_maintenance"):
        reports.append(OwnReport("rabbitmq", "alarm", "under maintenance"))
    return reports


def name_of(alarm: Any) -> str:
    """Return memory_alarm, or the resource of an alarm that is described as a whole."""
    if isinstance(alarm, dict):
        name = alarm.get("resource") or alarm.get("type") or "resource_limit"
        return str(name)
    if isinstance(alarm, list):
        return " ".join(map(str, alarm))
    return str(alarm)


def database(host: Host) -> list[OwnReport]:
    try:
        output = host.ask(
            "database",
            "mysql",
            "--batch",
            "--skip-column-names",
            f"--execute={QUERY}",
        )
    except UnreadError as exc:
        if "Too many connections" not in exc.output:
            raise
        return [OwnReport("database", "full", "no connections left")]
    values = {}
    for line in output.lower().splitlines():
        name, tab, value = line.partition("\t")
        if tab:
            values[name] = value
    return reports_of_database(values)


def reports_of_database(values: dict[str, str]) -> list[OwnReport]:
    """values: name of each variable and status to its value."""
    reports = []
    if values.get("read_only") in ("on", "1"):
        reports.append(OwnReport("database", "read-only", "read-only"))
    most = values["max_connections"]
    left = int(most) - int(values["threads_connected"])
    if left < FEW:
        reports.append(
            OwnReport("database", "full", f"{left} of {most} connections left")
        )
    cluster = (values.get("wsrep_ready"), values.get("wsrep_cluster_status"))
    if values.get("wsrep_on") == "on" and cluster != ("on", "primary"):
        text = "not part of the cluster's primary component"
        reports.append(OwnReport("database", "alarm", text))
    return reports


def switch(host: Host) -> list[OwnReport]:
    """Return interfaces that Open vSwitch could not create.

    Those of guests come and go, and many a host keeps one of a guest that is gone. Whether this run's guest has its own
    is a link of a chain.
    """
    reports = []
    for name, _error, ids in json.loads(host.ask("ovs", *INTERFACES))["data"]:
        if not is_of_guest(ids):
            reports.append(
                OwnReport("ovsdb", "error", f"cannot create interface {name}")
            )
    return reports


def is_of_guest(external_ids: tuple[str, list[list[str]]]) -> bool:
    """Return whether an interface has the id of a port of Neutron."""
    _map, ids = external_ids
    return "iface-id" in dict(ids)


def links(host: Host) -> list[OwnReport]:
    """Return wires of Open vSwitch without a link. Its own interfaces and those of stopped guests may have none."""
    reports = []
    for name, kind, ids in json.loads(host.ask("ovs", *LINKS))["data"]:
        is_wire = kind == "" and not is_of_guest(ids)
        if is_wire:
            text = f"interface {name} has no link"
            reports.append(OwnReport("data network", "link", text))
    return reports


READERS: tuple[tuple[str, Callable[[Host], list[OwnReport]]], ...] = (
    ("rabbitmq", broker),
    ("database", database),
    ("ovsdb", switch),
    ("ovsdb", links),
)


def read(host: Host, components: Container[str]) -> list[OwnReport]:
    """Return what the components that are on this host report."""
    reports: list[OwnReport] = []
    for component, reader in READERS:
        if component in components:
            reports += host.attempt(
                f"the state of {component}", reader, default=[]
            )
    return reports
