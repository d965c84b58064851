# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded cluster, the images of an instance in it, and images that are not there."""

from __future__ import annotations

import json

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import ceph
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import to_json
from recorded_hosts import printed

ROOT = "8585247f-547f-46d6-8c03-334064b2be45_disk"
VOLUME = "volume-c08c8d35-6222-4d44-9ae8-9b014b0ac62b"
IMAGE = "c3510181-0439-45e7-9bf9-3834d50ac9cb"
FEATURES = ["layering", "exclusive-lock", "object-map", "fast-diff", "deep-flatten"]
INFOS = [json.loads(printed("storage1", f"info {image}")) for image in (f"vms/{ROOT}", f"volumes/{VOLUME}")]
GROUPS = [json.loads(printed("storage1", f"osd map {pool}"))["pgid"] for pool in ("vms", "volumes")]
IMAGES = [
    {
        "pool": "vms",
        "name": ROOT,
        "exists": True,
        "size": 1073741824,
        "features": FEATURES,
        "created": INFOS[0]["create_timestamp"],
        "parent": f"images/{IMAGE}@snap",
        "watchers": ["10.71.16.15"],
        "snapshots": [],
        "header": {"object": "rbd_header.241ad7f09e7f", "pg": GROUPS[0], "acting": [0]},
    },
    {
        "pool": "volumes",
        "name": VOLUME,
        "exists": True,
        "size": 1073741824,
        "features": FEATURES,
        "created": INFOS[1]["create_timestamp"],
        "parent": None,
        "watchers": ["10.71.16.15"],
        "snapshots": [],
        "header": {"object": "rbd_header.23c692f5aeb6", "pg": GROUPS[1], "acting": [0]},
    },
]
NOTHING = {"user": None, "health": None, "osds": None, "images": None, "origin": None}
# As ceph health --format json shows them: a muted check stays in the list.
CHECKS = {
    "OSD_DOWN": {"severity": "HEALTH_WARN", "summary": {"message": "1 osds down", "count": 1}, "muted": False},
    "POOL_NO_REDUNDANCY": {"severity": "HEALTH_WARN", "summary": {"message": "3 pools", "count": 3}, "muted": True},
}


@pytest.fixture
def read(replay):
    """Return a function that reads two images, and says what could not be read."""

    def of(name="storage1", instead=None, images=(("vms", ROOT), ("volumes", VOLUME)), users=None, origin=None):
        host = replay(name, instead)
        return to_json(ceph.read(host, images, users or ceph.USERS, origin)), host.unread

    return of


def test_recorded_images_are_read_wholly(read):
    health = {"status": "HEALTH_OK", "checks": {}}
    assert read() == ({"user": "admin", "health": health, "osds": {"0": True}, "images": IMAGES, "origin": None}, [])


def test_the_image_of_glance_is_there_with_its_snapshot(read):
    facts, unread = read(origin=("images", IMAGE))
    assert (facts["origin"], unread) == ({"pool": "images", "name": IMAGE, "exists": True, "snapshots": ["snap"]}, [])


def test_an_image_of_glance_that_is_gone(read):
    absent = (2, "", f"rbd: error opening image {IMAGE}: (2) No such file or directory")
    facts, unread = read(origin=("images", IMAGE), instead={f"info images/{IMAGE}": absent})
    assert (facts["origin"]["exists"], facts["origin"]["snapshots"], unread) == (False, [], [])


def test_without_images_the_health_and_the_osds_are_asked_for(read):
    facts, unread = read(images=())
    assert (facts["osds"], facts["images"], unread) == ({"0": True}, [], [])
    assert facts["health"]["status"] == "HEALTH_OK"


def test_the_first_user_with_a_keyring_is_taken(replay):
    host = replay("storage1")
    assert ceph.user_of(host, ["nova", "glance", "admin"]) == "glance"


def test_a_host_without_a_keyring_of_these_users_says_whose_it_has(read):
    facts, (unread,) = read("storage1-odd", users=["nobody", "nova"])
    assert facts == NOTHING
    assert unread.reason.endswith("no keyring of nobody, nova lies there, but of admin, cinder, glance")


def test_a_host_without_any_keyring_has_no_user(read):
    assert read("network1-odd") == (NOTHING, [])


