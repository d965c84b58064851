# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Follows one run through its flows: what to look for on the hosts, and what the run's record says of it."""

from __future__ import annotations

import json
import math
from operator import itemgetter

from .._collect.sources import SOURCES
from .._collect.sources.api import WHOLE_SECOND
from .._normalise.events import of_run
from .._normalise.places import back_end_of, host_of
from .._record.clock import iso_of, now, seconds_of
from .._record.ids import keys_of, server_of, stage_of
from .._record.run import REMOVAL, is_removal
from . import status
from .flow import looks_back, telling
from .flow import wanted as wanted_in_logs
from .matcher import Matcher

# More kinds of complaints than this are a flood; the others are left out.
MOST_ERRORS = 200

# So many seconds after a removal agents may still be at work.
TIDYING = 5
# The last word of the path at which a resource is asked for
KINDS = {
    "images": "image", "networks": "network", "subnets": "subnet", "routers": "router", "ports": "port",
    "security-groups": "security_group", "floatingips": "floating_ip", "volumes": "volume", "servers": "server",
    "os-volume_attachments": "attachment",
}  # fmt: skip

FIELDS = sorted({field for source in SOURCES.values() for field in source.fields})


def wanted(record, flows):
    """All that is looked for on the hosts, with times by the control node's clock."""
    began, flows = seconds_of(record["started"]), flows_of(record, flows)
    return {
        "keys": keys_of(record),
        **wanted_in_logs(flows),
        "began": began,
        **{name: value for source in SOURCES.values() for name, value in source.wanted(record).items()},
        "since": began - looks_back(flows),
        "until": seconds_of(now()),
        "errors": True,
    }


def flows_of(record, flows):
    """The flows of a run, or those of its removal."""
    return [flow for flow in flows if (flow.get("stage") == REMOVAL) == is_removal(record)]


def follow(record, flows, reads):
    """(flows as run.json has them, all events). reads: name of a source to hosts, each with what was read there."""
    events, flows = of_run(record, reads), flows_of(record, flows)
    sources = [
        {**source, "host": host}
        for host, read in (reads.get("log") or {}).items()
        for source in (read or {}).get("sources") or []
    ]
    began = seconds_of(record["started"])
    # Agents still tidy up when the API has nothing more to remove.
    ending = [event for event in events if is_removal(record) or event["source"] in ("api", "host")]
    ended = max([began, *(event["until"] or event["at"] for event in ending)])
    # The logs of a removal are read as soon as the API has nothing more to remove.
    settled = seconds_of(record["removal"]["finished"]) - TIDYING if is_removal(record) else math.inf
    known = names_of(record), facts_of(record), sources, began, ended, boots_of(record)
    return as_records(flows, Matcher(events, *known, settled=settled)), events


def boots_of(record):
    """Other boots by an administrator's answer: its moment, and (first, last) of each boot. None without an answer."""
    answer = record.get("other_boots")
    if not answer:
        return None
    # Nova's times are by the clocks of its hosts, and the answer does not say of which host each is.
    error = max([abs(host["clock_offset_s"] or 0) for host in record["hosts"]] or [0])

    def last(boot):
        ended = boot["ended"] and seconds_of(boot["ended"])
        return ended + WHOLE_SECOND + boot["settling_s"] + error if ended else math.inf

    boots = [(seconds_of(boot["began"]) - error, last(boot)) for boot in answer["boots"]]
    return seconds_of(answer["asked"]), boots


# What tells one kind of complaint from another
COMPLAINT = ("service", "host", "logger", "exception", "raised_in", "how", "peer", "peer_address")


def errors_of(events):
    """The errors in the logs, each kind once, with its first time, its number and the line to be quoted."""
    errors = {}
    for event in events:
        if event["kind"] == "error":
            what = {name: event.get(name) for name in COMPLAINT}
            # A request of any stage is the run's own; a thing that others may use as well is not.
            what["keyed"] = bool(event["keys"].keys() - {"shared"})
            first = {**what, "at": iso_of(event["at"]), "count": 0, "mentions": event.get("mentions") or []}
            error = errors.setdefault(tuple(what.values()), {**first, "quote": event.get("quote"), "usual": None})
            error["count"] += 1
    # On a cloud of many hosts those of the run come before those that each host has.
    kept = sorted(errors.values(), key=lambda error: not error["keyed"])[:MOST_ERRORS]
    return sorted(kept, key=itemgetter("at"))


