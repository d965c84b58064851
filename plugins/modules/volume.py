#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: volume
short_description: Fourth stage of a run, makes the volume
version_added: 0.1.0
description:
  - Makes a volume, empty or from the run's image, and waits until it is available.
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._stage.run
  - stackproof.provision._stage.attributes
options:
  source:
    description:
      - What the volume holds at first. With V(image) an instance can boot from it.
      - With V(none) no volume is made, and the stage is skipped.
    type: str
    choices: [empty, image, none]
    default: empty
  size:
    description: Size in gigabytes.
    type: int
    default: 1
  volume_type:
    description: Type of the volume. By default the cloud decides.
    type: str
  availability_zone:
    description: Zone of the volume. By default the cloud decides.
    type: str
  timeout:
    description: How long the stage may take, in seconds.
    type: float
    default: 300
"""

EXAMPLES = r"""
- name: Make a volume
  stackproof.provision.volume:
    run_dir: "{{ run.directory }}"
    size: 10
    volume_type: ceph
"""

RETURN = r"""
record:
  description: The stage's record, as in C(run.json).
  returned: success
  type: dict
  contains:
    details:
      description: Size, type and zone of the volume.
      type: dict
      returned: always
    waits:
      description: The states that the volume passed, with their times and how sharp these are.
      type: list
      elements: dict
      returned: always
error:
  description: What went wrong, on what, what the cloud said, and what to look at.
  returned: failure
  type: dict
"""

from ansible_collections.stackproof.provision.plugins.module_utils._act.stage import run_stage
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.errors import CLOUD_ERRORS
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import StageError


def messages_about(cinder, volume_id):
    """What Cinder tells a user about a volume that failed; clouds before Pike have no such messages."""
    try:
        answer = cinder.get("/messages", params={"resource_uuid": volume_id}, microversion="3.5")
        found = answer.json().get("messages", []) if answer.status_code == 200 else []
    except (*CLOUD_ERRORS, ValueError):
        return []
    return [message["user_message"] for message in found if message.get("resource_uuid") == volume_id]


def check_type(stage, name):
    if stage.cloud.block_storage.find_type(name) is None:
        names = ", ".join(sorted(found.name for found in stage.cloud.block_storage.types())) or "none"
        raise StageError("not_found", f"the cloud has no volume type {name}; it has {names}", resource=name)


def act(stage):
    params, name = stage.params, f"{stage.run.mark}-volume"
    if params["source"] == "none":
        stage.details["reason"] = "no volume is asked for"
        return "skipped"
    image = stage.run.resource("image") if params["source"] == "image" else None
    if params["source"] == "image" and image is None and not stage.check:
        raise StageError("invalid", "there is no image yet to make a volume from", hint="Run the stage image first.")
    cinder = stage.cloud.block_storage
    if params["volume_type"]:
        stage.begin(f"looking for the volume type {params['volume_type']}")
        check_type(stage, params["volume_type"])
    if stage.check:
        stage.changed = True
        return None

    def make():
        return cinder.create_volume(
            name=name,
            size=params["size"],
            description=stage.run.mark,
            metadata={"stackproof_run": stage.run.id},
            **({"volume_type": params["volume_type"]} if params["volume_type"] else {}),
            **({"availability_zone": params["availability_zone"]} if params["availability_zone"] else {}),
            **({"image_id": image["id"]} if image else {}),
        )

    volume = stage.create("volume", name, make, lambda: next(iter(cinder.volumes(name=name)), None))

    def look():
        found = cinder.get_volume(volume.id)
        if found.status.startswith("error"):
            said = "; ".join(messages_about(cinder, volume.id)) or "nothing more"
            message = f"the volume {name} became {found.status}; the cloud said: {said}"
            hint = f"Look for the id {volume.id} in the logs of cinder-scheduler and cinder-volume."
            raise StageError("service", message, resource=name, said=said, hint=hint)
        return found.status == "available", found.status, found

    volume = stage.wait(f"the volume {name} to be available", look)
    stage.details["volume"] = {
        "size_gib": volume.size,
        "type": volume.volume_type,
        "zone": volume.availability_zone,
        "bootable": volume.is_bootable,
    }
    return None


def main():
    options = {
        "source": {"type": "str", "choices": ["empty", "image", "none"], "default": "empty"},
        "size": {"type": "int", "default": 1},
        "volume_type": {"type": "str"},
        "availability_zone": {"type": "str"},
    }
    run_stage("volume", act, options, timeout=300)


if __name__ == "__main__":
    main()
