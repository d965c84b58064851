# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A verdict with its sentences, from what the judge has found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..._collect.commands import SUDO_ADVICE
from ..._judge import verdict as judge
from ..._judge.evidence import evidence
from ..._judge.weights import WEIGHTS
from ..._model import codec
from ..._model.chain import LinkState
from ..._model.event import CONTROL_NODE
from ..._model.finding import Cause, Finding, Judgement, Outcome
from ..._model.flow import Step
from ..._model.host import Check, Host
from ..._model.record import Record
from ..._model.stage import Failure
from ..._model.symptom import Symptom
from ..._model.verdict import Alternative, LastSeen, QuoteSource, Verdict
from ..._model.words import CheckStatus, HostStatus, StageName, StageStatus
from ..._record.errors import sentence as error_sentence
from . import capacity, symptoms
from .advice import advice, repair
from .errors import errors_sentence
from .headline import headline
from .path import hops, not_seen
from .words import capitalized, ended, last_seen, plural

REFUSED = "refused"


def of_record(record: Record, interruption: str | None = None) -> Verdict:
    """Judge a record, and return its verdict. The one that it has does not count."""
    return rendered(judge.judge(record, interruption), record)


def rendered(judgement: Judgement, record: Record) -> Verdict:
    """Return a judgement with its sentences."""
    found = judgement.finding or Finding()
    cause = found.cause
    return Verdict(
        result=judgement.result,
        stage=judgement.stage,
        reason=REASONS[judgement.outcome](judgement, record),
        step=found.step.id if found.step else None,
        component=cause.component if cause else None,
        host=cause.host if cause else judgement.host,
        last_seen=last_seen_of(found.last_seen),
        evidence=capacity.details(found.unsatisfied)
        if found.unsatisfied
        else sentences(found.evidence),
        headline=headline(found),
        missing_step=missing_step(found),
        confidence=cause.confidence if cause else None,
        quote=found.quoted.quote if found.quoted else None,
        quote_source=quote_source(found.quoted),
        connection=found.connection,
        explains=sentences(found.explains),
        unexplained=sentences(found.unexplained),
        also=sentences(found.also),
        dependencies=found.dependencies,
        path=hops(found),
        next=advice(found.advice),
        then=repair(found.advice),
        alternatives=tuple(map(alternative, found.suspects)),
    )


# The finding


def sentences(found: Iterable[Symptom]) -> tuple[str, ...]:
    """Return a sentence for each symptom; those that differ in what no reader sees are one."""
    return tuple(dict.fromkeys(map(symptoms.sentence, found)))


def missing_step(finding: Finding) -> str | None:
    step = finding.step
    if step is None:
        return None
    late = ""
    if finding.pause_s is not None:
        late = f"; the step before it was {finding.pause_s:.1f} s before the end: it may just be slow"
    return f"{step.message} (step {step.id}) {not_seen(step)}{late}"


def last_seen_of(step: Step | None) -> LastSeen | None:
    if step is None or step.at is None:
        return None
    return LastSeen(step.id, step.message, step.at, step.host)


def quote_source(quoted: Symptom | None) -> QuoteSource | None:
    if quoted is None:
        return None
    return QuoteSource(
        quoted.component or "", quoted.host, codec.iso_of(quoted.at)
    )


def alternative(suspect: Cause) -> Alternative:
    reasons = sentences(evidence(suspect, WEIGHTS))
    return Alternative(
        suspect.component,
        suspect.host,
        max(suspect.score, 0),
        reasons,
        suspect.confidence,
        advice(suspect.advice),
    )


# The reason, in a paragraph


def interrupted(judgement: Judgement, _record: Record) -> str:
    return f"The run was interrupted in the stage {judgement.stage}."


def stage_missing(judgement: Judgement, _record: Record) -> str:
    reason = f"The run was interrupted before the stage {judgement.stage}."
    return (
        f"{reason} {ended(judgement.interruption)}"
        if judgement.interruption
        else reason
    )


def broke_off(judgement: Judgement, _record: Record) -> str:
    return (
        judgement.interruption or "The run was interrupted after its stages."
    )


def stage_failed(judgement: Judgement, record: Record) -> str:
    error = judgement.failed.error if judgement.failed else None
    found = judgement.finding
    line = headline(found) if found else None
    if found is None or line is None:
        return f"{judgement.stage}: {error_text(error)}"
    parts = [f"{judgement.stage}: {line}."]
    missing = missing_step(found)
    if missing:
        parts.append(f"{capitalized(missing)}.")
    last = found.last_seen
    if last and last.at is not None:
        parts.append(
            f"Last seen: {last_seen(last.id, last.message, last.at - record.started)}."
        )
    parts.append(f"Stage error: {ended(error.message if error else None)}")
    next_ = advice(found.advice)
    if next_:
        parts.append(f"Next: {next_}.")
    return " ".join(parts)


def error_text(error: Failure | None) -> str:
    return (
        error_sentence({"message": error.message, "hint": error.hint})
        if error
        else "it failed."
    )


def check_failed(_judgement: Judgement, record: Record) -> str:
    failed = checks_with(record, CheckStatus.FAILED)
    first = ended(failed[0][1].reason)
    more = (
        f" {plural(len(failed) - 1, 'more check')} of the hosts failed."
        if len(failed) > 1
        else ""
    )
    return f"All stages worked, but the hosts do not agree with the API: {first}{more}"


