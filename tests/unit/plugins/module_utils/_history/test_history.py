# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs over time: what is kept of a run, and what many of them say."""

from __future__ import annotations

import json
import os
import re
import shutil

import jsonschema
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._history import digest, digests, files, page, trend
from ansible_collections.stackproof.provision.plugins.module_utils._record import run
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from tree import RECORDED, ROOT

RUNS, FOLLOWED = RECORDED / "runs", RECORDED / "removed"
SCHEMA = json.loads((ROOT / "roles/report/files/history.schema.json").read_text())
TEMPLATES = ROOT / "roles/report/templates"
PASSED, FAILED = "20261121-065105-bdb5f5", "20261121-065322-ce7f74"
MADE = "2026-11-25T05:00:00.000000+00:00"


def line_of(directory):
    return digest.digest_of(run.read_record(directory), directory.name)


# Of one run


def test_a_run_that_passed_has_its_seconds_and_what_the_cloud_was_made_of():
    passed = line_of(RUNS / PASSED)
    assert (passed["result"], passed["cause"]) == ("pass", None)
    assert list(passed["stages"]) == ["auth", "image", "network", "volume", "boot", "metadata"]
    assert passed["facts"] | {"image": "probe", "flavor": "probe", "API of compute": "2.100"} == passed["facts"]
    assert len(json.dumps(passed)) < 2000


def test_a_failure_has_a_cause_without_what_only_this_run_has():
    cause = line_of(RUNS / FAILED)["cause"]
    assert cause.startswith("boot: making the server *: the cloud said (*): Policy doesn't allow")
    assert digest.OWN.search(cause) is None


def test_a_step_takes_the_time_since_the_last_step_that_it_follows():
    at = "2026-11-25T05:00:0{}.000000+00:00".format
    none = {"until": None, "follows": []}
    steps = [
        {"id": "1", "at": at(1), **none},
        {"id": "2", "at": at(2), "until": at(3), "follows": ["1"]},
        {"id": "3", "at": at(7), "until": None, "follows": ["1", "2", "nowhere"]},
        {"id": "4", "at": None, "until": None, "follows": ["3"]},
        {"id": "5", "at": at(6), "until": None, "follows": ["3"]},
    ]
    assert [(step["id"], seconds) for step, seconds in digest.took(steps)] == [("2", 2), ("3", 4), ("5", 0)]


def test_a_followed_run_has_the_seconds_of_its_steps():
    record = run.read_record(FOLLOWED)
    steps = line_of(FOLLOWED)["steps"]
    assert steps
    labels = trend.labels_of([record])
    assert {tuple(name.split(" ")) for name in steps} <= labels.keys()


# The lines of a folder


@pytest.fixture
def folder(tmp_path):
    for name in (PASSED, FAILED):
        shutil.copytree(RUNS / name, tmp_path / name)
    return tmp_path


def names(lines):
    return [line["directory"] for line in lines]


def test_runs_are_read_once_and_still_count_when_they_are_gone(folder, monkeypatch):
    assert names(digests.read(folder, 10)) == [PASSED, FAILED]
    kept = (folder / digests.FILE).read_text()
    monkeypatch.setattr(digests.run, "read_record", lambda directory: pytest.fail(f"{directory} is read again"))
    assert names(digests.read(folder, 10)) == [PASSED, FAILED]
    shutil.rmtree(folder / PASSED)
    assert names(digests.read(folder, 10)) == [PASSED, FAILED]
    assert (folder / digests.FILE).read_text() == kept


def test_a_record_that_has_changed_is_read_again(folder):
    digests.read(folder, 10)
    record = json.loads((folder / PASSED / "run.json").read_text())
    record["verdict"].update(result="fail", reason="it was looked at again")
    (folder / PASSED / "run.json").write_text(json.dumps(record))
    assert [line["result"] for line in digests.read(folder, 10)] == ["fail", "fail"]


def test_only_the_last_runs_are_told(folder):
    assert names(digests.read(folder, 1)) == [FAILED]


def test_an_odd_record_does_not_keep_the_others_from_it(folder):
    record = json.loads((folder / PASSED / "run.json").read_text())
    for stage in record["stages"]:
        del stage["resources"]
    (folder / PASSED / "run.json").write_text(json.dumps({**record, "flows": [{"name": "x", "steps": [{}]}]}))
    history, _paths = files.write(folder)
    assert history["clouds"][0]["runs"] == 1


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


