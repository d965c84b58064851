# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The naive answers, and how verdicts on the catalogue of faults are counted."""

from __future__ import annotations

import copy

import baselines
import catalogue_table
import pytest
from baselines import NOTHING, Guess, first_error, first_unit_not_running, missing_step
from catalogue_table import NONE, RIGHT, WRONG, Row, gives_reason, guessed, is_grounded, notes, outcome_of, row_of, sums
from failed_runs import run_of

# A run on a lab whose nova-scheduler was stopped, as it was recorded
RECORD = run_of("scheduler-stopped")
STARTED = RECORD["started"]
TRUTH = {"class": "wrong", "kind": "settings", "components": ["nova-compute"], "hosts": ["compute1"], "reason": []}
REQUEST = {"class": "wrong", "kind": "capacity", "components": [], "hosts": [], "reason": ["trait", "CUSTOM_GPU"]}
VERDICT = {
    "result": "fail", "component": None, "host": None, "headline": None, "reason": "boot: No valid host", "step": None,
    "confidence": None, "alternatives": [],
}  # fmt: skip


@pytest.fixture
def record():
    whole = copy.deepcopy(RECORD)
    whole.update(flows=[])
    return whole


def verdict(**changes):
    return {**VERDICT, **changes}


def step(identity, status, responsible=None, judged=True):
    flow = {"id": identity, "status": status, "target": "nova-compute", "responsible": responsible, "host": "compute1"}
    return {"judged": judged, "steps": [flow]}


# The naive answers


def test_the_first_unit_that_does_not_run_is_found_by_the_order_of_the_record(record):
    assert first_unit_not_running(record) == Guess("nova-scheduler", "controller1")


@pytest.mark.parametrize("state", ["running", "on demand"])
def test_units_that_run_or_are_started_by_a_socket_are_no_answer(record, state):
    for host in record["hosts"]:
        for service in host["facts"].get("services") or []:
            service["state"] = state
    assert first_unit_not_running(record) == NOTHING


def test_the_first_error_is_the_earliest_one_since_the_run_began(record):
    error = {"service": "nova-compute", "host": "compute1", "at": f"{STARTED[:10]}T23:59:58.000000+00:00"}
    earlier = {**error, "service": "keystone", "at": f"{STARTED[:10]}T23:59:57.000000+00:00"}
    before = {**error, "service": "cinder-volume", "at": "2000-01-01T00:00:00.000000+00:00"}
    record["errors"] = [error, earlier, before]
    assert first_error(record) == Guess("keystone", "compute1")
    record["errors"] = [before]
    assert first_error(record) == NOTHING


def test_the_missing_step_is_that_of_the_flow_that_is_judged(record):
    record["flows"] = [step("7", "missing", "keystone", judged=False), step("9", "missing", "nova-scheduler")]
    assert missing_step(record) == Guess("nova-scheduler", "compute1")


def test_a_step_that_nobody_owns_is_that_of_its_target(record):
    record["flows"] = [step("9", "missing")]
    assert missing_step(record) == Guess("nova-compute", "compute1")


def test_without_a_missing_step_nothing_is_guessed(record):
    record["flows"] = [step("9", "unseen", "nova-scheduler")]
    assert missing_step(record) == NOTHING


@pytest.mark.parametrize("guess", baselines.BASELINES.values())
def test_a_record_without_hosts_errors_and_flows_gives_no_answer(guess):
    assert guess({"started": STARTED, "hosts": [], "errors": None}) == NOTHING


# How a verdict is counted


@pytest.mark.parametrize(
    ("changes", "truth", "outcome"),
    [
        ({"component": "nova-compute", "host": "compute1"}, TRUTH, RIGHT),
        ({"component": "nova-compute", "host": None}, TRUTH, RIGHT),
        ({"component": "nova-compute", "host": "compute2"}, TRUTH, WRONG),
        ({"component": "rabbitmq", "host": "controller1"}, TRUTH, WRONG),
        ({}, TRUTH, NONE),
        ({"component": "placement-api"}, REQUEST, WRONG),
        ({"headline": "No host fits: flavor gpu requires trait CUSTOM_GPU"}, REQUEST, RIGHT),
        ({"headline": "No host fits: too little memory"}, REQUEST, NONE),
        # The reason beside the accusation of a component is no right answer.
        ({"component": "placement-api", "headline": "trait CUSTOM_GPU"}, REQUEST, WRONG),
        # Without a headline, the reason is the first line that is shown.
        ({"reason": "boot: trait CUSTOM_GPU is required"}, REQUEST, RIGHT),
        ({"headline": "compute1 is DISABLED"}, {**TRUTH, "reason": ["disabled"]}, RIGHT),
    ],
)
def test_a_verdict_is_right_by_its_component_or_by_its_reason(changes, truth, outcome):
    assert outcome_of(verdict(**changes), truth) == outcome


