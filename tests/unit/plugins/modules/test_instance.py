# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the API says of a run's instance, or of any, as Ansible asks for it."""

from __future__ import annotations

import json
from pathlib import Path

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.modules import instance as module
from cases_by_hand import FINISHED, STARTED, error, stage
from cases_by_hand import call as answered
from hosts_by_hand import Cloud, hosts, inventory, usual


@pytest.fixture
def server_id(cloud, api):
    """The recorded instance on the cloud, as an administrator sees it."""
    cloud.put("servers", **api["admin"]["server"])
    cloud.put("networks", **api["network"])
    for kind, things in (("ports", api["admin"]["ports"]), ("subnets", api["subnets"]), ("images", [api["image"]])):
        for thing in things:
            cloud.put(kind, **thing)
    return api["admin"]["server"]["id"]


@pytest.fixture
def booted(run, server_id):
    """A run whose server that instance is."""
    resource = {"kind": "server", "id": server_id, "name": "a", "created": True}
    as_json.put_stage(run, as_json.stage("boot", "ok", resources=[resource]))
    return run


def record(run):
    return json.loads(Path(run.path("run.json")).read_text())


def test_any_server_can_be_asked_for(call, server_id, api):
    result = call(module, cloud="small", server=server_id)
    shown = result["instance"]
    assert (result["changed"], shown["server"]["id"]) == (False, server_id)
    assert [port.pop("egress_rules") for port in shown["ports"]] == [0]
    assert {**shown, "queried": None} == {**api["seen_by_admin"], "queried": None, "allocations": None}


def test_the_server_of_a_run_is_filed_in_its_record(call, booted, server_id):
    result = call(module, cloud="small", run_dir=booted.directory)
    assert (result["changed"], result["instance"]["server"]["id"]) == (True, server_id)
    assert record(booted)["instance"] == result["instance"]


@pytest.mark.parametrize(("status", "broken"), [("ok", False), ("failed", True)])
def test_it_says_whether_somebody_waits_for_who_broke_the_run(call, booted, status, broken):
    as_json.put_stage(booted, as_json.stage("metadata", status))
    result = call(module, cloud="small", run_dir=booted.directory)
    assert (result["broken"], result["to_read"]) == (broken, True)


def test_a_removal_that_failed_is_examined(call, booted, cloud):
    call(module, cloud="small", run_dir=booted.directory)
    before = record(booted)["instance"]
    cloud.requests.clear()
    removed = module.Run(booted.directory)
    as_json.change(removed, removal=as_json.stage("removal", "failed"))
    removed.save()
    result = call(module, cloud="small", run_dir=booted.directory, examine=True)
    assert (result["broken"], set(result["examine"])) == (True, {"salt", "since", "endpoints", "hosts"})
    # The server is gone, and need not be asked for.
    assert (record(booted)["instance"], cloud.requests) == (before, [])


def test_a_second_guest_that_failed_is_described_as_the_instance(call, booted, cloud, api):
    second = other_guest(cloud, api)
    shown = {"lines": 9, "steps": [], "lease": None, "metadata": False, "user_data": False, "own": None}
    stage = as_json.stage("dataplane", "failed", resources=[second], details={"guest": shown})
    as_json.put_stage(booted, stage)
    result = call(module, cloud="small", run_dir=booted.directory)
    assert (result["broken"], result["instance"]["server"]["id"]) == (True, "second")


def other_guest(cloud, api):
    """A second server of a run, with a port like that of the first one but for its addresses."""
    server = {**api["admin"]["server"], "id": "second"}
    port = {**api["admin"]["ports"][0], "id": "second-port", "device_id": "second", "mac_address": "fa:16:3e:00:00:04"}
    port["fixed_ips"] = [{**port["fixed_ips"][0], "ip_address": "192.0.2.12"}]
    cloud.put("servers", **server)
    cloud.put("ports", **port)
    return {"kind": "second_server", "id": "second", "name": "b", "created": True}


def checked(check, source, status="failed", value=None):
    target = {"first": "second", "second": "first"}[source]
    return {"check": check, "source": source, "target": target, "status": status, "text": "t", "value": value}


def test_the_paths_on_which_guests_lost_packets_are_described(call, booted, cloud, api):
    checks = [checked("ping", "first"), checked("open", "second", value=22.0), checked("size", "first", value=1400.0)]
    checks.append(checked("shut", "first", status="ok"))
    second = other_guest(cloud, api)
    as_json.put_stage(booted, as_json.stage("dataplane", "failed", resources=[second], details={"checks": checks}))
    instance = call(module, cloud="small", run_dir=booted.directory)["instance"]
    ours, paths = instance["ports"][0]["id"], instance["paths"]
    ends = [(path["check"], path["source"]["id"], path["target"]["id"], path.get("port")) for path in paths]
    # No switch drops a packet for its size.
    assert ends == [("ping", ours, "second-port", None), ("open", "second-port", ours, 22)]


