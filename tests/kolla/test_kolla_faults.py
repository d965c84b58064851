# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults on a cloud of kolla, each run once: the record is sound, and what the verdict says is noted for the table."""

from __future__ import annotations

import json

import pytest
from fault_runs import run_with
from kolla_faults import FAULTS, Kolla
from runs_under_test import directories, left_of
from test_verify import assert_sound
from tree import ROOT
from truths import as_markdown, compare, half_of, note

CONFUSION = ROOT / ".cache/kolla-confusion.json"

# make soak-kolla runs them once, as each takes more than a minute.
pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def broken(kolla, admin):
    return Kolla(kolla, admin)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=[f"{half_of('kolla', name)}-{name}" for name in FAULTS])
def test_a_fault_is_noted(fault, broken, admin, tmp_path):
    runs = tmp_path / "runs"
    runs.mkdir()
    outcome = run_with(broken, fault, runs)
    note(CONFUSION, compare(fault, outcome.record))
    assert_sound(outcome)
    assert left_of(directories(runs), admin, None) == []


def test_how_verdicts_and_truth_compare():
    """Shown as a table, as it is."""
    rows = json.loads(CONFUSION.read_text())
    print("\n" + as_markdown(sorted(rows, key=lambda row: list(FAULTS).index(row["fault"]))))
    assert {row["fault"] for row in rows} == set(FAULTS)
