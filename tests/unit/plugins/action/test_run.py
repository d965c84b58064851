# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action that begins a run."""

from __future__ import annotations

import os

import pytest
from ansible_collections.stackproof.provision.plugins.plugin_utils._version import collection_version


@pytest.mark.parametrize(("transport", "learns"), [("local", True), ("ssh", False)])
def test_only_a_run_on_this_machine_learns_which_process_to_watch(act, transport, learns):
    act("run", {"run_id": "run-1"}, transport, runs="runs")
    assert act.given[1].get("_controller") == (os.getppid() if learns else None)


def test_record_learns_the_version_of_the_collection(act):
    act("run", {"run_id": "run-1"}, runs="runs")
    assert act.given[1]["_collection"] == collection_version()


@pytest.mark.parametrize(
    ("keep", "promise"),
    [
        ({}, "its resources are still removed"),
        ({"keep": "never"}, "its resources are still removed"),
        ({"keep": "always"}, "its resources stay"),
        ({"keep": "on_failure"}, "its resources stay"),
    ],
)
def test_what_an_interruption_means_is_said(act, screen, keep, promise):
    act("run", {"run_id": "run-1", "watched": True}, runs="runs", **keep)
    assert screen.texts == [f"  Run run-1. If it is interrupted, {promise}."]
    act("run", {"run_id": "run-1", "watched": False}, runs="runs", **keep)
    assert len(screen.texts) == 1


def test_run_that_ended_before_names_the_way_to_a_new_one(act, screen):
    act("run", {"run_id": "run-1", "watched": False, "finished": True}, runs="runs")
    (text,) = screen.texts
    assert "Run run-1 ended before: nothing new is made" in text
    assert "choose another stackproof_run_id" in text


def test_one_run_of_many_says_nothing_of_an_interruption(act, screen):
    act("run", {"run_id": "run-1", "watched": True}, variables={"stackproof_target": "compute1"}, runs="runs")
    assert screen.texts == []
