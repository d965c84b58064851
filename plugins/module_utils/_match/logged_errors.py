# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The errors in the logs of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import filterfalse
from typing import Any

from .._model.baseline import Baseline
from .._model.codec import from_json
from .._model.event import NOVA_EVENTS, Event
from .._model.record import FilterResult, LoggedError
from .._model.words import Severity

# More kinds of errors than this are a flood; the others are left out.
MOST_ERRORS = 200
# How many seconds apart Nova's list of events and the log of a service may have one error
COPIED_S = 30.0
# What distinguishes one kind of error from another, besides where it was logged
KIND = ("logger", "exception", "raised_in", "how", "peer", "peer_address")


def errors_of(events: Iterable[Event]) -> tuple[LoggedError, ...]:
    """Return the errors, each kind once, with its first time, its number and the line to be quoted."""
    errors: dict[tuple[Any, ...], LoggedError] = {}
    for event in events:
        if event.kind != "error":
            continue
        error = error_of(event)
        kind = (
            error.service,
            error.host,
            *(getattr(error, name) for name in KIND),
            error.own,
            error.severity,
            error.at_destination,
        )
        first = errors.get(kind)
        errors[kind] = (
            error if first is None else replace(first, count=first.count + 1)
        )
    found = without_copies(errors.values())
    # On a cloud of many hosts those of the run come before those that each host has.
    kept = sorted(found, key=lambda error: (not error.own, error.is_warning))[
        :MOST_ERRORS
    ]
    return tuple(sorted(kept, key=lambda error: error.at))


def without_copies(errors: Iterable[LoggedError]) -> list[LoggedError]:
    """Return errors without those of Nova's list of events that the service has logged itself at about that time."""
    found = list(errors)
    logged = [error for error in found if error.logger != NOVA_EVENTS]

    def is_copy(error: LoggedError) -> bool:
        return error.logger == NOVA_EVENTS and any(
            other.is_of_run
            and (other.service, other.host) == (error.service, error.host)
            and abs(other.at - error.at) <= COPIED_S
            for other in logged
        )

    return list(filterfalse(is_copy, found))


def error_of(event: Event) -> LoggedError:
    """Return an event as an error that was logged once."""
    return LoggedError(
        service=event.service,
        host=event.host or "",
        at=event.at,
        count=1,
        mentions=tuple(event.get("mentions") or ()),
        quote=event.get("quote"),
        # A request of any stage is the run's own; a thing that others may use as well is not, and neither is what a
        # service does periodically under the id of a request that is over.
        own=event.is_keyed and not event.get("periodic"),
        severity=Severity(event.get("severity") or Severity.ERROR),
        usual=None,
        filters=filters_of(event),
        insufficient=event.get("insufficient"),
        at_destination=bool(event.get("at_destination")),
        **{name: event.get(name) for name in KIND},
    )


def filters_of(event: Event) -> tuple[FilterResult, ...] | None:
    """Return what each filter of a scheduler has left, if the event reports that none left a host."""
    return (
        tuple(
            from_json(FilterResult, result)
            for result in event.get("filters") or ()
        )
        or None
    )


def with_usual(
    errors: Iterable[LoggedError], baseline: Baseline | None
) -> tuple[LoggedError, ...]:
    """Return errors that know whether they were logged while all worked, too; as they are without a baseline."""
    if baseline is None:
        return tuple(errors)
    return tuple(
        replace(error, usual=baseline.usual(error.kind)) for error in errors
    )


def with_quote(
    errors: Iterable[LoggedError], quote: str | None
) -> tuple[LoggedError, ...]:
    """Return errors without all quotes but one: no other line of a log is kept."""
    return tuple(
        replace(error, quote=quote if error.quote == quote else None)
        for error in errors
    )
