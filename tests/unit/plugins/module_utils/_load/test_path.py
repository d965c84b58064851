# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the seconds of a recorded run went: the steps that its end had to wait for."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._load import path
from ansible_collections.stackproof.provision.plugins.module_utils._load.path import Kind, Path
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.flow import FollowedFlow
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import StepStatus
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import read_record
from tree import RECORDED


@pytest.fixture(scope="module")
def removed():
    """A run on the lab whose removal was followed."""
    return read_record(RECORDED / "removed")


@pytest.fixture(scope="module")
def by_api():
    """A run by a plain user that was followed by what the API and the console tell, without any log."""
    flows = json.loads((RECORDED / "flow-run.json").read_text())["flows"]
    return [codec.from_json(FollowedFlow, flow) for flow in flows]


@pytest.mark.parametrize("run", ["removed", "by_api"])
def test_the_seconds_of_a_path_are_those_of_the_whole_flow(run, request):
    found = request.getfixturevalue(run)
    for flow in found if isinstance(found, list) else found.flows:
        times = [at for step in flow.steps for at in (step.at, step.until) if at]
        parts = Path(flow).parts()
        assert all(part.seconds > 0 for part in parts)
        assert sum(part.seconds for part in parts) == pytest.approx(max(times) - min(times) if times else 0, abs=0.001)
        assert [(before.ended, part.began) for before, part in pairwise(parts) if before.ended != part.began] == []


def test_the_seconds_before_a_step_are_its_sources_and_its_own_are_its_targets(removed):
    (flow,) = removed.flows
    steps = {step.id: step for step in flow.steps}
    parts = Path(flow).parts()
    assert len({part.step for part in parts}) > 3
    for part in parts:
        step = steps[part.step]
        within = part.began >= step.at
        assert part.component in ({step.target} if within else {step.source, path.CLIENT, path.UNSEEN}), part


def test_seconds_between_steps_with_unseen_ones_in_between_belong_to_no_component(removed):
    """So a queue is not blamed for a build of which nothing but the end was seen."""
    (flow,) = removed.flows
    on_path = [part for part in Path(flow).parts() if part.component not in (path.CLIENT, path.UNSEEN)]
    last = next(part for part in reversed(on_path) if part.ended <= step_of(flow, part).at)
    steps = []
    for step in flow.steps:
        is_hidden = step.id in step_of(flow, last).follows
        steps.append(replace(step, at=None, until=None, status=StepStatus.UNSEEN) if is_hidden else step)
    hidden = Path(replace(flow, steps=tuple(steps))).parts()
    (gap,) = [part for part in hidden if part.step == last.step and part.ended == last.ended]
    assert (gap.component, gap.kind) == (path.UNSEEN, Kind.WORK)
    assert gap.seconds >= last.seconds


def step_of(flow, part):
    return next(step for step in flow.steps if step.id == part.step)


def test_components_and_breakdown_are_two_views_of_the_same_seconds(removed):
    breakdown, components = path.breakdown_of(removed), path.by_component(removed)
    whole = breakdown.queue + breakdown.work + breakdown.polling
    assert whole == pytest.approx(sum(components.values()), abs=0.01)


def test_run_that_was_not_followed_has_no_path(removed):
    run = replace(removed, flows=(), stages=())
    assert (path.breakdown_of(run), path.by_component(run), path.detection_delay(run)) == (None, {}, None)


def test_detection_delay_is_the_time_between_the_polls_around_the_active_state():
    run = read_record(RECORDED / "runs/20261121-065105-bdb5f5")
    (boot,) = (stage for stage in run.stages if stage.stage == "boot")
    last = boot.waits[0].states[-1]
    assert last.state == "ACTIVE, running"
    assert path.detection_delay(run) == last.resolution_s > 0


def test_instance_that_was_never_active_has_no_detection_delay():
    assert path.detection_delay(read_record(RECORDED / "runs/20261121-065322-ce7f74")) is None
