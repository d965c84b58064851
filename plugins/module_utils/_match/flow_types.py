# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The values that each key of a flow may have. They are checked before any other code looks at them."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from .._collect.sources import SOURCES
from .._model.words import Level, StageName

TIERS = (0, 1, 2, 3)
# The places on the page: each step of the boot, the boot in few steps, or the steps of another stage
PLACES = ("guide", "story", "stage")
# The lists of rules of a step
PARTS = ("observe", "cached", "absent")
# The message quotes so many characters of a wrong value.
LONGEST_VALUE = 60


@dataclass(frozen=True)
class Kind:
    """What a value must be: in words, and as a test."""

    words: str
    accepts: Callable[[Any], bool]
    choices: tuple[Any, ...] = ()


def is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def is_number(value: Any) -> bool:
    """Return whether a value is a whole number. Python takes True for one."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_id(value: Any) -> bool:
    """Return whether a value names a step. A fraction does not: 1.1 and 1.10 would be one name."""
    return is_text(value) or is_number(value)


def is_interval(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(end is None or is_id(end) for end in value)
    )


def are_numbers(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    lists = (
        inner if isinstance(inner, list) else [inner]
        for inner in value.values()
    )
    return all(map(is_id, chain.from_iterable(lists)))


def list_of(accepts: Callable[[Any], bool], words: str) -> Kind:
    """Return the kind of a list. Whoever leaves it empty in YAML writes a null, which is no mistake."""
    return optional(
        Kind(
            f"a list of {words}",
            lambda value: isinstance(value, list) and all(map(accepts, value)),
        )
    )


def one_of(*choices: Any) -> Kind:
    *others, last = map(str, choices)
    words = f"{', '.join(others)} or {last}"
    # 1 equals True and 1.0.
    return Kind(
        words,
        lambda value: any(
            type(value) is type(choice) and value == choice
            for choice in choices
        ),
        choices,
    )


def optional(kind: Kind) -> Kind:
    """Return the kind of a value that may be null, as if its key were not there."""
    return Kind(
        kind.words,
        lambda value: value is None or kind.accepts(value),
        kind.choices,
    )


def is_dictionary(value: Any) -> bool:
    return isinstance(value, dict)


TEXT = Kind("a non-empty text", is_text)
ID = Kind("a non-empty text or a whole number", is_id)
IDS = list_of(is_id, "steps")
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
RULES = list_of(is_dictionary, "rules")
STAGE = one_of(*(name.value for name in StageName))

FLOW = {
    "name": TEXT,
    "title": TEXT,
    "extends": optional(TEXT),
    "lifelines": Kind(
        "a list of texts",
        lambda value: isinstance(value, list) and all(map(is_text, value)),
    ),
    "stage": optional(STAGE),
    "judged": optional(FLAG),
    "shown_as": optional(one_of(*PLACES)),
    "shown_when": optional(TEXT),
    "counted": TEXT,
    "exclusive": optional(FLAG),
    "phases": optional(
        Kind(
            "a dictionary of dictionaries",
            lambda value: (
                is_dictionary(value)
                and all(map(is_dictionary, value.values()))
            ),
        )
    ),
    "parts": list_of(is_dictionary, "dictionaries"),
    "actions": list_of(is_text, "names of actions"),
    "others": list_of(is_dictionary, "rules"),
    "steps": Kind("a list of steps", lambda value: isinstance(value, list)),
}
PHASE = {
    "stage": optional(STAGE),
    "repeats": optional(FLAG),
    "when": optional(TEXT),
    "unless": optional(TEXT),
    "instead": optional(TEXT),
}
PART = {
    "name": TEXT,
    "text": TEXT,
    "starts": IDS,
    "ends": IDS,
    "ends_first": IDS,
}
OTHER = {"where": TEXT, "reason": TEXT}
STEP = {
    "id": ID,
    "phase": optional(TEXT),
    "source": TEXT,
    "target": TEXT,
    "responsible": TEXT,
    "message": TEXT,
    "kind": TEXT,
    "numbers": optional(
        Kind(
            "a dictionary of whole numbers, texts and lists of them",
            are_numbers,
        )
    ),
    "became": optional(one_of("same", "changed", "gone", "cached", "new")),
    "today": optional(TEXT),
    "when": TEXT,
    "unless": optional(TEXT),
    "instead": optional(TEXT),
    "otherwise": optional(TEXT),
    "follows": IDS,
    "leads_to": IDS,
    "covers": IDS,
    "after": ID,
    "before": ID,
    "state": list_of(is_text, "names of links"),
    "observe": RULES,
    "cached": RULES,
    "absent": RULES,
}
# No value of a rule may be null: without its text a rule would take any event for evidence.
RULE = {
    "source": one_of(*SOURCES),
    "service": TEXT,
    "kind": one_of(
        "http",
        "rpc",
        "line",
        "state",
        "fact",
        "server_event",
        "console",
        "dhcp",
        "db",
        "span",
    ),
    "where": TEXT,
    "says": TEXT,
    "window": TEXT,
    "within": Kind(
        "a list of two steps, either of which may be null", is_interval
    ),
    "needs": TEXT,
    "pick": one_of("first", "last"),
    "edge": one_of("end", "later"),
    "tier": one_of(*TIERS),
    "level": one_of(*(level.value for level in Level)),
    "text": TEXT,
}


def problem(flow: dict[str, Any]) -> str | None:
    """Return where the first value of a wrong type is in a flow and what it must be, or None."""
    return next(problems(flow), None)


def problems(flow: dict[str, Any]) -> Iterator[str]:
    yield from wrong_values("", flow, FLOW)
    for name, phase in given(flow, "phases", {}).items():
        place = f"the phase {shown(name)}: "
        yield from wrong_values(place, phase, PHASE)
    for number, part in enumerate(given(flow, "parts"), 1):
        yield from wrong_values(f"part {number}: ", part, PART)
    for number, rule in enumerate(given(flow, "others"), 1):
        place = f"rule {number} of others: "
        yield from wrong_values(place, rule, OTHER)
    for number, step in enumerate(given(flow, "steps"), 1):
        yield from problems_of_step(number, step)


def given(flow: dict[str, Any], name: str, nothing: Any = ()) -> Any:
    """Return what a flow has under a name, which may be there without a value."""
    return flow.get(name) or nothing


def problems_of_step(number: int, step: Any) -> Iterator[str]:
    if not isinstance(step, dict):
        yield f"step {number} must be a dictionary, not {quoted(step)}"
        return
    where = f"step {shown(step.get('id', number))}"
    yield from wrong_values(f"{where}: ", step, STEP)
    for part in PARTS:
        for place, rule in enumerate(step.get(part) or (), 1):
            yield from wrong_values(
                f"{where}, rule {place} of {part}: ", rule, RULE
            )


def wrong_values(
    where: str, values: Mapping[str, Any], kinds: Mapping[str, Kind]
) -> Iterator[str]:
    """Return a sentence for each value of a wrong type. Keys that are not known or missing are found later."""
    for name, kind in kinds.items():
        if name in values and not kind.accepts(values[name]):
            yield f"{where}{name} must be {kind.words}, not {quoted(values[name])}"


def shown(value: Any) -> str:
    """Return a name as it stands in the flow."""
    return value[:LONGEST_VALUE] if isinstance(value, str) else quoted(value)


def quoted(value: Any) -> str:
    if value is None:
        return "nothing"
    return QUOTING.repr(value)


class Quoting(reprlib.Repr):
    """Writes values as Python does, but of long ones only a part."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = LONGEST_VALUE


QUOTING = Quoting()
