# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A diagnosis on a live cloud begins: what was asked about is found, and its stages are in the record."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts.profiles import profile_of
from ansible_collections.stackproof.provision.plugins.module_utils._diagnose.log_directory import LogDirectory
from ansible_collections.stackproof.provision.plugins.module_utils._record.clock import seconds_of
from ansible_collections.stackproof.provision.plugins.modules import flow, flow_info, report
from ansible_collections.stackproof.provision.plugins.modules import operation as module
from tree import RECORDED, ROLES

SCHEMA = json.loads((ROLES / "report/files/run.schema.json").read_text())
FAULT = {"message": "No valid host was found. ", "code": 500, "created": "2026-11-21T11:01:31Z"}
NEVER_LAUNCHED = {"OS-SRV-USG:launched_at": None}


@pytest.fixture
def begin(call, cloud, tmp_path):
    """Return a function that begins a diagnosis, and returns its record; the cloud was only read."""

    def of(**asked):
        result = call(module, cloud="small", diagnoses=str(tmp_path / "diagnoses"), **asked)
        if result.get("failed"):
            return result["msg"]
        record = json.loads((Path(result["directory"]) / "run.json").read_text())
        jsonschema.Draft202012Validator(SCHEMA).validate(record)
        changing = [request for request in cloud.asked() if request[0] != "GET"]
        assert {path for _method, path in changing} == {"/identity/v3/auth/tokens"}
        return record

    return of


def stages(record):
    return {stage["stage"]: stage["status"] for stage in record["stages"]}


def error_of(record):
    return record["stages"][-1]["error"]


def test_a_server_without_its_volume_has_a_failed_volume(begin, cloud):
    """Nova removes the volume again, but Cinder still says why it was not made."""
    volume = "d1226d07-5b44-401f-933b-b4656646c964"
    waited = "did not finish being created even after we waited 0 seconds or 1 attempts. And its status is error."
    fault = {
        **FAULT,
        "message": f"Build of instance 9f5aec18-91c8-429c-b044-7bb0625a723b aborted: Volume {volume} {waited}",
    }
    server = cloud.put("servers", name="web", status="ERROR", fault=fault, **NEVER_LAUNCHED)
    record = begin(server_id=server["id"])
    assert stages(record) == {"auth": "skipped", "image": "skipped", "network": "skipped", "volume": "failed"}
    assert error_of(record)["message"].startswith("the volume of the server web became unusable; the cloud answered: ")
    assert volume in error_of(record)["hint"]
    assert {resource["id"] for resource in record["stages"][-1]["resources"]} >= {volume, server["id"]}


def test_a_server_whose_volume_cinder_refuses_has_a_failed_volume(begin, cloud):
    """Errors of Cinder's client have a form of their own, and name the request that failed there."""
    request = "req-56402293-8219-4690-bd7a-382dd1074507"
    answer = f"The server has either erred. (HTTP 500) (Request-ID: {request})"
    fault = {**FAULT, "message": f"Build of instance 37defa0d-16d2-474f-bd45-58b7c2701703 aborted: {answer}"}
    server = cloud.put("servers", name="web", status="ERROR", fault=fault, **NEVER_LAUNCHED)
    record = begin(server_id=server["id"])
    assert stages(record)["volume"] == "failed"
    assert error_of(record)["request_id"] == request
    assert error_of(record)["message"].startswith("the volume of the server web could not be made or attached; ")


def test_a_server_that_waits_for_cinder_has_an_unfinished_volume(begin, cloud):
    task = {"OS-EXT-STS:task_state": "block_device_mapping"}
    server = cloud.put("servers", name="web", status="BUILD", **NEVER_LAUNCHED, **task)
    record = begin(server_id=server["id"])
    assert stages(record)["volume"] == "failed"
    assert error_of(record)["kind"] == "deadline"
    assert "the volume of the server web is not ready" in error_of(record)["message"]


def test_a_server_that_could_not_be_built_has_a_failed_boot(begin, cloud):
    server = cloud.put("servers", name="web", status="ERROR", fault=FAULT, **NEVER_LAUNCHED)
    record = begin(server_id=server["id"])
    assert stages(record) == {
        "auth": "skipped",
        "image": "skipped",
        "network": "skipped",
        "volume": "skipped",
        "boot": "failed",
    }
    boot = record["stages"][-1]
    assert (boot["error"]["kind"], boot["error"]["answer"]) == ("build_failed", "No valid host was found.")
    assert boot["details"]["request_id"] == boot["calls"][0]["request_id"]
    assert boot["details"]["events"]
    assert boot["finished"] == "2026-11-21T11:01:31.000000+00:00"
    assert {"server", "flavor", "image"} <= {resource["kind"] for resource in boot["resources"]}
    assert not any(resource["created"] for resource in boot["resources"])
    assert record["operation"]["query"] == {"server_id": server["id"]}
    assert (record["operation"]["action"], record["operation"]["subject"]) == ("create", "web")
    assert record["operation"]["ended"] == boot["finished"]


