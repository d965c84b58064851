# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The events of a real run: one shape, one clock, and the host of each event."""

from __future__ import annotations

import copy
import json
from datetime import datetime, timedelta

import as_json
import events_of
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.read_event import ReadEvent
from ansible_collections.stackproof.provision.plugins.module_utils._collect.sources import host as host_source
from ansible_collections.stackproof.provision.plugins.module_utils._match import events as events_module
from ansible_collections.stackproof.provision.plugins.module_utils._model.event import Event
from ansible_collections.stackproof.provision.plugins.module_utils._record import clock, ids

BOOT, SERVER = "req-a2cf2953-1cad-448f-8990-3fb911eca0ab", "5ad4aca3-f346-4e25-8d7d-c6a37e159215"
PORT, IMAGE = "db6360fb-5d58-4643-9199-33f2f215f594", "eb3db05b-1d3f-4163-b31d-ef1538244a5b"
KINDS = {"request", "asked", "server", "port", "tap", "mac", "network", "subnet", "router", "volume", "image", "shared"}


@pytest.fixture
def sources(followed):
    record, logs = followed.record, followed.logs
    return {
        "record": events_of.record(record),
        "hosts": events_of.hosts(record),
        "logs": events_of.logs(record, logs),
    }


def of(record, host):
    return next(entry for entry in record["hosts"] if entry["host"] == host)


@pytest.mark.parametrize(
    ("of_what", "names", "kinds", "count"),
    [
        ("record", {"api", "console"}, {"http", "state", "fact", "server_event", "console"}, 60),
        ("hosts", {"host"}, {"fact", "dhcp", "http"}, 20),
        ("logs", {"log"}, {"http", "rpc", "line"}, 800),
    ],
)
def test_every_event_has_the_same_shape(sources, of_what, names, kinds, count):
    events = sources[of_what]
    assert len(events) >= count
    assert {event["source"] for event in events} == names
    assert {event["kind"] for event in events} == kinds
    for event in events:
        assert isinstance(event["at"], float)
        assert event["until"] is None or event["until"] >= event["at"]
        assert event["error_s"] >= 0 < event["resolution_s"] < 2
        assert isinstance(event["text"], str)
        assert event["keys"].keys() <= KINDS
        assert all(ids and all(isinstance(text, str) for text in ids) for ids in event["keys"].values())
        assert (event["level"] is None) == (of_what != "logs")
        assert {"phrases", "texts", "service", "host"} <= event.keys()
        json.dumps(event)


def test_keys_tell_the_boots_requests_from_earlier_ones_and_what_others_use_too(followed):
    keys = ids.keys_of(as_json.typed(followed.record))
    assert keys["request"] == ["req-50d0ac4d-f782-4c73-a6cc-061e2cb2dc78", BOOT]
    assert not set(keys["asked"]) & set(keys["request"])
    posted = {
        call["request_id"]
        for stage in followed.record["stages"]
        for call in stage["calls"]
        if call["method"] != "GET" and call["request_id"]
    }
    assert set(keys["asked"]) == posted - set(keys["request"])
    assert (keys["server"], keys["port"], keys["tap"]) == ([SERVER], [PORT], ["tapdb6360fb-5d"])
    assert (keys["shared"], "image" in keys) == ([IMAGE], False)
    assert {len(keys[kind]) for kind in ("network", "subnet", "volume")} == {1}


def test_a_network_that_was_there_before_is_shared(followed):
    for stage in followed.record["stages"]:
        for resource in stage["resources"]:
            resource["created"] = resource["created"] and resource["kind"] not in ("network", "subnet")
    keys = ids.keys_of(as_json.typed(followed.record))
    assert len(keys["shared"]) == 3
    assert not {"network", "subnet", "image"} & keys.keys()


def test_a_run_that_never_came_to_its_boot_has_the_keys_of_its_requests_and_of_what_it_made(followed):
    record = {**followed.record, "instance": None}
    record["stages"] = [stage for stage in record["stages"] if stage["stage"] in ("auth", "image", "network")]
    assert set(ids.keys_of(as_json.typed(record))) == {"asked", "network"}
    assert all(event["kind"] in ("http", "state", "fact") for event in events_of.record(record))


