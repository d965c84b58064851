# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Answer what the programs of RabbitMQ would, by the sections of its own report."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .report import Report, absent

NONE = "(none)"
MAINTENANCE = re.compile(r"^Is under maintenance\?: true", re.MULTILINE)
PARTITION = re.compile(
    r"Node (?P<node>\S+) cannot communicate with (?P<others>.+)"
)
# What of a virtual host is asked for, and its title in the report
LISTINGS = {"list_queues": "queues", "list_bindings": "bindings"}
# The kinds of alarms, by the words that the report has for them
ALARMS = {
    "memory": "memory",
    "disk": "disk",
    "file descriptor": "file_descriptor_limit",
}


def rabbitmq_diagnostics(report: Report, words: Sequence[str]) -> str:
    text = report.output("*rabbitmqctl_report")
    if words[0] == "status":
        return json.dumps(status(text))
    if words[0] == "cluster_status":
        return json.dumps(cluster(text))
    raise absent(f"rabbitmq-diagnostics {words[0]}")


def status(text: str) -> dict[str, Any]:
    alarms = []
    said = " ".join(section(text, "Alarms")).lower()
    for words, kind in ALARMS.items():
        if words in said:
            alarms.append({"resource": kind})
    return {
        "alarms": alarms,
        "is_under_maintenance": MAINTENANCE.search(text) is not None,
    }


def section(text: str, title: str) -> list[str]:
    """Return the lines of the first section with a title: between two empty lines."""
    _before, found, after = text.partition(f"\n{title}\n\n")
    lines = after.partition("\n\n")[0].splitlines() if found else []
    return [line.strip() for line in lines if line.strip() != NONE]


def cluster(text: str) -> dict[str, Any]:
    partitions = {}
    for line in section(text, "Network Partitions"):
        match = PARTITION.match(line)
        if match:
            partitions[match["node"]] = re.split(r",\s*", match["others"])
    return {
        "partitions": partitions,
        "disk_nodes": section(text, "Disk Nodes"),
        "ram_nodes": section(text, "RAM Nodes"),
        "running_nodes": section(text, "Running Nodes"),
    }


def rabbitmqctl(report: Report, words: Sequence[str]) -> str:
    """Return the queues or the bindings of a virtual host. Limits are not in the report."""
    shown = next((word for word in LISTINGS if word in words), None)
    if shown is None:
        raise absent("rabbitmqctl")
    vhost = words[words.index("--vhost") + 1]
    rows = listing(
        report.output("*rabbitmqctl_report"), LISTINGS[shown], vhost
    )
    if shown == "list_queues":
        return json.dumps([queue_of(row) for row in rows if row.get("name")])
    return json.dumps(rows)


def listing(text: str, title: str, vhost: str) -> list[dict[str, str]]:
    """Return the rows of a table of a virtual host."""
    # Some titles have a space before the dots.
    title_line = rf"\nListing {title} for vhost {re.escape(vhost)} ?\.\.\.\n"
    _before, *after = re.split(title_line, text, maxsplit=1)
    rows = after[0].partition("\nListing ")[0].splitlines() if after else []
    header, *lines = rows or [""]
    columns = header.split("\t")
    return [
        dict(zip(columns, line.split("\t")))
        for line in lines
        if line.count("\t") == len(columns) - 1
    ]


def queue_of(row: Mapping[str, str]) -> dict[str, Any]:
    """Return a queue with its numbers. One whose leader is down has none."""
    return {
        "name": row["name"],
        "messages_ready": number_of(row, "messages_ready"),
        "messages_unacknowledged": number_of(row, "messages_unacknowledged"),
        "consumers": number_of(row, "consumers"),
    }


def number_of(row: Mapping[str, str], name: str) -> int | None:
    text = row.get(name, "")
    return int(text) if text.isdigit() else None
