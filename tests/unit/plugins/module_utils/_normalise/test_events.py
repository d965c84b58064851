# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The events of a real run: one shape, one clock, and whose each is."""

from __future__ import annotations

import copy
import json
from datetime import datetime, timedelta

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._match import follow
from ansible_collections.stackproof.provision.plugins.module_utils._normalise import events as events_module

BOOT, SERVER = "req-a2cf2953-1cad-448f-8990-3fb911eca0ab", "5ad4aca3-f346-4e25-8d7d-c6a37e159215"
PORT, IMAGE = "db6360fb-5d58-4643-9199-33f2f215f594", "eb3db05b-1d3f-4163-b31d-ef1538244a5b"
KINDS = {"request", "asked", "server", "port", "tap", "network", "subnet", "router", "volume", "image", "shared"}


@pytest.fixture
def sources(followed):
    record, logs = followed.record, followed.logs
    return {
        "record": events_module.of_record(record),
        "hosts": events_module.of_hosts(record),
        "logs": events_module.of_logs(record, logs),
    }


def of(record, host):
    return next(one for one in record["hosts"] if one["host"] == host)


@pytest.mark.parametrize(
    ("of_what", "told", "kinds", "count"),
    [
        ("record", {"api", "console"}, {"http", "state", "fact", "server_event", "console"}, 60),
        ("hosts", {"host"}, {"fact", "dhcp", "http"}, 20),
        ("logs", {"log"}, {"http", "rpc", "line"}, 800),
    ],
)
def test_every_event_has_the_same_shape(sources, of_what, told, kinds, count):
    events = sources[of_what]
    assert len(events) >= count
    assert {one["source"] for one in events} == told
    assert {one["kind"] for one in events} == kinds
    for one in events:
        assert isinstance(one["at"], float)
        assert one["until"] is None or one["until"] >= one["at"]
        assert one["error_s"] >= 0 < one["resolution_s"] < 2
        assert isinstance(one["text"], str)
        assert one["keys"].keys() <= KINDS
        assert all(ids and all(isinstance(text, str) for text in ids) for ids in one["keys"].values())
        assert (one["level"] is None) == (of_what != "logs")
        assert {"said", "window", "service", "host"} <= one.keys()
        json.dumps(one)


def test_keys_tell_the_boots_requests_from_earlier_ones_and_what_others_use_too(followed):
    keys = events_module.keys_of(followed.record)
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
            resource["made"] = resource["made"] and resource["kind"] not in ("network", "subnet")
    keys = events_module.keys_of(followed.record)
    assert len(keys["shared"]) == 3
    assert not {"network", "subnet", "image"} & keys.keys()


def test_a_run_that_never_came_to_its_boot_has_the_keys_of_its_requests_only(followed):
    record = {**followed.record, "instance": None}
    record["stages"] = [one for one in record["stages"] if one["stage"] in ("auth", "image", "network")]
    assert set(events_module.keys_of(record)) == {"asked"}
    assert all(one["kind"] in ("http", "state", "fact") for one in events_module.of_record(record))


def test_a_request_of_the_run_knows_its_own_id_and_stage(sources):
    (boot,) = (one for one in sources["record"] if one["kind"] == "http" and one["path"] == "/v2.1/servers")
    assert boot["keys"] == {"request": ["req-50d0ac4d-f782-4c73-a6cc-061e2cb2dc78"]}
    assert (boot["stage"], boot["status"], boot["text"]) == ("boot", 202, "POST /v2.1/servers: 202")
    assert boot["until"] - boot["at"] == pytest.approx(boot["seconds"])
    poll = next(
        one for one in sources["record"] if one["kind"] == "http" and one["path"].endswith(f"/servers/{SERVER}")
    )
    assert poll["keys"]["server"] == [SERVER]
    assert set(poll["keys"]) == {"server", "asked"}
    (auth,) = (one for one in sources["record"] if one.get("method") == "POST" and one["path"].endswith("/auth/tokens"))
    assert set(auth["keys"]) <= {"asked"}


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1970-01-01T00:00:07Z", 7),
        ("1970-01-01T00:00:07", 7),
        ("1970-01-01T05:30:07.5+05:30", 7.5),
        ("1970-01-01T00:00:07.250000+00:00", 7.25),
    ],
)
def test_a_time_without_a_zone_is_utc(text, moment):
    assert events_module.seconds_of(text) == moment


def test_the_clock_of_a_host_is_corrected_by_its_offset_and_adds_its_error(followed):
    host = of(followed.record, "compute2")
    (logged,) = (one for one in followed.logs["compute2"]["events"] if one["service"] == "openvswitch")
    (one,) = (
        one
        for one in events_module.of_logs(followed.record, followed.logs)
        if (one["host"], one["service"]) == ("compute2", "openvswitch")
    )
    assert one["at"] == logged["at"] - host["clock_offset_s"] != logged["at"]
    assert one["error_s"] == host["clock_error_s"] > 0


