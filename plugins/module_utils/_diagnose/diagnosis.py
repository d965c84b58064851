# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record of a boot, or of other requests, that only logs show. It is made as that of a run is."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from .._chains.all_chains import walked
from .._collect.sources.log import account
from .._judge.verdict import SUSPECTED
from .._match.asked_of_placement import capacity_in
from .._match.events import of_run
from .._match.follow import follow, steps_by
from .._match.known_bugs import known_bugs_in
from .._match.logged_errors import errors_of, with_usual
from .._model.bundle import Bundle, LoggedBoot, Outcome
from .._model.diagnosis import Diagnosis
from .._model.event import Event
from .._model.flow import FollowedFlow
from .._model.flow_definition import Flow
from .._model.host import Host
from .._model.instance import Claims
from .._model.record import Instance, LoggedError, Record
from .._model.stage import Failure, Resource, Stage
from .._model.verdict import Verdict
from .._model.words import Result, StageName, StageStatus, StepStatus
from .._record.clock import now, seconds_of
from .._record.errors import StageError
from .._record.run import STAGES, new_record
from .._report.messages.errors import errors_sentence
from .boot_scope import is_over, scope_of, took
from .judging import failure, keep_quote
from .request_causes import (
    RequestCause,
    causes_of,
    failure_of,
    hosts_of,
    nothing_failed,
    with_first_line,
)

ASK_AGAIN = "If the server failed later, give the time of that: stackproof_since and stackproof_until."
WHY = "a diagnosis judges only what the logs show"


def record_of(
    bundle: Bundle, flows: Sequence[Flow], run_id: str, quotes: bool = True
) -> tuple[Record, list[Event]]:
    """Return the record of what was found in logs, finished and judged, and the events."""
    record = begun(bundle, run_id)
    events, followed = match(record, bundle, flows)
    about = about_diagnosis(bundle, events)
    record = replace(record, flows=tuple(followed), diagnosis=about)
    record = with_logged(record, bundle, events)
    if not quotes:
        record = keep_quote(record, None)
    record = replace(
        record, stages=tuple(stage_of(name, record, about) for name in STAGES)
    )
    record = with_suspicion(
        with_chains(record, bundle, events, flows), bundle, events, flows
    )
    record = replace(record, verdict=verdict_on(record, bundle, about))
    beside = events_beside(bundle, record)
    causes = causes_in(bundle, record, beside or events, quotes)
    record = replace(
        record,
        diagnosis=replace(about, failures=tuple(map(failure_of, causes))),
    )
    record = with_requests(record, bundle, causes, beside)
    return keep_quote(record, record.verdict.quote), events


def begun(bundle: Bundle, run_id: str) -> Record:
    """Return the record with what was read, before it is followed."""
    return replace(
        new_record(run_id, f"the logs in {bundle.name}"),
        started=bundle.began,
        finished=bundle.until,
        duration_s=round(bundle.until - bundle.began, 6),
        hosts=hosts_in(bundle),
        instance=Instance.of(bundle.instance, Claims())
        if bundle.instance
        else None,
        logs=account(dict(bundle.hosts)),
        baseline=bundle.baseline,
    )


def with_logged(
    record: Record, bundle: Bundle, events: Sequence[Event]
) -> Record:
    """Return a record with the errors that were logged, the known bugs among them, and what Placement was asked."""
    record = replace(
        record, errors=with_usual(errors_of(events), bundle.baseline)
    )
    record = replace(record, known_bugs=known_bugs_in(record.known_errors))
    if bundle.boot is not None:
        record = replace(record, capacity=capacity_in(events))
    return record


def hosts_in(bundle: Bundle) -> tuple[Host, ...]:
    """Return the hosts with logs, and of those with a report what it shows."""
    reported = {host.host: host for host in bundle.reported}
    with_logs = [
        reported.pop(host.host, host) for host in hosts_of(bundle.hosts)
    ]
    return (*with_logs, *reported.values())


def with_chains(
    record: Record,
    bundle: Bundle,
    events: Sequence[Event],
    flows: Sequence[Flow],
) -> Record:
    """Return a record whose failed boot is followed through the stores, where reports show them."""
    if record.failed_stage is None or not bundle.reported:
        return record
    record = replace(record, chains=walked(record, record.failed_stage.stage))
    reads = {"log": bundle.hosts}
    followed = steps_by(
        events, record, flows, reads, functools.partial(scope_of, bundle)
    )
    return replace(record, flows=tuple(followed))


