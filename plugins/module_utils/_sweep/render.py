# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Renders the record of a sweep for readers: terminal, JUnit, a page."""

from __future__ import annotations

import re

from .._record.clock import parse
from .._record.run import STAGES
from .._report import text
from .._report.page import RESULTS, duration, scrubbed, share, template
from .sweep import alike

PAGE = "sweep.html"
MOST_NAMES = 12
MOST_CHECKS = 20
NUMBERED = re.compile(r"(.*?)(\d+)(\D*)")


def ranges(names):
    """Names in short: those that differ in one number that counts up become one, as in compute[001-040]."""
    parts, said, at = [NUMBERED.fullmatch(name) for name in names], [], 0
    while at < len(names):
        end = at
        while end + 1 < len(names) and follows(parts[end], parts[end + 1]):
            end += 1
        if end > at:
            head, _first, tail = parts[at].groups()
            said.append(f"{head}[{parts[at][2]}-{parts[end][2]}]{tail}")
        else:
            said.append(names[at])
        at = end + 1
    return said


def follows(one, other):
    """Whether a name is that of the next number."""
    if not one or not other or (one[1], one[3]) != (other[1], other[3]):
        return False
    return int(other[2]) == int(one[2]) + 1 and (len(one[2]) == len(other[2]) or other[2][0] != "0")


def shortened(names):
    said = ranges(names)
    more = len(said) - MOST_NAMES
    return ", ".join(said[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def status_in(target, name):
    return next((stage["status"] for stage in target["stages"] if stage["stage"] == name), "-")


def summary(record, directory):
    """What the terminal says at the end: a line for each way in which targets ended, whatever their number."""
    lines = ["", f"Sweep {record['sweep_id']} on {record['cloud']}", ""]
    lines.append("  targets  " + "".join(f"{name:<10}" for name in STAGES) + "result")
    for group in alike(record["targets"]):
        cells = "".join(f"{status_in(group[0], name):<10}" for name in STAGES)
        lines.append(f"  {len(group):>7}  {cells}{group[0]['result']:<11} {shortened([one['name'] for one in group])}")
        lines += [f"           {group[0]['reason']}"] if group[0]["result"] != "pass" else []
    usual = {one["stage"]: one for one in record["stages"]}
    for word, number in (("median s", "median_s"), ("longest", "max_s")) if usual else ():
        cells = (f"{usual[name][number]:.1f}" if name in usual else "-" for name in STAGES)
        lines.append(f"{word:>9}  " + "".join(f"{cell:<10}" for cell in cells))
    lines += ["", *(f"  slow: {one['reason']}" for one in record["outliers"][:MOST_CHECKS])]
    lines += check_lines(record["preflight"])
    lines += [f"  left out: {one['host']}: {one['reason']}" for one in record["left_out"]]
    lines += [
        f"  {len(record['targets'])} targets in {text.seconds(record['duration_s'])} s,"
        f" at most {record['at_once']} at once",
        "",
        f"  {record['verdict']['result'].upper()}: {record['verdict']['reason']}",
        f"  files: {directory}",
        "",
    ]
    return [text.clean(line) for line in lines]


def check_lines(checks):
    """What was not well before the sweep."""
    wrong = [check for check in checks if check["status"] != "ok"]
    lines = [f"  before: {check['status']}: {check['reason']}" for check in wrong[:MOST_CHECKS]]
    more = len(wrong) - MOST_CHECKS
    lines += [f"  before: and {more} more that were not well"] if more > 0 else []
    return lines + [f"  before: {len(checks) - len(wrong)} of {len(checks)} checks of the cloud were well"]


def junit(record):
    """A case for each target and stage, one for the run of each as a whole, and one for each check before."""
    cases = [one for target in record["targets"] for one in target_cases(target)]
    cases += [in_class(check_case(check), "before") for check in record["preflight"]]
    return text.suite_of(f"stackproof sweep {record['cloud']}", record, cases)


def target_cases(target):
    cases = [stage_case(stage) for stage in target["stages"]]
    stage_failed = any(stage["status"] == "failed" for stage in target["stages"])
    # A stage that failed says so itself; what else is wrong, hosts that disagree or a thing left, is said of the run.
    beyond = target["result"] != "pass" and not stage_failed
    cases.append(text.case("run", target["duration_s"] or 0, failure=target["reason"] if beyond else None))
    return [in_class(one, target["name"]) for one in cases]


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


def page(record, template_text, report_template_text):
    """The page of a sweep: it looks as that of a run does, as it takes its style."""
    style = re.search(r"<style>(.*?)</style>", report_template_text, re.DOTALL)[1]
    style = template(style).render(flow=None)
    return template(template_text).render(view(scrubbed(record)), style=style) + "\n"


def view(record):
    usual = {one["stage"]: one for one in record["stages"]}
    slow = {(one["target"], one["stage"]): one for one in record["outliers"]}
    longest = max((target["duration_s"] or 0 for target in record["targets"]), default=0)
    wrong = [check for check in record["preflight"] if check["status"] != "ok"]
    return {
        "sweep_id": record["sweep_id"],
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
        "names": ", ".join(ranges([one["name"] for one in group])),
    }


def target_view(target, slow, longest):
    cells = []
    for name in STAGES:
        stage = next((one for one in target["stages"] if one["stage"] == name), None)
        cells.append(
            {
                "stage": name,
                "status": stage["status"] if stage else "skipped",
                "seconds": duration(stage["seconds"]) if stage and stage["status"] != "skipped" else None,
                "reason": stage["reason"] if stage else None,
                "slow": slow.get((target["name"], name)),
            }
        )
    return {
        "name": target["name"],
        "run_id": target["run_id"],
        "result": target["result"],
        "reason": None if target["result"] == "pass" else target["reason"],
        "href": f"{target['directory']}/{text.PAGE}" if target["directory"] else None,
        "duration": duration(target["duration_s"]),
        "width": share(target["duration_s"] or 0, longest),
        "cells": cells,
    }