def accounts(reads):
    """Keys of the record that say of each source what was read, what was not, and why."""
    keys = {}
    for source in SOURCES.values():
        rows = source.account(reads.get(source.name) or {})
        if source.filed_as == "sources" and rows:
            keys.setdefault("sources", {})[source.name] = rows
        elif rows or source.filed_as == "logs":
            keys[source.filed_as] = rows
    return keys


def names_of(record):
    """The names that a rule may have in braces. A run without a volume has no {volume}, and the rule shows nothing."""
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


# The facts of a run that the condition of a step may ask for, before anything is known of it
NO_FACTS = {
    "volumes": False, "attached": False, "port": None, "stores": None, "network": None, "made": [], "removed": [],
}  # fmt: skip


def facts_of(record):
    """The facts of a run."""
    instance = record.get("instance") or {}
    network = stage_of(record, "network")["details"]
    return {
        "volumes": has_volume(record) and stage_of(record, "boot")["details"].get("attach") != "after",
        "attached": has_volume(record),
        "port": network.get("port"),
        "stores": (instance.get("image") or {}).get("stores"),
        "network": back_end_of(record),
        "made": made_in(record),
        "removed": removed_in(record),
    }


def has_volume(record):
    return bool((record.get("instance") or {}).get("volumes")) or stage_of(record, "volume")["status"] == "ok"


def made_in(record):
    """The kinds of resources that the run has asked for, whether or not it got them."""
    calls = [call for stage in record["stages"] for call in stage["calls"] if call["method"] == "POST"]
    return sorted({KINDS[name] for call in calls if (name := call["path"].rpartition("/")[2]) in KINDS})


def removed_in(record):
    """The kinds of resources that the run has asked to remove."""
    calls = [call for stage in record["stages"] for call in stage["calls"] if call["method"] == "DELETE"]
    return sorted({KINDS[name] for call in calls if (name := call["path"].split("/")[-2]) in KINDS})


def as_records(flows, matcher):
    """The flows as run.json has them. One that is told on a condition, which holds, stands before its like."""
    records = [as_record(flow, matcher) for flow in flows]
    for flow, record in zip(flows, tuple(records)):
        if not (flow.get("told_when") and record["told_as"]):
            continue
        place = next(place for place, other in enumerate(records) if other["told_as"] == record["told_as"])
        if records[place] is not record:
            records[place]["told_as"] = None
            records.remove(record)
            records.insert(place, record)
    return records


def as_record(flow, matcher):
    """A flow as run.json has it, with what became of its steps."""
    steps = matcher.match(flow)
    coverage = status.coverage(steps, flow.get("counted", "@"))
    for step in steps:
        for timed in (step, *step["evidence"]):
            timed.update(at=iso_of(timed["at"]), until=iso_of(timed["until"]))
    recorded = {
        "name": flow["name"],
        "title": flow["title"],
        "lifelines": flow["lifelines"],
        **telling(flow, matcher.facts),
        "steps": steps,
        "coverage": coverage,
        "rivals": matcher.rivalry,
    }
    if flow.get("exclusive"):
        recorded["others"] = matcher.others(flow.get("others") or [])
    return recorded


def kept(events):
    """The events to keep. One without an id may be anybody's and is left out; where it is evidence, the flow has it."""
    return [event for event in events if event["keys"] or event["source"] == "api" or event["kind"] == "error"]


def lines(events):
    """The events as a file has them, one a line, with no fields but those that may be shown."""
    common = ("host", "service", "source", "kind", "level", "keys", "text", "resolution_s", "error_s")
    for event in events:
        fields = {"at": iso_of(event["at"]), "until": iso_of(event["until"])}
        fields.update({name: event[name] for name in common})
        fields.update({name: event[name] for name in FIELDS if event.get(name) is not None})
        yield json.dumps(fields, sort_keys=True)
