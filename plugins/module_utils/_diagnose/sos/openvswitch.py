# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Answer what the programs of Open vSwitch and of OVN would, by the tables and flows that a report has."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..._collect.commands import UnreadError
from ..._collect.ovsdb import listed, plain
from .files import paths_in
from .ovsdb_text import Row, rows_in, tables_of_file
from .report import Report, absent

CONDITION = re.compile(
    r"(?P<column>\w+)(?::(?P<key>[^=!{]+))?(?P<sign>!=|=|\{>=\})(?P<value>.*)",
    re.DOTALL,
)
DATABASES = ("/etc/openvswitch/conf.db", "/var/lib/openvswitch/conf.db")
SWITCH = "ovs-vsctl"
COLUMNS = "--columns="
# What a column has that the file of a database leaves out
EMPTY: Any = ["set", []]
# The sign of a condition to whether a value fulfils it
SIGNS: Mapping[str, Callable[[Any, str], bool]] = {
    "=": lambda value, wanted: as_text(value) == wanted,
    "!=": lambda value, wanted: as_text(value) != wanted,
    "{>=}": lambda value, wanted: wanted in listed(value),
}
# The files with what ovs-ofctl has printed of a bridge, for the versions of OpenFlow that it may have been asked in
IN_VERSIONS = (
    "ovs-ofctl_{}_{}",
    "ovs-ofctl_-O_OpenFlow13_{}_{}",
    "ovs-ofctl_-O_OpenFlow14_{}_{}",
)


def of_switch(report: Report, words: Sequence[str]) -> str:
    return answer(report, SWITCH, words)


def of_northbound(report: Report, words: Sequence[str]) -> str:
    return answer(report, "ovn-nbctl", words)


def of_southbound(report: Report, words: Sequence[str]) -> str:
    return answer(report, "ovn-sbctl", words)


def answer(report: Report, program: str, words: Sequence[str]) -> str:
    """Return what a program that asks a database of OVSDB would print."""
    command, *arguments = paths_in(words)
    if command == "iface-to-br":
        return bridge_of(report, arguments[0])
    if command == "get":
        return setting(report, arguments[-1])
    rows = rows_of(report, program, arguments[0])
    wanted = [row for row in rows if is_wanted(row, arguments[1:])]
    return table(wanted, columns_in(words))


def columns_in(words: Sequence[str]) -> list[str]:
    """Return the columns that an option names."""
    options = [
        word[len(COLUMNS) :] for word in words if word.startswith(COLUMNS)
    ]
    return ",".join(options).split(",")


def is_wanted(row: Row, texts: Iterable[str]) -> bool:
    return all(is_meant(row, text) for text in texts)


def is_meant(row: Row, text: str) -> bool:
    """Return whether a row is the one with an id or a name, or has what a condition asks for."""
    match = CONDITION.fullmatch(text)
    if match is None:
        return text in (plain(row.get("_uuid")), row.get("name"))
    value = plain(row.get(match["column"], EMPTY))
    if match["key"]:
        value = value_in(value, match["key"])
    return SIGNS[match["sign"]](value, match["value"])


def value_in(column: Any, key: str) -> Any:
    """Return a value in a column that is a map."""
    return column.get(key) if isinstance(column, dict) else None


def as_text(value: Any) -> str:
    return json.dumps(value) if isinstance(value, (list, bool)) else str(value)


def rows_of(report: Report, program: str, name: str) -> list[Row]:
    """Return the rows of a table, which is parsed once."""
    key = (program, name)
    if key not in report.tables:
        report.tables[key] = parsed(report, program, name)
    return report.tables[key]


def parsed(report: Report, program: str, name: str) -> list[Row]:
    """Parse a table, with the states of its rows where they were printed, else with their settings alone."""
    try:
        return rows_in(report.output(f"*{program}*_list_{name}"))
    except UnreadError as exc:
        if program != SWITCH or exc.kind != "absent":
            raise
    text = report.copy_of(DATABASES[0]) or report.copy_of(DATABASES[1])
    if text is None:
        raise absent(f"{program} list {name}")
    return list(tables_of_file(text).get(name, {}).values())


def table(rows: list[Row], columns: Sequence[str]) -> str:
    """Return rows as the programs print them in JSON."""
    data = [cells_of(row, columns) for row in rows]
    return json.dumps({"headings": list(columns), "data": data})


def cells_of(row: Row, columns: Iterable[str]) -> list[Any]:
    return [row.get(column, EMPTY) for column in columns]


def bridge_of(report: Report, interface: str) -> str:
    """Return the bridge that an interface is plugged into: its port has the interface, and the bridge has the port."""
    plugged = [
        row
        for row in rows_of(report, SWITCH, "Interface")
        if row.get("name") == interface
    ]
    ports = holders(rows_of(report, SWITCH, "Port"), "interfaces", plugged)
    bridges = holders(rows_of(report, SWITCH, "Bridge"), "ports", ports)
    if not bridges:
        raise UnreadError(
            "failed", [SWITCH], f"no interface named {interface}"
        )
    return str(bridges[0].get("name"))


def holders(rows: list[Row], column: str, held: list[Row]) -> list[Row]:
    """Return the rows that have one of some others in a column."""
    ids = {plain(row["_uuid"]) for row in held}
    return [
        row
        for row in rows
        if ids.intersection(listed(plain(row.get(column, EMPTY))))
    ]


def setting(report: Report, name: str) -> str:
    """Return one of the external ids of Open vSwitch itself, whose name is external-ids:NAME."""
    key = name.partition(":")[2]
    values = [
        value_in(plain(row.get("external_ids")), key)
        for row in rows_of(report, SWITCH, "Open_vSwitch")
    ]
    return "\n".join(
        json.dumps(value) for value in values if value is not None
    )


def ovs_ofctl(report: Report, words: Sequence[str]) -> str:
    """Return the ports of a bridge, or its flows for a port."""
    command, bridge, *ports = paths_in(words)
    text = report.output(
        *(name.format(command, bridge) for name in IN_VERSIONS)
    )
    if not ports:
        return text
    wanted = re.compile(rf"\b{re.escape(ports[0])}\b")
    return "\n".join(filter(wanted.search, text.splitlines()))


def ovs_appctl(_report: Report, words: Sequence[str]) -> str:
    """Return nothing: a packet is not traced through flows that are written down."""
    raise absent(f"ovs-appctl {words[0]}")


def ovn_appctl(report: Report, words: Sequence[str]) -> str:
    """Return the state of a service of OVN. words: -t, its name or its socket, and what it is asked."""
    _option, target, command = words
    if command != "ovsdb-server/sync-status":
        return report.output(f"*ovn-appctl_-t_*{target}*_{command}")
    # A database that has answered for its tables is active, or one of a cluster.
    program, name = (
        ("ovn-nbctl", "NB_Global")
        if "nb" in target
        else ("ovn-sbctl", "SB_Global")
    )
    rows_of(report, program, name)
    return "state: active"
