# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The paths between the two guests of a run, for the terminal and the page."""

from __future__ import annotations

from dataclasses import dataclass

from .._match import places
from .._model.codec import from_json
from .._model.details import DataplaneDetails, PathCheck
from .._model.record import Record
from .._model.words import CheckStatus, StageName
from .messages.words import place_of


@dataclass(frozen=True)
class PathRow:
    """A check of a path. route: from which guest to which, with their hosts as far as they are known."""

    route: str
    status: CheckStatus
    text: str


def rows_of(record: Record) -> list[PathRow]:
    """Return what the guests found; nothing where the paths were not checked."""
    stage = record.stage(StageName.DATAPLANE)
    if stage is None:
        return []
    details = from_json(DataplaneDetails, stage.details, "dataplane.details")
    # The first one may have been moved later.
    first = places.host_by_stage(record, StageName.BOOT) or places.host_of(
        record
    )
    guests = {"first": first, "second": places.second_host_of(record)}
    return [
        PathRow(route_of(check, guests), check.status, check.text)
        for check in details.checks or ()
    ]


def route_of(check: PathCheck, hosts: dict[str, str | None]) -> str:
    """Return the way of a check, as first (compute1) -> second (compute2)."""
    names = list(filter(None, (check.source, check.target)))
    ends = [place_of(name, hosts.get(name)) for name in names]
    return " -> ".join(ends)
