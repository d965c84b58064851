# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The verdict on a failure in the order in which it is read at night: proof, step, how sure, and what to do."""

from __future__ import annotations

import re

from .._record.clock import seconds_between
from .._record.run import failed_stage, with_removal

# So many other suspects are told beside the one that is named.
OTHERS = 3
# A suspect of less probability than this is not told.
UNLIKELY = 0.02
# A unit at the end of a sentence, which the next command names
UNIT = re.compile(r" \([\w@.-]+\.service\)$")


def place_of(component, host):
    return f"{component} on {host}" if component and host else component or host


def share(confidence):
    """A probability as a reader says it. Nothing is certain."""
    percent = round(100 * confidence)
    return f"{min(percent, 99)} %" if percent else "below 1 %"


def suspect_in_words(suspect):
    """A suspect with its probability; a record of 0.1.0 has a weight instead."""
    confidence = suspect.get("confidence")
    sure = f"weight {suspect['weight']:g}" if confidence is None else share(confidence)
    return f"{place_of(suspect['component'], suspect['host'])} ({sure})"


def failure_in_words(failure):
    """The cause of requests that failed: who broke them, how, and how sure that is; or what the API said."""
    if failure["component"] is None:
        return failure["reason"].removeprefix(f"{failure['stage']}: ").rstrip(".")
    return f"{failure['headline']} ({share(failure['confidence'])})"


def request_in_words(request):
    """What a request asked for, by whom it was answered, and how."""
    asked = " ".join(filter(None, (request["method"], request["path"]))) or "work for which no API has logged a request"
    answered = f": {request['status']}" if request["status"] else ""
    return f"{request['service']} on {request['host']}: {asked}{answered} ({request['id']})"


def parts(record):
    """(name, text) of all that stands below the headline, or an empty list without one."""
    verdict, stage = record["verdict"], failed_stage(with_removal(record))
    if not (verdict.get("headline") or verdict["alternatives"]):
        return []
    headline = verdict.get("headline") or verdict["reason"]
    # A removal that failed may have been done since.
    said = stage and stage["error"] and stage["error"]["message"]
    lines = [
        ("log", log_of(verdict)),
        ("owed", verdict.get("owed")),
        ("last seen", last_seen(verdict["last_seen"], record["started"])),
        ("stage said", None if not said or said in headline else " ".join(said.split())),
        ("sure", sure(verdict)),
        *(("because", why) for why in verdict["evidence"][:OTHERS] if UNIT.sub("", why) not in headline),
        ("next", verdict["next"]),
    ]
    return [(name, text) for name, text in lines if text]


def last_seen(step, started):
    if step is None:
        return None
    return f"step {step['id']} ({step['message']}), {seconds_between(started, step['at']):.1f} s after the start"


def sure(verdict):
    """How sure the verdict is, and the likeliest others."""
    likely = [suspect for suspect in verdict["alternatives"] if suspect.get("confidence", 1) >= UNLIKELY]
    others = [suspect_in_words(suspect) for suspect in likely[:OTHERS]]
    if verdict.get("confidence") is None:
        return f"of nobody; the likeliest: {', '.join(others)}" if others else None
    return "; or ".join([suspect_in_words(verdict), ", ".join(others)]) if others else suspect_in_words(verdict)


def log_of(verdict):
    """The line of a log, and whose it is."""
    quote, quoted = verdict.get("quote"), verdict.get("quoted")
    return f"{place_of(quoted['component'], quoted['host'])}: {quote}" if quoted else quote
