# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines, JUnit and OpenMetrics of recorded runs, also where a cloud's words are hostile."""

from __future__ import annotations

import copy
import json
import math
import re
from datetime import datetime
from xml.etree import ElementTree

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._record import run as run_module
from ansible_collections.stackproof.provision.plugins.module_utils._report import text as text_module
from tree import RECORDED

RUNS = RECORDED / "runs"
PATHS = sorted(RUNS.iterdir())
# Ends a line of XML or of OpenMetrics, moves a terminal's cursor, is not a character, or is half of a character
HOSTILE = "<b>&\"'\\]]>\x1b[2J\r\n\t\0\x7f\x9b31m\ufffe\uffff\ud800\u202e end"


def read(name):
    return run_module.read_record(RUNS / name)


@pytest.fixture
def passed():
    return read("20261121-065105-bdb5f5")


@pytest.fixture
def failed():
    return read("20261121-065322-ce7f74")


@pytest.fixture
def hostile(failed):
    """A record in which the cloud, and the user, chose bad words."""
    record = copy.deepcopy(failed)
    record["cloud"] = HOSTILE
    record["verdict"]["reason"] = HOSTILE
    for stage in record["stages"]:
        if stage["error"]:
            stage["error"].update(message=HOSTILE, hint=HOSTILE)
        if stage["status"] == "skipped":
            stage["details"]["reason"] = HOSTILE
    record["leftovers"] = [{"kind": "server", "id": "x", "name": HOSTILE, "why": HOSTILE}]
    record["thresholds"] = [{"name": HOSTILE, "ok": False, "said": HOSTILE}, {"name": HOSTILE, "ok": True, "said": "x"}]
    return record


def is_harmless(text):
    """Whether a terminal would only show it, and UTF-8 can hold it."""
    text.encode()
    return not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", text)


def parse_metrics(text):
    """The samples as the format's own rules read them: {(name, labels): value}; anything else is an error."""
    string = r'"((?:[^"\\\n]|\\[\\"n])*)"'
    sample = re.compile(rf"([a-z_]+)\{{([a-z]+={string}(?:,[a-z]+={string})*)\}} (\S+)")
    assert text.endswith("# EOF\n")
    samples, typed = {}, None
    for line in text.split("\n")[:-2]:
        if line.startswith("# "):
            kind, name, rest = line[2:].split(" ", 2)
            assert kind == "HELP" or (kind == "TYPE" and rest == "gauge")
            typed = name
            continue
        match = sample.fullmatch(line)
        assert match, line
        assert match[1] == typed
        labels = tuple(re.findall(rf"([a-z]+)={string}", match[2]))
        assert (match[1], labels) not in samples
        samples[match[1], labels] = float(match[5])
    return samples


@pytest.mark.parametrize("directory", PATHS, ids=lambda path: path.name)
def test_a_recorded_run_is_rendered_as_it_was(directory):
    record = run_module.read_record(directory)
    assert text_module.junit(record) == (directory / "junit.xml").read_text()
    assert parse_metrics(text_module.metrics(record)) == parse_metrics((directory / "metrics.prom").read_text())


def test_the_summary_of_a_pass(passed):
    boot = next(stage for stage in passed["stages"] if stage["stage"] == "boot")
    boot["duration_s"] = 13.885464
    passed["history"]["boot"] = {"runs": 3, "median_s": 13.79, "p95_s": 16.4}
    for call, seconds in zip(boot["calls"], (9.534, 9.518, 9.516)):
        call["seconds"] = seconds
    lines = text_module.summary(passed, "/runs/x")
    text = "\n".join(lines)
    assert lines[1] == "Run 20261121-065105-bdb5f5 on lab"
    assert re.search(r"(?m)^  boot       ok          13\.9   \+0\.1 s to the median of 3, p95 16\.4$", text)
    assert "  made 5, deleted 5, left 0" in lines
    assert re.search(r"(?m)^  PASS: The cloud provisions an instance", text)
    assert "  files: /runs/x" in lines
    assert "kept" not in text
    slowest = [float(number) for number in re.findall(r"(?m)^ +(\d\.\d\d)   \w+: (?:GET|POST) /", text)]
    assert slowest == [9.53, 9.52, 9.52]


def test_the_summary_ends_with_the_page_if_there_is_one(passed, tmp_path):
    without = text_module.summary(passed, str(tmp_path))
    (tmp_path / "report.html").write_text("")
    assert text_module.summary(passed, str(tmp_path)) == [*without[:-1], f"  page: {tmp_path}/report.html", ""]
    assert "page:" not in "\n".join(without)


def test_the_summary_of_a_failure_has_no_times_of_what_did_not_run(failed):
    lines = text_module.summary(failed, "/runs/x")
    assert any(re.fullmatch(r"  boot       failed  +0\.\d", line) for line in lines)
    assert "  metadata   skipped        -" in lines
    assert any(line.startswith("  FAIL: boot: making the server") for line in lines)


def test_the_summary_says_what_is_kept_left_and_beyond_its_limit(passed):
    passed.update(kept=True, made=5, deleted=4)
    passed["leftovers"] = [{"kind": "security_group", "id": "x", "name": "g", "why": "it is still there"}]
    passed["thresholds"] = [{"ok": True, "said": "a: 1"}, {"ok": False, "said": "b: 2 is more than 1"}]
    lines = text_module.summary(passed, "/runs/x")
    assert "  made 5, deleted 4, left 1" in lines
    assert any("stackproof.provision.cleanup -e stackproof_run_dir=/runs/x" in line for line in lines)
    assert "  left: security group g: it is still there" in lines
    assert "  within the limit: a: 1" in lines
    assert "  BEYOND the limit: b: 2 is more than 1" in lines


