# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Render the record of a sweep for readers: terminal, JUnit, a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any
from xml.etree import ElementTree

from .._model import codec
from .._model.sweep import (
    Outlier,
    PreflightCheck,
    PreflightStatus,
    Sweep,
    Target,
    TargetStage,
)
from .._model.words import Result, StageName, StageStatus
from .._record.run import STAGES
from .._record.words import clean, listed
from .._report import text
from .._report.messages.level import left_out_in_words, level_in_words
from .._report.messages.words import plural
from .._report.units import duration, share
from .._runs import frame
from .verdict import alike

PAGE = "sweep.html"
MOST_NAMES = 12
MOST_CHECKS = 20
# In hosts: a wider table is of no use to a reader.
MOST_IN_MATRIX = 40
# How paths may have ended, from the worst to the best
WORST = ("failed", "skipped", "ok")
NUMBERED = re.compile(r"(.*?)(\d+)(\D*)", re.DOTALL)

Case = ElementTree.Element


def ranges(names: Sequence[str]) -> list[str]:
    """Return names in short: those that differ in a number that counts up are one range, as in compute[001-040]."""
    parts = list(map(NUMBERED.fullmatch, names))
    made, start = [], 0
    while start < len(names):
        end = end_of_range(parts, start)
        first, last = parts[start], parts[end]
        if first and last and end > start:
            made.append(f"{first[1]}[{first[2]}-{last[2]}]{first[3]}")
        else:
            made.append(names[start])
        start = end + 1
    return made


def end_of_range(parts: Sequence[re.Match[str] | None], start: int) -> int:
    end = start
    while end + 1 < len(parts) and follows(parts[end], parts[end + 1]):
        end += 1
    return end


def follows(
    earlier: re.Match[str] | None, later: re.Match[str] | None
) -> bool:
    """Return whether a name has the next number."""
    if not earlier or not later:
        return False
    if (earlier[1], earlier[3]) != (later[1], later[3]):
        return False
    same_width = len(earlier[2]) == len(later[2]) or later[2][0] != "0"
    return same_width and int(later[2]) == int(earlier[2]) + 1


def shortened(names: Sequence[str]) -> str:
    return listed(ranges(names), MOST_NAMES)


# The terminal


def summary(sweep: Sweep, directory: str) -> list[str]:
    """Return the lines for the terminal at the end: one for each way in which targets ended, whatever their number."""
    title = f"Sweep {sweep.sweep_id} on {sweep.cloud}{part_of(sweep)}{level_in_words(sweep.level)}"
    lines = ["", title, ""]
    lines.append(
        "  targets  " + "".join(f"{name:<10}" for name in STAGES) + "result"
    )
    for group in alike(sweep.targets):
        lines += group_lines(group)
    if sweep.stages:
        lines.append(
            usual_line(
                "median s",
                {spread.stage: spread.median_s for spread in sweep.stages},
            )
        )
        lines.append(
            usual_line(
                "longest",
                {spread.stage: spread.max_s for spread in sweep.stages},
            )
        )
    lines += [
        "",
        *(
            f"  slow: {outlier.reason}"
            for outlier in sweep.outliers[:MOST_CHECKS]
        ),
    ]
    lines += check_lines(sweep.preflight)
    lines += [f"  left out: {text}" for text in left_out(sweep)]
    lines += [
        f"  excluded: {host.host}: {host.reason}" for host in sweep.excluded
    ]
    lines += [
        f"  {len(sweep.targets)} targets in {text.seconds(sweep.duration_s)} s, at most {sweep.parallel} in parallel",
        "",
        f"  {sweep.verdict.result.upper()}: {sweep.verdict.reason}",
        f"  files: {directory}",
        *text.archive_lines(directory),
        "",
    ]
    return list(map(clean, lines))


def left_out(sweep: Sweep) -> list[str]:
    """Return a line for each part of the level that runs left out, and how many did."""
    parts = Counter(
        chain.from_iterable(target.left_out for target in sweep.targets)
    )
    return [
        f"{left_out_in_words(part)} ({plural(count, 'target')})"
        for part, count in parts.items()
    ]


