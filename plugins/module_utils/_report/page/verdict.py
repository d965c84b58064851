# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The card at the top of a page: the verdict, its evidence, and what the run left behind.

Each thing stands on it once: what the finding of the judge has is not repeated below it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..._model import codec
from ..._model.diagnosis import RequestFailure
from ..._model.record import Record, first_failed
from ..._model.stage import Failure
from ..._model.verdict import Verdict
from .. import finding, leaning
from ..messages.words import plural
from ..statuses import RESULTS
from ..units import duration, moment, utc, words

# Pairs of a name and a text
Pairs = list[tuple[str, str]]
# The parts of a finding that the card has as a list of its own
LISTED = frozenset({"evidence", finding.PATH})
# The number of other suspects that the finding names with their confidence. Only a longer list is repeated in full.
SUSPECTS_IN_FINDING = 3


@dataclass(frozen=True)
class FailedRequests:
    """Requests that failed for one reason. requests: (time, text) of the first ones. more: how many others."""

    cause: str
    count: str
    requests: Pairs
    more: int


@dataclass(frozen=True)
class Card:
    """The verdict. place, error: (name, text). limits: (whether it was kept, text). left: (kind, name, reason)."""

    result: str
    word: str
    headline: str
    finding: Pairs
    place: Pairs
    started: str
    started_iso: str
    duration: str
    error: Pairs
    dependencies: str | None
    path: list[str]
    evidence: tuple[str, ...]
    unexplained: tuple[str, ...]
    alternatives: list[str]
    warnings: list[str]
    failures: list[FailedRequests]
    limits: list[tuple[bool, str]]
    account: str
    left: list[tuple[str, str, str]]


def card(record: Record) -> Card:
    verdict = record.verdict
    found = [
        (name, text)
        for name, text in finding.parts(record)
        if name not in LISTED
    ]
    limits = [(limit.ok, limit.text) for limit in record.thresholds]
    left = [
        (words(thing.kind), thing.name, thing.reason)
        for thing in record.leftovers
    ]
    return Card(
        result=verdict.result,
        word=RESULTS[verdict.result],
        headline=verdict.headline or verdict.reason,
        finding=found,
        place=place(verdict),
        started=f"{utc(record.started):%Y-%m-%d %H:%M:%S} UTC",
        started_iso=codec.iso_of(record.started),
        duration=duration(record.duration_s) or "not finished",
        error=error_of(record),
        dependencies=leaning.drawing(verdict),
        path=finding.path_in_words(verdict),
        evidence=tuple(finding.without_repetition(verdict.evidence)),
        unexplained=verdict.unexplained,
        alternatives=alternatives(verdict),
        warnings=list(record.diagnosis.warnings) if record.diagnosis else [],
        failures=list(map(failed_requests, failures_in(record))),
        limits=limits,
        account=account(record),
        left=left,
    )


def failures_in(record: Record) -> tuple[RequestFailure, ...]:
    """Return the causes of failed requests that a diagnosis of logs found; a run has none."""
    return (record.diagnosis and record.diagnosis.failures) or ()


def place(verdict: Verdict) -> Pairs:
    """Return where the run failed, without what its headline names."""
    pairs = [("stage", verdict.stage)]
    if verdict.missing_step is None:
        pairs.append(("step", verdict.step))
    if verdict.headline is None:
        pairs += [("component", verdict.component), ("host", verdict.host)]
    return [(name, text) for name, text in pairs if text is not None]


def alternatives(verdict: Verdict) -> list[str]:
    suspects = list(filter(finding.is_possible, verdict.alternatives))
    if len(suspects) <= SUSPECTS_IN_FINDING:
        return []
    return list(map(finding.suspect_in_words, suspects))


def error_of(record: Record) -> Pairs:
    """Return the parts of the failed stage's error that neither the verdict's sentence nor its advice has."""
    stage = first_failed(record.stages_and_removal)
    if stage is None or stage.error is None:
        return []
    return error_pairs(stage.error, record.verdict)


def error_pairs(error: Failure, verdict: Verdict) -> Pairs:
    status = None
    if error.status is not None:
        status = str(error.status)
    pairs = [
        ("error", words(error.kind)),
        ("HTTP status", status),
        ("request id", error.request_id),
        ("resource", error.resource),
    ]
    if error.answer and error.answer not in verdict.reason:
        pairs.append(("the cloud answered", error.answer))
    if not verdict.next and error.hint not in verdict.reason:
        pairs.append(("next", error.hint))
    return [(name, text) for name, text in pairs if text]


def failed_requests(failure: RequestFailure) -> FailedRequests:
    requests = [
        (moment(request.at, 0) or "", finding.request_in_words(request))
        for request in failure.requests
    ]
    return FailedRequests(
        cause=finding.failure_in_words(failure),
        count=plural(failure.count, "request"),
        requests=requests,
        more=failure.count - len(requests),
    )


def account(record: Record) -> str:
    """Return how many resources the run created, deleted and left, as a sentence."""
    if record.diagnosis:
        return "Nothing was created: this is a diagnosis of collected logs, not a run. Its times are those in the logs."
    if record.operation:
        return "Nothing was created or changed: this is a diagnosis of what others have done."
    left = record.created - record.deleted
    created = f"{plural(record.created, 'resource')} created, {record.deleted} deleted"
    if record.kept:
        return f"{created}; the rest is kept, as requested."
    if left == 0 and not record.leftovers:
        return f"{created}, nothing is left behind."
    return f"{created}, {left} left."
