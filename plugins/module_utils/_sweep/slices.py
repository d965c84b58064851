# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A sweep in slices, each a sweep of its own elsewhere, and the merge of such sweeps into one. Pure."""

from __future__ import annotations

import os
import re

from .._record.clock import seconds_between
from .._record.errors import StageError
from . import sweep

SLICE = re.compile(r"([1-9]\d{0,3})/([1-9]\d{0,3})")
MOST_SLICES = 9999
# The worst answer counts where two sweeps have made the same check.
WORST_FIRST = ("failed", "unreadable", "ok")


def slice_of(text):
    """Number and count of a slice such as 3/10."""
    matched = SLICE.fullmatch(text)
    number, count = (int(part) for part in matched.groups()) if matched else (0, 0)
    if not 1 <= number <= count:
        raise StageError("invalid", f"{text!r} is not a slice: the number of one and how many there are, such as 3/10")
    return number, count


def id_of(sweep_id, part):
    """The id of a slice: so slices that were given one id may lie in one folder."""
    return "{}-{}of{}".format(sweep_id, *part) if part else sweep_id


def sliced(targets, part):
    """Every so many-th of the targets. All slices together have each target once."""
    number, count = part
    return targets[number - 1 :: count]


def slice_record(part, targets):
    """What a sweep says of its slice; targets are those of all slices."""
    return {"number": part[0], "of": part[1], "targets": len(targets)} if part else None


def merge(sweeps, sweep_id, directory, times, least):
    """One record of several: pairs of a sweep's directory and its record, whose targets have their outcomes."""
    records = [record for _where, record in sweeps]
    check_apart(sweeps)
    targets = [moved(target, where, directory) for where, record in sweeps for target in record["targets"]]
    # Slices have every so many-th host. In the order of their names the hosts become ranges again.
    targets.sort(key=lambda target: in_order(target["name"]))
    usual = sweep.medians(targets)
    slow = sweep.outliers(targets, usual, times, least)
    started = min(record["started"] for record in records)
    finished = max(record["finished"] or record["started"] for record in records)
    preflight = worst_of([check for record in records for check in record["preflight"]])
    return {
        **sweep.new_record(sweep_id, ", ".join(dict.fromkeys(record["cloud"] for record in records)), []),
        "started": started,
        "finished": finished,
        "duration_s": round(seconds_between(started, finished), 6),
        "at_once": sum(record["at_once"] or 0 for record in records),
        "verdict": sweep.judge(targets, preflight, slow, missing=missing(records)),
        "preflight": preflight,
        "left_out": unique([host for record in records for host in record["left_out"]]),
        "targets": targets,
        "stages": usual,
        "outliers": slow,
        "merged": [
            {"sweep_id": part["sweep_id"], "slice": part["slice"]} for record in records for part in parts_of(record)
        ],
    }


def in_order(name):
    """A key by which compute9 comes before compute10."""
    parts = re.split(r"([0-9]+)", name)
    return [*zip(parts[::2], map(int, parts[1::2])), (parts[-1],)]


def check_apart(sweeps):
    """Refuse sweeps of which two have provisioned on the same target."""
    seen = {}
    for where, record in sweeps:
        for target in record["targets"]:
            earlier = seen.setdefault(target["name"], where)
            if earlier != where:
                message = f"{target['name']} is a target of both {earlier} and {where}"
                hint = "Name only the directories of the sweeps that belong together."
                raise StageError("conflict", message, resource=target["name"], hint=hint)


def moved(target, where, directory):
    """A target whose run is found from another directory."""
    if target["directory"] is None:
        return target
    return {**target, "directory": os.path.relpath(os.path.join(where, target["directory"]), directory)}


def worst_of(checks):
    """Each check once, with the worst of its answers."""
    by_name = {}
    for check in checks:
        kept = by_name.get(check["name"], check)
        by_name[check["name"]] = min(kept, check, key=lambda check: WORST_FIRST.index(check["status"]))
    return list(by_name.values())


def unique(hosts):
    return list({host["host"]: host for host in hosts}.values())


def parts_of(record):
    """The sweeps of which a record tells: those that it was merged of, or itself."""
    return record["merged"] or [record]


def missing(records):
    """The slices that are not among the records, as texts such as 4/10."""
    slices = [part["slice"] for record in records for part in parts_of(record) if part["slice"]]
    there = {(part["number"], part["of"]) for part in slices}
    counts = sorted({count for _number, count in there})
    return [f"{number}/{count}" for count in counts for number in range(1, count + 1) if (number, count) not in there]
