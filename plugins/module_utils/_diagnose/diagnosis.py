# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A diagnosis: the record of a boot, or of other requests, that only logs tell of, in the shape of a run's record."""

from __future__ import annotations

from .._collect.sources.log import account
from .._components.tables import is_beside_instance
from .._judge import culprit, verdict
from .._match.events import of_run
from .._match.follow import followed, logs_in
from .._match.logged_errors import errors_of
from .._match.matcher import Matcher
from .._match.rivals import TOOK
from .._match.run_facts import NO_FACTS
from .._match.scope import Scope
from .._model.codec import to_json
from .._model.words import Level
from .._record import shapes
from .._record.clock import iso_of, now, seconds_between
from .._record.errors import StageError
from .._record.run import STAGES, new_record
from .._report.messages.verdict import of_record
from . import failures

# Nova waits for nothing longer than this (vif_plugging_timeout): a boot that is silent for longer does not go on.
LONGEST_WAIT = 300
WHY = "a diagnosis reads logs, and judges what they tell of alone"


def record_of(bundle, flows, run_id, quotes=True):
    """(record, events) of what bundle_info has found in logs, finished and judged."""
    results, events = follow(bundle, flows) if bundle["boot"] else ([], events_in(bundle["hosts"]))
    record = begin(bundle, run_id, to_json(results), events)
    if not quotes:
        culprit.keep_only(None, record["errors"])
    record["stages"] = [stage_of(name, record) for name in STAGES]
    by_time = {"since", "until"}.issuperset(bundle["asked"])
    record["verdict"] = judge(record) if bundle["boot"] else failures.nothing_failed(bundle["requests"], by_time)
    went_well = record["verdict"]["result"] == "pass"
    found = [request for request in bundle["requests"] if went_well or not request.get("of_others")]
    others = bundle["others"]
    causes = failures.causes_of(found, *((others, events_in(others)) if others else (bundle["hosts"], events)), quotes)
    record["diagnosis"]["failures"] = [failures.as_record(cause) for cause in causes]
    asked_for = not (bundle["boot"] or by_time)
    if record["verdict"]["result"] != "fail" and causes and failures.is_failure(causes[0], asked_for):
        add_cause(record, causes[0])
    culprit.keep_only(record["verdict"]["quote"], record["errors"])
    return record, events


def begin(bundle, run_id, followed, events):
    """The record with all that was read, before it is judged."""
    began, until = iso_of(bundle["began"]), iso_of(bundle["until"])
    record = new_record(run_id, f"the logs in {bundle['name']}")
    record.update(
        started=began,
        finished=until,
        duration_s=round(seconds_between(began, until), 6),
        flows=followed,
        hosts=[
            shapes.host(name, facts={"addresses": read["addresses"]}, unread=read["unread"])
            for name, read in sorted(bundle["hosts"].items())
        ],
        logs=account(bundle["hosts"]),
        errors=errors_of(events),
        diagnosis={
            "made": now(),
            **{name: bundle[name] for name in ("asked", "boot", "keys", "host", "zones", "doubts")},
            "took_s": took(events),
            "over": is_over(bundle) if bundle["boot"] else True,
            "silent_s": bundle["silent_s"],
        },
    )
    return record


def add_cause(record, cause):
    """Make the likeliest cause of the requests that failed the verdict, if no boot failed."""
    stage, before = cause["stage"], record["verdict"]["reason"]
    record["stages"] = [stage if stage["stage"] == other["stage"] else other for other in record["stages"]]
    lead = f"{before} Another request failed at that time. " if record["diagnosis"]["boot"] else ""
    record["verdict"] = {**cause["verdict"], "reason": lead + cause["verdict"]["reason"]}


def follow(bundle, flows):
    """(flows as a record has them, all events) of the boot."""
    hosts = bundle["hosts"]
    events = events_in(hosts)
    scope = Scope(
        names=names_of(bundle),
        facts={**NO_FACTS, "volumes": bool(bundle["keys"].get("volume"))},
        logs=logs_in(hosts),
        began=bundle["began"],
        ended=bundle["until"],
        levels=levels_of(bundle, events),
        logs_alone=True,
        caller_known=bool((hosts.get(bundle["host"]) or {}).get("addresses")),
        # A boot that was built lacks nothing, without its request not all its lines are found, and what the logs do
        # not show may have happened after their end.
        complete=took(events) is None and bool(bundle["keys"].get("request")) and is_over(bundle),
    )
    return followed(flows, Matcher(events, scope)), events


