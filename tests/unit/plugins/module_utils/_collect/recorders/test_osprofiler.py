# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Spans of a real trace, as OSProfiler's own library reported them: the fields of each, and the steps that they show.

recorded/spans/report.json is a part of that report; arguments and values were replaced by words with planted.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import hmac
import json

import events_of
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.recorders import osprofiler
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow as flow_module
from ansible_collections.stackproof.provision.plugins.module_utils._match import follow as follow_module
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import to_json
from ansible_collections.stackproof.provision.plugins.module_utils._record import clock
from tree import FLOWS, RECORDED

SPANS = RECORDED / "spans"
FIELDS = {"name", "kind", "service", "host", "caller", "at", "until"}
TRACE = "c2fe6b5e-2b5c-4f4b-9a39-8ad0d5cf3ad1"


@pytest.fixture
def report():
    return json.loads((SPANS / "report.json").read_text())


@pytest.fixture
def run():
    return json.loads((SPANS / "run.json").read_text())


def read_spans(report):
    return to_json(osprofiler.read(report))


def test_headers_are_signed_as_the_middleware_wants_it():
    headers = osprofiler.headers("a key", TRACE)
    assert set(headers) == {"X-Trace-Info", "X-Trace-HMAC"}
    assert json.loads(base64.urlsafe_b64decode(headers["X-Trace-Info"])) == {"base_id": TRACE, "parent_id": TRACE}
    signed = hmac.new(b"a key", headers["X-Trace-Info"].encode(), hashlib.sha1).hexdigest()
    assert headers["X-Trace-HMAC"] == signed
    assert osprofiler.headers("another", TRACE)["X-Trace-HMAC"] != signed


def test_nothing_of_a_span_is_told_but_what_is_named(report):
    assert "planted" in json.dumps(report)
    spans = read_spans(report)
    assert "planted" not in json.dumps(spans)
    more = {"http": {"method", "path"}, "rpc": {"function"}, "db": {"verb", "table"}}
    for span in spans:
        assert FIELDS <= set(span) <= FIELDS | more.get(span["kind"], {"function"})
    assert [span["at"] for span in spans] == sorted(span["at"] for span in spans)


def span(name="wsgi", stop=True, **info):
    start = {"timestamp": "2026-11-21T17:00:00.500000", "info": info}
    raw = {f"meta.raw_payload.{name}-start": start}
    if stop:
        raw[f"meta.raw_payload.{name}-stop"] = {"timestamp": "2026-11-21T17:00:01.000000", "info": {}}
    return {"info": {"name": name, "project": "nova", "service": "api", "host": "one", **raw}, "children": []}


def test_a_span_that_has_not_ended_has_no_end():
    (read,) = read_spans({"children": [span(stop=False)]})
    assert (read["until"], read["at"]) == (None, clock.seconds_of("2026-11-21T17:00:00.5Z"))


def test_a_span_without_a_begin_is_passed_over():
    node = span()
    del node["info"]["meta.raw_payload.wsgi-start"]
    assert read_spans({"children": [node]}) == []
    assert read_spans({}) == []


@pytest.mark.parametrize(
    ("statement", "verb", "table"),
    [
        ("SELECT a, 'secret' FROM instances WHERE b = 'secret'", "SELECT", "instances"),
        ("INSERT INTO `build_requests` (a) VALUES ('secret')", "INSERT", "build_requests"),
        ("UPDATE instances SET admin_pass='secret'", "UPDATE", "instances"),
        ("DELETE FROM build_requests WHERE a = 'secret'", "DELETE", "build_requests"),
        ("secret", None, None),
        (None, None, None),
    ],
)
def test_of_a_statement_verb_and_table_are_told(statement, verb, table):
    (read,) = read_spans({"children": [span("db", db={"statement": statement, "params": {"a": "secret"}})]})
    assert (read["verb"], read["table"]) == (verb, table)
    assert "secret" not in json.dumps(read)


def test_reads_of_one_table_by_one_service_are_told_once_and_writes_each_time():
    reads = [span("db", db={"statement": "SELECT a FROM instances"}) for _time in range(3)]
    writes = [span("db", db={"statement": "UPDATE instances SET a"}) for _time in range(3)]
    spans = read_spans({"children": [{**reads[0], "children": [*reads[1:], *writes]}]})
    assert [span["verb"] for span in spans].count("SELECT") == 1
    assert [span["verb"] for span in spans].count("UPDATE") == 3


def test_a_name_that_is_none_is_not_told():
    (read,) = read_spans({"children": [span("rpc", function={"name": "a secret", "args": "secret"})]})
    assert read["function"] is None


