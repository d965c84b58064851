# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of steps, on small flows: what happened, what is owed next, and what was seen last."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow as flow_module
from ansible_collections.stackproof.provision.plugins.module_utils._match import order
from ansible_collections.stackproof.provision.plugins.module_utils._model.flow import FollowedFlow, Step
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import (
    StageName,
    StepStatus,
)
from tree import FLOWS


def step(name, *follows, status="unseen", responsible="somebody", at=None, **more):
    seen = float(name) if status == "seen" and name.isdigit() else None
    fields = {"follows": follows, "status": StepStatus(status), "responsible": responsible, "at": at or seen}
    return Step(name, "a", "b", "m", "HTTP REST", **fields, **more)


def flow(steps, judged=True):
    return FollowedFlow("n", "t", ("a", "b"), tuple(steps), (), judged=judged)


def ids(paths):
    return [[step.id for step in path] for path in paths]


def chain(*statuses):
    """Steps 1, 2, 3 and so on, each of which follows the one before."""
    return [
        step(str(number), *([str(number - 1)] if number > 1 else []), status=status)
        for number, status in enumerate(statuses, 1)
    ]


def of_stage(name, steps, **changes):
    return [replace(step, stage=StageName(name), **changes) for step in steps]


def test_judged_flow_is_taken_or_else_the_first():
    first = flow(chain("seen", "unseen", "unseen"), judged=False)
    judged = flow(chain("seen", "seen", "seen", "unseen", "unseen"))
    assert order.judged_steps([first, judged]) == judged.steps
    assert order.judged_steps([first]) == first.steps
    assert order.judged_steps([]) == ()


def test_stage_is_judged_by_its_own_flow_where_there_is_one():
    boot = flow(chain("seen", "unseen"))
    volume = flow(of_stage("volume", chain("unseen", "unseen")))
    not_judged = flow(of_stage("image", chain("unseen")), judged=False)
    flows = [boot, not_judged, volume]
    assert order.judged_steps(flows, StageName.BOOT) == boot.steps
    assert order.judged_steps(flows, StageName.VOLUME) == volume.steps
    assert order.judged_steps(flows, StageName.IMAGE) == order.judged_steps(flows, StageName.AUTH) == boot.steps


def test_of_the_flows_of_a_stage_the_one_that_began_last_judges():
    boot = flow(of_stage("boot", chain("seen", "unseen"), at=100.0))
    later = flow(of_stage("boot", chain("seen", "missing"), at=109.0))
    not_begun = flow(of_stage("boot", chain("unseen", "unseen"), at=None))
    assert order.judged_steps([boot, later, not_begun]) == later.steps
    assert order.judged_steps([boot, not_begun]) == boot.steps


def test_a_flow_without_steps_has_no_order():
    assert (order.follows([]), order.happened([]), order.paths([]), order.last_seen([])) == ({}, set(), [], None)


def test_a_flow_that_says_nothing_of_its_order_is_one_chain():
    steps = [step("a", status="seen"), step("b"), step("c")]
    assert order.follows(steps) == {"a": (), "b": ("a",), "c": ("b",)}
    assert ids(order.paths(steps)) == [["b", "c"]]


def test_a_flow_that_says_it_once_says_it_of_all():
    assert order.follows([step("a"), step("b"), step("c", "a")]) == {"a": (), "b": (), "c": ("a",)}


def test_what_was_seen_proves_all_that_it_follows():
    steps = [step("1"), step("2", "1"), step("3", "1"), step("4", "2", status="seen"), step("5", "4")]
    assert order.happened(steps) == {"1", "2", "4"}


def test_what_was_not_seen_proves_nothing():
    assert order.happened(chain("unseen", "missing", "absent", "cached", "skipped")) == set()


def test_a_whole_run_owes_nothing():
    assert order.paths(chain("seen", "seen", "seen")) == []


def test_the_first_step_is_owed_where_nothing_happened():
    assert ids(order.paths(chain("unseen", "unseen"))) == [["1", "2"]]


