# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judges a run by its record."""

from __future__ import annotations

from .._record.clock import seconds_of
from .._record.errors import sentence
from .._record.run import STAGES, failed_stage
from .culprit import finding


def skipped_stage(name, reason):
    return {
        "stage": name,
        "status": "skipped",
        "started": None,
        "finished": None,
        "duration_s": None,
        "resources": [],
        "calls": [],
        "waits": [],
        "details": {"reason": reason},
        "error": None,
    }


def with_skipped(stages):
    """The stages in their order; those that did not run because one failed before them are said to be skipped."""
    known = {stage["stage"]: stage for stage in stages}
    failed = failed_stage(stages)
    reason = f"the stage {failed['stage']} failed before" if failed else "the run broke off before"
    return [known.get(name) or skipped_stage(name, reason) for name in STAGES]


def verdict(result, stage, reason):
    return {
        "result": result,
        "stage": stage,
        "step": None,
        "component": None,
        "host": None,
        "reason": reason,
        "last_seen": None,
        "evidence": [],
        "next": None,
        "alternatives": [],
    }


def checks_with(record, status):
    """(host, check) of the checks of the hosts that ended so."""
    return [(one["host"], check) for one in record["hosts"] for check in one["checks"] if check["status"] == status]


def has_failed(record):
    """Whether a stage has failed, or a host does not agree with the API."""
    return failed_stage(record["stages"]) is not None or bool(checks_with(record, "failed"))


def judge(record, broke_off=None):
    """The verdict in one sentence: the first thing that is not as it must be."""
    stages = {stage["stage"]: stage for stage in record["stages"]}
    failed = failed_stage(record["stages"])
    if failed and failed["error"]["kind"] == "interrupted":
        return verdict("incomplete", failed["stage"], f"The run broke off in the stage {failed['stage']}.")
    if failed:
        return failure(record, failed)
    missing = [name for name in STAGES if name not in stages or stages[name]["started"] is None]
    if missing:
        return verdict("incomplete", missing[0], f"The run broke off before the stage {missing[0]}.")
    if broke_off:
        return verdict("incomplete", None, broke_off)
    disagree = checks_with(record, "failed")
    if disagree:
        host, check = disagree[0]
        more = f" And {len(disagree) - 1} more checks of the hosts failed." if len(disagree) > 1 else ""
        reason = f"All stages worked, but the hosts do not agree with the API: {check['reason']}.{more}"
        return {**verdict("fail", None, reason), "host": host}
    breached = [limit for limit in record["thresholds"] if not limit["ok"]]
    if breached:
        return verdict("fail", None, "All stages worked, but " + "; ".join(limit["said"] for limit in breached) + ".")
    if record["leftovers"]:
        names = ", ".join(f"{one['name']} ({one['why']})" for one in record["leftovers"])
        return verdict("fail", None, f"All stages worked, but this could not be removed: {names}.")
    seconds = next((wait["seconds"] for wait in stages["boot"]["waits"]), stages["boot"]["duration_s"])
    guest = (
        "but its guest was not asked" if stages["metadata"]["status"] == "skipped" else "and the guest has its metadata"
    )
    said = f"The cloud provisions an instance: active after {seconds:.1f} s, {guest}."
    return verdict("pass", None, said + what_the_hosts_said(record))


def failure(record, stage):
    """A stage has failed: what it said, and what is known of who broke it."""
    error, found = stage["error"], finding(record)
    said = f"{error['message'].rstrip('.')}."
    if found is None or found["said"] is None:
        reason = f"{stage['stage']}: {sentence(error)}"
        return {**verdict("fail", stage["stage"], reason), **rest_of(found)}
    where = stage["stage"] + (f", step {found['step']}" if found["step"] else "")
    parts = [f"{where}: {found['said']}.", last_seen(found["last_seen"], record), f"The stage said: {said}"]
    if found["next"]:
        parts.append(f"Next: {found['next']}.")
    return {**verdict("fail", stage["stage"], " ".join(part for part in parts if part)), **rest_of(found)}


def rest_of(found):
    return {name: value for name, value in (found or {}).items() if name != "said"}


def last_seen(step, record):
    if step is None:
        return ""
    after = seconds_of(step["at"]) - seconds_of(record["started"])
    return f"Last seen: step {step['id']} ({step['message']}), {after:.1f} s after the start."


def what_the_hosts_said(record):
    """What a pass says of the hosts; what could not be read is no secret."""
    made = sum(len(one["checks"]) for one in record["hosts"])
    unread = checks_with(record, "unreadable")
    agreed = f" The hosts agree, by {len(checks_with(record, 'ok'))} checks." if made else ""
    missing = f" But {len(unread)} could not be made: {unread[0][1]['reason']}." if unread else ""
    return agreed + missing