def test_a_request_of_the_run_knows_its_own_id_and_stage(sources):
    (boot,) = (event for event in sources["record"] if event["kind"] == "http" and event["path"] == "/v2.1/servers")
    assert boot["keys"] == {"request": ["req-50d0ac4d-f782-4c73-a6cc-061e2cb2dc78"]}
    assert (boot["stage"], boot["status"], boot["text"]) == ("boot", 202, "POST /v2.1/servers: 202")
    assert boot["until"] - boot["at"] == pytest.approx(boot["seconds"])
    poll = next(
        event for event in sources["record"] if event["kind"] == "http" and event["path"].endswith(f"/servers/{SERVER}")
    )
    assert poll["keys"]["server"] == [SERVER]
    assert set(poll["keys"]) == {"server", "asked"}
    (auth,) = (
        event for event in sources["record"] if event.get("method") == "POST" and event["path"].endswith("/auth/tokens")
    )
    assert set(auth["keys"]) <= {"asked"}


def test_the_clock_of_a_host_is_corrected_by_its_offset_and_adds_its_error(followed):
    host = of(followed.record, "compute2")
    (logged,) = (event for event in followed.logs["compute2"]["events"] if event["service"] == "openvswitch")
    (event,) = (
        event
        for event in events_of.logs(followed.record, followed.logs)
        if (event["host"], event["service"]) == ("compute2", "openvswitch")
    )
    assert event["at"] == logged["at"] - host["clock_offset_s"] != logged["at"]
    assert event["error_s"] == host["clock_error_s"] > 0


@pytest.mark.parametrize("offset", [None, 0.0])
def test_without_an_offset_nothing_is_moved(followed, offset):
    of(followed.record, "compute2")["clock_offset_s"] = offset
    for logged in followed.logs["compute2"]["events"]:
        logged["seconds"] = None
    events = [event for event in events_of.logs(followed.record, followed.logs) if event["host"] == "compute2"]
    assert [event["at"] for event in events] == [event["at"] for event in followed.logs["compute2"]["events"]]


def test_a_clock_is_corrected_only_once(followed):
    _flows, events = events_of.followed(followed.record, [], {"log": followed.logs})
    offset = of(followed.record, "network1")["clock_offset_s"]
    logged = sorted(event["at"] for event in followed.logs["network1"]["events"] if event["service"] == "dnsmasq")
    times = [event["at"] for event in events if event["service"] == "dnsmasq" and event["source"] == "log"]
    assert times == pytest.approx([at - offset for at in logged], abs=1e-6)


def ahead(followed, host, seconds):
    """The same run, had a host's clock been ahead of what it was."""
    later = copy.deepcopy(followed)
    for event in later.logs[host]["events"]:
        event["at"] += seconds
    record = of(later.record, host)
    record["clock_offset_s"] += seconds
    facts = record["facts"]
    if facts.get("domain"):
        facts["domain"]["process"]["started"] += seconds
    for dhcp in (facts.get("dhcp") or {}).values():
        for line in dhcp["log"]:
            line["at"] += seconds
    for proxies in (facts.get("metadata") or {}).values():
        for request in (request for proxy in proxies for request in proxy["requests"]):
            request["at"] += seconds
    for image in (facts.get("ceph") or {}).get("images", ()):
        created = datetime.strptime(image["created"], "%a %b %d %H:%M:%S %Y") + timedelta(seconds=seconds)
        image["created"] = created.strftime("%a %b %d %H:%M:%S %Y")
    return later


def test_an_emulator_that_ended_before_its_start_was_read_was_there_all_the_same(followed):
    for host in followed.record["hosts"]:
        if host["facts"].get("domain"):
            host["facts"]["domain"]["process"]["started"] = None
    events = [event for event in events_of.hosts(followed.record) if event.get("fact") in ("process", "disk")]
    assert events
    assert all(event["timeless"] and event["at"] is not None for event in events)


