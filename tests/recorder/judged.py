# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the judge reads of a run that failed."""

from __future__ import annotations

# The flow whose steps are judged
JUDGED = "modern"
TRUTH = ("stage", "components", "hosts", "steps")
STAGE = ("stage", "status", "started", "error")
DETAILS = ("token", "reason", "guest")
HOST = ("host", "groups", "status", "unread")
SERVER = ("id", "host", "host_id")


def judged(record, name, truth):
    """What the judge reads of a run."""
    (flow,) = (candidate for candidate in record["flows"] if candidate["name"] == JUDGED)
    return {
        "fault": name,
        "truth": {key: value for key, value in truth.items() if key in TRUTH},
        "record": {
            "started": record["started"],
            "stages": [{**part(stage, STAGE), "calls": [], "details": part(stage["details"], DETAILS)}
                       for stage in record["stages"]],
            "hosts": [{**part(host, HOST), "facts": facts_of(host["facts"])} for host in record["hosts"]],
            "agents": record["agents"],
            "errors": record["errors"],
            "instance": {"server": part(record["instance"]["server"], SERVER)} if record["instance"] else None,
        },
        "steps": {step["id"]: [step["status"], step["at"], step["host"]] for step in flow["steps"]},
    }  # fmt: skip


def part(whole, names):
    return {name: whole[name] for name in names if name in whole}


def facts_of(facts):
    kept = part(facts, ("names", "services"))
    if facts.get("ceph"):
        kept["ceph"] = part(facts["ceph"], ("health", "osds"))
    if facts.get("domain"):
        kept["domain"] = part(facts["domain"], ("uuid",))
    return kept
