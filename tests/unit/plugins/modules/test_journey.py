# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The eighth stage: operations on the first server, and the packets that the second guest misses meanwhile."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._act import console as console_module
from ansible_collections.stackproof.provision.plugins.module_utils._act import guest
from ansible_collections.stackproof.provision.plugins.module_utils._act import journey as journey_module
from ansible_collections.stackproof.provision.plugins.module_utils._act.journey import OPERATIONS
from ansible_collections.stackproof.provision.plugins.module_utils._act.options import OPERATIONS as NAMES
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import servers
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.failures import LOST_IMAGE
from ansible_collections.stackproof.provision.plugins.module_utils._model.details import ServerEvent
from ansible_collections.stackproof.provision.plugins.module_utils._model.stage import Resource
from hosts_by_hand import Cloud, down, host

pytestmark = pytest.mark.usefixtures("hurry")
ALL = list(OPERATIONS)
PROOF = 'stackproof-guest: {"uptime": 5.9, "metadata": "%s", "user_data": "%s"}'
GIVEN_UP = ServerEvent("compute_prep_resize", result="Error", error="not able to execute ssh")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(console_module, "CONSOLE_PERIOD", 0.01)


@pytest.fixture
def watcher(run, cloud):
    """A second guest with a sign of life at each look; a test may have it lose packets, or fall silent.

    Any other guest than the first two shows that it is proved.
    """
    nonces = guest.nonces(run.id, run.record.started)
    nonce = nonces.user_data
    state = {"signs": [], "lost": [], "silent": False}

    def console(server):
        if any(one["id"] == server and one["name"].endswith("-third-server") for one in cloud.all("servers")):
            return PROOF % (nonces.metadata, nonces.user_data)
        if not state["silent"]:
            state["signs"].append(state["lost"].pop(0) if state["lost"] else 0)
        line = 'stackproof-path: {"nonce": "%s", "guest": "second", "check": "watch", "at": 1.0, "lost": %d}'
        return "\n".join(line % (nonce, lost) for lost in state["signs"])

    cloud.console = console
    return state


@pytest.fixture
def two(earlier, run, cloud):
    """A run with two servers."""
    earlier("image", "network", "volume", "boot")
    (first,) = cloud.all("servers")
    second = cloud.put("servers", name=f"stackproof-{run.id}-second-server", status="ACTIVE")
    run.ledger.write("made", "second_server", second["name"], id=second["id"])
    boot = run.record.stage("boot")
    made = Resource(kind="second_server", id=second["id"], name=second["name"], created=True)
    run.put_stage(dataclasses.replace(boot, resources=(*boot.resources, made)))
    cloud.put("flavors", id="larger", name="larger", ram=256, vcpus=1, disk=1)
    (volume,) = cloud.all("volumes")
    volume["status"] = "in-use"
    return first


def was_requested(cloud, action):
    return any(action in (request.body or {}) for request in cloud.requests)


@pytest.fixture
def operator(cloud, two):
    """Who takes the host of the first server down when asked for it, and back into service once the server has left."""
    for server in cloud.all("servers"):
        server["OS-EXT-SRV-ATTR:host"] = "compute1" if server is two else "compute2"
    cloud.hosts = Cloud([host("compute1")])
    at_work = {"down": True, "back": True}

    def act(request):
        if not request.path.endswith("/os-services"):
            return
        has_left = two["hostId"] == "another"
        is_down = at_work["down"] and not (has_left and at_work["back"])
        cloud.hosts = Cloud([down(host("compute1")) if is_down else host("compute1")])

    cloud.watchers.append(act)
    return at_work


def test_every_operation_that_may_be_asked_for_is_there():
    assert ALL == NAMES


@pytest.mark.usefixtures("two", "watcher", "operator")
@pytest.mark.parametrize("operation", ALL)
def test_an_operation_leaves_the_server_as_it_should_be(go, cloud, operation):
    record = go("journey", journey=[operation], evacuate_from="compute1")["record"]
    assert record["status"] == "ok", record["error"]
    (leg,) = record["details"]["legs"]
    assert (leg["operation"], leg["status"], leg["lost"]) == (operation, "ok", 0)
    assert leg["moved"] is (operation in ("resize", "resize_revert", "migrate", "live_migrate", "evacuate"))
    assert {server["status"] for server in cloud.all("servers")} == {"ACTIVE"}