def with_suspicion(
    record: Record,
    bundle: Bundle,
    events: Sequence[Event],
    flows: Sequence[Flow],
) -> Record:
    """Return a record in which the boot or the guest has failed, if reports show why.

    The logs show neither the end of a boot that still waits, nor what becomes of a guest.
    """
    if (
        not bundle.reported
        or bundle.boot is None
        or record.failed_stage is not None
    ):
        return record
    for stage in suspects(record, bundle, bundle.boot):
        stages = tuple(
            stage if stage.stage is other.stage else other
            for other in record.stages
        )
        suspect = with_chains(
            replace(record, stages=stages), bundle, events, flows
        )
        if failure(suspect).result is Result.FAIL:
            return suspect
    return record


def suspects(
    record: Record, bundle: Bundle, boot: LoggedBoot
) -> Iterator[Stage]:
    """Yield the stages that may have failed, each as one that has."""
    subject = subject_of(boot)
    if record.stage_or_skipped(StageName.BOOT).status is StageStatus.OK:
        message = f"Nova built {subject}, and its guest lacks what hosts should give it"
        yield suspected(StageName.METADATA, message, record)
        return
    message = f"the logs do not show how the boot of {subject} ended"
    yield suspected(StageName.BOOT, message, record)
    if "volume" in bundle.keys:
        yield suspected(StageName.VOLUME, message, record)


def suspected(name: StageName, message: str, record: Record) -> Stage:
    """Return a stage of which the logs do not show that it failed."""
    return Stage(
        name,
        StageStatus.FAILED,
        started=record.started,
        finished=record.finished,
        duration_s=record.duration_s,
        error=StageError(SUSPECTED, message).failure,
    )


def match(
    record: Record, bundle: Bundle, flows: Sequence[Flow]
) -> tuple[list[Event], Sequence[FollowedFlow]]:
    """Return the events, and the flows through which a boot is followed."""
    reads = {"log": bundle.hosts}
    if not bundle.boot:
        return of_run(record, reads), []
    followed, events = follow(
        record, flows, reads, functools.partial(scope_of, bundle)
    )
    return events, followed


def about_diagnosis(bundle: Bundle, events: Sequence[Event]) -> Diagnosis:
    return Diagnosis(
        created=seconds_of(now()),
        query=bundle.query,
        boot=bundle.boot,
        keys=bundle.keys,
        host=bundle.host,
        zones=bundle.zones,
        warnings=bundle.warnings,
        build_s=took(events),
        ended=is_over(bundle),
        silent_s=bundle.silent_s,
    )


def stage_of(name: StageName, record: Record, about: Diagnosis) -> Stage:
    """Return the stage of the boot by the logs; the other stages are skipped."""
    boot = about.boot
    if name is not StageName.BOOT or not boot:
        return Stage.skipped(name, WHY)
    is_built = about.build_s is not None and boot.outcome is not Outcome.FAILED
    if not (is_built or has_failed(boot, record.known_errors, record.flows)):
        return Stage.skipped(name, "the logs do not show how it ended")
    return Stage(
        name,
        StageStatus.OK if is_built else StageStatus.FAILED,
        started=record.started,
        finished=record.finished,
        duration_s=record.duration_s,
        resources=(Resource("server", boot.server, None, created=False),)
        if boot.server
        else (),
        details={"request_id": boot.request},
        error=None if is_built else error_of(boot),
    )


def error_of(boot: LoggedBoot) -> Failure:
    message = f"the logs do not show that Nova built {subject_of(boot)}"
    error = StageError(
        "service", message, resource=boot.server, request_id=boot.request
    )
    return replace(error.failure, hint="")


def has_failed(
    boot: LoggedBoot,
    errors: Sequence[LoggedError],
    followed: Sequence[FollowedFlow],
) -> bool:
    """Return whether Nova logged that the boot failed, an error has an id of the boot, or a step is missing."""
    if boot.outcome is Outcome.FAILED or any(
        error.is_of_run for error in errors
    ):
        return True
    return any(map(lacks_step, followed))


