# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Components that a run does not use: they may fail without being its cause."""

from __future__ import annotations

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge import used
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import How
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Code, Kind, Symptom
from cases_by_hand import case_of, flow, seen, stage

CINDER = seen(Kind.STATE, "cinder-volume", "s1")
OTHERS = [seen(Kind.STATE, name, "c1") for name in ("glance-api", "ovsdb", "nova-compute", "unknown", None)]
STEP = {"id": "1", "source": "nova-compute", "target": "cinder-volume", "message": "m", "kind": "REST"}


def case(volume, failed="boot", steps=()):
    """A run whose stage volume has a status."""
    stages = [as_json.stage("volume", volume), stage(failed)]
    flows = [flow([{"stage": failed, **step} for step in steps])] if steps else []
    return case_of([], stage(failed), stages=stages, flows=flows)


def left(case):
    return [symptom for symptom in (CINDER, *OTHERS) if symptom in used.by_run([CINDER, *OTHERS], case)]


def test_a_service_of_a_stage_that_was_left_out_is_not_used():
    assert left(case("skipped")) == OTHERS


@pytest.mark.parametrize("status", ["ok", "failed"])
def test_a_service_of_a_stage_that_was_asked_for_is_used(status):
    assert left(case(status)) == [CINDER, *OTHERS]


def test_a_stage_that_comes_after_the_failed_one_was_not_left_out():
    assert left(case("skipped", "network")) == [CINDER, *OTHERS]


@pytest.mark.parametrize(("status", "is_on"), [("missing", True), ("unseen", True), ("skipped", False)])
def test_a_service_that_a_step_names_is_used(status, is_on):
    found = left(case("skipped", steps=[{**STEP, "status": status}]))
    assert (CINDER in found) is is_on


@pytest.mark.parametrize("own", [True, False])
def test_a_service_that_logged_a_failure_of_the_run_is_used(own):
    """Logs alone do not say that a server boots from a volume; what Cinder logged for its request does."""
    denied = Symptom(Code.LOGGED_FAILURE, "cinder-volume", host="s1", how=How.DENIED, peer="database", own=own)
    found = used.by_run([CINDER, denied], case("skipped"))
    assert found == ([CINDER, denied] if own else [])
