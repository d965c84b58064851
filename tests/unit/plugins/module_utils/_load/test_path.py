# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the seconds of a recorded run went: the steps that its end had to wait for."""

from __future__ import annotations

import json

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._load import path
from ansible_collections.stackproof.provision.plugins.module_utils._record.clock import seconds_of
from tree import RECORDED


@pytest.fixture(scope="module")
def removed():
    """A run on the lab whose removal was followed."""
    return json.loads((RECORDED / "removed/run.json").read_text())


def test_the_seconds_of_a_path_are_those_of_the_whole_flow(removed):
    (flow,) = removed["flows"]
    times = [seconds_of(at) for step in flow["steps"] for at in (step["at"], step["until"]) if at]
    parts = path.path_of(flow)
    assert sum(seconds for _step, seconds in parts) == pytest.approx(max(times) - min(times), abs=0.001)
    assert all(seconds >= 0 for _step, seconds in parts)


def test_each_step_of_a_path_follows_the_one_before_it_or_is_begun_by_the_run(removed):
    (flow,) = removed["flows"]
    steps = [step for step, _seconds in path.path_of(flow)]
    assert len(steps) > 3
    for before, step in zip(steps, steps[1:]):
        assert step is None or (before["id"] in step["follows"] if before else step["follows"] == [])


def test_components_and_kinds_are_two_views_of_the_same_seconds(removed):
    kinds, components = path.by_kind(removed), path.by_component(removed)
    assert set(kinds) == set(path.KINDS)
    assert sum(kinds.values()) == pytest.approx(sum(components.values()), abs=0.01)


def test_a_run_that_was_not_followed_has_no_path():
    run = {"flows": [], "stages": []}
    assert (path.by_kind(run), path.by_component(run), path.known_late(run)) == (None, {}, None)
