# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judges a run by its record."""

from __future__ import annotations

from typing import Any

from .._collect.commands import SUDO_ADVICE
from .._record import shapes
from .._record.errors import sentence
from .._record.run import REMOVAL, STAGES, failed_stage, of_removal
from .._record.run import in_words as leftovers_in_words
from .._report import finding as in_words
from .._report.text import plural
from .culprit import finding

# Why a run does not pass if its playbook did not end it
AFTER_STAGES = "The run broke off after its stages."


def skipped_stage(name, reason):
    return shapes.stage(name, "skipped", details={"reason": reason})


def with_skipped(stages):
    """The stages in their order; each that did not run, because one failed before it, is marked as skipped."""
    by_name = {stage["stage"]: stage for stage in stages}
    failed = failed_stage(stages)
    reason = f"the stage {failed['stage']} failed before" if failed else "the run broke off before"
    return [by_name.get(name) or skipped_stage(name, reason) for name in STAGES]


def checks_with(record, status):
    """(host, check) of the checks of the hosts that have a status."""
    return [(host["host"], check) for host in record["hosts"] for check in host["checks"] if check["status"] == status]


def has_failed(record):
    """Whether a stage has failed, or a host does not agree with the API."""
    return failed_stage(record["stages"]) is not None or bool(checks_with(record, "failed"))


def judge(record, broke_off=None):
    """The verdict in one sentence: the first thing that is not as it must be."""
    stages = {stage["stage"]: stage for stage in record["stages"]}
    failed = failed_stage(record["stages"])
    if failed and failed["error"]["kind"] == "interrupted":
        return shapes.verdict("incomplete", failed["stage"], f"The run broke off in the stage {failed['stage']}.")
    if failed:
        return failure(record, failed)
    missing = [name for name in STAGES if name not in stages or stages[name]["started"] is None]
    if missing:
        reason = f"The run broke off before the stage {missing[0]}."
        why = f" {ended(broke_off)}" if broke_off and broke_off != AFTER_STAGES else ""
        return shapes.verdict("incomplete", missing[0], reason + why)
    if broke_off:
        return shapes.verdict("incomplete", None, broke_off)
    return flaw(record) or passed(record, stages)


def failure(record, stage):
    """The verdict on a stage that failed: its own error, and the finding about who broke it."""
    found = finding(record) or {}
    return {**shapes.verdict("fail", stage["stage"], reason_of(stage, found, record)), **found}


def reason_of(stage, found, record):
    """The verdict in a paragraph, for readers that show nothing else of it."""
    error = stage["error"]
    if found.get("headline") is None:
        return f"{stage['stage']}: {sentence(error)}"
    parts = [f"{stage['stage']}: {found['headline']}."]
    if found["owed"]:
        parts.append(f"{found['owed'][0].upper()}{found['owed'][1:]}.")
    if found["last_seen"]:
        parts.append(f"Last seen: {in_words.last_seen(found['last_seen'], record['started'])}.")
    parts.append(f"The stage said: {error['message'].rstrip('.')}.")
    if found["next"]:
        parts.append(f"Next: {found['next']}.")
    return " ".join(parts)


def flaw(record):
    """The verdict on a run whose stages all worked and that fails nevertheless, or None."""
    disagree = checks_with(record, "failed")
    if disagree:
        host, check = disagree[0]
        more = f" And {plural(len(disagree) - 1, 'more check')} of the hosts failed." if len(disagree) > 1 else ""
        reason = f"All stages worked, but the hosts do not agree with the API: {ended(check['reason'])}{more}"
        return shapes.verdict("fail", None, reason, host=host)
    breached = [limit for limit in record["thresholds"] if not limit["ok"]]
    if breached:
        reasons = "; ".join(limit["said"] for limit in breached)
        return shapes.verdict("fail", None, f"All stages worked, but {reasons}.")
    if record["leftovers"]:
        return failed_removal(record)
    return None


def failed_removal(record):
    """The verdict on a run that could not be removed, with the finding about who kept it from that."""
    left = leftovers_in_words(record["leftovers"])
    if (record.get("removal") or {}).get("status") != "failed":
        return shapes.verdict("fail", None, f"All stages worked, but this is left, or not accounted for: {left}.")
    reason = f"All stages worked, but this could not be removed: {left}."
    found = finding(of_removal(record)) or {}
    if found.get("headline"):
        reason += f" The cause: {found['headline']}."
    if found.get("next"):
        reason += f" Next: {found['next']}."
    return {**shapes.verdict("fail", REMOVAL, reason), **found}


def passed(record, stages):
    boot = stages["boot"]
    seconds = next((wait["seconds"] for wait in boot["waits"]), boot["duration_s"])
    guest = "and the guest has its metadata"
    if stages["metadata"]["status"] == "skipped":
        guest = "but its guest was not asked"
    reason = f"The cloud provisions an instance: active after {seconds:.1f} s, {guest}."
    return shapes.verdict("pass", None, reason + hosts_sentence(record))


def hosts_sentence(record):
    """The part of a pass that is about the hosts; it hides nothing that could not be read."""
    told = agreement_sentence(record) + silent_hosts_sentence(record)
    is_refused = any(entry.get("kind") == "refused" for host in record["hosts"] for entry in host["unread"])
    return f"{told} {SUDO_ADVICE}" if is_refused and SUDO_ADVICE not in told else told


def agreement_sentence(record: dict[str, Any]) -> str:
    agreed, unread = checks_with(record, "ok"), checks_with(record, "unreadable")
    if not any(host["checks"] for host in record["hosts"]):
        return ""
    if not unread:
        return f" The hosts agree, by {plural(len(agreed), 'check')}." if agreed else " No check applies to the hosts."
    reason = ended(unread[0][1]["reason"])
    if any(is_of_cloud(name, record) for name, _check in agreed):
        return f" The hosts agree, by {plural(len(agreed), 'check')}. But {len(unread)} could not be made: {reason}"
    return f" No host could be checked. {plural(len(unread), 'check')} could not be made: {reason}"


def is_of_cloud(name: str, record: dict[str, Any]) -> bool:
    """Return whether a host of the record is one of the inventory's groups, and not only the control node."""
    return any(host["host"] == name and (host["groups"] or name != shapes.CONTROL_NODE) for host in record["hosts"])


def silent_hosts_sentence(record):
    silent = [host for host in record["hosts"] if host["status"] != "read"]
    if not silent:
        return ""
    names = ", ".join(host["host"] for host in silent)
    return f" But {names} could not be read: {ended(silent[0]['reason'])}"


def ended(reason: str | None) -> str:
    """Return a reason as the end of a sentence: it may be one with a full stop already."""
    return f"{(reason or 'no reason is known').rstrip('. ')}."
