# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a boot failed at, by logs alone: the step that was owed and not seen, and the errors that carry its ids.

PRIVATE to the collection: no promise is made to other users of this file.
"""

from __future__ import annotations

import re

from ._flow import LEVELS

# The order in which a real boot does it; the documents tell of the image before the network.
ORDER = [
    "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "26", "26a", "26b", "27",
    "28", "29", "30", "31", "48", "32", "33", "26c", "39", "40", "41", "42", "19", "19a", "19b", "20", "23", "24",
    "25", "21", "22", "44", "34", "43", "35", "36", "37", "38", "45", "46", "47", "49", "50", "51",
]  # fmt: skip
# What comes before the boot; what the guest and the client do when they like
NOT_OWED = ("authentication", "metadata", "poll")
# These are on the host of the instance.
ON_COMPUTE = ("nova-compute", "neutron-l2-agent", "openvswitch")
# An error of who has waited in vain: whom it waited for is to be looked for.
WAITED = re.compile(r"Timeout|VirtualInterfaceCreateException|ConnectFailure")
# How a step says that it would be seen, and that nobody has read where
SHOWN = "would be shown by "
UNREAD, PARTLY = f"{SHOWN}the log of ", "the log of "
# The rest is in the record.
MOST = 5


def ordered(steps):
    """The steps of the boot in the order in which they are owed; one that is not known stays behind its neighbour."""
    place, found = -1, []
    for number, step in enumerate(steps):
        place = ORDER.index(step["id"]) if step["id"] in ORDER else place
        if step["phase"] not in NOT_OWED:
            found.append((place, number, step))
    return [step for _place, _number, step in sorted(found, key=lambda one: one[:2])]


def behind_the_last(steps):
    """(the last step that is seen, those that come after it)"""
    steps = ordered(steps)
    seen = [number for number, step in enumerate(steps) if step["status"] == "seen"]
    return (steps[seen[-1]], steps[seen[-1] + 1 :]) if seen else (None, steps)


def mark_missing(flow, steps, matcher, hosts, requests):
    """Say of steps behind the last that is seen that they are missing, if a log must show them and does not."""
    rules_by_id = {str(rules["id"]): rules for rules in flow["steps"]}
    if not requests:
        return  # by its server alone, nobody knows the lines of a boot
    caller_known = bool((hosts.get(matcher.names.get("host")) or {}).get("addresses"))
    for step in behind_the_last(steps)[1]:
        rules = rules_by_id[step["id"]]
        # What may be proved not to happen, or be answered out of a cache, is owed by nobody; nor is the request itself.
        if step["status"] != "unseen" or step["source"] == "client" or rules.get("absent") or rules.get("cached"):
            continue
        rule = next((one for one in rules.get("observe") or () if must_show(one, matcher, caller_known)), None)
        cut = next((one for one in rules.get("observe") or () if is_cut(one, matcher)), None)
        if rule:
            where = sorted({source["host"] for source in sources_of(rule, matcher)})
            reason = f"the log of {rule['service']} on {', '.join(where)} was read whole, would show it, and does not"
            step.update(status="missing", reason=reason, host=where[0] if len(where) == 1 else None)
        elif cut and not step["reason"].startswith(SHOWN):
            step["reason"] = f"{PARTLY}{cut['service']} was not read whole, and might show it"


def sources_of(rule, matcher):
    host = matcher.names.get("host")
    sources = [source for source in matcher.sources if source["service"] == rule["service"]]
    if host and rule["service"] in ON_COMPUTE:
        return [source for source in sources if source["host"] == host]
    return sources


def is_cut(rule, matcher):
    """Whether what a rule asks for may be in a part of a log that was not read."""
    return rule["source"] == "log" and not all(source["whole"] for source in sources_of(rule, matcher))


def must_show(rule, matcher, caller_known):
    """Whether a rule would find its evidence if it were there: in a log read whole, at its level, by known names."""
    where, sources = rule.get("where", ""), sources_of(rule, matcher)
    if rule["source"] != "log" or "window" in rule or rule.get("needs") == "asked" or not sources:
        return False
    if ("caller" in where and not caller_known) or set(re.findall(r"\{(\w+)\}", where)) - set(matcher.names):
        return False
    level = matcher.levels.get(rule["service"], "info")
    whole = all(source["whole"] for source in sources)
    return whole and LEVELS.index(rule.get("level", "info")) <= LEVELS.index(level)


def judge(record):
    """The verdict on a diagnosis."""
    about, found = record["diagnosis"], finding(record)
    server = f"server {about['boot']['server']}" if about["boot"]["server"] else f"request {about['boot']['request']}"
    if about["took_s"] is not None and about["boot"]["outcome"] != "failed":
        where = f" on {about['host']}" if about["host"] else ""
        reason = f"By the logs, Nova built the {server}{where} in {about['took_s']:.1f} s."
        return {**verdict("pass", reason), "alternatives": found["alternatives"]}
    last = f" The last step that is seen is {step_words(found['before'])}." if found["before"] else ""
    if not found["reason"]:
        hint = found["next"] or ""
        if not about["boot"]["request"]:
            hint = "Its request is not known: if you know it, give stackproof_request_id instead."
        reason = f"The logs do not tell how the boot of the {server} ended.{last} {hint}".strip()
        return {**verdict("incomplete", reason), "alternatives": found["alternatives"]}
    failed = verdict("fail", f"The boot of the {server} failed: {found['reason']}.{last}")
    return {**failed, **{name: found[name] for name in ("stage", "step", "component", "host", "alternatives")}}


def verdict(result, reason):
    return {
        "result": result,
        "stage": "boot" if result == "fail" else None,
        "step": None,
        "component": None,
        "host": None,
        "reason": reason,
        "alternatives": [],
    }


def finding(record):
    """What is known of the failure, by the first flow: step, component, host, and what stands before and behind."""
    steps = record["flows"][0]["steps"] if record["flows"] else []
    before, behind = behind_the_last(steps)
    missing = [step for step in behind if step["status"] == "missing"]
    errors, owed = record["diagnosis"]["errors"], (missing or [None])[0]
    error = next((one for one in errors if one["severity"] == "error"), (errors or [None])[0])
    # What comes before the first that is missing may be what has failed, where nobody could look.
    open_steps = [step for step in (behind[: behind.index(owed)] if owed else behind) if step["status"] == "unseen"]
    unread = [step for step in open_steps if step["reason"].startswith((UNREAD, PARTLY))]
    known = owed if not unread else None
    # Who says that it waited in vain has not failed itself, if another owes a step; who, may not be known.
    others_owe = any(step["source"] != error["service"] for step in (owed, *open_steps) if step) if error else False
    waited = others_owe and bool(WAITED.search(error["exception"] or ""))
    by_error = error is not None and not waited
    said = [error_words(error)] if error else []
    said += [f"step {step_words(owed)} was owed next, and {owed['reason']}"] if owed else []
    said += [
        f"but before it stands step {step_words(step)}: {step['reason']}" for step in unread[:1] if owed and not error
    ]
    others = [error_words(one) for one in errors if one is not error]
    others += [
        f"step {step_words(step)}: {step['reason']}"
        for step in open_steps
        if step["reason"].startswith((SHOWN, PARTLY))
    ]
    return {
        "stage": "boot",
        "step": known["id"] if known else None,
        "component": error["service"] if by_error else known["source"] if known else None,
        "host": error["host"] if by_error else known["host"] if known else None,
        "reason": "; ".join(said[::-1] if waited else said),
        "before": before,
        "after": [step["id"] for step in missing[1:]],
        "alternatives": others[:MOST],
        "next": f"Step {step_words(open_steps[0])}: {open_steps[0]['reason']}." if open_steps else None,
    }


def step_words(step):
    at = f", at {step['at'][11:23]} UTC" if step["at"] else ""
    return f"{step['id']} ({step['source']} to {step['target']}: {step['message']}{at})"


def error_words(one):
    what = one["exception"] or f"an error in {one['logger'] or 'its program'}"
    times = f", {one['count']} times" if one["count"] > 1 else ""
    return f"{one['service']} on {one['host']} logged {what} at {one['at'][11:23]} UTC{times}"
