# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of a load, from its begin to its end. Pure."""

from __future__ import annotations

from .._history.digest import digest_of
from .._judge.thresholds import apply_limits
from .._record.clock import now, seconds_between
from .._record.run import STAGES
from . import figures, path

SCHEMA = "stackproof.load/1"
# What is kept of each run; the seconds of its steps stay in its own record.
KEPT = ("key", "run_id", "at_once", "result", "cause", "stage", "component", "host", "directory", "started")
MOST_LISTED = 3


def new_record(load_id, cloud, instances, levels, rate, targets, preflight):
    return {
        "schema": SCHEMA,
        "load_id": load_id,
        "cloud": cloud,
        "started": now(),
        "finished": None,
        "duration_s": None,
        "plan": {"instances": instances, "levels": levels, "rate": rate},
        "verdict": {"result": "incomplete", "reason": "The load has not finished."},
        "preflight": preflight,
        "runs": [kept({**target, **not_begun("its run was not begun")}) for target in targets],
        "levels": [],
        "stages": [],
        "steps": [],
        "saturated": None,
        "knee": None,
        "causes": [],
        "thresholds": [],
        "overhead": None,
    }


def kept(run):
    return {name: run[name] for name in KEPT}


def not_begun(cause):
    empty = dict.fromkeys(("stage", "component", "host", "directory", "started", "removed"))
    figures_of_none = {"provisioned_s": None, "known_late_s": None, "stages": {}, "steps": {}}
    return {"result": "incomplete", "cause": cause, **empty, **figures_of_none, "kinds": None, "components": {}}


def outcome_of(run, directory):
    """The part of a run's record that a load needs."""
    digest = digest_of(run, directory)
    removal = run.get("removal") or {}
    worked = [stage for stage in run["stages"] if stage["status"] == "ok"]
    last = worked[-1]["finished"] if worked else None
    return {
        # Runs are ended when all are through, so that one which went well so far has passed until then.
        "result": digest["result"] if run["finished"] or not went_well(run) else "pass",
        "cause": digest["cause"],
        **{name: digest["place"][name] for name in ("stage", "component", "host")},
        "directory": directory,
        "started": run["started"],
        # A run that made nothing has no removal, and is ended when all are through: it took until its last stage ended.
        "removed": removal.get("finished")
        or max(filter(None, (stage["finished"] for stage in run["stages"])), default=None),
        "provisioned_s": figures.rounded(seconds_between(run["started"], last)) if last else None,
        "known_late_s": path.known_late(run),
        "stages": digest["stages"],
        "steps": digest["steps"],
        "kinds": path.by_kind(run),
        "components": path.by_component(run),
    }


def went_well(run):
    """Whether a run that has not ended yet has gone through all of its stages, and has removed all."""
    done = [stage["stage"] for stage in run["stages"] if stage["status"] in ("ok", "skipped")]
    return done == list(STAGES) and run["made"] == run["deleted"]


def told(record, outcomes, labels):
    """The record with the figures of its runs; outcomes are those of the runs that were begun, by their keys."""
    runs = [{**not_begun(run["cause"]), **run, **outcomes.get(run["key"], {})} for run in record["runs"]]
    levels = figures.in_levels(runs)
    summed = [figures.level_of(at_once, of_level) for at_once, of_level in levels.items()]
    return {
        **record,
        "runs": runs,
        "levels": summed,
        "stages": figures.stages_of(levels),
        "steps": figures.steps_of(levels, labels),
        "saturated": figures.saturated([level for level in summed if level["components"]]),
        "knee": figures.knee(summed),
        "causes": figures.causes_of(runs),
    }


def broken(record, limits):
    """The words of the limits that do not hold for what is known of a load so far. What is not known breaks none."""
    return [limit["said"] for limit in apply_limits(limits, record) if not limit["ok"] and limit["value"] is not None]


def finish(record, limits, overhead, stopped):
    """End a record that has its figures, with the verdict on the whole. stopped: why levels were not begun."""
    record = {**record, "finished": now(), "overhead": overhead, "thresholds": apply_limits(limits, record)}
    record["duration_s"] = figures.duration(record)
    record["verdict"] = judge(record, stopped)
    record["runs"] = [kept(run) for run in record["runs"]]
    return record


def judge(record, stopped):
    """The verdict on a load, in a few sentences: whether all passed, what did not, and where it got slow."""
    begun = [run for run in record["runs"] if run["started"]]
    passed = [run for run in begun if run["result"] == "pass"]
    wrong = [limit["said"] for limit in record["thresholds"] if not limit["ok"]]
    left_out = len(record["runs"]) - len(begun)
    sentences = [f"{len(passed)} of {len(begun)} instances passed."]
    sentences += [f"{count(cause['runs'])}: {cause['cause'].rstrip('.')}." for cause in record["causes"][:MOST_LISTED]]
    sentences += [f"Over a limit: {'; '.join(wrong)}."] if wrong else []
    why = f", because of {'; '.join(stopped)}" if stopped else ""
    sentences += [f"{left_out} of {len(record['runs'])} were not begun{why}."] if left_out else []
    sentences += saturation(record)
    failed = wrong or any(run["result"] == "fail" for run in begun)
    result = "fail" if failed else "incomplete" if left_out or len(passed) < len(begun) else "pass"
    return {"result": result, "reason": " ".join(sentences)}


def count(keys):
    return f"{len(keys)} instances" if len(keys) > 1 else "1 instance"


def saturation(record):
    """Where a load got slow first, and from when on more at once brought no more."""
    full, knee, sentences = record["saturated"], record["knee"], []
    if full:
        who = {path.CLIENT: "This machine", path.UNSEEN: "A part of which no step was seen"}
        sentences.append(
            f"{who.get(full['component'], full['component'])} is the first that got slow: with {full['at_once']} at"
            f" once runs wait {full['now_s']:.1f} s for it, before {full['before_s']:.1f} s."
        )
        if full["component"] == path.UNSEEN:
            sentences.append("The page of a run says for each step what would show it.")
    if knee:
        sentences.append(f"More than {knee['at_once']} at once bring no more than {knee['per_minute']:g} a minute.")
    return sentences
