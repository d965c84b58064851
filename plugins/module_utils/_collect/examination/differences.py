# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find what differs between hosts that should be alike, and what has changed since the last run that passed. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ..._model.host import ChangedFile, Difference, Examination
from .configuration import SettingsFile
from .examine import RawExamination

# In seconds. Without an earlier run that passed, a change in the last hour is reported.
RECENT = 3600
# More of them are another kind of host, or a change of the whole cloud.
MOST = 20

# A name to a text, such as an option to the digest of its value
Table = Mapping[str, str]


@dataclass(frozen=True)
class Reference:
    """When the hosts were read, and when the last run that passed ended, both by the clock of the control node."""

    now: float
    passed: float | None

    @property
    def since(self) -> float:
        return self.now - RECENT if self.passed is None else self.passed


def examined(
    hosts: Mapping[str, RawExamination],
    groups: Mapping[str, Iterable[str]],
    offsets: Mapping[str, float],
    reference: Reference,
) -> dict[str, Examination]:
    """Return the findings of each host that the record keeps: no digest is among them.

    groups: host to its groups in the inventory. offsets: host to the seconds by which its clock is ahead.
    """
    kept = {}
    for name, found in hosts.items():
        like = [
            hosts[peer] for peer in peers_of(name, groups) if peer in hosts
        ]
        kept[name] = Examination(
            reach=found.reach,
            pending=found.pending,
            reports=found.reports,
            exhausted=found.exhausted,
            differences=tuple(differences_of(found, like)[:MOST]),
            changed=tuple(
                changed(found.files, offsets[name], reference)[:MOST]
            ),
            queues=found.queues,
            certificates=found.certificates,
            names=found.names,
            back_ends=found.back_ends,
        )
    return kept


def peers_of(name: str, groups: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the hosts that should be like this one: those with the same groups."""
    own = set(groups[name])
    return [
        other
        for other in groups
        if other != name and set(groups[other]) == own
    ]


def differences_of(
    found: RawExamination, like: list[RawExamination]
) -> list[Difference]:
    differences = []
    for kind, table_of in TABLES:
        # A table that could not be read differs from nothing.
        others = list(filter(None, map(table_of, like)))
        differences += [
            Difference(kind, what) for what in unlike(table_of(found), others)
        ]
    return differences


def modes_of(examination: RawExamination) -> Table:
    return {path: file.mode for path, file in examination.files.items()}


TABLES: tuple[tuple[str, Callable[[RawExamination], Table]], ...] = (
    ("option", lambda examination: examination.digests),
    ("package", lambda examination: examination.packages),
    ("mode", modes_of),
)


def unlike(here: Table, others: list[Table]) -> list[str]:
    """Return the names that this host has otherwise than the others: of more than two, than most of them."""
    if not (here and others):
        return []
    names = set(here).union(*others)
    return [name for name in sorted(names) if is_unlike(name, here, others)]


def is_unlike(name: str, here: Table, others: list[Table]) -> bool:
    values = Counter(other.get(name) for other in others)
    value, number = values.most_common(1)[0]
    return here.get(name) != value and number > len(others) / 2


def changed(
    files: Mapping[str, SettingsFile], offset: float, reference: Reference
) -> list[ChangedFile]:
    """Return the files that were changed since the last run that passed, the latest first."""
    late = []
    for path, file in files.items():
        at = file.changed - offset
        if reference.since < at <= reference.now:
            late.append((at, path))
    return [
        ChangedFile(path, round(reference.now - at, 1), round(at, 3))
        for at, path in sorted(late, reverse=True)
    ]