@pytest.mark.parametrize("status", ["ok", "failed"])
def test_without_a_lost_packet_the_other_guest_is_not_asked_about(call, booted, cloud, api, status):
    checks = [checked("ping", "first", status="ok"), checked("size", "first", status, 1400.0)]
    second = other_guest(cloud, api)
    as_json.put_stage(booted, as_json.stage("dataplane", status, resources=[second], details={"checks": checks}))
    assert "paths" not in call(module, cloud="small", run_dir=booted.directory)["instance"]


def test_check_mode_files_nothing(call, booted, server_id):
    result = call(module, check=True, cloud="small", run_dir=booted.directory)
    assert result["instance"]["server"]["id"] == server_id
    assert "instance" not in record(booted)


def test_a_run_without_a_server_has_no_instance_and_asks_nobody(call, run, cloud):
    result = call(module, cloud="small", run_dir=run.directory)
    assert (result["instance"], result.get("failed"), cloud.requests) == (None, None, [])
    assert "instance" not in record(run)


@pytest.mark.parametrize("way", ["cloud", "auth"])
def test_an_administrator_is_asked_by_the_name_of_the_cloud(way, call, cloud, know_cloud, server_id):
    entry = cloud.entry()
    know_cloud(small=entry, boss={**entry, "auth": {**entry["auth"], "username": "admin"}})
    member = {"cloud": {"cloud": "small"}, "auth": {"auth": entry["auth"]}}[way]
    result = call(module, **member, server=server_id, admin_cloud="boss")
    assert (result["instance"]["server"]["host"], result["instance"]["allocations"]) == ("compute2", 1)
    users = [
        request.body["auth"]["identity"]["password"]["user"]["name"]
        for request in cloud.requests
        if request.path.endswith("tokens")
    ]
    assert sorted(users) == ["admin", "lab"]


def test_a_placement_that_does_not_answer_hides_nothing_else(call, cloud, know_cloud, server_id, hurry, warned):
    assert hurry is None
    entry = cloud.entry()
    know_cloud(small=entry, boss={**entry, "auth": {**entry["auth"], "username": "admin"}})
    cloud.trouble("GET", "/allocations/", 503, times=99)
    result = call(module, cloud="small", server=server_id, admin_cloud="boss", timeout=2)
    shown = result["instance"]
    assert (shown["server"]["host"], shown["ports"][0]["host"]) == ("compute2", "compute2")
    assert (shown["allocations"], shown["claimed_on"]) == (None, [])
    (warning,) = warned
    assert "the cloud answered (503)" in warning


def test_an_administrator_is_told_of_the_other_boots_of_that_time(call, cloud, know_cloud, booted):
    entry = cloud.entry()
    know_cloud(small=entry, boss={**entry, "auth": {**entry["auth"], "username": "admin"}})
    cloud.put("servers", **{"status": "BUILD", "created": "2026-11-21T10:00:00Z", "OS-SRV-USG:launched_at": None})
    call(module, cloud="small", run_dir=booted.directory, admin_cloud="boss")
    other_boots = record(booted)["other_boots"]
    assert other_boots["boots"] == [{"started": "2026-11-21T10:00:00Z", "finished": None, "settling_s": None}]
    (asked,) = (request for request in cloud.requests if "changes-since" in dict(request.query))
    assert dict(asked.query)["all_tenants"] == "1"


def test_who_is_no_administrator_is_told_of_no_other_boots(call, cloud, booted):
    call(module, cloud="small", run_dir=booted.directory)
    assert "other_boots" not in record(booted)
    assert not [request for request in cloud.requests if "changes-since" in dict(request.query)]


def test_a_server_that_is_gone_is_said(call, cloud):
    result = call(module, cloud="small", server="00000000-0000-4000-8000-000000000000")
    assert result["failed"]
    assert "could not be found" in result["msg"]
    assert cloud.requests


def test_a_cloud_that_does_not_answer_is_said(call, cloud, server_id, hurry):
    assert hurry is None
    cloud.trouble("GET", "/servers/", 503, times=99)
    result = call(module, cloud="small", server=server_id, timeout=2)
    assert result["failed"]
    assert "Traceback" not in result["msg"]


@pytest.mark.parametrize(
    ("calls", "patience"),
    [
        ([], 3),
        ([{**answered(200), "seconds": 0.2}], 3),
        ([{**answered(200), "seconds": 2.0}, {**answered(200), "seconds": 0.2}], 6),
        ([{**answered(200), "seconds": 30.0}], 12),
        # What was never answered says nothing of those that answer, and a slow upload nothing of a question.
        ([{**answered(None), "seconds": 30.0}, {**answered(204), "method": "PUT", "seconds": 30.0}], 3),
    ],
)
def test_cloud_that_answered_slowly_before_it_failed_is_given_more_time(calls, patience):
    record = as_json.typed({**as_json.new_record("run", "cloud"), "stages": [stage(calls=calls)]})
    assert module.patience_with(record) == patience


