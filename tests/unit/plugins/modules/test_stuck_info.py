# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is stuck on a cloud, by what it has in common."""

from __future__ import annotations

import json

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import iso_of
from ansible_collections.stackproof.provision.plugins.module_utils._record.clock import now, seconds_of
from ansible_collections.stackproof.provision.plugins.modules import stuck_info as module

LONG_AGO = "2026-11-21T11:01:31Z"
SPAWNING = {"status": "BUILD", "OS-EXT-STS:task_state": "spawning", "OS-EXT-STS:power_state": 0}


@pytest.fixture
def listed(call, cloud):
    """Return a function that lists what is stuck; the cloud was only read."""

    def of(**options):
        result = call(module, cloud="small", **options)
        assert not result.get("failed"), result
        assert {path for method, path in cloud.asked() if method != "GET"} == {"/identity/v3/auth/tokens"}
        return result

    return of


def error(cloud, message, **more):
    return cloud.put("servers", name="web", status="ERROR", updated=LONG_AGO, fault={"message": message}, **more)


def kinds(result):
    return [(group["kind"], group["state"].partition(",")[0], group["count"]) for group in result["groups"]]


def test_groups_of_one_state_are_one_number_of_the_metrics(listed, cloud):
    for message in ("Quota exceeded", "No valid host was found.", "No valid host was found."):
        error(cloud, message)
    metrics = listed()["metrics"]
    (line,) = (line for line in metrics.splitlines() if line.startswith("stackproof_stuck{"))
    assert line == 'stackproof_stuck{cloud="small",kind="server",state="ERROR, running"} 3'
    assert metrics.endswith("# EOF\n")
    (longest,) = (line for line in metrics.splitlines() if line.startswith("stackproof_stuck_longest_seconds{"))
    assert float(longest.rpartition(" ")[2]) > 3600


def test_without_anything_stuck_the_metrics_have_only_a_time(listed):
    lines = [line for line in listed()["metrics"].splitlines() if not line.startswith("#")]
    assert [line.partition("{")[0] for line in lines] == ["stackproof_stuck_listed_timestamp_seconds"]


def test_what_the_cloud_says_the_same_of_is_one_group(listed, cloud):
    for number in range(7):
        error(cloud, f"Build of instance 8585247f-547f-46d6-8c03-33406{number}b2be45 aborted: no host {number}")
    error(cloud, "Quota exceeded")
    result = listed()
    assert kinds(result) == [("server", "ERROR", 7), ("server", "ERROR", 1)]
    assert len(result["groups"][0]["things"]) == 5
    text = "\n".join(result["summary"])
    assert "8 things stuck or in error for more than 10 min on small" in text
    assert "and 2 more" in text
    assert f"-e stackproof_server_id={result['groups'][1]['things'][0]['id']}" in text


def test_what_hangs_on_one_host_is_one_group(listed, cloud):
    for host in ("compute1", "compute1", "compute2"):
        cloud.put("servers", created=LONG_AGO, **SPAWNING, **{"OS-EXT-SRV-ATTR:host": host})
    assert [(group["host"], group["count"]) for group in listed()["groups"]] == [("compute1", 2), ("compute2", 1)]


def test_what_works_or_has_just_begun_is_not_listed(listed, cloud):
    server = cloud.put("servers", status="ACTIVE", updated=LONG_AGO, **{"OS-EXT-STS:task_state": None})
    cloud.put("servers", created=now(), updated=now(), **SPAWNING)
    cloud.put("ports", device_owner="compute:nova", device_id=server["id"], status="ACTIVE", project_id="p")
    cloud.put("volumes", status="in-use")
    result = listed()
    assert (result["groups"], result["count"]) == ([], 0)
    assert "Nothing is stuck or in error for more than 10 min on small" in result["summary"]


@pytest.mark.parametrize(("minutes", "count"), [(0, 1), (10, 0)])
def test_the_age_is_chosen(listed, cloud, minutes, count):
    cloud.put("servers", created=now(), **SPAWNING)
    assert listed(older_than=minutes)["count"] == count


@pytest.mark.parametrize(
    ("options", "listed_names", "words"),
    [
        ({"older_than": 0, "newer_than": 15}, {"now", "then"}, "2 things stuck or in error for less than 15 min on"),
        ({"older_than": 5, "newer_than": 15}, {"then"}, "1 thing stuck or in error for 5 min to 15 min on"),
        ({"older_than": 0, "newer_than": 1}, {"now"}, "1 thing stuck or in error for less than 60 s on"),
    ],
)
def test_what_failed_in_the_last_minutes_is_listed_alone(listed, cloud, options, listed_names, words):
    for name, seconds in (("now", 1), ("then", 600), ("long ago", 6000)):
        cloud.put("servers", name=name, created=iso_of(seconds_of(now()) - seconds), **SPAWNING)
    result = listed(**options)
    assert {thing["name"] for group in result["groups"] for thing in group["things"]} == listed_names
    assert any(words in line for line in result["summary"])


