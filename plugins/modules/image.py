#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: image
short_description: 'Second stage of a run: finds or uploads the image'
version_added: 0.1.0
description:
  - Uses an image that the cloud has, or uploads a file as an image of this run.
  - After an upload, the size and sha512 that the cloud reports must match the file.
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._stage.run
  - stackproof.provision._attributes.stage
options:
  image:
    description:
      - Name or id of an image.
      - With neither this nor O(file), the smallest active bootable image is used that is public or belongs to this
        project.
    type: str
  file:
    description: Path of a file to upload. Every run uploads it again.
    type: path
  disk_format:
    description: Format of O(file). By default it is derived from the file's name, and V(raw) for an unknown one.
    type: str
  container_format:
    description: Container format of O(file).
    type: str
    default: bare
  min_disk:
    description: Disk that an instance of O(file) needs, in gigabytes.
    type: int
    default: 0
  min_ram:
    description: Memory that an instance of O(file) needs, in megabytes.
    type: int
    default: 0
  properties:
    description: Further properties of the uploaded image.
    type: dict
    default: {}
  store:
    description: Which of the cloud's stores takes the file. By default the cloud chooses one.
    type: str
  timeout:
    description: How long the stage may take, in seconds.
    type: float
    default: 900
notes:
  - The role P(stackproof.provision.image#role) passes its variables to this module. The playbook
    C(stackproof.provision.verify) runs all stages.
seealso:
  - module: stackproof.provision.auth
    description: The stage before.
  - module: stackproof.provision.network
    description: The next stage.
"""

EXAMPLES = r"""
- name: Use an image
  stackproof.provision.image:
    run_dir: "{{ run.directory }}"
    image: debian-13

- name: Upload an image into one of two stores
  stackproof.provision.image:
    run_dir: "{{ run.directory }}"
    file: /var/tmp/cirros.qcow2
    store: rbd
"""

RETURN = r"""
record:
  description: The stage's record, as in C(run.json).
  returned: success
  type: dict
  contains:
    stage:
      description: Name of the stage.
      returned: always
      type: str
      sample: image
    status:
      description: One of V(ok), V(failed), V(skipped).
      returned: always
      type: str
      sample: ok
    started:
      description: When the stage began, by the control node's clock.
      returned: always
      type: str
      sample: '2026-11-21T15:27:50.325992+00:00'
    finished:
      description: When it ended.
      returned: always
      type: str
      sample: '2026-11-21T15:27:50.376312+00:00'
    duration_s:
      description: How long it took, in seconds, by the monotonic clock.
      returned: always
      type: float
      sample: 0.05027
    resources:
      description: The image, and whether the run created it.
      returned: always
      type: list
      elements: dict
      sample:
        - {kind: image, id: eb3db05b-1d3f-4163-b31d-ef1538244a5b, name: probe, created: false}
    calls:
      description: Every request with method, service, path, status, seconds and request id.
      returned: always
      type: list
      elements: dict
      sample:
        - method: GET
          service: image
          host: 10.71.16.12:9292
          path: /v2/images
          status: 200
          request_id: req-bbe535fb-f6f7-49b0-a02f-11b3a7c60864
          started: '2026-11-21T15:27:50.359373+00:00'
          seconds: 0.013676
    waits:
      description: The states of an image that was uploaded; empty for an image that the cloud had.
      returned: always
      type: list
      elements: dict
      sample: []
    details:
      description: Size, formats, checksum and stores of the image, and how it was chosen.
      returned: always
      type: dict
      sample:
        chosen: the smallest that can be booted
        image:
          size: 25165824
          virtual_size: 25165824
          disk_format: raw
          container_format: bare
          min_disk: 0
          min_ram: 0
          stores: [ceph]
error:
  description: The kind of the failure, the action, the resource, the answer of the cloud, and what to check next.
  returned: failure
  type: dict
"""

import hashlib
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, BinaryIO

from ansible_collections.stackproof.provision.plugins.module_utils._act import (
    options as stage_options,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act.choices import (
    not_found,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act.images import (
    wait_until_active,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act.networking import (
    first_named,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act.stage import (
    Named,
    Stage,
    run_stage,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.connection import (
    answer_of,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model import (
    codec,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.details import (
    Image,
    ImageDetails,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import (
    StageName,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    StageError,
)

FORMATS = {
    ".qcow2": "qcow2",
    ".vmdk": "vmdk",
    ".vhd": "vhd",
    ".vhdx": "vhdx",
    ".vdi": "vdi",
    ".iso": "iso",
    ".raw": "raw",
}
NOT_BOOTABLE = ("aki", "ari", "ami", "iso", None)
# Nobody but its project sees an image of such a visibility, except an administrator.
NOT_PUBLIC = ("private", "shared")
# In bytes
CHUNK = 1 << 20
# In seconds, between two reports on an upload
REPORT_PERIOD = 0.5


class Upload:
    """A file that is read once: the size and sha512 of what is sent are taken on the way."""

    def __init__(
        self, stream: BinaryIO, size: int, say: Callable[[str], None]
    ) -> None:
        self.stream, self.size, self.say = stream, size, say
        self.sent = 0
        self.sha512: str | None = None
        self._hash = hashlib.sha512()
        self._last_report = time.monotonic()

    def __len__(self) -> int:
        return self.size

    def read(self, wanted: int | None = CHUNK) -> bytes:
        chunk = self.stream.read(wanted if wanted and wanted > 0 else CHUNK)
        if not chunk:
            self.sha512 = self._hash.hexdigest()
            # If the token has expired by now, the client gets a new one and sends the file again.
            self.stream.seek(0)
            self.sent, self._hash = 0, hashlib.sha512()
        self.sent += len(chunk)
        self._hash.update(chunk)
        if time.monotonic() - self._last_report > REPORT_PERIOD:
            self._last_report = time.monotonic()
            self.say(
                f"uploading: {self.sent >> 20} of {self.size >> 20} MiB, {100 * self.sent // max(1, self.size)} %"
            )
        return chunk


def may_be_chosen(image: Any, project: str) -> bool:
    """Return whether a run of the project may boot an image that nobody has named."""
    # Another run's upload is small, and soon gone.
    if (image.name or "").startswith("stackproof-"):
        return False
    # Older versions of the SDK have no attribute for an owner that Glance does not report.
    owner = getattr(image, "owner_id", None)
    # An administrator sees the private ones of other projects, too.
    is_for_us = owner in (project, None) or image.visibility not in NOT_PUBLIC
    return (
        is_for_us
        and image.disk_format not in NOT_BOOTABLE
        and bool(image.size)
    )


def choose(images: Iterable[Any], project: str) -> Any:
    """Return the smallest image that can be booted, and the same one each time."""
    bootable = [image for image in images if may_be_chosen(image, project)]
    if not bootable:
        raise StageError(
            "not_found",
            "no active image can be booted",
            hint="Name an image, or give a file to upload.",
        )
    return min(
        bootable, key=lambda image: (image.size, image.name or "", image.id)
    )


def find(stage: Stage[ImageDetails], name: str) -> Any:
    image = stage.cloud.image.find_image(name)
    if image is None:
        raise not_found(
            "image", name, stage.cloud.image.images(status="active")
        )
    # The listing may be older than the image.
    image = stage.cloud.image.get_image(image.id)
    if image.status != "active":
        message = f"the image {name} is {image.status}, not active"
        raise StageError(
            "conflict",
            message,
            resource=name,
            hint="Look whether its data is on the way (openstack image show), or use another image.",
        )
    return image


def check_store(stage: Stage[ImageDetails], store: str) -> None:
    """Refuse a store that the cloud does not have. A cloud with a single store has no list of stores."""
    stage.begin("reading the image stores")
    answer = stage.cloud.image.get("/info/stores")
    stores = (
        [entry["id"] for entry in answer.json().get("stores", [])]
        if answer.status_code == 200
        else []
    )
    stage.details = replace(stage.details, stores_offered=tuple(stores))
    if store not in stores:
        offered = ", ".join(stores) or "no choice of stores"
        raise StageError(
            "not_found",
            f"the cloud has no image store {store}; it has {offered}",
            resource=store,
            hint="Choose one of these, or look at enabled_backends in glance-api.conf.",
        )


def upload(stage: Stage[ImageDetails], path: str) -> Any:
    """Make an image of a file, and return it; nothing in check mode."""
    params, name = stage.params, f"{stage.run.mark}-image"
    size = os.stat(path).st_size
    if params["store"]:
        check_store(stage, params["store"])
    if stage.check:
        return None
    image_api, body = stage.cloud.image, image_body(stage, name, path)

    def make() -> Named:
        return Named(
            answer_of(image_api.post("/images", json=body))["id"], name
        )

    image = stage.create(
        "image",
        name,
        make,
        lambda: first_named(name, image_api.images(name=name)),
    )
    stage.begin(f"uploading {path} ({size >> 20} MiB) as {name}")
    sha512 = send(stage, image.id, path, size)
    active_image = wait_until_active(stage, image)
    differences = compare(active_image, size, sha512)
    if differences:
        hint = "The cloud does not hold what was sent: look at the store's health."
        raise StageError(
            "conflict",
            f"the image {name} differs from {path}: {differences}",
            resource=name,
            hint=hint,
        )
    verified = (
        ("size", "sha512") if active_image.hash_algo == "sha512" else ("size",)
    )
    stage.details = replace(stage.details, verified=verified)
    return active_image


def image_body(
    stage: Stage[ImageDetails], name: str, path: str
) -> dict[str, Any]:
    """Return the request that makes the image."""
    params = stage.params
    return {
        **params["properties"],
        "name": name,
        "disk_format": params["disk_format"]
        or FORMATS.get(os.path.splitext(path)[1].lower(), "raw"),
        "container_format": params["container_format"],
        "visibility": "private",
        "min_disk": params["min_disk"],
        "min_ram": params["min_ram"],
        "stackproof_run": stage.run.id,
    }


def send(
    stage: Stage[ImageDetails], image_id: str, path: str, size: int
) -> str | None:
    """Upload a file. Return the sha512 of what was sent."""
    headers = {
        "Content-Type": "application/octet-stream",
        "Content-Length": str(size),
    }
    if stage.params["store"]:
        headers["X-Image-Meta-Store"] = stage.params["store"]
    with open(path, "rb") as stream:
        data = Upload(stream, size, stage.say)
        # The answer comes when the store has everything, so the limit is the stage's own.
        limit = stage.params["timeout"]
        answer_of(
            stage.cloud.image.put(
                f"/images/{image_id}/file",
                data=data,
                headers=headers,
                timeout=limit,
            )
        )
    return data.sha512


def compare(image: Any, size: int, sha512: str | None) -> str:
    """Return the differences between the cloud's image and the file, in words."""
    differences = []
    if image.size != size:
        differences.append(f"{image.size} bytes instead of {size}")
    if image.hash_algo == "sha512" and image.hash_value != sha512:
        differences.append(
            f"sha512 {str(image.hash_value)[:16]}... instead of {str(sha512)[:16]}..."
        )
    return ", ".join(differences)


def describe(image: Any) -> Image:
    """Return the image as the record has it."""
    # An image without further properties has None in their place.
    stores = (image.properties or {}).get("stores")
    facts = {
        "size": image.size,
        "virtual_size": image.virtual_size,
        "disk_format": image.disk_format,
        "container_format": image.container_format,
        "min_disk": image.min_disk or 0,
        "min_ram": image.min_ram or 0,
        "sha512": image.hash_value if image.hash_algo == "sha512" else None,
        "stores": stores.split(",") if stores else [],
    }
    return codec.from_json(Image, facts, "image")


def act(stage: Stage[ImageDetails]) -> None:
    image = image_of(stage)
    if image is not None:
        stage.details = replace(stage.details, image=describe(image))


def image_of(stage: Stage[ImageDetails]) -> Any:
    """Return the image to boot: an uploaded one, or one that the cloud has. There is none yet in check mode."""
    name, path = stage.params["image"], stage.params["file"]
    if path:
        stage_options.check({"stackproof_image_file": path})
        stage.details = replace(stage.details, chosen="uploaded")
        return upload(stage, path)
    if name:
        stage.begin(f"looking for the image {name}")
        stage.details = replace(stage.details, chosen="named")
        return stage.use("image", find(stage, name))
    stage.begin("choosing an image")
    stage.details = replace(
        stage.details, chosen="the smallest that can be booted"
    )
    # A cloud that ignores the filter lists the others, too.
    images = [
        image
        for image in stage.cloud.image.images(status="active")
        if image.status == "active"
    ]
    return stage.use(
        "image", choose(images, stage.cloud.session.get_project_id())
    )


def main() -> None:
    options = {
        "image": {"type": "str"},
        "file": {"type": "path"},
        "disk_format": {"type": "str"},
        "container_format": {"type": "str", "default": "bare"},
        "min_disk": {"type": "int", "default": 0},
        "min_ram": {"type": "int", "default": 0},
        "properties": {"type": "dict", "default": {}},
        "store": {"type": "str"},
    }
    rules = {"mutually_exclusive": [("image", "file")]}
    run_stage(
        StageName.IMAGE, act, ImageDetails(), options, timeout=900, **rules
    )


if __name__ == "__main__":
    main()