def test_a_path_ends_at_the_first_step_that_is_proved_to_be_missing():
    assert ids(order.paths(chain("seen", "unseen", "missing", "unseen"))) == [["2", "3"]]
    assert ids(order.paths(chain("seen", "missing", "unseen"))) == [["2"]]


@pytest.mark.parametrize("status", ["cached", "absent", "skipped"])
def test_what_did_not_have_to_happen_is_passed_by(status):
    assert ids(order.paths(chain("seen", status, status, "unseen"))) == [["4"]]
    # But not where what it follows did not happen.
    assert ids(order.paths(chain("seen", "unseen", status, "unseen"))) == [["2", "3", "4"]]


def test_a_step_that_nobody_owes_is_passed_by():
    steps = [step("1", status="seen"), step("2", "1", responsible=order.NOBODY), step("3", "2")]
    assert ids(order.paths(steps)) == [["3"]]


def test_a_step_that_follows_nothing_is_no_part_of_the_chain():
    steps = [step("1", status="seen"), step("2", "1"), step("N3", status="missing"), step("N4")]
    assert ids(order.paths(steps)) == [["2"]]


def test_what_waits_for_two_steps_is_owed_when_both_happened():
    steps = [step("1", status="seen"), step("2", "1", status="seen"), step("3", "1"), step("4", "2", "3")]
    assert ids(order.paths(steps)) == [["3", "4"]]
    steps[2] = replace(steps[2], status=StepStatus.SEEN)
    assert ids(order.paths(steps)) == [["4"]]


def test_a_path_does_not_go_through_what_waits_for_another():
    steps = [step("1", status="seen"), step("2", "1"), step("3", "1"), step("4", "2", "3")]
    assert ids(order.paths(steps)) == [["2"], ["3"]]


def test_of_two_paths_that_which_is_proved_is_the_first():
    steps = [step("1", status="seen"), step("2", "1"), step("3", "1", status="missing")]
    assert ids(order.paths(steps)) == [["3"], ["2"]]


def test_the_last_step_is_the_latest_of_the_chain_polls_apart():
    steps = [
        step("1", status="seen"),
        step("2", "1", status="seen"),
        step("3", "2", status="seen", at=0.5),
        step("4", "3", status="seen", repeats=True),
        step("N5", status="seen", at=900.0),
        step("6", "2"),
    ]
    assert order.last_seen(steps).id == "2"


def test_what_has_no_time_was_not_seen_last():
    steps = chain("seen", "seen")
    steps[1] = replace(steps[1], at=None)
    assert order.last_seen(steps) is None


@pytest.mark.parametrize("name", ["ops_guide", "modern"])
def test_the_steps_of_each_flow_follow_each_other(name):
    """Each step of the chain comes, at last, from the first one, and a step that was seen proves all before it."""
    definitions = flow_module.load(str(FLOWS / f"{name}.yml")).steps
    steps = [step(definition.id, *definition.follows) for definition in definitions]
    roots = {current.id for current in steps if not current.follows}
    for place, current in enumerate(steps):
        if current.follows:
            seen = [*steps]
            seen[place] = replace(current, status=StepStatus.SEEN)
            assert "1" in order.happened(seen)
    linked = {other for current in steps for other in current.follows}
    assert roots & linked == {"1"}


def test_steps_of_the_stage_come_first():
    steps = [step("1", status="seen"), step("2", "1"), step("3", "1", stage=StageName.METADATA)]
    assert ids(order.paths(steps, StageName.BOOT)) == [["2"], ["3"]]
    assert ids(order.paths(steps, StageName.METADATA)) == [["3"], ["2"]]


def test_a_missing_step_that_no_other_one_follows_comes_behind_the_others():
    steps = [
        step("1", status="seen"),
        step("2", "1", status="missing"),
        step("3", "1", status="missing"),
        step("4", "3"),
    ]
    assert ids(order.paths(steps)) == [["3"], ["2"]]
