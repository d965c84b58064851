# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How shared services are by their own words: the broker, the database, Open vSwitch."""

from __future__ import annotations

import json

from ..host import UnreadError

INTERFACES = ("ovs-vsctl", "--timeout=4", "--format=json", "--columns=name,error", "find", "interface", "error!=[]")
LINKS = ("ovs-vsctl", "--timeout=4", "--format=json", "--columns=name,type,external_ids", "find", "interface",
         "link_state=down")  # fmt: skip
# With fewer connections left than this, the next client may get none.
FEW = 3
# MariaDB and MySQL have these in tables of different names. A node outside its cluster still answers such a question.
QUERY = (
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'max_connections', 'wsrep_on'); "
    "SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', 'wsrep_ready', 'wsrep_cluster_status')"
)


def word(component, kind, text):
    return {"component": component, "kind": kind, "text": text}


def broker(host):
    """Alarms and maintenance, which keep publishers back."""
    status = json.loads(host.ask("queue", "rabbitmq-diagnostics", "status", "--formatter", "json"))
    words = [word("rabbitmq", "alarm", f"alarm: {name_of(alarm)}") for alarm in status.get("alarms") or []]
    if status.get("is_under_maintenance"):
        words.append(word("rabbitmq", "alarm", "under maintenance"))
    return words


def name_of(alarm):
    """memory_alarm, or the resource of an alarm that is described as a whole."""
    if isinstance(alarm, dict):
        return str(alarm.get("resource") or alarm.get("type") or "resource_limit")
    return " ".join(str(part) for part in alarm) if isinstance(alarm, list) else str(alarm)


def database(host):
    try:
        output = host.ask("database", "mysql", "--batch", "--skip-column-names", f"--execute={QUERY}")
    except UnreadError as exc:
        if "Too many connections" not in exc.output:
            raise
        return [word("database", "full", "no connections left")]
    values = dict(line.lower().split("\t", 1) for line in output.splitlines() if "\t" in line)
    words = []
    if values.get("read_only") in ("on", "1"):
        words.append(word("database", "read-only", "read-only"))
    left = int(values["max_connections"]) - int(values["threads_connected"])
    if left < FEW:
        text = f"{left} of {values['max_connections']} connections left"
        words.append(word("database", "full", text))
    if values.get("wsrep_on") == "on" and (
        values.get("wsrep_ready") != "on" or values.get("wsrep_cluster_status") != "primary"
    ):
        words.append(word("database", "alarm", "not part of the cluster's primary component"))
    return words


def switch(host):
    """Interfaces that Open vSwitch could not make. Interfaces of guests come and go, so these are only told."""
    rows = json.loads(host.ask("ovs", *INTERFACES))["data"]
    return [word("ovsdb", "error", f"cannot create interface {name}") for name, _error in rows]


def links(host):
    """Wires of Open vSwitch without a link. Its own interfaces may have none, and those of guests that are off."""
    rows = json.loads(host.ask("ovs", *LINKS))["data"]
    wires = [name for name, kind, (_map, ids) in rows if kind == "" and "iface-id" not in dict(ids)]
    return [word("data network", "link", f"interface {name} has no link") for name in wires]


READERS = (("rabbitmq", broker), ("database", database), ("ovsdb", switch), ("ovsdb", links))


def read(host, components):
    """The words of the components that are on this host."""
    words = []
    for component, reader in READERS:
        if component in components:
            words += host.attempt(f"the state of {component}", reader, default=[])
    return words
