# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep: its runs, its slow stages, and its verdict."""

from __future__ import annotations

import copy
import json

import jsonschema
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._record import run
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from ansible_collections.stackproof.provision.plugins.module_utils._sweep import sweep
from tree import RECORDED, ROOT

RUNS = RECORDED / "runs"
SCHEMA = json.loads((ROOT / "roles/report/files/sweep.schema.json").read_text())
PASSED, FAILED = "20261121-065105-bdb5f5", "20261121-065322-ce7f74"
SWEEP = "20261121-170000-a1b2c3"


def names(targets):
    return [target["name"] for target in targets]


def test_each_host_is_a_target_with_a_run_of_its_own():
    targets = sweep.targets_of(["compute1", "compute2"], {}, SWEEP)
    assert targets[0] == {
        "name": "compute1",
        "key": "compute1",
        "run_id": f"{SWEEP}-compute1",
        "host": "compute1",
        "network": None,
        "volume_type": None,
        "zone": None,
    }
    assert names(targets) == ["compute1", "compute2"]


def test_hosts_and_values_make_a_product_in_a_given_order():
    values = {"zone": ["z1", "z2"], "network": ["a"], "volume_type": []}
    targets = sweep.targets_of(["c1", "c2"], values, SWEEP)
    assert names(targets) == [
        "c1, network a, zone z1",
        "c1, network a, zone z2",
        "c2, network a, zone z1",
        "c2, network a, zone z2",
    ]
    assert targets[0]["key"] == "c1-a-z1"


def test_values_alone_make_targets_whose_host_the_scheduler_chooses():
    targets = sweep.targets_of([], {"volume_type": ["fast", "slow", "fast"]}, SWEEP)
    assert names(targets) == ["volume type fast", "volume type slow"]
    assert {target["host"] for target in targets} == {None}


@pytest.mark.parametrize("values", [{}, {"network": []}])
def test_without_hosts_and_values_there_are_no_targets(values):
    assert sweep.targets_of([], values, SWEEP) == []


def test_what_cannot_be_varied_is_refused():
    with pytest.raises(StageError, match="a sweep knows network, volume_type, zone besides the hosts, not flavour"):
        sweep.targets_of(["c1"], {"flavour": ["a"]}, SWEEP)


@pytest.mark.parametrize("sweep_id", ["A", "a", "x" * 32, "a b c"])
def test_an_id_that_is_none_is_refused(sweep_id):
    with pytest.raises(StageError, match="is not a sweep id: 3 to 31 small letters"):
        sweep.targets_of(["c1"], {}, sweep_id)


@pytest.mark.parametrize(
    ("hosts", "keys"),
    [
        (["c1.example.org", "c2.example.org"], ["c1", "c2"]),
        (["c1.one.example.org", "c1.two.example.org"], ["c1", "c1-2"]),
        (["Rack_1.Node"], ["rack-1"]),
        (["compute-rack-17-number-1", "compute-rack-17-number-2"], ["compute-rack-17", "compute-rack-1"]),
        (["___"], ["target"]),
        (["a", "a-3", "A"], ["a", "a-3", "a-4"]),
    ],
)
def test_keys_fit_into_the_id_of_a_run_and_differ(hosts, keys):
    targets = sweep.targets_of(hosts, {}, SWEEP)
    found_keys = [target["key"] for target in targets]
    assert len(set(found_keys)) == len(hosts)
    assert all(run.RUN_ID.fullmatch(target["run_id"]) for target in targets)
    if "rack-17" not in hosts[0]:
        assert found_keys == keys


def test_a_thousand_long_names_have_keys_of_their_own():
    hosts = [f"a-very-long-name-of-a-compute-host-{number}.example.org" for number in range(1000)]
    targets = sweep.targets_of(hosts, {}, SWEEP)
    assert len({target["run_id"] for target in targets}) == 1000
    assert max(len(target["run_id"]) for target in targets) <= 40


# After the runs


@pytest.fixture
def passed():
    return run.read_record(RUNS / PASSED)


@pytest.fixture
def failed():
    return run.read_record(RUNS / FAILED)


@pytest.fixture
def target(passed):
    """Return a function that makes a finished target out of a recorded run."""

    def make(name, record=passed, **seconds):
        record = copy.deepcopy(record)
        for stage in record["stages"]:
            stage["duration_s"] = seconds.get(stage["stage"], stage["duration_s"])
        made = sweep.targets_of([name], {}, SWEEP)[0]
        return {**made, **sweep.outcome(record, f"../{made['run_id']}")}

    return make


def check(status="failed", reason="nova-compute on c9 is down", host="c9"):
    return {"name": "x", "status": status, "reason": reason, "host": host, "component": "nova"}


def test_a_sweep_is_valid_from_its_begin_to_its_end(passed, failed):
    targets = sweep.targets_of(["c1", "c2", "c3"], {"zone": ["nova"]}, SWEEP)
    left_out = [{"host": "c4", "reason": "disabled: repair"}]
    record = sweep.new_record(SWEEP, "small", targets, [check(), check("ok", None, None)], left_out, 4)
    jsonschema.validate(record, SCHEMA)
    assert record["verdict"]["result"] == "incomplete"
    came = [sweep.outcome(passed, "../a"), sweep.outcome(failed, "../b"), sweep.unknown_outcome("it was not begun")]
    outcomes = {target["key"]: outcome for target, outcome in zip(targets, came)}
    record = sweep.finish(record, outcomes, 3, 5)
    jsonschema.validate(record, SCHEMA)
    assert [target["result"] for target in record["targets"]] == ["pass", "fail", "incomplete"]
    assert record["duration_s"] >= 0


