# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Comparisons of recorded runs, and of sweeps that are made of them: what is different, and what is only noise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.comparison import (
    Comparison,
    StageChange,
    StepChange,
    VerdictChange,
    VersionChange,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.inventory import FinishedRun, Tools
from ansible_collections.stackproof.provision.plugins.module_utils._model.sweep import (
    PreflightCheck,
    PreflightKind,
    PreflightStatus,
    Sweep,
    Target,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import (
    CheckStatus,
    Result,
    StageName,
    StageStatus,
    StepStatus,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import read_as, read_record
from ansible_collections.stackproof.provision.plugins.module_utils._runs import inventory
from ansible_collections.stackproof.provision.plugins.module_utils._runs.comparison import compare
from ansible_collections.stackproof.provision.plugins.module_utils._runs.results import ALONE, FinishedResult
from ansible_collections.stackproof.provision.plugins.module_utils._sweep import sweep as sweeps
from tree import RECORDED

PASSED, FAILED = "20261121-065105-bdb5f5", "20261121-065322-ce7f74"
WITH_OVS, WITH_OVN, REMOVED = RECORDED / "followed", RECORDED / "ovn", RECORDED / "removed"


def run_at(place: Path) -> FinishedRun:
    return read_as(FinishedRun, str(place))


def alone(run: FinishedRun) -> FinishedResult:
    return FinishedResult(inventory.of_run(run), {ALONE: run})


def recorded(name: str) -> FinishedResult:
    return alone(run_at(RECORDED / "runs" / name))


def boot_of(run: FinishedRun, seconds: float) -> FinishedRun:
    """Return a run whose boot took another time."""
    stages = [replace(each, duration_s=seconds) if each.stage is StageName.BOOT else each for each in run.stages]
    return replace(run, stages=tuple(stages))


def sweep_of(names: list[str], boots: list[float], *preflight: PreflightCheck) -> FinishedResult:
    """Return a sweep whose targets all have the recorded pass, but for the seconds of their boots."""
    record = read_record(str(RECORDED / "runs" / PASSED))
    run = run_at(RECORDED / "runs" / PASSED)
    targets = [sweeps.with_run(Target(name, name, f"run-{name}", name), record, f"../run-{name}") for name in names]
    begun = sweeps.new_sweep("nightly", "lab", targets, preflight)
    ended: Sweep = sweeps.finish(begun, targets, sweeps.Limits(3, 5))
    runs = dict(zip(names, (boot_of(run, seconds) for seconds in boots), strict=True))
    return FinishedResult(inventory.of_sweep(ended, [*runs.values()]), runs, ended)


def test_nothing_is_different_between_a_run_and_itself() -> None:
    compared = compare(recorded(PASSED), recorded(PASSED))
    assert compared.is_empty
    assert compared.compared == 1


def test_run_that_fails_now_has_its_verdict_and_its_stages() -> None:
    compared = compare(recorded(PASSED), recorded(FAILED))
    (verdict,) = compared.verdicts
    assert (verdict.before, verdict.now) == (Result.PASS, Result.FAIL)
    assert "Policy doesn't allow compute:servers:create:requested_destination" in (verdict.headline or "")
    assert compared.stages == (
        StageChange(StageName.BOOT, StageStatus.OK, StageStatus.FAILED, 1, ALONE),
        StageChange(StageName.METADATA, StageStatus.OK, StageStatus.SKIPPED, 1, ALONE),
    )
    assert compared.times == ()


def test_run_that_passes_again_says_what_was_wrong() -> None:
    (verdict,) = compare(recorded(FAILED), recorded(PASSED)).verdicts
    assert (verdict.before, verdict.now) == (Result.FAIL, Result.PASS)
    assert "Policy doesn't allow" in (verdict.headline or "")


def test_comparison_is_read_as_it_was_written() -> None:
    compared = compare(recorded(PASSED), recorded(FAILED))
    assert codec.from_json(Comparison, codec.to_json(compared)) == compared


def test_run_is_not_compared_with_a_sweep() -> None:
    with pytest.raises(StageError, match="not of one kind: one is a run, the other a sweep"):
        compare(recorded(PASSED), sweep_of(["c1"], [10]))


# Times

FIVE = ["c1", "c2", "c3", "c4", "c5"]


@pytest.mark.parametrize(
    ("before", "now", "ratio"),
    [
        ([10], [19], None),
        ([10], [20], 2),
        ([20], [10], 0.5),
        ([0.5], [1.5], None),
        ([10] * 4, [19] * 4, None),
        ([9, 10, 10, 10, 11], [13] * 5, 1.3),
        ([9, 10, 10, 10, 14], [13] * 5, None),
        ([10] * 5, [10.9] * 5, None),
        ([100] * 5, [105] * 5, None),
        ([10, 10, 10, 10, 11], [8] * 5, 0.8),
    ],
    ids=[
        "a run, below twice", "a run, twice", "a run, half", "a run, a second", "four targets are few",
        "five, beyond all", "five, within the spread", "five, below a second", "five, below 10 %", "five, shorter",
    ],
)  # fmt: skip
def test_time_is_different_only_beyond_noise(before: list[float], now: list[float], ratio: float | None) -> None:
    names = FIVE[: len(before)]
    times = compare(sweep_of(names, before), sweep_of(names, now)).times
    assert [(change.stage, change.ratio, change.targets) for change in times] == (
        [(StageName.BOOT, ratio, len(names))] if ratio else []
    )


def test_only_targets_of_both_results_count_for_times() -> None:
    compared = compare(sweep_of(["c1", "c2"], [10, 10]), sweep_of(["c1", "c3"], [10, 90]))
    assert (compared.compared, compared.times) == (1, ())
    assert compared.verdicts == (
        VerdictChange("c2", Result.PASS, None, None),
        VerdictChange("c3", None, Result.PASS, None),
    )


# Checks, versions, steps


def test_checks_of_hosts_that_came_out_differently_have_both_statuses_and_the_reason() -> None:
    checks = compare(alone(run_at(WITH_OVS)), alone(run_at(WITH_OVN))).checks
    (dnsmasq,) = [change for change in checks if change.check == "One dnsmasq runs for each network of the instance"]
    assert (dnsmasq.host, dnsmasq.before, dnsmasq.now) == ("network1", CheckStatus.OK, CheckStatus.NOT_APPLICABLE)
    assert "OVN answers DHCP by itself" in (dnsmasq.reason or "")
    assert [(change.host, change.check) for change in checks] == sorted(
        (change.host, change.check) for change in checks
    )


def test_check_of_many_targets_is_one_change() -> None:
    before, now = sweep_of(["c1", "c2"], [10, 10]), sweep_of(["c1", "c2"], [10, 10])
    ovs, ovn = run_at(WITH_OVS), run_at(WITH_OVN)
    before, now = replace(before, runs=dict.fromkeys(FIVE[:2], ovs)), replace(now, runs=dict.fromkeys(FIVE[:2], ovn))
    checks = compare(before, now).checks
    assert {change.targets for change in checks} == {2}


def test_host_that_was_not_checked_before_is_no_change_of_its_checks() -> None:
    assert compare(recorded(PASSED), alone(run_at(WITH_OVN))).checks == ()


def test_preflight_check_that_fails_now_is_a_change() -> None:
    passed = PreflightCheck(PreflightKind.SERVICE, "nova-compute on c1", PreflightStatus.OK, "up", "c1", "nova-compute")
    failed = replace(passed, status=PreflightStatus.FAILED, reason="down since 08:53")
    before, now = sweep_of(["c1"], [10], passed), sweep_of(["c1"], [10], failed)
    (change,) = compare(before, now).preflight
    assert (change.check, change.before, change.now) == ("nova-compute on c1", "ok", "failed")
    assert change.reason == "down since 08:53"
    assert compare(before, before).preflight == ()


def test_versions_of_apis_tools_and_parts_of_hosts_are_compared() -> None:
    run = replace(run_at(WITH_OVS), tools=Tools("0.2.0", "2.19.0", "3.13.0", "4.4.0"))
    later = replace(run_at(WITH_OVN), tools=Tools("0.3.0", "2.19.0", "3.13.0", "4.4.0"))
    versions = compare(alone(run), alone(later)).versions
    assert VersionChange("stackproof.provision", "0.2.0", "0.3.0") in versions
    assert VersionChange("parts of controller1", "control, queue", "control, ovn, queue") in versions
    assert not [change for change in versions if change.what in ("ansible-core", "Python")]


def test_api_with_another_microversion_is_a_change() -> None:
    run = run_at(RECORDED / "runs" / PASSED)
    before = alone(run)
    services = [
        replace(api, max_microversion="2.90") if api.service == "compute" else api for api in before.inventory.services
    ]
    known = {api.service: api for api in before.inventory.services}
    older = replace(before, inventory=replace(before.inventory, services=tuple(services)))
    assert compare(older, before).versions == (
        VersionChange("API of compute", "2.90", known["compute"].max_microversion),
    )


def test_step_that_is_missing_now_is_a_change_and_one_that_is_missing_both_times_is_none() -> None:
    now = run_at(REMOVED)
    missing = [step for flow in now.flows for step in flow.steps if step.status is StepStatus.MISSING]
    assert missing
    flows = [
        replace(flow, steps=tuple(replace(step, status=StepStatus.SEEN) for step in flow.steps)) for flow in now.flows
    ]
    before = replace(now, flows=tuple(flows))
    steps = compare(alone(before), alone(now)).steps
    flow = now.flows[0].name
    assert steps == tuple(
        StepChange(flow, step.id, step.message, StepStatus.SEEN, StepStatus.MISSING, 1) for step in missing
    )
    assert compare(alone(now), alone(now)).steps == ()
    assert {change.now for change in compare(alone(now), alone(before)).steps} == {StepStatus.SEEN}
