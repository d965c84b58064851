# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The targets of a sweep: every compute host, every combination of some values, or both; and slices of them. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Pair:
    """The hosts of a target. host: None where the cloud chooses it. second: None for no second guest.

    is_one_of_several: whether the host has targets with others, too, so that it does not tell this one from them.
    """

    host: str | None
    second: str | None = None
    is_one_of_several: bool = False

    @property
    def named(self) -> list[str]:
        """Return the hosts that a target is called by."""
        hosts = [self.host, self.second if self.is_one_of_several else None]
        return list(filter(None, hosts))


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
    hosts: Sequence[str], values: Values, sweep_id: str, peers: int = 0
) -> list[Target]:
    """Return every host with every combination of the given values, each with a name and the id of its own run.

    peers: how many hosts behind it each host has a target with.
    """
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
    for pair, *chosen in itertools.product(
        pairs_of(list(dict.fromkeys(hosts)), peers), *varied.values()
    ):
        combinations.append((pair, dict(zip(varied, chosen))))
    room = LONGEST_RUN_ID - 1 - len(sweep_id)
    keys = keys_of(list(itertools.starmap(short_name, combinations)), room)
    return [
        target_of(pair, chosen, key, sweep_id)
        for (pair, chosen), key in zip(combinations, keys)
    ]


def pairs_of(hosts: Sequence[str], peers: int) -> list[Pair]:
    """Return each host with the hosts behind it, in a ring; without peers each by itself.

    Each host comes first in a pair, as its own boot is to be proved, too. More peers make no two hosts meet twice.
    """
    if not hosts:
        return [Pair(None)]
    count = len(hosts)
    if not peers or count == 1:
        return list(map(Pair, hosts))
    pairs = []
    for distance in range(1, min(peers, count // 2) + 1):
        # Opposite ones in the ring are half of the others.
        meets_twice = distance > 1 and 2 * distance == count
        for place in range(distance if meets_twice else count):
            second = hosts[(place + distance) % count]
            pairs.append(Pair(hosts[place], second, peers > 1))
    return pairs


def target_of(
    pair: Pair, chosen: Mapping[str, str], key: str, sweep_id: str
) -> Target:
    return Target(
        name=name_of(pair, chosen),
        key=key,
        run_id=f"{sweep_id}-{key}",
        host=pair.host,
        second_host=pair.second,
        network=chosen.get("network"),
        volume_type=chosen.get("volume_type"),
        zone=chosen.get("zone"),
    )


def name_of(pair: Pair, chosen: Mapping[str, str]) -> str:
    """Return the name for a reader: the host or both, and the values if there are any."""
    values = [
        f"{name.replace('_', ' ')} {value}" for name, value in chosen.items()
    ]
    hosts = [" to ".join(pair.named)] if pair.named else []
    return ", ".join([*hosts, *values])


def short_name(pair: Pair, chosen: Mapping[str, str]) -> str:
    """Return the same in short, for the name of a run: a host without its domain."""
    hosts = [host.partition(".")[0] for host in pair.named]
    return "-".join([*hosts, *chosen.values()])


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
