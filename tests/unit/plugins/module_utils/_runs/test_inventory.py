# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory of recorded runs: the versions behind them, and what was not checked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.inventory import (
    FinishedRun,
    Inventory,
    Skipped,
    SkippedKind,
    Tools,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.level import LeftOut, RunLevel
from ansible_collections.stackproof.provision.plugins.module_utils._model.sweep import (
    ExcludedHost,
    PreflightCheck,
    PreflightKind,
    PreflightStatus,
    Target,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import read_as
from ansible_collections.stackproof.provision.plugins.module_utils._runs import inventory
from ansible_collections.stackproof.provision.plugins.module_utils._sweep.sweep import new_sweep
from tree import RECORDED

PASSED, FAILED = "20261121-065105-bdb5f5", "20261121-065322-ce7f74"
TOOLS = Tools("0.3.0", "2.20.0", "3.13.0", "4.4.0")


def run_of(name: str, place: Path = RECORDED / "runs") -> FinishedRun:
    return read_as(FinishedRun, str(place / name))


def test_versions_of_the_apis_and_what_was_chosen_are_there() -> None:
    found = inventory.of_run(run_of(PASSED))
    apis = {api.service: api for api in found.services}
    assert apis["compute"].max_microversion
    assert list(apis) == sorted(apis)
    assert {chosen.kind for chosen in found.chosen} >= {"image", "flavor"}


def test_hosts_have_their_parts() -> None:
    hosts = {host.host: host for host in inventory.of_run(run_of("ovn", RECORDED)).hosts}
    assert "compute" in hosts["compute1"].parts


def test_tools_are_those_of_the_record() -> None:
    run = run_of(PASSED)
    assert inventory.of_run(run).tools == ()
    assert inventory.of_run(replace(run, tools=TOOLS)).tools == (TOOLS,)


def test_skipped_stages_have_their_reason() -> None:
    skipped = inventory.of_run(run_of(FAILED)).skipped
    assert skipped == (Skipped(SkippedKind.STAGE, "metadata", "the stage boot failed before", FAILED),)


def test_checks_that_do_not_apply_have_their_host_and_their_reason() -> None:
    skipped = inventory.of_run(run_of("ovn", RECORDED)).skipped
    assert len(skipped) == 8
    assert {(found.kind, found.host) for found in skipped} == {(SkippedKind.CHECK, "network1")}
    assert all(found.reason for found in skipped)


def test_parts_of_the_level_that_were_left_out_are_skipped() -> None:
    level = RunLevel("full", (LeftOut("stackproof_floating_ip", "stackproof_external_network"),))
    found = inventory.of_run(replace(run_of(PASSED), level=level))
    reason = "stackproof_floating_ip needs stackproof_external_network, which is not set"
    assert found.level == "full"
    assert found.skipped == (Skipped(SkippedKind.LEVEL, "stackproof_floating_ip", reason, PASSED),)


def test_sweep_has_each_version_once_and_what_its_preflight_could_not_check() -> None:
    targets = [Target("c1", "c1", "nightly-c1", directory="../nightly-c1"), Target("c2", "c2", "nightly-c2", "c2")]
    unreadable = PreflightCheck(
        PreflightKind.QUOTA, "quota cores", PreflightStatus.UNREADABLE, "nova did not answer", None, "nova"
    )
    passed = replace(unreadable, name="quota ram", status=PreflightStatus.OK)
    sweep = new_sweep("nightly", "lab", targets, [unreadable, passed], [ExcludedHost("c3", "new disks")], level="full")
    sweep = replace(sweep, targets=(targets[0], sweep.targets[1]))
    found = inventory.of_sweep(sweep, [run_of(PASSED), run_of(FAILED)])
    assert found.level == "full"
    assert len(found.services) == len({api.service for api in found.services})
    assert [(skipped.kind, skipped.what, skipped.reason) for skipped in found.skipped[:3]] == [
        (SkippedKind.PREFLIGHT, "quota cores", "nova did not answer"),
        (SkippedKind.HOST, "c3", "new disks"),
        (SkippedKind.TARGET, "c2", "The run was not begun."),
    ]
    assert found.skipped[3].run_id == FAILED


def test_inventory_is_read_as_it_was_written() -> None:
    found = inventory.of_run(replace(run_of(FAILED), tools=TOOLS))
    assert codec.from_json(Inventory, codec.to_json(found)) == found