def test_a_server_that_is_still_built_waits_until_now(begin, cloud):
    state = {"status": "BUILD", "OS-EXT-STS:task_state": "spawning", "OS-EXT-STS:power_state": 0}
    server = cloud.put("servers", name="web", **state, **NEVER_LAUNCHED)
    record = begin(server_id=server["id"])
    error = error_of(record)
    assert error["kind"] == "deadline"
    assert error["message"].endswith("its state is BUILD, spawning, no state")
    assert record["operation"]["ended"] is None
    assert record["stages"][-1]["finished"] == record["operation"]["asked"]


def test_the_guest_of_an_active_server_is_suspected(begin, cloud):
    launched = {"OS-SRV-USG:launched_at": "2026-11-21T11:01:40.000000"}
    server = cloud.put("servers", name="web", status="ACTIVE", **launched)
    record = begin(resource_id=server["id"])
    assert (stages(record)["boot"], stages(record)["metadata"]) == ("ok", "failed")
    assert error_of(record)["kind"] == "suspected"


@pytest.mark.parametrize("collection", ["ports", "floatingips"])
def test_a_port_and_a_floating_ip_lead_to_their_server(begin, cloud, collection):
    server = cloud.put("servers", name="web", status="ERROR", fault=FAULT, **NEVER_LAUNCHED)
    port = cloud.put("ports", device_owner="compute:nova", device_id=server["id"])
    floating = cloud.put("floatingips", port_id=port["id"])
    asked = {"ports": port, "floatingips": floating}[collection]
    record = begin(resource_id=asked["id"])
    assert record["operation"]["subject"] == "web"
    assert record["operation"]["query"] == {"resource_id": asked["id"]}


def routed(cloud):
    """A router with an interface on a network, and two servers there, the second of which has no working port."""
    network, external = cloud.put("networks"), cloud.put("networks")
    router = cloud.put("routers")
    about = {"device_id": router["id"], "status": "ACTIVE"}
    cloud.put("ports", network_id=network["id"], device_owner="network:router_interface", **about)
    cloud.put("ports", network_id=external["id"], device_owner="network:router_gateway", **about)
    for name, status in (("well", "ACTIVE"), ("web", "DOWN")):
        server = cloud.put("servers", name=name, status="ERROR", fault=FAULT, **NEVER_LAUNCHED)
        of_server = {"device_id": server["id"], "status": status}
        cloud.put("ports", network_id=network["id"], device_owner="compute:nova", **of_server)
    return {"networks": network, "routers": router}


@pytest.mark.parametrize("collection", ["networks", "routers"])
def test_a_network_and_a_router_lead_to_a_server_that_has_trouble_there(begin, cloud, collection):
    record = begin(resource_id=routed(cloud)[collection]["id"])
    assert record["operation"]["subject"] == "web"


@pytest.mark.parametrize(("collection", "what"), [("networks", "the network"), ("routers", "the router")])
def test_a_network_and_a_router_without_a_server_say_so(begin, cloud, collection, what):
    unused = cloud.put(collection)
    assert f"{what} {unused['id']} serves no server that this user may see" in begin(resource_id=unused["id"])


@pytest.mark.parametrize(
    ("status", "kind", "is_over"),
    [("error", "service", True), ("creating", "deadline", False), ("available", "suspected", True)],
)
def test_a_volume_is_judged_by_its_status(begin, cloud, status, kind, is_over):
    volume = cloud.put("volumes", name="data", status=status, size=3, volume_type="ceph")
    record = begin(resource_id=volume["id"])
    assert stages(record) == {"auth": "skipped", "image": "skipped", "network": "skipped", "volume": "failed"}
    assert error_of(record)["kind"] == kind
    assert record["stages"][-1]["details"]["requested_size_gib"] == 3
    assert (record["operation"]["ended"] is not None) == is_over


@pytest.mark.parametrize(("status", "kind"), [("killed", "service"), ("saving", "deadline"), ("active", "suspected")])
def test_an_image_is_judged_by_its_status(begin, cloud, status, kind):
    image = cloud.put("images", name="debian", status=status)
    record = begin(resource_id=image["id"])
    assert stages(record) == {"auth": "skipped", "image": "failed"}
    assert error_of(record)["kind"] == kind


