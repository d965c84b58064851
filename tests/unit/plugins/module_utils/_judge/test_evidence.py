# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The symptoms that a verdict reports: which speak for its cause, and which says most about it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge import evidence
from ansible_collections.stackproof.provision.plugins.module_utils._judge.weights import WEIGHTS
from ansible_collections.stackproof.provision.plugins.module_utils._model.finding import Suspect
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import How
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Code, Kind, Symptom
from cases_by_hand import cause, seen

CHANGE = seen(Kind.CHANGE, share=1.0)
HARM = seen(Kind.FAILED_AT, "y", "h2", peer="x", how=How.REFUSED)


@pytest.mark.parametrize("weightiest", [0, 1, 2])
def test_state_says_more_than_an_own_report_and_that_more_than_an_error(weightiest):
    listed = [seen(Kind.STATE), seen(Kind.REPORT), seen(Kind.ERROR)]
    turned = listed[weightiest:] + listed[:weightiest]
    for symptom in listed:
        assert evidence.main_symptom(cause("x", "h", *turned), WEIGHTS) is symptom
        turned.remove(symptom)


def test_own_symptom_says_more_than_those_of_others():
    own = seen(Kind.ERROR)
    assert evidence.main_symptom(cause("x", "h", HARM, own), WEIGHTS) is own
    assert evidence.main_symptom(cause("x", "h", HARM), WEIGHTS) is HARM


@pytest.mark.parametrize("turned", [1, -1])
def test_failure_that_says_how_it_happened_says_more(turned):
    listed = [seen(Kind.FAILED_AT, peer="y"), seen(Kind.FAILED_AT, peer="z", how=How.REFUSED)]
    assert evidence.main_symptom(cause("x", "h", *listed[::turned]), WEIGHTS) is listed[1]


# A change of configuration beside the harm that it did


@pytest.mark.parametrize("is_recent", [True, False])
def test_change_of_configuration_is_reported_beside_the_harm_if_it_is_recent(is_recent):
    change = replace(CHANGE, share=1.0 if is_recent else WEIGHTS.fresh_change / 2)
    found = evidence.recent_change(cause("x", "h", change, seen(Kind.ERROR)), WEIGHTS)
    assert found == (change if is_recent else None)


@pytest.mark.parametrize(
    ("how", "is_reported"), [(How.STOPPED, False), (How.FROZEN, False), (How.FAILED, True), (How.RESTARTED, True)]
)
def test_change_of_configuration_that_stops_no_service_is_not_reported(how, is_reported):
    """Configuration may be why a service has failed, and not why somebody has stopped or frozen it."""
    found = evidence.recent_change(cause("x", "h", CHANGE, seen(Kind.STATE, how=how)), WEIGHTS)
    assert (found is CHANGE) is is_reported


@pytest.mark.parametrize(
    ("how", "changed", "ended", "is_reported"),
    [
        (How.STOPPED, 40.0, 30.0, True),
        # Long after the change, or before it
        (How.STOPPED, 200.0, 30.0, False),
        (How.STOPPED, 40.0, 50.0, False),
        (How.FROZEN, 40.0, None, False),
    ],
)
def test_change_just_before_a_service_ended_may_be_why_it_did(how, changed, ended, is_reported):
    change = replace(CHANGE, ago_s=changed)
    found = evidence.recent_change(cause("x", "h", change, seen(Kind.STATE, how=how, for_s=ended)), WEIGHTS)
    assert (found is change) is is_reported


def test_change_of_configuration_is_reported_once():
    alone = cause("x", "h", CHANGE)
    assert evidence.main_symptom(alone, WEIGHTS) is CHANGE
    assert evidence.recent_change(alone, WEIGHTS) is None


@pytest.mark.parametrize("share", [1.0, WEIGHTS.fresh_change / 2])
def test_old_change_of_configuration_is_nothing_wrong(share):
    change = replace(CHANGE, share=share)
    left = evidence.left_over(cause("y", "h2"), [change], WEIGHTS)
    assert left == ((change,) if share == 1.0 else ())


# What is reported


def test_client_is_no_evidence():
    """It is the run itself, which failed at each of them."""
    listed = [seen(Kind.FAILED_AT, name, None, peer="x") for name in ("client", "nova-api")]
    assert evidence.reportable(cause("x", "h", *listed)) == listed[1:]


def test_component_that_only_works_for_the_stage_is_no_evidence():
    assert evidence.reportable(cause("x", "h", Symptom(Code.STAGE_PART, "x"))) == []


