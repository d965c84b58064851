# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The second stage: an image that is there, or a file that is uploaded and compared."""

from __future__ import annotations

import hashlib
import io
import time
from types import SimpleNamespace

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError
from ansible_collections.stackproof.provision.plugins.modules import image as module

pytestmark = pytest.mark.usefixtures("cloud", "hurry")


def an_image(**fields):
    usual = {"id": "1", "name": "a", "disk_format": "raw", "size": 10, "visibility": "public", "owner_id": "theirs"}
    return SimpleNamespace(**{**usual, **fields})


@pytest.mark.parametrize(
    ("images", "chosen"),
    [
        ([an_image(id="1", size=30), an_image(id="2", size=20)], "2"),
        ([an_image(id="1", name="b"), an_image(id="2", name="a")], "2"),
        ([an_image(id="2"), an_image(id="1")], "1"),
        ([an_image(id="2"), an_image(id="1", name=None)], "1"),
        ([an_image(id="1", disk_format="aki", size=1), an_image(id="2")], "2"),
        ([an_image(id="1", disk_format="iso", size=1), an_image(id="2")], "2"),
        ([an_image(id="1", disk_format=None, size=1), an_image(id="2")], "2"),
        ([an_image(id="1", size=0), an_image(id="3", size=None), an_image(id="2")], "2"),
        ([an_image(id="1", size=1, name="stackproof-run-2-image"), an_image(id="2")], "2"),
        # As an administrator sees them
        ([an_image(id="1", size=1, visibility="private"), an_image(id="2")], "2"),
        ([an_image(id="1", size=1, visibility="shared"), an_image(id="2")], "2"),
        ([an_image(id="1", size=1, visibility="private", owner_id="ours"), an_image(id="2")], "1"),
        ([an_image(id="1", size=1, visibility=None, owner_id=None), an_image(id="2")], "1"),
    ],
)
def test_the_smallest_image_that_can_be_booted_is_chosen(images, chosen):
    assert module.choose(images, "ours").id == chosen
    assert module.choose(images[::-1], "ours").id == chosen


@pytest.mark.parametrize("images", [[], [an_image(disk_format="ari")], [an_image(size=None)]])
def test_no_image_that_can_be_booted(images):
    with pytest.raises(StageError, match="no active image can be booted"):
        module.choose(images, "ours")


def test_an_image_is_chosen_and_described(go, cloud):
    result = go("image")
    assert result["changed"] is False
    record = result["record"]
    assert [(resource["kind"], resource["name"], resource["created"]) for resource in record["resources"]] == [
        ("image", "probe", False)
    ]
    assert record["details"]["chosen"] == "the smallest that can be booted"
    assert record["details"]["image"] == {
        "size": 25165824,
        "virtual_size": 25165824,
        "disk_format": "raw",
        "container_format": "bare",
        "min_disk": 0,
        "min_ram": 0,
        "sha512": cloud.all("images")[1]["os_hash_value"],
        "stores": ["ceph"],
    }


@pytest.mark.parametrize("by", ["name", "id"])
def test_an_image_is_named(go, cloud, by):
    wanted = cloud.all("images")[0]
    record = go("image", image=wanted[by])["record"]
    assert record["resources"][0]["id"] == wanted["id"]
    assert record["details"]["chosen"] == "named"


def test_an_image_that_is_not_there(error, cloud):
    failure = error("image", image="nope")
    names = ", ".join(sorted({image["name"] for image in cloud.all("images") if image["status"] == "active"}))
    message = f"the cloud has no image nope; it has {names}"
    assert (failure["kind"], failure["message"], failure["resource"]) == ("not_found", message, "nope")


def test_two_images_of_one_name(error, cloud):
    cloud.put("images", name="probe")
    failure = error("image", image="probe")
    assert (failure["kind"], failure["hint"]) == ("ambiguous", "Give the id instead of the name.")


def test_an_image_that_is_not_ready(error, cloud):
    cloud.all("images")[1]["status"] = "saving"
    failure = error("image", image="probe")
    assert failure["message"] == "the image probe is saving, not active"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "disk.qcow2"
    path.write_bytes(bytes(range(256)) * 9000)  # more than two chunks
    return path


def test_a_file_is_uploaded_and_compared(go, cloud, file, run):
    result = go("image", file=str(file), min_ram=64, properties={"hw_disk_bus": "virtio"})
    assert result["changed"] is True
    record = result["record"]
    (kind, body), *_others = cloud.bodies
    assert kind == "image"
    assert body == {
        "name": "stackproof-run-1-image",
        "disk_format": "qcow2",
        "container_format": "bare",
        "visibility": "private",
        "min_disk": 0,
        "min_ram": 64,
        "stackproof_run": "run-1",
        "hw_disk_bus": "virtio",
    }
    assert record["details"]["verified"] == ["size", "sha512"]
    assert record["details"]["image"]["sha512"] == hashlib.sha512(file.read_bytes()).hexdigest()
    assert record["details"]["image"]["size"] == file.stat().st_size
    assert record["resources"][0]["created"] is True
    assert record["waits"][0]["states"][-1]["state"] == "active"
    assert run.ledger.__class__(run.path("ledger.jsonl")).find("image", "stackproof-run-1-image")["event"] == "made"


@pytest.mark.parametrize(
    ("name", "options", "disk_format"),
    [
        ("a.img", {}, "raw"),
        ("a.QCOW2", {}, "qcow2"),
        ("a.vmdk", {}, "vmdk"),
        ("a", {}, "raw"),
        ("a.img", {"disk_format": "vdi"}, "vdi"),
    ],
)
def test_the_format_follows_from_the_name(go, cloud, tmp_path, name, options, disk_format):
    (tmp_path / name).write_bytes(b"x")
    go("image", file=str(tmp_path / name), **options)
    assert cloud.bodies[0][1]["disk_format"] == disk_format


