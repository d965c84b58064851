# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of a load on the terminal."""

from __future__ import annotations

from .._report.text import clean, seconds
from . import page

SLOWEST = 5


def summary(record, directory):
    lines = ["", f"Load {record['load_id']} on {record['cloud']}: {page.in_words(record['plan'])}", ""]
    lines.append("  at once  passed      a minute    p50 s     p95 s     p99 s     queue s   work s    polling s")
    lines += [level_line(level) for level in record["levels"]]
    highest = [timed_line(step, f"step {step['step']} {step['message'] or ''}") for step in record["steps"][:SLOWEST]]
    if highest:
        lines += ["", "  slowest steps at the highest level, p50, p95, p99 s, growth:", *highest]
    for cause in record["causes"]:
        lines.append(f"  {len(cause['runs'])} failed: {cause['cause']}")
    cost = record["overhead"]
    if cost and cost["processor_s_per_instance"] is not None:
        each = f"{cost['processor_s_per_instance']:g} s of processor for each instance"
        lines += ["", f"  this machine: {each}, {cost['memory_mb']:g} MB of memory"]
    lines += [
        f"  {seconds(record['duration_s'])} s",
        "",
        f"  {record['verdict']['result'].upper()}: {record['verdict']['reason']}",
        f"  files: {directory}",
        "",
    ]
    return [clean(line) for line in lines]


def level_line(level):
    spread, kinds = level["provisioned"] or {}, level["kinds"] or {}
    cells = [
        f"{level['passed']} of {level['runs']}".ljust(12),
        cell(level["per_minute"]).ljust(12),
        *(cell(spread.get(name)).ljust(10) for name in ("p50_s", "p95_s", "p99_s")),
        *(cell(kinds.get(name)).ljust(10) for name in ("queue", "work", "polling")),
    ]
    return f"  {level['at_once']:>7}  {''.join(cells)}".rstrip()


def cell(number):
    return "-" if number is None else f"{number:.1f}"


def timed_line(timed, name):
    spread = next(spread for spread in reversed(timed["levels"]) if spread)
    numbers = "  ".join(f"{spread[key]:>6.1f}" for key in ("p50_s", "p95_s", "p99_s"))
    growth = f"  {timed['growth']:g} times" if timed["growth"] else ""
    return f"    {numbers}{growth}  {name[:70]}"