def test_who_asks_for_a_diagnosis_waits_longer():
    operation = {"asked": FINISHED, "query": {"server_id": "1"}, "action": "create", "subject": "s", "ended": STARTED}
    record = as_json.typed({**as_json.new_record("run", "cloud"), "stages": [stage()], "operation": operation})
    assert module.patience_with(record) == 10


def test_a_run_goes_on_without_an_answer_and_says_so(call, cloud, booted, hurry):
    """It must come to its cleanup and its report."""
    assert hurry is None
    cloud.trouble("GET", "/servers/", 503, times=99)
    result = call(module, cloud="small", run_dir=booted.directory, timeout=2)
    assert not result.get("failed")
    assert (result["instance"], record(booted).get("instance")) == (None, None)
    (host,) = record(booted)["hosts"]
    assert [(check["check"], check["status"]) for check in host["checks"]] == [
        ("The API was asked what the hosts should show", "unreadable")
    ]
    assert host["checks"][0]["reason"].startswith("asking what the hosts should show: the cloud answered (503)")


@pytest.mark.parametrize("body", ["<html>Welcome</html>", {"welcome": "here"}, []])
def test_an_answer_of_an_unknown_form_leaves_a_run_its_end(call, cloud, booted, body):
    cloud.trouble("GET", "/servers/", (200, {}, body), times=99)
    result = call(module, cloud="small", run_dir=booted.directory)
    assert not result.get("failed")
    assert result["instance"] is None
    ((check,),) = (host["checks"] for host in record(booted)["hosts"])
    assert "is not JSON" in check["reason"] or "an answer of an unknown form" in check["reason"]


def test_a_server_or_a_run_must_be_said(call):
    assert "one of the following is required: server, run_dir" in call(module, cloud="small")["msg"]


def test_a_folder_that_is_no_run_is_said(call, tmp_path):
    assert "is not the directory of a run" in call(module, cloud="small", run_dir=str(tmp_path))["msg"]


# Why a request was not satisfied


@pytest.fixture
def no_host(booted, cloud, know_cloud):
    """A run whose boot found no valid host, on a cloud with full hosts, and an administrator of it."""
    entry = cloud.entry()
    know_cloud(small=entry, boss={**entry, "auth": {**entry["auth"], "username": "admin"}})
    cloud.hosts = Cloud(hosts(2, inventories=usual(VCPU=inventory(8, 8))))
    server = {"kind": "server", "id": booted.resource("server").id, "name": "a", "created": True}
    flavor = {"kind": "flavor", "id": cloud.all("flavors")[0]["id"], "name": "probe", "created": False}
    failed = {**error("build_failed", "the server is in the state ERROR: No valid host was found."), "details": {}}
    as_json.put_stage(booted, as_json.stage("boot", "failed", resources=[flavor, server], error=failed))
    return booted


def test_capacity_is_filed_after_a_boot_without_a_valid_host(call, no_host, warned):
    result = call(module, cloud="small", run_dir=no_host.directory, admin_cloud="boss")
    compute = record(no_host)["capacity"]["compute"]
    assert (result["broken"], compute["requested"]["flavor"]) == (True, "probe")
    assert [host["host"] for host in compute["hosts"]] == ["compute1", "compute2"]
    assert record(no_host)["capacity"]["unread"] == []
    verdict = as_json.verdict_on(record(no_host))
    assert verdict["headline"] == "No host fits: both compute hosts have no VCPUs free"
    assert verdict["component"] is None
    assert not [text for text in warned if "asking for" in text and "inventor" in text]


def test_capacity_is_not_asked_for_without_an_administrator(call, no_host, cloud):
    call(module, cloud="small", run_dir=no_host.directory)
    assert "capacity" not in record(no_host)
    assert not cloud.asked(path="/placement")


@pytest.mark.parametrize("status", ["ok", "failed"])
def test_capacity_is_not_asked_for_after_anything_else(call, no_host, cloud, status):
    stage = as_json.stage("boot", status, error={**error(), "details": {}} if status == "failed" else None)
    as_json.put_stage(no_host, stage)
    call(module, cloud="small", run_dir=no_host.directory, admin_cloud="boss", server=no_host.id)
    assert "capacity" not in record(no_host)
    assert not cloud.asked(path="allocation_candidates")


def test_placement_that_fails_leaves_the_reason_in_the_record(call, no_host, cloud, warned, hurry):
    assert hurry is None
    cloud.trouble("GET", "/resource_providers", 503, times=99)
    call(module, cloud="small", run_dir=no_host.directory, admin_cloud="boss")
    (reason,) = record(no_host)["capacity"]["unread"]
    assert reason.startswith("asking for the resource providers: the cloud answered (503)")
    assert reason in warned