@pytest.mark.parametrize(
    ("since", "until", "listed_names", "words"),
    [
        (900, None, {"now", "then"}, "2 things stuck or in error for less than 15 min on"),
        (900, 300, {"then"}, "1 thing stuck or in error for 5 min to 15 min on"),
        (None, 300, {"then", "long ago"}, "2 things stuck or in error for more than 5 min on"),
        # Its end is still to come.
        (900, -300, {"now", "then"}, "2 things stuck or in error for less than 15 min on"),
    ],
)
def test_what_failed_in_a_time_range_is_listed_alone(listed, cloud, since, until, listed_names, words):
    asked = seconds_of(now())
    for name, seconds in (("now", 1), ("then", 600), ("long ago", 6000)):
        cloud.put("servers", name=name, created=iso_of(asked - seconds), **SPAWNING)
    ends = {"since": since, "until": until}
    result = listed(**{name: iso_of(asked - ago) for name, ago in ends.items() if ago is not None})
    assert {thing["name"] for group in result["groups"] for thing in group["things"]} == listed_names
    assert any(words in line for line in result["summary"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"since": "2026-11-21T12:00:00Z", "until": "2026-11-21T11:00:00Z"}, "before it begins"),
        ({"since": "2999-01-01T00:00:00Z"}, "since is 2999-01-01T00:00:00Z, which is in the future"),
        ({"since": "yesterday"}, "'yesterday' is not a time in a known format"),
        ({"since": LONG_AGO, "newer_than": 15}, "mutually exclusive"),
    ],
)
def test_a_time_range_that_is_none_is_refused(call, cloud, options, message):
    assert message in call(module, cloud="small", **options)["msg"]
    assert cloud.requests == []


def next_of(result):
    return [line.strip() for line in result["summary"] if line.strip().startswith("next: ")]


def test_the_next_command_reaches_the_same_cloud(listed, cloud):
    server = error(cloud, "Quota exceeded")
    play = "next: ansible-playbook -i INVENTORY stackproof.provision.diagnose -e stackproof_cloud=small"
    assert next_of(listed()) == [f"{play} -e stackproof_server_id={server['id']}"]
    assert next_of(listed(admin_cloud="small", interface="public")) == [
        f"{play} -e stackproof_interface=public -e stackproof_admin_cloud=small -e stackproof_server_id={server['id']}"
    ]


@pytest.mark.parametrize(
    ("owner", "subject"),
    [("compute:nova", "port"), ("network:router_interface", "the router"), ("network:dhcp", "the network")],
)
def test_a_port_without_a_server_is_diagnosed_by_its_router_or_its_network(listed, cloud, owner, subject):
    about = {"device_owner": owner, "device_id": "the router", "network_id": "the network", "project_id": "p"}
    port = cloud.put("ports", status="DOWN", updated_at=LONG_AGO, **{**about, "binding:vif_type": "binding_failed"})
    (command,) = next_of(listed())
    asked = port["id"] if subject == "port" else f"'stackproof_resource_id={subject}'"
    assert command.endswith(asked)


def test_an_upper_age_below_the_lower_one_is_refused(call, cloud):
    result = call(module, cloud="small", older_than=10, newer_than=10)
    assert "newer_than is 10.0, and must be more than older_than, which is 10.0" in result["msg"]
    assert cloud.requests == []


def test_server_that_nova_calls_updated_whenever_it_is_asked_is_as_old_as_its_request(listed, cloud):
    cloud.put("servers", created=LONG_AGO, updated=now(), **SPAWNING)
    assert kinds(listed()) == [("server", "BUILD", 1)]


def test_fault_that_a_listing_does_not_have_is_asked_for(listed, cloud):
    server = error(cloud, "No valid host was found.")
    without = json.dumps({"servers": [{**server, "fault": None}]})
    cloud.trouble("GET", "/servers/detail", (200, {"content-type": "application/json"}, without), times=2)
    assert [group["reason"] for group in listed()["groups"]] == ["No valid host was found."]


def test_volumes_ports_and_images_are_listed(listed, cloud):
    server = cloud.put("servers", status="ACTIVE", updated=LONG_AGO, **{"OS-EXT-STS:task_state": None})
    port = {"device_owner": "compute:nova", "updated_at": LONG_AGO, "project_id": "p"}
    cloud.put("ports", device_id=server["id"], status="DOWN", **port)
    cloud.put("ports", device_id="another", status="DOWN", **{**port, "binding:vif_type": "binding_failed"})
    # One of a server that does not run, and one of a router
    cloud.put("ports", device_id="another", status="DOWN", **port)
    cloud.put("ports", device_id="router", status="DOWN", **{**port, "device_owner": "network:router_interface"})
    cloud.put("volumes", status="error_deleting", updated_at=LONG_AGO)
    cloud.put("volumes", status="creating", updated_at=None, created_at=LONG_AGO)
    cloud.put("images", status="saving", updated_at=LONG_AGO)
    assert sorted(kinds(listed())) == [
        ("image", "saving", 1),
        ("port", "DOWN", 1),
        ("port", "DOWN", 1),
        ("volume", "creating", 1),
        ("volume", "error_deleting", 1),
    ]


def test_an_age_below_zero_is_refused(call, cloud):
    result = call(module, cloud="small", older_than=-1)
    assert "older_than cannot be -1.0" in result["msg"]
    assert cloud.requests == []


def test_a_service_that_does_not_answer_is_said(call, cloud, hurry):
    assert hurry is None
    cloud.trouble("GET", "/volumes/detail", 503, times=99)
    result = call(module, cloud="small", timeout=2)
    assert result["failed"]
    assert "listing what is stuck" in result["msg"]
