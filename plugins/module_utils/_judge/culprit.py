# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who broke a run that failed: the first step that was owed and not delivered, and the component and host that owed it.

What is known points at suspects, each pointer with a weight. Who is not near the first step that is lacking is no
suspect, whatever its logs complain of; and where nothing points at anybody, all suspects are told and nobody is named.
"""

from __future__ import annotations

from .._match import order
from .._record.run import failed_stage
from . import pointers
from .suspects import Suspects

# With less than this nothing but the order of the steps speaks against a component.
NAMED = 5
# How many others are told
OTHERS = 4
# What helps against slowness
PATIENCE = (
    "give the stage more time (-e stackproof_boot_timeout=, -e stackproof_metadata_timeout=), and look at the load"
)
# An error of these kinds was said to the run itself, and is about what it asked for.
OWN_WORDS = (
    "config", "catalog", "files", "tls", "unauthorized", "forbidden", "not_found", "ambiguous", "quota", "invalid",
    "conflict", "internal", "interrupted",
)  # fmt: skip


def finding(record):
    """step, component, host, said, last_seen, evidence, next and alternatives of a run with a failed stage, or None."""
    stage = failed_stage(record["stages"])
    if stage is None or stage["error"]["kind"] in OWN_WORDS:
        return None
    steps = steps_of(record)
    followed = any(order.is_of(step, stage["stage"]) for step in steps)
    paths = order.paths(steps, stage["stage"]) if followed else []
    suspects = Suspects(record, stage, paths, steps)
    for point in (
        # What Nova says may make more of them suspects, at whom the others point.
        pointers.faults,
        pointers.answers,
        pointers.units,
        pointers.agents,
        pointers.ceph,
        pointers.errors,
        pointers.guest,
        pointers.metadata,
    ):
        suspects.kind = point.__name__
        point(suspects, record, stage)
    return told(suspects.ranked(), steps, paths, record, suspects.pause)


def steps_of(record):
    """The steps of the flow that runs are judged by, or else of the first."""
    judged = [flow for flow in record["flows"] if flow["judged"]] or record["flows"][:1]
    return [step for flow in judged[:1] for step in flow["steps"] if "follows" in step]


def told(ranked, steps, paths, record, pause):
    first = ranked[0] if ranked else None
    sure = first is not None and first["weight"] >= NAMED
    step = (first and first["step"]) or (paths[0][0] if paths else None)
    last = order.last_seen(steps)
    return {
        "step": step and step["id"],
        "component": first["component"] if sure else None,
        "host": first["host"] if sure else None,
        "said": said(first, step, sure, pause),
        "last_seen": last and {name: last[name] for name in ("id", "message", "at", "host")},
        "evidence": first["why"] if sure else [],
        "next": next_of(first, record) if sure else PATIENCE if pause is not None else access(record),
        "alternatives": [
            {name: one[name] for name in ("component", "host", "weight", "why")}
            for one in (ranked[1:] if sure else ranked)[: OTHERS if sure else None]
        ],
    }


def said(first, step, sure, pause):
    lacks = "did not happen" if step and step["status"] == "missing" else "was not seen to happen"
    owed = f"step {step['id']} ({step['message']}) {lacks}" if step else None
    if not sure and pause is not None:
        return owed and f"{owed} yet, but another one was seen {pause:.1f} s before the end: it may be slow, not broken"
    if not sure:
        return owed and f"{owed}, and nothing that could be read says why"
    who = first["component"] + (f" on {first['host']}" if first["host"] else "")
    if first["why"][0] == first["role"]:
        return f"{who} {first['role']}: {owed}" if owed else f"{who} {first['role']}"
    return f"{who} {first['why'][0]}" + (f"; {owed}" if owed else "")


def next_of(first, record):
    """The command that shows more, and where to run it."""
    units = [
        (host["host"], service["unit"])
        for host in record["hosts"]
        for service in host["facts"].get("services") or []
        if service["component"] == first["component"] and first["host"] in (None, host["host"])
    ]
    if units:
        host, unit = units[0]
        return f"on {host}: systemctl status {unit}; journalctl --unit {unit} --since -15min"
    return {
        "ceph-mon": "ceph status; ceph health detail",
        "ceph-osd": "ceph osd tree; ceph health detail",
        "data network": "ping between the hosts' addresses of the tunnels; ovs-vsctl show",
        "vm-instance": "openstack console log show, of an instance that is kept: -e stackproof_keep=on_failure",
    }.get(first["component"])


def access(record):
    """What would have to be readable to tell more."""
    if not record["hosts"]:
        return "give an inventory of the cloud's hosts (-i), so that their services and logs can be read"
    unread = sorted(host["host"] for host in record["hosts"] if host["status"] != "read")
    if unread:
        return f"make {', '.join(unread)} readable"
    return "let the services log with debug = true, and oslo.messaging at DEBUG" if record["flows"] else None
