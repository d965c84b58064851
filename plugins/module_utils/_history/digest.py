# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run in one line: what a history needs of it. A record of some hundred kilobytes is read only once for that."""

from __future__ import annotations

import re

from .._record.clock import seconds_between
from .._record.run import with_removal

# Another number whenever a digest gets other contents: then all records are read anew.
VERSION = 1
# Ids, names of what a run makes, and figures differ between two failures of one kind.
OWN = re.compile(r"(?:req-)?[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|stackproof-[\w.-]+")
FIGURE = re.compile(r"\d+(?:\.\d+)?")


def digest_of(record, directory):
    """The line of a run; directory is the name of its directory in the folder of the runs."""
    verdict = record["verdict"]
    return {
        "version": VERSION,
        "directory": directory,
        "run_id": record["run_id"],
        "cloud": record["cloud"],
        "started": record["started"],
        "duration_s": record["duration_s"],
        "result": verdict["result"],
        "cause": None if verdict["result"] == "pass" else cause_of(verdict),
        "place": {name: verdict.get(name) for name in ("stage", "step", "component", "host")},
        "stages": {stage["stage"]: stage["duration_s"] for stage in with_removal(record) if stage["status"] == "ok"},
        "steps": step_seconds(record["flows"]),
        "facts": facts_of(record),
    }


def cause_of(verdict):
    """Why a run did not pass, in words that another run with the same cause has, too."""
    text = verdict.get("headline") or verdict["reason"]
    return FIGURE.sub("*", OWN.sub("*", text.split("\n")[0]))[:300]


def step_seconds(flows):
    """Seconds of each step with a time, by flow and step: since the last of the steps that it follows."""
    return {
        f"{flow['name']} {step['id']}": seconds
        for flow in flows
        if flow["judged"]
        for step, seconds in took(flow["steps"])
    }


def took(steps):
    """The steps of a flow that were seen, each with its seconds since the last step that it follows."""
    times = {step["id"]: step["until"] or step["at"] for step in steps if step["at"]}
    for step in steps:
        before = [times[name] for name in step.get("follows") or () if name in times]
        if step["at"] and before:
            yield step, round(max(0, seconds_between(max(before), times[step["id"]])), 3)


def facts_of(record):
    """What the cloud was made of, as far as the run could see it: image, flavor, host, and the versions of the APIs."""
    stages = {stage["stage"]: stage for stage in record["stages"]}
    resources = [resource for stage in record["stages"] for resource in stage["resources"]]
    named = {resource["kind"]: resource["name"] for resource in resources if not resource["made"]}
    server = (record.get("instance") or {}).get("server") or {}
    facts = {name: named.get(name) for name in ("image", "flavor")}
    facts["host"] = server.get("host")
    for service in stages.get("auth", {}).get("details", {}).get("services") or ():
        facts[f"API of {service['service']}"] = service.get("max_microversion") or service.get("version")
    return {name: str(fact)[:100] for name, fact in facts.items() if fact}
