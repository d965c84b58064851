# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Words and numbers as messages have them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import NamedTuple

from ..._model.how import How

# Beside a name more digits would say nothing.
MOST_SECONDS, MOST_MINUTES, MOST_HOURS = 120, 120, 48


class AtPeer(NamedTuple):
    """How a failure at a peer reads: of the component that failed, of the peer, and beside an arrow."""

    failed: str
    peer: str
    short: str


# {0} is the other component.
AT_PEER: dict[How | None, AtPeer] = {
    How.FULL: AtPeer(
        "blocked by {0} for want of room", "has no room left for {0}", "full"
    ),
    How.READ_ONLY: AtPeer(
        "its writes are rejected by {0}",
        "rejects writes from {0}",
        "read-only",
    ),
    How.DENIED: AtPeer(
        "denied access by {0}", "denies access to {0}", "denied"
    ),
    How.UNTRUSTED: AtPeer(
        "does not trust the certificate of {0}",
        "has a certificate that {0} does not trust",
        "untrusted",
    ),
    How.REFUSED: AtPeer(
        "connection refused by {0}", "refuses connections from {0}", "refused"
    ),
    How.UNRESOLVED: AtPeer(
        "does not resolve the name of {0}",
        "has a name that {0} does not resolve",
        "no such name",
    ),
    How.UNREACHABLE: AtPeer(
        "cannot reach {0}", "unreachable for {0}", "no route"
    ),
    How.SILENT: AtPeer(
        "no answer from {0}", "does not answer {0}", "no answer"
    ),
    How.BROKEN_OFF: AtPeer(
        "lost its connection to {0}", "drops connections from {0}", "dropped"
    ),
    How.MISSING: AtPeer(
        "not found at {0}", "does not have what {0} requested", "not found"
    ),
    How.CONFLICT: AtPeer(
        "requested what {0} already has",
        "already has what {0} requested",
        "conflict",
    ),
    How.MALFORMED: AtPeer(
        "{0} does not accept its request",
        "does not accept a request of {0}",
        "not accepted",
    ),
    How.ERROR: AtPeer(
        "error returned by {0}", "returns errors to {0}", "error"
    ),
    None: AtPeer(
        "failed while talking to {0}", "caused a failure of {0}", "failed"
    ),
}


def place_of(component: str | None, host: str | None) -> str:
    """Return a component on a host, as far as they are known."""
    if component and host:
        return f"{component} ({host})"
    return component or host or ""


def at_place(component: str | None, host: str | None, text: str) -> str:
    place = place_of(component, host)
    return f"{place}: {text}" if place else text


def percent(confidence: float) -> str:
    """Return a probability as a reader says it. Nothing is certain."""
    number = round(100 * confidence)
    if not number:
        return "below 1 %"
    return f"{min(number, 99)} %"


def duration(seconds: float) -> str:
    """Return a duration in the unit in which a reader compares it."""
    if seconds < MOST_SECONDS:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    if minutes < MOST_MINUTES:
        return f"{minutes:.0f} min"
    hours = minutes / 60
    return f"{hours:.0f} h" if hours < MOST_HOURS else f"{hours / 24:.0f} days"


def ended(reason: str | None) -> str:
    """Return a reason as the end of a sentence: it may be one with a full stop already."""
    return f"{(reason or 'no reason is known').rstrip('. ')}."


def last_seen(step: str, message: str, seconds: float) -> str:
    return f"{message} (step {step}), {seconds:.1f} s after the start"


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def fitting(forms: Iterable[str], length: int) -> str:
    """Return the first form that is no longer than a length; if there is none, the last one up to a whole word."""
    last = ""
    for form in forms:
        if len(form) <= length:
            return form
        last = form
    return textwrap.shorten(last, length, placeholder="") or last[:length]