def events_in(hosts):
    return of_run({"hosts": [], "stages": []}, {"log": hosts})


def levels_of(bundle, events):
    """Service to the level at which it logs, by all its lines; where several hosts may do the work, the least."""
    levels = {
        service: {host: Level(level) for host, level in hosts.items()} for service, hosts in bundle["levels"].items()
    }
    for event in events:
        by_host, host = levels.get(event.service, {}), event.host
        if host in by_host and event.level:
            by_host[host] = max(by_host[host], event.level, key=rank)
    for service, hosts in levels.items():
        if is_beside_instance(service) and bundle["host"] in hosts:
            levels[service] = {bundle["host"]: hosts[bundle["host"]]}
    return {service: min(hosts.values(), key=rank) for service, hosts in levels.items()}


def rank(level):
    return level.rank


def names_of(bundle):
    """The names that a rule may use in braces."""
    keys = {kind: bundle["keys"].get(kind) for kind in ("server", "port", "volume")}
    names = {**{kind: texts[0] for kind, texts in keys.items() if texts}, **bundle["named"]}
    if bundle["host"]:
        names["host"] = bundle["host"]
    return names


def is_over(bundle):
    """Whether the logs show how the boot ended, or go on for so long after it that it cannot be under way any more."""
    return bool(bundle["boot"]["outcome"]) or bundle["deleted"] or bundle["silent_s"] > LONGEST_WAIT


def took(events):
    """How long nova-compute says that it took to build the server; None if it was not built."""
    built = [event for event in events if TOOK in event.phrases and event.keys and event.until is not None]
    return round(built[-1].until - built[-1].at, 3) if built else None


def stage_of(name, record):
    """The stage of the boot by the logs; the other stages are skipped."""
    if name != "boot" or not record["diagnosis"]["boot"]:
        return verdict.skipped_stage(name, WHY)
    about, boot = record["diagnosis"], record["diagnosis"]["boot"]
    built = about["took_s"] is not None and boot["outcome"] != "failed"
    if not (built or has_failed(record)):
        return verdict.skipped_stage(name, "the logs do not tell how it ended")
    server = {"kind": "server", "id": boot["server"], "name": None, "made": False}
    error = None
    if not built:
        message = f"the logs do not show that Nova built {thing(boot)}"
        failure = StageError("service", message, resource=boot["server"], request_id=boot["request"])
        error = {**failure.record, "hint": ""}
    return shapes.stage(
        name,
        "ok" if built else "failed",
        **{part: record[part] for part in ("started", "finished", "duration_s")},
        resources=[server] if boot["server"] else [],
        details={"request_id": boot["request"]},
        error=error,
    )


def has_failed(record):
    """Whether Nova says that the boot failed, an error has an id of the boot, or a step is missing."""
    if record["diagnosis"]["boot"]["outcome"] == "failed" or any(error["keyed"] for error in record["errors"]):
        return True
    return any(step["status"] == "missing" for flow in record["flows"] for step in flow["steps"])


def judge(record):
    """The verdict: a failed boot is judged as a run whose stage boot failed."""
    about = record["diagnosis"]
    boot = next(stage for stage in record["stages"] if stage["stage"] == "boot")
    if boot["status"] == "failed":
        return of_record(record)
    if boot["status"] == "ok":
        where = f" on {about['host']}" if about["host"] else ""
        reason = f"By the logs, Nova built {thing(about['boot'])}{where} in {about['took_s']:.1f} s."
        return shapes.verdict("pass", None, reason)
    hint = "Look whether the logs of all services and hosts are there."
    if not about["over"]:
        after = f"{about['silent_s']:.0f} s after its last line"
        hint = f"They end {after}, when it may have been under way: collect them anew."
    elif not about["boot"]["request"]:
        hint = "Its request is not known: if you know it, give stackproof_request_id instead."
    return shapes.verdict(
        "incomplete", "boot", f"The logs do not tell how the boot of {thing(about['boot'])} ended. {hint}"
    )


def thing(boot):
    return f"the server {boot['server']}" if boot["server"] else f"what the request {boot['request']} asked for"
