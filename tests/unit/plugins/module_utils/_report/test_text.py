# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines and JUnit of recorded runs, also where a cloud's words are hostile."""

from __future__ import annotations

import json
import re
from unicodedata import bidirectional, name
from xml.etree import ElementTree

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import EarlierRuns, Threshold
from ansible_collections.stackproof.provision.plugins.module_utils._record import run as run_module
from ansible_collections.stackproof.provision.plugins.module_utils._record import words
from ansible_collections.stackproof.provision.plugins.module_utils._report import text as text_module
from harmless import is_harmless
from tree import RECORDED

RUNS = RECORDED / "runs"
PATHS = sorted(RUNS.iterdir())
# The classes of characters that embed or override a direction, in Unicode's terms
TURNING = ("LRE", "LRO", "RLE", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def summary(record, directory):
    return text_module.summary(as_json.typed(record), directory)


def junit(record):
    return text_module.junit(as_json.typed(record))


def limit(name, ok, text):
    return as_json.plain(Threshold(name, "x", None, 1.0, 1.0, ok, text))


@pytest.mark.parametrize("directory", PATHS, ids=lambda path: path.name)
def test_a_recorded_run_is_rendered_as_it_was(directory):
    record = as_json.read_record(directory)
    assert junit(record) == (directory / "junit.xml").read_text()


def test_the_summary_of_a_pass(passed):
    boot = next(stage for stage in passed["stages"] if stage["stage"] == "boot")
    boot["duration_s"] = 13.885464
    passed["history"]["boot"] = {"runs": 6, "median_s": 13.79, "p95_s": 16.4}
    for call, seconds in zip(boot["calls"], (9.534, 9.518, 9.516)):
        call["seconds"] = seconds
    lines = summary(passed, "/runs/x")
    text = "\n".join(lines)
    assert lines[1] == "Run 20261121-065105-bdb5f5 on lab, 2026-11-21T06:51:05 UTC to 06:51:47"
    assert re.search(r"(?m)^  boot       ok          13\.9   0\.1 s above the median of 6 runs \(p95 16\.4 s\)$", text)
    assert "  created 5, deleted 5, left 0" in lines
    assert re.search(r"(?m)^  PASS: The cloud provisions an instance", text)
    assert "  files: /runs/x" in lines
    assert "kept" not in text
    slowest = [float(number) for number in re.findall(r"(?m)^ +(\d\.\d\d)   \w+: (?:GET|POST) /", text)]
    assert slowest == [9.53, 9.52, 9.52]


def test_few_earlier_runs_are_not_compared(passed):
    passed["history"] = {"boot": {"runs": 4, "median_s": 1.0, "p95_s": 1.1}}
    assert "the median of" not in "\n".join(summary(passed, "/runs/x"))


@pytest.mark.parametrize(
    ("seconds", "median_s", "p95_s", "runs", "slow"),
    [
        (12.0, 10.0, 11.0, 5, True),
        (12.0, 10.0, 11.0, 4, False),
        (1.9, 1.0, 1.1, 9, False),
        (108.0, 100.0, 101.0, 9, False),
        (12.0, 10.0, 13.0, 9, False),
    ],
)
def test_slow_is_a_tenth_and_a_second_above_enough_runs(seconds, median_s, p95_s, runs, slow):
    assert text_module.is_slow(seconds, EarlierRuns(runs, median_s, p95_s)) is slow


def test_the_summary_ends_with_the_page_if_there_is_one(passed, tmp_path):
    without = summary(passed, str(tmp_path))
    (tmp_path / "report.html").write_text("")
    assert summary(passed, str(tmp_path)) == [*without[:-1], f"  page: {tmp_path}/report.html", ""]
    assert "page:" not in "\n".join(without)


def test_the_summary_of_a_failure_has_no_times_of_what_did_not_run(failed):
    lines = summary(failed, "/runs/x")
    assert any(re.fullmatch(r"  boot       failed  +0\.\d", line) for line in lines)
    assert "  metadata   skipped        -" in lines
    assert any(line.startswith("  FAIL: boot: making the server") for line in lines)


def test_the_summary_says_what_is_kept_left_and_beyond_its_limit(passed):
    passed.update(kept=True, created=5, deleted=4)
    passed["leftovers"] = [{"kind": "security_group", "id": "x", "name": "g", "reason": "it is still there"}]
    passed["thresholds"] = [limit("a", True, "a: 1"), limit("b", False, "b: 2 is more than 1")]
    lines = summary(passed, "/runs/x")
    assert "  created 5, deleted 4, left 1" in lines
    assert any("stackproof.provision.cleanup -e stackproof_run_dir=/runs/x" in line for line in lines)
    left = lines.index("  left: security group g: it is still there")
    command = "ansible-playbook stackproof.provision.cleanup -e stackproof_run_dir=/runs/x"
    assert lines[left + 1] == f"  remove what is left later with: {command}"
    assert "  within the limit: a: 1" in lines
    assert "  BEYOND the limit: b: 2 is more than 1" in lines


def test_the_summary_of_a_run_that_did_nothing(run):
    lines = text_module.summary(run.record, run.directory)
    assert "  created 0, deleted 0, left 0" in lines
    assert "  INCOMPLETE: The run has not finished." in lines


def test_a_hostile_summary_does_nothing_to_a_terminal(hostile):
    lines = summary(hostile, "/runs/x")
    assert all(is_harmless(line) for line in lines)
    assert any("[2J" in line for line in lines)


def test_the_lines_of_a_path_stand_below_its_name():
    lines = text_module.part_lines([("evidence", "a"), ("evidence", "b"), ("path", "c"), ("path", "-> d")])
    assert lines == [
        "    evidence:     a",
        "    evidence:     b",
        "    path:         c",
        "                  -> d",
    ]


def cases(text):
    suite = ElementTree.fromstring(text.encode())[0]
    return suite, {case.get("name"): case for case in suite}


def test_junit_has_a_case_for_each_stage_and_counts_them(failed):
    suite, cases_by_name = cases(junit(failed))
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
    passed["leftovers"] = [{"kind": "server", "id": "x", "name": "s", "reason": "it is still there"}]
    passed["thresholds"] = [limit("a", True, "a: 1"), limit("b", False, "b: 2")]
    suite, cases_by_name = cases(junit(passed))
    assert suite.get("failures") == "2"
    assert cases_by_name["nothing left"].find("failure").get("message") == "s: it is still there"
    assert cases_by_name["limit a"].find("failure") is None
    assert cases_by_name["limit b"].find("failure").get("message") == "b: 2"


def test_junit_fails_a_run_of_which_not_all_was_done(passed):
    reason = "All stages worked, but the hosts were not read."
    passed["verdict"].update(result="incomplete", reason=reason)
    suite, cases_by_name = cases(junit(passed))
    assert suite.get("failures") == "1"
    assert cases_by_name["run"].find("failure").get("message") == reason


def test_hostile_words_leave_junit_well_formed(hostile, tmp_path):
    run_module.write_whole(tmp_path / "junit.xml", junit(hostile))
    suite, cases_by_name = cases((tmp_path / "junit.xml").read_text())
    assert is_harmless(suite.get("name"))
    assert suite.get("tests") == str(len(suite)) == "9"
    assert "<b>&\"'" in cases_by_name["boot"].find("failure").text


def test_recorded_words_are_shown_as_they_are(failed):
    text = json.dumps(failed, ensure_ascii=False)
    assert words.clean(text) == text


def test_no_character_that_controls_anything_is_shown():
    assert {words.clean(f"a{chr(code)}b") for code in words.CONTROL} == {"a?b"}
    assert words.clean("a\tb\nc\u00a0d") == "a\tb\nc\u00a0d"


def test_no_character_that_turns_the_direction_of_writing_is_shown():
    turning = [chr(code) for code in range(0x110000) if bidirectional(chr(code)) in TURNING]
    turning += [mark for mark in map(chr, range(0x110000)) if name(mark, "").endswith((" LETTER MARK", "-LEFT MARK"))]
    turning += ["\N{LEFT-TO-RIGHT MARK}"]
    assert len(turning) >= 12
    assert {words.clean(f"a{mark}b\n") for mark in turning} == {"a?b\n"}


def test_what_was_not_read_is_not_told_once_more_with_the_checks_that_need_it(passed):
    unread = {"kind": "hung", "what": "the domain", "reason": "hangs: virsh dumpxml: no answer after 4 s"}
    lost = {"check": "A check", "status": "unreadable", "reason": "c1: the domain: hangs: virsh dumpxml", "seconds": 0}
    other = {**lost, "check": "Another", "reason": "c2: the domain: hangs: virsh dumpxml"}
    passed["hosts"] = [as_json.host("c1", reason="the domain: hangs", unread=[unread], checks=[lost, other])]
    assert text_module.host_lines(as_json.typed(passed))[2:] == [
        "  c1               2 unreadable",
        "    not read: the domain: hangs",
        "    unreadable: c2: the domain: hangs: virsh dumpxml",
    ]


def test_after_a_failure_no_host_is_listed_of_which_nothing_is_wrong(passed):
    holds = {"check": "A check", "status": "ok", "reason": None, "seconds": 0}
    failed = {**holds, "check": "Another", "status": "failed", "reason": "the tap is down"}
    passed["stages"][-1] = as_json.stage(passed["stages"][-1]["stage"], "failed")
    passed["hosts"] = [as_json.host("c1", checks=[holds]), as_json.host("c2", checks=[holds, failed])]
    assert text_module.host_lines(as_json.typed(passed))[2:] == [
        "  c2               1 ok, 1 failed",
        "    failed: the tap is down",
    ]
    passed["hosts"] = passed["hosts"][:1]
    assert text_module.host_lines(as_json.typed(passed)) == []


def test_one_reason_of_many_checks_of_a_host_is_one_line_with_their_number(passed):
    lost = {"check": "A check", "status": "unreadable", "reason": "c1 cannot be reached", "seconds": 0}
    failed = {**lost, "status": "failed", "reason": "the tap is down"}
    checks = [lost, failed, {**lost, "check": "Another"}, {**lost, "status": "ok", "reason": None}]
    passed["hosts"] = [
        as_json.host("c1", status="unreachable", reason="no route", checks=checks),
        as_json.host("c2", checks=[{**lost, "reason": "c2 cannot be reached"}]),
    ]
    assert text_module.host_lines(as_json.typed(passed))[2:] == [
        "  c1               1 ok, 1 failed, 2 unreadable",
        "    unreachable: no route",
        "    unreadable: c1 cannot be reached (2 checks)",
        "    failed: the tap is down",
        "  c2               1 unreadable",
        "    unreadable: c2 cannot be reached",
    ]
