# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What Nova asked Placement for, by the requests that Placement has logged: no flavor is known from logs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .._model.capacity import (
    Capacity,
    ComputeCapacity,
    Requested,
    RequestGroup,
)
from .._model.event import Event

QUESTION = re.compile(r"/allocation_candidates\?(?P<query>.+)$")
PARAMETER = re.compile(
    r"(?:root_)?(?P<kind>resources|required)(?P<suffix>[^=]*)=(?P<values>[^&]+)"
)
FORBIDDEN = "!"


def capacity_in(events: Iterable[Event]) -> Capacity | None:
    """Return what was asked for, with nothing known of the hosts; None if Placement has logged no such request."""
    questions = list(filter(None, map(question_in, events)))
    if not questions:
        return None
    requested = Requested(flavor="", groups=groups_in(questions[-1]["query"]))
    return (
        Capacity(compute=ComputeCapacity(requested, hosts=None))
        if requested.resources
        else None
    )


def question_in(event: Event) -> re.Match[str] | None:
    return QUESTION.search(event.get("path") or "")


def groups_in(query: str) -> tuple[RequestGroup, ...]:
    """Return the groups of resources in a query, each with its traits."""
    resources: dict[str, dict[str, int]] = {}
    traits: dict[str, list[str]] = {}
    for parameter in PARAMETER.finditer(query):
        values = parameter["values"].split(",")
        if parameter["kind"] == "resources":
            resources[parameter["suffix"]] = amounts_in(values)
        else:
            traits.setdefault(parameter["suffix"], []).extend(values)
    return tuple(
        group(suffix, amounts, traits.get(suffix, []))
        for suffix, amounts in resources.items()
    )


def amounts_in(values: Iterable[str]) -> dict[str, int]:
    pairs = [value.partition(":") for value in values]
    return {
        name: int(amount) for name, _colon, amount in pairs if amount.isdigit()
    }


def group(
    suffix: str, amounts: Mapping[str, int], traits: Iterable[str]
) -> RequestGroup:
    required = [trait for trait in traits if not trait.startswith(FORBIDDEN)]
    forbidden = [trait[1:] for trait in traits if trait.startswith(FORBIDDEN)]
    return RequestGroup(suffix, amounts, tuple(required), tuple(forbidden))
