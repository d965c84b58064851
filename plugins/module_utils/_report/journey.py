# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The operations on a server after its boot, for the terminal and the page."""

from __future__ import annotations

from dataclasses import dataclass

from .._model.codec import from_json
from .._model.details import JourneyDetails, Leg
from .._model.record import Record
from .._model.words import StageName, StageStatus
from .messages.words import plural


@dataclass(frozen=True)
class LegRow:
    operation: str
    status: StageStatus
    text: str


def rows_of(record: Record) -> list[LegRow]:
    """Return the operations of a run; nothing where none was asked for."""
    stage = record.stage(StageName.JOURNEY)
    if stage is None:
        return []
    legs = from_json(JourneyDetails, stage.details, "journey.details").legs
    return [
        LegRow(leg.operation.replace("_", " "), leg.status, text_of(leg))
        for leg in legs
    ]


def text_of(leg: Leg) -> str:
    """Return how long an operation took, where the server went, and for how long it did not answer."""
    took = "not ended" if leg.seconds is None else f"{leg.seconds:.1f} s"
    return ", ".join(filter(None, (took, place_of(leg), outage_of(leg))))


def place_of(leg: Leg) -> str:
    if not leg.moved:
        return ""
    if leg.host_before and leg.host_after:
        return f"{leg.host_before} -> {leg.host_after}"
    return "to another host"


def outage_of(leg: Leg) -> str:
    if leg.lost is None or leg.outage_s is None:
        return ""
    return (
        f"no answer for {leg.outage_s:.1f} s ({plural(leg.lost, 'packet')})"
        if leg.lost
        else "no packet lost"
    )