@pytest.mark.parametrize(
    ("monitor", "peer", "what"),
    [
        ("fd00::1:6789", "[fd00::1]:6789", "monitor"),
        ("[fd00::1]:3300", "[fd00::1]:3300", "monitor"),
        ("10.1.1.1:6789", "[::ffff:10.1.1.1]:6789", "monitor"),
        ("fd00::1:6789", "[fd00::2]:6789", "osd"),
        ("fd00::1:6789", "[fd00::1]:6801", "osd"),
    ],
)
def test_monitors_are_known_by_their_addresses_however_these_are_written(monitor, peer, what):
    disk = {"target": "vda", "protocol": "rbd", "type": "network", "source": "vms/a", "monitors": [monitor]}
    domain = {"process": {"started": 1.0, "connections": [peer]}, "disks": [disk]}
    reading = host_source.Reading("compute1", {}, asked=2.0, took=0.0, zone_s=0)
    assert list(host_source.from_domain(domain, reading))[-1].get("fact") == what


@pytest.mark.parametrize("host", ["compute2", "controller1", "network1", "storage1"])
def test_a_host_that_is_90_seconds_off_falls_into_place(followed, host):
    _flows, right = events_of.followed(followed.record, [], {"log": followed.logs})
    later = ahead(followed, host, 90)
    _flows, wrong = events_of.followed(later.record, [], {"log": later.logs})

    def order(event):
        return event["service"], event["text"], event["at"]

    right, wrong = sorted(right, key=order), sorted(wrong, key=order)
    assert [event["text"] for event in wrong] == [event["text"] for event in right]
    assert [event["at"] for event in wrong] == pytest.approx([event["at"] for event in right], abs=1e-4)
    assert any(event["host"] == host for event in right)


def test_the_console_is_anchored_by_what_was_seen_of_it_and_when(followed, sources):
    events = {event["step"]: event for event in sources["record"] if event["kind"] == "console"}
    assert list(events) == [
        "kernel", "dhcp_start", "disks", "lease", "metadata", "user_data", "user_data_exit", "ready",
    ]  # fmt: skip
    guest = as_json.stage_in(followed.record, "metadata")["details"]["guest"]
    uptimes = {step["step"]: step["uptime"] for step in guest["steps"]}
    assert events["metadata"]["at"] - events["kernel"]["at"] == pytest.approx(uptimes["metadata"] - uptimes["kernel"])
    assert uptimes["metadata"] > uptimes["kernel"] + 1
    (error,) = {event["error_s"] for event in events.values()}
    assert 0 < error < 1.4
    wait = as_json.stage_in(followed.record, "metadata")["waits"][0]
    (seen,) = (state for state in wait["states"] if state["state"] == "metadata read")
    # It was written before it was seen, and after the look before.
    high = clock.seconds_of(seen["at"])
    assert high - seen["resolution_s"] - error <= events["metadata"]["at"] <= high + error


STEPS = ({"step": "kernel", "uptime": 1.0}, {"step": "ready", "uptime": 5.0})


def console(*states, steps=STEPS, ended=0):
    """The console's steps by what was seen of it and when. ended: the second of the last look, if it is a later one."""
    looks = [
        {"state": name and f"{name} seen", "at": f"1970-01-01T00:00:{at:02d}Z", "after_s": at, "resolution_s": since}
        for name, at, since in states
    ]
    waits = [as_json.wait(states=looks, seconds=max([ended, *(look["after_s"] for look in looks)]))]
    boot = as_json.stage("boot", "ok", started="1970-01-01T00:00:01Z")
    metadata = as_json.stage("metadata", "ok", details={"guest": {"steps": steps}}, waits=waits)
    events = events_of.source("console", {"stages": [boot, metadata], "hosts": []})
    return [(event["step"], event["at"], event["error_s"]) for event in events]


def test_looks_at_the_console_allow_what_all_of_them_allow():
    # zero is 7..9 by the first, and 8..10 by the second
    assert console(("kernel", 10, 2), ("ready", 15, 2)) == [("kernel", 9.5, 0.5), ("ready", 13.5, 0.5)]
    assert console(("kernel", 10, 2)) == [("kernel", 9.0, 1.0), ("ready", 13.0, 1.0)]


def test_looks_that_contradict_each_other_allow_all_in_between():
    assert console(("kernel", 10, 1), ("ready", 20, 1)) == [("kernel", 12.5, 3.5), ("ready", 16.5, 3.5)]


def test_a_console_that_was_only_seen_whole_began_after_the_boot():
    # zero is 1..5
    assert console(("kernel", 10, None)) == console(("another", 10, 1)) == [("kernel", 4.0, 2.0), ("ready", 8.0, 2.0)]
    assert console() == []


