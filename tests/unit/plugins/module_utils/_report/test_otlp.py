# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import http.server
import importlib
import json
import pkgutil
import threading

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._record.clock import seconds_of
from ansible_collections.stackproof.provision.plugins.module_utils._report import otlp
from ansible_collections.stackproof.provision.plugins.modules import report
from opentelemetry import semconv
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto_json.collector.trace.v1 import trace_service
from tree import RECORDED

DEADLINE = {
    **dict.fromkeys(("resource", "answer", "status", "request_id")),
    **{"kind": "deadline", "message": "no\x1b[2J answer", "hint": ""},
}
FOLLOWED = RECORDED / "pages" / "20261121-152747-af4099"


@pytest.fixture
def record():
    """A run that passed, followed through its flow, as page and spans are made of it."""
    return as_json.read_record(FOLLOWED)


def spans_of(record):
    return otlp.spans(from_json(Record, record))


def about(attributes):
    return {pair["key"]: next(iter(pair["value"].values())) for pair in attributes}


def services(record):
    by_service = {}
    for resource in spans_of(record)["resourceSpans"]:
        service = about(resource["resource"]["attributes"])["service.name"]
        by_service.setdefault(service, []).extend(resource["scopeSpans"][0]["spans"])
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
        assert span["startTimeUnixNano"] == otlp.nanoseconds(seconds_of(step["at"]))
        assert int(span["endTimeUnixNano"]) >= int(span["startTimeUnixNano"])


def test_a_stage_has_its_requests_below_it(record):
    own = services(record)["stackproof"]
    boot = next(span for span in own if span["name"] == "stage boot")
    below = [span for span in own if span.get("parentSpanId") == boot["spanId"]]
    calls = next(stage["calls"] for stage in record["stages"] if stage["stage"] == "boot")
    assert len(below) == len(calls) > 0
    assert value(below[0], "http.response.status_code") == {"intValue": str(calls[0]["status"])}


def test_what_failed_is_an_error_with_its_words(record):
    record["verdict"].update(result="fail", reason="no guest")
    record["stages"][-1].update(status="failed", error=DEADLINE)
    record["flows"][0]["steps"][0].update(status="missing", reason="it is not in the log")
    for stage in record["stages"]:
        stage["calls"] = [call for call in stage["calls"] if call["status"] and call["status"] < 400]
    boot = next(stage for stage in record["stages"] if stage["stage"] == "boot")
    boot["calls"] += [{**boot["calls"][0], "status": status} for status in (403, None)]
    wrong = {span["name"]: span for span in everything(record) if span["status"]["code"] == otlp.ERROR}
    first, call = record["flows"][0]["steps"][0], f"GET {boot['calls'][0]['path']}"
    assert {name: span["status"]["message"] for name, span in wrong.items()} == {
        "run": "no guest",
        "stage metadata": "no?[2J answer",
        f"{first['id']} {first['message']}": "it is not in the log",
        call: "no answer",
    }
    types = [value(span, "error.type") for span in everything(record) if span["name"] == call]
    assert types[-2:] == [{"stringValue": "403"}, {"stringValue": "no answer"}]
    assert value(wrong["stage metadata"], "error.type") == {"stringValue": "deadline"}


def test_the_name_of_a_request_is_that_of_its_kind(record):
    names = {span["name"] for span in services(record)["stackproof"] if span["kind"] == otlp.CLIENT}
    assert "GET /v2.1/servers/{id}" in names
    assert not [name for name in names if otlp.OWN.search(name)]


def test_a_step_lies_below_its_stage(record):
    flow = record["flows"][0]
    flow["steps"] = [
        {**step, "stage": "volume" if number % 2 else "removal"} for number, step in enumerate(flow["steps"])
    ]
    spans = {span["spanId"]: span for span in everything(record)}
    parents = {spans[span["parentSpanId"]]["name"] for span in spans.values() if span["kind"] == otlp.SERVER}
    assert parents == {"stage volume", "run"}


def test_all_flows_that_judge_are_told(record):
    record["flows"].append({**record["flows"][0], "name": "another"})
    flows = {
        value(span, "stackproof.flow")["stringValue"] for span in everything(record) if span["kind"] == otlp.SERVER
    }
    assert flows == {record["flows"][0]["name"]}
    record["flows"][-1]["judged"] = True
    flows = {
        value(span, "stackproof.flow")["stringValue"] for span in everything(record) if span["kind"] == otlp.SERVER
    }
    assert flows == {"another"}


# As OpenTelemetry's own packages read it