def lacks_step(flow: FollowedFlow) -> bool:
    return any(step.status is StepStatus.MISSING for step in flow.steps)


def verdict_on(record: Record, bundle: Bundle, about: Diagnosis) -> Verdict:
    """Return the verdict on the boot, or on the requests as if none had failed."""
    if not about.boot:
        return nothing_failed(bundle.requests, bundle.is_by_time)
    if record.failed_stage is not None:
        # A boot that failed is judged as a run whose stage boot failed.
        return with_first_line(failure(record), record.known_errors)
    if record.stage_or_skipped(StageName.BOOT).status is StageStatus.OK:
        return passed(about, about.boot)
    return unknown_end(about, about.boot)


def passed(about: Diagnosis, boot: LoggedBoot) -> Verdict:
    where = f" on {about.host}" if about.host else ""
    reason = f"The logs show that Nova built {subject_of(boot)}{where} in {about.build_s:.1f} s."
    return Verdict(Result.PASS, None, reason)


def unknown_end(about: Diagnosis, boot: LoggedBoot) -> Verdict:
    """Return the verdict on a boot whose logs do not show how it ended, with what to collect."""
    hint = "Check whether the logs of all services and hosts were collected."
    if not about.ended:
        after = f"{about.silent_s:.0f} s after its last line"
        hint = f"They end {after}, when it may still have been running: collect them again."
    elif not boot.request:
        hint = "Its request is unknown: if you know it, give stackproof_request_id instead."
    reason = f"The logs do not show how the boot of {subject_of(boot)} ended. {hint}"
    return Verdict(Result.INCOMPLETE, StageName.BOOT.value, reason)


def subject_of(boot: LoggedBoot) -> str:
    return (
        f"the server {boot.server}"
        if boot.server
        else f"what the request {boot.request} asked for"
    )


def causes_in(
    bundle: Bundle, record: Record, events: list[Event], quotes: bool
) -> list[RequestCause]:
    """Return the causes of the requests that failed beside a boot, or of those that were asked about."""
    found = list(bundle.requests)
    if record.verdict.result is not Result.PASS:
        found = [request for request in found if not request.of_others]
    if bundle.boot is not None and bundle.reported:
        # What failed before the boot did not keep the server from working, which the hosts show.
        began = bundle.began
        found = [request for request in found if request.until >= began]
    hosts = bundle.others or bundle.hosts
    return causes_of(found, hosts, events, quotes, bundle.baseline)


def events_beside(bundle: Bundle, record: Record) -> list[Event]:
    """Return the events of the requests beside a boot, and the errors of the time until the server was removed."""
    return (
        of_run(new_record(record.run_id, None), {"log": bundle.others})
        if bundle.others
        else []
    )


def with_requests(
    record: Record,
    bundle: Bundle,
    causes: Sequence[RequestCause],
    beside: Sequence[Event],
) -> Record:
    """Return a record whose verdict takes the other requests into account, unless the boot has failed already."""
    if record.verdict.result is Result.FAIL:
        return record
    asked_for = bundle.boot is None and not bundle.is_by_time
    if causes and causes[0].is_failure(asked_for):
        return with_cause(
            record, causes[0], beside_boot=bundle.boot is not None
        )
    if bundle.boot is not None and record.verdict.result is Result.PASS:
        return with_errors(
            record, with_usual(errors_of(beside), bundle.baseline)
        )
    return record


def with_errors(record: Record, beside: Sequence[LoggedError]) -> Record:
    """Return a record whose verdict, a pass, lists which errors were read, of the boot and of the time after it."""
    logged = errors_sentence((*record.known_errors, *beside))
    return replace(
        record,
        verdict=replace(
            record.verdict,
            reason=f"{record.verdict.reason}{logged} {ASK_AGAIN}",
        ),
    )


def with_cause(
    record: Record, cause: RequestCause, beside_boot: bool
) -> Record:
    """Return a record whose verdict is the likeliest cause of the requests that failed, as no boot failed."""
    stage = cause.stage
    stages = tuple(
        stage if stage.stage is other.stage else other
        for other in record.stages
    )
    lead = (
        f"{record.verdict.reason} Another request failed in that time. "
        if beside_boot
        else ""
    )
    return replace(
        record,
        stages=stages,
        verdict=replace(cause.verdict, reason=lead + cause.verdict.reason),
    )
