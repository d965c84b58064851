# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fifth stage: the request for a server, and what is told while it is built."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._act import booting, guest
from ansible_collections.stackproof.provision.plugins.module_utils._act.stage import Stage
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import servers
from ansible_collections.stackproof.provision.plugins.module_utils._collect.recorders import osprofiler
from ansible_collections.stackproof.provision.plugins.module_utils._model.details import BootDetails, Image
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import StageName
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import HINTS, StageError
from ansible_collections.stackproof.provision.plugins.module_utils._record.run import Run
from ansible_collections.stackproof.provision.plugins.modules import boot as module

pytestmark = pytest.mark.usefixtures("cloud", "hurry")
NAME = "stackproof-run-1-server"
GIB = 1 << 30


def a_flavor(name, ram=512, disk=1, vcpus=1):
    return SimpleNamespace(name=name, ram=ram, disk=disk, vcpus=vcpus)


def an_image(**facts):
    unknown = Image(
        size=None,
        virtual_size=None,
        disk_format="raw",
        container_format="bare",
        min_disk=0,
        min_ram=0,
        sha512=None,
        stores=(),
    )
    return replace(unknown, **facts)


@pytest.mark.parametrize(
    ("flavors", "image", "chosen"),
    [
        ([a_flavor("b"), a_flavor("a")], {}, "a"),
        ([a_flavor("a", ram=1024), a_flavor("b")], {}, "b"),
        ([a_flavor("a", vcpus=2), a_flavor("b")], {}, "b"),
        ([a_flavor("a", disk=2), a_flavor("b")], {}, "b"),
        ([a_flavor("a"), a_flavor("b", ram=1024)], {"min_ram": 600}, "b"),
        ([a_flavor("a"), a_flavor("b", disk=5)], {"min_disk": 3}, "b"),
        ([a_flavor("a"), a_flavor("b", disk=5)], {"virtual_size": GIB + 1}, "b"),
        ([a_flavor("a"), a_flavor("b", disk=5)], {"virtual_size": GIB}, "a"),
        ([a_flavor("a"), a_flavor("b", disk=5)], {"virtual_size": None, "size": 2 * GIB}, "b"),
        ([a_flavor("a", disk=0), a_flavor("b", disk=5)], {"virtual_size": 3 * GIB}, "b"),
        ([a_flavor("a", disk=0), a_flavor("b", disk=1)], {"virtual_size": 3 * GIB}, "a"),
        ([a_flavor("a")], {"virtual_size": None, "size": None, "min_disk": 0, "min_ram": 0}, "a"),
    ],
)
def test_the_smallest_flavor_that_fits_is_chosen(flavors, image, chosen):
    assert module.choose_flavor(flavors, an_image(**image)).name == chosen
    assert module.choose_flavor(flavors[::-1], an_image(**image)).name == chosen


def test_a_flavor_for_an_image_of_unknown_needs_is_the_smallest():
    assert module.choose_flavor([a_flavor("b", ram=1024), a_flavor("a")], None).name == "a"


def test_no_flavor_that_fits():
    with pytest.raises(StageError, match="no flavor has 4096 MB of memory and 10 GB of disk, as the image needs"):
        module.choose_flavor([a_flavor("a")], an_image(min_ram=4096, min_disk=10))


@pytest.fixture
def body(go):
    """Return a function that builds the request after the earlier stages with these options."""

    def build(volume="empty", port="nova", network=None, **options):
        go("image")
        go("network", port=port, network=network)
        go("volume", source=volume)
        run = Run(build.directory)
        params = {"attach": "at_boot", "availability_zone": None, "host": None, "dataplane": False, **options}
        stage = Stage(StageName.BOOT, run, {"timeout": 9, **params}, BootDetails())
        return module.server_body(stage, SimpleNamespace(id="flavor-1"), NAME), run

    return build


@pytest.fixture(autouse=True)
def directory(body, run):
    body.directory = run.directory


