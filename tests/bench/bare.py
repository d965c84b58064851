#!/usr/bin/env python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What verify does on tier 0, by a bare script: the yardstick for its overhead.

bare.py CLOUD

It uses openstacksdk as a plain script would, polls every 0.25 s, and prints the seconds of its parts as JSON. What it
made is removed also where it fails.
"""

from __future__ import annotations

import base64
import contextlib
import json
import sys
import time
import uuid

import openstack

POLL = 0.25
# No part of it may take longer.
LIMIT = 300
SCRIPT = "#!/bin/sh\necho bare-guest: user data was read\n"


def wait_for(what, look):
    deadline = time.monotonic() + LIMIT
    while not look():
        if time.monotonic() > deadline:
            sys.exit(f"{what}: not within {LIMIT} s")
        time.sleep(POLL)


def wait_for_status(get, identity, wanted):
    """Wait for a status, or end at once at an error, after which it would not come any more."""

    def look():
        found = get(identity)
        if found.status.upper() == "ERROR":
            sys.exit(f"{found.name} ({identity}) has the status {found.status} and not {wanted}")
        return found.status == wanted

    wait_for(f"{identity} to be {wanted}", look)


def is_gone(get, identity):
    try:
        get(identity)
    except openstack.exceptions.NotFoundException:
        return True
    return False


def remove(delete, get, identity):
    delete(identity)
    wait_for(f"{identity} to be gone", lambda: is_gone(get, identity))


def main():
    times, begun = {}, time.monotonic()
    name = f"bare-{uuid.uuid4().hex[:8]}"

    def lap(part):
        nonlocal begun
        times[part] = round(time.monotonic() - begun, 3)
        begun = time.monotonic()

    cloud = openstack.connect(cloud=sys.argv[1])
    cloud.authorize()
    for service in ("identity", "image", "network", "block_storage", "compute"):
        getattr(cloud, service).get_endpoint_data()
    lap("auth")

    image = min(cloud.image.images(status="active"), key=lambda candidate: (candidate.size, candidate.name))
    lap("image")

    with contextlib.ExitStack() as made:  # the last thing made is removed first
        network = cloud.network.create_network(name=name)
        made.callback(cloud.network.delete_network, network.id)
        subnet = cloud.network.create_subnet(name=name, network_id=network.id, ip_version=4, cidr="192.168.222.0/24")
        made.callback(cloud.network.delete_subnet, subnet.id)
        group = cloud.network.create_security_group(name=name)
        made.callback(cloud.network.delete_security_group, group.id)
        for protocol, port in (("icmp", None), ("tcp", 22)):
            cloud.network.create_security_group_rule(
                security_group_id=group.id,
                direction="ingress",
                ether_type="IPv4",
                protocol=protocol,
                port_range_min=port,
                port_range_max=port,
            )
        lap("network")

        volume = cloud.block_storage.create_volume(name=name, size=1)
        made.callback(remove, cloud.block_storage.delete_volume, cloud.block_storage.get_volume, volume.id)
        wait_for_status(cloud.block_storage.get_volume, volume.id, "available")
        lap("volume")

        flavor = min(cloud.compute.flavors(), key=lambda candidate: (candidate.ram, candidate.name))
        server = cloud.compute.create_server(
            name=name,
            flavor_id=flavor.id,
            image_id=image.id,
            networks=[{"uuid": network.id}],
            security_groups=[{"name": group.id}],
            user_data=base64.b64encode(SCRIPT.encode()).decode(),
            block_device_mapping=[
                {"uuid": image.id, "source_type": "image", "destination_type": "local", "boot_index": 0},
                {"uuid": volume.id, "source_type": "volume", "destination_type": "volume", "boot_index": -1},
            ],
        )
        made.callback(remove, cloud.compute.delete_server, cloud.compute.get_server, server.id)
        wait_for_status(cloud.compute.get_server, server.id, "ACTIVE")
        list(cloud.network.ports(device_id=server.id))
        lap("boot")

        console = cloud.compute.get_server_console_output
        wait_for("the guest's line", lambda: "bare-guest: " in (console(server.id)["output"] or ""))
        lap("metadata")
    lap("cleanup")
    print(json.dumps(times))


if __name__ == "__main__":
    main()
