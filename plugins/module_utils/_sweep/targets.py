# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The targets of a sweep: every compute host, every combination of some values, or both; and slices of them. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

from .._model.sweep import Slice, Target
from .._record.errors import StageError
from .._record.run import RUN_ID

# Options that may be varied besides the host, in the order in which a name has them
DIMENSIONS = ("network", "volume_type", "zone")
# As the schema of a run allows it
LONGEST_RUN_ID = 40
# In characters: this much of a run's id is left for the target.
LEAST_ROOM = 8
SLICE = re.compile(r"([1-9]\d{0,3})/([1-9]\d{0,3})")

Values = Mapping[str, Sequence[str]]


def check_values(values: Values) -> None:
    unknown = sorted(set(values) - set(DIMENSIONS))
    if unknown:
        message = f"a sweep can vary {', '.join(DIMENSIONS)} besides the hosts, not {', '.join(unknown)}"
        raise StageError("invalid", message)
    for option, names in values.items():
        if not is_list_of_names(names):
            raise StageError(
                "invalid",
                f"the values of {option} for the sweep are not a list of names: {names!r}",
            )


def is_list_of_names(value: object) -> bool:
    if not isinstance(value, list):
        return False
    return all(isinstance(name, str) and name for name in value)


def check_id(sweep_id: str) -> None:
    most = LONGEST_RUN_ID - 1 - LEAST_ROOM
    if not RUN_ID.fullmatch(sweep_id) or len(sweep_id) > most:
        message = f"{sweep_id!r} is not a sweep id: it has 3 to {most} lower-case letters, digits and hyphens"
        raise StageError("invalid", message)


def targets_of(
    hosts: Sequence[str], values: Values, sweep_id: str
) -> list[Target]:
    """Return every host with every combination of the given values, each with a name and the id of its own run."""
    check_values(values)
    check_id(sweep_id)
    varied = {
        name: dict.fromkeys(values[name])
        for name in DIMENSIONS
        if values.get(name)
    }
    if not hosts and not varied:
        return []
    combinations = []
    for host, *chosen in itertools.product(
        dict.fromkeys(hosts) or [None], *varied.values()
    ):
        combinations.append((host, dict(zip(varied, chosen))))
    room = LONGEST_RUN_ID - 1 - len(sweep_id)
    keys = keys_of(
        [short_name(host, chosen) for host, chosen in combinations], room
    )
    return [
        target_of(host, chosen, key, sweep_id)
        for (host, chosen), key in zip(combinations, keys)
    ]


def target_of(
    host: str | None, chosen: Mapping[str, str], key: str, sweep_id: str
) -> Target:
    return Target(
        name=name_of(host, chosen),
        key=key,
        run_id=f"{sweep_id}-{key}",
        host=host,
        network=chosen.get("network"),
        volume_type=chosen.get("volume_type"),
        zone=chosen.get("zone"),
    )


def name_of(host: str | None, chosen: Mapping[str, str]) -> str:
    """Return the name for a reader: the host, and the values if there are any."""
    values = [
        f"{name.replace('_', ' ')} {value}" for name, value in chosen.items()
    ]
    return ", ".join([host, *values] if host else values)


def short_name(host: str | None, chosen: Mapping[str, str]) -> str:
    """Return the same in short, for the name of a run: a host without its domain."""
    short = (host or "").partition(".")[0]
    return "-".join(filter(None, (short, *chosen.values())))


def keys_of(names: Sequence[str], room: int) -> list[str]:
    """Return a key for each name, not longer than there is room for; no two are the same."""
    keys: list[str] = []
    for number, name in enumerate(names, start=1):
        words = re.sub(r"[^a-z0-9]+", "-", name.lower())
        whole = words.strip("-") or "target"
        keys.append(free_key(whole, number, room, keys))
    return keys


def free_key(whole: str, number: int, room: int, taken: Sequence[str]) -> str:
    """Return a key, with a number in the place of its end where it is too long or taken."""
    key = whole
    tails = (f"-{count}" for count in itertools.count(number))
    while len(key) > room or key in taken:
        tail = next(tails)
        key = whole[: room - len(tail)].rstrip("-") + tail
    return key


# Slices


def slice_of(text: str) -> tuple[int, int]:
    """Return number and count of a slice such as 3/10."""
    matched = SLICE.fullmatch(text)
    number, count = (
        (int(part) for part in matched.groups()) if matched else (0, 0)
    )
    if not 1 <= number <= count:
        message = f"{text!r} is not a slice: give its number and how many there are, such as 3/10"
        raise StageError("invalid", message)
    return number, count


def id_of(sweep_id: str, part: tuple[int, int] | None) -> str:
    """Return the id of a slice: so slices that were given one id may lie in one folder."""
    return f"{sweep_id}-{part[0]}of{part[1]}" if part else sweep_id


def sliced(targets: Sequence[Target], part: tuple[int, int]) -> list[Target]:
    """Return the targets of a slice. All slices together have each target once."""
    number, count = part
    return [*targets[number - 1 :: count]]


def slice_record(
    part: tuple[int, int] | None, targets: Sequence[Target]
) -> Slice | None:
    """Return the slice as a record has it. targets: those of all slices."""
    return (
        Slice(number=part[0], of=part[1], targets=len(targets))
        if part
        else None
    )
