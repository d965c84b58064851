# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The digests of runs, and the history that is made of them."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import replace

import jsonschema
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._history import files, page, trend
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.flow import Step
from ansible_collections.stackproof.provision.plugins.module_utils._model.history import DIGEST_VERSION
from ansible_collections.stackproof.provision.plugins.module_utils._record import run
from ansible_collections.stackproof.provision.plugins.module_utils._record.clock import seconds_of
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from ansible_collections.stackproof.provision.plugins.module_utils._runs import digest, digests, records
from ansible_collections.stackproof.provision.plugins.module_utils._runs.records import Label
from tree import RECORDED, ROOT

RUNS, FOLLOWED = RECORDED / "runs", RECORDED / "removed"
SCHEMA = json.loads((ROOT / "roles/report/files/history.schema.json").read_text())
TEMPLATES = ROOT / "roles/report/templates"
PASSED, FAILED = "20261121-065105-bdb5f5", "20261121-065322-ce7f74"
MADE = seconds_of("2026-11-25T05:00:00.000000+00:00")


def line_of(directory):
    return digest.digest_of(records.read_run(directory), directory.name)


# Of one run


def test_digest_of_a_pass_has_its_seconds_and_the_facts_of_the_cloud():
    passed = line_of(RUNS / PASSED)
    assert (passed.passed, passed.headline, passed.how) == (True, None, None)
    assert list(passed.stages) == ["auth", "image", "network", "volume", "boot", "metadata"]
    assert passed.facts | {"image": "probe", "flavor": "probe", "API of compute": "2.100"} == passed.facts
    assert len(json.dumps(codec.to_json(passed))) < 2000


def test_digest_of_a_failure_has_its_headline_and_its_cause_in_fields():
    failed = line_of(RUNS / FAILED)
    assert failed.headline.startswith("boot: making the server stackproof-20261121-065322-ce7f74-server: ")
    assert (failed.stage, failed.how) == ("boot", "forbidden")


def test_step_takes_the_time_since_the_last_step_that_it_follows():
    def step(name, at, until=None, follows=()):
        return Step(id=name, source="a", target="b", message="", kind="call", at=at, until=until, follows=follows)

    steps = [
        step("1", 1.0),
        step("2", 2.0, 3.0, ("1",)),
        step("3", 7.0, None, ("1", "2", "nowhere")),
        step("4", None, None, ("3",)),
        step("5", 6.0, None, ("3",)),
    ]
    assert [(step.id, seconds) for step, seconds in digest.durations(steps)] == [("2", 2), ("3", 4), ("5", 0)]


def test_digest_of_a_followed_run_has_the_seconds_of_its_steps():
    steps = line_of(FOLLOWED).steps
    assert steps
    labels = records.labels_of(records.read_run(FOLLOWED))
    assert {tuple(name.split(" ")) for name in steps} <= labels.keys()


# The lines of a folder


@pytest.fixture
def folder(tmp_path):
    for name in (PASSED, FAILED):
        shutil.copytree(RUNS / name, tmp_path / name)
    return tmp_path


def names(lines):
    return [line.directory for line in lines]


def test_runs_are_read_once_and_still_count_when_they_are_removed(folder, monkeypatch):
    assert names(digests.read(folder, 10)) == [PASSED, FAILED]
    kept = (folder / digests.FILE).read_text()
    monkeypatch.setattr(run, "read_record", lambda directory: pytest.fail(f"{directory} is read again"))
    assert names(digests.read(folder, 10)) == [PASSED, FAILED]
    shutil.rmtree(folder / PASSED)
    assert names(digests.read(folder, 10)) == [PASSED, FAILED]
    assert (folder / digests.FILE).read_text() == kept


def test_a_record_that_has_changed_is_read_again(folder):
    digests.read(folder, 10)
    record = json.loads((folder / PASSED / "run.json").read_text())
    record["verdict"].update(result="fail", reason="it was looked at again")
    (folder / PASSED / "run.json").write_text(json.dumps(record))
    assert [line.result for line in digests.read(folder, 10)] == ["fail", "fail"]


def test_only_the_last_runs_are_returned(folder):
    assert names(digests.read(folder, 1)) == [FAILED]


def test_an_odd_record_does_not_keep_the_others_from_it(folder):
    record = json.loads((folder / PASSED / "run.json").read_text())
    for stage in record["stages"]:
        del stage["resources"]
    (folder / PASSED / "run.json").write_text(json.dumps({**record, "flows": [{"name": "x", "steps": [{}]}]}))
    history, _paths = files.write(folder)
    assert history.clouds[0].runs == 1


def test_a_shorter_history_loses_no_run(folder):
    digests.read(folder, 10)
    shutil.rmtree(folder / PASSED)
    assert names(digests.read(folder, 1)) == [FAILED]
    assert names(digests.read(folder, 10)) == [PASSED, FAILED]


def test_a_broken_letter_costs_one_line(folder):
    digests.read(folder, 10)
    path = folder / digests.FILE
    for name in (PASSED, FAILED):
        shutil.rmtree(folder / name)
    path.write_bytes(b"\xff" + path.read_bytes())
    assert names(digests.read(folder, 10)) == [FAILED]


def test_lines_that_cannot_be_read_are_not_overwritten(folder):
    (folder / digests.FILE).symlink_to(folder / "elsewhere")
    with pytest.raises(StageError, match=r"history\.jsonl is not a regular file"):
        digests.read(folder, 10)


