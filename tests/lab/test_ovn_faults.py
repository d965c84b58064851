# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults of OVN's parts, each run once: the record is sound, and what the verdict says is noted for the table."""

from __future__ import annotations

import json

import pytest
from breaking import Lab
from fault_runs import run_with
from lab_under_test import NETWORK
from ovn_faults import FAULTS
from test_verify import assert_sound
from tree import ROOT
from truths import as_markdown, compare, note

CONFUSION = ROOT / ".cache/ovn-confusion.json"

# make soak-ovn builds a lab with OVN and runs them once, as each takes a minute or two. make soak is for Open vSwitch's
# agents.
pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(NETWORK != "ovn", reason="the lab has no OVN: LAB_NETWORK=ovn make lab"),
]


@pytest.fixture(scope="module")
def lab(lab_hosts):
    return Lab(lab_hosts)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_is_noted(fault, lab, runs):
    outcome = run_with(lab, fault, runs)
    note(CONFUSION, compare(fault, outcome.record))
    assert_sound(outcome)


def test_how_verdicts_and_truth_compare():
    """Told as a table, as it is: the judge was not made for these faults."""
    rows = json.loads(CONFUSION.read_text())
    assert {row["fault"] for row in rows} == set(FAULTS)
    print("\n" + as_markdown(sorted(rows, key=lambda row: list(FAULTS).index(row["fault"]))))
