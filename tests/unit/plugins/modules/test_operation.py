# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A diagnosis on a live cloud begins: what was asked about is found, and its stages are in the record."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from ansible_collections.stackproof.provision.plugins.modules import operation as module
from tree import ROLES

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


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("00000000-0000-4000-8000-000000000000", "has no server, volume, image, port or floating IP"),
        ("a name", "has no server, volume, image, port or floating IP"),
    ],
)
def test_what_the_cloud_does_not_have_is_said(begin, asked, message):
    said = begin(resource_id=asked)
    assert message in said
    assert "stackproof_admin_cloud" in said


def test_what_belongs_to_no_server_is_said(begin, cloud):
    router = cloud.put("ports", device_owner="network:router_interface", device_id="r1")
    assert "belongs to no server, but to network:router_interface r1" in begin(resource_id=router["id"])
    unused = cloud.put("floatingips", port_id=None, floating_ip_address="203.0.113.7")
    assert "the floating IP 203.0.113.7 is given to no port" in begin(resource_id=unused["id"])


def test_that_nothing_is_asked_about_is_said(begin, cloud):
    said = begin()
    assert "it is not said what to diagnose" in said
    assert "stackproof_bundle" in said
    assert cloud.requests == []


def test_check_mode_writes_nothing(call, cloud, tmp_path):
    result = call(module, check=True, cloud="small", diagnoses=str(tmp_path / "d"), server_id="x")
    assert (result["changed"], (tmp_path / "d").exists()) == (True, False)
    assert cloud.requests == []
