# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Follows one run through its flows: what to look for, and what was found, in the run's record."""

from __future__ import annotations

import json
import math
from datetime import datetime, timezone

from .._normalise.events import (
    WHOLE_SECOND,
    joined,
    keys_of,
    of_hosts,
    of_logs,
    of_queue,
    of_record,
    of_spans,
    server_of,
    stage_of,
)
from .._normalise.places import host_of
from .._record.clock import now, seconds_of
from . import flow as flow_module
from . import status
from .matcher import Matcher
from .rivals import own_keys

# Who complains of more than so many things is in a flood.
MOST_ERRORS = 200

FIELDS = (
    "method",
    "path",
    "status",
    "client",
    "caller",
    "seconds",
    "action",
    "topic",
    "message",
    "state",
    "fact",
    "step",
    "logger",
    "exception",
    "function",
    "verb",
    "table",
)


def wanted(record, flows):
    """What to look for on the hosts, by the control node's clock."""
    began = seconds_of(record["started"])
    return {
        "keys": keys_of(record),
        **flow_module.wanted(flows),
        "began": began,
        "trace": stage_of(record, "boot")["details"].get("trace"),
        # The validation of a token may have been that long ago.
        "since": began - flow_module.TOKEN_CACHE,
        "until": seconds_of(now()),
        "errors": True,
    }


def follow(record, flows, logs, queue=None, spans=None):
    """(flows as run.json has them, all events). logs, queue, spans: host to what modules have returned of it."""
    found = [*of_record(record), *of_hosts(record), *of_logs(record, logs)]
    found += [*of_queue(record, queue or {}, logs), *of_spans(record, spans or {})]
    events = joined(found)
    sources = [{**source, "host": host} for host, read in logs.items() for source in read["sources"]]
    began = seconds_of(record["started"])
    ended = max([began, *(one["until"] or one["at"] for one in events if one["source"] in ("api", "host"))])
    told = boots_of(record)
    matcher = Matcher(events, names_of(record), facts_of(record), sources, began, ended, told)
    return [as_record(flow, matcher) for flow in flows], events


def boots_of(record):
    """Other boots as an administrator was told of them: when that was, and from when to when each was under way."""
    told = record.get("other_boots")
    if not told:
        return None
    # Nova's times are by the clocks of its hosts, and which of them it was is not said.
    error = max([abs(host["clock_offset_s"] or 0) for host in record["hosts"]] or [0])

    def last(one):
        ended = one["ended"] and seconds_of(one["ended"])
        return ended + WHOLE_SECOND + one["settling_s"] + error if ended else math.inf

    spans = [(seconds_of(one["began"]) - error, last(one)) for one in told["boots"]]
    return seconds_of(told["asked"]), spans


def errors_of(events):
    """What the logs complain of, each kind of complaint once."""
    found = {}
    for one in events:
        if one["kind"] == "error":
            keyed = bool(own_keys(one))
            what = (one["service"], one["host"], one["logger"], one["exception"], keyed)
            first = found.setdefault(what, {"at": written(one["at"]), "count": 0})
            first["count"] += 1
    names = ("service", "host", "logger", "exception", "keyed")
    return [{**dict(zip(names, what)), **rest} for what, rest in list(found.items())[:MOST_ERRORS]]


def logs_read(logs):
    """What was read of each host's logs, and what was not and why."""
    return [
        {
            "host": host,
            "reason": None if "events" in (read or {}) else (read or {}).get("msg") or "it was not asked",
            "sources": (read or {}).get("sources") or [],
            "unread": (read or {}).get("unread") or [],
        }
        for host, read in sorted(logs.items())
    ]


def recorded(queue):
    """What was recorded of the message queue from each host that was asked to, and what not and why."""
    return [
        {
            "host": host,
            "messages": len(read.get("events") or []),
            "foreign": read.get("foreign", False),
            "reason": read.get("why") if "events" in read else read.get("msg") or "it was not asked",
        }
        for host, read in sorted(queue.items())
        if read
    ]


def traced(spans):
    """How many spans were read on the host that was asked for them, or why none were."""
    return [
        {"host": host, "spans": len(read.get("spans") or []), "reason": read.get("msg")}
        for host, read in sorted(spans.items())
        if read and not read.get("skipped")
    ]


def names_of(record):
    """What a rule may name in braces. Who has no volume has no {volume}, and the rule shows nothing."""
    instance = record.get("instance") or {}
    networks = instance.get("networks") or [{}]
    names = {
        "server": server_of(record),
        "image": (instance.get("image") or {}).get("id"),
        "volume": next(iter(instance.get("volumes") or []), None),
        "port": next((port["id"] for port in instance.get("ports") or []), None),
        "network": networks[0].get("id"),
        "subnet": next((subnet["id"] for subnet in networks[0].get("subnets") or []), None),
        "host": host_of(record),
        "user": stage_of(record, "auth")["details"].get("user"),
    }
    return {kind: name for kind, name in names.items() if name}


def facts_of(record):
    """What a step's condition may ask of the run."""
    instance = record.get("instance") or {}
    network = stage_of(record, "network")["details"]
    return {
        "volumes": bool(instance.get("volumes")) or stage_of(record, "volume")["status"] == "ok",
        "port": network.get("port"),
        "stores": (instance.get("image") or {}).get("stores"),
    }


def as_record(flow, matcher):
    steps = matcher.match(flow)
    covered = status.coverage(steps, flow.get("counted", "@"))
    for step in steps:
        for one in (step, *step["evidence"]):
            one.update(at=written(one["at"]), until=written(one["until"]))
    return {
        "name": flow["name"],
        "title": flow["title"],
        "lifelines": flow["lifelines"],
        "steps": steps,
        "coverage": covered,
        "rivals": matcher.rivalry,
        **({"others": matcher.others(flow.get("others") or [])} if flow.get("exclusive") else {}),
    }


def written(at):
    if at is None:
        return None
    return datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="microseconds")


def of_run(events):
    """What carries no id may be anybody's, and is not kept; where it counts as evidence, the flow has it."""
    return [one for one in events if one["keys"] or one["source"] == "api" or one["kind"] == "error"]


def lines(events):
    """The events as a file has them, one a line, with the fields that may be told."""
    common = ("host", "service", "source", "kind", "level", "keys", "text", "resolution_s", "error_s")
    for one in events:
        told = {"at": written(one["at"]), "until": written(one["until"]), **{name: one[name] for name in common}}
        told.update({name: one[name] for name in FIELDS if one.get(name) is not None})
        yield json.dumps(told, sort_keys=True)
