# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ids, times and secrets of whatever is recorded; what is followed from one command to the next; what is left out."""

from __future__ import annotations

import json

import pytest
import secret_scan
from recorder.following import Following
from recorder.names import Names
from recorder.rewriting import MASK, Rewriting
from recorder.thinning import fewer_alike, fewer_polls, only_flow
from recorder.times import Shift

RUN, BEFORE = "20261202-120304-3f9a1c", "20261121-065105-bdb5f5"
SHIFT = Shift("2026-12-02T12:03:04", "2026-11-21T06:51:05")
REWRITE = Rewriting(Names([(RUN, BEFORE)]), SHIFT, ["sesame-1234"])


def test_all_that_json_can_hold_is_rewritten():
    rewritten = REWRITE({RUN: ["2026-12-02T12:03:05Z", 1796212985, None, True, {"a": 7}]})
    assert rewritten == {BEFORE: ["2026-11-21T06:51:06Z", 1795243866, None, True, {"a": 7}]}


def test_the_id_of_a_run_is_named_and_not_moved_as_well():
    assert REWRITE(f"stackproof-{RUN}-server 2026-12-02 12:03:05") == f"stackproof-{BEFORE}-server 2026-11-21 06:51:06"
    assert REWRITE("stackproof-20261202-120305-ffffff") == "stackproof-20261121-065106-ffffff"


@pytest.mark.parametrize(
    "text",
    [
        "password: sesame-1234",
        "X-Auth-Token: gAAAAABl" + "Zk3_-x9Q" * 12,
        "key = AQ" + "Zk3x9Q" * 6 + "==",
        "connection=mysql+pymysql://nova:Zk3x9Qabc@10.0.0.1/nova",
        "String redis://:Zk3x9Qabc@10.0.0.1:6379 looks like a connection string",
        'X-Instance-ID-Signature: ' + "5f3a" * 16,
        '"password": "Zk3x9Qabc"',
        '{"qom-type":"secret","data":"Zk3x9QabcZk3x9Qabc==","keyid":"masterKey0","iv":"Zk3x9Qabc=="}',
    ],
)  # fmt: skip
def test_a_secret_is_taken_out(text):
    rewritten = REWRITE(text)
    assert MASK in rewritten
    assert "Zk3x9Q" not in rewritten
    assert "5f3a5f3a" not in rewritten
    assert secret_scan.Scanner({"known": "sesame-1234"}).content("recording", rewritten.encode()) == []


def test_a_command_asks_for_what_an_earlier_one_answers_today():
    following = Following(lambda text: text)
    following.answered(["pgrep", "a"], "70001 qemu -x AAAA\n", "19440 qemu -x BBBB CCCC\n")
    following.answered(["find"], '{"data":[["tap",9]]}', '{"data":[["tap",27]]}')
    following.answered(["info"], '{"id":"1560b93b126d"}', '{"id":"241ad7f09e7f"}')
    assert following.words(["cat", "/proc/19440/stat"]) == ["cat", "/proc/70001/stat"]
    assert following.words(["in_port=27", "rbd_header.241ad7f09e7f"]) == ["in_port=9", "rbd_header.1560b93b126d"]
    assert following.words(["port=28"]) == ["port=28"]
    # What is short may mean something else elsewhere.
    assert following.as_before("70001 (a) 9 1560b93b126d") == "19440 (a) 9 241ad7f09e7f"


def test_an_answer_of_another_form_is_not_followed():
    following = Following(lambda text: text)
    following.answered(["ss"], "a 1 b 2", "a 1")
    assert following.words(["in_port=1"]) == ["in_port=1"]
    assert following.as_before("nothing") == "nothing"


def call(path, number):
    return {"method": "GET", "service": "compute", "path": path, "status": 200, "number": number}


def test_most_of_many_polls_are_left_out():
    calls = [call("/a", 0), *(call("/b", number) for number in range(20)), call("/c", 20)]
    record = fewer_polls({"stages": [{"stage": "boot", "calls": calls}], "created": 5})
    (stage,) = record["stages"]
    assert [(kept["path"], kept["number"]) for kept in stage["calls"]] == [
        ("/a", 0), ("/b", 0), ("/b", 1), ("/b", 17), ("/b", 18), ("/b", 19), ("/c", 20),
    ]  # fmt: skip
    assert record["created"] == 5
    few = [call("/b", number) for number in range(5)]
    assert fewer_polls({"stages": [{"calls": few}]})["stages"][0]["calls"] == few


def test_most_of_the_lines_that_say_the_same_are_left_out():
    polls = [f"17:00:{number:02d} GET /servers/{number:032x}: 200\n" for number in range(20)]
    assert fewer_alike(["a\n", *polls, "b\n"]) == ["a\n", *polls[:5], "b\n"]


def test_one_flow_stays():
    record = {"flows": [{"name": "a"}, {"name": "b"}]}
    assert json.dumps(only_flow(record, "b")) == '{"flows": [{"name": "b"}]}'
