# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded run that is followed through flows, as Ansible calls the modules."""

from __future__ import annotations

import json

import as_json
import jsonschema
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow as flow_module
from ansible_collections.stackproof.provision.plugins.module_utils._match.matcher import TOKEN_CACHE
from ansible_collections.stackproof.provision.plugins.module_utils._record import clock, run
from ansible_collections.stackproof.provision.plugins.modules import flow as module
from ansible_collections.stackproof.provision.plugins.modules import flow_info as asking
from cases_by_hand import error as a_failure
from tree import RECORDED, ROLES

FILES = [str(ROLES / "flow/files/flows" / f"{name}.yml") for name in ("ops_guide", "http_trace")]
SCHEMA = json.loads((ROLES / "report/files/run.schema.json").read_text())


@pytest.fixture
def directory(followed, tmp_path):
    """The directory of the recorded run, as it was before it was followed."""
    made = tmp_path / followed.record["run_id"]
    made.mkdir()
    # Its record is older than some keys: it is as a module would have written it.
    followed.record = as_json.plain(as_json.typed(followed.record))
    (made / "run.json").write_text(json.dumps(followed.record))
    return made


def returned(logs):
    """The events and sources of the logs, as the module that reads them returns them."""
    return {host: {**read, "events": json.dumps(read["events"])} for host, read in logs.items()}


def record(directory):
    return json.loads((directory / "run.json").read_text())


def test_what_to_look_for_is_said(call, directory, followed):
    result = call(asking, check=True, run_dir=str(directory), flows=FILES)
    assert (result["changed"], result.get("failed")) == (False, None)
    wanted = result["wanted"]
    assert set(wanted) == {"keys", "phrases", "windows", "began", "since", "until", "errors", "trace"}
    assert wanted["keys"]["server"] == [followed.record["instance"]["server"]["id"]]
    assert wanted["since"] == wanted["began"] - TOKEN_CACHE
    assert wanted["until"] > wanted["began"] or wanted["until"] > 1.7e9
    assert {"service", "pattern"} == set(wanted["phrases"][0])
    assert record(directory) == followed.record


def test_a_followed_run_has_its_flows_and_events(call, directory, followed):
    result = call(module, run_dir=str(directory), flows=FILES, reads={"log": returned(followed.logs)})
    assert (result["changed"], result.get("failed")) == (True, None)
    assert set(result["coverage"]) == {"ops_guide", "http_trace"}
    assert [row["tier"] for row in result["coverage"]["ops_guide"]] == [0, 1, 2, 2, 2, 3, 3, 3]
    filed = record(directory)
    assert [flow["name"] for flow in filed["flows"]] == ["ops_guide", "http_trace"]
    assert filed["flows"][0]["coverage"] == result["coverage"]["ops_guide"]
    logs = filed.pop("logs")
    assert filed.pop("errors") == []
    assert {**filed, "flows": []} == followed.record
    assert [log["host"] for log in logs] == sorted(followed.logs)
    assert [log["sources"] for log in logs] == [followed.logs[log["host"]]["sources"] for log in logs]
    lines = (directory / "events.jsonl").read_text().splitlines()
    times = [json.loads(line)["at"] for line in lines]
    assert times == sorted(times)
    assert len(times) > 500
    assert sorted(path.name for path in directory.iterdir()) == ["events.jsonl", "lock", "run.json"]


def test_the_record_of_a_followed_run_is_valid(call, directory, followed):
    call(module, run_dir=str(directory), flows=FILES, reads={"log": returned(followed.logs)})
    problems = jsonschema.Draft202012Validator(SCHEMA).iter_errors(record(directory))
    assert [
        f"{list(problem.absolute_path)}: {problem.message[:200]}"
        for problem in problems
        if "flows" in problem.absolute_path
    ] == []


def test_following_again_says_the_same(call, directory, followed):
    call(module, run_dir=str(directory), flows=FILES, reads={"log": returned(followed.logs)})
    before = [(directory / name).read_text() for name in ("run.json", "events.jsonl")]
    call(module, run_dir=str(directory), flows=FILES, reads={"log": returned(followed.logs)})
    assert [(directory / name).read_text() for name in ("run.json", "events.jsonl")] == before