def test_the_request_carries_the_run_and_its_nonces(body):
    request, run = body()
    nonces = guest.nonces(run.id, run.record.started)
    assert (request["name"], request["flavorRef"]) == (NAME, "flavor-1")
    assert request["metadata"] == {"stackproof_run": "run-1", "stackproof_nonce": nonces.metadata}
    assert base64.b64decode(request["user_data"]).decode() == guest.user_data(nonces.user_data)
    assert request["networks"] == [{"uuid": run.resource("network").id}]
    assert request["security_groups"] == [{"name": run.resource("security_group").id}]
    assert "availability_zone" not in request
    assert "host" not in request


def disks(request):
    return [
        (disk["source_type"], disk["destination_type"], disk["boot_index"], disk["delete_on_termination"])
        for disk in request.get("block_device_mapping_v2", [])
    ]


def test_a_volume_comes_at_the_boot_beside_the_image(body):
    request, run = body()
    assert request["imageRef"] == run.resource("image").id
    assert disks(request) == [("image", "local", 0, True), ("volume", "volume", -1, False)]
    assert [disk["uuid"] for disk in request["block_device_mapping_v2"]] == [
        run.resource("image").id,
        run.resource("volume").id,
    ]


def test_a_volume_comes_after_the_boot(body):
    request, run = body(attach="after")
    assert request["imageRef"] == run.resource("image").id
    assert disks(request) == []


def test_a_server_boots_from_its_volume(body, cloud):
    cloud.states["volumes"] = [{"status": "available", "bootable": "true"}]
    request, run = body(volume="image", attach="root")
    assert "imageRef" not in request
    assert disks(request) == [("volume", "volume", 0, False)]
    assert request["block_device_mapping_v2"][0]["uuid"] == run.resource("volume").id


def test_a_server_does_not_boot_from_an_empty_volume(body):
    with pytest.raises(StageError, match="the volume stackproof-run-1-volume is empty"):
        body(attach="root")


@pytest.mark.parametrize("attach", ["at_boot", "after"])
def test_a_server_without_a_volume(body, attach):
    request, run = body(volume="none", attach=attach)
    assert request["imageRef"] == run.resource("image").id
    assert disks(request) == []


def test_a_port_brings_its_own_security_group(body):
    request, run = body(port="precreated")
    assert request["networks"] == [{"port": run.resource("port").id}]
    assert "security_groups" not in request


def test_a_network_without_port_security_is_asked_for_no_group(body, cloud):
    cloud.put("networks", name="lan", port_security_enabled=False)
    request, run = body(network="lan")
    assert request["networks"] == [{"uuid": run.resource("network").id}]
    assert "security_groups" not in request


def test_zone_and_host_are_asked_for(body):
    request, _run = body(availability_zone="az1", host="compute1")
    assert (request["availability_zone"], request["host"]) == ("az1", "compute1")


@pytest.mark.parametrize(
    ("stages", "words"),
    [([], "there is no image and no network yet"), (["image"], "there is no network yet")],
)
def test_a_boot_before_its_time(error, go, cloud, stages, words):
    for name in stages:
        go(name)
    failure = error("boot")
    assert (failure["kind"], failure["message"]) == ("invalid", words)
    assert cloud.asked("POST", "/servers") == []


@pytest.fixture
def ready(earlier):
    """The stages before the boot."""
    earlier("image", "network", "volume")


BUILD = [
    {"status": "BUILD", "OS-EXT-STS:task_state": "scheduling", "OS-EXT-STS:power_state": 0},
    {"status": "BUILD", "OS-EXT-STS:task_state": "spawning", "OS-EXT-STS:power_state": 0},
]
ACTIVE = {"status": "ACTIVE", "OS-EXT-STS:task_state": None, "OS-EXT-STS:power_state": 1}


