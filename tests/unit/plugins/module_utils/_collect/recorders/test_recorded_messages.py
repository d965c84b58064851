# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages that a real broker traced during a real run: what is kept of them, and which steps they show.

recorded/queue/frames.jsonl is what the broker sent to the recorder; secrets in it were replaced by words with planted.
"""

from __future__ import annotations

import json
from types import SimpleNamespace

import as_json
import events_of
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.recorders import firehose
from ansible_collections.stackproof.provision.plugins.module_utils._collect.recorders import (
    recorded_messages as queue_module,
)
from ansible_collections.stackproof.provision.plugins.module_utils._match import flow as flow_module
from ansible_collections.stackproof.provision.plugins.module_utils._match import follow as follow_module
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import to_json
from ansible_collections.stackproof.provision.plugins.module_utils._record import ids
from tree import FLOWS, RECORDED

QUEUE = RECORDED / "queue"
FRAMES = [json.loads(line) for line in (QUEUE / "frames.jsonl").read_text().splitlines()]
SHOWN = {"6", "8", "12", "13", "14", "15", "16", "17", "18", "27", "28", "29", "32", "33", "34", "36", "38"}
# Steps at the end of the boot, of whose messages two were left in the recording
AT_THE_END = {"45", "46", "47"}


@pytest.fixture
def run():
    return json.loads((QUEUE / "run.json").read_text())


@pytest.fixture
def kept():
    return [firehose.summary(frame["at"], frame["key"], frame["headers"], frame["body"]) for frame in FRAMES]


@pytest.fixture
def read(run, kept):
    events = queue_module.read([json.dumps(line) for line in kept], ids.keys_of(as_json.typed(run)))
    return [event.to_json() for event in events]


def test_nothing_of_a_message_is_kept_but_what_is_named(kept):
    assert any("planted" in frame["body"] for frame in FRAMES)
    fields = {"at", "action", "method", "message", "topic", "client", "requests", "ids"}
    assert {tuple(sorted(line)) for line in kept} == {tuple(sorted(fields))}
    assert "planted" not in json.dumps(kept)
    assert all(firehose.UUID.fullmatch(text) for line in kept for text in line["ids"])


@pytest.mark.parametrize("field", ["method", "_msg_id", "_unique_id", "_context_request_id", "event_type"])
def test_a_secret_in_the_place_of_a_name_is_not_kept(field):
    frame = FRAMES[0]
    message = json.loads(json.loads(frame["body"])["oslo.message"])
    message[field] = "gAAAAA-Planted Secret"
    body = json.dumps({"oslo.version": "2.0", "oslo.message": json.dumps(message)})
    headers = {**frame["headers"], "routing_keys": ["planted secret"], "connection": "planted secret -> there"}
    line = firehose.summary(1.0, "publish.nova", headers, body)
    assert "lanted" not in json.dumps(line)


@pytest.mark.parametrize(
    "body", ["", "no json", "{}", "[]", '{"oslo.message": "no json"}', '{"oslo.message": 7}', '{"oslo.message": "[7]"}']
)
def test_what_is_no_message_of_openstack_is_not_kept(body):
    assert firehose.summary(1.0, "publish.x", {}, body) is None
    assert firehose.summary(1.0, "publish.x", {}, "x" * (firehose.LONGEST + 1)) is None


def test_a_message_is_told_by_who_sends_it_and_who_takes_it(read):
    about = [event for event in read if event["method"] == "build_and_run_instance"]
    assert [(event["action"], event["topic"]) for event in about] == [
        ("cast", "compute.compute1"),
        ("received", "compute.compute1"),
    ]
    assert len({event["client"] for event in about}) == 2
    assert len({event["message"] for event in about}) == 1
    for event in about:
        assert {"server", "request"} <= event["keys"].keys()


def test_only_messages_of_the_run_are_returned_with_their_replies(read, kept):
    assert len(read) < len(kept)
    assert "report_state" not in {event["method"] for event in read}
    replies = [event for event in read if event["action"] in ("reply", "answered")]
    assert replies
    calls = {event["message"] for event in read if event["action"] == "call"}
    assert {event["message"] for event in replies} <= calls
    assert queue_module.read([json.dumps(line) for line in kept], {}) == []


def test_a_torn_line_is_passed_over(kept, run):
    lines = [json.dumps(line) for line in kept]
    whole = queue_module.read(lines, ids.keys_of(as_json.typed(run)))
    assert queue_module.read([*lines, lines[0][:40]], ids.keys_of(as_json.typed(run))) == whole


NO_LOGS = {"events": [], "sources": [], "addresses": ["10.71.16.14"]}


def follow(run, read):
    queue = {"controller1": {"events": read, "foreign": False, "reason": None}} if read is not None else {}
    loaded = [flow_module.load(str(FLOWS / f"{name}.yml")) for name in ("ops_guide", "modern")]
    flows, events = events_of.followed(run, loaded, {"log": {"compute1": NO_LOGS}, "queue": queue})
    return [{step["id"]: step for step in flow["steps"]} for flow in flows], events


def by_queue(steps):
    return {
        name
        for name, step in steps.items()
        if any((entry["source"], entry["tier"], entry["grade"]) == ("queue", 3, "keyed") for entry in step["evidence"])
    }


def test_messages_show_steps_that_without_logs_nothing_shows(run, read):
    (guide, modern), _events_of_run = follow(run, read)
    assert by_queue(guide) - AT_THE_END == SHOWN
    assert by_queue(modern) >= {"N5", "N10", "N14", "N17"}
    (before, _modern), _events_of_run = follow(run, None)
    unseen = {name for name in SHOWN if before[name]["status"] == "unseen"}
    assert {"6", "8", "12", "14", "15", "17", "18"} <= unseen
    assert {guide[name]["status"] for name in unseen} == {"seen"}
    assert all("stackproof_firehose" in before[name]["reason"] for name in unseen)


def test_replies_and_deliveries_have_the_name_of_what_was_asked(run, read):
    _flows, events = follow(run, read)
    about = [event for event in events if event["source"] == "queue" and event["action"] in ("reply", "answered")]
    assert all(event["method"] for event in about)
    # A reply names no request itself.
    assert any(event["keys"].get("request") for event in about)
    assert all(event["keys"].get("message") for event in about if "request" in event["keys"])


def test_the_host_of_a_message_is_who_sent_or_took_it(run, read):
    events = events_of.queue(run, {"controller1": {"events": read}}, {"compute1": NO_LOGS})
    (taken,) = (
        event for event in events if (event["action"], event["method"]) == ("received", "build_and_run_instance")
    )
    (sent,) = (event for event in events if (event["action"], event["method"]) == ("cast", "build_and_run_instance"))
    assert (taken["host"], sent["host"]) == ("compute1", "controller1")


def test_the_clock_is_that_of_the_broker_s_host(run, read):
    for host in run["hosts"]:
        host.update(clock_offset_s=0.0, clock_error_s=0.0)
    plain = events_of.queue(run, {"controller1": {"events": read}}, {})
    next(host for host in run["hosts"] if host["host"] == "controller1").update(clock_offset_s=5.0, clock_error_s=0.1)
    moved = events_of.queue(run, {"controller1": {"events": read}}, {})
    assert moved[0]["at"] == pytest.approx(plain[0]["at"] - 5)
    assert moved[0]["error_s"] == pytest.approx(0.1)


def test_the_record_says_what_was_recorded_and_why_not():
    asked = {
        "a": {"events": [{}, {}], "foreign": True, "reason": None},
        "b": {"failed": True, "msg": "no amqp"},
        "c": None,
        "d": {"events": [], "foreign": False, "reason": "the recorder had ended before"},
    }
    assert to_json(follow_module.accounts({"queue": asked})["queue"]) == [
        {"host": "a", "messages": 2, "foreign": True, "reason": None},
        {"host": "b", "messages": 0, "foreign": False, "reason": "no amqp"},
        {"host": "d", "messages": 0, "foreign": False, "reason": "the recorder had ended before"},
    ]


class Rabbit:
    """Answers as rabbitmqctl does, and remembers what it was asked."""

    def __init__(self, traced=(), users=(), interface="10.0.0.1"):
        self.traced = {vhost: vhost in traced for vhost in VHOSTS}
        self.users = {"openstack": ["administrator"], **dict(users)}
        self.interface, self.asked = interface, []

    def __call__(self, words):
        command, *rest = words[words.index("--quiet") + 1 :]
        self.asked.append(command)
        if command == "list_users":
            return json.dumps([{"user": name, "tags": tags} for name, tags in self.users.items()])
        if command == "list_vhosts":
            return json.dumps([{"name": name, "tracing": traced} for name, traced in self.traced.items()])
        if command == "status":
            listener = {"protocol": "amqp", "interface": self.interface, "port": 5672}
            return json.dumps({"listeners": [{"protocol": "clustering", "interface": "[::]", "port": 25672}, listener]})
        if command == "add_user":
            assert rest[2] == "--pre-hashed-password"
            self.users[rest[0]] = []
        elif command == "set_user_tags":
            self.users[rest[0]] = rest[1:]
        elif command == "delete_user":
            del self.users[rest[0]]
        elif command in ("trace_on", "trace_off"):
            self.traced[rest[1]] = command == "trace_on"
        return ""


VHOSTS = ("/", "nova_cell1")
UNTRACED = dict.fromkeys(VHOSTS, False)
NOW = 1_000_000
MINE, OTHER = firehose.MARK + "mine", firehose.MARK + "other"


def broker(rabbit):
    return firehose.Broker(rabbit, ["docker", "exec", "rabbitmq"])


def recorded(rabbit, name, vhosts=VHOSTS):
    password, foreign = firehose.admit(broker(rabbit), name, vhosts, 600, NOW)
    for vhost in vhosts:
        rabbit(["--quiet", "trace_on", "-p", vhost])
    return SimpleNamespace(password=password, foreign=foreign)


def test_what_one_recorder_did_is_undone():
    rabbit = Rabbit()
    first, second = recorded(rabbit, MINE), Rabbit()
    assert not first.foreign
    assert len(first.password) > 40
    assert first.password != recorded(second, MINE).password
    firehose.readmit(broker(rabbit), MINE, NOW)
    assert (rabbit.traced, set(rabbit.users)) == (UNTRACED, {"openstack"})
    asked = len(rabbit.asked)
    firehose.readmit(broker(rabbit), MINE, NOW)  # once more does nothing
    assert rabbit.asked[asked:] == ["list_users"]


def test_of_two_recorders_the_last_one_ends_the_tracing():
    rabbit = Rabbit()
    recorded(rabbit, MINE)
    assert not recorded(rabbit, OTHER).foreign
    firehose.readmit(broker(rabbit), MINE, NOW)
    assert all(rabbit.traced.values())
    firehose.readmit(broker(rabbit), OTHER, NOW)
    assert (rabbit.traced, set(rabbit.users)) == (UNTRACED, {"openstack"})


def test_tracing_that_was_on_before_stays_on():
    rabbit = Rabbit(traced=["nova_cell1"])
    assert recorded(rabbit, MINE).foreign == ["nova_cell1"]
    assert recorded(rabbit, OTHER).foreign == ["nova_cell1"]
    for name in (MINE, OTHER):
        firehose.readmit(broker(rabbit), name, NOW)
    assert (rabbit.traced, set(rabbit.users)) == ({"/": False, "nova_cell1": True}, {"openstack"})


def test_a_recorder_of_one_virtual_host_leaves_the_others_alone():
    rabbit = Rabbit()
    recorded(rabbit, MINE)
    recorded(rabbit, OTHER, ["/"])
    firehose.readmit(broker(rabbit), MINE, NOW)
    assert rabbit.traced == {"/": True, "nova_cell1": False}


def test_virtual_hosts_that_the_broker_does_not_have_are_left_out():
    assert firehose.recorded({"/": False, "other": False}, VHOSTS) == ["/"]
    with pytest.raises(RuntimeError, match=r"no virtual host / or nova_cell1, but a, b$"):
        firehose.recorded({"b": False, "a": True}, VHOSTS)


def test_a_user_that_a_lost_host_has_left_goes_with_the_next_recorder():
    rabbit = Rabbit(users={OTHER: [*(firehose.RESTORES + vhost for vhost in VHOSTS), f"{firehose.UNTIL}{NOW - 1}"]})
    recorded(rabbit, MINE)
    assert set(rabbit.users) == {"openstack", MINE}
    rabbit.users[OTHER] = [f"{firehose.UNTIL}{NOW - 1}"]
    firehose.readmit(broker(rabbit), MINE, NOW)
    assert rabbit.traced == UNTRACED


@pytest.mark.parametrize(
    ("interface", "address"),
    [
        ("10.0.0.1", "10.0.0.1:5672"),
        ("[::]", "127.0.0.1:5672"),
        ("0.0.0.0", "127.0.0.1:5672"),
        ("[fd00::1]", "[fd00::1]:5672"),
    ],
)
def test_the_broker_is_reached_where_it_listens(interface, address):
    assert broker(Rabbit(interface=interface)).address() == address


def test_a_broker_with_tls_only_is_said():
    with pytest.raises(RuntimeError, match="no listener without TLS"):
        firehose.Broker(lambda _words: '{"listeners": [{"protocol": "amqp/ssl"}]}', []).address()


def test_a_password_is_hashed_as_rabbitmq_does():
    hashed = firehose.base64.b64decode(firehose.hashed("secret"))
    assert hashed[4:] == firehose.hashlib.sha256(hashed[:4] + b"secret").digest()


@pytest.mark.parametrize("fails", [0, 1, 3])
def test_what_cannot_be_undone_is_tried_again_and_then_said(tmp_path, monkeypatch, fails):
    directory, rabbit, left = tmp_path / "run", Rabbit(), [fails]
    directory.mkdir()
    (directory / "messages").write_text("{}")
    recorded(rabbit, MINE)

    def execute(words):
        if left[0]:
            left[0] -= 1
            raise RuntimeError("rabbitmqctl ended with status 69: no broker")
        return rabbit(words)

    monkeypatch.setattr(firehose, "execute", execute)
    monkeypatch.setattr(firehose.time, "time", lambda: NOW)
    config = {"name": MINE, "prefix": [], "vhosts": VHOSTS, "seconds": 600}
    if fails < 3:
        firehose.restore(str(directory), config, pause=0)
        assert not directory.exists()
        assert (rabbit.traced, set(rabbit.users)) == (UNTRACED, {"openstack"})
    else:
        with pytest.raises(SystemExit, match="status 69"):
            firehose.restore(str(directory), config, pause=0)
        assert [path.name for path in directory.iterdir()] == ["left"]