def test_check_mode_writes_nothing(call, directory, followed):
    before = (directory / "run.json").read_text()
    result = call(module, check=True, run_dir=str(directory), flows=FILES, reads={"log": returned(followed.logs)})
    assert result["coverage"]["ops_guide"]
    assert (directory / "run.json").read_text() == before
    assert [path.name for path in directory.iterdir()] == ["run.json"]


@pytest.mark.parametrize("lost", [None, {"unreachable": True, "msg": "ssh: no route"}, {"failed": True, "msg": "no"}])
def test_a_host_whose_logs_could_not_be_read_is_no_failure(call, directory, followed, lost):
    logs = {**returned(followed.logs), "controller1": lost}
    result = call(module, run_dir=str(directory), flows=FILES[:1], reads={"log": logs})
    assert result.get("failed") is None
    steps = {step["id"]: step for step in record(directory)["flows"][0]["steps"]}
    ways = "the log of nova-api, or the messages on the queue (stackproof_firehose)"
    assert (steps["6"]["status"], steps["6"]["reason"]) == ("unseen", f"would be shown by {ways}")
    assert steps["13"]["status"] == "seen"


def without_news(logs):
    """The logs as they are where Nova never hears that the port is plugged, and waits."""
    words = ("network-vif-plugged", "external_instance_event")
    return {
        host: {**read, "events": [event for event in read["events"] if not any(w in json.dumps(event) for w in words)]}
        for host, read in logs.items()
    }


@pytest.mark.parametrize(("change", "status"), [(dict, "seen"), (without_news, "unseen")])
def test_a_server_is_saved_as_active_only_after_the_news_of_its_port(call, directory, followed, change, status):
    call(module, run_dir=str(directory), flows=FILES[:1], reads={"log": returned(change(followed.logs))})
    steps = {step["id"]: step["status"] for step in record(directory)["flows"][0]["steps"]}
    assert [steps[name] for name in ("38", "45", "46", "47")] == [status] * 4
    # Nova has saved it before that, too.
    assert steps["15"] == "seen"


COMPLAINT = {"service": "nova-compute", "logger": "a.b", "exception": "a.SomeError"}
OTHER = {**COMPLAINT, "logger": "a.c"}


def put_earlier(directory, record, number, result="pass", errors=(COMPLAINT,), cloud="lab"):
    """Put an earlier run with these errors beside a run."""
    run_id = f"earlier-{number}"
    started = f"2026-11-20T00:00:{number:02}.000000+00:00"
    about = {
        "host": "compute1",
        "raised_in": None,
        "at": started,
        "count": 1,
        "how": None,
        "peer": None,
        "peer_address": None,
        "mentions": [],
        "quote": None,
        "own": False,
        "usual": None,
    }
    verdict = {**record["verdict"], "result": result}
    earlier = {**record, "run_id": run_id, "started": started, "cloud": cloud, "verdict": verdict}
    made = directory.parent / run_id
    made.mkdir()
    (made / "run.json").write_text(json.dumps({**earlier, "errors": [{**about, **error} for error in errors]}))


@pytest.fixture
def errors_after(call, directory, followed):
    """Return a function that follows the run with an error in a log, after earlier runs, and gives its errors."""

    def follow(*earlier, has_failed=True):
        at = clock.seconds_of(followed.record["started"]) + 5
        told = {"raised_in": None, "how": None, "peer": None, "peer_address": None, "mentions": [], "quote": None}
        event = {"at": at, "resolution_s": 0.001, "kind": "error", "level": "info", "keys": {}, "phrases": [],
                 "texts": [], **told, **COMPLAINT}  # fmt: skip
        followed.logs["compute1"]["events"].append(event)
        if has_failed:
            error = a_failure("deadline", "m")
            followed.record["stages"][-2].update(status="failed", error=error)
            (directory / "run.json").write_text(json.dumps(followed.record))
        for number, about in enumerate(earlier):
            put_earlier(directory, followed.record, number, **about)
        result = call(module, run_dir=f"{directory}/", flows=FILES[:1], reads={"log": returned(followed.logs)})
        assert result.get("failed") is None
        return record(directory)["errors"]

    return follow


