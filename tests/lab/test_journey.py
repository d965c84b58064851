# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is done with a server after its boot is followed to its end, and a fault that it meets is noted."""

from __future__ import annotations

import pytest
from breaking import Lab
from fault_runs import run_with
from journey_faults import FAULTS
from lab_under_test import INVENTORY, NETWORK
from runs_under_test import verify
from test_dataplane import assert_followed, legs_of
from test_verify import assert_passed, assert_sound
from tree import ROOT
from truths import assert_all_noted, compare, half_of, note

CONFUSION = ROOT / f".cache/journey-{NETWORK}-confusion.json"
# A soft reboot, a suspension and a snapshot give the guest a new device of the same name. Open vSwitch without its
# kernel module takes it for the old one: no packet reaches the guest any more.
JOURNEY = ["live_migrate", "resize", "migrate", "resize_revert", "rebuild", "hard_reboot", "stop", "pause", "shelve"]


@pytest.mark.soak
def test_a_server_survives_what_is_done_with_it(runs):
    given = {"cloud": "lab-admin", "image": "probe", "volume": "none", "dataplane": True, "journey": JOURNEY}
    outcome = verify(runs, "-i", str(INVENTORY), **given, journey_timeout=900)
    assert_passed(outcome)
    legs = {leg["operation"]: leg for leg in legs_of(outcome)}
    assert list(legs) == JOURNEY
    for operation in JOURNEY:
        assert_followed(outcome, operation)
    assert {name for name, leg in legs.items() if leg["moved"]} >= {"live_migrate", "migrate"}
    assert legs["live_migrate"]["outage_s"] < legs["migrate"]["outage_s"]


@pytest.fixture(scope="module")
def lab(lab_hosts):
    return Lab(lab_hosts)


@pytest.mark.soak
@pytest.mark.parametrize("fault", FAULTS.values(), ids=[f"{half_of('operations', name)}-{name}" for name in FAULTS])
def test_a_fault_is_noted(fault, lab, runs):
    outcome = run_with(lab, fault, runs)
    note(CONFUSION, compare(fault, outcome.record))
    assert_sound(outcome)


@pytest.mark.soak
def test_how_verdicts_and_truth_compare():
    assert_all_noted(CONFUSION, FAULTS)
