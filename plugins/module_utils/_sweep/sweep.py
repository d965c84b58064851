# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A sweep: many runs of one kind, on every compute host or with every value of an option, judged as one whole."""

from __future__ import annotations

import itertools
import os
import re
import statistics
from typing import Any

from .._record.clock import now, seconds_between
from .._record.errors import StageError
from .._record.run import RUN_ID, STAGES
from .._record.words import listed

SCHEMA = "stackproof.sweep/1"
# Options that may be varied besides the host, in the order in which a name has them
DIMENSIONS = ("network", "volume_type", "zone")
LONGEST_RUN_ID = 40
# At least so many characters of a run's id are left for the target.
LEAST_ROOM = 8
MOST_LISTED = 3
# Ids, and names of resources that a run makes, differ between two failures of one kind.
OWN = re.compile(r"(req-)?[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}|stackproof-[a-z0-9-]+")


# Before the runs


def check_values(values):
    unknown = sorted(set(values) - set(DIMENSIONS))
    if unknown:
        message = f"a sweep knows {', '.join(DIMENSIONS)} besides the hosts, not {', '.join(unknown)}"
        raise StageError("invalid", message)
    for option, names in values.items():
        if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
            raise StageError("invalid", f"the values of {option} for the sweep are not a list of names: {names!r}")


def check_id(sweep_id):
    most = LONGEST_RUN_ID - 1 - LEAST_ROOM
    if not RUN_ID.fullmatch(sweep_id) or len(sweep_id) > most:
        raise StageError("invalid", f"{sweep_id!r} is not a sweep id: 3 to {most} small letters, digits and hyphens")


def targets_of(hosts, values, sweep_id):
    """Every host with every combination of the given values, each with a name and the id of its own run."""
    check_values(values)
    check_id(sweep_id)
    varied = {name: dict.fromkeys(values[name]) for name in DIMENSIONS if values.get(name)}
    if not hosts and not varied:
        return []
    targets = [
        {"host": host, **dict.fromkeys(DIMENSIONS), **dict(zip(varied, combination))}
        for host, *combination in itertools.product(dict.fromkeys(hosts) or [None], *varied.values())
    ]
    keys = keys_of([short_name(target) for target in targets], LONGEST_RUN_ID - 1 - len(sweep_id))
    return [
        {"name": name_of(target), "key": key, "run_id": f"{sweep_id}-{key}", **target}
        for target, key in zip(targets, keys)
    ]


def name_of(target):
    """The name for a reader: the host, and the values if there are any."""
    host = [target["host"]] if target["host"] else []
    values = [f"{name.replace('_', ' ')} {target[name]}" for name in DIMENSIONS if target[name]]
    return ", ".join([*host, *values])


def short_name(target):
    """The same in short, for the name of a run: a host without its domain."""
    host = (target["host"] or "").partition(".")[0]
    return "-".join(part for part in (host, *(target[name] for name in DIMENSIONS)) if part)


def keys_of(names, room):
    """A key for each name, not longer than there is room for; no two are the same."""
    keys = []
    for number, name in enumerate(names, start=1):
        key = whole = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "target"
        tails = (f"-{count}" for count in itertools.count(number))
        while len(key) > room or key in keys:
            tail = next(tails)
            key = whole[: room - len(tail)].rstrip("-") + tail
        keys.append(key)
    return keys


def new_record(sweep_id, cloud, targets, preflight=(), left_out=(), at_once=None, part=None):
    """The record of a sweep that begins. part: which slice of a larger one it is."""
    return {
        "schema": SCHEMA,
        "sweep_id": sweep_id,
        "slice": part,
        "merged": [],
        "cloud": cloud,
        "started": now(),
        "finished": None,
        "duration_s": None,
        "at_once": at_once,
        "verdict": {"result": "incomplete", "reason": "The sweep has not finished.", "hosts": []},
        "preflight": list(preflight),
        "left_out": list(left_out),
        "targets": [{**target, **unknown_outcome("The run was not begun.")} for target in targets],
        "stages": [],
        "outliers": [],
    }


def unknown_outcome(reason):
    return {
        "result": "incomplete",
        "reason": reason,
        "stage": None,
        "directory": None,
        "duration_s": None,
        "stages": [],
    }


# After the runs


def outcome(record, directory):
    """The part of a run's record that the sweep needs of its target."""
    verdict = record["verdict"]
    return {
        "result": verdict["result"],
        "reason": verdict["reason"],
        "stage": verdict["stage"],
        "directory": directory,
        "duration_s": record["duration_s"],
        "stages": [
            {
                "stage": stage["stage"],
                "status": stage["status"],
                "seconds": stage["duration_s"],
                "reason": stage["error"]["message"] if stage["error"] else stage["details"].get("reason"),
            }
            for stage in record["stages"]
        ],
    }


def has_time(stage: dict[str, Any]) -> bool:
    """Whether a stage worked, and its record says how long it took: one of an early release may not."""
    return stage["status"] == "ok" and stage["seconds"] is not None


