# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Renders the record of a sweep for readers: terminal, JUnit, a page."""

from __future__ import annotations

import re

from .._record.clock import parse
from .._record.run import STAGES
from .._record.words import listed
from .._report import frame, text
from .._report.frame import scrubbed
from .._report.statuses import RESULTS
from .._report.units import duration, share
from .sweep import alike

PAGE = "sweep.html"
MOST_NAMES = 12
MOST_CHECKS = 20
NUMBERED = re.compile(r"(.*?)(\d+)(\D*)")


def ranges(names):
    """Names in short: those that differ in a number that counts up become one range, as in compute[001-040]."""
    parts = [NUMBERED.fullmatch(name) for name in names]
    made, start = [], 0
    while start < len(names):
        end = start
        while end + 1 < len(names) and follows(parts[end], parts[end + 1]):
            end += 1
        if end > start:
            head, first, tail = parts[start].groups()
            made.append(f"{head}[{first}-{parts[end][2]}]{tail}")
        else:
            made.append(names[start])
        start = end + 1
    return made


def follows(earlier, later):
    """Whether a name has the next number."""
    if not earlier or not later or (earlier[1], earlier[3]) != (later[1], later[3]):
        return False
    same_width = len(earlier[2]) == len(later[2]) or later[2][0] != "0"
    return same_width and int(later[2]) == int(earlier[2]) + 1


def shortened(names):
    return listed(ranges(names), MOST_NAMES)


def status_in(target, name):
    return next((stage["status"] for stage in target["stages"] if stage["stage"] == name), "-")


def summary(record, directory):
    """The lines on the terminal at the end: one for each way in which targets ended, whatever their number."""
    lines = ["", f"Sweep {record['sweep_id']} on {record['cloud']}{part_of(record)}", ""]
    lines.append("  targets  " + "".join(f"{name:<10}" for name in STAGES) + "result")
    for group in alike(record["targets"]):
        cells = "".join(f"{status_in(group[0], name):<10}" for name in STAGES)
        names = shortened([target["name"] for target in group])
        lines.append(f"  {len(group):>7}  {cells}{group[0]['result']:<11} {names}")
        if group[0]["result"] != "pass":
            lines.append(f"           {group[0]['reason']}")
    if record["stages"]:
        lines += [usual_line(record, "median s", "median_s"), usual_line(record, "longest", "max_s")]
    lines += ["", *(f"  slow: {outlier['reason']}" for outlier in record["outliers"][:MOST_CHECKS])]
    lines += check_lines(record["preflight"])
    lines += [f"  left out: {host['host']}: {host['reason']}" for host in record["left_out"]]
    lines += [
        f"  {len(record['targets'])} targets in {text.seconds(record['duration_s'])} s,"
        f" at most {record['at_once']} at once",
        "",
        f"  {record['verdict']['result'].upper()}: {record['verdict']['reason']}",
        f"  files: {directory}",
        "",
    ]
    return [text.clean(line) for line in lines]


def part_of(record):
    """Which slice a sweep is, or of how many sweeps it was merged; an empty text for any other."""
    if record["merged"]:
        return f", merged of {len(record['merged'])}"
    return ", slice {number} of {of}".format(**record["slice"]) if record["slice"] else ""


def usual_line(record, title, key):
    """One number of each stage over all targets."""
    usual = {stage["stage"]: f"{stage[key]:.1f}" for stage in record["stages"]}
    return f"{title:>9}  " + "".join(f"{usual.get(name, '-'):<10}" for name in STAGES)


def check_lines(checks):
    """The checks before the sweep that were not ok, and how many were."""
    wrong = [check for check in checks if check["status"] != "ok"]
    lines = [f"  before: {check['status']}: {check['reason']}" for check in wrong[:MOST_CHECKS]]
    more = len(wrong) - MOST_CHECKS
    if more > 0:
        lines.append(f"  before: and {more} more that were not well")
    return [*lines, f"  before: {len(checks) - len(wrong)} of {len(checks)} checks of the cloud were well"]