def test_a_request_leads_to_what_it_made(begin, cloud):
    server = cloud.put("servers", name="web", status="ERROR", fault=FAULT, **NEVER_LAUNCHED)
    request = begin(server_id=server["id"])["stages"][-1]["details"]["request_id"]
    for asked in ({"request_id": request}, {"error": request}):
        record = begin(**asked)
        assert (record["operation"]["query"], record["operation"]["subject"]) == (asked, "web")


def test_a_request_that_nobody_knows_is_said(begin, cloud):
    cloud.put("servers", name="web", status="ACTIVE")
    said = begin(request_id="req-00000000-0000-4000-8000-000000000000")
    assert "neither Nova nor Cinder knows the request req-00000000" in said
    assert "stackproof_bundle" in said


ACTIONS = [
    {"action": "resize", "request_id": "req-2", "start_time": "2026-11-21T12:00:00.000000", "message": None},
    {"action": "reboot", "request_id": "req-1", "start_time": "2026-11-21T11:30:00.000000", "message": "Error"},
    {"action": "create", "request_id": "req-0", "start_time": "2026-11-21T11:01:30.000000", "message": None},
]
LAUNCHED = {"OS-SRV-USG:launched_at": "2026-11-21T11:01:40.000000", "OS-EXT-STS:power_state": 1}


@pytest.mark.parametrize(
    ("state", "asked", "action", "said"),
    [
        # What is under way
        ({"status": "RESIZE", "OS-EXT-STS:task_state": "resize_prep"}, {}, "resize", "has not ended"),
        # What has failed, from an error
        ({"status": "ERROR", "OS-EXT-STS:task_state": None, "fault": FAULT}, {}, "reboot", "failed"),
        # What was asked about by its own request
        ({"status": "ACTIVE", "OS-EXT-STS:task_state": None}, {"request_id": "req-1"}, "reboot", "failed"),
        ({"status": "ACTIVE", "OS-EXT-STS:task_state": None}, {}, "create", None),
    ],
)
def test_an_action_on_a_server_is_judged_by_its_request(begin, cloud, state, asked, action, said):
    server = cloud.put("servers", name="web", **{**LAUNCHED, **state})
    listed = 200, {"content-type": "application/json"}, {"instanceActions": ACTIONS}
    cloud.trouble("GET", f"/servers/{server['id']}/os-instance-actions$", listed, times=99)
    record = begin(**(asked or {"server_id": server["id"]}))
    assert record["operation"]["action"] == action
    if said:
        assert record["stages"][-1]["stage"] == "boot"
        assert f"the action {action} on the server web {said}" in error_of(record)["message"]
        assert record["stages"][-1]["details"]["request_id"] == {"resize": "req-2", "reboot": "req-1"}[action]
    else:
        assert error_of(record)["kind"] == "suspected"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("00000000-0000-4000-8000-000000000000", "has no server, volume, image, port, floating IP, network or router"),
        ("a name", "has no server, volume, image, port, floating IP, network or router"),
    ],
)
def test_what_the_cloud_does_not_have_is_said(begin, asked, message):
    said = begin(resource_id=asked)
    assert message in said
    assert "stackproof_admin_cloud" in said


FLOWS = [str(path) for path in sorted((ROLES / "flow/files/flows").glob("*.yml"))]
NO_HOSTS = "The API shows no fault, and nothing else could be examined."