def follow(run, report):
    loaded = [flow_module.load(str(FLOWS / f"{name}.yml")) for name in ("ops_guide", "modern")]
    spans = {"controller1": {"spans": read_spans(report)}}
    flows, events = events_of.followed(run, loaded, {"span": spans})
    return [{step["id"]: step for step in flow["steps"]} for flow in flows], events


def by_span(steps):
    return {
        name
        for name, step in steps.items()
        if any((entry["source"], entry["tier"], entry["grade"]) == ("span", 3, "keyed") for entry in step["evidence"])
    }


def test_spans_show_steps_without_any_log(run, report):
    (guide, modern), _events_of_run = follow(run, report)
    assert by_span(guide) == {"5", "9", "11", "13", "15", "16", "19", "20", "26", "29", "37", "39", "42", "44", "48"}
    assert by_span(modern) - by_span(guide) == {"N4", "N5", "N6", "N7", "N8", "N9", "N12", "N13", "N14", "N15"}
    (before, _modern), _events_of_run = follow(run, {})
    assert "OSProfiler (stackproof_profiler_key)" in before["9"]["reason"]


def test_a_request_is_told_with_who_asked(run, report):
    (guide, modern), _events_of_run = follow(run, report)
    (of_compute,) = (entry for entry in guide["19"]["evidence"] if entry["source"] == "span")
    (of_api,) = (entry for entry in modern["N4"]["evidence"] if entry["source"] == "span")
    assert of_compute["text"].endswith(", asked by nova/nova-compute")
    assert of_api["text"].endswith(", asked by nova/osapi_compute")
    assert of_compute["at"] > of_api["at"]


def test_a_validation_of_a_token_is_that_of_the_service_that_asked(run, report):
    """Whose tokens are cached differs: what Glance has asked for nova-compute's request is taken out, and put back."""
    asked = [event for event in read_spans(report) if str(event.get("path")).endswith("/auth/tokens")]
    parents = {child["trace_id"]: parent for parent in walk(report) for child in parent["children"]}
    tokens = [node for node in walk(report) if is_validation(node)]
    assert len(tokens) == len(asked) > 0
    assert {event["caller"] for event in asked} == {
        "{project}/{service}".format(**parents[node["trace_id"]]["info"]) for node in tokens
    }
    for node in walk(report):
        if node["info"]["project"] == "glance" and compute_asks(node, report):
            node["children"] = [child for child in node["children"] if not is_validation(child)]
    (guide, _modern), _events_of_run = follow(run, report)
    assert guide["19a"]["status"] == "unseen"
    glance = next(node for node in walk(report) if node["info"]["project"] == "glance" and compute_asks(node, report))
    moved = copy.deepcopy(tokens[0])
    move(moved, start_of(glance))
    glance["children"].append(moved)
    (guide, _modern), _events_of_run = follow(run, report)
    assert {guide[name]["status"] for name in ("19a", "19b")} == {"seen"}
    assert {guide[name]["status"] for name in ("26a", "26b", "40", "41")} == {"unseen"}


def is_validation(node):
    return node["info"]["project"] == "keystone" and node["info"]["name"] == "wsgi"


def walk(node):
    for child in node["children"]:
        yield child
        yield from walk(child)


def compute_asks(node, report):
    parents = {child["trace_id"]: node for node in walk(report) for child in node["children"]}
    parent = parents.get(node["trace_id"])
    return node["info"]["name"] == "wsgi" and parent and parent["info"]["service"] == "nova-compute"


def start_of(node):
    return node["info"]["meta.raw_payload.wsgi-start"]["timestamp"]


def move(node, to):
    """Let a request begin and end when another request began."""
    for part in ("start", "stop"):
        node["info"][f"meta.raw_payload.wsgi-{part}"]["timestamp"] = to
    node["children"] = []


def test_each_span_is_by_the_clock_of_its_own_host(run, report):
    for host in run["hosts"]:
        host.update(clock_offset_s=0.0, clock_error_s=0.0)
    spans = {"controller1": {"spans": read_spans(report)}}
    plain = events_of.spans(run, spans)
    next(host for host in run["hosts"] if host["host"] == "compute1").update(clock_offset_s=5.0, clock_error_s=0.1)
    for event, moved in zip(plain, events_of.spans(run, spans)):
        assert event["at"] - moved["at"] == pytest.approx(5 if event["host"] == "compute1" else 0, abs=1e-4)
    assert {event["host"] for event in plain} >= {"controller1", "compute1", "network1"}


def test_the_record_says_how_many_spans_were_read_and_why_none():
    asked = {"a": {"spans": [1, 2]}, "b": {"failed": True, "msg": "no osprofiler"}, "c": {"skipped": True}, "d": None}
    assert to_json(follow_module.accounts({"span": asked})["spans"]) == [
        {"host": "a", "spans": 2, "reason": None},
        {"host": "b", "spans": 0, "reason": "no osprofiler"},
    ]