def test_lines_that_nobody_can_read_are_not_written_over(folder):
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
        '{"version": 1}',
        '{"version": 0, "started": "x"}',
        "\0",
        '{"version": 1, "started": "never"}',
    ],
)
def test_a_line_that_is_not_understood_is_made_anew(folder, torn):
    lines = digests.read(folder, 10)
    kept = (folder / digests.FILE).read_text().splitlines()
    (folder / digests.FILE).write_text("\n".join([torn, kept[1]]))
    assert digests.read(folder, 10) == lines


@pytest.mark.parametrize("name", ["directory", "cloud", "duration_s", "place", "stages", "facts"])
def test_a_line_with_a_value_of_another_kind_is_made_anew(folder, name):
    lines = digests.read(folder, 10)
    (folder / digests.FILE).write_text(json.dumps({**lines[0], name: [1]}))
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
    return json.dumps({**line, **odd}).replace('"ODD"', number)


@pytest.mark.parametrize("number", ODD_NUMBERS)
def test_an_odd_number_of_a_run_that_is_gone_is_left_out_of_all_files(folder, number):
    lines = digests.read(folder, 10)
    shutil.rmtree(folder / PASSED)
    texts = [with_odd(lines[0], number), *([with_odd(lines[1], number)] * 2)]
    (folder / digests.FILE).write_text("\n".join(texts))
    history, paths = files.write(folder, templates=str(TEMPLATES))
    for line in (folder / digests.FILE).read_text().splitlines():
        strictly(line)
    jsonschema.validate(strictly((folder / "history.json").read_text()), SCHEMA)
    assert len(paths) == 2
    (cloud,) = history["clouds"]
    assert cloud["runs"] == 2
    # The other run failed at its boot.
    runs = {stage["stage"]: stage["runs"] for stage in cloud["stages"]}
    assert (runs["auth"], "boot" in runs) == (2, False)
    assert [run["duration_s"] is None for run in cloud["newest"]] == [False, True]


def test_a_line_with_odd_numbers_is_made_again_while_its_record_is_there(folder):
    lines = digests.read(folder, 10)
    (folder / digests.FILE).write_text("\n".join(with_odd(line, "NaN") for line in lines))
    assert digests.read(folder, 10) == lines
    assert [strictly(line) for line in (folder / digests.FILE).read_text().splitlines()] == lines


@pytest.mark.parametrize("seconds", [1e308, 1e300, -5.0])
def test_a_record_with_odd_seconds_does_not_keep_the_others_from_it(folder, seconds):
    path = folder / PASSED / "run.json"
    record = json.loads(path.read_text())
    for timed in (record, *record["stages"]):
        timed["duration_s"] = seconds
    path.write_text(json.dumps(record))
    history, _paths = files.write(folder)
    jsonschema.validate(strictly((folder / "history.json").read_text()), SCHEMA)
    assert history["clouds"][0]["runs"] == 1


@pytest.mark.parametrize("name", ["component", "host", "stage"])
def test_a_record_with_an_odd_place_does_not_keep_the_others_from_it(folder, name):
    path = folder / FAILED / "run.json"
    record = json.loads(path.read_text())
    record["verdict"][name] = {"a": float("nan")}
    path.write_text(json.dumps(record))
    history, _paths = files.write(folder)
    strictly((folder / "history.json").read_text())
    assert history["clouds"][0]["runs"] == 1


def test_a_record_with_an_odd_word_for_a_step_does_not_keep_the_others_from_it(folder):
    record = run.read_record(FOLLOWED)
    for flow in record["flows"]:
        for step in flow["steps"]:
            step.update(message=float("nan"), target=[1])
    (folder / record["run_id"]).mkdir()
    (folder / record["run_id"] / "run.json").write_text(json.dumps(record))
    files.write(folder, templates=str(TEMPLATES))
    history = strictly((folder / "history.json").read_text())
    assert [cloud["runs"] for cloud in history["clouds"]] == [2]


def test_what_is_only_looked_at_is_not_kept(folder):
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
        made.append({**line, "directory": name, "run_id": name, "started": began})
    return made


def cloud(lines, labels=()):
    history = trend.history_of(lines, dict(labels), MADE)
    jsonschema.validate(history, SCHEMA)
    return history["clouds"][0]