def test_a_host_without_the_folder_of_ceph_has_no_user(read):
    absent = (2, "", "ls: cannot access '/etc/ceph': No such file or directory")
    facts, unread = read(instead={"ls /etc/ceph": absent})
    assert (facts["user"], unread) == (None, [])


def test_a_folder_that_sudo_does_not_open_is_said(read):
    facts, (unread,) = read("refused")
    assert (facts["images"], unread.what, unread.kind) == (None, "the keyrings of Ceph", "refused")


def test_muted_checks_are_no_matter(read):
    answer = json.dumps({"status": "HEALTH_WARN", "checks": CHECKS, "mutes": []})
    facts, _unread = read(instead={"--id admin health": answer})
    assert facts["health"] == {"status": "HEALTH_WARN", "checks": {"OSD_DOWN": "1 osds down"}}


def test_an_osd_that_is_down_is_told(read):
    osds = [{"osd": 0, "up": 1, "in": 1}, {"osd": 7, "up": 0, "in": 1}, {"osd": 8, "up": 0, "in": 0}]
    facts, _unread = read(instead={"osd dump": json.dumps({"osds": osds})})
    assert facts["osds"] == {"0": True, "7": False}  # the last waits for a new disk, and holds nothing


@pytest.mark.parametrize(("pool", "name"), [("vms", "nope"), ("nopool", "nope")])
def test_an_image_or_a_pool_that_is_not_there_is_no_failure(replay, pool, name):
    host = replay("storage1-odd")
    assert to_json(ceph.image_of(host, "admin", pool, name)) == {"pool": pool, "name": name, "exists": False}
    assert host.unread == []


def test_an_image_that_nobody_may_ask_for_does_not_seem_to_be_gone(replay):
    host = replay("storage1-odd")
    assert to_json(ceph.image_of(host, "nobody", "vms", ROOT)) == {"pool": "vms", "name": ROOT, "exists": None}
    (unread,) = host.unread
    assert (unread.what, unread.kind) == (f"the image vms/{ROOT}", "failed")
    assert "unable to find a keyring" in unread.reason


def test_a_recorded_image_has_a_snapshot_and_no_watchers(replay):
    host = replay("storage1-odd")
    image = to_json(ceph.image_of(host, "admin", "images", IMAGE))
    assert (image["snapshots"], image["watchers"], image["parent"]) == (["snap"], [], None)
    assert host.unread == []


def test_what_cannot_be_read_of_an_image_is_none_and_named(read):
    refused = (13, "", "rbd: Permission denied")
    instead = {
        f"status vms/{ROOT}": refused,
        f"snap ls vms/{ROOT}": "[",
        "osd map vms": '{"pgid": "1.0"}',
        f"info volumes/{VOLUME}": refused,
    }
    facts, unread = read(instead=instead)
    root, volume = facts["images"]
    assert root == {**IMAGES[0], "watchers": None, "snapshots": None, "header": None}
    assert volume == {"pool": "volumes", "name": VOLUME, "exists": None}
    assert [(entry.what, entry.kind) for entry in unread] == [
        (f"the watchers of vms/{ROOT}", "failed"),
        (f"the snapshots of vms/{ROOT}", "strange"),
        (f"the place of vms/{ROOT}", "strange"),
        (f"the image volumes/{VOLUME}", "failed"),
    ]


def test_health_and_osds_that_cannot_be_read_are_none_and_named(read):
    facts, unread = read(instead={"health": "HEALTH_OK", "osd dump": (1, "", "Error EACCES: access denied")})
    assert (facts["health"], facts["osds"], facts["images"]) == (None, None, IMAGES)
    assert [(entry.what, entry.kind) for entry in unread] == [
        ("the health of Ceph", "strange"),
        ("the OSDs", "failed"),
    ]


@pytest.mark.parametrize(
    "answer",
    [
        {"watchers": [{"address": "[fd00::15]:0/123"}, {"address": "10.0.0.2:0/9"}]},
        {"watchers": {"watcher": {"address": "[fd00::15]:0/123"}, "other": {"address": "10.0.0.2:0/9"}}},
    ],
    ids=["a list", "as older ones say"],
)
def test_watchers_are_addresses_without_port(replay, answer):
    host = replay(None, {"id -u": "0", "rbd": json.dumps(answer)})
    assert to_json(ceph.watchers_of(host, "admin", "vms", "x")) == ["fd00::15", "10.0.0.2"]