@pytest.mark.parametrize("offset", [None, 0.0])
def test_without_an_offset_nothing_is_moved(followed, offset):
    of(followed.record, "compute2")["clock_offset_s"] = offset
    for logged in followed.logs["compute2"]["events"]:
        logged["seconds"] = None
    events = [one for one in events_module.of_logs(followed.record, followed.logs) if one["host"] == "compute2"]
    assert [one["at"] for one in events] == [one["at"] for one in followed.logs["compute2"]["events"]]


def test_a_clock_is_corrected_only_once(followed):
    _flows, events = follow.follow(followed.record, [], followed.logs)
    offset = of(followed.record, "network1")["clock_offset_s"]
    logged = sorted(one["at"] for one in followed.logs["network1"]["events"] if one["service"] == "dnsmasq")
    found = [one["at"] for one in events if one["service"] == "dnsmasq" and one["source"] == "log"]
    assert found == pytest.approx([one - offset for one in logged], abs=1e-6)


def ahead(followed, host, seconds):
    """The same run, had a host's clock been ahead of what it was."""
    later = copy.deepcopy(followed)
    for one in later.logs[host]["events"]:
        one["at"] += seconds
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
    found = [one for one in events_module.of_hosts(followed.record) if one.get("fact") in ("process", "disk")]
    assert found
    assert all(one["timeless"] and one["at"] is not None for one in found)


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
    about = {"host": "compute1", "source": "host"}
    assert events_module.from_domain(domain, {}, 2.0, about)[-1]["fact"] == what


@pytest.mark.parametrize("host", ["compute2", "controller1", "network1", "storage1"])
def test_a_host_that_is_90_seconds_off_falls_into_place(followed, host):
    _flows, right = follow.follow(followed.record, [], followed.logs)
    later = ahead(followed, host, 90)
    _flows, wrong = follow.follow(later.record, [], later.logs)

    def order(one):
        return one["service"], one["text"], one["at"]

    right, wrong = sorted(right, key=order), sorted(wrong, key=order)
    assert [one["text"] for one in wrong] == [one["text"] for one in right]
    assert [one["at"] for one in wrong] == pytest.approx([one["at"] for one in right], abs=1e-4)
    assert any(one["host"] == host for one in right)


def test_the_console_is_anchored_by_what_was_seen_of_it_and_when(followed, sources):
    events = {one["step"]: one for one in sources["record"] if one["kind"] == "console"}
    assert list(events) == [
        "kernel", "dhcp_start", "disks", "lease", "metadata", "user_data", "user_data_exit", "ready",
    ]  # fmt: skip
    guest = events_module.stage_of(followed.record, "metadata")["details"]["guest"]
    uptimes = {one["step"]: one["uptime"] for one in guest["steps"]}
    assert events["metadata"]["at"] - events["kernel"]["at"] == pytest.approx(uptimes["metadata"] - uptimes["kernel"])
    assert uptimes["metadata"] > uptimes["kernel"] + 1
    (error,) = {one["error_s"] for one in events.values()}
    assert 0 < error < 1.4
    wait = events_module.stage_of(followed.record, "metadata")["waits"][0]
    (seen,) = (one for one in wait["states"] if one["state"] == "metadata read")
    # It was written before it was seen, and after the look before.
    high = events_module.seconds_of(seen["at"])
    assert high - seen["resolution_s"] - error <= events["metadata"]["at"] <= high + error


def console(*states):
    steps = [{"step": "kernel", "uptime": 1.0}, {"step": "ready", "uptime": 5.0}]
    waits = [
        {"states": [{"state": f"{name} seen", "at": f"1970-01-01T00:00:{at:02d}Z", "resolution_s": since}
                    for name, at, since in states]}
    ]  # fmt: skip
    metadata = {"details": {"guest": {"steps": steps}}, "waits": waits}
    found = events_module.from_console({"started": "1970-01-01T00:00:01Z"}, metadata, {})
    return [(one["step"], one["at"], one["error_s"]) for one in found]


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


def test_flows_are_as_old_as_they_were_when_the_host_was_asked(followed, sources):
    (flows,) = (one for one in sources["hosts"] if one.get("fact") == "flows")
    made = next(one["at"] for one in sources["logs"] if "Creating flow rules for port" in one["said"])
    assert flows["at"] - flows["error_s"] <= made <= flows["at"] + flows["error_s"]
    began, ended = (events_module.seconds_of(followed.record["evidence"][name]) for name in ("started", "finished"))
    age = next(iter(of(followed.record, "compute2")["facts"]["interfaces"].values()))["flows"]["oldest_s"]
    assert 0 < age < 60
    assert began - age <= flows["at"] <= ended - age


