# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds who broke a run that failed: the first step that was owed and did not happen, and the component that owed it.

Evidence points at suspects, each pointer with a weight. A component that is not near the first step that is lacking is
not a suspect, whatever its logs complain of. Where nothing points at a component, all suspects are listed and none is
named.
"""

from __future__ import annotations

from .._match import order
from .._record.run import failed_stage
from . import pointers
from .suspects import Suspects

# A component of less weight than this has nothing against it but the order of the steps.
NAMED = 5
# So many other suspects are listed beside the one that is named.
OTHERS = 4
# Helps against slowness
PATIENCE = (
    "give the stage more time (-e stackproof_boot_timeout=, -e stackproof_metadata_timeout=), and look at the load"
)
# Errors of these kinds are about what the run itself asked for.
OWN_ERRORS = (
    "config", "catalog", "files", "tls", "unauthorized", "forbidden", "not_found", "ambiguous", "quota", "invalid",
    "conflict", "internal", "interrupted",
)  # fmt: skip


def finding(record):
    """Step, component, host, sentence, last_seen, evidence, next and alternatives of a run that failed, or None."""
    stage = failed_stage(record["stages"])
    if stage is None or stage["error"]["kind"] in OWN_ERRORS:
        return None
    steps = steps_of(record)
    followed = any(order.is_of(step, stage["stage"]) for step in steps)
    paths = order.paths(steps, stage["stage"]) if followed else []
    suspects = Suspects(record, stage, paths, steps)
    for pointer in (
        # Nova's own message may bring more suspects near, so it comes before those that point at them.
        pointers.faults,
        pointers.answers,
        pointers.units,
        pointers.agents,
        pointers.ceph,
        pointers.errors,
        pointers.guest,
        pointers.metadata,
    ):
        suspects.kind = pointer.__name__
        pointer(suspects, record, stage)
    return finding_of(suspects.ranked(), steps, paths, record, suspects.pause)


def steps_of(record):
    """The steps of the flow that runs are judged by, or else of the first."""
    judged = [flow for flow in record["flows"] if flow["judged"]] or record["flows"][:1]
    return [step for flow in judged[:1] for step in flow["steps"] if "follows" in step]


def finding_of(ranked, steps, paths, record, pause):
    suspect = ranked[0] if ranked else None
    culprit = suspect if suspect and suspect["weight"] >= NAMED else None
    others = ranked[1 : 1 + OTHERS] if culprit else ranked
    step = (suspect and suspect["step"]) or (paths[0][0] if paths else None)
    last = order.last_seen(steps)
    return {
        "step": step and step["id"],
        "component": culprit and culprit["component"],
        "host": culprit and culprit["host"],
        "sentence": sentence_of(culprit, step, pause),
        "last_seen": last and {name: last[name] for name in ("id", "message", "at", "host")},
        "evidence": culprit["why"] if culprit else [],
        "next": next_of(culprit, record, pause),
        "alternatives": [{name: other[name] for name in ("component", "host", "weight", "why")} for other in others],
    }


def sentence_of(culprit, step, pause):
    lacks = "did not happen" if step and step["status"] == "missing" else "was not seen to happen"
    owed = f"step {step['id']} ({step['message']}) {lacks}" if step else None
    if culprit:
        return accusation(culprit, owed)
    if owed is None:
        return None
    if pause is not None:
        return f"{owed} yet, but another one was seen {pause:.1f} s before the end: it may be slow, not broken"
    return f"{owed}, and nothing that could be read says why"


def accusation(culprit, owed):
    name = culprit["component"] + (f" on {culprit['host']}" if culprit["host"] else "")
    sentence = f"{name} {culprit['why'][0]}"
    if owed is None:
        return sentence
    # A role is about the step ("owed what is lacking"), and the step explains it.
    return f"{sentence}{':' if culprit['why'][0] == culprit['role'] else ';'} {owed}"


def next_of(culprit, record, pause):
    """The next thing to do: look at the culprit, have patience, or give more access."""
    if culprit:
        return command_for(culprit, record)
    return access(record) if pause is None else PATIENCE


def command_for(culprit, record):
    """The command that shows more, and where to run it."""
    units = [
        (host["host"], service["unit"])
        for host in record["hosts"]
        for service in host["facts"].get("services") or []
        if service["component"] == culprit["component"] and culprit["host"] in (None, host["host"])
    ]
    if units:
        host, unit = units[0]
        return f"on {host}: systemctl status {unit}; journalctl --unit {unit} --since -15min"
    return {
        "ceph-mon": "ceph status; ceph health detail",
        "ceph-osd": "ceph osd tree; ceph health detail",
        "data network": "ping between the hosts' addresses of the tunnels; ovs-vsctl show",
        "vm-instance": "openstack console log show, of an instance that is kept: -e stackproof_keep=on_failure",
    }.get(culprit["component"])


def access(record):
    """The access that would tell more."""
    if not record["hosts"]:
        return "give an inventory of the cloud's hosts (-i), so that their services and logs can be read"
    unread = sorted(host["host"] for host in record["hosts"] if host["status"] != "read")
    if unread:
        return f"make {', '.join(unread)} readable"
    return more_logs(record["flows"]) if record["flows"] else None


def more_logs(flows):
    """What the services would have to log besides, by the levels of the evidence that they gave."""
    levels = {item["level"] for flow in flows for step in flow["steps"] for item in step["evidence"]}
    if "messaging" in levels:
        return None
    if "debug" in levels:
        return "let the services log oslo.messaging at DEBUG, or record the queue (stackproof_firehose)"
    return "let the services log with debug = true, and oslo.messaging at DEBUG"
