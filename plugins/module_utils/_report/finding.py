# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A verdict on a failure as run.json has it, in the order in which it is read at night: proof, step, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._record.clock import seconds_between
from .._record.run import failed_stage, with_removal
from .messages.words import at_place, last_seen, percent, place_of

Json = Mapping[str, Any]
Part = tuple[str, str]

# As many other suspects, and as many lines of evidence, are shown.
OTHERS = 3
# A suspect of less probability than this is not shown.
UNLIKELY = 0.02


def suspect_in_words(suspect: Json) -> str:
    """Return a suspect with its probability; a record of 0.1.0 has a weight instead."""
    confidence = suspect.get("confidence")
    number = f"weight {suspect['weight']:g}" if confidence is None else percent(confidence)
    return f"{place_of(suspect['component'], suspect['host'])}, {number}"


def failure_in_words(failure: Json) -> str:
    """Return the cause of requests that failed: the component that broke them, and how; or what the API answered."""
    if failure["component"] is None:
        reason: str = failure["reason"]
        return reason.rstrip(".")
    return f"{failure['headline']} (confidence: {percent(failure['confidence'])})"


def request_in_words(request: Json) -> str:
    """Return what a request asked for, who answered it, and how."""
    asked = " ".join(filter(None, (request["method"], request["path"]))) or "work for which no API has logged a request"
    answered = f": {request['status']}" if request["status"] else ""
    return f"{place_of(request['service'], request['host'])}: {asked}{answered} ({request['id']})"


def parts(record: Json) -> list[Part]:
    """Return (name, text) of all that stands below the headline; nothing for a verdict without one."""
    verdict = record["verdict"]
    if not (verdict.get("headline") or verdict["alternatives"]):
        return []
    headline = verdict.get("headline") or verdict["reason"]
    evidence = [line for line in verdict["evidence"][:OTHERS] if line != headline]
    lines = [
        ("log", log_of(verdict)),
        ("missing step", verdict.get("missing_step")),
        ("last seen", last_seen_in_words(verdict["last_seen"], record["started"])),
        ("stage error", stage_error(record)),
        ("confidence", confidence_in_words(verdict)),
        *(("evidence", line) for line in evidence),
        ("next", verdict["next"]),
    ]
    return [(name, text) for name, text in lines if text]


def stage_error(record: Json) -> str | None:
    """Return the error of the failed stage in one line; None where it is the verdict's reason, for want of more."""
    stage = failed_stage(with_removal(dict(record)))
    # A removal that failed may have been done since.
    if stage is None or not stage["error"] or not record["verdict"].get("headline"):
        return None
    return " ".join(stage["error"]["message"].split())


def last_seen_in_words(step: Json | None, started: str) -> str | None:
    if step is None:
        return None
    return last_seen(step["id"], step["message"], seconds_between(started, step["at"]))


def confidence_in_words(verdict: Json) -> str | None:
    """Return how likely the cause is, and the likeliest others."""
    likely = [suspect for suspect in verdict["alternatives"] if suspect.get("confidence", 1) >= UNLIKELY]
    others = "; ".join(suspect_in_words(suspect) for suspect in likely[:OTHERS])
    if verdict.get("confidence") is None:
        return f"too low to name one; most likely: {others}" if others else None
    named = percent(verdict["confidence"])
    return f"{named}; otherwise: {others}" if others else named


def log_of(verdict: Json) -> str | None:
    """Return the line of a log, and whose it is."""
    quote: str | None = verdict.get("quote")
    source = verdict.get("quote_source")
    return at_place(source["component"], source["host"], quote) if quote and source else quote
