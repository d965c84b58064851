# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Causes in words: headlines that fit into a line, reasons, and the step that was owed."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.logs import error_text
from ansible_collections.stackproof.provision.plugins.module_utils._judge import wording, world
from ansible_collections.stackproof.provision.plugins.module_utils._record import shapes
from ansible_collections.stackproof.provision.plugins.module_utils._report.finding import place_of
from causes_by_hand import cause, seen


def headline(cause):
    return wording.headline(cause, None, None)


# Headlines

LONG = "a-component-with-a-name-that-is-far-too-long-for-a-line"
LONG_HOST = "compute-4711.rack-12.room-3.frankfurt.cloud.example.org"
STOPPED = f"is stopped since 123456 s ({LONG}@{LONG_HOST}.service)"


@pytest.mark.parametrize(
    "long",
    [
        cause(LONG, LONG_HOST, seen("state", LONG, LONG_HOST, STOPPED)),
        cause(LONG, None, seen("failed at", "x", LONG_HOST, "failed", peer=LONG, how="missing")),
        cause("x", "h", seen("failed at", how="silent", peer=LONG * 3)),
        cause("x", "h", seen("words", text="is not well, as Ceph says: " + "; ".join(["1 osds down"] * 20))),
    ],
)
def test_a_headline_fits_into_a_line(long):
    said = headline(long)
    assert len(said) <= wording.LONGEST_HEADLINE
    assert said.endswith("...")
    assert said.startswith(place_of(long["component"], long["host"])[:90])


def test_a_headline_of_nobody_fits_into_a_line():
    step = shapes.step("N" * 60, "a", "b", "m", "DB")
    assert all(len(wording.headline(None, step, pause)) <= wording.LONGEST_HEADLINE for pause in (None, 2.0))


def test_without_a_cause_and_a_step_there_is_no_headline():
    assert headline(None) is None


def test_a_headline_that_fits_is_whole():
    assert headline(cause("x", "h", seen("state", text="is stopped"))) == "x on h is stopped"


@pytest.mark.parametrize("weightiest", [0, 1, 2])
def test_a_headline_prefers_a_state_to_words_to_errors(weightiest):
    told = [
        seen("state", text="is stopped"),
        seen("words", text="has an alarm"),
        seen("error", text="logged an error"),
    ]
    turned = told[weightiest:] + told[:weightiest]
    for symptom in told:
        assert wording.main_reason(cause("x", "h", *turned)) == symptom["text"]
        turned.remove(symptom)


def test_a_headline_prefers_its_own_symptom_to_those_of_others():
    others = seen("failed at", "y", "h2", "failed at x", peer="x", how="refused")
    assert wording.main_reason(cause("x", "h", others, seen("error", text="logged an error"))) == "logged an error"
    assert wording.main_reason(cause("x", "h", others)) == "refuses connections of y on h2"


@pytest.mark.parametrize("turned", [1, -1])
def test_a_headline_prefers_a_failure_that_says_how_it_happened(turned):
    told = [seen("failed at", peer="y"), seen("failed at", peer="z", how="refused", text="failed at z")]
    assert wording.main_reason(cause("x", "h", *told[::turned])) == "is refused connections by z"


@pytest.mark.parametrize("how", [*error_text.HOW, None])
def test_each_way_of_failing_can_be_said_of_both_ends(how):
    failed = seen("failed at", "y", "h2", "failed at x", peer="x", how=how)
    at_peer, at_victim = wording.main_reason(cause("x", "h", failed)), wording.main_reason(cause("y", "h2", failed))
    assert at_peer.endswith(" y on h2")
    assert at_victim.endswith(" x")
    assert how in wording.DOES


# A change of settings beside the harm that it did

CHANGE = seen("change", text="has other settings", share=1.0)


@pytest.mark.parametrize("new", [True, False])
def test_a_headline_says_that_settings_were_changed_if_they_are_new(new):
    change = {**CHANGE, "share": 1.0 if new else wording.FRESH / 2}
    told = headline(cause("x", "h", change, seen("error", text="logged an error")))
    assert told.startswith("x on h logged an error")
    assert ("settings were changed" in told) is new