@pytest.mark.parametrize(
    ("collection", "thing", "result", "said"),
    [
        ("servers", {"status": "ERROR", "fault": FAULT, **NEVER_LAUNCHED}, "fail", "No valid host was found"),
        ("servers", {"status": "BUILD", **NEVER_LAUNCHED}, "fail", "is not active"),
        ("servers", {"status": "ACTIVE", **LAUNCHED}, "incomplete", NO_HOSTS),
        ("volumes", {"status": "error"}, "fail", "became error"),
        ("volumes", {"status": "deleting"}, "fail", "has been deleting for"),
        ("volumes", {"status": "in-use"}, "incomplete", NO_HOSTS),
        ("images", {"status": "killed"}, "fail", "became killed"),
        ("images", {"status": "queued"}, "fail", "has been queued for"),
        ("images", {"status": "active"}, "incomplete", NO_HOSTS),
    ],
)
def test_a_diagnosis_by_the_api_alone_ends_with_a_verdict(
    begin, cloud, call, tmp_path, collection, thing, result, said
):
    record = begin(resource_id=cloud.put(collection, name="web", **thing)["id"])
    directory = str(tmp_path / "diagnoses" / record["run_id"])
    assert not call(flow, run_dir=directory, flows=FLOWS).get("failed")
    ended = call(report, run_dir=directory, template=str(ROLES / "report/templates/report.html.j2"))
    # A diagnosis has done its work, whatever it has found.
    assert not ended.get("failed"), ended
    assert (ended["verdict"]["result"], ended["verdict"]["component"]) == (result, None)
    assert said in ended["verdict"]["reason"]
    assert ended["summary"][1] == f"Diagnosis {record['run_id']} on small"
    assert Path(ended["page"]).exists()
    written = json.loads((Path(directory) / "run.json").read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(written)
    shown = {"fail": "failed", "incomplete": "skipped"}[result]
    assert (
        next(stage["status"] for stage in written["stages"] if stage["stage"] == record["stages"][-1]["stage"]) == shown
    )
    assert (written["finished"] is not None, written["created"], written["leftovers"]) == (True, 0, [])


def test_what_belongs_to_no_server_is_said(begin, cloud):
    router = cloud.put("ports", device_owner="network:router_interface", device_id="r1")
    assert "belongs to no server, but to network:router_interface r1" in begin(resource_id=router["id"])
    unused = cloud.put("floatingips", port_id=None, floating_ip_address="203.0.113.7")
    assert "the floating IP 203.0.113.7 is given to no port" in begin(resource_id=unused["id"])


FAILED_BOOT = {"name": "web", "status": "ERROR", "created": "2026-11-21T11:01:00Z", "fault": FAULT, **NEVER_LAUNCHED}


def test_a_time_range_is_that_of_the_logs(begin, cloud, call, tmp_path):
    server = cloud.put("servers", **FAILED_BOOT)
    record = begin(server_id=server["id"], since="2026-11-21 12:01:10+01:00", until="2026-11-21T11:01:40Z")
    since, until = "2026-11-21T11:01:10.000000+00:00", "2026-11-21T11:01:40.000000+00:00"
    assert (record["operation"]["since"], record["operation"]["until"]) == (since, until)
    directory = str(tmp_path / "diagnoses" / record["run_id"])
    wanted = call(flow_info, run_dir=directory, flows=FLOWS)["wanted"]
    assert (wanted["began"], wanted["until"]) == (seconds_of(since), seconds_of(until))
    assert not call(flow, run_dir=directory, flows=FLOWS).get("failed")
    ended = call(report, run_dir=directory, template=str(ROLES / "report/templates/report.html.j2"))
    assert "  logs       2026-11-21T11:01:10 UTC to 2026-11-21T11:01:40" in ended["summary"]


def test_without_a_time_range_the_logs_of_the_operation_are_read(begin, cloud, call, tmp_path):
    server = cloud.put("servers", **FAILED_BOOT)
    record = begin(server_id=server["id"])
    wanted = call(flow_info, run_dir=str(tmp_path / "diagnoses" / record["run_id"]), flows=FLOWS)["wanted"]
    assert wanted["began"] == seconds_of(record["started"])
    assert wanted["until"] == seconds_of(FAULT["created"]) + 60


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ({"since": "2026-11-21T12:00:00Z", "until": "2026-11-21T11:00:00Z"}, "before it begins"),
        ({"until": "2026-11-20T11:00:00Z"}, "before the action create of web began at 2026-11-2"),
        ({"since": "2026-11-21T11:02:32Z"}, "after the action create of web ended at 2026-11-21T11:01:31"),
        ({"since": "now"}, "'now' is not a time in a known format"),
    ],
)
def test_a_time_range_in_which_the_operation_cannot_show_is_refused(begin, cloud, times, message):
    server = cloud.put("servers", **FAILED_BOOT)
    assert message in begin(server_id=server["id"], **times)


def test_a_time_range_alone_leads_to_the_list(begin, cloud):
    assert "With stackproof_stuck=true, what failed in a time range is listed" in begin(since="2026-11-21T11:00:00Z")
    assert cloud.requests == []


PASSED, REFUSED = RECORDED / "runs/20261121-065105-bdb5f5", RECORDED / "runs/20261121-065322-ce7f74"


def test_a_baseline_is_in_the_record_for_those_who_judge_it(begin, cloud, warned):
    server = cloud.put("servers", name="web", status="ERROR", fault=FAULT, **NEVER_LAUNCHED)
    baseline = begin(server_id=server["id"], baseline=str(PASSED))["baseline"]
    assert (baseline["source"], baseline["passed"][:10]) == (PASSED.name, "2026-11-21")
    assert warned == [f"stackproof_baseline: the run {PASSED.name} is of the cloud {baseline['cloud']}, not of small"]
    assert "baseline" not in begin(server_id=server["id"])


