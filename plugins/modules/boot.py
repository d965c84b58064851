#!/usr/bin/python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: boot
short_description: 'Fifth stage of a run: boots the instance'
version_added: 0.1.0
description:
  - Creates a server from the resources of the earlier stages, and follows its states until it is active.
  - The request carries a global request id, so that every service's log can be searched for it.
  - A server in the state ERROR ends the wait immediately. The error has its fault, without secrets and without the
    frames of its traceback.
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._stage.run
  - stackproof.provision._attributes.stage
options:
  flavor:
    description: Name or id of the flavor. Defaults to the smallest one that fits the image.
    type: str
  attach:
    description:
      - When the run's volume is attached, at the boot, after it, or as the root disk.
      - Without a volume this has no effect.
    type: str
    choices: [at_boot, after, root]
    default: at_boot
  availability_zone:
    description: Availability zone of the instance. By default the cloud chooses one.
    type: str
  host:
    description:
      - Name of the compute host for the instance. Most clouds allow only administrators to choose it.
    type: str
  profiler_key:
    description:
      - A key of OSProfiler (C(hmac_keys)) that the cloud's services accept. With it the request is traced through all
        services that have OSProfiler enabled.
    type: str
  dataplane:
    description:
      - Whether the guest also checks its path to a second one, for the stage dataplane. Both servers are then in a
        group of servers, whose policy is C(soft-anti-affinity).
    type: bool
    default: false
  dataplane_name:
    description: With O(dataplane), the name of a host that the guest is to resolve.
    type: str
  dataplane_volume:
    description: With O(dataplane), whether the guest writes to the run's volume, for the second one to read it.
    type: bool
    default: true
  dataplane_login:
    description:
      - With O(dataplane), whether a key pair is made, with which the stage dataplane logs in to the guest at its
        floating IP. Without a floating IP none is made.
    type: bool
    default: true
  timeout:
    description: How long the stage may take, in seconds.
    type: float
    default: 300