@pytest.mark.parametrize(
    "odd",
    [
        {"step": "zzz", "uptime": "x"},
        {"step": "zzz"},
        {"step": "zzz", "uptime": None},
        {"step": "zzz", "uptime": [1.0]},
        {"step": "zzz", "uptime": float("nan")},
        {"step": "zzz", "uptime": float("inf")},
        {"step": "zzz", "uptime": 10**400},
        {"step": "zzz", "uptime": -5.0},
        {"step": "zzz", "uptime": 86400.0},
        {"step": "ready", "uptime": "x"},
        {"step": ["zzz"], "uptime": 3.0},
        {"uptime": 3.0},
        "zzz",
    ],
    ids=repr,
)
def test_a_step_without_a_usable_uptime_leaves_the_other_steps_their_times(odd):
    states = [("kernel", 10, 2), ("ready", 15, 2)]
    assert console(*states, steps=[*STEPS, odd]) == console(*states)
    assert console(("ready", 10, None), steps=[*STEPS, odd]) == console(("ready", 10, None))


def test_a_console_of_odd_steps_alone_shows_nothing():
    assert console(("zzz", 10, 2), steps=[{"step": "zzz", "uptime": "x"}]) == []


def test_a_state_without_words_does_not_hide_the_console():
    assert console(("", 10, 2), ("ready", 15, 2)) == console(("ready", 15, 2))


def test_a_step_that_was_written_after_the_last_new_state_keeps_its_uptime():
    steps = [{"step": "kernel", "uptime": 1.0}, {"step": "no_lease", "uptime": 290.0}]
    assert console(("kernel", 10, 2), steps=steps, ended=300) == [("kernel", 9.0, 1.0), ("no_lease", 298.0, 1.0)]


def test_a_status_that_is_not_a_number_is_left_out():
    boot = as_json.stage("boot", "ok", started="1970-01-01T00:00:01Z")
    steps = [{**STEPS[0], "http_status": [404]}, {**STEPS[1], "http_status": 404}]
    look = {"state": "kernel", "at": "1970-01-01T00:00:10Z", "after_s": 1.0, "resolution_s": 2}
    waits = [as_json.wait(states=[look], seconds=1.0)]
    metadata = as_json.stage("metadata", "ok", details={"guest": {"steps": steps}}, waits=waits)
    events = events_of.source("console", {"stages": [boot, metadata], "hosts": []})
    assert [event["status"] for event in events] == [None, 404]


def test_flows_are_as_old_as_they_were_when_the_host_was_asked(followed, sources):
    (flows,) = (event for event in sources["hosts"] if event.get("fact") == "flows")
    made = next(event["at"] for event in sources["logs"] if "Creating flow rules for port" in event["phrases"])
    assert flows["at"] - flows["error_s"] <= made <= flows["at"] + flows["error_s"]
    began, ended = (clock.seconds_of(followed.record["evidence"][name]) for name in ("started", "finished"))
    age = next(iter(of(followed.record, "compute2")["facts"]["interfaces"].values()))["flows"]["oldest_s"]
    assert 0 < age < 60
    assert began - age <= flows["at"] <= ended - age


def test_a_request_in_a_log_is_as_long_as_it_took_and_says_who_asked(sources):
    (boot,) = (
        event
        for event in sources["logs"]
        if event["service"] == "nova-api" and event.get("path") == "/v2.1/servers" and event["keys"]
    )
    assert boot["until"] - boot["at"] == pytest.approx(boot["seconds"], abs=1e-5)
    assert boot["text"] == "POST /v2.1/servers: 202, asked by 10.71.16.254"
    asked = [event for event in sources["logs"] if event["service"] == "placement" and event.get("client")]
    assert {event["caller"] for event in asked} >= {"controller1", "compute2"}
    came = [event for event in sources["logs"] if event.get("began") and event.get("seconds")]
    assert came
    assert all(event["until"] - event["at"] == pytest.approx(event["seconds"], abs=1e-5) for event in came)


def test_what_a_line_names_does_not_replace_what_is_known_of_it(followed):
    logged = followed.logs["compute2"]["events"][0]
    logged.update(host="another", source="api", until=5, error_s=-1.0, seconds=None)
    event = events_of.logs(followed.record, {"compute2": {**followed.logs["compute2"], "events": [logged]}})[0]
    assert (event["host"], event["source"], event["until"], event["error_s"] >= 0) == ("compute2", "log", None, True)


