# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The errors in the logs of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._model.codec import iso_of
from .._model.event import Event

# More kinds of errors than this are a flood; the others are left out.
MOST_ERRORS = 200
# What distinguishes one kind of error from another, besides where it was logged
KIND = ("logger", "exception", "raised_in", "how", "peer", "peer_address")


def errors_of(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Return the errors, each kind once, with its first time, its number and the line to be quoted."""
    errors: dict[tuple[Any, ...], dict[str, Any]] = {}
    for event in events:
        if event.kind != "error":
            continue
        # A request of any stage is the run's own; a thing that others may use as well is not.
        what = {"service": event.service, "host": event.host, **{name: event.get(name) for name in KIND}}
        kind = (*what.values(), event.is_keyed)
        if kind not in errors:
            errors[kind] = {
                **what,
                "own": event.is_keyed,
                "at": iso_of(event.at),
                "count": 0,
                "mentions": event.get("mentions") or [],
                "quote": event.get("quote"),
                "usual": None,
            }
        errors[kind]["count"] += 1
    # On a cloud of many hosts those of the run come before those that each host has.
    kept = sorted(errors.values(), key=lambda error: not error["own"])[:MOST_ERRORS]
    return sorted(kept, key=lambda error: str(error["at"]))