def medians(targets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return for each stage on how many targets it worked, and the median of their seconds."""
    usual = []
    stages = [stage for target in targets for stage in target["stages"] if has_time(stage)]
    for name in STAGES:
        seconds = [stage["seconds"] for stage in stages if stage["stage"] == name]
        if seconds:
            median = round(statistics.median(seconds), 3)
            usual.append({"stage": name, "targets": len(seconds), "median_s": median, "max_s": round(max(seconds), 3)})
    return usual


def outliers(targets, usual, times, least):
    """Stages that worked, but took more than so many times the median over all targets, and so many seconds more."""
    medians_of = {stage["stage"]: stage["median_s"] for stage in usual}
    slow = []
    for target in targets:
        for stage in target["stages"]:
            if not has_time(stage):
                continue
            median = medians_of[stage["stage"]]
            ratio = stage["seconds"] / (median or 0.001)
            if ratio > times and stage["seconds"] - median >= least:
                slow.append(outlier(target, stage, median, round(ratio, 1)))
    return sorted(slow, key=lambda outlier: -outlier["times"])


def outlier(target, stage, median, times):
    took = f"{target['name']}: {stage['stage']} took {stage['seconds']:.1f} s"
    return {
        "target": target["name"],
        "stage": stage["stage"],
        "seconds": stage["seconds"],
        "median_s": median,
        "times": times,
        "reason": f"{took}, {times} times the median of {median:.1f} s",
    }


def alike(targets):
    """Targets in groups that ended in the same way: by their stages, and by the reason of a failure."""
    groups = {}
    for target in targets:
        statuses = tuple((stage["stage"], stage["status"]) for stage in target["stages"])
        wrong = None if target["result"] == "pass" else without_own(target)
        groups.setdefault((target["result"], statuses, wrong), []).append(target)
    return sorted(groups.values(), key=lambda group: (group[0]["result"] != "pass", -len(group)))


def without_own(target):
    """Why a target did not pass, without ids, names and seconds that only it has."""
    text = OWN.sub("*", target["reason"])
    return re.sub(r"[\d.]+ s\b", "* s", text.replace(target["host"], "*") if target["host"] else text)


def judge(targets, preflight, slow=(), part=None, missing=()):
    """The verdict on the whole, in a few sentences. part: the slice that the targets are; missing: other slices."""
    bad = [check for check in preflight if check["status"] == "failed"]
    unread = [check for check in preflight if check["status"] == "unreadable"]
    wrong = [target for target in targets if target["result"] != "pass"]
    # A slice of fewer targets than there are slices is none the worse for being empty.
    is_empty_slice = bool(part and part["targets"] and not targets)
    sentences = ["No target is left for this slice."] if is_empty_slice else about_targets(targets, wrong)
    if missing:
        sentences.append(f"Slices that are missing: {listed(missing, MOST_LISTED)}.")
    if bad:
        sentences.append(f"Before the sweep: {listed([check['reason'] for check in bad], MOST_LISTED)}.")
    if unread:
        sentences.append(f"Not known: {listed([check['reason'] for check in unread], MOST_LISTED)}.")
    if slow:
        sentences.append(f"Slow: {listed([outlier['reason'] for outlier in slow], MOST_LISTED)}.")
    result = "incomplete" if wrong or missing else "pass"
    if bad or not (targets or is_empty_slice) or any(target["result"] == "fail" for target in wrong):
        result = "fail"
    hosts = [
        *(target["host"] or target["name"] for target in wrong),
        *(check["host"] for check in bad if check["host"]),
    ]
    return {"result": result, "reason": " ".join(sentences), "hosts": list(dict.fromkeys(hosts))}


def about_targets(targets, wrong):
    if not targets:
        return ["There was no host to provision on."]
    if not wrong and len(targets) == 1:
        return [f"The target {targets[0]['name']} passed."]
    if not wrong:
        return [f"All {len(targets)} targets passed."]
    groups = alike(wrong)
    reasons = [f"{names_of(group)}: {group[0]['reason'].rstrip('.')}" for group in groups]
    return [f"{len(wrong)} of {len(targets)} targets did not pass.", listed(reasons, MOST_LISTED, "; ") + "."]


def names_of(targets):
    return listed([target["name"] for target in targets], MOST_LISTED)


def finish(record, outcomes, times, least):
    """End the record of a sweep; outcomes are those of the targets, by their keys."""
    targets = [{**target, **outcomes[target["key"]]} for target in record["targets"]]
    usual = medians(targets)
    slow = outliers(targets, usual, times, least)
    record.update(targets=targets, stages=usual, outliers=slow, finished=now())
    record["duration_s"] = round(seconds_between(record["started"], record["finished"]), 6)
    record["verdict"] = judge(targets, record["preflight"], slow, record["slice"])
    return record


def directory_of(runs, sweep_id):
    return os.path.join(os.path.abspath(runs), f"sweep-{sweep_id}")