def test_opentelemetry_takes_it_as_json_and_as_protobuf(record):
    sent = spans_of(record)
    read = trace_service.ExportTraceServiceRequest.from_json(json.dumps(sent))
    assert read.to_dict() == sent
    request = protobuf_of(sent)
    again = trace_service_pb2.ExportTraceServiceRequest.FromString(request.SerializeToString())
    spans = [span for resource in again.resource_spans for scope in resource.scope_spans for span in scope.spans]
    assert len(spans) == len(everything(record))
    assert {span.trace_id.hex() for span in spans} == {everything(record)[0]["traceId"]}
    assert all(span.end_time_unix_nano >= span.start_time_unix_nano > 0 for span in spans)


def protobuf_of(sent):
    """The same as a protobuf message: field by field, as in OTLP's JSON ids are hexadecimal and not base64."""
    request = trace_service_pb2.ExportTraceServiceRequest()
    fill(request, trace_service.ExportTraceServiceRequest.from_dict(sent))
    return request


def fill(message, read):
    """Copy a message of the package for JSON into one of protobuf; each field must be there, and of its type."""
    for name in read.__dataclass_fields__:
        field = getattr(read, name)
        if isinstance(field, list):
            for item in field:
                fill(getattr(message, name).add(), item)
        elif hasattr(field, "__dataclass_fields__"):
            fill(getattr(message, name), field)
        elif field is not None:
            setattr(message, name, field)


def conventional():
    """The names of attributes that OpenTelemetry knows, without those that it gives up."""
    names = set()
    for package in ("attributes", "_incubating.attributes"):
        folder = importlib.import_module(f"{semconv.__name__}.{package}")
        for found in pkgutil.iter_modules(folder.__path__):
            module = importlib.import_module(f"{folder.__name__}.{found.name}")
            names |= {text for name, text in vars(module).items() if name.isupper() and isinstance(text, str)}
    return names - {"peer.service", "http.method", "http.status_code"}


def test_attributes_are_conventional_or_our_own(record):
    sent = spans_of(record)["resourceSpans"]
    of_resources = [about(resource["resource"]["attributes"]) for resource in sent]
    keys = {key for attributes in of_resources for key in attributes}
    keys |= {pair["key"] for span in everything(record) for pair in span["attributes"]}
    assert {key for key in keys if not key.startswith("stackproof.")} <= conventional()
    assert {"service.name", "service.namespace", "host.name", "http.request.method", "url.template"} <= keys
    places = [(attributes["service.name"], attributes.get("host.name")) for attributes in of_resources]
    assert len(set(places)) == len(places)
    assert ("nova-compute", "compute1") in places or ("nova-compute", "compute2") in places


def test_times_keep_their_microseconds():
    assert otlp.nanoseconds(seconds_of("2026-11-21T16:06:17.663331+00:00")) == "1795277177663331000"


@pytest.fixture
def receiver():
    """An endpoint on this machine that keeps what it gets, and answers as it is told."""
    got = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            assert self.headers["Content-Type"] == "application/json"
            got.append(trace_service.ExportTraceServiceRequest.from_json(text).to_dict())
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
    (directory / "run.json").write_text((FOLLOWED / "run.json").read_text())
    return str(directory)


def test_report_sends_the_spans(call, run_dir, receiver, record, monkeypatch):
    endpoint, got = receiver
    warned = []
    monkeypatch.setattr(report.AnsibleModule, "warn", lambda _self, text: warned.append(text))
    call(report, run_dir=run_dir, otlp_endpoint=f"{endpoint}/v1/traces", enforce=False)
    assert got == [spans_of(record)]
    assert warned == []


@pytest.mark.parametrize(
    ("endpoint", "why"),
    [
        ("{}/elsewhere", "HTTP Error 404"),
        ("http://somebody@127.0.0.1:1/v1/traces", "Connection refused"),
        ("collector/v1/traces", "unknown url type"),
        ("http://[::1/v1/traces", "Invalid IPv6 URL"),
    ],
)
def test_spans_that_nobody_takes_are_a_warning(call, run_dir, receiver, monkeypatch, endpoint, why):
    warned = []
    monkeypatch.setattr(report.AnsibleModule, "warn", lambda _self, text: warned.append(text))
    result = call(report, run_dir=run_dir, otlp_endpoint=endpoint.format(receiver[0]), enforce=False)
    assert not result.get("failed")
    (text,) = warned
    assert "did not take the spans of the run: " in text
    assert why in text
    assert "somebody" not in text
