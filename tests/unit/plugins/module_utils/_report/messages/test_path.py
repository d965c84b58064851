# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hops of a path, with the sentence that shows each."""

from __future__ import annotations

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model.finding import Arrow, Finding
from ansible_collections.stackproof.provision.plugins.module_utils._model.how import How
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Kind
from ansible_collections.stackproof.provision.plugins.module_utils._model.verdict import Hop, Place
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages import path
from cases_by_hand import cause, seen, step_of

QUEUE, COMPUTE, STAGE = ("rabbitmq", "ctl"), ("nova-compute", "c1"), (None, None)
FULL = seen(Kind.REPORT, *QUEUE, reported=("alarm: disk",))
REFUSED = seen(Kind.FAILED_AT, *COMPUTE, peer="rabbitmq", how=How.REFUSED)
MISSING = seen(Kind.STEP, "nova-compute", None, step="19")


def hop(arrow, status="missing"):
    step = step_of(as_json.step("19", "nova-compute", "glance-api", "get the image", "REST", status=status))
    (found,) = path.hops(Finding(cause=cause(*QUEUE, FULL), step=step, path=(arrow,)))
    return found


def test_what_is_wrong_with_the_cause_stands_at_the_cause():
    assert hop(Arrow(QUEUE, QUEUE, FULL)) == Hop(Place(*QUEUE), Place(*QUEUE), "alarm: disk")


def test_a_cause_that_only_another_shows_is_described_by_that_one():
    assert hop(Arrow(QUEUE, QUEUE, REFUSED)).evidence == "refuses connections from nova-compute (c1)"


def test_a_hop_has_what_its_target_shows():
    assert hop(Arrow(QUEUE, COMPUTE, REFUSED)).evidence == "connection refused by rabbitmq"


def test_evidence_of_a_process_of_the_target_names_the_process():
    helper = seen(Kind.FAILED_AT, "privsep-helper", "c1", peer="rabbitmq", how=How.REFUSED)
    assert hop(Arrow(QUEUE, COMPUTE, helper)).evidence == "privsep-helper (c1): connection refused by rabbitmq"


@pytest.mark.parametrize(("status", "words"), [("missing", "did not happen"), ("unseen", "was not observed")])
def test_the_last_hop_has_no_target_and_the_missing_step(status, words):
    assert hop(Arrow(COMPUTE, STAGE, MISSING), status) == Hop(Place(*COMPUTE), None, f"step 19 {words}")


@pytest.mark.parametrize("target", [COMPUTE, STAGE])
def test_a_hop_that_is_only_assumed_has_no_evidence(target):
    assert hop(Arrow(QUEUE, target)).evidence is None