@pytest.mark.usefixtures("two", "watcher")
@pytest.mark.parametrize(
    ("operation", "actions"),
    [
        ("live_migrate", ["live-migration"]),
        ("resize_revert", ["resize", "revertResize"]),
        ("stop", ["stop", "start"]),
        ("extend_volume", ["extend_volume"]),
        ("reattach_volume", ["detach_volume", "attach_volume"]),
    ],
)
def test_what_was_requested_is_kept_as_nova_calls_it(go, operation, actions):
    (leg,) = go("journey", journey=[operation])["record"]["details"]["legs"]
    assert [action["action"] for action in leg.get("actions", [])] == actions
    assert leg["started"].endswith("+00:00")


@pytest.mark.usefixtures("two")
def test_lost_packets_are_an_outage(go, watcher):
    watcher["lost"] = [0, 0, 7, 3]
    (leg,) = go("journey", journey=["pause"])["record"]["details"]["legs"]
    assert (leg["lost"], leg["outage_s"]) == (10, 2.0)


@pytest.mark.usefixtures("two", "watcher")
def test_operations_are_done_in_their_order(go):
    legs = go("journey", journey=["stop", "resize", "resize"])["record"]["details"]["legs"]
    assert [leg["operation"] for leg in legs] == ["stop", "resize", "resize"]


@pytest.mark.usefixtures("two", "watcher")
@pytest.mark.parametrize(
    ("missing", "kind", "words"),
    [
        ("down", "not_down", "compute1 is still up, so nothing is evacuated from there"),
        ("back", "not_back", "the server was evacuated, but compute1 is not back, and may still have its domain"),
    ],
)
def test_without_its_operator_an_evacuation_fails_in_time(error, cloud, operator, missing, kind, words):
    operator[missing] = False
    failure = error("journey", journey=["evacuate"], evacuate_from="compute1", timeout=3)
    assert (failure["kind"], failure["message"]) == (kind, words)
    assert was_requested(cloud, "evacuate") is (missing == "back")


@pytest.mark.usefixtures("two", "watcher", "operator")
@pytest.mark.parametrize(
    ("named", "kind"),
    [("compute2", "invalid"), (None, "invalid")],
)
def test_no_other_host_is_evacuated_than_the_one_that_was_named(error, cloud, named, kind):
    failure = error("journey", journey=["evacuate"], **({"evacuate_from": named} if named else {}))
    assert failure["kind"] == kind
    assert not cloud.asked("GET", "/os-services")


@pytest.mark.usefixtures("two", "watcher", "operator")
def test_a_host_that_has_the_second_guest_is_not_evacuated(error, cloud):
    for server in cloud.all("servers"):
        server["OS-EXT-SRV-ATTR:host"] = "compute1"
    failure = error("journey", journey=["evacuate"], evacuate_from="compute1")
    assert failure["message"].startswith("the second guest is on compute1, too")
    assert not cloud.asked("GET", "/os-services")


@pytest.mark.usefixtures("two", "watcher")
def test_a_run_makes_one_image_of_its_server(error):
    failure = error("journey", journey=["snapshot", "boot_snapshot"])
    assert failure["message"] == "a run makes one image of its server, and it has made it"


@pytest.mark.usefixtures("watcher", "operator")
def test_a_host_that_is_no_compute_host_is_not_waited_for(error, two):
    two["OS-EXT-SRV-ATTR:host"] = "compute9"
    failure = error("journey", journey=["evacuate"], evacuate_from="compute9")
    assert (failure["kind"], failure["message"]) == ("not_found", "compute9 has no nova-compute that reports to Nova")


@pytest.mark.usefixtures("two", "watcher")
def test_the_waits_for_an_operator_are_no_time_of_the_operation(go, operator, monkeypatch):
    assert operator["down"]
    monkeypatch.setattr(journey_module, "Stopwatch", lambda: SimpleNamespace(seconds=lambda: 1000.0))
    (leg,) = go("journey", journey=["evacuate"], evacuate_from="compute1")["record"]["details"]["legs"]
    assert leg["seconds"] < -1900


