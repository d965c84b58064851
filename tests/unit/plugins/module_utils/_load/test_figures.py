# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures of a load: its percentiles, what grows, what is full, and when more brings no more."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._load import figures


def level(at_once, per_minute, **components):
    return {"at_once": at_once, "per_minute": per_minute, "components": components}


def test_the_middle_and_the_ends_of_a_hundred():
    assert figures.spread(range(1, 101)) == {"runs": 100, "p50_s": 50.5, "p95_s": 95, "p99_s": 99}


def test_what_is_no_number_counts_for_nothing():
    assert figures.spread([None, 2.0, "3", True])["runs"] == 1
    assert figures.spread([None]) is None


def test_growth_is_from_the_lowest_level_that_is_known_to_the_highest():
    spreads = [None, figures.spread([2]), figures.spread([1]), figures.spread([5])]
    assert figures.growth(spreads) == 2.5
    assert figures.growth(spreads[:2]) is None
    assert figures.growth([figures.spread([0]), figures.spread([1])]) is None


@pytest.mark.parametrize(
    ("rates", "at_once"),
    [([2, 4, 8], None), ([2, 4, 4.3], 2), ([2, 1.5, 8], 1), ([2, None], 1), ([2], None), ([], None)],
)
def test_the_knee_is_the_level_after_which_more_bring_no_more(rates, at_once):
    levels = [level(1 << place, rate) for place, rate in enumerate(rates)]
    knee = figures.knee(levels)
    assert (knee and knee["at_once"]) == at_once


def test_the_component_that_is_full_is_the_first_to_take_much_longer():
    levels = [
        level(1, 2, nova=3.0, neutron=1.0),
        level(2, 4, nova=4.0, neutron=1.4),
        level(4, 4, nova=4.4, neutron=3.0),
    ]
    assert figures.saturated(levels) == {"component": "neutron", "at_once": 4, "before_s": 1.0, "now_s": 3.0}


def test_a_component_that_takes_a_little_longer_is_not_full():
    assert figures.saturated([level(1, 2, nova=0.1), level(2, 4, nova=0.4)]) is None
    assert figures.saturated([level(1, 2, nova=3.0)]) is None
    assert figures.saturated([]) is None


def test_one_that_nobody_waited_for_before_may_be_full_too():
    assert figures.saturated([level(1, 2), level(2, 4, nova=2.0)])["before_s"] == 0
