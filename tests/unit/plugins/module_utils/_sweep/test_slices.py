# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep in slices: all slices together are the whole, and their merge is judged as the whole would be."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from ansible_collections.stackproof.provision.plugins.module_utils._sweep import slices, sweep


@pytest.mark.parametrize("text", ["", "3", "0/3", "4/3", "3/10/2", "-1/3", "1 / 3", "a/b", "1/0", "1/99999"])
def test_what_is_no_slice_is_refused(text):
    with pytest.raises(StageError, match=r"is not a slice: the number of one and how many there are, such as 3/10"):
        slices.slice_of(text)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 12])
def test_all_slices_together_have_each_target_once(count):
    whole = sweep.targets_of([f"c{number}" for number in range(10)], {}, "nightly")
    parts = [slices.sliced(whole, slices.slice_of(f"{number}/{count}")) for number in range(1, count + 1)]
    assert sorted(target["name"] for part in parts for target in part) == [target["name"] for target in whole]
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_a_slice_has_an_id_of_its_own():
    assert slices.id_of("nightly", (3, 10)) == "nightly-3of10"
    assert slices.id_of("nightly", None) == "nightly"
    sweep.check_id(slices.id_of("20261121-170000-a1b2c3", (10, 100)))


def check(status, name="nova-compute on c1 is alive"):
    return {"name": name, "status": status, "reason": status, "host": "c1", "component": "nova"}


def test_a_check_that_several_have_made_counts_once_with_its_worst_answer():
    checks = [check("ok"), check("ok", "another"), check("failed"), check("unreadable")]
    assert slices.worst_of(checks) == [check("failed"), check("ok", "another")]


def record(number, count, hosts):
    """A slice that has not ended."""
    whole = sweep.targets_of(hosts, {}, "nightly")
    part = (number, count)
    record = sweep.new_record(
        slices.id_of("nightly", part),
        "small",
        slices.sliced(whole, part),
        [check("ok")],
        [{"host": "c9", "reason": "disabled"}],
        at_once=4,
        part=slices.slice_record(part, whole),
    )
    for target in record["targets"]:
        target.update(result="pass", directory=f"../{target['run_id']}")
    return record


HOSTS = ["c1", "c2", "c3"]


def merged(records):
    sweeps = [(f"/from/{number}/sweep-x", record) for number, record in enumerate(records)]
    return slices.merge(sweeps, "all", "/to/sweep-all", 3, 5)


def test_the_merge_is_one_sweep_over_all_targets():
    whole = merged([record(number, 2, HOSTS) for number in (1, 2)])
    assert whole["verdict"] == {"result": "pass", "reason": "All 3 targets passed.", "hosts": []}
    assert [target["name"] for target in whole["targets"]] == ["c1", "c2", "c3"]
    assert whole["targets"][0]["directory"] == "../../from/0/nightly-c1"
    assert (whole["at_once"], len(whole["preflight"]), len(whole["left_out"])) == (8, 1, 1)


def test_the_targets_of_a_merge_are_in_the_order_of_their_names():
    hosts = ["c10", "c9", "b2", "c", "c9-a", "c\u00b2", "10", "9"]
    whole = merged([record(number, 3, hosts) for number in (1, 2, 3)])
    names = [target["name"] for target in whole["targets"]]
    assert names == ["9", "10", "b2", "c", "c9", "c9-a", "c10", "c\u00b2"]


def test_a_slice_that_is_missing_leaves_the_whole_without_a_pass():
    whole = merged([record(number, 4, HOSTS) for number in (1, 3)])
    assert whole["verdict"]["result"] == "incomplete"
    assert "Slices that are missing: 2/4, 4/4." in whole["verdict"]["reason"]


def test_a_merge_can_be_merged_and_still_knows_its_slices():
    half = merged([record(1, 3, HOSTS), record(2, 3, HOSTS)])
    assert half["verdict"]["result"] == "incomplete"
    whole = merged([half, record(3, 3, HOSTS)])
    assert whole["verdict"]["result"] == "pass"
    assert [part["slice"]["number"] for part in whole["merged"]] == [1, 2, 3]


def test_a_target_of_two_sweeps_is_refused():
    with pytest.raises(StageError, match="c1 is a target of both /from/0/sweep-x and /from/1/sweep-x"):
        merged([record(1, 2, HOSTS), record(1, 2, HOSTS)])


def test_a_slice_without_targets_passes_if_other_slices_have_some():
    assert sweep.judge([], [], part={"number": 4, "of": 4, "targets": 3})["result"] == "pass"
    assert sweep.judge([], [], part={"number": 4, "of": 4, "targets": 0})["result"] == "fail"