@pytest.mark.usefixtures("two", "watcher")
def test_a_third_guest_boots_from_the_snapshot(go, cloud):
    record = go("journey", journey=["boot_snapshot"])["record"]
    kinds = [resource["kind"] for resource in record["resources"]]
    assert kinds == ["snapshot", "third_server"]
    image = next(one["id"] for one in cloud.all("images") if one["name"].endswith("-snapshot"))
    assert cloud.bodies[-1][1]["imageRef"] == image


@pytest.mark.usefixtures("two", "watcher")
def test_the_request_of_a_boot_is_that_of_its_operation_alone(go):
    details = go("journey", journey=["boot_snapshot", "pause"])["record"]["details"]
    assert details["request_id"] == details["legs"][-1]["request_id"]


@pytest.mark.usefixtures("two", "watcher")
def test_a_third_guest_that_shows_nothing_fails_as_the_first_one_would(error, go, cloud):
    shown = cloud.console
    known = {server["id"] for server in cloud.all("servers")}
    cloud.console = lambda server: shown(server) if server in known else "login:"
    failure = error("journey", journey=["boot_snapshot"], timeout=2)
    details = go.record("journey")["details"]
    assert details["request_id"] not in {action["request_id"] for action in details["legs"][0]["actions"]}
    assert failure["message"].startswith("the server stackproof-run-1-third-server: ")
    assert failure["kind"] in ("no_proof", "no_lease", "no_metadata", "no_console")


@pytest.mark.usefixtures("watcher")
def test_no_image_is_made_of_a_server_whose_disk_is_a_volume(error, cloud, two):
    two["image"] = ""
    assert error("journey", journey=["boot_snapshot"])["kind"] == "invalid"
    assert not was_requested(cloud, "createImage")


@pytest.mark.usefixtures("watcher")
def test_a_server_in_error_fails_with_the_words_of_the_cloud(error, go, cloud, two):
    cloud.after_action["reboot"] = [{"status": "ERROR", "fault": {"message": "no more ports"}}]
    failure = error("journey", journey=["reboot", "pause"])
    assert failure["kind"] == "operation_failed"
    assert failure["message"].endswith("became ERROR; the cloud answered: no more ports")
    (leg,) = go.record("journey")["details"]["legs"]
    assert (leg["operation"], leg["status"]) == ("reboot", "failed")
    assert two["status"] == "ERROR"


@pytest.mark.usefixtures("two", "watcher")
@pytest.mark.parametrize("status", LOST_IMAGE)
def test_a_snapshot_that_is_lost_fails_as_an_image_does(error, cloud, status):
    def lose(request):
        if request.method == "GET" and "/images/" in request.path:
            cloud.things["/image/v2/images"][request.path.split("/")[-1]].update(status=status)

    cloud.watchers.append(lose)
    failure = error("journey", journey=["snapshot"])
    assert (failure["kind"], failure["message"]) == ("service", f"the image stackproof-run-1-snapshot became {status}")


@pytest.mark.usefixtures("two", "watcher")
def test_a_server_that_stays_on_its_host_has_not_been_moved(error, cloud):
    cloud.after_action["os-migrateLive"] = [{"status": "ACTIVE"}]
    assert error("journey", journey=["live_migrate"])["kind"] == "not_moved"


@pytest.mark.usefixtures("two", "watcher")
def test_an_action_that_nova_gave_up_fails_at_once(error, go, cloud, monkeypatch):
    preparing = {"status": "ACTIVE", "OS-EXT-STS:task_state": "resize_prep"}
    cloud.after_action["resize"] = [preparing, {"status": "ACTIVE"}]
    events = (ServerEvent("cold_migrate", result="Error"), GIVEN_UP)
    monkeypatch.setattr(servers, "events_of", lambda *_request: events)
    failure = error("journey", journey=["resize"])
    assert failure["kind"] == "operation_failed"
    expected = "is ACTIVE again, as compute_prep_resize failed; the cloud answered: not able to execute ssh"
    assert expected in failure["message"].replace(", running", "")
    (leg,) = go.record("journey")["details"]["legs"]
    assert leg["failed"] == {"event": "compute_prep_resize", "result": "Error", "error": "not able to execute ssh"}