@pytest.mark.parametrize(
    ("earlier", "usual"),
    [
        ([], None),
        ([{}], 1.0),
        ([{}, {"errors": ()}, {"errors": [OTHER]}, {"errors": [OTHER, COMPLAINT, COMPLAINT]}], 0.5),
        # Nobody who passed has logged it.
        ([{"errors": [OTHER]}], None),
        ([{"result": "fail"}, {"result": "incomplete"}], None),
        # Other clouds have other habits.
        ([{"cloud": "another"}], None),
        ([{}, {"result": "fail", "errors": ()}, {"cloud": "another", "errors": ()}], 1.0),
        # The last runs count.
        ([{}] + [{"errors": ()}] * module.EARLIER, None),
        ([{"errors": ()}] + [{}] * module.EARLIER, 1.0),
    ],
)
def test_an_error_of_a_failed_run_says_how_usual_it_is(errors_after, earlier, usual):
    assert [(error["logger"], error["usual"]) for error in errors_after(*earlier)] == [("a.b", usual)]


@pytest.mark.parametrize(("errors", "usual"), [([COMPLAINT], 1.0), ([OTHER], 0.0), (None, None)])
def test_a_baseline_counts_instead_of_earlier_runs(errors_after, followed, errors, usual):
    known = {"source": "logs", "cloud": None, "passed": None, "errors": errors, "idle": [], "health": []}
    followed.record["baseline"] = known
    assert [error["usual"] for error in errors_after({}, {"errors": ()})] == [usual]


def test_an_error_of_a_run_that_worked_is_not_compared(errors_after):
    assert [error["usual"] for error in errors_after({}, has_failed=False)] == [None]


def test_an_error_that_is_compared_is_as_the_schema_says(errors_after):
    described = {**SCHEMA["properties"]["errors"], "$defs": SCHEMA["$defs"]}
    errors = errors_after({}, {"errors": ()}, {"errors": ()})
    assert errors[0]["usual"] == 0.333
    assert [problem.message for problem in jsonschema.Draft202012Validator(described).iter_errors(errors)] == []


def test_a_run_is_judged_by_how_usual_its_errors_are(errors_after, monkeypatch):
    judged = []
    monkeypatch.setattr(module.culprit, "finding", lambda record: judged.extend(record.errors))
    errors_after({})
    assert [error.usual for error in judged] == [1.0]


def test_messages_that_were_recorded_are_filed_and_used(call, directory, followed):
    message = {
        "at": clock.seconds_of(followed.record["started"]) + 5, "resolution_s": 0.01, "service": "rabbitmq",
        "kind": "rpc", "level": None, "phrases": [], "texts": [], "action": "cast", "message": "a" * 32,
        "method": "schedule_and_build_instances", "topic": "conductor", "client": "10.71.16.12",
        "keys": {"server": [followed.record["instance"]["server"]["id"]]},
    }  # fmt: skip
    queue = {
        "controller1": {"events": [message], "foreign": False, "reason": None},
        "compute1": None,
        "broker2": {"failed": True, "msg": "no amqp"},
    }
    call(module, run_dir=str(directory), flows=FILES[:1], reads={"queue": queue})
    filed = record(directory)
    assert [(row["host"], row["messages"], row["reason"]) for row in filed["queue"]] == [
        ("broker2", 0, "no amqp"),
        ("controller1", 1, None),
    ]
    step = next(step for step in filed["flows"][0]["steps"] if step["id"] == "6")
    assert [(item["source"], item["tier"]) for item in step["evidence"]] == [("queue", 3)]
    problems = jsonschema.Draft202012Validator(SCHEMA).iter_errors(filed)
    assert [problem.message[:200] for problem in problems if {"flows", "queue"} & set(problem.absolute_path)] == []


def test_without_logs_the_run_is_followed_by_what_it_saw_itself(call, directory):
    result = call(module, run_dir=str(directory), flows=FILES[:1])
    assert result["coverage"]["ops_guide"][0]["seen"] >= 10