notes:
  - The role P(stackproof.provision.boot#role) passes its variables to this module. The playbook
    C(stackproof.provision.verify) runs all stages.
seealso:
  - module: stackproof.provision.volume
    description: The stage before.
  - module: stackproof.provision.metadata
    description: The next stage.
"""

EXAMPLES = r"""
- name: Boot on a host
  stackproof.provision.boot:
    run_dir: "{{ run.directory }}"
    flavor: m1.small
    host: compute1
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
      sample: boot
    status:
      description: One of V(ok), V(failed), V(skipped).
      returned: always
      type: str
      sample: ok
    started:
      description: When the stage began, by the control node's clock.
      returned: always
      type: str
      sample: '2026-11-21T15:27:59.752715+00:00'
    finished:
      description: When it ended.
      returned: always
      type: str
      sample: '2026-11-21T15:28:15.970756+00:00'
    duration_s:
      description: How long it took, in seconds, by the monotonic clock.
      returned: always
      type: float
      sample: 16.218041
    resources:
      description: Flavor and server, and whether the run created them.
      returned: always
      type: list
      elements: dict
      sample:
        - {kind: flavor, id: 1b2b2458-9ded-472f-8c9e-6b0787cc802e, name: probe, created: false}
        - kind: server
          id: 89ed9d85-f672-4d0b-887e-ac18d04bd01c
          name: stackproof-20261121-152747-af4099-server
          created: true
    calls:
      description: Every request with method, service, path, status, seconds and request id.
      returned: always
      type: list
      elements: dict
      sample:
        - method: POST
          service: compute
          host: 10.71.16.12:8774
          path: /v2.1/servers
          status: 202
          request_id: req-e475d429-8a18-40aa-b111-ff5e6f958082
          started: '2026-11-21T15:27:59.830997+00:00'
          seconds: 0.551546
    waits:
      description: The states of the server (status, task and power state), with their times and the resolution of these
        times.
      returned: always
      type: list
      elements: dict
      sample:
        - awaited: the server stackproof-20261121-152747-af4099-server to be active
          started: '2026-11-21T15:28:00.383292+00:00'
          seconds: 14.701904
          states:
            - state: BUILD, scheduling, no state
              at: '2026-11-21T15:28:00.451961+00:00'
              after_s: 0.06865
              resolution_s: null
            - state: ACTIVE, running
              at: '2026-11-21T15:28:15.085218+00:00'
              after_s: 14.701904
              resolution_s: 0.671
          resolution_s: 0.671
          polls: 54
    details:
      description:
        - Flavor, the global request id, addresses, ports, and the events that the compute service recorded.
        - An event that failed has its reason in C(error) where that is shown.
        - The module M(stackproof.provision.metadata) adds the ends that the compute service had not written yet.
      returned: always
      type: dict
      sample:
        flavor: {name: probe, ram: 128, vcpus: 1, disk: 1}
        request_id: req-3632f33a-f427-43a3-8805-ceee7138e745
        events:
          - event: compute__do_build_and_run_instance
            start_time: '2026-11-21T15:28:00.000000'
            finish_time: '2026-11-21T15:28:15.000000'
            result: Success
            host_id: 4c7327a630bc8a863803ced2ab9bc9cd86be510f723915d2e021a0d6
        server:
          id: 89ed9d85-f672-4d0b-887e-ac18d04bd01c
          zone: nova
          host: null
          host_id: 4c7327a630bc8a863803ced2ab9bc9cd86be510f723915d2e021a0d6
          launched: '2026-11-21T15:28:14.000000'
          ports: [8bda5adb-f27a-404d-9337-34e45d30e5d3]
          fixed_ips: [192.168.222.54]
error:
  description:
    - The kind of the failure, the action, the resource, the answer of the cloud, and what to check next.
    - C(details.fault) is the server's fault.
  returned: failure
  type: dict
  sample:
    kind: quota
    message: >-
      creating the server stackproof-20261121-073057-d8aefd-server: the cloud answered (403): Quota exceeded for ram:
      Requested 1048576, but already used 128 of 51200 ram (request req-37ec2681-7584-4161-a74e-3f32e33564e8)
    resource: null
    answer: 'Quota exceeded for ram: Requested 1048576, but already used 128 of 51200 ram'
    status: 403
    request_id: req-37ec2681-7584-4161-a74e-3f32e33564e8
    hint: 'Raise the project''s quota, or remove what is no longer used: openstack quota show --usage.'
    details: {}
"""

import uuid
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ansible_collections.stackproof.provision.plugins.module_utils._act import (
    boot_events,
    dataplane,
    handover,
    login,
    volumes,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act import (
    options as stage_options,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act.booting import (
    JsonObject,
    describe,
    make_server,
    ports_of,
    proof_of,
    wait_until_active,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act.choices import (
    not_found,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act.networking import (
    first_named,
)
from ansible_collections.stackproof.provision.plugins.module_utils._act.stage import (
    Named,
    Stage,
    run_stage,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud import (
    servers,
)
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.connection import (
    answer_of,
)
from ansible_collections.stackproof.provision.plugins.module_utils._collect.recorders import (
    osprofiler,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model import (
    codec,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.details import (
    FIRST,
    BootDetails,
    Flavor,
    Image,
    ImageDetails,
    Server,
    VolumeDetails,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.stage import (
    Resource,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.words import (
    StageName,
)
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import (
    StageError,
)

GIB = 1 << 30


def needs_of(image: Image | None) -> tuple[int, int]:
    """Return the memory in MiB and the disk in GiB that an image needs."""
    if image is None:
        return 0, 0
    size = image.virtual_size or image.size or 0
    rounded_up = -(-size // GIB)
    return image.min_ram, max(image.min_disk, rounded_up)


def choose_flavor(flavors: Iterable[Any], image: Image | None) -> Any:
    """Return the smallest flavor that fits the image, and the same one each time."""
    ram, disk = needs_of(image)
    # A disk of 0 means as large as the image.
    fitting = [
        flavor
        for flavor in flavors
        if flavor.ram >= ram and (flavor.disk == 0 or flavor.disk >= disk)
    ]
    if not fitting:
        message = f"no flavor has {ram} MB of memory and {disk} GB of disk, as the image needs"
        raise StageError(
            "not_found", message, hint="Name a flavor, or use a smaller image."
        )
    # Many clouds let only administrators boot from an image with a disk of 0.
    return min(
        fitting,
        key=lambda flavor: (
            flavor.disk == 0,
            flavor.ram,
            flavor.vcpus,
            flavor.disk,
            flavor.name,
        ),
    )


def find_flavor(stage: Stage[BootDetails], name: str | None) -> Any:
    if not name:
        image = stage.details_of(StageName.IMAGE, ImageDetails).image
        return choose_flavor(stage.cloud.compute.flavors(), image)
    flavor = stage.cloud.compute.find_flavor(name)
    if flavor is None:
        raise not_found("flavor", name, stage.cloud.compute.flavors())
    return flavor


def needed(stage: Stage[BootDetails]) -> tuple[Resource, Resource]:
    """Return the run's image and network, without which there is no server."""
    image, network = stage.resource("image"), stage.resource("network")
    if image is not None and network is not None:
        return image, network
    missing = [
        kind
        for kind, resource in (("image", image), ("network", network))
        if resource is None
    ]
    message = f"there is no {' and no '.join(missing)} yet"
    raise StageError(
        "invalid", message, hint="Run the earlier stages of this run first."
    )


def server_body(
    stage: Stage[BootDetails], flavor: Any, name: str
) -> JsonObject:
    """Return the request that makes the server."""
    params = stage.params
    image, network = needed(stage)
    body = {
        "name": name,
        "flavorRef": flavor.id,
        **(
            dataplane_of(stage) if params["dataplane"] else proof_of(stage.run)
        ),
        **networks_of(stage, network),
        **disks_of(stage, image),
    }
    if params["availability_zone"]:
        body["availability_zone"] = params["availability_zone"]
    if params["host"]:
        body["host"] = params["host"]
    return body


def dataplane_of(stage: Stage[BootDetails]) -> JsonObject:
    """Return the part of the request about what the guest is to prove, alone and with the second one."""
    errand = dataplane.errand_for(stage, FIRST)
    volume, key_pair = (
        handover.volume_for(stage, stage.params["attach"]),
        login.key_pair_for(stage),
    )
    errand = replace(
        errand, volume=volume.id if volume else None, key_pair=key_pair
    )
    proof = proof_of(stage.run, dataplane.script_for(stage, FIRST, errand))
    return {**proof, "key_name": key_pair.name} if key_pair else proof


def networks_of(stage: Stage[BootDetails], network: Resource) -> JsonObject:
    """Return the part of the request about networks. A port that exists has its security groups already."""
    port, group = stage.resource("port"), stage.resource("security_group")
    if port:
        return {"networks": [{"port": port.id}]}
    networks: JsonObject = {"networks": [{"uuid": network.id}]}
    if group:
        networks["security_groups"] = [{"name": group.id}]
    return networks


def disks_of(stage: Stage[BootDetails], image: Resource) -> JsonObject:
    """Return the part of the request about the image and the run's volume."""
    volume = stage.resource("volume")
    attach = stage.params["attach"]
    if volume and attach == "root":
        check_bootable(stage, volume)
        return {"block_device_mapping_v2": [disk(volume.id, "volume", 0)]}
    if volume and attach == "at_boot":
        disks = [disk(image.id, "image", 0), disk(volume.id, "volume", -1)]
        return {"imageRef": image.id, "block_device_mapping_v2": disks}
    return {"imageRef": image.id}


def check_bootable(stage: Stage[BootDetails], volume: Resource) -> None:
    details = stage.details_of(StageName.VOLUME, VolumeDetails)
    if not (details.volume and details.volume.bootable):
        message = f"the volume {volume.name} is empty, so an instance cannot boot from it"
        raise StageError(
            "invalid",
            message,
            resource=volume.name,
            hint="Make the volume from the image.",
        )


def disk(identity: str, source: str, index: int) -> JsonObject:
    is_volume = source == "volume"
    return {
        "uuid": identity,
        "source_type": source,
        "destination_type": "volume" if is_volume else "local",
        "boot_index": index,
        "delete_on_termination": not is_volume,  # the run's cleanup deletes its volume
    }


def make_own_server(stage: Stage[BootDetails], flavor: Any) -> Named:
    """Make the server of the run, where the user has asked for it."""
    stage.details = replace(stage.details, request_id=f"req-{uuid.uuid4()}")
    request: JsonObject = {
        "server": server_body(stage, flavor, f"{stage.run.mark}-server")
    }
    if stage.params["dataplane"]:
        request["os:scheduler_hints"] = {"group": make_server_group(stage).id}
    return make_server(
        stage,
        "server",
        request,
        headers_of(stage),
        stage.params["host"],
        volumes.version_for(stage),
    )


def make_server_group(stage: Stage[BootDetails]) -> Any:
    """Make the group of both servers: Nova puts them on two hosts if it can."""
    nova = stage.cloud.compute
    name = f"{stage.run.mark}-server-group"
    body = {"server_group": {"name": name, "policy": "soft-anti-affinity"}}

    def make() -> Named:
        answer = nova.post(
            servers.GROUPS, json=body, microversion=servers.GROUPS_SINCE
        )
        return Named(answer_of(answer)["server_group"]["id"], name)

    def find() -> Any:
        return first_named(name, map(Named.from_json, servers.groups_of(nova)))

    return stage.create("server_group", name, make, find)


def headers_of(stage: Stage[BootDetails]) -> dict[str, str | None]:
    """Return the headers by which the request is known in the logs, and by OSProfiler if there is a key."""
    headers, key = (
        {"X-OpenStack-Request-ID": stage.details.request_id},
        stage.params["profiler_key"],
    )
    if key:
        trace = str(uuid.uuid4())
        stage.details = replace(stage.details, trace=trace)
        headers.update(osprofiler.headers(key, trace))
    return headers


def follow(stage: Stage[BootDetails], server: Named) -> None:
    """Wait until the server is active, and give it what it still needs."""
    active = wait_until_active(stage, server)
    ports = ports_of(stage, server)
    described = describe(active, ports)
    stage.details = replace(stage.details, server=described)
    check_place(stage, server, described)
    connect(stage, server, ports)


def check_place(
    stage: Stage[BootDetails], server: Named, found: Server
) -> None:
    """Fail if the server is in another zone or on another host than was asked for. Not all users see its host."""
    zone = stage.params["availability_zone"]
    host = stage.params["host"]
    check_part_of_place(server, "zone", found.zone, zone)
    check_part_of_place(server, "host", found.host, host)


def check_part_of_place(
    server: Named, part: str, found: str | None, wanted: str | None
) -> None:
    # Of zone:host Nova takes the host, whatever its zone is.
    if wanted is None or ":" in wanted:
        return
    if found in (wanted, None):
        return
    raise StageError(
        "misplaced",
        f"the server {server.name} has the {part} {found}, and {wanted} was asked for",
        resource=server.name,
        hint="Check: openstack aggregate list --long, and enabled_filters in nova.conf of nova-scheduler.",
    )


def connect(stage: Stage[BootDetails], server: Any, ports: list[Any]) -> None:
    """Give the server the run's volume, if it comes after the boot, and the run's floating IP."""
    volume, address = stage.resource("volume"), stage.resource("floating_ip")
    if volume and stage.params["attach"] == "after":
        volumes.attach(stage, server.id, volume)
    if address:
        stage.begin("giving the floating IP to the server")
        if not ports:
            message = f"the server {server.name} is active, but the network service lists no port of it"
            raise StageError(
                "service",
                message,
                resource=server.name,
                hint="Check: openstack port list --server.",
            )
        stage.cloud.network.update_ip(address.id, port_id=ports[0].id)


def flavor_details(flavor: Any) -> Flavor:
    facts = {
        "name": flavor.name,
        "ram": flavor.ram,
        "vcpus": flavor.vcpus,
        "disk": flavor.disk,
    }
    return codec.from_json(Flavor, facts, "flavor")


def act(stage: Stage[BootDetails]) -> None:
    stage_options.check(
        {"stackproof_dataplane_name": stage.params["dataplane_name"]}
    )
    nova = stage.cloud.compute
    stage.begin("looking for the flavor")
    flavor = stage.use("flavor", find_flavor(stage, stage.params["flavor"]))
    stage.details = replace(stage.details, flavor=flavor_details(flavor))
    if stage.check:
        stage.changed = True
        return
    if stage.resource("volume"):
        stage.details = replace(stage.details, attach=stage.params["attach"])
    stage.details = replace(
        stage.details,
        requested_zone=stage.params["availability_zone"],
        requested_host=stage.params["host"],
    )
    server = make_own_server(stage, flavor)
    request_id = boot_events.request_in(stage.calls)
    try:
        follow(stage, server)
    except BaseException:
        events = boot_events.until_ended(stage, server.id, request_id)
        stage.details = replace(stage.details, events=events)
        raise
    # The guest boots already, so the stage metadata waits for their ends.
    events = servers.events_of(nova, server.id, request_id)
    stage.details = replace(stage.details, events=events)


def main() -> None:
    options = {
        "flavor": {"type": "str"},
        "attach": {
            "type": "str",
            "choices": stage_options.ATTACHED,
            "default": "at_boot",
        },
        "availability_zone": {"type": "str"},
        "host": {"type": "str"},
        "profiler_key": {"type": "str", "no_log": True},
        "dataplane": {"type": "bool", "default": False},
        "dataplane_name": {"type": "str"},
        "dataplane_volume": {"type": "bool", "default": True},
        "dataplane_login": {"type": "bool", "default": True},
    }
    run_stage(StageName.BOOT, act, BootDetails(), options, timeout=300)


if __name__ == "__main__":
    main()
