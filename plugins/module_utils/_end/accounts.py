# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare the two accounts of what a run has made: its ledger, and its record.

Either of them is enough to remove everything. Where they differ, one of them was damaged, and what else it has lost
cannot be known: such a run does not pass.
"""

from __future__ import annotations

from itertools import starmap

from .._model.stage import Leftover
from .._model.words import StageStatus
from .._record import ledger
from .._record.clock import now
from .._record.ledger import Entry
from .._record.run import STAGES, Run

# The field of a line of the ledger that says that the resource was found in the record alone
KNOWN_BY = "known_by"
RECORD = "run.json"


def to_remove(run: Run) -> list[Entry]:
    """Return what may still exist, in the order in which it was made."""
    entries = [
        entry
        for entry in run.ledger.entries.values()
        if entry["event"] in ledger.OPEN
    ]
    known = recorded(run)
    for entry in entries:
        if entry["id"] is None and entry["event"] == ledger.MADE:
            entry["id"] = known.get((entry["kind"], entry["name"]))
    return [*entries, *missing_in_ledger(run)]


def recorded(run: Run) -> dict[tuple[str, str], str]:
    """Return the ids of what the record says was made, by kind and name."""
    return {
        (resource.kind, resource.name): resource.id
        for resource in run.record.made
        if resource.name
    }


def missing_in_ledger(run: Run) -> list[Entry]:
    """Return what the record alone knows, as entries of a ledger."""
    return [
        {
            **ledger.begun(kind, name, now()),
            "event": ledger.MADE,
            "id": identity,
            KNOWN_BY: RECORD,
        }
        for (kind, name), identity in recorded(run).items()
        if (kind, name) not in run.ledger.entries
    ]


def missing_in_record(run: Run) -> list[Entry]:
    """Return what the ledger alone knows of a run whose stages all came to a good end.

    A stage that failed or was interrupted may have begun what it could not record.
    """
    ended = {stage.stage: stage.status for stage in run.record.stages}
    if StageStatus.FAILED in ended.values():
        return []
    if not ended.keys() >= set(STAGES):
        return []
    known = recorded(run)
    return [
        entry
        for key, entry in run.ledger.entries.items()
        if key not in known and is_known_by_ledger(entry)
    ]


def is_known_by_ledger(entry: Entry) -> bool:
    """Return whether the ledger has it by itself that a resource was made."""
    if KNOWN_BY in entry:
        return False
    return entry["event"] in (ledger.MADE, ledger.GONE)


def origin(entry: Entry) -> dict[str, str]:
    """Return the field that keeps in the ledger that the record alone knew a resource."""
    return {KNOWN_BY: entry[KNOWN_BY]} if KNOWN_BY in entry else {}


def differences(run: Run) -> list[Leftover]:
    """Return a leftover for each resource that one account alone knows."""
    gone = [
        entry for entry in run.ledger.entries.values() if KNOWN_BY in entry
    ]
    found = [
        (
            entry,
            "run.json alone knew it, so the ledger has lost lines; it was deleted",
        )
        for entry in gone
    ]
    found += [
        (entry, "run.json alone knows it, so the ledger has lost lines")
        for entry in missing_in_ledger(run)
    ]
    for entry in missing_in_record(run):
        state = (
            "it was deleted"
            if entry["event"] == ledger.GONE
            else "it was not deleted"
        )
        found.append(
            (
                entry,
                f"the ledger alone knows it, so run.json has lost it; {state}",
            )
        )
    return list(starmap(leftover, found))


def leftover(entry: Entry, reason: str) -> Leftover:
    """Return what is left of an entry. Its line may be damaged, and have anything."""
    identity = None if entry["id"] is None else str(entry["id"])
    return Leftover(
        kind=str(entry["kind"]),
        id=identity,
        name=str(entry["name"]),
        reason=reason,
    )
