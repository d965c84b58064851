# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The digests of runs, and the lines of a folder in which they are kept."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace

import as_json
import jsonschema
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._history import files
from ansible_collections.stackproof.provision.plugins.module_utils._model import codec
from ansible_collections.stackproof.provision.plugins.module_utils._model.flow import Step
from ansible_collections.stackproof.provision.plugins.module_utils._model.history import DIGEST_VERSION
from ansible_collections.stackproof.provision.plugins.module_utils._model.level import RunLevel
from ansible_collections.stackproof.provision.plugins.module_utils._record import run
from ansible_collections.stackproof.provision.plugins.module_utils._record.clock import seconds_of
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from ansible_collections.stackproof.provision.plugins.module_utils._runs import digest, digests, records
from tree import RECORDED, ROOT

RUNS, FOLLOWED = RECORDED / "runs", RECORDED / "removed"
SCHEMA = json.loads((ROOT / "roles/report/files/history.schema.json").read_text())
TEMPLATES = ROOT / "roles/report/templates"
PASSED, FAILED = "20261121-065105-bdb5f5", "20261121-065322-ce7f74"
MADE = seconds_of("2026-11-25T05:00:00.000000+00:00")


def line_of(directory):
    return digest.digest_of(run.read_record(directory), directory.name)


# Of one run


def test_digest_has_the_level_of_the_run():
    record = run.read_record(RUNS / PASSED)
    assert digest.digest_of(record, PASSED).level is None
    assert digest.digest_of(replace(record, level=RunLevel("smoke")), PASSED).level == "smoke"


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
    labels = records.labels_of(run.read_record(FOLLOWED))
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
    jsonschema.Draft202012Validator(SCHEMA).validate(strictly((folder / "history.json").read_text()))
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
def test_record_with_odd_seconds_does_not_keep_the_others_from_it(folder, seconds):
    path = folder / PASSED / "run.json"
    record = json.loads(path.read_text())
    for timed in (record, *record["stages"]):
        timed["duration_s"] = seconds
    path.write_text(json.dumps(record))
    history, _paths = files.write(folder)
    jsonschema.Draft202012Validator(SCHEMA).validate(strictly((folder / "history.json").read_text()))
    assert [run.run_id for run in history.clouds[0].recent] == [FAILED]


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
    record = as_json.read_record(FOLLOWED)
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