@pytest.mark.usefixtures("ready")
def test_a_server_is_made_and_followed_until_it_is_active(go, cloud):
    cloud.states["servers"] = [*BUILD, ACTIVE]
    result = go("boot")
    assert result["changed"] is True
    record = result["record"]
    server = cloud.all("servers")[0]
    assert [(resource["kind"], resource["created"]) for resource in record["resources"]] == [
        ("flavor", False),
        ("server", True),
    ]
    assert [state["state"] for state in record["waits"][0]["states"]] == [
        "BUILD, scheduling, no state",
        "BUILD, spawning, no state",
        "ACTIVE, running",
    ]
    assert record["details"]["flavor"] == {"name": "probe", "ram": 128, "vcpus": 1, "disk": 1}
    assert record["details"]["server"]["id"] == server["id"]
    assert record["details"]["server"]["fixed_ips"] == ["192.168.222.44"]
    assert record["details"]["events"] == [
        {
            "event": "compute__do_build_and_run_instance",
            "start_time": "2026-11-21T06:53:58.000000",
            "finish_time": "2026-11-21T06:54:11.000000",
            "result": "Success",
            "host_id": "8b186bef33acc27603f0033368a0920db59cce124e3b5e5236167b70",
        }
    ]


@pytest.mark.usefixtures("ready")
def test_the_request_has_a_number_of_its_own_and_the_clouds(go, cloud):
    record = go("boot")["record"]
    post = next(
        request for request in cloud.requests if (request.method, request.path) == ("POST", "/compute/v2.1/servers")
    )
    assert post.headers["X-OpenStack-Request-ID"] == record["details"]["request_id"]
    (call,) = [call for call in record["calls"] if call["path"].endswith("/servers") and call["method"] == "POST"]
    assert cloud.asked("GET", f"/os-instance-actions/{call['request_id']}")


@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize("key", [None, "planted-key"])
def test_the_request_is_traced_where_there_is_a_key(go, cloud, key):
    result = go("boot", profiler_key=key)
    post = next(
        request for request in cloud.requests if (request.method, request.path) == ("POST", "/compute/v2.1/servers")
    )
    trace = result["record"]["details"].get("trace")
    signed = osprofiler.headers(key, trace) if key else {}
    assert {name: text for name, text in post.headers.items() if name.startswith("X-Trace-")} == signed
    assert "planted-key" not in str(go.record("boot"))


@pytest.mark.usefixtures("ready")
def test_a_server_that_fails_is_left_at_once_with_the_clouds_words(error, go, cloud):
    fault = {"code": 500, "created": "2026-11-21T06:54:11Z", "message": "No valid host was found."}
    cloud.states["servers"] = [BUILD[0], {"status": "ERROR", "fault": fault}]
    failure = error("boot")
    request = go.record("boot")["details"]["request_id"]
    assert (failure["kind"], failure["answer"], failure["request_id"]) == ("build_failed", fault["message"], request)
    assert (
        failure["message"] == f"the server {NAME} is in the state ERROR, the cloud answered: No valid host was found."
    )
    assert request in failure["hint"]
    assert failure["details"] == {"fault": fault}
    assert go.record("boot")["details"]["events"]


@pytest.mark.usefixtures("ready")
def test_a_server_that_fails_without_a_reason(error, cloud):
    cloud.states["servers"] = [{"status": "ERROR"}]
    assert error("boot")["answer"] == "no fault is given"


@pytest.mark.usefixtures("ready")
def test_a_server_that_is_never_active_ends_with_the_stage(error, go, cloud):
    cloud.states["servers"] = [BUILD[1]]
    failure = error("boot", timeout=0.1)
    assert failure["kind"] == "deadline"
    assert "the last state was BUILD, spawning, no state" in failure["message"]
    assert go.record("boot")["details"]["events"]
    assert go.record("boot")["waits"][0]["timed_out"] is True


@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize("how", [404, 403, 500])
def test_a_cloud_that_shows_no_events_boots_all_the_same(go, cloud, how):
    cloud.trouble("GET", "/os-instance-actions/", how, times=99)
    record = go("boot")["record"]
    assert (record["status"], record["details"]["events"]) == ("ok", [])