def test_a_truth_without_a_reason_accepts_none():
    assert not gives_reason(verdict(headline="anything"), TRUTH)


@pytest.mark.parametrize(
    ("guess", "truth", "outcome"),
    [
        (Guess("nova-compute", "compute1"), TRUTH, RIGHT),
        (Guess("nova-compute", "compute2"), TRUTH, WRONG),
        (NOTHING, TRUTH, NONE),
        (NOTHING, REQUEST, NONE),
        (Guess("nova-scheduler", None), REQUEST, WRONG),
    ],
)
def test_a_naive_answer_is_counted_by_the_same_truth(guess, truth, outcome):
    assert guessed(guess, truth) == outcome


@pytest.mark.parametrize(
    ("path", "grounded"),
    [
        (None, False),
        ([], False),
        ([{"evidence": ["a quoted line"]}], True),
        ([{"evidence": ["a quoted line"]}, {"evidence": []}], False),
        ([{}], False),
    ],
)
def test_a_path_is_grounded_if_each_arrow_has_evidence(path, grounded):
    assert is_grounded(verdict(path=path)) == grounded


def test_a_record_without_a_class_is_of_a_dead_fault(monkeypatch, record):
    """Records that were made before there were classes still count."""
    monkeypatch.setattr(
        catalogue_table, "of_record", lambda _record: verdict(component="nova-scheduler", confidence=0.9)
    )
    filed = {"fault": "x", "record": record, "truth": {"components": ["nova-scheduler"], "hosts": ["controller1"]}}
    row = row_of(filed, "labovn-open")
    assert (row.outcome, row.fault_class, row.cloud) == (RIGHT, "dead", "labovn")
    assert row.guesses == (RIGHT, NONE, NONE)


def test_a_run_that_passed_is_without_effect(monkeypatch, record):
    for stage in record["stages"]:
        stage.update(status="ok", error=None)
    monkeypatch.setattr(catalogue_table, "of_record", lambda _record: verdict(result="pass", headline=None))
    row = row_of({"fault": "x", "record": record, "truth": TRUTH, "cloud": "ovs"})
    assert (row.outcome, row.cloud, row.had_effect) == ("no effect", "ovs", False)


# The tables


def row(outcome, truth=None, cloud="ovs", **changes):
    guesses = (WRONG, RIGHT, NONE)
    return Row(
        "x",
        cloud,
        truth or TRUTH,
        verdict(component="nova-compute", confidence=0.95),
        outcome,
        guesses=guesses,
        **changes,
    )


def test_the_sums_have_a_line_for_each_cloud_and_class_and_for_all():
    rows = [row(RIGHT, is_grounded=True), row(WRONG, cloud="ovn"), row(RIGHT, {**TRUTH, "class": "dead"})]
    lines = list(sums(rows))[2:]
    assert [line.split(" | ")[:3] for line in lines] == [
        ["| ovn", "wrong", "1"], ["| ovs", "dead", "1"], ["| ovs", "wrong", "1"], ["| all", "dead", "1"],
        ["| all", "wrong", "2"], ["| all", "all", "3"],
    ]  # fmt: skip
    assert lines[-1] == "| all | all | 3 | 0 | 2 | 1 | 0 | 1 | 0, 3 | 3, 0 | 0, 0 |"


def test_the_notes_have_requests_confidence_and_seconds():
    rows = [row(RIGHT, seconds=4.0), row(WRONG, seconds=8.0), row(RIGHT, REQUEST, seconds=6.0)]
    text = "\n".join(notes(rows))
    assert "of the class wrong: 3 of 3 with effect (100%)" in text
    assert "nothing is broken: 1 of 1 right" in text
    assert "confidence of 90% to 100%: 2 of 3 right" in text
    assert "seconds from the failure to the verdict: median 6, at most 8" in text


def test_the_table_survives_a_headline_with_a_bar(monkeypatch):
    marked = row(RIGHT)
    monkeypatch.setitem(marked.verdict, "headline", "a | b")
    assert "a \\| b" in catalogue_table.table([marked])[2]
