# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep: its runs, its slow stages, and its verdict."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import jsonschema
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.sweep import (
    ExcludedHost,
    Outlier,
    PreflightCheck,
    PreflightKind,
    PreflightStatus,
    StageSpread,
    SweepVerdict,
    Target,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import Result, StageName
from ansible_collections.stackproof.provision.plugins.module_utils._record import run
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import read_record
from ansible_collections.stackproof.provision.plugins.module_utils._sweep import sweep, targets, verdict
from tree import RECORDED, ROOT

RUNS = RECORDED / "runs"
SCHEMA = json.loads((ROOT / "roles/report/files/sweep.schema.json").read_text())
PASSED, FAILED = "20261121-065105-bdb5f5", "20261121-065322-ce7f74"
SWEEP = "20261121-170000-a1b2c3"
LIMITS = sweep.Limits(times=3, seconds=5)


def names(found):
    return [target.name for target in found]


def test_each_host_is_a_target_with_a_run_of_its_own():
    found = targets.targets_of(["compute1", "compute2"], {}, SWEEP)
    assert found[0] == Target(name="compute1", key="compute1", run_id=f"{SWEEP}-compute1", host="compute1")
    assert names(found) == ["compute1", "compute2"]


def test_hosts_and_values_make_a_product_in_a_given_order():
    values = {"zone": ["z1", "z2"], "network": ["a"], "volume_type": []}
    found = targets.targets_of(["c1", "c2"], values, SWEEP)
    assert names(found) == [
        "c1, network a, zone z1",
        "c1, network a, zone z2",
        "c2, network a, zone z1",
        "c2, network a, zone z2",
    ]
    assert found[0].key == "c1-a-z1"


def test_each_host_is_paired_with_the_one_behind_it_in_a_ring():
    found = targets.targets_of(["c1", "c2", "c3"], {}, SWEEP, peers=1)
    assert [(target.name, target.key, target.second_host) for target in found] == [
        ("c1", "c1", "c2"),
        ("c2", "c2", "c3"),
        ("c3", "c3", "c1"),
    ]


def test_a_host_with_several_peers_is_told_by_both_names():
    hosts = ["c1.example.org", "c2.example.org", "c3.example.org", "c4.example.org"]
    found = targets.targets_of(hosts, {"zone": ["nova"]}, SWEEP, peers=2)
    assert [target.key for target in found] == [
        "c1-c2-nova",
        "c2-c3-nova",
        "c3-c4-nova",
        "c4-c1-nova",
        "c1-c3-nova",
        "c2-c4-nova",
    ]
    assert found[4].name == "c1.example.org to c3.example.org, zone nova"


@pytest.mark.parametrize("count", range(2, 12))
def test_half_of_the_hosts_as_peers_make_each_pair(count):
    """With two hosts both are first in a pair: each is to prove a boot of its own."""
    hosts = [f"c{number}" for number in range(count)]
    found = targets.targets_of(hosts, {}, SWEEP, peers=count)
    pairs = [frozenset((target.host, target.second_host)) for target in found]
    assert set(pairs) == set(map(frozenset, itertools.combinations(hosts, 2)))
    assert len(pairs) == len(set(pairs)) + (count == 2)
    assert {target.host for target in found} == set(hosts)
    assert len({target.name for target in found}) == len({target.run_id for target in found}) == len(found)


@pytest.mark.parametrize(("hosts", "values"), [(["c1"], {}), ([], {"zone": ["z1"]})])
def test_a_host_alone_and_one_that_the_cloud_chooses_have_no_peer(hosts, values):
    assert [target.second_host for target in targets.targets_of(hosts, values, SWEEP, peers=3)] == [None]


def test_values_alone_make_targets_whose_host_the_scheduler_chooses():
    found = targets.targets_of([], {"volume_type": ["fast", "slow", "fast"]}, SWEEP)
    assert names(found) == ["volume type fast", "volume type slow"]
    assert {target.host for target in found} == {None}


@pytest.mark.parametrize("values", [{}, {"network": []}])
def test_without_hosts_and_values_there_are_no_targets(values):
    assert targets.targets_of([], values, SWEEP) == []


def test_what_cannot_be_varied_is_refused():
    with pytest.raises(StageError, match="a sweep can vary network, volume_type, zone besides the hosts, not flavour"):
        targets.targets_of(["c1"], {"flavour": ["a"]}, SWEEP)


@pytest.mark.parametrize("sweep_id", ["A", "a", "x" * 32, "a b c"])
def test_an_id_that_is_none_is_refused(sweep_id):
    with pytest.raises(StageError, match="is not a sweep id: it has 3 to 31 lower-case letters"):
        targets.targets_of(["c1"], {}, sweep_id)


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
    found = targets.targets_of(hosts, {}, SWEEP)
    found_keys = [target.key for target in found]
    assert len(set(found_keys)) == len(hosts)
    assert all(run.RUN_ID.fullmatch(target.run_id) for target in found)
    if "rack-17" not in hosts[0]:
        assert found_keys == keys


def test_a_thousand_long_names_have_keys_of_their_own():
    hosts = [f"a-very-long-name-of-a-compute-host-{number}.example.org" for number in range(1000)]
    found = targets.targets_of(hosts, {}, SWEEP)
    assert len({target.run_id for target in found}) == 1000
    assert max(len(target.run_id) for target in found) <= 40


# After the runs


@pytest.fixture
def passed():
    return read_record(RUNS / PASSED)


@pytest.fixture
def failed():
    return read_record(RUNS / FAILED)


@pytest.fixture
def target(passed):
    """Return a function that makes a finished target out of a recorded run."""

    def make(name, record=passed, **seconds):
        stages = [replace(stage, duration_s=seconds.get(stage.stage, stage.duration_s)) for stage in record.stages]
        made = targets.targets_of([name], {}, SWEEP)[0]
        return sweep.with_run(made, replace(record, stages=tuple(stages)), f"../{made.run_id}")

    return make


def check(status=PreflightStatus.FAILED, reason="nova-compute on c9 is down", host="c9"):
    return PreflightCheck(PreflightKind.SERVICE, "x", status, reason, host, "nova")


OK, UNREADABLE = PreflightStatus.OK, PreflightStatus.UNREADABLE


def validate(record):
    data = codec.to_json(record)
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    assert codec.to_json(codec.from_json(type(record), data)) == data


def test_record_of_a_sweep_is_valid_from_its_begin_to_its_end(passed, failed):
    whole = targets.targets_of(["c1", "c2", "c3"], {"zone": ["nova"]}, SWEEP)
    excluded = [ExcludedHost("c4", "disabled: repair")]
    record = sweep.new_sweep(SWEEP, "small", whole, [check(), check(OK, "it answers", None)], excluded, 4)
    validate(record)
    assert record.verdict.result is Result.INCOMPLETE
    first, second, third = record.targets
    outcomes = [sweep.with_run(first, passed, "../a"), sweep.with_run(second, failed, "../b"), third]
    record = sweep.finish(record, outcomes, LIMITS)
    validate(record)
    assert [target.result for target in record.targets] == ["pass", "fail", "incomplete"]
    assert record.duration_s >= 0


def test_target_has_the_cause_of_its_failure_in_fields(target, failed):
    made = target("c1", failed)
    assert (made.stage, made.how, made.result) == ("boot", "forbidden", "fail")
    assert sweep.without_run(made, "its run was not begun").how == "not_begun"


def test_medians_count_only_stages_that_worked(target, failed):
    found = sweep.spreads([target("c1", boot=10.0), target("c2", boot=12.0), target("c3", failed)])
    assert next(spread for spread in found if spread.stage == "boot") == StageSpread(StageName.BOOT, 2, 11.0, 12.0)


def outliers(found, limits=LIMITS):
    return sweep.outliers(found, sweep.spreads(found), limits)


def test_stage_far_above_the_median_is_an_outlier(target):
    (slow,) = outliers([target("c1", boot=10.0), target("c2", boot=10.0), target("c3", boot=41.0)])
    assert (slow.target, slow.stage, slow.times) == ("c3", "boot", 4.1)
    assert slow.reason == "c3: boot took 41.0 s, 4.1 times the median of 10.0 s"


@pytest.mark.parametrize(
    ("seconds", "times", "least"),
    [(41.0, 5, 5), (29.9, 3, 5), (14.9, 1.2, 5), (41.0, 3, 60)],
)
def test_stage_near_the_median_or_too_short_to_matter_is_no_outlier(target, seconds, times, least):
    found = [target("c1", boot=10.0), target("c2", boot=10.0), target("c3", boot=seconds)]
    assert outliers(found, sweep.Limits(times, least)) == []


def test_median_of_zero_seconds_divides_nothing(target):
    slow = outliers([target("c1", image=0.0), target("c2", image=0.0), target("c3", image=6.0)])
    assert [outlier.stage for outlier in slow] == ["image"]


def test_one_slow_host_of_two_is_no_outlier_as_it_is_unknown_which_is_usual(target):
    assert outliers([target("c1", boot=10.0), target("c2", boot=100.0)]) == []


def wrong(target, reason, result=Result.FAIL):
    return replace(target, result=result, reason=reason)


def test_targets_that_ended_alike_are_one_group_whatever_their_words(target, failed):
    first = wrong(target("c1", failed), "boot: c1 failed after 1.5 s at 10.0.0.1:5672")
    second = wrong(target("c2", failed), "boot: c2 failed after 2.5 s at 10.0.0.2:5672")
    other = replace(target("c5", failed), component="nova-conductor")
    groups = verdict.alike([target("c3"), first, second, target("c4"), other])
    assert [names(group) for group in groups] == [["c3", "c4"], ["c1", "c2"], ["c5"]]


@pytest.mark.parametrize("field", ["component", "how", "stage"])
def test_targets_whose_failures_differ_in_a_field_are_two_groups(target, failed, field):
    groups = verdict.alike([target("c1", failed), replace(target("c2", failed), **{field: "another"})])
    assert [names(group) for group in groups] == [["c1"], ["c2"]]


def slow_boot(reason):
    return Outlier("c2", StageName.BOOT, 9.0, 3.0, 3.0, reason)


@pytest.mark.parametrize(
    ("before", "slow", "words"),
    [
        ([], [], "All 2 targets passed."),
        ([check(OK)], [], "All 2 targets passed."),
        ([check(UNREADABLE, "nova does not answer")], [], "All 2 targets passed. Unknown: nova does not answer."),
        ([], [slow_boot("c2: boot took long")], "All 2 targets passed. Slow: c2: boot took long."),
    ],
)
def test_pass_lists_what_is_unknown(target, before, slow, words):
    assert verdict.judge([target("c1"), target("c2")], before, slow) == SweepVerdict(Result.PASS, words)


def test_one_target_is_called_by_its_name(target):
    assert verdict.judge([target("c1")], []).reason == "The target c1 passed."


def test_failure_names_the_hosts_and_the_failed_checks(target, failed):
    found = verdict.judge([target("c1"), wrong(target("c2", failed), "boot: no valid host.")], [check()])
    assert found.result is Result.FAIL
    assert found.hosts == ("c2", "c9")
    assert found.reason == (
        "1 of 2 targets did not pass. c2: boot: no valid host. Preflight: nova-compute on c9 is down."
    )


def test_many_failures_are_reported_in_short(target, failed):
    bad = [wrong(target(f"c{number}", failed), "boot: no valid host.") for number in range(50)]
    found = verdict.judge(bad, [])
    assert found.reason == "50 of 50 targets did not pass. c0, c1, c2, and 47 more: boot: no valid host."
    assert len(found.hosts) == 50


def test_dead_service_alone_fails_the_whole(target):
    found = verdict.judge([target("c1")], [check()])
    assert (found.result, found.hosts) == (Result.FAIL, ("c9",))


def test_run_without_an_end_leaves_the_whole_without_one(target):
    found = verdict.judge([target("c1"), wrong(target("c2"), "it broke off", Result.INCOMPLETE)], [])
    assert (found.result, found.hosts) == (Result.INCOMPLETE, ("c2",))


def test_sweep_over_nothing_is_no_pass():
    assert verdict.judge([], []).reason == "There was no host to provision on."
    assert verdict.judge([], []).result is Result.FAIL