@pytest.fixture
def late_ends(cloud):
    """Nova's answer about the boot while its event has not ended, as a whole answer."""
    _status, headers, text = cloud.recorded("actions")
    answer = json.loads(text)
    for event in answer["instanceAction"]["events"]:
        event.update(finish_time=None, result=None)
    return 200, headers, answer


def ends_of(record):
    return [event.get("finish_time") for event in record["details"]["events"]]


@pytest.mark.usefixtures("ready", "hurry")
@pytest.mark.parametrize(("guest", "looks"), [("none", 1), ("none", 3), ("console", 1)])
def test_the_ends_of_events_are_waited_for_while_the_guest_boots(go, cloud, late_ends, guest, looks):
    cloud.trouble("GET", "/os-instance-actions/", late_ends, times=looks)
    assert ends_of(go("boot")["record"]) == [None]
    assert len(cloud.asked("GET", "/os-instance-actions/")) == 1
    # The guest shows nothing here: whoever waits for it fails.
    go("metadata", guest=guest, timeout=1)
    assert ends_of(go.record("boot")) == ["2026-11-21T06:54:11.000000"]
    assert len(cloud.asked("GET", "/os-instance-actions/")) == looks + 1


@pytest.mark.usefixtures("ready")
def test_the_events_stay_those_of_the_boot_after_other_requests(go, cloud, late_ends):
    cloud.trouble("GET", "/os-instance-actions/", late_ends)
    go("boot", attach="after")
    go("metadata", guest="none")
    assert len(cloud.asked("GET", "/os-instance-actions/")) == 2
    assert len(set(cloud.asked("GET", "/os-instance-actions/"))) == 1


@pytest.mark.usefixtures("ready")
def test_events_that_are_known_outlive_an_answer_without_them(go, cloud, late_ends):
    cloud.trouble("GET", "/os-instance-actions/", late_ends)
    cloud.trouble("GET", "/os-instance-actions/", 500, times=99)
    boot = go("boot")["record"]
    assert go("metadata", guest="none")["record"]["status"] == "skipped"
    assert go.record("boot")["details"] == boot["details"]


@pytest.mark.usefixtures("ready")
def test_events_that_have_ended_are_read_once(go, cloud):
    go("boot")
    go("metadata", guest="none")
    assert len(cloud.asked("GET", "/os-instance-actions/")) == 1


@pytest.mark.usefixtures("ready")
def test_a_server_that_fails_is_asked_for_the_ends_of_its_events(go, error, cloud, late_ends):
    cloud.trouble("GET", "/os-instance-actions/", late_ends, times=2)
    cloud.states["servers"] = [BUILD[0], {"status": "ERROR"}]
    error("boot")
    assert ends_of(go.record("boot")) == ["2026-11-21T06:54:11.000000"]


@pytest.mark.usefixtures("ready")
def test_a_server_whose_answer_is_lost_is_made_once(go, cloud):
    cloud.trouble("POST", "/servers$", "reset", effect=True)
    record = go("boot")["record"]
    assert record["details"]["found_without_answer"] == [NAME]
    assert len(cloud.all("servers")) == 1


@pytest.mark.usefixtures("ready")
def test_a_server_with_a_longer_name_is_not_taken_for_it(go, cloud):
    cloud.put("servers", name=f"{NAME}-2")
    cloud.trouble("POST", "/servers$", "reset")
    go("boot")
    assert sorted(server["name"] for server in cloud.all("servers")) == [NAME, f"{NAME}-2"]


@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize(
    ("host", "trouble", "hint"),
    [
        ("compute1", 403, booting.HOST_HINT),
        (None, 403, HINTS["forbidden"]),
        ("compute1", "nova quota instances", HINTS["quota"]),
    ],
)
def test_user_who_may_not_choose_the_host_learns_what_to_change(error, cloud, host, trouble, hint):
    cloud.trouble("POST", "/servers$", trouble)
    assert error("boot", host=host)["hint"] == hint


