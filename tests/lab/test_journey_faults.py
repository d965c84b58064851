# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fault that a server or its paths meet after the boot is judged, and the verdict is noted beside the truth.

The sets of other writers are drawn once, unseen: pytest -m drawn. That of the project is part of make soak.
"""

from __future__ import annotations

import pytest
from breaking import Lab
from fault_runs import run_with
from journey_faults import FAULTS
from lab_under_test import NETWORK
from operations_fresh import FAULTS as FRESH
from operations_second_fresh import FAULTS as SECOND_FRESH
from operations_third_fresh import FAULTS as THIRD_FRESH
from test_verify import assert_sound
from tree import ROOT
from truths import assert_all_noted, compare, half_of, note

CONFUSION = ROOT / f".cache/journey-{NETWORK}-confusion.json"
OF_OTHERS = {"unseen": FRESH, "unseen2": SECOND_FRESH, "unseen3": THIRD_FRESH}


def cases():
    for name, fault in FAULTS.items():
        yield pytest.param(fault, id=f"{half_of('operations', name)}-{name}", marks=pytest.mark.soak)
    for half, faults in OF_OTHERS.items():
        for name, fault in faults.items():
            yield pytest.param(fault, id=f"{half}-{name}", marks=pytest.mark.drawn)


@pytest.fixture(scope="module")
def lab(lab_hosts):
    return Lab(lab_hosts)


@pytest.mark.parametrize("fault", list(cases()))
def test_a_fault_is_noted(fault, lab, runs):
    outcome = run_with(lab, fault, runs)
    note(CONFUSION, compare(fault, outcome.record))
    assert_sound(outcome)


@pytest.mark.soak
def test_how_verdicts_and_truth_compare():
    assert_all_noted(CONFUSION, FAULTS)
