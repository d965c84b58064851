# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a cloud did over time, out of the digests of its runs. Pure."""

from __future__ import annotations

import statistics
from collections import Counter
from typing import Any

from .._record.clock import seconds_of
from .._record.numbers import percentile
from .._record.run import STAGES, is_seconds

SCHEMA = "stackproof.history/1"
# So many pieces of time at most, each with its own numbers: as many as a chart can show, whatever the number of runs
PIECES = 96
# The last runs, as a share of all, whose times are compared with those before
LATELY = 0.1
MOST_RUNS, MOST_CHANGES, MOST_CAUSES = 50, 50, 50
TIMED = (*STAGES, "removal")


def history_of(digests, labels, made):
    """The whole: each cloud by itself, that of the last run first. labels: (flow, step) to the words for a step."""
    clouds = dict.fromkeys(digest["cloud"] for digest in reversed(digests))
    parts = [[digest for digest in digests if digest["cloud"] == cloud] for cloud in clouds]
    return {"schema": SCHEMA, "made": made, "clouds": [cloud_of(part, labels) for part in parts]}


def cloud_of(runs, labels):
    """What is said of one cloud; runs are its digests, oldest first."""
    pieces = in_pieces(runs)
    results = Counter(run["result"] for run in runs)
    return {
        "cloud": runs[-1]["cloud"],
        "runs": len(runs),
        "passed": results["pass"],
        "failed": results["fail"],
        "incomplete": results["incomplete"],
        "first": runs[0]["started"],
        "last": runs[-1]["started"],
        "pieces": [piece_of(piece) for piece in pieces],
        "stages": [timed_of(runs, pieces, "stages", name, stage=name) for name in measured(runs, "stages")],
        "steps": steps_of(runs, pieces, labels),
        "hosts": hosts_of(runs),
        "changes": changes_of(runs)[-MOST_CHANGES:],
        "causes": causes_of(runs)[:MOST_CAUSES],
        "newest": [newest_of(run) for run in runs[: -MOST_RUNS - 1 : -1]],
    }


def in_pieces(runs):
    """The runs in pieces of time of one length; pieces without a run are left out."""
    first = seconds_of(runs[0]["started"])
    length = max(seconds_of(runs[-1]["started"]) - first, 1) / min(PIECES, len(runs))
    pieces = {}
    for run in runs:
        pieces.setdefault(int((seconds_of(run["started"]) - first) / length * (1 - 1e-9)), []).append(run)
    return list(pieces.values())


def piece_of(runs):
    results = Counter(run["result"] for run in runs)
    return {
        "from": runs[0]["started"],
        "to": runs[-1]["started"],
        "runs": len(runs),
        "passed": results["pass"],
        "failed": results["fail"],
        "incomplete": results["incomplete"],
    }


def measured(runs, kind):
    """The names of what has seconds in at least one run."""
    there = set().union(*(run[kind].keys() for run in runs))
    return [name for name in TIMED if name in there] if kind == "stages" else sorted(there)


def timed_of(runs, pieces, kind, name, **about):
    """The seconds of a stage or a step: over all runs, lately, and in each piece of time as [p5, median, p95]."""
    seconds = [run[kind][name] for run in runs if is_seconds(run[kind].get(name))]
    lately = seconds[-max(1, round(len(seconds) * LATELY)) :]
    before = seconds[: -len(lately)] or seconds
    return {
        **about,
        "runs": len(seconds),
        "median_s": rounded(statistics.median(seconds)) if seconds else None,
        "p95_s": rounded(percentile(seconds, 0.95)) if seconds else None,
        "before_s": rounded(statistics.median(before)) if seconds else None,
        "lately_s": rounded(statistics.median(lately)) if seconds else None,
        "pieces": [band_of([run[kind][name] for run in piece if is_seconds(run[kind].get(name))]) for piece in pieces],
    }


def rounded(seconds):
    return round(seconds, 3)


def band_of(seconds):
    if not seconds:
        return None
    return [
        rounded(part) for part in (percentile(seconds, 0.05), statistics.median(seconds), percentile(seconds, 0.95))
    ]


def steps_of(runs, pieces, labels):
    """Each step of the flows, the slowest first."""
    steps = []
    for name in measured(runs, "steps"):
        flow, _space, step = name.partition(" ")
        about = {"flow": flow, "step": step, **labels.get((flow, step), {"message": None, "component": None})}
        steps.append(timed_of(runs, pieces, "steps", name, **about))
    return sorted((step for step in steps if step["runs"]), key=lambda step: -step["median_s"])


def hosts_of(runs):
    """The hosts that had an instance, with how many of their runs passed and how long a boot takes there."""
    by_host = {}
    for run in runs:
        if run["facts"].get("host"):
            by_host.setdefault(run["facts"]["host"], []).append(run)
    return [
        {
            "host": host,
            "runs": len(there),
            "passed": sum(run["result"] == "pass" for run in there),
            "boot_s": median_of([run["stages"].get("boot") for run in there]),
            "last": there[-1]["started"],
        }
        for host, there in sorted(by_host.items())
    ]


def median_of(values):
    seconds = [value for value in values if is_seconds(value)]
    return rounded(statistics.median(seconds)) if seconds else None


def changes_of(runs):
    """What was not the same as before: a fact with a new value, and a host that was seen for the first time."""
    changes, known, hosts = [], {}, set()
    for run in runs:
        for name, fact in run["facts"].items():
            if name == "host":
                before = None if hosts and fact not in hosts else fact
                hosts.add(fact)
            else:
                before = known.setdefault(name, fact)
                known[name] = fact
            if before != fact:
                changes.append(
                    {"at": run["started"], "run_id": run["run_id"], "what": name, "before": before, "now": fact}
                )
    return changes


def causes_of(runs):
    """The failures, grouped by their cause; the cause that was seen last comes first."""
    last_pass = max((run["started"] for run in runs if run["result"] == "pass"), default="")
    groups = {}
    for run in runs:
        if run["cause"]:
            groups.setdefault((run["cause"], run["place"].get("component")), []).append(run)
    causes = [
        {
            "cause": cause,
            "stage": group[-1]["place"].get("stage"),
            "component": component,
            "hosts": sorted({run["place"]["host"] for run in group if run["place"].get("host")}),
            "runs": len(group),
            "first": group[0]["started"],
            "last": group[-1]["started"],
            "run_id": group[-1]["run_id"],
            "directory": group[-1]["directory"],
            "over": group[-1]["started"] < last_pass,
        }
        for (cause, component), group in groups.items()
    ]
    return sorted(causes, key=lambda cause: cause["last"], reverse=True)


def newest_of(run):
    return {
        "run_id": run["run_id"],
        "directory": run["directory"],
        "started": run["started"],
        "result": run["result"],
        "duration_s": run["duration_s"],
        "cause": run["cause"],
    }


def labels_of(records: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, str | None]]:
    """Return the words for each step, by (flow, step), out of some whole records."""
    return {
        (flow["name"], step["id"]): {"message": text_in(step["message"]), "component": text_in(step["target"])}
        for record in records
        for flow in record["flows"]
        for step in flow["steps"]
    }


def text_in(value: Any) -> str | None:
    """Return a text, or None for anything else that a changed record may have in its place."""
    return value if isinstance(value, str) else None