def test_a_baseline_of_a_live_diagnosis_may_be_logs(begin, cloud, tmp_path, warned):
    logs = tmp_path / "passed" / "compute2"
    logs.mkdir(parents=True)
    text = "oslo_service.periodic_task [-] Error during ComputeManager.update: nova.exception.ResourceProviderSync: no"
    (logs / "nova-compute.log").write_text(f"2026-11-20 20:13:35.000 820 ERROR {text}\n")
    server = cloud.put("servers", name="web", status="ERROR", fault=FAULT, **NEVER_LAUNCHED)
    about = {"baseline": str(tmp_path / "passed"), "services": profile_of("packages")["logs"]}
    baseline = begin(server_id=server["id"], **about)["baseline"]
    assert [error["exception"] for error in baseline["errors"]] == ["nova.exception.ResourceProviderSync"]
    assert (baseline["source"], baseline["passed"], warned) == ("passed", None, [])


def logged_line(second, level, logger, message):
    return f"2026-11-21 11:01:{second} 820 {level} {logger} [-] {message}\n"


# What this host logs once a minute, and what it logs in the failure alone
USUAL = "nova.compute.resource_tracker", "Unable to connect: pymysql.err.OperationalError: (2003, refused)"
NEW = "os_brick.initiator.connectors.rbd", "Could not open the image: rbd.ImageNotFound: [errno 2] RBD image not found"


@pytest.fixture
def verdict_with(begin, cloud, call, tmp_path):
    """Return a function that diagnoses a failed server with both errors in the log of a host, and gives the record."""

    def of(**options):
        server = cloud.put("servers", **FAILED_BOOT)
        record = begin(server_id=server["id"], services=profile_of("packages")["logs"], **options)
        directory = str(tmp_path / "diagnoses" / record["run_id"])
        logs = tmp_path / record["run_id"] / "compute2"
        logs.mkdir(parents=True)
        lines = [logged_line(20, "ERROR", *USUAL), logged_line(25, "ERROR", *NEW)]
        (logs / "nova-compute.log").write_text("".join(lines))
        wanted = call(flow_info, run_dir=directory, flows=FLOWS)["wanted"]
        reads = LogDirectory(str(logs.parent), profile_of("packages")["logs"]).events(wanted).hosts
        for read in reads.values():
            read["events"] = json.dumps(read["events"])
        assert not call(flow, run_dir=directory, flows=FLOWS, reads={"log": reads}).get("failed")
        call(report, run_dir=directory, template=str(ROLES / "report/templates/report.html.j2"))
        return json.loads((Path(directory) / "run.json").read_text())

    return of


def test_what_was_logged_while_all_worked_explains_nothing_on_a_live_cloud(verdict_with, tmp_path):
    without = verdict_with()
    assert {error["usual"] for error in without["errors"]} == {None}
    assert "database" in str(without["verdict"])
    logs = tmp_path / "passed" / "compute2"
    logs.mkdir(parents=True)
    (logs / "nova-compute.log").write_text(logged_line(20, "ERROR", *USUAL).replace("2026-11-21", "2026-11-20"))
    record = verdict_with(baseline=str(tmp_path / "passed"))
    known = {error["exception"]: error["usual"] for error in record["errors"]}
    assert known == {"pymysql.err.OperationalError": 1.0, "rbd.ImageNotFound": 0.0}
    suspects = [record["verdict"], *record["verdict"]["alternatives"]]
    evidence = [text for suspect in suspects for text in suspect["evidence"]]
    assert "ImageNotFound" in str(evidence)
    assert "OperationalError" not in str(record["verdict"])


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize(
    ("path", "message"), [(REFUSED, "cannot be a baseline: its result is fail"), ("nowhere", "nowhere does not exist")]
)
def test_a_baseline_that_cannot_be_one_is_refused_before_the_cloud_is_asked(
    call, cloud, tmp_path, path, message, check
):
    about = {"cloud": "small", "diagnoses": str(tmp_path / "d"), "server_id": "x"}
    assert message in call(module, check=check, baseline=str(path), **about)["msg"]
    assert cloud.requests == []


def test_that_nothing_is_asked_about_is_said(begin, cloud):
    said = begin()
    assert "it is not said what to diagnose" in said
    assert "stackproof_bundle" in said
    assert cloud.requests == []


def test_check_mode_writes_nothing(call, cloud, tmp_path):
    result = call(module, check=True, cloud="small", diagnoses=str(tmp_path / "d"), server_id="x")
    assert (result["changed"], (tmp_path / "d").exists()) == (True, False)
    assert cloud.requests == []
