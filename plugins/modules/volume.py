#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: volume
short_description: 'Fourth stage of a run: creates the volume'
version_added: 0.1.0
description:
  - Creates a volume, empty or from the run's image, and waits until it is available.
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._stage.run
  - stackproof.provision._attributes.stage
options:
  source:
    description:
      - The content of the new volume. With V(image) an instance can boot from it.
      - With V(none) no volume is created, and the stage is skipped.
    type: str
    choices: [empty, image, none]
    default: empty
  size:
    description: Size in gigabytes.
    type: int
    default: 1
  volume_type:
    description:
      - Type of the volume. By default the cloud chooses one.
      - That a type encrypts, or lets several servers have a volume, is checked on the compute host.
    type: str
  availability_zone:
    description: Availability zone of the volume. By default the cloud chooses one.
    type: str
  timeout:
    description: How long the stage may take, in seconds.
    type: float
    default: 300
notes:
  - The role P(stackproof.provision.volume#role) passes its variables to this module. The playbook
    C(stackproof.provision.verify) runs all stages.
seealso:
  - module: stackproof.provision.network
    description: The stage before.
  - module: stackproof.provision.boot
    description: The next stage.
"""

EXAMPLES = r"""
- name: Create a volume
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
    stage:
      description: Name of the stage.
      returned: always
      type: str
      sample: volume
    status:
      description: One of V(ok), V(failed), V(skipped).
      returned: always
      type: str
      sample: ok
    started:
      description: When the stage began, by the control node's clock.
      returned: always
      type: str
      sample: '2026-11-21T15:27:57.718918+00:00'
    finished:
      description: When it ended.
      returned: always
      type: str
      sample: '2026-11-21T15:27:58.305208+00:00'
    duration_s:
      description: How long it took, in seconds, by the monotonic clock.
      returned: always
      type: float
      sample: 0.586281
    resources:
      description: The volume.
      returned: always
      type: list
      elements: dict
      sample:
        - kind: volume
          id: cf716623-1ad9-40b5-a897-87f26eeb7b79
          name: stackproof-20261121-152747-af4099-volume
          created: true
    calls:
      description: Every request with method, service, path, status, seconds and request id.
      returned: always
      type: list
      elements: dict
      sample:
        - method: POST
          service: block-storage
          host: 10.71.16.12:8776
          path: /v3/94b64eb11bf148c5b5b96b2e972f44df/volumes
          status: 202
          request_id: req-5385d15f-aaf4-462d-ba3b-709ca50c3d64
          started: '2026-11-21T15:27:57.818932+00:00'
          seconds: 0.191582
    waits:
      description: The states of the volume, with their times and the resolution of these times.
      returned: always
      type: list
      elements: dict
      sample:
        - awaited: the volume stackproof-20261121-152747-af4099-volume to be available
          started: '2026-11-21T15:27:58.013140+00:00'
          seconds: 0.290963
          states:
            - {state: creating, at: '2026-11-21T15:27:58.095819+00:00', after_s: 0.082656, resolution_s: null}
            - {state: available, at: '2026-11-21T15:27:58.304131+00:00', after_s: 0.290963, resolution_s: 0.291}
          resolution_s: 0.291
          polls: 2
    details:
      description: Size, type and zone of the volume.
      returned: always
      type: dict
      sample:
        volume: {size_gib: 1, type: ceph, zone: nova, bootable: false}
error:
  description: The kind of the failure, the action, the resource, the answer of the cloud, and what to check next.
  returned: failure
  type: dict
  sample:
    kind: not_found
    message: the cloud has no volume type nope; it has __DEFAULT__, ceph
    resource: nope
    answer: null
    status: null
    request_id: null
    hint: Look at the name or id, and whether this project may see it.
    details: {}
"""

from dataclasses import replace
from typing import Any

from ansible_collections.stackproof.provision.plugins.module_utils._act import (
    options as stage_options,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act.choices import (
    not_found,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act.networking import (
    first_named,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act.stage import (
    Stage,
    run_stage,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.failures import (
    failed_volume,
)
from ansible_collections.stackproof.provision.plugins.module_utils._collect.api.volume import (
    messages_about,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model import (
    codec,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.details import (
    Volume,
    VolumeDetails,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.stage import (
    Resource,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import (
    StageName,
    StageStatus,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    StageError,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.waiting import (
    Look,
)


def check_type(stage: Stage[VolumeDetails], name: str) -> None:
    if stage.cloud.block_storage.find_type(name) is None:
        raise not_found("volume type", name, stage.cloud.block_storage.types())


def make_volume(
    stage: Stage[VolumeDetails], name: str, image: Resource | None
) -> Any:
    params, cinder = stage.params, stage.cloud.block_storage
    choices = {
        "volume_type": params["volume_type"],
        "availability_zone": params["availability_zone"],
        "image_id": image.id if image else None,
    }

    def make() -> Any:
        return cinder.create_volume(
            name=name,
            size=params["size"],
            description=stage.run.mark,
            metadata={"stackproof_run": stage.run.id},
            **{option: value for option, value in choices.items() if value},
        )

    return stage.create(
        "volume",
        name,
        make,
        lambda: first_named(name, cinder.volumes(name=name)),
    )


def look_at(cinder: Any, volume_id: str, name: str) -> Look:
    volume = cinder.get_volume(volume_id)
    if volume.status.startswith("error"):
        raise failed_volume(
            name, volume_id, volume.status, messages_about(cinder, volume_id)
        )
    return volume.status == "available", volume.status, volume


def describe(volume: Any) -> Volume:
    """Return the volume as the record has it."""
    facts = {
        "size_gib": volume.size,
        "type": volume.volume_type,
        "zone": volume.availability_zone,
        "bootable": volume.is_bootable,
        "encrypted": volume.is_encrypted or False,
        "multiattach": volume.is_multiattach or False,
    }
    return codec.from_json(Volume, facts, "volume")


def image_for(stage: Stage[VolumeDetails]) -> Resource | None:
    """Return the run's image if the volume is to be made from it."""
    if stage.params["source"] != "image":
        return None
    image = stage.resource("image")
    if image is None and not stage.check:
        raise StageError(
            "invalid",
            "there is no image yet to make a volume from",
            hint="Run the stage image first.",
        )
    return image


def act(stage: Stage[VolumeDetails]) -> StageStatus | None:
    params = stage.params
    if params["source"] == "none":
        stage.details = replace(stage.details, reason="no volume is asked for")
        return StageStatus.SKIPPED
    image = image_for(stage)
    stage_options.check({"stackproof_volume_size": params["size"]})
    cinder, name = stage.cloud.block_storage, f"{stage.run.mark}-volume"
    if params["volume_type"]:
        stage.begin(f"looking for the volume type {params['volume_type']}")
        check_type(stage, params["volume_type"])
    if stage.check:
        stage.changed = True
        return None
    stage.details = replace(
        stage.details,
        requested_type=params["volume_type"],
        requested_zone=params["availability_zone"],
        requested_size_gib=params["size"],
    )
    volume_id = make_volume(stage, name, image).id
    volume = stage.wait(
        f"the volume {name} to be available",
        lambda: look_at(cinder, volume_id, name),
    )
    stage.details = replace(stage.details, volume=describe(volume))
    return None


def main() -> None:
    options = {
        "source": {
            "type": "str",
            "choices": stage_options.VOLUMES,
            "default": "empty",
        },
        "size": {"type": "int", "default": 1},
        "volume_type": {"type": "str"},
        "availability_zone": {"type": "str"},
    }
    run_stage(StageName.VOLUME, act, VolumeDetails(), options, timeout=300)


if __name__ == "__main__":
    main()