def test_a_headline_tells_a_change_of_settings_after_the_harm_that_it_did():
    harm = seen("failed at", "y", "h2", "failed", peer="x", how="refused")
    said = "x on h refuses connections of y on h2; its settings were changed"
    assert headline(cause("x", "h", CHANGE, harm)) == said


@pytest.mark.parametrize(
    ("how", "told"), [("stopped", False), ("frozen", False), ("failed", True), ("restarted", True)]
)
def test_a_headline_tells_no_change_of_settings_that_stops_no_service(how, told):
    """Settings may be why a service has failed, and not why somebody has stopped or frozen it."""
    assert bool(wording.and_changed(cause("x", "h", CHANGE, seen("state", how=how)))) is told


def test_a_headline_that_is_the_change_of_settings_tells_it_once():
    assert headline(cause("x", "h", CHANGE)) == "x on h has other settings"


@pytest.mark.parametrize("too_many", [0, 1])
def test_a_headline_tells_a_change_of_settings_if_it_fits(too_many):
    room = wording.LONGEST_HEADLINE - len("x on h ") - len("; its settings were changed")
    text = "e" * (room + too_many)
    told = headline(cause("x", "h", CHANGE, seen("error", text=text)))
    assert told == f"x on h {text}" + ("" if too_many else "; its settings were changed")


# Restarts that are over


def test_a_headline_of_a_restart_names_nobody_and_says_whose_connections_it_ended():
    others = seen("owed", "z", peer="z")
    lost = seen("failed at", "nova-compute", "c1", peer="rabbitmq", how="broken off")
    told = headline(cause("rabbitmq", "ctl", others, lost, kind=world.RESTART))
    assert told == "nobody is named: a restart of rabbitmq on ctl had ended connections of nova-compute"


def test_a_headline_of_a_restart_fits_into_a_line():
    told = headline(cause(LONG, LONG_HOST, seen("failed at", peer=LONG), kind=world.RESTART))
    assert len(told) <= wording.LONGEST_HEADLINE
    assert told.startswith(f"nobody is named: a restart of {LONG} on ")


def test_a_headline_of_a_restart_knows_the_names_of_flows():
    """The peer may have a name that stands for several components, of which one was started anew."""
    lost = seen("failed at", "nova-api-metadata", "ctl", peer="neutron-metadata-proxy", how="broken off")
    told = headline(cause("neutron-metadata-agent", "net", lost, kind=world.RESTART))
    assert told.startswith("nobody is named: a restart of neutron-metadata-agent on net ")


# Reasons


def test_the_client_tells_nothing_of_a_cause():
    """It is the run itself, which failed at everybody."""
    told = [seen("failed at", name, None, "failed at x", peer="x") for name in ("client", "nova-api")]
    assert wording.telling(cause("x", "h", *told)) == told[1:]


def test_the_weightiest_reason_comes_first_and_each_once():
    told = [seen("state", text="is stopped"), seen("error", "y", "h2", "failed"), seen("answer", text="is silent")]
    assert wording.why(cause("x", "h", *told, told[2])) == ["x on h is stopped", "y on h2 failed", "x on h is silent"]


def test_a_restart_is_a_reason():
    restart = seen("restart", text="was started anew 300 s ago (x.service)", ago_s=300.0)
    assert wording.why(cause("x", "h", restart, kind=world.RESTART)) == [
        "x on h was started anew 300 s ago (x.service)"
    ]


# Steps


@pytest.mark.parametrize(
    ("status", "pause", "said"),
    [
        ("missing", None, "step 7 (m) did not happen"),
        ("unseen", None, "step 7 (m) was not seen to happen"),
        ("unseen", 2.04, "step 7 (m) was not seen to happen, 2.0 s after another one: it may be slow"),
    ],
)
def test_a_step_is_owed_as_surely_as_its_absence_is_proved(status, pause, said):
    assert wording.owed(shapes.step("7", "a", "b", "m", "DB", status=status), pause) == said
