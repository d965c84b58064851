# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words for a comparison of two results."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model.comparison import (
    CheckChange,
    Comparison,
    PreflightChange,
    Side,
    StageChange,
    StepChange,
    TimeChange,
    VerdictChange,
    VersionChange,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.sweep import PreflightStatus
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import (
    CheckStatus,
    Result,
    StageName,
    StageStatus,
    StepStatus,
)
from ansible_collections.stackproof.provision.plugins.module_utils._report import comparison

BEFORE = Side("before", "lab", "full", 0.0, 60.0, Result.PASS, 2)
NOW = replace(BEFORE, id="now", result=Result.FAIL)
SAME = Comparison("stackproof.comparison/1", BEFORE, NOW, 2, (), (), (), (), (), (), ())
DIFFERENT = replace(
    SAME,
    verdicts=(VerdictChange("c2", Result.PASS, Result.FAIL, "northd (controller1): stopped"),),
    stages=(StageChange(StageName.BOOT, StageStatus.OK, StageStatus.FAILED, 3, "c2"),),
    times=(TimeChange(StageName.NETWORK, 1.4, 12.6, 9.0, 2),),
    checks=(CheckChange("c2", "A lease is there", CheckStatus.OK, CheckStatus.NOT_APPLICABLE, 1, "OVN answers"),),
    preflight=(PreflightChange("nova-compute on c2", PreflightStatus.OK, None, ""),),
    versions=(VersionChange("API of compute", None, "2.100"),),
    steps=(StepChange("ops_guide", "13", "Build instance", StepStatus.SEEN, StepStatus.MISSING, 1),),
)


@pytest.mark.parametrize(
    "line",
    [
        "  before: before on lab, level full, 1970-01-01 00:00:00 UTC: PASS, 2 targets",
        "    c2: pass before, fail now: northd (controller1): stopped",
        "    boot: ok before, failed now on c2 and 2 more",
        "    network: 1.4 s before, 12.6 s now, 9 times as long (2 targets)",
        "    c2: A lease is there: ok before, not applicable now (1 target): OVN answers",
        "    nova-compute on c2: ok before, not there now",
        "    API of compute: not there before, 2.100 now",
        "    ops_guide 13 (Build instance): seen before, missing now (1 target)",
    ],
)
def test_each_difference_is_a_line_with_both_sides(line: str) -> None:
    assert line in comparison.lines_of(DIFFERENT)


def test_results_that_do_not_differ_say_so() -> None:
    assert "  Nothing is different on 2 targets." in comparison.lines_of(SAME)
    assert not any("Nothing is different" in line for line in comparison.lines_of(DIFFERENT))


@pytest.mark.parametrize(
    ("compared", "words"),
    [
        (replace(SAME, now=replace(NOW, cloud="other")), "different clouds"),
        (replace(SAME, now=replace(NOW, level="smoke")), "different levels"),
        (replace(SAME, compared=0), "No target is in both results"),
    ],
)
def test_another_reason_for_differences_is_named(compared: Comparison, words: str) -> None:
    assert any(words in line for line in comparison.lines_of(compared))
    assert not any(words in line for line in comparison.lines_of(SAME))


def test_many_differences_of_one_kind_are_counted() -> None:
    versions = tuple(VersionChange(f"API {number}", "1", "2") for number in range(25))
    assert "    and 5 more" in comparison.lines_of(replace(SAME, versions=versions))


def test_words_of_a_cloud_control_no_terminal() -> None:
    hostile = replace(SAME, verdicts=(VerdictChange("c1", Result.PASS, Result.FAIL, "\x1b[2J"),))
    assert not any("\x1b" in line for line in comparison.lines_of(hostile))
