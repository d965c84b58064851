# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which parts of runs, messages and reports are recorded, and what is taken out of them."""

from __future__ import annotations

import json
import random

import pytest
from recorder.judged import judged
from recorder.messages import ids_of, like, message_of, planted
from recorder.reports import INNER, MOST, fewer_spans
from recorder.reports import planted as planted_report
from recorder.thinning import as_the_run_read, before_it_was_followed, rows
from tree import RECORDED

FRAMES = [json.loads(line) for line in (RECORDED / "queue/frames.jsonl").read_text().splitlines()]
IDS = ids_of(json.loads((RECORDED / "queue/run.json").read_text()))


def test_messages_of_the_old_recording_are_found_among_others_with_their_replies():
    others = [{**frame, "body": frame["body"].replace("_id", "_ib")} for frame in FRAMES]
    frames = [*others, *FRAMES]
    random.Random(7).shuffle(frames)
    # Those that are no calls, and so belong to none, are left out.
    assert like(FRAMES, frames, IDS, IDS) == sorted(FRAMES, key=lambda frame: frame["at"])


def test_a_message_that_did_not_come_again_is_left_out():
    method = "build_and_run_instance"
    frames = [frame for frame in FRAMES if message_of(frame).get("method") != method]
    assert len(frames) < len(FRAMES)
    assert like(FRAMES, frames, IDS, IDS) == frames


def frame(**message):
    return {"at": 1.0, "key": "publish.nova", "body": json.dumps({"oslo.message": json.dumps(message)})}


def test_a_secret_in_a_message_is_replaced_by_a_word_with_its_name():
    clean = planted(frame(_context_auth_token="sesame", args={"admin_password": "sesame", "user_data": None, "b": [7]}))
    assert "sesame" not in json.dumps(clean)
    assert message_of(clean) == {
        "_context_auth_token": "planted-_context_auth_token",
        "args": {"admin_password": "planted-admin_password", "user_data": None, "b": [7]},
    }


@pytest.mark.parametrize("body", ["", "no json", "[]", "7", '{"oslo.message": "no json"}'])
def test_what_is_no_message_of_openstack_has_none(body):
    assert message_of({"body": body}) == {}


def span(started, path, *children, method="GET"):
    payload = {
        "info": {"request": {"path": path, "method": method, "query": "secret"}, "db": {"params": {"a": "secret"}}}
    }
    info = {"name": "wsgi", "service": "api", "started": started, "meta.raw_payload.wsgi-start": payload}
    return {"info": info, "children": list(children)}


def test_most_of_equal_spans_are_left_out_and_the_first_stay():
    polls = [span(number, f"/servers/{number:032x}") for number in range(20, 0, -1)]
    report = fewer_spans(
        {"info": {"name": "total"}, "children": [*polls, span(30, "/servers", span(31, "/x"), method="POST")]}
    )
    assert [child["info"]["started"] for child in report["children"]] == [*range(1, MOST + 1), 30]
    assert [child["info"]["started"] for child in report["children"][-1]["children"]] == [31]


def test_inner_functions_stay_once_or_where_they_lead_to_something_else():
    inner = {"info": {"name": INNER, "started": 1}, "children": []}
    outer = {"info": {"name": INNER, "started": 2}, "children": [inner, span(3, "/x")]}
    report = fewer_spans({"info": {"name": "total"}, "children": [inner, outer, inner]})
    assert [top["info"]["started"] for top in report["children"]] == [1, 2]
    assert [[child["info"]["started"] for child in top["children"]] for top in report["children"]] == [[], [3]]


def test_what_was_passed_is_replaced_in_a_report():
    report = planted_report(span(1, "/a", span(2, "/b")))
    assert "secret" not in json.dumps(report)
    assert json.dumps(report).count("planted") == 4
    assert report["children"][0]["info"]["started"] == 2


def test_the_recorded_report_has_nothing_left_to_take_out():
    report = json.loads((RECORDED / "spans/report.json").read_text())
    assert planted_report(report) == report


def event(at, **more):
    return {"at": at, "kind": "line", "keys": {"server": ["x"]}, **more}


def test_what_was_logged_after_the_run_has_read_the_logs_is_left_out():
    record = {
        "evidence": {"finished": "1970-01-01T00:00:10+00:00"},
        "hosts": [{"host": "a", "clock_offset_s": 5.0}, {"host": "b", "clock_offset_s": None}],
    }
    noise = event(1, kind="error", keys={})
    events = [event(9), event(14), event(16), noise, event(2, kind="error")]
    logs = {name: {"addresses": [], "sources": [], "events": events} for name in ("a", "b")}
    kept = as_the_run_read(record, logs)
    assert [logged["at"] for logged in kept["a"]["events"]] == [9, 14, 2]
    assert [logged["at"] for logged in kept["b"]["events"]] == [9, 2]
    lines = rows(kept)
    assert [line["host"] for line in lines] == [*"aaaa", *"bbb"]
    assert [set(line) for line in lines if "event" not in line] == [{"host", "addresses", "sources"}] * 2


def test_a_record_is_as_it_was_before_its_flows():
    record = {"created": 5, "flows": [1], "logs": [], "errors": [], "other_boots": {}, "agents": []}
    assert before_it_was_followed(record) == {"created": 5, "flows": []}


def test_of_a_run_that_failed_what_is_judged_stays():
    stage = {"stage": "boot", "status": "failed", "started": "x", "error": {"kind": "deadline"}, "calls": [1],
             "waits": [2], "details": {"request_id": "req-1", "token": "fernet"}}  # fmt: skip
    host = {"host": "a", "groups": [], "status": "read", "unread": [], "checks": [1],
            "facts": {"names": ["a"], "services": [], "interfaces": {},
                      "ceph": {"health": 1, "osds": 2, "images": 3}}}  # fmt: skip
    steps = [{"id": "13", "status": "missing", "at": None, "host": None, "evidence": []}]
    record = {"started": "x", "stages": [stage], "hosts": [host], "agents": [], "errors": [], "created": 5,
              "instance": {"server": {"id": "s", "host": None, "host_id": "", "name": "n"}, "ports": []},
              "flows": [{"name": "ops_guide", "steps": []}, {"name": "modern", "steps": steps}]}  # fmt: skip
    truth = {"name": "n", "stage": "boot", "components": ["a"], "hosts": ["a"], "steps": ["13"], "during": ""}
    assert judged(record, "n", truth) == {
        "fault": "n",
        "truth": {"stage": "boot", "components": ["a"], "hosts": ["a"], "steps": ["13"]},
        "record": {
            "started": "x",
            "stages": [{"stage": "boot", "status": "failed", "started": "x", "error": {"kind": "deadline"}, "calls": [],
                        "details": {"token": "fernet"}}],
            "hosts": [{"host": "a", "groups": [], "status": "read", "unread": [],
                       "facts": {"names": ["a"], "services": [], "ceph": {"health": 1, "osds": 2}}}],
            "agents": [],
            "errors": [],
            "instance": {"server": {"id": "s", "host": None, "host_id": ""}},
        },
        "steps": {"13": ["missing", None, None]},
    }  # fmt: skip
    assert judged({**record, "instance": None}, "n", truth)["record"]["instance"] is None