def group_lines(group: Sequence[Target]) -> list[str]:
    first = group[0]
    statuses = {
        stage.stage.value: stage.status.value for stage in first.stages
    }
    cells = "".join(f"{statuses.get(name, '-'):<10}" for name in STAGES)
    names = shortened([target.name for target in group])
    lines = [f"  {len(group):>7}  {cells}{first.result:<11} {names}"]
    if first.result is not Result.PASS:
        lines.append(f"           {first.reason}")
    return lines


def part_of(sweep: Sweep) -> str:
    """Return which slice a sweep is, or how many sweeps it combines; an empty text for any other."""
    if sweep.combined:
        return f", combined from {len(sweep.combined)} sweeps"
    return (
        f", slice {sweep.slice.number} of {sweep.slice.of}"
        if sweep.slice
        else ""
    )


def usual_line(title: str, seconds: Mapping[StageName, float]) -> str:
    """Return a line with one number of each stage over all targets."""
    cells = {stage.value: f"{value:.1f}" for stage, value in seconds.items()}
    return f"{title:>9}  " + "".join(
        f"{cells.get(name, '-'):<10}" for name in STAGES
    )


def check_lines(checks: Sequence[PreflightCheck]) -> list[str]:
    """Return the preflight checks that did not pass, and how many did."""
    wrong = not_passed(checks)
    lines = [
        f"  preflight: {check.status}: {check.reason}"
        for check in wrong[:MOST_CHECKS]
    ]
    more = len(wrong) - MOST_CHECKS
    if more > 0:
        lines.append(f"  preflight: and {more} more that did not pass")
    return [
        *lines,
        f"  preflight: {len(checks) - len(wrong)} of {len(checks)} checks passed",
    ]


def not_passed(checks: Iterable[PreflightCheck]) -> list[PreflightCheck]:
    return [
        check for check in checks if check.status is not PreflightStatus.OK
    ]


# JUnit


def junit(sweep: Sweep) -> str:
    """Return a case for each stage of each target, one for its run as a whole, and one for each preflight check."""
    cases = []
    for target in sweep.targets:
        cases += target_cases(target)
    cases += [
        in_class(check_case(check), "preflight") for check in sweep.preflight
    ]
    return text.suite_of(
        f"stackproof sweep {sweep.cloud}",
        sweep.started,
        sweep.duration_s,
        cases,
    )


def target_cases(target: Target) -> list[Case]:
    cases = list(map(stage_case, target.stages))
    stage_failed = any(
        stage.status is StageStatus.FAILED for stage in target.stages
    )
    failure = None
    # A failed stage has a case of its own; other failures, such as leftovers, are failures of the run.
    if target.result is not Result.PASS and not stage_failed:
        failure = target.reason
    whole = text.case("run", target.duration_s or 0, failure=failure)
    cases.append(whole)
    return [in_class(case, target.name) for case in cases]


def stage_case(stage: TargetStage) -> Case:
    failure = None
    skipped = None
    if stage.status is StageStatus.FAILED:
        failure = stage.reason
    elif stage.status is StageStatus.SKIPPED:
        skipped = stage.reason or "skipped"
    return text.case(stage.stage.value, stage.seconds or 0, failure, skipped)


def check_case(check: PreflightCheck) -> Case:
    failure = check.reason if check.status is PreflightStatus.FAILED else None
    skipped = (
        check.reason if check.status is PreflightStatus.UNREADABLE else None
    )
    return text.case(check.name, 0, failure, skipped)


def in_class(case: Case, name: str) -> Case:
    case.set("classname", clean(f"stackproof.{name.replace('.', '_')}"))
    return case


# The page


def page(sweep: Sweep, templates: str) -> str:
    """Return the page of a sweep. templates: the folder of the templates."""
    return frame.render(templates, "sweep.html.j2", view(sweep))


