# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import http.server
import json
import threading

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._report import otlp
from ansible_collections.stackproof.provision.plugins.modules import report
from tree import RECORDED


@pytest.fixture
def record():
    """A run that passed, followed through its flow, as page and spans are made of it."""
    return json.loads((RECORDED / "pages" / "20261121-152747-af4099" / "run.json").read_text())


def services(record):
    by_service = {}
    for resource in otlp.spans(record)["resourceSpans"]:
        about = {pair["key"]: pair["value"]["stringValue"] for pair in resource["resource"]["attributes"]}
        by_service[about["service.name"]] = resource["scopeSpans"][0]["spans"]
    return by_service


def everything(record):
    return [span for spans in services(record).values() for span in spans]


def value(span, key):
    return next((pair["value"] for pair in span["attributes"] if pair["key"] == key), None)


def test_a_run_is_one_trace_below_one_span(record):
    spans = everything(record)
    assert len({span["traceId"] for span in spans}) == 1
    assert len({span["spanId"] for span in spans}) == len(spans)
    tops = [span for span in spans if "parentSpanId" not in span]
    assert [span["name"] for span in tops] == ["run"]
    ids = {span["spanId"] for span in spans}
    assert all(span["parentSpanId"] in ids for span in spans if "parentSpanId" in span)
    assert all(len(span["traceId"]) == 32 and len(span["spanId"]) == 16 for span in spans)


def test_each_step_with_a_time_is_a_span_of_the_service_that_took_it(record):
    timed = [step for step in record["flows"][0]["steps"] if step["at"]]
    assert len(timed) > 40
    for step in timed:
        span = next(named for named in services(record)[step["target"]] if named["name"].startswith(f"{step['id']} "))
        assert value(span, "stackproof.status") == {"stringValue": step["status"]}
        assert span["startTimeUnixNano"] == otlp.nanoseconds(step["at"])
        assert int(span["endTimeUnixNano"]) >= int(span["startTimeUnixNano"])


def test_a_stage_has_its_requests_below_it(record):
    own = services(record)["stackproof"]
    boot = next(span for span in own if span["name"] == "stage boot")
    below = [span for span in own if span.get("parentSpanId") == boot["spanId"]]
    calls = next(stage["calls"] for stage in record["stages"] if stage["stage"] == "boot")
    assert len(below) == len(calls) > 0
    assert value(below[0], "http.response.status_code") == {"intValue": str(calls[0]["status"])}


def test_what_failed_is_an_error(record):
    record["verdict"]["result"] = "fail"
    record["stages"][-1].update(status="failed", error={"message": "no\x1b[2J answer", "hint": ""})
    record["flows"][0]["steps"][0]["status"] = "missing"
    wrong = {span["name"]: span for span in everything(record) if span["status"]["code"] == otlp.ERROR}
    first = record["flows"][0]["steps"][0]
    assert set(wrong) == {"run", "stage metadata", f"{first['id']} {first['message']}"}
    assert value(wrong["stage metadata"], "stackproof.reason") == {"stringValue": "no?[2J answer"}


def test_times_keep_their_microseconds():
    assert otlp.nanoseconds("2026-11-21T16:06:17.663331+00:00") == "1795277177663331000"


@pytest.fixture
def receiver():
    """An endpoint on this machine that keeps what it gets, and answers as it is told."""
    got = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200 if self.path == "/v1/traces" else 404)
            self.end_headers()

        def log_message(self, *_arguments):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", got
        server.shutdown()
        thread.join()


@pytest.fixture
def run_dir(record, tmp_path):
    directory = tmp_path / record["run_id"]
    directory.mkdir()
    (directory / "run.json").write_text(json.dumps(record))
    return str(directory)


def test_report_sends_the_spans(call, run_dir, receiver, record):
    endpoint, got = receiver
    result = call(report, run_dir=run_dir, otlp_endpoint=f"{endpoint}/v1/traces", enforce=False)
    assert got == [otlp.spans(record)]
    assert not result.get("warnings")


def test_an_endpoint_that_refuses_is_a_warning(call, run_dir, receiver, monkeypatch):
    endpoint, _got = receiver
    warned = []
    monkeypatch.setattr(report.AnsibleModule, "warn", lambda _self, text: warned.append(text))
    call(report, run_dir=run_dir, otlp_endpoint=f"{endpoint}/elsewhere", enforce=False)
    assert "did not take the spans of the run" in str(warned)