def test_a_run_that_goes_on_or_cannot_be_read_does_not_count(folder):
    record = json.loads((folder / PASSED / "run.json").read_text())
    (folder / PASSED / "run.json").write_text(json.dumps({**record, "finished": None}))
    (folder / FAILED / "run.json").write_text("{")
    assert digests.read(folder, 10) == []
    assert not (folder / digests.FILE).exists()


@pytest.mark.parametrize(
    "torn",
    [
        "",
        "{",
        "[]",
        "7",
        json.dumps({"version": DIGEST_VERSION}),
        '{"version": 0, "started": "x"}',
        "\0",
        json.dumps({"version": DIGEST_VERSION, "started": "never"}),
    ],
)
def test_malformed_line_is_made_again(folder, torn):
    lines = digests.read(folder, 10)
    kept = (folder / digests.FILE).read_text().splitlines()
    (folder / digests.FILE).write_text("\n".join([torn, kept[1]]))
    assert digests.read(folder, 10) == lines


@pytest.mark.parametrize("name", ["directory", "cloud", "duration_s", "component", "stages", "facts"])
def test_line_with_a_value_of_another_type_is_made_again(folder, name):
    lines = digests.read(folder, 10)
    (folder / digests.FILE).write_text(json.dumps({**codec.to_json(lines[0]), name: [1]}))
    assert digests.read(folder, 10) == lines


def strictly(text):
    """The value of a JSON text; what only Python takes for JSON is refused."""

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


ODD_NUMBERS = ["NaN", "Infinity", "-Infinity", "1e999", "1e308", "1" + "0" * 400, "-1.0", "true", '"x"', "[]", "null"]


def with_odd(line, number):
    """A line of a history, as text, in which all numbers but the version are an odd one."""
    odd = {
        "duration_s": "ODD",
        "stages": {"boot": "ODD", "auth": 1.5},
        "steps": {"modern 1": "ODD"},
        "size": "ODD",
        "changed": "ODD",
        "more": "ODD",
    }
    return json.dumps({**codec.to_json(line), **odd}).replace('"ODD"', number)


@pytest.mark.parametrize("number", ODD_NUMBERS)
def test_odd_number_of_a_removed_run_is_left_out_of_all_files(folder, number):
    lines = digests.read(folder, 10)
    shutil.rmtree(folder / PASSED)
    texts = [with_odd(lines[0], number), *([with_odd(lines[1], number)] * 2)]
    (folder / digests.FILE).write_text("\n".join(texts))
    history, paths = files.write(folder, templates=str(TEMPLATES))
    for line in (folder / digests.FILE).read_text().splitlines():
        strictly(line)
    jsonschema.validate(strictly((folder / "history.json").read_text()), SCHEMA)
    assert len(paths) == 2
    (cloud,) = history.clouds
    assert cloud.runs == 2
    # The other run failed at its boot.
    runs = {stage.stage: stage.trend.runs for stage in cloud.stages}
    assert (runs["auth"], "boot" in runs) == (2, False)
    assert [run.duration_s is None for run in cloud.recent] == [False, True]


def test_a_line_with_odd_numbers_is_made_again_while_its_record_is_there(folder):
    lines = digests.read(folder, 10)
    (folder / digests.FILE).write_text("\n".join(with_odd(line, "NaN") for line in lines))
    assert digests.read(folder, 10) == lines
    assert [strictly(line) for line in (folder / digests.FILE).read_text().splitlines()] == codec.to_json(lines)


@pytest.mark.parametrize("seconds", [1e308, 1e300, -5.0])
def test_odd_seconds_of_a_record_are_left_out(folder, seconds):
    path = folder / PASSED / "run.json"
    record = json.loads(path.read_text())
    for timed in (record, *record["stages"]):
        timed["duration_s"] = seconds
    path.write_text(json.dumps(record))
    history, _paths = files.write(folder)
    jsonschema.validate(strictly((folder / "history.json").read_text()), SCHEMA)
    assert history.clouds[0].runs == 2
    assert [run.duration_s is None for run in history.clouds[0].recent] == [False, True]


@pytest.mark.parametrize("name", ["component", "host", "stage"])
def test_a_record_with_an_odd_place_does_not_keep_the_others_from_it(folder, name):
    path = folder / FAILED / "run.json"
    record = json.loads(path.read_text())
    record["verdict"][name] = {"a": float("nan")}
    path.write_text(json.dumps(record))
    history, _paths = files.write(folder)
    strictly((folder / "history.json").read_text())
    assert history.clouds[0].runs == 1


def test_run_with_odd_words_for_steps_does_not_keep_the_others_from_it(folder):
    record = run.read_record(FOLLOWED)
    for flow in record["flows"]:
        for step in flow["steps"]:
            step.update(message=float("nan"), target=[1])
    (folder / record["run_id"]).mkdir()
    (folder / record["run_id"] / "run.json").write_text(json.dumps(record))
    files.write(folder, templates=str(TEMPLATES))
    history = strictly((folder / "history.json").read_text())
    assert [cloud["runs"] for cloud in history["clouds"]] == [2]


def test_nothing_is_kept_in_check_mode(folder):
    assert len(digests.read(folder, 10, keep=False)) == 2
    assert not os.path.exists(folder / digests.FILE)


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
    jsonschema.validate(codec.to_json(history), SCHEMA)
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
