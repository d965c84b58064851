# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rows of OVSDB, as ovs-vsctl, ovn-nbctl and ovn-sbctl print them: a dataclass names the columns that are asked for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import starmap
from typing import Annotated, Any, TypeVar, cast

from .._model.codec import Key, from_json, hints_of, key_of

T = TypeVar("T")
Uuid = Annotated[str, Key("_uuid")]


@dataclass(frozen=True)
class Table:
    """A table as the programs print it."""

    headings: tuple[str, ...]
    data: tuple[Any, ...]


def columns_of(kind: type[Any]) -> str:
    """Return the columns of a kind of row, as an option of the programs."""
    columns = list(starmap(key_of, hints_of(cast(Any, kind)).items()))
    return f"--columns={','.join(columns)}"


def rows(text: str, kind: type[T]) -> list[T]:
    """Parse a table; maps, sets and UUIDs in it become dictionaries, lists and texts."""
    table = from_json(Table, json.loads(text), "the table")
    found = []
    for row in table.data:
        values = dict(zip(table.headings, map(plain, row)))
        found.append(from_json(kind, values, "the row"))
    return found


def plain(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    kind, content = value[0], value[1]
    if kind == "map":
        return dict(content)
    if kind == "set":
        return list(map(plain, content))
    if kind == "uuid":
        return content
    return value


def number(value: Any) -> int | None:
    """Return the number in a column; None for an empty one, which is an empty list."""
    return value if isinstance(value, int) else None


def listed(value: Any) -> list[Any]:
    """Return the values of a column: a single value is not a list."""
    return value if isinstance(value, list) else [value]


def first(value: Any) -> Any:
    """Return the first value of a column, or None."""
    return next(iter(listed(value)), None)
