# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep in slices: all slices together are the whole, and their combination is judged as the whole would be."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model.sweep import (
    ExcludedHost,
    PreflightCheck,
    PreflightKind,
    PreflightStatus,
    Slice,
    SweepVerdict,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import Result
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from ansible_collections.stackproof.provision.plugins.module_utils._sweep import combine, sweep, targets, verdict

OK, FAILED, UNREADABLE = PreflightStatus.OK, PreflightStatus.FAILED, PreflightStatus.UNREADABLE


@pytest.mark.parametrize("text", ["", "3", "0/3", "4/3", "3/10/2", "-1/3", "1 / 3", "a/b", "1/0", "1/99999"])
def test_text_that_is_not_a_slice_is_refused(text):
    with pytest.raises(StageError, match=r"is not a slice: give its number and how many there are, such as 3/10"):
        targets.slice_of(text)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 12])
def test_all_slices_together_have_each_target_once(count):
    whole = targets.targets_of([f"c{number}" for number in range(10)], {}, "nightly")
    parts = [targets.sliced(whole, targets.slice_of(f"{number}/{count}")) for number in range(1, count + 1)]
    assert sorted(target.name for part in parts for target in part) == [target.name for target in whole]
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_slice_has_an_id_of_its_own():
    assert targets.id_of("nightly", (3, 10)) == "nightly-3of10"
    assert targets.id_of("nightly", None) == "nightly"
    targets.check_id(targets.id_of("20261121-170000-a1b2c3", (10, 100)))


def check(status, name="nova-compute on c1 is alive"):
    return PreflightCheck(PreflightKind.SERVICE, name, status, status.value, "c1", "nova")


def test_check_that_several_sweeps_made_counts_once_with_its_worst_result():
    checks = [check(OK), check(OK, "another"), check(FAILED), check(UNREADABLE)]
    assert combine.worst_of(checks) == [check(FAILED), check(OK, "another")]


def record(number, count, hosts):
    """A slice that has not ended."""
    whole = targets.targets_of(hosts, {}, "nightly")
    part = (number, count)
    record = sweep.new_sweep(
        targets.id_of("nightly", part),
        "small",
        targets.sliced(whole, part),
        [check(OK)],
        [ExcludedHost("c9", "disabled")],
        parallel=4,
        part=targets.slice_record(part, whole),
    )
    passed = [replace(target, result=Result.PASS, directory=f"../{target.run_id}") for target in record.targets]
    return replace(record, targets=tuple(passed))


HOSTS = ["c1", "c2", "c3"]


def combined(records):
    placed = [(f"/from/{number}/sweep-x", record) for number, record in enumerate(records)]
    return combine.combine(placed, "all", "/to/sweep-all", sweep.Limits(3, 5))


def test_combination_is_one_sweep_over_all_targets():
    whole = combined([record(number, 2, HOSTS) for number in (1, 2)])
    assert whole.verdict == SweepVerdict(Result.PASS, "All 3 targets passed.")
    assert [target.name for target in whole.targets] == ["c1", "c2", "c3"]
    assert whole.targets[0].directory == "../../from/0/nightly-c1"
    assert (whole.parallel, len(whole.preflight), len(whole.excluded)) == (8, 1, 1)


def test_targets_of_a_combination_are_in_the_order_of_their_names():
    hosts = ["c10", "c9", "b2", "c", "c9-a", "c\u00b2", "10", "9"]
    whole = combined([record(number, 3, hosts) for number in (1, 2, 3)])
    names = [target.name for target in whole.targets]
    assert names == ["9", "10", "b2", "c", "c9", "c9-a", "c10", "c\u00b2"]


def test_missing_slice_leaves_the_whole_without_a_pass():
    whole = combined([record(number, 4, HOSTS) for number in (1, 3)])
    assert whole.verdict.result is Result.INCOMPLETE
    assert "Missing slices: 2/4, 4/4." in whole.verdict.reason


def test_combination_can_be_combined_and_still_knows_its_slices():
    half = combined([record(1, 3, HOSTS), record(2, 3, HOSTS)])
    assert half.verdict.result is Result.INCOMPLETE
    whole = combined([half, record(3, 3, HOSTS)])
    assert whole.verdict.result is Result.PASS
    assert [part.slice.number for part in whole.combined] == [1, 2, 3]


def test_target_of_two_sweeps_is_refused():
    with pytest.raises(StageError, match="c1 is a target of both /from/0/sweep-x and /from/1/sweep-x"):
        combined([record(1, 2, HOSTS), record(1, 2, HOSTS)])


def test_slice_without_targets_passes_if_other_slices_have_some():
    assert verdict.judge([], [], part=Slice(number=4, of=4, targets=3)).result is Result.PASS
    assert verdict.judge([], [], part=Slice(number=4, of=4, targets=0)).result is Result.FAIL