def test_a_file_goes_into_a_chosen_store(go, cloud, file):
    record = go("image", file=str(file), store="rgw")["record"]
    sent = next(request for request in cloud.requests if request.method == "PUT")
    assert sent.headers["X-Image-Meta-Store"] == "rgw"
    assert record["details"]["stores_offered"] == ["ceph", "rgw"]


def test_a_store_that_is_not_there(error, cloud, file):
    failure = error("image", file=str(file), store="tape")
    assert failure["message"] == "the cloud has no image store tape; it has ceph, rgw"
    assert cloud.asked("POST", "/images") == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"size": 5}, "5 bytes instead of 2304000"),
        ({"os_hash_value": "0" * 128}, "sha512 0000000000000000... instead of "),
    ],
)
def test_an_image_that_is_not_the_file(error, cloud, file, change, words):
    def falsify(request):
        if request.method == "GET":
            for image in cloud.all("images"):
                if image["name"] == "stackproof-run-1-image":
                    image.update(change)

    cloud.watchers.append(falsify)
    failure = error("image", file=str(file))
    assert failure["kind"] == "conflict"
    assert f"the image stackproof-run-1-image differs from {file}: {words}" in failure["message"]


def test_an_image_that_dies_while_it_is_stored(error, cloud, file):
    cloud.watchers.append(
        lambda request: (
            [
                image.update(status="killed")
                for image in cloud.all("images")
                if image["name"] == "stackproof-run-1-image"
            ]
            if request.method == "GET"
            else None
        )
    )
    failure = error("image", file=str(file))
    assert failure["message"] == "the image stackproof-run-1-image became killed"


def test_an_upload_that_is_cut_off_is_not_repeated(error, cloud, file):
    cloud.trouble("PUT", "/file", "reset")
    assert error("image", file=str(file))["kind"] == "unreachable"
    assert len(cloud.asked("PUT")) == 1


def test_a_token_that_expires_before_the_upload_is_renewed(go, cloud, file):
    cloud.trouble("PUT", "/file", "glance unauthorized")
    began = time.monotonic()
    record = go("image", file=str(file), timeout=20)["record"]
    assert time.monotonic() - began < 10
    assert record["details"]["verified"] == ["size", "sha512"]


def test_a_file_that_is_not_there(error, cloud, tmp_path):
    failure = error("image", file=str(tmp_path / "none.img"))
    assert failure["kind"] == "invalid"
    assert "No such file" in failure["message"]
    assert cloud.asked("POST", "/images") == []


@pytest.mark.parametrize("path", ["/dev/zero", "/", "empty"])
def test_a_file_that_holds_no_image_is_refused(error, cloud, tmp_path, path):
    (tmp_path / "empty").write_bytes(b"")
    failure = error("image", file=str(tmp_path / path))
    assert failure["kind"] == "invalid"
    assert "stackproof_image_file cannot be" in failure["message"]
    assert cloud.asked("POST", "/images") == []


def test_check_mode_uploads_nothing(go, cloud, file):
    result = go("image", check=True, file=str(file), store="rgw")
    assert result.get("failed") is None
    assert cloud.bodies == []


def test_an_upload_can_be_sent_again():
    upload = module.Upload(io.BytesIO(b"0123456789"), 10, print)
    for _time in range(2):
        assert [upload.read(), upload.read()] == [b"0123456789", b""]
        assert upload.sha512 == hashlib.sha512(b"0123456789").hexdigest()


def test_an_upload_is_counted_and_summed_up():
    data, lines = b"0123456789" * 1000, []
    upload = module.Upload(io.BytesIO(data), len(data), lines.append)
    upload._last_report -= 1
    chunks = [upload.read(4000), upload.read(4000), upload.read(-1), upload.read(4000)]
    assert b"".join(chunks) == data
    assert (len(upload), upload.sha512) == (len(data), hashlib.sha512(data).hexdigest())
    assert lines == ["uploading: 0 of 0 MiB, 40 %"]


@pytest.mark.parametrize(
    ("size", "algorithm", "value", "differences"),
    [
        (10, "sha512", "ab", ""),
        (11, "sha512", "ab", "11 bytes instead of 10"),
        (10, "md5", "other", ""),
        (11, "sha512", "cd", "11 bytes instead of 10, sha512 cd... instead of ab..."),
    ],
)
def test_differences_are_put_into_words(size, algorithm, value, differences):
    image = SimpleNamespace(size=size, hash_algo=algorithm, hash_value=value)
    assert module.compare(image, 10, "ab") == differences


# The fields of an image that Glance itself has. Any other field of its answer is a further property of the image.
KNOWN = [
    "checksum", "container_format", "created_at", "disk_format", "file", "id", "min_disk", "min_ram", "name",
    "os_hash_algo", "os_hash_value", "os_hidden", "owner", "protected", "schema", "self", "size", "status", "tags",
    "updated_at", "virtual_size", "visibility",
]  # fmt: skip
NEEDED = ("id", "name", "status", "size", "disk_format")


@pytest.mark.parametrize("lacking", [None, *(field for field in KNOWN if field not in NEEDED)])
def test_an_image_without_further_properties_is_as_good(go, cloud, lacking):
    for image in cloud.all("images"):
        for field in [name for name in image if name not in KNOWN or name == lacking]:
            del image[field]
    result = go("image")
    assert result.get("failed") is None, result["msg"]
    details = result["record"]["details"]["image"]
    assert (details["stores"], details["min_disk"]) == ([], 0)
