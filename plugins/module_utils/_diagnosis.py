# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A diagnosis: the record of a boot that only logs tell of, in the shape of a run's record.

PRIVATE to the collection: no promise is made to other users of this file.
"""

from __future__ import annotations

from . import _events, _follow, _match, _related, _suspect, _verdict
from ._clock import now, seconds_between
from ._flow import LEVELS
from ._rivals import TOOK
from ._run import STAGES, new_record

WHY = "a diagnosis reads logs, and judges the boot alone"


def record_of(found, flows, run_id):
    """(record, events) of the boot that was found in logs, finished and judged."""
    told, events = follow(found, flows)
    began, until = _follow.written(found["began"]), _follow.written(found["until"])
    record = new_record(run_id, f"the logs in {found['name']}")
    record.update(
        started=began,
        finished=until,
        duration_s=round(seconds_between(began, until), 6),
        flows=told,
        hosts=[host_of(name, read) for name, read in sorted(found["hosts"].items())],
        logs=_follow.logs_read(found["hosts"]),
        diagnosis={
            "made": now(),
            **{name: found[name] for name in ("asked", "boot", "keys", "host", "zones", "doubts")},
            "took_s": took(events),
            "errors": [{**one, "at": _follow.written(one["at"])} for one in _related.errors_in(events)],
        },
    )
    record["verdict"] = _suspect.judge(record)
    record["stages"] = [stage(name, record) for name in STAGES]
    return record, events


def follow(found, flows):
    """(flows as a record has them, all events); steps that were owed are missing."""
    hosts = found["hosts"]
    events = _events.joined(_events.of_logs({"hosts": []}, hosts))
    sources = [{**source, "host": host} for host, read in hosts.items() for source in read["sources"]]
    facts = {"volumes": bool(found["keys"].get("volume")), "port": None, "stores": None}
    matcher = _match.Matcher(events, names_of(found), facts, sources, found["began"], found["until"])
    matcher.levels.update(levels_of(found, events))
    told = [_follow.as_record(flow, matcher) for flow in flows]
    for flow, one in zip(flows, told):
        if took(events) is None and "base" not in flow and not flow.get("exclusive"):
            _suspect.mark_missing(flow, one["steps"], matcher, found["hosts"], found["keys"].get("request"))
    return told, events


def levels_of(found, events):
    """Service to the level at which it logs, by all that it writes; where it may be any of several hosts, the least."""
    levels = {service: dict(hosts) for service, hosts in found["levels"].items()}
    for one in events:
        its = levels.get(one["service"], {})
        if one["host"] in its and one["level"]:
            its[one["host"]] = max(its[one["host"]], one["level"], key=LEVELS.index)
    for service, hosts in levels.items():
        if service in _suspect.ON_COMPUTE and found["host"] in hosts:
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


def host_of(name, read):
    return {
        "host": name,
        "groups": [],
        "parts": [],
        "status": "read",
        "reason": None,
        "clock_offset_s": None,
        "clock_error_s": None,
        "health_before": None,
        "facts": {"addresses": read["addresses"]},
        "unread": read["unread"],
        "checks": [],
    }


def stage(name, record):
    """The stage of the boot as the logs tell it; the others are none of theirs."""
    verdict, boot = record["verdict"], record["diagnosis"]["boot"]
    if name != "boot":
        return _verdict.skipped_stage(name, WHY)
    if verdict["result"] == "incomplete":
        return _verdict.skipped_stage(name, "the logs do not tell how it ended")
    server = {"kind": "server", "id": boot["server"], "name": None, "made": False}
    error = {
        "kind": "service",
        "message": verdict["reason"],
        "resource": boot["server"],
        "said": None,
        "status": None,
        "request_id": boot["request"],
        "hint": "",
        "details": {},
    }
    return {
        **_verdict.skipped_stage(name, WHY),
        "status": "failed" if verdict["result"] == "fail" else "ok",
        **{part: record[part] for part in ("started", "finished", "duration_s")},
        "resources": [server] if boot["server"] else [],
        "details": {"request_id": boot["request"]},
        "error": error if verdict["result"] == "fail" else None,
    }
