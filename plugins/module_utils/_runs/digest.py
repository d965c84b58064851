# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The digest of a run: the few figures and words of a record that statistics over many runs need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .._model.flow import FollowedFlow, Step
from .._model.history import RunDigest
from .._model.record import Record
from .._model.words import StageName, StageStatus
from .causes import headline_of, how_of
from .figures import rounded

# In characters
LONGEST_FACT = 100


def digest_of(record: Record, directory: str) -> RunDigest:
    """Return the digest of a run. directory: the name of its directory in the folder of the runs."""
    verdict = record.verdict
    return RunDigest(
        directory=directory,
        run_id=record.run_id,
        cloud=record.cloud,
        started=record.started,
        duration_s=record.duration_s,
        result=verdict.result,
        headline=headline_of(verdict),
        component=verdict.component,
        how=how_of(record),
        stage=verdict.stage,
        step=verdict.step,
        host=verdict.host,
        stages=stage_seconds(record),
        steps=step_seconds(record.flows),
        facts=facts_of(record),
        level=record.level_name,
    )


def stage_seconds(record: Record) -> dict[str, float]:
    """Return the seconds of each stage that worked."""
    seconds = {}
    for stage in record.stages_and_removal:
        if stage.status is StageStatus.OK and stage.duration_s is not None:
            seconds[stage.stage.value] = stage.duration_s
    return seconds


def step_seconds(flows: Sequence[FollowedFlow]) -> dict[str, float]:
    """Return the seconds of each step that was seen, by its flow and its id."""
    seconds = {}
    for flow in flows:
        if flow.judged:
            seconds.update(
                {
                    f"{flow.name} {step.id}": taken
                    for step, taken in durations(flow.steps)
                }
            )
    return seconds


def durations(steps: Sequence[Step]) -> Iterator[tuple[Step, float]]:
    """Yield each step that was seen, with its seconds since the last of the steps that it follows."""
    ends = {step.id: step.end for step in steps if step.end is not None}
    for step in steps:
        if step.id not in ends:
            continue
        before = set(step.follows).intersection(ends)
        if before:
            last = max(map(ends.__getitem__, before))
            seconds = ends[step.id] - last
            yield step, rounded(max(0.0, seconds))


def facts_of(record: Record) -> dict[str, str]:
    """Return what the cloud consists of, as far as the run could see it: image, flavor, host, versions of the APIs."""
    chosen = chosen_resources(record)
    facts: dict[str, Any] = {
        "image": chosen.get("image"),
        "flavor": chosen.get("flavor"),
    }
    if record.instance:
        facts["host"] = record.instance.server.host
    facts.update(versions_of_apis(record))
    return {
        name: str(fact)[:LONGEST_FACT] for name, fact in facts.items() if fact
    }


def chosen_resources(record: Record) -> dict[str, str | None]:
    """Return the names of the resources that a run chose from what was there, by their kinds."""
    chosen = {}
    for stage in record.stages:
        chosen.update(
            {
                resource.kind: resource.name
                for resource in stage.resources
                if not resource.created
            }
        )
    return chosen


def versions_of_apis(record: Record) -> dict[str, Any]:
    auth = record.stage(StageName.AUTH)
    if auth is None:
        return {}
    versions = {}
    for service in auth.details.get("services") or ():
        version = service.get("max_microversion") or service.get("version")
        versions[f"API of {service['service']}"] = version
    return versions
