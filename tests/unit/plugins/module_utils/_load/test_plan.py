# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a load: levels, instances, and what is refused before anything is made."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._load import plan
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError


def test_without_a_ramp_there_is_one_level_of_at_most_as_many_as_there_are():
    assert plan.levels_of(10, 4, []) == [4]
    assert plan.levels_of(3, 4, []) == [3]


def test_a_ramp_is_its_levels():
    assert plan.levels_of(8, 4, [1, 2, 8]) == [1, 2, 8]


@pytest.mark.parametrize(
    ("instances", "parallel", "ramp", "words"),
    [
        (0, 4, [], "instances cannot be 0"),
        (10, 0, [], "parallel cannot be 0"),
        (5000, 4, [], "instances cannot be 5000"),
        (10, 4, [0, 1], "ramp cannot be 0"),
        (10, 4, [4, 2], "does not rise"),
        (10, 4, [4, 16], "the ramp asks for 16 in parallel, and each level has 10 instances"),
        (10, 4, [2, 2], "does not rise"),
        (900, 4, [1, 2], "more than 1000 in all"),
    ],
)
def test_impossible_load_test_is_refused(instances, parallel, ramp, words):
    with pytest.raises(StageError, match=words):
        plan.levels_of(instances, parallel, ramp)


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf")])
def test_a_rate_is_a_number_above_zero(rate):
    plan.check_rate(None)
    plan.check_rate(0.5)
    with pytest.raises(StageError, match="instances per minute"):
        plan.check_rate(rate)


@pytest.mark.parametrize("load_id", ["A", "a b", "x" * 35, ""])
def test_an_id_leaves_room_for_those_of_the_runs(load_id):
    plan.check_id("x" * 34)
    with pytest.raises(StageError, match="is not the id of a load test"):
        plan.check_id(load_id)


def test_each_instance_has_its_level_its_id_and_its_time():
    targets = plan.targets_of("night", 6, [1, 2], rate=30)
    assert [target.key for target in targets] == [f"{number:02}" for number in range(1, 13)]
    assert [target.run_id for target in targets][::11] == ["night-01", "night-12"]
    assert [(target.parallel, target.before) for target in targets] == [(1, 0)] * 6 + [(2, 6)] * 6
    assert [target.after_s for target in targets[:3]] == [0, 2, 4]


def test_without_a_rate_each_begins_as_soon_as_it_has_a_turn():
    assert {target.after_s for target in plan.targets_of("night", 6, [2], rate=None)} == {0}
