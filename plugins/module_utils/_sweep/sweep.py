# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A sweep: many runs of one kind, on every compute host or with every value of something, judged as one whole."""

from __future__ import annotations

import itertools
import os
import re
import statistics

from .._record.clock import now, seconds_between
from .._record.errors import StageError
from .._record.run import RUN_ID, STAGES

SCHEMA = "stackproof.sweep/1"
# What may be varied besides the host, in the order in which it is said
DIMENSIONS = ("network", "volume_type", "zone")
LONGEST_RUN_ID = 40
# So much of a run's id is left to tell the target
LEAST_ROOM = 8
MOST_SAID = 3
# What differs between two failures of one kind: ids, and the names of what a run makes
OWN = re.compile(r"(req-)?[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}|stackproof-[a-z0-9-]+")


# What is to be done


def check_values(values):
    unknown = sorted(set(values) - set(DIMENSIONS))
    if unknown:
        message = f"a sweep knows {', '.join(DIMENSIONS)} besides the hosts, not {', '.join(unknown)}"
        raise StageError("invalid", message)
    for name, chosen in values.items():
        if not isinstance(chosen, list) or not all(isinstance(one, str) and one for one in chosen):
            raise StageError("invalid", f"what a sweep is to take as {name} is no list of names: {chosen!r}")


def targets_of(hosts, values, sweep_id):
    """Every host with every combination of the given values, each with a name and the id of its own run."""
    check_values(values)
    if not RUN_ID.fullmatch(sweep_id) or len(sweep_id) > LONGEST_RUN_ID - 1 - LEAST_ROOM:
        most = LONGEST_RUN_ID - 1 - LEAST_ROOM
        raise StageError("invalid", f"{sweep_id!r} is no sweep id: 3 to {most} small letters, digits and hyphens")
    given = [(name, list(dict.fromkeys(values[name]))) for name in DIMENSIONS if values.get(name)]
    choices = [list(dict.fromkeys(hosts)) or [None], *(chosen for _name, chosen in given)]
    if not hosts and not given:
        return []
    combinations = list(itertools.product(*choices))
    names = [name for name, _chosen in given]
    targets = [
        {"host": host, **dict.fromkeys(DIMENSIONS), **dict(zip(names, chosen))} for host, *chosen in combinations
    ]
    keys = keys_of([short_name(target) for target in targets], LONGEST_RUN_ID - 1 - len(sweep_id))
    return [
        {"name": name_of(target), "key": key, "run_id": f"{sweep_id}-{key}", **target}
        for target, key in zip(targets, keys)
    ]


def name_of(target):
    """What a reader is told: the host, and the values if there are any."""
    said = [f"{name.replace('_', ' ')} {target[name]}" for name in DIMENSIONS if target[name]]
    return ", ".join(([target["host"]] if target["host"] else []) + said)


def short_name(target):
    """The same in short, for the name of a run: a host without its domain."""
    host = (target["host"] or "").partition(".")[0]
    return "-".join(part for part in (host, *(target[name] for name in DIMENSIONS)) if part)


def keys_of(names, room):
    """A key for each name, of no more characters than there is room for; no two are the same."""
    keys = []
    for number, name in enumerate(names, start=1):
        whole = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "target"
        tails = itertools.chain([""] if len(whole) <= room else [], (f"-{count}" for count in itertools.count(number)))
        possible = (whole[: room - len(tail)].rstrip("-") + tail for tail in tails)
        keys.append(next(key for key in possible if key not in keys))
    return keys


