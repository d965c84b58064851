# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures of a load test: percentiles, growth, bottleneck, saturation point and causes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._load import figures
from ansible_collections.stackproof.provision.plugins.module_utils._model.load import (
    Bottleneck,
    LoadLevel,
    LoadRun,
    SaturationPoint,
    Spread,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import Result
from ansible_collections.stackproof.provision.plugins.module_utils._runs.figures import growth_of, spread_of


def level(parallel, per_minute, **components):
    return LoadLevel(
        parallel=parallel,
        runs=1,
        passed=1,
        seconds=60.0,
        per_minute=per_minute,
        provisioned=None,
        detection_delay=None,
        breakdown=None,
        components=components,
    )


def test_median_and_percentiles_of_a_hundred():
    assert spread_of(range(1, 101)) == Spread(runs=100, p50_s=50.5, p95_s=95, p99_s=99)


def test_unknown_duration_counts_for_nothing():
    assert spread_of([None, 2.0]).runs == 1
    assert spread_of([None]) is None


def test_growth_is_from_the_lowest_level_that_is_known_to_the_highest():
    spreads = [None, spread_of([2]), spread_of([1]), spread_of([5])]
    assert growth_of(spreads) == 2.5
    assert growth_of(spreads[:2]) is None
    assert growth_of([spread_of([0]), spread_of([1])]) is None


@pytest.mark.parametrize(
    ("rates", "parallel"),
    [([2, 4, 8], None), ([2, 4, 4.3], 2), ([2, 1.5, 8], 1), ([2, None], 1), ([2], None), ([], None)],
)
def test_saturation_point_is_the_level_after_which_throughput_does_not_rise(rates, parallel):
    levels = [level(1 << place, rate) for place, rate in enumerate(rates)]
    expected = SaturationPoint(parallel, dict(zip((1, 2, 4), rates))[parallel]) if parallel else None
    assert figures.saturation_point(levels) == expected


def test_bottleneck_is_the_first_component_to_take_much_longer():
    levels = [
        level(1, 2, nova=3.0, neutron=1.0),
        level(2, 4, nova=4.0, neutron=1.4),
        level(4, 4, nova=4.4, neutron=3.0),
    ]
    assert figures.bottleneck(levels) == Bottleneck("neutron", 4, before_s=1.0, now_s=3.0)


def test_component_that_takes_a_little_longer_is_no_bottleneck():
    assert figures.bottleneck([level(1, 2, nova=0.1), level(2, 4, nova=0.4)]) is None
    assert figures.bottleneck([level(1, 2, nova=3.0)]) is None
    assert figures.bottleneck([]) is None


def test_component_that_no_run_waited_for_before_may_be_a_bottleneck():
    assert figures.bottleneck([level(1, 2, nova=1.0), level(2, 4, nova=1.0, cinder=2.0)]).before_s == 0


def failed(key, **fields):
    run = LoadRun(key=key, run_id=f"night-{key}", parallel=1, result=Result.FAIL, started=1.0, stage="boot")
    return replace(run, **fields)


def test_failures_of_one_kind_are_one_cause_whatever_their_words():
    runs = [
        failed("1", component="nova-compute", how="silent", host="c1", headline="nova-compute (c1): silent for 41 s"),
        failed("2", component="nova-compute", how="refused", host="c1", headline="nova-compute (c1): refused"),
        failed("3", component="nova-compute", how="silent", host="c2", headline="nova-compute (c2): silent for 7 s"),
        failed("4", started=None),
    ]
    causes = figures.causes_of(runs)
    assert [(cause.how, cause.runs, cause.hosts) for cause in causes] == [
        ("silent", ("1", "3"), ("c1", "c2")),
        ("refused", ("2",), ("c1",)),
    ]
    assert causes[0].headline == "nova-compute (c1): silent for 41 s"
