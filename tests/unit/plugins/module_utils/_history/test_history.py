# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A history that is made of the digests of runs, and its page."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import jsonschema
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._history import page, trend
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._record import run
from ansible_collections.stackproof.provision.plugins.module_utils._record.clock import seconds_of
from ansible_collections.stackproof.provision.plugins.module_utils._runs import digest
from ansible_collections.stackproof.provision.plugins.module_utils._runs.records import Label
from tree import RECORDED, ROOT

RUNS, FOLLOWED = RECORDED / "runs", RECORDED / "removed"
SCHEMA = json.loads((ROOT / "roles/report/files/history.schema.json").read_text())
TEMPLATES = ROOT / "roles/report/templates"
PASSED, FAILED = "20261121-065105-bdb5f5", "20261121-065322-ce7f74"
MADE = seconds_of("2026-11-25T05:00:00.000000+00:00")


def line_of(directory):
    return digest.digest_of(run.read_record(directory), directory.name)


# Many runs


@pytest.fixture
def lines():
    """Forty runs, five minutes apart, made of two real ones: number 5 and number 30 failed."""
    passed, failed = line_of(RUNS / PASSED), line_of(RUNS / FAILED)
    made = []
    for number in range(40):
        line = failed if number in (5, 30) else passed
        hour, minute = divmod(5 * number, 60)
        name, began = f"r{number:02d}", f"2026-11-21T{hour:02d}:{minute:02d}:00.000000+00:00"
        made.append(replace(line, directory=name, run_id=name, started=seconds_of(began)))
    return made


def cloud(lines, labels=()):
    history = trend.history_of(lines, dict(labels), MADE)
    jsonschema.Draft202012Validator(SCHEMA).validate(codec.to_json(history))
    return history.clouds[0]


def test_success_over_time(lines):
    found = cloud(lines)
    assert (found.runs, found.passed, found.failed, found.incomplete) == (40, 38, 2, 0)
    assert sum(period.runs for period in found.periods) == 40
    assert [period.failed for period in found.periods].count(1) == 2


def test_periods_are_few_whatever_the_number_of_runs(lines):
    many = [replace(line, started=line.started + day * 86400) for day in range(18) for line in lines]
    found = cloud(many)
    assert found.runs == 720
    assert len(found.periods) <= trend.MOST_PERIODS
    assert all(len(stage.trend.periods) == len(found.periods) for stage in found.stages)


def test_one_run_is_a_history_too(lines):
    assert cloud(lines[:1]).runs == 1


def test_failures_are_grouped_by_their_cause_which_is_resolved_once_a_run_passed(lines):
    (cause,) = cloud(lines).causes
    assert (cause.runs, cause.run_id, cause.resolved) == (2, "r30", True)
    (cause,) = cloud(lines[:31]).causes
    assert cause.resolved is False


def test_failures_of_one_kind_are_one_cause_whatever_their_words_and_hosts(lines):
    for number, host, count in ((5, "compute1", 41), (30, "compute2", 7)):
        headline = f"nova-compute ({host}): {count} timeouts at 10.0.0.{count}"
        lines[number] = replace(lines[number], component="nova-compute", how="silent", host=host, headline=headline)
    (cause,) = cloud(lines).causes
    assert (cause.component, cause.how, cause.hosts) == ("nova-compute", "silent", ("compute1", "compute2"))
    assert cause.headline == "nova-compute (compute2): 7 timeouts at 10.0.0.7"


@pytest.mark.parametrize("other", [{"component": "nova-api"}, {"how": "silent"}, {"stage": "network"}])
def test_failures_that_differ_in_a_field_are_two_causes(lines, other):
    lines[30] = replace(lines[30], **other)
    assert [cause.run_id for cause in cloud(lines).causes] == ["r30", "r05"]


def test_failures_at_two_steps_are_two_causes_only_where_their_kind_is_unknown(lines):
    lines[5], lines[30] = replace(lines[5], step="33"), replace(lines[30], step="34")
    assert len(cloud(lines).causes) == 1
    lines[5], lines[30] = replace(lines[5], how=None), replace(lines[30], how=None)
    assert len(cloud(lines).causes) == 2


def test_stage_that_became_slower_is_marked(lines):
    slow = [replace(line, stages={**line.stages, "volume": line.stages["volume"] * 3}) for line in lines[-4:]]
    changes = {stage.stage: page.change_of(stage.trend) for stage in cloud([*lines[:-4], *slow]).stages}
    assert changes["volume"]["word"] == "slower"
    assert {name for name, change in changes.items() if change} == {"volume"}


def test_change_is_listed_once_when_it_happened(lines):
    for number, line in enumerate(lines):
        facts = {**line.facts, "host": "compute2" if number in (20, 25) else "compute1"}
        if number >= 10:
            facts.update({"image": "another", "API of compute": "2.103"})
        lines[number] = replace(line, facts=facts)
    found = cloud(lines)
    assert [(change.run_id, change.what, change.before, change.now) for change in found.changes] == [
        ("r10", "image", "probe", "another"),
        ("r10", "API of compute", "2.100", "2.103"),
        ("r20", "host", None, "compute2"),
    ]
    assert [(host.host, host.runs) for host in found.hosts] == [("compute1", 38), ("compute2", 2)]


def test_the_slowest_step_comes_first_with_its_words(lines):
    lines = [replace(line, steps={"modern 1": 0.1, "modern 26": 3.5}) for line in lines]
    labels = {("modern", "26"): Label("Allocate the network", "neutron-server")}
    steps = cloud(lines, labels).steps
    assert [(step.step, step.trend.median_s, step.message) for step in steps] == [
        ("26", 3.5, "Allocate the network"),
        ("1", 0.1, None),
    ]


def test_each_cloud_has_its_own_history_that_of_the_last_run_first(lines):
    lines[:20] = [replace(line, cloud="old") for line in lines[:20]]
    history = trend.history_of(lines, {}, MADE)
    assert [(part.cloud, part.runs) for part in history.clouds] == [("lab", 20), ("old", 20)]


# The page


def rendered(lines, labels=(), links=()):
    return page.render(trend.history_of(lines, dict(labels), MADE), str(TEMPLATES), links=set(links))


def test_page_shows_the_history_and_links_the_runs_that_are_there(lines):
    lines = [replace(line, steps={"modern 26": 3.5}) for line in lines]
    text = rendered(lines, {("modern", "26"): Label("Allocate", "neutron-server")}, {"r30", "r39"})
    assert "38 of 40 runs passed." in text
    assert '<a href="r30/report.html">r30</a>' in text
    assert "26 Allocate" in text
    assert 'href="r38/' not in text
    assert re.findall(r'(?:src|href)="(?!#|data:,|r\d\d/)[^"]*', text) == []


def test_hostile_words_do_no_harm(lines):
    lines[5] = replace(lines[5], headline='<script>alert(1)</script>"\x1b[2J')
    lines[39] = replace(lines[39], facts={"image": "<b>", "<i>what": "</svg>"}, cloud="</title><script>")
    lines[38] = replace(lines[38], cloud="</title><script>", headline="<script>\x1b", steps={"<b> \x1b": 1.5})
    text = rendered(lines)
    assert "<script>" not in text
    assert "\x1b" not in text
    assert "&lt;script&gt;" in text