@pytest.mark.usefixtures("two", "watcher")
@pytest.mark.parametrize(("events", "words"), [((GIVEN_UP,), "not able to execute ssh"), ((), "no fault is given")])
def test_a_server_in_error_without_a_fault_has_the_reason_of_its_event(error, cloud, monkeypatch, events, words):
    cloud.after_action["reboot"] = [{"status": "ERROR"}]
    monkeypatch.setattr(servers, "events_of", lambda *_request: events)
    assert error("journey", journey=["reboot"])["answer"] == words


@pytest.mark.usefixtures("two", "watcher")
@pytest.mark.parametrize("operation", ["reboot", "hard_reboot"])
def test_a_reboot_that_nova_gave_up_is_none(error, cloud, monkeypatch, operation):
    cloud.after_action["reboot"] = [{"status": "ACTIVE"}]
    monkeypatch.setattr(servers, "events_of", lambda *_request: (GIVEN_UP,))
    failure = error("journey", journey=[operation])
    assert (failure["kind"], failure["answer"]) == ("operation_failed", "not able to execute ssh")


@pytest.mark.usefixtures("two")
def test_a_guest_that_does_not_answer_fails(error, watcher, monkeypatch):
    monkeypatch.setitem(OPERATIONS, "pause", lambda _server: watcher.update(silent=True))
    failure = error("journey", journey=["pause"], timeout=2)
    assert failure["kind"] == "no_answer"


@pytest.mark.usefixtures("two", "watcher")
def test_without_another_flavor_there_is_no_resize(error, cloud):
    for flavor in cloud.all("flavors"):
        flavor.update(ram=1)
    assert error("journey", journey=["resize"])["kind"] == "not_found"


@pytest.mark.usefixtures("two", "watcher")
def test_a_volume_is_larger_afterwards(go, cloud):
    (volume,) = cloud.all("volumes")
    go("journey", journey=["extend_volume", "reattach_volume"])
    assert (volume["size"], volume["status"]) == (2, "in-use")


@pytest.mark.usefixtures("watcher")
def test_nova_may_forget_a_volume_later_than_cinder_has_it_back(go, cloud, two):
    (volume,) = cloud.all("volumes")
    two["os-extended-volumes:volumes_attached"] = [{"id": volume["id"]}]
    looks = []

    def forget(request):
        if cloud.asked("DELETE", "/os-volume_attachments/") and request.path.endswith(two["id"]):
            looks.append(request)
        if len(looks) == 3:
            two["os-extended-volumes:volumes_attached"] = []

    cloud.watchers.append(forget)
    assert go("journey", journey=["reattach_volume"])["record"]["status"] == "ok"
    assert len(cloud.asked("POST", "/os-volume_attachments")) == 1


@pytest.mark.usefixtures("two", "watcher")
def test_a_volume_that_keeps_its_size_fails(error, cloud):
    (volume,) = cloud.all("volumes")
    cloud.watchers.append(lambda _request: volume.update(size=1))
    failure = error("journey", journey=["extend_volume"])
    assert failure["message"] == f"the volume {volume['name']} has 1 GB after its extension, not 2"


@pytest.mark.usefixtures("two", "watcher")
@pytest.mark.parametrize("operation", ["extend_volume", "reattach_volume"])
def test_a_volume_in_error_fails(error, cloud, operation):
    (volume,) = cloud.all("volumes")

    def spoil(request):
        if "os-extend" in (request.body or {}) or "/os-volume_attachments" in request.path:
            volume["_states"] = [{"status": "error_extending"}]

    cloud.watchers.append(spoil)
    failure = error("journey", journey=[operation])
    assert failure["message"].startswith(f"the volume {volume['name']} is error_extending, not ")


@pytest.mark.usefixtures("two", "watcher")
def test_without_a_volume_none_is_extended(error, run):
    stage = run.record.stage("volume")
    run.put_stage(dataclasses.replace(stage, resources=()))
    assert error("journey", journey=["extend_volume"])["message"] == "the run has no volume"


def test_it_needs_two_guests(error, earlier):
    earlier("image", "network", "volume", "boot")
    assert error("journey", journey=["pause"])["kind"] == "invalid"


def test_without_operations_it_is_skipped(go, cloud):
    assert go("journey")["record"]["status"] == "skipped"
    assert cloud.requests == []