def test_medians_count_only_stages_that_worked(target, failed):
    targets = [target("c1", boot=10.0), target("c2", boot=12.0), target("c3", failed)]
    boot = next(median for median in sweep.medians(targets) if median["stage"] == "boot")
    assert boot == {"stage": "boot", "targets": 2, "median_s": 11.0, "max_s": 12.0}


def test_a_stage_far_above_the_median_is_an_outlier(target):
    targets = [target("c1", boot=10.0), target("c2", boot=10.0), target("c3", boot=41.0)]
    outliers = sweep.outliers(targets, sweep.medians(targets), 3, 5)
    assert [(outlier["target"], outlier["stage"], outlier["times"]) for outlier in outliers] == [("c3", "boot", 4.1)]
    assert outliers[0]["reason"] == "c3: boot took 41.0 s, 4.1 times the median of 10.0 s"


@pytest.mark.parametrize(
    ("seconds", "times", "least"),
    [(41.0, 5, 5), (29.9, 3, 5), (14.9, 1.2, 5), (41.0, 3, 60)],
)
def test_what_is_not_so_far_above_or_too_short_to_matter_is_none(target, seconds, times, least):
    targets = [target("c1", boot=10.0), target("c2", boot=10.0), target("c3", boot=seconds)]
    assert sweep.outliers(targets, sweep.medians(targets), times, least) == []


def test_a_median_of_nothing_divides_nothing(target):
    targets = [target("c1", image=0.0), target("c2", image=0.0), target("c3", image=6.0)]
    assert [outlier["stage"] for outlier in sweep.outliers(targets, sweep.medians(targets), 3, 5)] == ["image"]


def test_one_slow_host_of_two_is_none_as_nobody_knows_which_is_usual(target):
    targets = [target("c1", boot=10.0), target("c2", boot=100.0)]
    assert sweep.outliers(targets, sweep.medians(targets), 3, 5) == []


def wrong(target, reason, result="fail"):
    return {**target, "result": result, "reason": reason}


def test_targets_that_ended_alike_are_one_group(target, failed):
    number = "-1234-1234-1234-123456789012"
    reason = (
        "boot: the server stackproof-20261121-170000-{0}-server failed on {0} after {1}.5 s (req-{1}abcdef0" + number
    )
    alike = [wrong(target(name, failed), reason.format(name, number)) for number, name in enumerate(["c1", "c2"])]
    groups = sweep.alike([target("c3"), *alike, target("c4"), target("c5", failed)])
    assert [[target["name"] for target in group] for group in groups] == [["c3", "c4"], ["c1", "c2"], ["c5"]]


@pytest.mark.parametrize(
    ("before", "slow", "words"),
    [
        ([], [], "All 2 targets passed."),
        ([check("ok")], [], "All 2 targets passed."),
        ([check("unreadable", "nova does not say")], [], "All 2 targets passed. Not known: nova does not say."),
        ([], [{"reason": "c2: boot took long"}], "All 2 targets passed. Slow: c2: boot took long."),
    ],
)
def test_a_pass_says_what_it_does_not_know(target, before, slow, words):
    verdict = sweep.judge([target("c1"), target("c2")], before, slow)
    assert verdict == {"result": "pass", "reason": words, "hosts": []}


def test_one_target_is_called_by_its_name(target):
    assert sweep.judge([target("c1")], [])["reason"] == "The target c1 passed."


def test_a_failure_names_the_hosts_and_what_was_wrong_before(target, failed):
    verdict = sweep.judge([target("c1"), wrong(target("c2", failed), "boot: no valid host.")], [check()])
    assert verdict["result"] == "fail"
    assert verdict["hosts"] == ["c2", "c9"]
    assert verdict["reason"] == (
        "1 of 2 targets did not pass. c2: boot: no valid host. Before the sweep: nova-compute on c9 is down."
    )


def test_many_failures_are_said_in_short(target, failed):
    bad = [wrong(target(f"c{number}", failed), "boot: no valid host.") for number in range(50)]
    verdict = sweep.judge(bad, [])
    assert verdict["reason"] == ("50 of 50 targets did not pass. c0, c1, c2, and 47 more: boot: no valid host.")
    assert len(verdict["hosts"]) == 50


def test_a_dead_service_alone_fails_the_whole(target):
    verdict = sweep.judge([target("c1")], [check()])
    assert (verdict["result"], verdict["hosts"]) == ("fail", ["c9"])


def test_a_run_without_an_end_leaves_the_whole_without_one(target):
    verdict = sweep.judge([target("c1"), wrong(target("c2"), "it broke off", "incomplete")], [])
    assert (verdict["result"], verdict["hosts"]) == ("incomplete", ["c2"])


def test_a_sweep_over_nothing_is_no_pass():
    assert sweep.judge([], [])["reason"] == "There was no host to provision on."
    assert sweep.judge([], [])["result"] == "fail"
