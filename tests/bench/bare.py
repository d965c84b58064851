#!/usr/bin/env python
# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What verify does on tier 0, by a bare script: the yardstick for its overhead.

bare.py CLOUD

It uses openstacksdk as a plain script would, polls every 0.25 s, and prints the seconds of its parts as JSON.
"""

from __future__ import annotations

import base64
import json
import sys
import time
import uuid

import openstack

POLL = 0.25
SCRIPT = "#!/bin/sh\necho bare-guest: user data was read\n"


def wait_for(look):
    while not look():
        time.sleep(POLL)


def is_gone(get, identity):
    try:
        get(identity)
    except openstack.exceptions.NotFoundException:
        return True
    return False


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

    network = cloud.network.create_network(name=name)
    subnet = cloud.network.create_subnet(name=name, network_id=network.id, ip_version=4, cidr="192.168.222.0/24")
    group = cloud.network.create_security_group(name=name)
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
    wait_for(lambda: cloud.block_storage.get_volume(volume.id).status == "available")
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
    wait_for(lambda: cloud.compute.get_server(server.id).status == "ACTIVE")
    list(cloud.network.ports(device_id=server.id))
    lap("boot")

    wait_for(lambda: "bare-guest: " in (cloud.compute.get_server_console_output(server.id)["output"] or ""))
    lap("metadata")

    cloud.compute.delete_server(server.id)
    wait_for(lambda: is_gone(cloud.compute.get_server, server.id))
    cloud.block_storage.delete_volume(volume.id)
    wait_for(lambda: is_gone(cloud.block_storage.get_volume, volume.id))
    cloud.network.delete_security_group(group.id)
    cloud.network.delete_subnet(subnet.id)
    cloud.network.delete_network(network.id)
    lap("cleanup")
    print(json.dumps(times))


if __name__ == "__main__":
    main()
