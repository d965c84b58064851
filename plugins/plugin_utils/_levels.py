# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the levels, and finds the values that one gives a run: a variable that the user sets is left as it is.

PRIVATE to the collection: no promise is made to other users of this file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml
from ansible_collections.stackproof.provision.plugins.module_utils._model.level import (
    LeftOut,
)
from ansible_collections.stackproof.provision.plugins.plugin_utils import (
    _specs,
)

LEVELS = os.path.join(_specs.COLLECTION, "playbooks", "vars", "levels")


@dataclass(frozen=True)
class Level:
    """A level as its file has it.

    values: by variable. needs: the variable that has to be set, by variable or by element of a list among the values.
    """

    values: Mapping[str, Any]
    needs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Taken:
    """What a level gives a run: the values by variable, and the parts that are left out."""

    values: Mapping[str, Any]
    left_out: tuple[LeftOut, ...]


def names_of_levels() -> list[str]:
    return sorted(os.path.splitext(name)[0] for name in os.listdir(LEVELS))


def read_level(name: str) -> Level:
    with open(os.path.join(LEVELS, f"{name}.yml"), encoding="utf-8") as stream:
        return Level(**yaml.safe_load(stream))


def take(
    level: Level, given: Collection[str], value_of: Callable[[str], Any]
) -> Taken:
    """Return what a level gives a run. given: the variables that the user sets. value_of returns the value of one."""

    def is_met(need: str) -> bool:
        return is_set(
            need, value_of(need) if need in given else level.values.get(need)
        )

    values: dict[str, Any] = {}
    left_out: list[LeftOut] = []
    for name, value in level.values.items():
        if name in given:
            continue
        missing = missing_parts(name, value, level.needs, is_met)
        left_out += missing
        parts = {part.part for part in missing}
        if name not in parts:
            values[name] = (
                [element for element in value if element not in parts]
                if isinstance(value, list)
                else value
            )
    return Taken(values, tuple(left_out))


def is_set(name: str, value: Any) -> bool:
    """Return whether a variable has a value that others can need: a switch is on, anything else is not empty."""
    is_switch = _specs.variables_of_run()[name].get("type") == "bool"
    if is_switch:
        return _specs.is_true(value)
    return _specs.is_given(value)


def missing_parts(
    name: str,
    value: Any,
    needs: Mapping[str, str],
    is_met: Callable[[str], bool],
) -> Sequence[LeftOut]:
    """Return what is left out of a value: the whole of it, or some elements of a list."""
    whole = unmet([name], needs, is_met)
    if whole or not isinstance(value, list):
        return whole
    return unmet(value, needs, is_met)


def unmet(
    parts: Iterable[str],
    needs: Mapping[str, str],
    is_met: Callable[[str], bool],
) -> list[LeftOut]:
    """Return the parts whose needs are not met."""
    needed = [LeftOut(part, needs[part]) for part in parts if part in needs]
    return [part for part in needed if not is_met(part.needs)]
