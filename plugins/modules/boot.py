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
  - Makes a server from what the earlier stages have found and made, and follows its states until it is active.
  - The request carries a global request id, so that every service's log can be searched for it.
  - A server in the state ERROR ends the wait at once. Its fault is carried, without secrets and without the frames of
    its traceback.
extends_documentation_fragment:
  - stackproof.provision._stage.cloud
  - stackproof.provision._stage.run
  - stackproof.provision._attributes.stage
options:
  flavor:
    description: Name or id of the flavor. By default the smallest one that fits the image is taken.
    type: str
  attach:
    description:
      - When the run's volume comes to the instance, at its boot, after it, or as the disk from which it boots.
      - Without a volume this has no meaning.
    type: str
    choices: [at_boot, after, root]
    default: at_boot
  availability_zone:
    description: Zone of the instance. By default the cloud decides.
    type: str
  host:
    description:
      - Name of the compute host that must take the instance. Most clouds allow this to administrators only.
    type: str
  profiler_key:
    description:
      - One of the cloud's keys of OSProfiler (C(hmac_keys)). With it the request is traced through all services that
        have OSProfiler enabled; without it none is.
    type: str
  timeout:
    description: How long the stage may take, in seconds.
    type: float
    default: 300
notes:
  - The role P(stackproof.provision.boot#role) hands its variables to this module, and the playbook
    C(stackproof.provision.verify) goes through all stages.
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
      description: Flavor and server, and whether the run made them.
      returned: always
      type: list
      elements: dict
      sample:
        - {kind: flavor, id: 1b2b2458-9ded-472f-8c9e-6b0787cc802e, name: probe, made: false}
        - kind: server
          id: 89ed9d85-f672-4d0b-887e-ac18d04bd01c
          name: stackproof-20261121-152747-af4099-server
          made: true
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
      description: The states of the server (status, task and power state), with their times and how sharp these are.
      returned: always
      type: list
      elements: dict
      sample:
        - for: the server stackproof-20261121-152747-af4099-server to be active
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
          looks: 54
    details:
      description: Flavor, the global request id, addresses, ports, and the events that the compute service recorded.
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
            hostId: 4c7327a630bc8a863803ced2ab9bc9cd86be510f723915d2e021a0d6
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
    - The kind of the failure, what was done, on what, what the cloud said, and what to look at.
    - C(details.fault) is the server's fault.
  returned: failure
  type: dict
  sample:
    kind: quota
    message: >-
      making the server stackproof-20261121-073057-d8aefd-server: the cloud said (403): Quota exceeded for ram:
      Requested 1048576, but already used 128 of 51200 ram (request req-37ec2681-7584-4161-a74e-3f32e33564e8)
    resource: null
    said: 'Quota exceeded for ram: Requested 1048576, but already used 128 of 51200 ram'
    status: 403
    request_id: req-37ec2681-7584-4161-a74e-3f32e33564e8
    hint: 'Raise the project''s quota, or remove what is no longer used: openstack quota show --usage.'
    details: {}
"""

import base64
import contextlib
import uuid
from types import SimpleNamespace

from ansible_collections.stackproof.provision.plugins.module_utils._act import guest
from ansible_collections.stackproof.provision.plugins.module_utils._act import options as stage_options
from ansible_collections.stackproof.provision.plugins.module_utils._act.choices import not_found
from ansible_collections.stackproof.provision.plugins.module_utils._act.stage import run_stage
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.connection import answer_of
from ansible_collections.stackproof.provision.plugins.module_utils._cloud.errors import CLOUD_ERRORS
from ansible_collections.stackproof.provision.plugins.module_utils._collect.recorders import osprofiler
from ansible_collections.stackproof.provision.plugins.module_utils._record.errors import DeadlinePassed, StageError
from ansible_collections.stackproof.provision.plugins.module_utils._record.masking import words_of
from ansible_collections.stackproof.provision.plugins.module_utils._record.waiting import Deadline, wait_until

POWER = {0: "no state", 1: "running", 3: "paused", 4: "shut down", 6: "crashed", 7: "suspended"}
EVENT_FIELDS = ("event", "start_time", "finish_time", "result", "host", "hostId")
# A boot has some five events.
MOST_EVENTS = 100
# The compute service has so many seconds to write the ends of its events.
EVENT_SECONDS = 1
# Since these versions a server can be sent to a host, and users see the events with the host's hash.
HOST_SINCE = "2.74"
EVENTS_SINCE = "2.62"


def choose_flavor(flavors, image):
    """The smallest flavor that fits the image, and the same one each time."""
    gib = -(-(image.get("virtual_size") or image.get("size") or 0) // (1 << 30))
    ram, disk = image.get("min_ram", 0), max(image.get("min_disk", 0), gib)
    # A disk of 0 means as large as the image.
    fitting = [flavor for flavor in flavors if flavor.ram >= ram and (flavor.disk == 0 or flavor.disk >= disk)]
    if not fitting:
        message = f"no flavor has {ram} MB of memory and {disk} GB of disk, as the image needs"
        raise StageError("not_found", message, hint="Name a flavor, or use a smaller image.")
    # Many clouds let only administrators boot from an image with a disk of 0.
    return min(fitting, key=lambda flavor: (flavor.disk == 0, flavor.ram, flavor.vcpus, flavor.disk, flavor.name))


def find_flavor(stage, name):
    image = (stage.run.stage("image") or {}).get("details", {}).get("image", {})
    if not name:
        return choose_flavor(stage.cloud.compute.flavors(), image)
    flavor = stage.cloud.compute.find_flavor(name)
    if flavor is None:
        raise not_found("flavor", name, stage.cloud.compute.flavors())
    return flavor


def server_body(run, flavor, name, params, nonces):
    """The request that makes the server."""
    image, network, port = run.resource("image"), run.resource("network"), run.resource("port")
    volume, group = run.resource("volume"), run.resource("security_group")
    missing = [kind for kind, resource in (("image", image), ("network", network)) if not resource]
    if missing:
        message = f"there is no {' and no '.join(missing)} yet"
        raise StageError("invalid", message, hint="Run the earlier stages of this run first.")
    body = {
        "name": name,
        "flavorRef": flavor.id,
        "metadata": {"stackproof_run": run.id, "stackproof_nonce": nonces["metadata"]},
        "user_data": base64.b64encode(guest.user_data(nonces["user_data"]).encode()).decode(),
        "networks": [{"port": port["id"]} if port else {"uuid": network["id"]}],
        "imageRef": image["id"],
    }
    if group and not port:
        body["security_groups"] = [{"name": group["id"]}]
    if volume and params["attach"] == "root":
        if not run.stage("volume")["details"]["volume"]["bootable"]:
            message = f"the volume {volume['name']} is empty, so an instance cannot boot from it"
            raise StageError("invalid", message, resource=volume["name"], hint="Make the volume from the image.")
        del body["imageRef"]
        body["block_device_mapping_v2"] = [disk(volume["id"], "volume", 0)]
    elif volume and params["attach"] == "at_boot":
        body["block_device_mapping_v2"] = [disk(image["id"], "image", 0), disk(volume["id"], "volume", -1)]
    if params["availability_zone"]:
        body["availability_zone"] = params["availability_zone"]
    if params["host"]:
        body["host"] = params["host"]
    return body


def disk(identity, source, index):
    is_volume = source == "volume"
    return {
        "uuid": identity,
        "source_type": source,
        "destination_type": "volume" if is_volume else "local",
        "boot_index": index,
        "delete_on_termination": not is_volume,  # the run's cleanup deletes its volume
    }


def state_of(server):
    """Status, task and power state as one short text."""
    task, power = server.get("OS-EXT-STS:task_state"), server.get("OS-EXT-STS:power_state")
    return ", ".join(part for part in (server["status"], task, POWER.get(power, f"power {power}")) if part)


def read_server(nova, identity):
    return answer_of(nova.get(f"/servers/{identity}"))["server"]


def events_of(nova, identity, request_id):
    """The compute service's events of the creation, as far as it shows them to this user."""
    try:
        answer = nova.get(f"/servers/{identity}/os-instance-actions/{request_id}", microversion=EVENTS_SINCE)
        if answer.status_code != 200:
            return []
        events = answer.json()["instanceAction"].get("events") or []
    except (*CLOUD_ERRORS, ValueError, KeyError):
        return []
    return [{name: event.get(name) for name in EVENT_FIELDS if name in event} for event in events[:MOST_EVENTS]]


def finished_events(stage, nova, identity, request_id):
    """The events with their ends. The compute service writes an end a moment after the state that it led to."""

    def look():
        events[:] = events_of(nova, identity, request_id)
        ended = sum(bool(event.get("finish_time")) for event in events)
        return ended == len(events), f"{ended} of {len(events)}", None

    events = []
    with contextlib.suppress(DeadlinePassed):
        wait_until("the ends of the server's events", look, Deadline(EVENT_SECONDS), stage.waits, lambda _text: None)
    return events


def look_at(stage, nova, identity, name):
    server = read_server(nova, identity)
    if server["status"] == "ERROR":
        fault = server.get("fault") or {}
        fault_message = words_of(fault.get("message") or "no fault is given")
        request = stage.details["request_id"]
        raise StageError(
            "build_failed",
            f"the server {name} is in the state ERROR, the cloud said: {fault_message}",
            resource=name,
            said=fault_message,
            request_id=request,
            hint=f"Look for {request} in the logs of nova-conductor, nova-scheduler and nova-compute.",
            fault=fault,
        )
    return server["status"] == "ACTIVE", state_of(server), server


def attach_volume(stage, nova, server_id, volume):
    cinder = stage.cloud.block_storage
    stage.begin(f"attaching the volume {volume['name']}")
    attached = read_server(nova, server_id)["os-extended-volumes:volumes_attached"]
    if volume["id"] not in [attached_volume["id"] for attached_volume in attached]:
        body = {"volumeAttachment": {"volumeId": volume["id"]}}
        answer_of(nova.post(f"/servers/{server_id}/os-volume_attachments", json=body))

    def look():
        current = cinder.get_volume(volume["id"])
        if current.status.startswith("error") or current.status == "available":
            # Nova reserves the volume before it answers: available means that it gave up.
            message = f"the volume {volume['name']} is {current.status}, not attached"
            hint = "Look for the volume's id in the logs of nova-compute and cinder-volume."
            raise StageError("service", message, resource=volume["name"], hint=hint)
        return current.status == "in-use", current.status, current

    stage.wait(f"the volume {volume['name']} to be in use", look)


def make_server(stage, nova, flavor):
    run, name = stage.run, f"{stage.run.mark}-server"
    stage.details["request_id"] = f"req-{uuid.uuid4()}"
    body = server_body(run, flavor, name, stage.params, guest.nonces(run.id, run.record["started"]))

    def make():
        options = {"microversion": HOST_SINCE} if stage.params["host"] else {}
        answer = nova.post("/servers", json={"server": body}, headers=headers_of(stage), **options)
        return SimpleNamespace(id=answer_of(answer)["server"]["id"], name=name)

    def find():
        # A listing by name matches patterns, so the name is compared again.
        servers = answer_of(nova.get("/servers", params={"name": f"^{name}$"}))["servers"]
        return next((SimpleNamespace(id=server["id"], name=name) for server in servers if server["name"] == name), None)

    return stage.create("server", name, make, find)


def headers_of(stage):
    """The headers by which the request is known in the logs, and by OSProfiler if there is a key."""
    headers, key = {"X-OpenStack-Request-ID": stage.details["request_id"]}, stage.params["profiler_key"]
    if key:
        stage.details["trace"] = str(uuid.uuid4())
        headers.update(osprofiler.headers(key, stage.details["trace"]))
    return headers


def follow(stage, nova, server):
    """Wait until the server is active, and give it what it still needs."""
    active = stage.wait(f"the server {server.name} to be active", lambda: look_at(stage, nova, server.id, server.name))
    # A cloud that ignores the filter lists the ports of others, too.
    ports = [port for port in stage.cloud.network.ports(device_id=server.id) if port.device_id == server.id]
    stage.details["server"] = describe(active, ports)
    connect(stage, nova, server, ports)


def describe(server, ports):
    """The server's place and addresses, as the record has them."""
    return {
        "id": server["id"],
        "zone": server.get("OS-EXT-AZ:availability_zone"),
        "host": server.get("OS-EXT-SRV-ATTR:host"),
        "host_id": server.get("hostId"),
        "launched": server.get("OS-SRV-USG:launched_at"),
        "ports": [port.id for port in ports],
        "fixed_ips": [address["ip_address"] for port in ports for address in port.fixed_ips],
    }


def connect(stage, nova, server, ports):
    """Give the server the run's volume, if it comes after the boot, and the run's floating IP."""
    volume, address = stage.run.resource("volume"), stage.run.resource("floating_ip")
    if volume and stage.params["attach"] == "after":
        attach_volume(stage, nova, server.id, volume)
    if address:
        stage.begin("giving the floating IP to the server")
        if not ports:
            message = f"the server {server.name} is active, but the network service lists no port of it"
            raise StageError("service", message, resource=server.name, hint="Check: openstack port list --server.")
        stage.cloud.network.update_ip(address["id"], port_id=ports[0].id)


def act(stage):
    nova = stage.cloud.compute
    stage.begin("looking for the flavor")
    flavor = stage.use("flavor", find_flavor(stage, stage.params["flavor"]))
    stage.details["flavor"] = {"name": flavor.name, "ram": flavor.ram, "vcpus": flavor.vcpus, "disk": flavor.disk}
    if stage.check:
        stage.changed = True
        return
    stage.details["attach"] = stage.params["attach"] if stage.run.resource("volume") else None
    server = make_server(stage, nova, flavor)
    # The answer names the request as the server's own records know it.
    local_id = next((call.get("request_id") for call in reversed(stage.calls) if call["method"] == "POST"), None)
    try:
        follow(stage, nova, server)
    finally:
        # However the boot ends. They come last, as the compute service writes their ends a moment late.
        stage.details["events"] = finished_events(stage, nova, server.id, local_id)


def main():
    options = {
        "flavor": {"type": "str"},
        "attach": {"type": "str", "choices": stage_options.ATTACHED, "default": "at_boot"},
        "availability_zone": {"type": "str"},
        "host": {"type": "str"},
        "profiler_key": {"type": "str", "no_log": True},
    }
    run_stage("boot", act, options, timeout=300)


if __name__ == "__main__":
    main()