def junit(record):
    """A case for each stage of each target, one for its run as a whole, and one for each check before."""
    cases = [case for target in record["targets"] for case in target_cases(target)]
    cases += [in_class(check_case(check), "before") for check in record["preflight"]]
    return text.suite_of(f"stackproof sweep {record['cloud']}", record, cases)


def target_cases(target):
    cases = [stage_case(stage) for stage in target["stages"]]
    stage_failed = any(stage["status"] == "failed" for stage in target["stages"])
    # A failed stage has a case of its own; other failures, such as leftovers, are failures of the run.
    beyond = target["result"] != "pass" and not stage_failed
    cases.append(text.case("run", target["duration_s"] or 0, failure=target["reason"] if beyond else None))
    return [in_class(case, target["name"]) for case in cases]


def stage_case(stage):
    failure = stage["reason"] if stage["status"] == "failed" else None
    skipped = stage["reason"] or "skipped" if stage["status"] == "skipped" else None
    return text.case(stage["stage"], stage["seconds"] or 0, failure, skipped)


def check_case(check):
    failure = check["reason"] if check["status"] == "failed" else None
    skipped = check["reason"] if check["status"] == "unreadable" else None
    return text.case(check["name"], 0, failure, skipped)


def in_class(case, name):
    case.set("classname", text.clean(f"stackproof.{name.replace('.', '_')}"))
    return case


def page(record, template):
    return frame.render(template, view(scrubbed(record)))


def view(record):
    usual = {stage["stage"]: stage for stage in record["stages"]}
    slow = {(outlier["target"], outlier["stage"]): outlier for outlier in record["outliers"]}
    longest = max((target["duration_s"] or 0 for target in record["targets"]), default=0)
    wrong = [check for check in record["preflight"] if check["status"] != "ok"]
    return {
        "sweep_id": record["sweep_id"] + part_of(record),
        "cloud": record["cloud"],
        "verdict": {**record["verdict"], "word": RESULTS[record["verdict"]["result"]]},
        "started": f"{parse(record['started']):%Y-%m-%d %H:%M:%S} UTC",
        "duration": duration(record["duration_s"]) or "not finished",
        "at_once": record["at_once"],
        "passed": sum(target["result"] == "pass" for target in record["targets"]),
        "stages": [{"name": name, "usual": usual.get(name)} for name in STAGES],
        "groups": [group_view(group) for group in alike(record["targets"])],
        "targets": [target_view(target, slow, longest) for target in record["targets"]],
        "outliers": record["outliers"],
        "left_out": record["left_out"],
        "checks": record["preflight"],
        "wrong": wrong,
    }


def group_view(group):
    return {
        "count": len(group),
        "result": group[0]["result"],
        "reason": None if group[0]["result"] == "pass" else group[0]["reason"],
        "names": ", ".join(ranges([target["name"] for target in group])),
    }


def target_view(target, slow, longest):
    stages = {stage["stage"]: stage for stage in target["stages"]}
    return {
        "name": target["name"],
        "run_id": target["run_id"],
        "result": target["result"],
        "reason": None if target["result"] == "pass" else target["reason"],
        "href": f"{target['directory']}/{text.PAGE}" if target["directory"] else None,
        "duration": duration(target["duration_s"]),
        "width": share(target["duration_s"] or 0, longest),
        "cells": [cell_view(name, stages.get(name), slow.get((target["name"], name))) for name in STAGES],
    }


def cell_view(name, stage, slow):
    if stage is None:
        return {"stage": name, "status": "skipped", "seconds": None, "reason": None, "slow": slow}
    seconds = None if stage["status"] == "skipped" else duration(stage["seconds"])
    return {
        "stage": name,
        "status": stage["status"],
        "seconds": seconds,
        "reason": stage["reason"],
        "slow": slow,
    }