def test_weightiest_evidence_comes_first_and_each_once():
    listed = (seen(Kind.STATE), seen(Kind.ERROR, "y", "h2", exception="a.Error"), seen(Kind.ANSWER))
    repeated = replace(listed[1], share=0.5, own=True, at=1.0, quote="another line")
    assert evidence.evidence(cause("x", "h", *listed, listed[2], repeated), WEIGHTS) == listed


def test_that_somebody_logged_an_error_is_evidence_if_there_is_no_other():
    bare, failed = seen(Kind.ERROR, logger="a.b"), seen(Kind.ERROR, logger="a.b", exception="a.Error")
    assert evidence.evidence(cause("x", "h", bare, failed), WEIGHTS) == (failed,)
    assert evidence.evidence(cause("x", "h", bare), WEIGHTS) == (bare,)


def test_a_difference_that_is_a_recent_change_is_shown_once():
    change = replace(CHANGE, path="/etc/x/x.conf", setting="[a] b", share=1.0)
    difference, other = (seen(Kind.DIFFERENCE, path="/etc/x/x.conf", setting=f"[a] {name}") for name in "bc")
    assert evidence.evidence(cause("x", "h", change, difference, other), WEIGHTS) == (change, other)


def test_missing_step_is_evidence_if_there_is_no_other():
    steps = [seen(Kind.STEP, step="7"), seen(Kind.STEP, step="8")]
    assert evidence.evidence(cause("x", "h", *steps), WEIGHTS) == (steps[0],)
    assert evidence.evidence(cause("x", "h", *steps, HARM), WEIGHTS) == (HARM,)


def test_restart_is_evidence():
    restart = seen(Kind.RESTART)
    assert evidence.evidence(cause("x", "h", restart, suspect=Suspect.RESTART), WEIGHTS) == (restart,)


def test_no_more_evidence_is_listed_than_is_of_use():
    many = [seen(Kind.ERROR, f"y{number}") for number in range(WEIGHTS.evidence + 2)]
    assert evidence.evidence(cause("x", "h", *many), WEIGHTS) == tuple(many[: WEIGHTS.evidence])


def test_symptoms_of_others_are_explained():
    assert evidence.explained(cause("x", "h", seen(Kind.STATE), HARM)) == (HARM,)


# Quotes


def quoted(*found):
    return evidence.quoted(cause("x", "h", *found), "[cut]")


def test_quote_is_of_the_weightiest_symptom_with_a_line():
    silent, first = seen(Kind.STATE), seen(Kind.ERROR, quote="first")
    second = seen(Kind.FAILED_AT, quote="second", peer="y")
    assert quoted(silent, first, second) is first
    assert quoted(second, first) is second
    assert quoted(silent) is None


def test_whole_line_that_says_how_it_failed_is_a_better_quote():
    cut_off = seen(Kind.ERROR, quote="it was[cut]denied", how=How.DENIED)
    vague = seen(Kind.ERROR, quote="it failed")
    good = seen(Kind.ERROR, quote="permission denied", how=How.DENIED)
    assert quoted(cut_off, vague, good) is good
    assert quoted(cut_off, vague) is vague


@pytest.mark.parametrize(
    ("how", "is_own"),
    [(How.FAILED, True), (How.STARTING, True), (How.RESTARTED, True), (How.STOPPED, False), (How.FROZEN, False)],
)
def test_last_words_of_a_service_that_has_exited_are_a_better_quote_than_the_timeout_of_another(how, is_own):
    own = seen(Kind.ERROR, quote="No type driver for tenant network_type: vlan. Service terminated!")
    other = seen(Kind.FAILED_AT, "y", "h2", peer="x", how=How.SILENT, quote="timed out")
    assert quoted(seen(Kind.STATE, how=how), other, own) is (own if is_own else other)


def test_change_of_long_ago_says_less_than_the_missing_step():
    """It counts next to nothing, so the cause is not named for it."""
    change = replace(CHANGE, share=WEIGHTS.fresh_change / 2)
    step = seen(Kind.STEP, how=How.UNSEEN)
    assert evidence.main_symptom(cause("x", "h", step, change), WEIGHTS) is step
    assert evidence.main_symptom(cause("x", "h", step, CHANGE), WEIGHTS) is CHANGE
    assert evidence.main_symptom(cause("x", "h", change), WEIGHTS) is change
