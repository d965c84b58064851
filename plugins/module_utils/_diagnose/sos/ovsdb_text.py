# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read rows of OVSDB as ovs-vsctl list prints them, and out of the file of a database."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

# Column to its value, in the form that the protocol of OVSDB has
Row = dict[str, Any]

COLUMN = re.compile(r"^(?P<name>\w+)\s*: (?P<value>.*)$", re.MULTILINE)
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TOKEN = re.compile(
    r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<mark>[\[\]{},=])|(?P<word>[^\s"\[\]{},=]+))'
)
NO_TEXT = re.compile(r"true|false|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?")
# A record in the file of a database begins with a line such as: OVSDB JSON 15291 b11e5d58...
RECORD = "OVSDB JSON "


def rows_in(text: str) -> list[Row]:
    """Parse the rows of a table, which an empty line separates."""
    rows = map(row_in, text.split("\n\n"))
    return list(filter(None, rows))


def row_in(block: str) -> Row:
    """Parse the columns of a row, one a line."""
    found = COLUMN.finditer(block)
    return {match["name"]: value_of(match["value"]) for match in found}


def value_of(text: str) -> Any:
    """Parse the value of a column: an atom, a set in brackets, or a map in braces."""
    tokens = tokens_in(text)
    kind, token = next(tokens, ("word", ""))
    if (kind, token) == ("mark", "["):
        return ["set", list(atoms(tokens))]
    if (kind, token) == ("mark", "{"):
        words = list(atoms(tokens))
        return ["map", [list(pair) for pair in zip(words[::2], words[1::2])]]
    # A text without quotation marks has no such characters, but an old version may print it so.
    rest = "".join(other for _kind, other in tokens)
    if rest:
        return text.strip()
    return atom(kind, token)


def tokens_in(text: str) -> Iterator[tuple[str, str]]:
    for match in TOKEN.finditer(text):
        kind = match.lastgroup or ""
        yield kind, match[kind]


def atoms(tokens: Iterator[tuple[str, str]]) -> Iterator[Any]:
    for kind, token in tokens:
        if kind != "mark":
            yield atom(kind, token)


def atom(kind: str, token: str) -> Any:
    if kind == "text":
        try:
            return json.loads(token)
        except ValueError:
            return token.strip('"')
    if UUID.fullmatch(token):
        return ["uuid", token]
    # Numbers and truth values are written as in JSON.
    is_json = NO_TEXT.fullmatch(token)
    return json.loads(token) if is_json else token


def tables_of_file(text: str) -> dict[str, dict[str, Row]]:
    """Return table to id to row, as the records in the file of a database leave them. It has no states, only settings.

    The first record is the schema.
    """
    tables: dict[str, dict[str, Row]] = {}
    for record in records_in(text):
        if "tables" in record and "name" in record:
            continue
        for table, changes in record.items():
            if isinstance(changes, dict):
                apply(changes, tables.setdefault(table, {}))
    return tables


def records_in(text: str) -> Iterator[Mapping[str, Any]]:
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        try:
            record = json.loads(line)
        except ValueError:
            return  # the copy was taken while it was written
        if isinstance(record, dict):
            yield record


def apply(changes: Mapping[str, Any], rows: dict[str, Row]) -> None:
    """Apply the changes of a record to the rows of a table: a row that is null has been removed."""
    for uuid, row in changes.items():
        if row is None:
            rows.pop(uuid, None)
        elif isinstance(row, dict):
            rows[uuid] = {**rows.get(uuid, {}), "_uuid": ["uuid", uuid], **row}
