# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A verdict on a failure, in the order in which it is read at night: proof, step, path, and what to do."""

from __future__ import annotations

from collections.abc import Iterable

from .._judge.weights import WEIGHTS
from .._model.diagnosis import AffectedRequest, RequestFailure
from .._model.known_bug import KnownBug
from .._model.record import Record, first_failed
from .._model.verdict import Alternative, Hop, LastSeen, Verdict
from .._model.words import StageName
from .messages.words import at_place, last_seen, percent, place_of

Part = tuple[str, str]

PATH = "path"
# Before each line of a path but the first
ARROW = "-> "
# A path of one hop says no more than the evidence and the missing step.
SHORTEST_PATH = 2
# As many other suspects, and as many lines of evidence, are shown.
OTHERS = 3
# A suspect below this, which is printed as 10 %, is not shown, unless no component is named and it is the likeliest.
UNLIKELY = 0.095


def suspect_in_words(suspect: Alternative) -> str:
    return f"{place_of(suspect.component, suspect.host)}, {percent(suspect.confidence)}"


def failure_in_words(failure: RequestFailure) -> str:
    """Return the cause of requests that failed: the component that broke them, and how; or what the API answered."""
    if failure.component is None or failure.confidence is None:
        return failure.reason.rstrip(".")
    return f"{failure.headline} (confidence: {percent(failure.confidence)})"


def request_in_words(request: AffectedRequest) -> str:
    """Return what a request asked for, who answered it, and how."""
    asked = (
        " ".join(filter(None, (request.method, request.path)))
        or "work for which no API has logged a request"
    )
    answered = f": {request.status}" if request.status else ""
    return f"{place_of(request.service, request.host)}: {asked}{answered} ({request.id})"


def parts(record: Record) -> list[Part]:
    """Return (name, text) of all that stands below the headline; for a verdict without one, what to do next."""
    verdict = record.verdict
    if not (verdict.headline or verdict.alternatives):
        return [("next", verdict.next)] if verdict.next else []
    headline = verdict.headline or verdict.reason
    evidence = without_repetition(
        line for line in verdict.evidence if line != headline
    )
    lines: list[tuple[str, str | None]] = [
        ("log", log_of(verdict)),
        ("missing step", verdict.missing_step),
        ("last seen", last_seen_in_words(verdict.last_seen, record.started)),
        ("stage error", stage_error(record)),
        ("confidence", confidence_in_words(verdict)),
        *each("evidence", evidence[:OTHERS]),
        *each(
            "otherwise" if verdict.component else "most likely",
            others_in_words(verdict),
        ),
        *each(PATH, with_arrows(path_in_words(verdict))),
        *each("also broken", verdict.also),
        *each("known bug", map(bug_in_words, record.known_bugs)),
        ("next", verdict.next),
        ("then", verdict.then),
        *each("or", others_to_look_at(verdict)),
    ]
    return [(name, text) for name, text in lines if text]


def without_repetition(lines: Iterable[str]) -> list[str]:
    """Return the lines without those that are the begin of another one, which says more."""
    kept = list(dict.fromkeys(lines))
    return [line for line in kept if not is_begin_of_one(line, kept)]


def is_begin_of_one(line: str, others: Iterable[str]) -> bool:
    return any(other.startswith(f"{line} ") for other in others)


def each(name: str, lines: Iterable[str]) -> list[Part]:
    """Return a part of one name for each line."""
    return [(name, line) for line in lines]


def bug_in_words(bug: KnownBug) -> str:
    where = place_of(bug.component, bug.host or None)
    return f"{bug.number} ({where}): {bug.title}. Affects {bug.affects}. Remedy: {bug.remedy}. {bug.url}"


def with_arrows(lines: list[str]) -> list[str]:
    return [*lines[:1], *(f"{ARROW}{line}" for line in lines[1:])]


def path_in_words(verdict: Verdict) -> list[str]:
    """Return a line for the cause and one for each hop to the failed stage; none for a path that is too short."""
    between = [hop for hop in verdict.path if hop.target != hop.source]
    if len(between) < SHORTEST_PATH:
        return []
    lines = [hop_in_words(hop, verdict) for hop in verdict.path]
    first = verdict.path[0]
    if first == between[0]:
        # Only others show what is wrong with the cause.
        lines.insert(0, place_of(first.source.component, first.source.host))
    return lines


def hop_in_words(hop: Hop, verdict: Verdict) -> str:
    """Return who failed at the source of a hop, and by what that is known. What is only assumed depends on it."""
    evidence = hop.evidence or f"depends on {hop.source.component}"
    if hop.target is None:
        return f"stage {verdict.stage}: {evidence}"
    return at_place(hop.target.component, hop.target.host, evidence)


def stage_error(record: Record) -> str | None:
    """Return the error of the failed stage in one line; None where it is the verdict's reason, for want of more."""
    stage = first_failed(record.stages_and_removal)
    # A removal that failed may have been done since.
    if stage is None or stage.error is None:
        return None
    if not record.verdict.headline:
        return None
    if stage.stage is StageName.REMOVAL and record.leftovers:
        # What the cloud answered stands beside each of them.
        kinds = [left.kind.replace("_", " ") for left in record.leftovers]
        listed = ", ".join(kinds)
        return f"not removed: {listed}"
    return " ".join(stage.error.message.split())


def last_seen_in_words(step: LastSeen | None, started: float) -> str | None:
    if step is None:
        return None
    return last_seen(step.id, step.message, step.at - started)


def confidence_in_words(verdict: Verdict) -> str | None:
    """Return how likely the cause is."""
    if verdict.confidence is not None:
        return percent(verdict.confidence)
    return "too low to name one" if verdict.alternatives else None


def others_in_words(verdict: Verdict) -> list[str]:
    """Return the likeliest other suspects, each with what speaks for it most."""
    shown = verdict.alternatives[:OTHERS]
    likely = list(filter(is_likely, shown))
    # Without a named component, one suspect is better than none.
    first = () if verdict.component else filter(is_possible, shown[:1])
    return list(map(with_reason, likely or first))


def others_to_look_at(verdict: Verdict) -> list[str]:
    """Return what to do if it is one of the other suspects instead."""
    return [
        f"if it is {place_of(suspect.component, suspect.host)}, {suspect.next}"
        for suspect in verdict.alternatives[:OTHERS]
        if is_likely(suspect) and suspect.next not in (None, verdict.next)
    ]


def with_reason(suspect: Alternative) -> str:
    words = suspect_in_words(suspect)
    if not suspect.evidence:
        return words
    own = f"{place_of(suspect.component, suspect.host)}: "
    return f"{words}: {suspect.evidence[0].removeprefix(own)}"


def is_likely(suspect: Alternative) -> bool:
    return suspect.confidence >= UNLIKELY


def is_possible(suspect: Alternative) -> bool:
    return suspect.confidence >= WEIGHTS.suspect


def log_of(verdict: Verdict) -> str | None:
    """Return the line of a log, and whose it is."""
    quote, source = verdict.quote, verdict.quote_source
    return (
        at_place(source.component, source.host, quote)
        if quote and source
        else quote
    )