def test_success_over_time(lines):
    told = cloud(lines)
    assert (told["runs"], told["passed"], told["failed"], told["incomplete"]) == (40, 38, 2, 0)
    assert sum(piece["runs"] for piece in told["pieces"]) == 40
    assert [piece["failed"] for piece in told["pieces"]].count(1) == 2


def test_pieces_of_time_are_few_whatever_the_number_of_runs(lines):
    many = [{**line, "started": line["started"].replace("-21T", f"-{day}T")} for day in range(10, 28) for line in lines]
    told = cloud(many)
    assert told["runs"] == 720
    assert len(told["pieces"]) <= trend.PIECES
    assert all(len(stage["pieces"]) == len(told["pieces"]) for stage in told["stages"])


def test_one_run_is_a_history_too(lines):
    assert cloud(lines[:1])["runs"] == 1


def test_failures_are_grouped_by_their_cause_and_say_whether_a_run_has_passed_since(lines):
    (cause,) = cloud(lines)["causes"]
    assert (cause["runs"], cause["run_id"], cause["over"]) == (2, "r30", True)
    (cause,) = cloud(lines[:31])["causes"]
    assert cause["over"] is False


def test_a_stage_that_is_slower_lately_says_so(lines):
    for line in lines[-4:]:
        line["stages"] = {**line["stages"], "volume": line["stages"]["volume"] * 3}
    slower = {stage["stage"]: page.trend(stage) for stage in cloud(lines)["stages"]}
    assert slower["volume"]["word"] == "slower"
    assert {name for name, said in slower.items() if said} == {"volume"}


def test_what_changed_is_told_once_when_it_changed(lines):
    for line in lines[10:]:
        line["facts"] = {**line["facts"], "image": "another", "API of compute": "2.103"}
    for number, line in enumerate(lines):
        line["facts"] = {**line["facts"], "host": "compute2" if number in (20, 25) else "compute1"}
    told = cloud(lines)
    assert [(change["run_id"], change["what"], change["before"], change["now"]) for change in told["changes"]] == [
        ("r10", "image", "probe", "another"),
        ("r10", "API of compute", "2.100", "2.103"),
        ("r20", "host", None, "compute2"),
    ]
    assert [(host["host"], host["runs"]) for host in told["hosts"]] == [("compute1", 38), ("compute2", 2)]


def test_the_slowest_step_comes_first_with_its_words(lines):
    for line in lines:
        line["steps"] = {"modern 1": 0.1, "modern 26": 3.5}
    labels = {("modern", "26"): {"message": "Allocate the network", "component": "neutron-server"}}
    steps = cloud(lines, labels)["steps"]
    assert [(step["step"], step["median_s"], step["message"]) for step in steps] == [
        ("26", 3.5, "Allocate the network"),
        ("1", 0.1, None),
    ]


def test_clouds_are_told_apart_that_of_the_last_run_first(lines):
    for line in lines[:20]:
        line["cloud"] = "old"
    history = trend.history_of(lines, {}, MADE)
    assert [(part["cloud"], part["runs"]) for part in history["clouds"]] == [("lab", 20), ("old", 20)]


# The page


def rendered(lines, labels=(), links=()):
    history = trend.history_of(lines, dict(labels), MADE)
    return page.render(history, TEMPLATES / "history.html.j2", links=set(links))


def test_the_page_tells_what_the_history_does_and_links_the_runs_that_are_there(lines):
    for line in lines:
        line["steps"] = {"modern 26": 3.5}
    text = rendered(lines, {("modern", "26"): {"message": "Allocate", "component": "neutron-server"}}, {"r30", "r39"})
    assert "38 of 40 runs passed." in text
    assert '<a href="r30/report.html">r30</a>' in text
    assert "26 Allocate" in text
    assert 'href="r38/' not in text
    assert re.findall(r'(?:src|href)="(?!#|data:,|r\d\d/)[^"]*', text) == []


def test_hostile_words_do_no_harm(lines):
    lines[5].update(cause='<script>alert(1)</script>"\x1b[2J')
    lines[39]["facts"] = {"image": "<b>", "<i>what": "</svg>"}
    lines[38]["cloud"] = lines[39]["cloud"] = "</title><script>"
    text = rendered(lines)
    assert "<script>" not in text
    assert "\x1b" not in text
    assert "&lt;script&gt;" in text
