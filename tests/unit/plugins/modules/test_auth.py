# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first stage: a token, and what it opens."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.credentials import kind_of
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.transport import NO_TLS
from ansible_collections.stackproof.provision.plugins.module_utils._record import run as run_module
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from ansible_collections.stackproof.provision.plugins.modules import auth as module

pytestmark = pytest.mark.usefixtures("cloud", "hurry")


def test_scope_services_versions_and_clock_are_recorded(go, cloud, run, nothing_secret, recorded_answer):
    result = go("auth")
    assert (result["changed"], result.get("failed")) == (False, None)
    assert result["record"] == go.record("auth")
    details = result["record"]["details"]
    token = json.loads(recorded_answer("token")["text"])["token"]
    assert (details["user"], details["project"], details["project_id"]) == ("lab", "lab", token["project"]["id"])
    assert details["roles"] == ["member", "reader"]
    assert details["token"] == "unknown"  # the cloud of these tests makes tokens of a kind of its own
    assert [
        (service["service"], service["version"], service["max_microversion"]) for service in details["services"]
    ] == [
        ("identity", "3.14", None),
        ("image", "2.17", None),
        ("network", "2.0", None),
        ("block-storage", "3.0", "3.71"),
        ("compute", "2.1", "2.100"),
    ]
    assert details["clock"]["consistent"]
    assert abs(details["clock"]["offset_s"]) <= details["clock"]["error_s"]
    nothing_secret(cloud, run.directory)
    assert not any(token in str(result) for token in cloud.tokens)


def test_the_requests_are_those_of_a_recorded_run(go, cloud):
    go("auth")
    assert [(call["method"], call["service"], call["status"]) for call in go.record("auth")["calls"]] == [
        ("GET", "identity", 200),
        ("POST", "identity", 201),
        ("GET", "image", 300),
        ("GET", "network", 401),
        ("GET", "network", 404),
        ("GET", "block-storage", 401),
        ("GET", "block-storage", 200),
        ("GET", "compute", 200),
    ]
    assert len(cloud.requests) == 8


def test_only_the_wanted_services_are_asked(go, cloud):
    go("auth", services=["identity", "compute"])
    assert {path.split("/")[1] for _method, path in cloud.asked()} == {"identity", "compute"}


def test_a_wrong_password(error, cloud, know_cloud, run, nothing_secret):
    entry = cloud.entry()
    entry["auth"]["password"] = cloud.password = "not-the-word"
    cloud.password = "the-word"
    know_cloud(small=entry)
    failure = error("auth")
    assert (failure["kind"], failure["status"]) == ("unauthorized", 401)
    assert failure["message"].startswith(
        "getting a token for small: the cloud answered (401): The request you have made"
    )
    cloud.password = "not-the-word"
    nothing_secret(cloud, run.directory)


def test_a_service_that_the_catalogue_lacks(error):
    failure = error("auth", services=["identity", "dns"])
    assert failure["kind"] == "catalog"
    assert failure["message"].startswith("the catalogue has no service dns; it has block-storage, compute, identity")


@pytest.mark.parametrize(
    ("lacking", "hint"),
    [("block-storage", "stackproof_volume=none"), ("compute", "openstack catalog list")],
)
def test_a_cloud_without_volumes_can_be_verified_without(lacking, hint):
    offered = {service: ["public"] for service in ("block-storage", "compute") if service != lacking}
    with pytest.raises(StageError) as raised:
        module.check_catalogue(Access(**offered), ["block-storage", "compute"], ["public"])
    assert hint in raised.value.failure.hint


@pytest.mark.parametrize(
    ("service", "place", "how"),
    [
        ("image", "/image", "reset"),
        ("network", "/network", 503),
        ("block-storage", "/volume", "cut"),
        ("compute", "/compute", "reset"),
        ("compute", "/compute", 500),
    ],
)
def test_a_service_that_does_not_answer_fails_this_stage(error, cloud, service, place, how):
    cloud.trouble("GET", place, how, times=99)
    failure = error("auth")
    assert (failure["kind"], failure["resource"]) == ("unreachable", service)
    assert failure["message"].startswith(f"the service {service} does not answer: ")


def test_a_service_that_speaks_no_tls_is_told_from_a_wrong_certificate(error, cloud, know_cloud):
    place = cloud.url.replace("http:", "https:")
    know_cloud(small={**cloud.entry(), "network_endpoint_override": f"{place}/network"})
    failure = error("auth")
    assert failure["kind"] == "unreachable"
    assert failure["message"] == f"the service network does not answer: {NO_TLS}"