def new_record(sweep_id, cloud, targets, preflight=(), left_out=(), at_once=None):
    return {
        "schema": SCHEMA,
        "sweep_id": sweep_id,
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


# What came of it


def outcome(record, directory):
    """What the whole needs of a target's run."""
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


def medians(targets):
    """Per stage: on how many targets it worked, and the median of their seconds."""
    found = []
    for name in STAGES:
        seconds = [
            stage["seconds"]
            for target in targets
            for stage in target["stages"]
            if (stage["stage"], stage["status"]) == (name, "ok")
        ]
        if seconds:
            median = round(statistics.median(seconds), 3)
            found.append({"stage": name, "targets": len(seconds), "median_s": median, "max_s": round(max(seconds), 3)})
    return found


def outliers(targets, usual, times, least):
    """Stages that worked, but took more than so many times the median over all targets, and so many seconds more."""
    median = {one["stage"]: one["median_s"] for one in usual}
    found = []
    for target in targets:
        for stage in target["stages"]:
            if stage["status"] != "ok" or stage["seconds"] - median[stage["stage"]] < least:
                continue
            ratio = stage["seconds"] / (median[stage["stage"]] or 0.001)
            if ratio > times:
                found.append(outlier(target, stage, median[stage["stage"]], round(ratio, 1)))
    return sorted(found, key=lambda one: -one["times"])


def outlier(target, stage, median, times):
    what = f"{target['name']}: {stage['stage']} took {stage['seconds']:.1f} s"
    return {
        "target": target["name"],
        "stage": stage["stage"],
        "seconds": stage["seconds"],
        "median_s": median,
        "times": times,
        "reason": f"{what}, {times} times the median of {median:.1f} s",
    }


def alike(targets):
    """Targets in groups of those that ended in the same way: by their stages, and by what went wrong."""
    groups = {}
    for target in targets:
        statuses = tuple((stage["stage"], stage["status"]) for stage in target["stages"])
        wrong = None if target["result"] == "pass" else without_own(target)
        groups.setdefault((target["result"], statuses, wrong), []).append(target)
    return sorted(groups.values(), key=lambda group: (group[0]["result"] != "pass", -len(group)))


def without_own(target):
    """Why a target did not pass, without what names only this one."""
    text = OWN.sub("*", target["reason"])
    return re.sub(r"[\d.]+ s\b", "* s", text.replace(target["host"], "*") if target["host"] else text)


def judge(targets, preflight, slow=()):
    """The verdict on the whole, in a few sentences."""
    bad = [check for check in preflight if check["status"] == "failed"]
    unread = [check for check in preflight if check["status"] == "unreadable"]
    wrong = [target for target in targets if target["result"] != "pass"]
    said = [*about_targets(targets, wrong)]
    if bad:
        said.append(f"Before the sweep: {listed([check['reason'] for check in bad])}.")
    if unread:
        said.append(f"Not known: {listed([check['reason'] for check in unread])}.")
    if slow:
        said.append(f"Slow: {listed([one['reason'] for one in slow])}.")
    failed = bad or not targets or any(target["result"] == "fail" for target in wrong)
    hosts = [target["host"] or target["name"] for target in wrong] + [check["host"] for check in bad if check["host"]]
    return {
        "result": "fail" if failed else "incomplete" if wrong else "pass",
        "reason": " ".join(said),
        "hosts": list(dict.fromkeys(hosts)),
    }


def about_targets(targets, wrong):
    if not targets:
        return ["There was no host to provision on."]
    if not wrong:
        return [
            f"All {len(targets)} targets passed." if len(targets) > 1 else f"The target {targets[0]['name']} passed."
        ]
    groups = alike(wrong)
    reasons = [f"{listed([one['name'] for one in group])}: {group[0]['reason'].rstrip('.')}" for group in groups]
    return [f"{len(wrong)} of {len(targets)} targets did not pass.", listed(reasons, "; ") + "."]


def listed(texts, between=", "):
    """The first few of some texts, and how many more there are."""
    more = len(texts) - MOST_SAID
    return between.join(texts[:MOST_SAID]) + (f"{between}and {more} more" if more > 0 else "")


def finish(record, outcomes, times, least):
    """End the record of a sweep; outcomes has what came of each target, by its key."""
    targets = [{**target, **outcomes[target["key"]]} for target in record["targets"]]
    usual = medians(targets)
    slow = outliers(targets, usual, times, least)
    record.update(targets=targets, stages=usual, outliers=slow, finished=now())
    record["duration_s"] = round(seconds_between(record["started"], record["finished"]), 6)
    record["verdict"] = judge(targets, record["preflight"], slow)
    return record


def directory_of(runs, sweep_id):
    return os.path.join(os.path.abspath(runs), f"sweep-{sweep_id}")
