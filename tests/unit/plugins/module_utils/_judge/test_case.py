# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A failed run as the judge sees it: whether its stage may only have been slow, and which stage failed."""

from __future__ import annotations

import as_json
import pytest
from cases_by_hand import case_of, error, flow, record_of
from cases_by_hand import stage as a_stage


def at(time):
    return f"2026-11-21T{time}.000000+00:00"


def step(name, *follows, seen_at=None):
    fields = {"follows": list(follows), "status": "seen" if seen_at else "unseen", "at": seen_at}
    return as_json.step(name, "a", "b", "m", "HTTP REST", **fields)


@pytest.mark.parametrize(
    ("kind", "finished", "pause"),
    [
        ("deadline", at("10:00:06"), 4.0),
        # Seen by a log after the stage's time was over
        ("deadline", at("10:00:01"), 0),
        ("deadline", at("10:00:12"), None),
        ("build_failed", at("10:00:06"), None),
        ("deadline", None, None),
    ],
)
def test_what_was_seen_shortly_before_the_end_may_go_on(kind, finished, pause):
    steps = [step("0"), step("1", "0", seen_at=at("10:00:02")), step("2", "1")]
    assert case_of(stage=a_stage(error=error(kind), finished=finished), flows=[flow(steps)]).pause_s == pause


def test_where_nothing_was_seen_nothing_went_on():
    stage = a_stage(error=error("deadline"), finished=at("10:00:06"))
    assert case_of(stage=stage, flows=[flow([step("1"), step("2", "1")])]).pause_s is None


def test_first_failed_stage_in_the_order_of_a_run_counts():
    record = record_of(stages=[a_stage("boot"), a_stage("network")])
    assert record.failed_stage.stage == "network"
    assert record_of().failed_stage is None


def test_removal_is_judged_as_the_only_stage_that_asked_for_anything():
    record = record_of(stages=[{**a_stage("boot"), "status": "ok", "error": None}], removal=a_stage("removal"))
    alone = record.as_removal
    assert alone.failed_stage.stage == "removal"
    assert [stage.calls for stage in alone.stages] == [(), ()]
    assert alone.started == record.removal.started


def test_a_place_that_a_line_names_is_a_host_that_has_the_component():
    libvirt = {"component": "libvirt", "unit": "libvirtd.service", "state": "running"}
    with_libvirt = as_json.host("compute2", facts={"services": [libvirt], "names": ["compute2.lab"]})
    without = as_json.host("storage1", facts={"names": ["storage1"]})
    case = case_of(stage=a_stage("journey"), hosts=[with_libvirt, without])
    assert case.place_of("libvirt", case.host_at("compute2.lab")) == "compute2"
    assert case.place_of("libvirt", case.host_at("storage1")) is None
    assert case.place_of("nova-api", "storage1") == "storage1"
    assert case.host_at("10.0.0.1") is None
