# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fourth stage: a volume that becomes available, or says why not."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.usefixtures("cloud", "hurry")


def test_an_empty_volume_is_made_and_awaited(go, cloud):
    cloud.states["volumes"] = ["creating", "available"]
    result = go("volume", size=2)
    assert result["changed"] is True
    record = result["record"]
    assert [body for _word, body in cloud.bodies] == [
        {
            "name": "stackproof-run-1-volume",
            "size": 2,
            "description": "stackproof-run-1",
            "metadata": {"stackproof_run": "run-1"},
        }
    ]
    assert record["details"]["volume"] == {"size_gib": 2, "type": "ceph", "zone": "nova", "bootable": False}
    (wait,) = record["waits"]
    assert wait["awaited"] == "the volume stackproof-run-1-volume to be available"
    assert [state["state"] for state in wait["states"]] == ["creating", "available"]


def test_a_volume_of_the_image(go, cloud):
    go("image")
    go("volume", source="image")
    assert (
        cloud.bodies[0][1]["imageRef"] == next(image for image in cloud.all("images") if image["name"] == "probe")["id"]
    )


def test_a_volume_of_an_image_that_is_not_chosen_yet(error, cloud):
    failure = error("volume", source="image")
    assert (failure["kind"], failure["hint"]) == ("invalid", "Run the stage image first.")
    assert cloud.requests == []


def test_no_volume(go, cloud):
    record = go("volume", source="none")["record"]
    assert (record["status"], record["details"]) == ("skipped", {"reason": "no volume is asked for"})
    assert cloud.requests == []


def test_type_and_zone_may_be_chosen(go, cloud):
    cloud.put("types", name="ceph")
    go("volume", volume_type="ceph", availability_zone="az1")
    body = cloud.bodies[0][1]
    assert (body["volume_type"], body["availability_zone"]) == ("ceph", "az1")


def test_a_type_that_is_not_there(error, cloud):
    for name in ("__DEFAULT__", "ceph"):
        cloud.put("types", name=name)
    failure = error("volume", volume_type="nope")
    assert failure["message"] == "the cloud has no volume type nope; it has __DEFAULT__, ceph"
    assert cloud.bodies == []


def test_a_volume_that_fails_says_what_the_cloud_says(error, go, cloud):
    cloud.states["volumes"] = ["creating", "error"]
    failure = error("volume")
    assert failure["kind"] == "service"
    assert failure["message"] == "the volume stackproof-run-1-volume became error; the cloud answered: nothing more"
    assert f"Look for the id {cloud.all('volumes')[0]['id']}" in failure["hint"]
    assert go.record("volume")["waits"][0]["states"][-1]["state"] == "creating"


def test_the_clouds_messages_about_the_volume_are_told(error, cloud, monkeypatch):
    def messages(name):
        status, headers, text = recorded(name)
        if name == "cinder messages":
            volume = cloud.all("volumes")[0]["id"]
            failure = [
                {"resource_uuid": volume, "user_message": "schedule allocate volume:Could not find any available"},
                {"resource_uuid": "other", "user_message": "no matter of ours"},
            ]
            text = json.dumps({"messages": failure})
        return status, headers, text

    recorded = cloud.recorded
    monkeypatch.setattr(cloud, "recorded", messages)
    cloud.states["volumes"] = ["error"]
    failure = error("volume")
    assert failure["answer"] == "schedule allocate volume:Could not find any available"


@pytest.mark.parametrize("how", [404, 500, "reset"])
def test_a_cloud_without_messages_fails_with_its_state_all_the_same(error, cloud, how):
    cloud.states["volumes"] = ["error"]
    cloud.trouble("GET", "/messages", how, times=99)
    assert error("volume")["message"].endswith("became error; the cloud answered: nothing more")


def test_a_volume_that_never_comes_ends_with_the_stage(error, cloud):
    cloud.states["volumes"] = ["creating"]
    failure = error("volume", timeout=0.1)
    assert failure["kind"] == "deadline"
    assert "the last state was creating" in failure["message"]


def test_a_quota_that_is_used_up(error, cloud):
    cloud.trouble("POST", "/volumes", "cinder quota")
    failure = error("volume")
    assert (failure["kind"], failure["status"]) == ("quota", 413)
    assert "exceeds allowed gigabytes quota" in failure["answer"]


def test_a_volume_whose_answer_is_lost_is_made_once(go, cloud):
    cloud.trouble("POST", "/volumes", 503, effect=True)
    record = go("volume")["record"]
    assert record["details"]["found_without_answer"] == ["stackproof-run-1-volume"]
    assert len(cloud.all("volumes")) == 1


def test_check_mode_makes_nothing(go, cloud):
    result = go("volume", check=True)
    assert (result["changed"], cloud.bodies) == (True, [])