@pytest.mark.parametrize("which", [module, asking])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "own.yml: while parsing"),
        ("schema: stackproof.flow/2\nname: a", "own.yml: it lacks lifelines, steps, title. docs/flows.md describes"),
        (None, "own.yml: [Errno 2] No such file"),
    ],
)
def test_a_broken_flow_is_said_with_its_file(call, directory, tmp_path, which, text, words):
    path, before = tmp_path / "own.yml", (directory / "run.json").read_text()
    if text:
        path.write_text(text)
    result = call(which, run_dir=str(directory), flows=[FILES[0], str(path)])
    assert result["failed"]
    assert words in result["msg"]
    assert "Traceback" not in result["msg"]
    assert (directory / "run.json").read_text() == before


@pytest.mark.parametrize("which", [module, asking])
def test_a_folder_that_is_no_run_is_said(call, tmp_path, which):
    result = call(which, run_dir=str(tmp_path), flows=FILES)
    assert result["failed"]
    assert "is not the directory of a run" in result["msg"]


def test_a_missing_library_is_said(call, directory, monkeypatch):
    monkeypatch.setattr(flow_module, "HAS_LIBRARIES", False)
    result = call(module, run_dir=str(directory), flows=FILES)
    assert result["failed"]
    assert "jmespath" in result["msg"]


def test_a_run_that_another_process_works_on_is_left_alone(call, directory, followed):
    with run.Run(str(directory)).alone():
        result = call(module, run_dir=str(directory), flows=FILES, reads={"log": returned(followed.logs)})
    assert "another process works on the run" in result["msg"]
    assert record(directory)["flows"] == []


REMOVE = [str(ROLES / "flow/files/flows/remove_run.yml")]


@pytest.fixture
def removed(tmp_path):
    """The directory of a recorded run whose cinder-volume was stopped before its removal."""
    kept = json.loads((RECORDED / "removed/run.json").read_text())
    made = tmp_path / kept["run_id"]
    made.mkdir()
    (made / "run.json").write_text(json.dumps({**kept, "flows": []}))
    (made / "events.jsonl").write_text('{"at": "2026-11-24T14:09:17+00:00"}\n')
    return made


def test_a_removal_is_looked_for_by_its_own_requests(call, removed):
    wanted = call(asking, run_dir=str(removed), flows=[*FILES, *REMOVE], removal=True)["wanted"]
    assert wanted["began"] == clock.seconds_of(record(removed)["removal"]["started"])
    assert "req-913c48bf-445d-4db2-b64d-bdcae365a8b4" in wanted["keys"]["asked"]
    assert {"service": "nova-compute", "pattern": "Terminating instance"} in wanted["phrases"]
    of_stages = call(asking, run_dir=str(removed), flows=[*FILES, *REMOVE])["wanted"]
    assert {"service": "nova-compute", "pattern": "Terminating instance"} not in of_stages["phrases"]


def test_a_run_without_a_removal_has_nothing_to_look_for(call, directory):
    assert "wanted" not in call(asking, run_dir=str(directory), flows=REMOVE, removal=True)


def test_a_removal_adds_its_flow_and_its_events(call, removed):
    result = call(module, run_dir=str(removed), flows=[*FILES, *REMOVE], removal=True)
    assert (result["changed"], set(result["coverage"])) == (True, {"remove_run"})
    filed = record(removed)
    (flow,) = filed["flows"]
    statuses = {step["id"]: step["status"] for step in flow["steps"]}
    assert {name for name, status in statuses.items() if status == "seen"} == {"D1", "D15", "D23", "D26"}
    assert (statuses["D11"], statuses["D12"], statuses["D27"]) == ("missing", "skipped", "skipped")
    assert {step["stage"] for step in flow["steps"]} == {"removal"}
    first, *added = [json.loads(line)["at"] for line in (removed / "events.jsonl").read_text().splitlines()]
    assert first == "2026-11-24T14:09:17+00:00"
    assert len(added) >= 6
    assert min(added) >= filed["removal"]["started"]
    assert [error.json_path for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(filed)] == []