def rpc(action, message, keys=(), at=0.0, **more):
    keys = {kind: ["x"] for kind in keys}
    return Event(at, "s", "rpc", keys=keys, source="log", fields={"action": action, "message": message, **more})


def joined(events):
    return [events_of.plain(event) for event in events_module.joined(events)]


def test_messages_that_one_of_ours_sent_are_ours_wherever_they_are_taken():
    events = joined(
        [
            rpc("received", "m1", at=2.0),
            rpc("cast", "m1", ["request"], at=1.0, method="build", topic="compute"),
            rpc("received", "m2", at=3.0),
            rpc("cast", "m3", ["asked"], at=4.0, method="network_create_end"),
            rpc("received", "m3", at=5.0),
            rpc("cast", "m4", ["shared"], at=6.0, method="x"),
            rpc("method", None, ["request"], at=7.0, method="y"),
            rpc("received", "m5", at=8.0, method="z"),
            rpc("reply", "m5", ["server"], at=9.0),
        ]
    )
    messages = [(event["at"], event.get("method"), sorted(event["keys"])) for event in events]
    assert messages == [
        (1.0, "build", ["message", "request"]),
        (2.0, "build", ["message", "request"]),
        (3.0, None, []),
        (4.0, "network_create_end", ["asked"]),
        (5.0, "network_create_end", []),
        (6.0, "x", ["shared"]),
        (7.0, "y", ["request"]),
        (8.0, "z", ["message"]),
        (9.0, "z", ["message", "server"]),
    ]
    assert (events[0]["text"], events[1]["text"]) == ("cast build compute", "received build")


def test_messages_of_others_are_not_ours_in_the_recorded_run(followed):
    run = events_module.context_of(as_json.typed(followed.record), {"log": followed.logs})
    events = joined(events_module.of_source("log", run, followed.logs))
    ours = {event["message"] for event in events if "message" in event["keys"]}
    others = {event["message"] for event in events if event["kind"] == "rpc" and event.get("message")} - ours
    assert len(ours) > 50 < len(others)
    sent = {
        event["message"]
        for event in events
        if event.get("message") and event["keys"].keys() - {"asked", "shared", "message"}
    }
    assert ours == sent
    assert [event["at"] for event in events] == sorted(event["at"] for event in events)


def test_what_the_api_does_not_say_is_no_event(followed):
    port = followed.record["instance"]["ports"][0]
    port.update(created=None, updated=None)
    followed.record["instance"]["allocations"] = None
    facts = [event.get("fact") for event in events_of.record(followed.record)]
    assert not {"port created", "allocation"} & set(facts)
    assert {"created", "port state"} <= set(facts)


def test_hosts_that_know_nothing_have_no_events(followed):
    for host in followed.record["hosts"]:
        host["facts"] = {"names": [], "domain": None, "interfaces": {PORT: None}, "dhcp": {PORT: None}, "ceph": None,
                         "metadata": {PORT: [{"processes": None, "requests": None}]}, "ovn": {PORT: None}}  # fmt: skip
    assert events_of.hosts(followed.record) == []


def test_ceph_says_times_of_the_host_that_was_asked(followed):
    before = {event["text"]: event["at"] for event in events_of.hosts(followed.record) if event.get("fact") == "image"}
    of(followed.record, "storage1")["facts"]["zone_s"] = 19800
    after = {event["text"]: event["at"] for event in events_of.hosts(followed.record) if event.get("fact") == "image"}
    assert {text: round(before[text] - after[text]) for text in before} == dict.fromkeys(before, 19800)
    assert len(before) == 2


def test_event_that_a_host_returned_keeps_its_fields_and_gets_the_place_of_reading():
    read = ReadEvent(1.0, "nova-api", "http", 0.001, keys={"server": ["a"]}, fields={"path": "/"}).to_json()
    event = Event.from_host(read, text="GET /", host="controller1")
    assert (event.at, event.service, event.kind, event.resolution_s) == (1.0, "nova-api", "http", 0.001)
    assert (event.host, event.until, event.get("path"), event.keys) == ("controller1", None, "/", {"server": ["a"]})