def test_a_request_in_a_log_is_as_long_as_it_took_and_says_who_asked(sources):
    (boot,) = (
        one
        for one in sources["logs"]
        if one["service"] == "nova-api" and one.get("path") == "/v2.1/servers" and one["keys"]
    )
    assert boot["until"] - boot["at"] == pytest.approx(boot["seconds"], abs=1e-5)
    assert boot["text"] == "POST /v2.1/servers: 202, asked by 10.71.16.254"
    assert {one["caller"] for one in sources["logs"] if one["service"] == "placement" and one.get("client")} >= {
        "controller1", "compute2",
    }  # fmt: skip
    came = [one for one in sources["logs"] if one.get("began") and one.get("seconds")]
    assert came
    assert all(one["until"] - one["at"] == pytest.approx(one["seconds"], abs=1e-5) for one in came)


def test_what_a_line_names_does_not_replace_what_is_known_of_it(followed):
    logged = followed.logs["compute2"]["events"][0]
    logged.update(host="another", source="api", until=5, error_s=-1.0, seconds=None)
    one = events_module.of_logs(followed.record, {"compute2": {**followed.logs["compute2"], "events": [logged]}})[0]
    assert (one["host"], one["source"], one["until"], one["error_s"] >= 0) == ("compute2", "log", None, True)


def rpc(action, message, keys=(), at=0.0, **more):
    keys = {kind: ["x"] for kind in keys}
    return events_module.event(at, "s", "rpc", "", action=action, message=message, keys=keys, source="log", **more)


def test_messages_that_one_of_ours_sent_are_ours_wherever_they_are_taken():
    found = events_module.joined(
        [
            rpc("received", "m1", at=2.0),
            rpc("cast", "m1", ["request"], at=1.0, method="build", topic="compute"),
            rpc("received", "m2", at=3.0),
            rpc("cast", "m3", ["asked"], at=4.0, method="network_create_end"),
            rpc("received", "m3", at=5.0),
            rpc("cast", "m4", ["shared"], at=6.0, method="x"),
            rpc("method", None, ["request"], at=7.0, method="y"),
        ]
    )
    told = [(one["at"], one.get("method"), sorted(one["keys"])) for one in found]
    assert told == [
        (1.0, "build", ["message", "request"]),
        (2.0, "build", ["message"]),
        (3.0, None, []),
        (4.0, "network_create_end", ["asked"]),
        (5.0, "network_create_end", []),
        (6.0, "x", ["shared"]),
        (7.0, "y", ["request"]),
    ]
    assert (found[0]["text"], found[1]["text"]) == ("cast build compute", "received build")


def test_messages_of_others_are_not_ours_in_the_recorded_run(sources):
    found = events_module.joined(sources["logs"])
    ours = {one["message"] for one in found if "message" in one["keys"]}
    others = {one["message"] for one in found if one["kind"] == "rpc" and one.get("message")} - ours
    assert len(ours) > 50 < len(others)
    sent = {
        one["message"] for one in found if one.get("message") and one["keys"].keys() - {"asked", "shared", "message"}
    }
    assert ours == sent
    assert [one["at"] for one in found] == sorted(one["at"] for one in found)


def test_what_the_api_does_not_say_is_no_event(followed):
    port = followed.record["instance"]["ports"][0]
    port.update(created=None, updated=None)
    followed.record["instance"]["allocations"] = None
    facts = [one.get("fact") for one in events_module.of_record(followed.record)]
    assert not {"port created", "allocation"} & set(facts)
    assert {"created", "port state"} <= set(facts)


def test_hosts_that_know_nothing_have_no_events(followed):
    for host in followed.record["hosts"]:
        host["facts"] = {"names": [], "domain": None, "interfaces": {PORT: None}, "dhcp": {PORT: None}, "ceph": None,
                         "metadata": {PORT: [{"requests": None}]}}  # fmt: skip
    assert events_module.of_hosts(followed.record) == []


def test_ceph_says_times_of_the_host_that_was_asked(followed):
    before = {one["text"]: one["at"] for one in events_module.of_hosts(followed.record) if one.get("fact") == "image"}
    of(followed.record, "storage1")["facts"]["zone_s"] = 19800
    after = {one["text"]: one["at"] for one in events_module.of_hosts(followed.record) if one.get("fact") == "image"}
    assert {text: round(before[text] - after[text]) for text in before} == dict.fromkeys(before, 19800)
    assert len(before) == 2