def test_the_summary_of_a_run_that_did_nothing(run):
    lines = text_module.summary(run.record, run.directory)
    assert "  made 0, deleted 0, left 0" in lines
    assert "  INCOMPLETE: The run has not finished." in lines


def test_a_hostile_summary_does_nothing_to_a_terminal(hostile):
    lines = text_module.summary(hostile, "/runs/x")
    assert all(is_harmless(line) for line in lines)
    assert any("[2J" in line for line in lines)


def cases(text):
    suite = ElementTree.fromstring(text.encode())[0]
    return suite, {case.get("name"): case for case in suite}


def test_junit_has_a_case_for_each_stage_and_counts_them(failed):
    suite, cases_by_name = cases(text_module.junit(failed))
    assert list(cases_by_name) == [*run_module.STAGES, "nothing left"]
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped", "errors")} == {
        "tests": "7",
        "failures": "1",
        "skipped": "1",
        "errors": "0",
    }
    error = next(stage["error"] for stage in failed["stages"] if stage["error"])
    assert cases_by_name["boot"].find("failure").get("message") == error["message"]
    assert cases_by_name["boot"].find("failure").text == f"{error['message']}\n{error['hint']}"
    assert cases_by_name["metadata"].find("skipped").get("message") == "the stage boot failed before"
    assert float(suite.get("time")) == pytest.approx(failed["duration_s"], abs=0.001)


def test_junit_fails_what_is_left_and_what_is_beyond_its_limit(passed):
    passed["leftovers"] = [{"kind": "server", "id": "x", "name": "s", "why": "it is still there"}]
    passed["thresholds"] = [{"name": "a", "ok": True, "said": "a: 1"}, {"name": "b", "ok": False, "said": "b: 2"}]
    suite, cases_by_name = cases(text_module.junit(passed))
    assert suite.get("failures") == "2"
    assert cases_by_name["nothing left"].find("failure").get("message") == "s: it is still there"
    assert cases_by_name["limit a"].find("failure") is None
    assert cases_by_name["limit b"].find("failure").get("message") == "b: 2"


def test_hostile_words_leave_junit_well_formed(hostile, tmp_path):
    run_module.write_whole(tmp_path / "junit.xml", text_module.junit(hostile))
    suite, cases_by_name = cases((tmp_path / "junit.xml").read_text())
    assert is_harmless(suite.get("name"))
    assert suite.get("tests") == str(len(suite)) == "9"
    assert "<b>&\"'" in cases_by_name["boot"].find("failure").text


def test_metrics_of_a_pass(passed):
    samples = parse_metrics(text_module.metrics(passed))
    whole, boot = (("cloud", "lab"),), (("cloud", "lab"), ("stage", "boot"))
    assert samples["stackproof_run_passed", whole] == 1
    assert samples["stackproof_run_leftovers", whole] == 0
    assert samples["stackproof_run_duration_seconds", whole] == passed["duration_s"]
    finished = datetime.fromisoformat(passed["finished"]).timestamp()
    assert samples["stackproof_run_finished_timestamp_seconds", whole] == pytest.approx(finished, abs=1e-6)
    assert samples["stackproof_stage_passed", boot] == 1
    calls = next(stage["calls"] for stage in passed["stages"] if stage["stage"] == "boot")
    assert samples["stackproof_stage_requests", boot] == len(calls) > 10
    assert samples["stackproof_stage_request_seconds", boot] == pytest.approx(sum(call["seconds"] for call in calls))


def test_metrics_of_a_failure_leave_out_what_did_not_run(failed):
    samples = parse_metrics(text_module.metrics(failed))
    assert samples["stackproof_run_passed", (("cloud", "lab"),)] == 0
    stages = {labels[1][1]: value for (name, labels), value in samples.items() if name == "stackproof_stage_passed"}
    assert stages == {"auth": 1, "image": 1, "network": 1, "volume": 1, "boot": 0}


def test_metrics_of_a_run_that_has_just_begun(run):
    samples = parse_metrics(text_module.metrics(run.record))
    assert {name for name, _labels in samples} == {"stackproof_run_passed", "stackproof_run_leftovers"}


def test_hostile_words_stay_within_their_label(hostile, tmp_path):
    run_module.write_whole(tmp_path / "metrics.prom", text_module.metrics(hostile))
    samples = parse_metrics((tmp_path / "metrics.prom").read_text())
    clouds = {labels[0][1] for _name, labels in samples}
    assert len(clouds) == 1
    assert is_harmless(clouds.pop())
    assert all(math.isfinite(value) for value in samples.values())


def test_recorded_words_are_shown_as_they_are(failed):
    text = json.dumps(failed, ensure_ascii=False)
    assert text_module.clean(text) == text


def test_no_character_that_controls_anything_is_shown():
    assert {text_module.clean(f"a{chr(code)}b") for code in text_module.CONTROL} == {"a?b"}
    assert text_module.clean("a\tb\nc\u00a0d") == "a\tb\nc\u00a0d"
