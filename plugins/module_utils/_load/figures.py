# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The figures of a load, out of what each of its runs says: by stage and by step, level after level. Pure."""

from __future__ import annotations

import statistics
from itertools import pairwise

from .._history.trend import rounded
from .._record.clock import seconds_between, seconds_of
from .._record.numbers import percentile
from .._record.run import STAGES, is_finite
from . import path

TIMED = (*STAGES, "removal")
# A level brings more only if it makes so many times the instances of the level before.
MORE = 1.1
# A component has no room left if it takes so many times as long, and so many seconds more, than at the lowest level.
TIMES, SECONDS = 1.5, 0.5


def spread(seconds):
    """The middle and the ends of some seconds; None if there are none."""
    ordered = sorted(second for second in seconds if is_finite(second))
    if not ordered:
        return None
    ends = {f"p{share}_s": rounded(percentile(ordered, share / 100)) for share in (95, 99)}
    return {"runs": len(ordered), "p50_s": rounded(statistics.median(ordered)), **ends}


def growth(spreads):
    """How many times as long the middle is at the highest level as at the lowest; None without two levels."""
    there = [spread["p50_s"] for spread in spreads if spread]
    return round(there[-1] / there[0], 2) if len(there) > 1 and there[0] else None


def in_levels(runs):
    """Level to its runs that were begun, the lowest first."""
    levels = {}
    for run in sorted(runs, key=lambda run: run["at_once"]):
        if run["started"]:
            levels.setdefault(run["at_once"], []).append(run)
    return levels


def level_of(at_once, runs):
    """What is said of the runs of one level as a whole."""
    passed = [run for run in runs if run["result"] == "pass"]
    begun = min(run["started"] for run in runs)
    took = max(seconds_of(run["removed"] or run["started"]) for run in runs) - seconds_of(begun)
    kinds = [run["kinds"] for run in passed if run["kinds"]]
    components = [run["components"] for run in passed if run["components"]]
    return {
        "at_once": at_once,
        "runs": len(runs),
        "passed": len(passed),
        "seconds": rounded(took),
        "per_minute": round(60 * len(passed) / took, 2) if took > 0 else None,
        "provisioned": spread([run["provisioned_s"] for run in passed]),
        "known_late": spread([run["known_late_s"] for run in runs]),
        "kinds": means(kinds, path.KINDS) if kinds else None,
        "components": means(components, sorted(set().union(*components))),
    }


def means(rows, names):
    """The mean of each name over all rows; a row without the name counts as 0."""
    return {name: rounded(statistics.fmean(row.get(name, 0) for row in rows)) for name in names}


def timed(levels, kind, name):
    """The seconds of a stage or a step at each level, of runs that passed, and how they grow."""
    spreads = [spread([run[kind].get(name) for run in runs if run["result"] == "pass"]) for runs in levels.values()]
    return {"levels": spreads, "growth": growth(spreads)}


def stages_of(levels):
    named = [{"stage": name, **timed(levels, "stages", name)} for name in TIMED]
    return [stage for stage in named if any(stage["levels"])]


def steps_of(levels, labels):
    """Each step of the flows, the slowest at the highest level first."""
    names = sorted({name for runs in levels.values() for run in runs for name in run["steps"]})
    steps = []
    for name in names:
        flow, _space, step = name.partition(" ")
        about = labels.get((flow, step), {"message": None, "component": None})
        steps.append({"flow": flow, "step": step, **about, **timed(levels, "steps", name)})
    return sorted((step for step in steps if any(step["levels"])), key=slowest, reverse=True)


def slowest(step):
    return next(spread["p50_s"] for spread in reversed(step["levels"]) if spread)


def saturated(levels):
    """The component on which runs wait so much longer at a high level than at the lowest, at the first such level."""
    for level in levels[1:]:
        more = {
            name: seconds - levels[0]["components"].get(name, 0)
            for name, seconds in level["components"].items()
            if seconds > TIMES * levels[0]["components"].get(name, 0)
        }
        name = max(more, key=more.get, default=None)
        if name and more[name] >= SECONDS:
            before, now = levels[0]["components"].get(name, 0), level["components"][name]
            return {"component": name, "at_once": level["at_once"], "before_s": before, "now_s": now}
    return None


def knee(levels):
    """The level after which more at once make no more instances per minute; None where that was not reached."""
    for level, higher in pairwise(levels):
        if level["per_minute"] and (higher["per_minute"] or 0) < MORE * level["per_minute"]:
            return {name: level[name] for name in ("at_once", "per_minute")}
    return None


def causes_of(runs):
    """The runs that were begun and did not pass, by their cause, the most frequent first."""
    groups = {}
    for run in runs:
        if run["started"] and run["result"] != "pass":
            groups.setdefault((run["cause"], run["component"]), []).append(run)
    causes = [
        {
            "cause": cause,
            "component": component,
            "stage": group[0]["stage"],
            "hosts": sorted({run["host"] for run in group if run["host"]}),
            "runs": [run["key"] for run in group],
        }
        for (cause, component), group in groups.items()
    ]
    return sorted(causes, key=lambda cause: -len(cause["runs"]))


def duration(record):
    return rounded(seconds_between(record["started"], record["finished"]))