@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize(
    ("asked", "misplaced"),
    [
        ({"availability_zone": "az1"}, "has the zone az2, and az1 was asked for"),
        # Nova takes the host, whatever its zone is.
        ({"availability_zone": "nova:compute2"}, None),
        ({"host": "compute1"}, "has the host compute2, and compute1 was asked for"),
        ({"availability_zone": "az2", "host": "compute2"}, None),
    ],
)
def test_a_server_is_where_it_was_asked_for(go, cloud, asked, misplaced):
    place = {"OS-EXT-AZ:availability_zone": "az2", "OS-EXT-SRV-ATTR:host": "compute2"}
    cloud.states["servers"] = [{"status": "ACTIVE", **place}]
    failure = go("boot", **asked).get("error")
    assert (failure and failure["message"]) == (misplaced and f"the server {NAME} {misplaced}")
    assert (failure and failure["kind"]) == (misplaced and "misplaced")


@pytest.mark.usefixtures("ready")
def test_a_quota_that_is_used_up(error, cloud):
    cloud.trouble("POST", "/servers$", "nova quota instances")
    failure = error("boot")
    assert (failure["kind"], failure["status"]) == ("quota", 403)
    assert failure["answer"] == "Quota exceeded for instances: Requested 100, but already used 2 of 60 instances"


@pytest.mark.usefixtures("ready")
def test_a_flavor_is_named(go, cloud):
    cloud.put("flavors", name="m1.large", ram=8192)
    assert go("boot", flavor="m1.large")["record"]["details"]["flavor"]["ram"] == 8192


@pytest.mark.usefixtures("ready")
def test_a_flavor_that_is_not_there(error):
    failure = error("boot", flavor="nope")
    assert failure["message"] == "the cloud has no flavor nope; it has probe"


@pytest.mark.usefixtures("ready")
def test_a_volume_is_attached_after_the_boot(go, cloud):
    record = go("boot", attach="after")["record"]
    assert cloud.all("volumes")[0]["status"] == "in-use"
    assert [wait["awaited"] for wait in record["waits"]] == [
        f"the server {NAME} to be active",
        "the volume stackproof-run-1-volume to be in use",
    ]


@pytest.mark.usefixtures("ready")
def test_a_volume_that_is_not_attached(error, cloud):
    cloud.watchers.append(lambda _request: cloud.all("volumes")[0].update(status="available"))
    failure = error("boot", attach="after")
    assert failure["message"] == "the volume stackproof-run-1-volume is available, not attached"


def test_the_floating_ip_comes_to_the_servers_port(go, cloud):
    cloud.put("networks", name="public", **{"router:external": True})
    go("image")
    go("network", floating_ip=True)
    go("volume", source="none")
    record = go("boot")["record"]
    assert cloud.all("floatingips")[0]["port_id"] == record["details"]["server"]["ports"][0]


@pytest.mark.usefixtures("ready")
def test_check_mode_makes_nothing(go, cloud):
    before = len(cloud.bodies)
    result = go("boot", check=True)
    assert (result["changed"], len(cloud.bodies)) == (True, before)


@pytest.mark.parametrize(
    ("server", "text"),
    [
        ({"status": "ACTIVE", "OS-EXT-STS:power_state": 1}, "ACTIVE, running"),
        (
            {"status": "BUILD", "OS-EXT-STS:task_state": "networking", "OS-EXT-STS:power_state": 0},
            "BUILD, networking, no state",
        ),
        ({"status": "SHUTOFF", "OS-EXT-STS:power_state": 4}, "SHUTOFF, shut down"),
        ({"status": "ACTIVE", "OS-EXT-STS:power_state": 9}, "ACTIVE, power 9"),
    ],
)
def test_a_state_is_one_short_text(server, text):
    assert servers.state_of(server) == text