def limit_exceeded(_judgement: Judgement, record: Record) -> str:
    exceeded = "; ".join(
        limit.text for limit in record.thresholds if not limit.ok
    )
    return f"All stages worked, but {exceeded}."


def left(_judgement: Judgement, record: Record) -> str:
    return f"All stages worked, but this is left, or not accounted for: {record.leftovers_in_words}."


def not_removed(judgement: Judgement, record: Record) -> str:
    reason = f"All stages worked, but this could not be removed: {record.leftovers_in_words}."
    if judgement.finding is None:
        return reason
    line, next_ = headline(judgement.finding), advice(judgement.finding.advice)
    cause = f" Cause: {line}." if line else ""
    return f"{reason}{cause}{f' Next: {next_}.' if next_ else ''}"


def passed(_judgement: Judgement, record: Record) -> str:
    boot, metadata = (
        record.stage_or_skipped(StageName.BOOT),
        record.stage(StageName.METADATA),
    )
    seconds = boot.waits[0].seconds if boot.waits else boot.duration_s or 0.0
    guest = ", and the guest has its metadata"
    if metadata and metadata.status == StageStatus.SKIPPED:
        guest = "; the guest was not checked"
    reason = f"The cloud provisions an instance: active after {seconds:.1f} s{guest}."
    return (
        reason
        + paths_sentence(record)
        + errors_sentence(record.known_errors)
        + hosts_sentence(record)
    )


def paths_sentence(record: Record) -> str:
    """Return what was found between two guests, if that was checked."""
    stage = record.stage(StageName.DATAPLANE)
    if stage is None or stage.status is not StageStatus.OK:
        return ""
    where = (
        ", both on one host" if stage.details.get("spread") is False else ""
    )
    passed_checks = [
        check
        for check in stage.details["checks"]
        if check["status"] == CheckStatus.OK
    ]
    return f" It carries packets between two guests{where}: {plural(len(passed_checks), 'check')} passed."


def not_examined(judgement: Judgement, _record: Record) -> str:
    error = judgement.failed.error if judgement.failed else None
    shown = f" {capitalized(error.message)}." if error else ""
    return f"The API shows no fault, and nothing else could be examined.{shown} Give an inventory of the cloud's hosts."


def nothing_found(_judgement: Judgement, record: Record) -> str:
    """Return what was looked at in a diagnosis that found no fault."""
    boot = record.stage_or_skipped(StageName.BOOT)
    subject = record.operation.subject if record.operation else "server"
    links = Counter(link.state for link in record.known_links)
    held = plural(links[LinkState.HOLDS], "link")
    unread = (
        f", {plural(links[LinkState.UNREADABLE], 'link')} could not be read"
        if links[LinkState.UNREADABLE]
        else ""
    )
    reason = (
        f"No fault was found: the server {subject} was active after {boot.duration_s or 0.0:.1f} s, and {held} of the "
        f"chains behind it hold{unread}."
    )
    return (
        reason + errors_sentence(record.known_errors) + hosts_sentence(record)
    )


REASONS = {
    Outcome.PASSED: passed,
    Outcome.NOTHING_FOUND: nothing_found,
    Outcome.NOT_EXAMINED: not_examined,
    Outcome.INTERRUPTED: interrupted,
    Outcome.STAGE_MISSING: stage_missing,
    Outcome.BROKE_OFF: broke_off,
    Outcome.STAGE_FAILED: stage_failed,
    Outcome.CHECK_FAILED: check_failed,
    Outcome.LIMIT_EXCEEDED: limit_exceeded,
    Outcome.LEFT: left,
    Outcome.NOT_REMOVED: not_removed,
}


# The hosts


def hosts_sentence(record: Record) -> str:
    """Return the part of a pass that is about the hosts; it hides nothing that could not be read."""
    text = agreement(record) + unread_hosts(record)
    is_refused = any(map(has_refusal, record.hosts))
    return (
        f"{text} {SUDO_ADVICE}"
        if is_refused and SUDO_ADVICE not in text
        else text
    )


def has_refusal(host: Host) -> bool:
    return any(unread.kind == REFUSED for unread in host.unread)


def agreement(record: Record) -> str:
    passed_, unread = (
        checks_with(record, CheckStatus.OK),
        checks_with(record, CheckStatus.UNREADABLE),
    )
    if not any(host.checks for host in record.hosts):
        return ""
    number = plural(len(passed_), "host check")
    if not unread:
        return (
            f" {number} passed."
            if passed_
            else " No check applies to the hosts."
        )
    reason = ended(unread[0][1].reason)
    if any(is_of_cloud(host) for host, _check in passed_):
        return f" {number} passed; {len(unread)} could not run: {reason}"
    return f" No host could be checked. {plural(len(unread), 'check')} could not run: {reason}"


def checks_with(
    record: Record, status: CheckStatus
) -> list[tuple[Host, Check]]:
    """Return the checks of the hosts that have a status, each with its host."""
    found: list[tuple[Host, Check]] = []
    for host in record.hosts:
        found += [
            (host, check) for check in host.checks if check.status == status
        ]
    return found


def is_of_cloud(host: Host) -> bool:
    """Return whether a host is one of the inventory's groups, and not only the control node."""
    return bool(host.groups) or host.host != CONTROL_NODE


def unread_hosts(record: Record) -> str:
    unread = [host for host in record.hosts if host.status != HostStatus.READ]
    if not unread:
        return ""
    names = ", ".join(host.host for host in unread)
    return f" But {names} could not be read: {ended(unread[0].reason)}"
