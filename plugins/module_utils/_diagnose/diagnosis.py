# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record of a boot, or of other requests, that only logs show. It is made as that of a run is."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._collect.sources.log import account
from .._match.events import of_run
from .._match.follow import follow
from .._match.logged_errors import errors_of
from .._model.bundle import Bundle, LoggedBoot, Outcome
from .._model.codec import iso_of, to_json
from .._model.diagnosis import Diagnosis
from .._model.event import Event
from .._model.flow import FollowedFlow
from .._model.flow_definition import Flow
from .._model.words import StepStatus
from .._record import shapes
from .._record.clock import now, seconds_between, seconds_of
from .._record.errors import StageError
from .._record.run import STAGES, new_record
from .boot_scope import is_over, scope_of, took
from .judging import failure, keep_quote
from .request_causes import RequestCause, causes_of, failure_of, host_of, nothing_failed

WHY = "a diagnosis judges only what the logs show"

Record = dict[str, Any]


def record_of(bundle: Bundle, flows: Sequence[Flow], run_id: str, quotes: bool = True) -> tuple[Record, list[Event]]:
    """Return the record of what was found in logs, finished and judged, and the events."""
    record = begun(bundle, run_id)
    events, followed = match(record, bundle, flows)
    about = about_diagnosis(bundle, events)
    record.update(flows=to_json(followed), errors=errors_of(events), diagnosis=to_json(about))
    if not quotes:
        keep_quote(record, None)
    record["stages"] = [stage_of(name, record, about, followed) for name in STAGES]
    record["verdict"] = verdict_on(record, bundle, about)
    causes = causes_in(bundle, record, events, quotes)
    about = replace(about, failures=tuple(map(failure_of, causes)))
    record["diagnosis"] = to_json(about)
    asked_for = bundle.boot is None and not bundle.is_by_time
    if record["verdict"]["result"] != "fail" and causes and causes[0].is_failure(asked_for):
        add_cause(record, causes[0])
    keep_quote(record, record["verdict"]["quote"])
    return record, events


def begun(bundle: Bundle, run_id: str) -> Record:
    """Return the record with what was read, before it is followed."""
    record = new_record(run_id, f"the logs in {bundle.name}")
    record.update(started=iso_of(bundle.began), finished=iso_of(bundle.until))
    record["duration_s"] = round(seconds_between(record["started"], record["finished"]), 6)
    record["hosts"] = [host_of(name, read) for name, read in sorted(bundle.hosts.items())]
    record["logs"] = account(dict(bundle.hosts))
    return record


def match(record: Record, bundle: Bundle, flows: Sequence[Flow]) -> tuple[list[Event], Sequence[FollowedFlow]]:
    """Return the events, and the flows through which a boot is followed."""
    reads = {"log": bundle.hosts}
    if not bundle.boot:
        return of_run(record, reads), []
    followed, events = follow(record, flows, reads, functools.partial(scope_of, bundle))
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


def stage_of(name: str, record: Record, about: Diagnosis, followed: Sequence[FollowedFlow]) -> shapes.Stage:
    """Return the stage of the boot by the logs; the other stages are skipped."""
    boot = about.boot
    if name != "boot" or not boot:
        return skipped(name, WHY)
    is_built = about.build_s is not None and boot.outcome is not Outcome.FAILED
    if not (is_built or has_failed(boot, record["errors"], followed)):
        return skipped(name, "the logs do not show how it ended")
    server = {"kind": "server", "id": boot.server, "name": None, "created": False}
    return shapes.stage(
        name,
        "ok" if is_built else "failed",
        started=record["started"],
        finished=record["finished"],
        duration_s=record["duration_s"],
        resources=[server] if boot.server else [],
        details={"request_id": boot.request},
        error=None if is_built else error_of(boot),
    )


def skipped(name: str, reason: str) -> shapes.Stage:
    return shapes.stage(name, "skipped", details={"reason": reason})


def error_of(boot: LoggedBoot) -> dict[str, Any]:
    message = f"the logs do not show that Nova built {subject_of(boot)}"
    failure = StageError("service", message, resource=boot.server, request_id=boot.request)
    return {**failure.record, "hint": ""}


def has_failed(boot: LoggedBoot, errors: Sequence[Record], followed: Sequence[FollowedFlow]) -> bool:
    """Return whether Nova logged that the boot failed, an error has an id of the boot, or a step is missing."""
    if boot.outcome is Outcome.FAILED or any(error["own"] for error in errors):
        return True
    return any(map(lacks_step, followed))


def lacks_step(flow: FollowedFlow) -> bool:
    return any(step.status is StepStatus.MISSING for step in flow.steps)


def verdict_on(record: Record, bundle: Bundle, about: Diagnosis) -> Record | shapes.Verdict:
    """Return the verdict on the boot, or on the requests as if none had failed."""
    if not about.boot:
        return nothing_failed(bundle.requests, bundle.is_by_time)
    stage = next(stage for stage in record["stages"] if stage["stage"] == "boot")
    if stage["status"] == "failed":
        # A boot that failed is judged as a run whose stage boot failed.
        return failure(record)
    if stage["status"] == "ok":
        return passed(about, about.boot)
    return unknown_end(about, about.boot)


def passed(about: Diagnosis, boot: LoggedBoot) -> shapes.Verdict:
    where = f" on {about.host}" if about.host else ""
    reason = f"The logs show that Nova built {subject_of(boot)}{where} in {about.build_s:.1f} s."
    return shapes.verdict("pass", None, reason)


def unknown_end(about: Diagnosis, boot: LoggedBoot) -> shapes.Verdict:
    """Return the verdict on a boot whose logs do not show how it ended, with what to collect."""
    hint = "Check whether the logs of all services and hosts were collected."
    if not about.ended:
        after = f"{about.silent_s:.0f} s after its last line"
        hint = f"They end {after}, when it may still have been running: collect them again."
    elif not boot.request:
        hint = "Its request is unknown: if you know it, give stackproof_request_id instead."
    reason = f"The logs do not show how the boot of {subject_of(boot)} ended. {hint}"
    return shapes.verdict("incomplete", "boot", reason)


def subject_of(boot: LoggedBoot) -> str:
    return f"the server {boot.server}" if boot.server else f"what the request {boot.request} asked for"


def causes_in(bundle: Bundle, record: Record, events: list[Event], quotes: bool) -> list[RequestCause]:
    """Return the causes of the requests that failed beside a boot, or of those that were asked about."""
    has_passed = record["verdict"]["result"] == "pass"
    found = [request for request in bundle.requests if has_passed or not request.of_others]
    if not bundle.others:
        return causes_of(found, bundle.hosts, events, quotes)
    others = bundle.others
    return causes_of(found, others, of_run(new_record(record["run_id"], None), {"log": others}), quotes)


def add_cause(record: Record, cause: RequestCause) -> None:
    """Make the likeliest cause of the requests that failed the verdict, if no boot failed."""
    stage, before = cause.stage, record["verdict"]["reason"]
    record["stages"] = [stage if stage["stage"] == other["stage"] else other for other in record["stages"]]
    lead = f"{before} Another request failed in that time. " if record["diagnosis"]["boot"] else ""
    record["verdict"] = {**cause.verdict, "reason": lead + cause.verdict["reason"]}
