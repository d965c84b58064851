# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A diagnosis: the record of a boot that only logs tell of, in the shape of a run's record."""

from __future__ import annotations

from .._collect.sources.log import account
from .._judge import verdict
from .._match.components import is_beside
from .._match.follow import as_record, errors_of, written
from .._match.matcher import Matcher
from .._match.rivals import TOOK
from .._normalise.events import of_run
from .._record import shapes
from .._record.clock import now, seconds_between
from .._record.errors import StageError
from .._record.levels import LEVELS
from .._record.run import STAGES, new_record

WHY = "a diagnosis reads logs, and judges the boot alone"


def record_of(found, flows, run_id):
    """(record, events) of the boot that was found in logs, finished and judged."""
    told, events = follow(found, flows)
    began, until = written(found["began"]), written(found["until"])
    record = new_record(run_id, f"the logs in {found['name']}")
    record.update(
        started=began,
        finished=until,
        duration_s=round(seconds_between(began, until), 6),
        flows=told,
        hosts=[
            shapes.host(name, facts={"addresses": read["addresses"]}, unread=read["unread"])
            for name, read in sorted(found["hosts"].items())
        ],
        logs=account(found["hosts"]),
        errors=errors_of(events),
        diagnosis={
            "made": now(),
            **{name: found[name] for name in ("asked", "boot", "keys", "host", "zones", "doubts")},
            "took_s": took(events),
        },
    )
    record["stages"] = [stage_of(name, record) for name in STAGES]
    record["verdict"] = judge(record)
    return record, events


def follow(found, flows):
    """(flows as a record has them, all events) of a boot that was found in logs."""
    hosts = found["hosts"]
    events = of_run({"hosts": [], "stages": []}, {"log": hosts})
    sources = [{**source, "host": host} for host, read in hosts.items() for source in read["sources"]]
    facts = {"volumes": bool(found["keys"].get("volume")), "port": None, "stores": None}
    matcher = Matcher(
        events,
        names_of(found),
        facts,
        sources,
        found["began"],
        found["until"],
        levels=levels_of(found, events),
        logs_alone=True,
        caller_known=bool((hosts.get(found["host"]) or {}).get("addresses")),
        # A boot that was built lacks nothing; and by its server alone, nobody knows all its lines.
        complete=took(events) is None and bool(found["keys"].get("request")),
    )
    return [as_record(flow, matcher) for flow in flows], events


def levels_of(found, events):
    """Service to the level at which it logs, by all that it writes; where it may be any of several hosts, the least."""
    levels = {service: dict(hosts) for service, hosts in found["levels"].items()}
    for one in events:
        its = levels.get(one["service"], {})
        if one["host"] in its and one["level"]:
            its[one["host"]] = max(its[one["host"]], one["level"], key=LEVELS.index)
    for service, hosts in levels.items():
        if is_beside(service) and found["host"] in hosts:
            levels[service] = {found["host"]: hosts[found["host"]]}
    return {service: min(hosts.values(), key=LEVELS.index) for service, hosts in levels.items()}


def names_of(found):
    """What a rule may name in braces."""
    keys = {kind: found["keys"].get(kind) for kind in ("server", "port", "volume")}
    names = {**{kind: texts[0] for kind, texts in keys.items() if texts}, **found["named"]}
    return {**names, **({"host": found["host"]} if found["host"] else {})}


def took(events):
    """How long nova-compute says that it took to build the server; None if it was not built."""
    built = [one for one in events if TOOK in one["said"] and one["keys"] and one["until"] is not None]
    return round(built[-1]["until"] - built[-1]["at"], 3) if built else None


def stage_of(name, record):
    """The stage of the boot as the logs tell it; the others are none of theirs."""
    about, boot = record["diagnosis"], record["diagnosis"]["boot"]
    built = about["took_s"] is not None and boot["outcome"] != "failed"
    if name != "boot":
        return verdict.skipped_stage(name, WHY)
    if not (built or has_failed(record)):
        return verdict.skipped_stage(name, "the logs do not tell how it ended")
    server = {"kind": "server", "id": boot["server"], "name": None, "made": False}
    message = f"the logs do not show that Nova built {thing(boot)}"
    about = {"resource": boot["server"], "request_id": boot["request"]}
    return shapes.stage(
        name,
        "ok" if built else "failed",
        **{part: record[part] for part in ("started", "finished", "duration_s")},
        resources=[server] if boot["server"] else [],
        details={"request_id": boot["request"]},
        error=None if built else {**StageError("service", message, **about).record, "hint": ""},
    )


def has_failed(record):
    """Whether Nova says so, an error carries an id of the boot, or a step is missing."""
    lacking = any(step["status"] == "missing" for flow in record["flows"] for step in flow["steps"])
    return (
        lacking or record["diagnosis"]["boot"]["outcome"] == "failed" or any(one["keyed"] for one in record["errors"])
    )


def judge(record):
    """The verdict: of a boot that failed it is that of a run whose stage boot failed."""
    about = record["diagnosis"]
    boot = next(stage for stage in record["stages"] if stage["stage"] == "boot")
    if boot["status"] == "failed":
        return verdict.failure(record, boot)
    if boot["status"] == "ok":
        where = f" on {about['host']}" if about["host"] else ""
        reason = f"By the logs, Nova built {thing(about['boot'])}{where} in {about['took_s']:.1f} s."
        return shapes.verdict("pass", None, reason)
    hint = "Look whether the logs of all services and hosts are there."
    if not about["boot"]["request"]:
        hint = "Its request is not known: if you know it, give stackproof_request_id instead."
    return shapes.verdict(
        "incomplete", "boot", f"The logs do not tell how the boot of {thing(about['boot'])} ended. {hint}"
    )


def thing(boot):
    return f"the server {boot['server']}" if boot["server"] else f"what the request {boot['request']} asked for"
