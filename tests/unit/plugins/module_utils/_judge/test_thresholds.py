# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits, on the record of a real run."""

from __future__ import annotations

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge import thresholds
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from tree import RECORDED

RUN = RECORDED / "runs" / "20261121-065105-bdb5f5"
BOOT = "stages[?stage=='boot'] | [0].duration_s"
LOOKS = "stages[].waits[].resolution_s | max(@)"


def limit(query, **bounds):
    return {"name": "it", "query": query, "min": None, "max": None, **bounds}


def apply(query, **bounds):
    return thresholds.apply_limit(limit(query, **bounds), recorded())


def recorded():
    """The recorded run, whose boot took a time of our own."""
    record = as_json.read_record(RUN)
    next(stage for stage in record["stages"] if stage["stage"] == "boot")["duration_s"] = 13.885464
    return record


@pytest.mark.parametrize(
    ("bounds", "ok", "words"),
    [
        ({"max": 14.0}, True, "it: 13.8855"),
        ({"max": 13.885464}, True, "it: 13.8855"),
        ({"max": 13.0}, False, "it: 13.8855 is more than 13"),
        ({"min": 13.0}, True, "it: 13.8855"),
        ({"min": 14.0}, False, "it: 13.8855 is less than 14"),
        ({"min": 13.0, "max": 14.0}, True, "it: 13.8855"),
        ({"min": 0.0, "max": 0.0}, False, "it: 13.8855 is more than 0"),
    ],
)
def test_a_value_is_held_against_its_bounds(bounds, ok, words):
    result = apply(BOOT, **bounds)
    assert (result.ok, result.text, result.value) == (ok, words, 13.885464)
    assert {name: getattr(result, name) for name in bounds} == bounds


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("length(stages[?status=='ok'])", lambda _stages: 6),
        (
            "sum(stages[].calls[].seconds)",
            lambda stages: sum(call["seconds"] for stage in stages for call in stage["calls"]),
        ),
        (LOOKS, lambda stages: max(wait["resolution_s"] for stage in stages for wait in stage["waits"])),
    ],
)
def test_a_limit_may_be_about_anything_in_the_record(query, value):
    expected = value(recorded()["stages"])
    assert expected > 0.1
    assert apply(query, max=100.0).value == pytest.approx(expected)


@pytest.mark.parametrize(
    "query",
    [
        "nothing.there",
        "verdict.result",
        "kept",
        "stages[0].waits",
        "sum(stages[].stage)",
        "no_such_function(made)",
        "abs(verdict)",
    ],
)
def test_what_is_no_number_is_not_within_its_limits(query):
    result = apply(query, min=-1e9, max=1e9)
    assert not result.ok
    assert result.value is None
    assert result.text.startswith("it: ")
    assert "\n" not in result.text


def test_a_query_that_finds_much_does_not_say_all_of_it():
    assert len(apply("stages", max=1.0).text) < 300


def test_all_limits_are_applied_in_their_order():
    results = thresholds.apply_limits([limit("created", max=9.0), limit("created", max=1.0)], recorded())
    assert [result.ok for result in results] == [True, False]


@pytest.mark.parametrize("query", ["", "stages[", "stages[?stage=='boot'", "a b", "made >"])
def test_a_query_that_is_none_is_found_before_the_run(query):
    with pytest.raises(StageError, match="the threshold it has no valid query") as caught:
        thresholds.check_expressions([limit(query, max=1.0)])
    assert caught.value.record["kind"] == "invalid"
    assert "\n" not in caught.value.record["message"]


def test_a_limit_without_a_bound_is_found_before_the_run():
    with pytest.raises(StageError, match="neither max nor min"):
        thresholds.check_expressions([limit("created")])


def test_good_limits_pass_the_look_before_the_run():
    thresholds.check_expressions([limit("created", max=1.0), limit("created", min=0.0)])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400])
def test_a_limit_that_nothing_can_be_compared_with_is_refused(value):
    with pytest.raises(StageError, match="which is no number"):
        thresholds.check_expressions([{"name": "boot", "query": "duration_s", "max": value, "min": None}])


@pytest.mark.parametrize("query", ["to_number('nan')", "huge"])
def test_a_value_that_nothing_can_be_compared_with_is_not_within_its_limit(query):
    (limit,) = thresholds.apply_limits([{"name": "boot", "query": query, "max": 5.0}], {"huge": 10**400})
    assert (limit.ok, limit.value) == (False, None)