def test_a_service_that_hangs_ends_with_the_stage(error, cloud):
    cloud.trouble("GET", "/compute", "hang", times=99)
    failure = error("auth", timeout=0.3)
    assert failure["message"] == "the service compute does not answer: ReadTimeout"


def test_an_unknown_cloud(error):
    failure = error("auth", cloud="nowhere")
    assert failure["kind"] == "config"
    assert failure["message"].startswith("the cloud nowhere cannot be used: ")


def test_a_second_call_asks_nobody_and_keeps_the_first_record(go, cloud):
    first = go("auth")
    cloud.requests.clear()
    again = go("auth")
    assert again["record"] == first["record"]
    assert cloud.requests == []


def test_a_failed_stage_stays_failed(error, go, cloud):
    cloud.trouble("POST", "/auth/tokens", "keystone unauthorized")
    first = error("auth")
    assert error("auth") == first
    assert go.record("auth")["status"] == "failed"


def test_check_mode_asks_and_writes_nothing(go, cloud, run):
    before = run.record
    result = go("auth", check=True)
    assert result["record"]["status"] == "ok"
    assert cloud.asked("POST") == [("POST", "/identity/v3/auth/tokens")]
    assert go.record("auth") is None
    assert run_module.Run(run.directory).record == before


def test_a_folder_that_is_no_run_is_said(go, tmp_path):
    result = go("auth", run_dir=str(tmp_path))
    assert result["failed"] is True
    assert "is not the directory of a run" in result["msg"]


def test_a_run_that_another_process_works_on_is_refused(go, run, cloud):
    with run.alone():
        result = go("auth")
    assert "another process works on the run run-1" in result["msg"]
    assert cloud.requests == []


class Access:
    """The catalogue of a token."""

    def __init__(self, **offered):
        self.service_catalog = self
        self.catalog = [
            {"type": name.replace("_", "-"), "endpoints": [{"interface": interface} for interface in interfaces]}
            for name, interfaces in offered.items()
        ]


@pytest.mark.parametrize(
    ("region", "offered"),
    [(None, ("compute", "placement")), ("north", ("compute",)), ("south", ("compute", "placement")), ("west", ())],
)
def test_the_catalogue_of_a_region_has_what_has_an_endpoint_there(region, offered):
    access = Access(compute=["public"], placement=["public"], dns=[])
    endpoints = {"compute": ["north", "south"], "placement": ["south"]}
    for entry in access.catalog:
        names = endpoints.get(entry["type"], [])
        entry["endpoints"] = [
            {"region": name, "interface": interface} for name in names for interface in ("public", "internal")
        ]
    assert module.offered_in(access, region) == offered


@pytest.mark.parametrize("interfaces", [["public"], ["internal", "admin"], []])
def test_a_service_that_only_some_find_is_not_in_the_catalogue(interfaces):
    access = Access(network=interfaces)
    assert module.offered_in(access, None) == ()


@pytest.mark.parametrize("name", ["block_storage", "volumev3", "block_store"])
def test_block_storage_has_several_names(name):
    module.check_catalogue(Access(**{name: ["public"]}), ["block-storage"], ["public"])


@pytest.mark.parametrize("name", ["block-storage", "volumev3", "block-store"])
def test_the_sdk_is_asked_for_block_storage_by_its_own_name(name):
    assert module.proxy_of(SimpleNamespace(block_storage="cinder"), name) == "cinder"


def test_a_service_that_the_sdk_does_not_know_is_said():
    with pytest.raises(StageError, match="the SDK does not know the service backup-of-mine"):
        module.proxy_of(SimpleNamespace(), "backup-of-mine")


def test_a_service_without_the_wanted_interface():
    with pytest.raises(StageError, match="the service compute has no internal endpoint; it has admin, public"):
        module.check_catalogue(Access(compute=["public", "admin"]), ["compute"], ["internal"])


def test_one_of_several_interfaces_is_enough():
    module.check_catalogue(Access(compute=["public"]), ["compute"], ["internal", "public"])


def test_an_empty_catalogue():
    with pytest.raises(StageError, match="the catalogue has no service compute; it has none"):
        module.check_catalogue(Access(), ["compute"], "public")


@pytest.mark.parametrize(
    ("token", "kind"),
    [("gAAAAABrAa0XzVEX", "fernet"), ("eyJhbGciOiJFUzI1NiJ9.e30.c2ln", "jws"), ("0123456789abcdef", "unknown")],
)
def test_how_a_token_is_made_shows_in_how_it_begins(token, kind):
    assert kind_of(token) == kind