def view(sweep: Sweep) -> dict[str, Any]:
    usual = {
        spread.stage.value: codec.to_json(spread) for spread in sweep.stages
    }
    slow = {
        (outlier.target, outlier.stage.value): outlier
        for outlier in sweep.outliers
    }
    longest = max(
        (target.duration_s or 0 for target in sweep.targets), default=0
    )
    verdict = sweep.verdict
    header = frame.header(
        verdict.result, verdict.reason, sweep.started, sweep.duration_s
    )
    header["verdict"]["hosts"] = list(verdict.hosts)
    return {
        **header,
        "sweep_id": sweep.sweep_id + part_of(sweep),
        "cloud": sweep.cloud,
        "level": sweep.level,
        "left_out": left_out(sweep),
        "parallel": sweep.parallel,
        "passed": sum(
            target.result is Result.PASS for target in sweep.targets
        ),
        "stages": [
            {"name": name, "usual": usual.get(name)} for name in STAGES
        ],
        "pairs": pairs_view(sweep.targets),
        "groups": list(map(group_view, alike(sweep.targets))),
        "targets": [
            target_view(target, slow, longest) for target in sweep.targets
        ],
        "outliers": codec.to_json(sweep.outliers),
        "excluded": codec.to_json(sweep.excluded),
        "checks": codec.to_json(sweep.preflight),
        "wrong": codec.to_json(not_passed(sweep.preflight)),
    }


def pairs_view(targets: Sequence[Target]) -> dict[str, Any] | None:
    """Return whether the guests of two hosts found their paths, for each two; None where no two were checked."""
    paired = [target for target in targets if target.second_host is not None]
    ends = chain.from_iterable(
        (target.host, target.second_host) for target in paired
    )
    hosts = list(dict.fromkeys(filter(None, ends)))
    if not hosts:
        return None
    # Each pair is checked in both directions, and may be checked several times: the worst counts.
    found: dict[frozenset[str | None], str] = {}
    for target in sorted(paired, key=lambda one: WORST.index(paths_of(one))):
        pair = frozenset((target.host, target.second_host))
        found.setdefault(pair, paths_of(target))
    rows = []
    if len(hosts) <= MOST_IN_MATRIX:
        rows = [pairs_row(host, hosts, found) for host in hosts]
    failed = list(found.values()).count(StageStatus.FAILED.value)
    return {
        "hosts": hosts,
        "rows": rows,
        "checked": len(found),
        "failed": failed,
        "possible": len(hosts) * (len(hosts) - 1) // 2,
    }


def pairs_row(
    host: str,
    hosts: Sequence[str],
    found: Mapping[frozenset[str | None], str],
) -> dict[str, Any]:
    """Return what was found between a host and each other one."""
    pairs = [frozenset((host, other)) for other in hosts]
    return {"host": host, "cells": list(map(found.get, pairs))}


def paths_of(target: Target) -> str:
    """Return the status of the paths between the guests of a target; skipped where its run did not come so far."""
    statuses = {stage.stage: stage.status for stage in target.stages}
    return statuses.get(StageName.DATAPLANE, StageStatus.SKIPPED).value


def group_view(group: Sequence[Target]) -> dict[str, Any]:
    first = group[0]
    return {
        "count": len(group),
        "result": first.result.value,
        "reason": None if first.result is Result.PASS else first.reason,
        "names": ", ".join(ranges([target.name for target in group])),
    }


def target_view(
    target: Target, slow: Mapping[tuple[str, str], Outlier], longest: float
) -> dict[str, Any]:
    stages = {stage.stage.value: stage for stage in target.stages}
    return {
        "name": target.name,
        "run_id": target.run_id,
        "result": target.result.value,
        "reason": None if target.result is Result.PASS else target.reason,
        "href": f"{target.directory}/{text.PAGE}"
        if target.directory
        else None,
        "duration": duration(target.duration_s),
        "width": share(target.duration_s or 0, longest),
        "cells": [
            cell_view(name, stages.get(name), slow.get((target.name, name)))
            for name in STAGES
        ],
    }


def cell_view(
    name: str, stage: TargetStage | None, slow: Outlier | None
) -> dict[str, Any]:
    view = {
        "stage": name,
        "status": "skipped",
        "seconds": None,
        "reason": None,
        "slow": codec.to_json(slow),
    }
    if stage is None:
        return view
    is_skipped = stage.status is StageStatus.SKIPPED
    seconds = None if is_skipped else duration(stage.seconds)
    return {
        **view,
        "status": stage.status.value,
        "seconds": seconds,
        "reason": stage.reason,
    }
