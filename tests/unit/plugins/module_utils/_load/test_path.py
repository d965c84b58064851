# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the seconds of a recorded run went: the steps that its end had to wait for."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._load import path
from ansible_collections.stackproof.provision.plugins.module_utils._record.clock import seconds_of
from tree import RECORDED


@pytest.fixture(scope="module")
def removed():
    """A run on the lab whose removal was followed."""
    return json.loads((RECORDED / "removed/run.json").read_text())


@pytest.fixture(scope="module")
def by_api():
    """A run by a plain user that was followed by what the API and the console tell, without any log."""
    return json.loads((RECORDED / "flow-run.json").read_text())


@pytest.mark.parametrize("run", ["removed", "by_api"])
def test_the_seconds_of_a_path_are_those_of_the_whole_flow(run, request):
    for flow in request.getfixturevalue(run)["flows"]:
        times = [seconds_of(at) for step in flow["steps"] for at in (step["at"], step["until"]) if at]
        parts = path.path_of(flow)
        assert all(part.seconds > 0 for part in parts)
        assert sum(part.seconds for part in parts) == pytest.approx(max(times) - min(times) if times else 0, abs=0.001)
        assert [(before.ended, part.began) for before, part in pairwise(parts) if before.ended != part.began] == []


def test_the_seconds_before_a_step_are_its_sources_and_its_own_are_its_targets(removed):
    (flow,) = removed["flows"]
    steps = {step["id"]: step for step in flow["steps"]}
    parts = path.path_of(flow)
    assert len({part.step for part in parts}) > 3
    for part in parts:
        step = steps[part.step]
        within = part.began >= seconds_of(step["at"])
        assert part.component in ({step["target"]} if within else {step["source"], path.CLIENT, path.UNSEEN}), part


def test_seconds_between_steps_with_others_in_between_that_nobody_saw_are_nobodys(removed):
    """So a queue is not blamed for a build of which nothing but the end was seen."""
    (flow,) = removed["flows"]
    on_path = [part for part in path.path_of(flow) if part.component not in (path.CLIENT, path.UNSEEN)]
    last = next(part for part in reversed(on_path) if part.ended <= seconds_of(step_of(flow, part)["at"]))
    hidden = {
        **flow,
        "steps": [
            {**step, "at": None, "until": None, "status": "unseen"}
            if step["id"] in step_of(flow, last)["follows"]
            else step
            for step in flow["steps"]
        ],
    }
    (gap,) = [part for part in path.path_of(hidden) if part.step == last.step and part.ended == last.ended]
    assert (gap.component, gap.kind) == (path.UNSEEN, path.WORK)
    assert gap.seconds >= last.seconds


def step_of(flow, part):
    return next(step for step in flow["steps"] if step["id"] == part.step)


def test_components_and_kinds_are_two_views_of_the_same_seconds(removed):
    kinds, components = path.by_kind(removed), path.by_component(removed)
    assert set(kinds) == set(path.KINDS)
    assert sum(kinds.values()) == pytest.approx(sum(components.values()), abs=0.01)


def test_a_run_that_was_not_followed_has_no_path():
    run = {"flows": [], "stages": []}
    assert (path.by_kind(run), path.by_component(run), path.known_late(run)) == (None, {}, None)
