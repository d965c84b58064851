# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Instances on the lab: on every compute, with a volume and its metadata; a floating IP that answers, or must not."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import subprocess
import uuid

import openstack.exceptions
import pytest
from lab_under_test import GROUPS, on_the_lab, until

# The runs of verify boot instances in these ways, too. Here the lab is asked without the collection.
pytestmark = pytest.mark.soak
MARK = "lab-test"
COMPUTES = GROUPS.get("compute", [])


def probe_lines(text):
    """What the probe guest said of itself on its console, as step to record."""
    records = [json.loads(line.split("probe: ", 1)[1]) for line in text.splitlines() if line.startswith("probe: {")]
    return {record["step"]: record for record in records}


def console_text(cloud, server):
    return cloud.compute.get_server_console_output(server)["output"] or ""


def console(cloud, server):
    return probe_lines(console_text(cloud, server))


@contextlib.contextmanager
def made(create, delete):
    resource = create()
    try:
        yield resource
    finally:
        delete(resource)


@pytest.fixture(scope="module")
def network(member):
    """A network with router to the outside, for all instances of this file."""
    name = f"{MARK}-{uuid.uuid4().hex[:8]}"
    neutron = member.network
    with contextlib.ExitStack() as stack:
        net = stack.enter_context(made(lambda: neutron.create_network(name=name), neutron.delete_network))
        subnet = stack.enter_context(
            made(
                lambda: neutron.create_subnet(name=name, network_id=net.id, ip_version=4, cidr="192.168.77.0/24"),
                neutron.delete_subnet,
            )
        )
        public = neutron.find_network("public", ignore_missing=False)
        router = stack.enter_context(
            made(
                lambda: neutron.create_router(name=name, external_gateway_info={"network_id": public.id}),
                neutron.delete_router,
            )
        )
        neutron.add_interface_to_router(router, subnet=subnet.id)
        stack.callback(neutron.remove_interface_from_router, router, subnet=subnet.id)
        yield net


@pytest.fixture(scope="module")
def open_group(member):
    """A security group that lets ping and the guest's TCP service in."""
    neutron = member.network
    group = neutron.create_security_group(name=f"{MARK}-{uuid.uuid4().hex[:8]}")
    for protocol, port in (("icmp", None), ("tcp", 80)):
        neutron.create_security_group_rule(
            security_group_id=group.id,
            direction="ingress",
            ethertype="IPv4",
            protocol=protocol,
            port_range_min=port,
            port_range_max=port,
        )
    yield group
    neutron.delete_security_group(group)


def active(cloud, server):
    try:
        return cloud.compute.wait_for_server(server, wait=120, interval=1)
    except openstack.exceptions.ResourceFailure as exc:
        pytest.fail(f"{exc}: {cloud.compute.get_server(server).fault}")


@contextlib.contextmanager
def instance(cloud, network, group, image="probe", host=None, user_data=None):
    """An ACTIVE server, gone again afterwards. Only the administrator may ask for a host."""
    arguments = {
        "name": f"{MARK}-{uuid.uuid4().hex[:8]}",
        "image_id": cloud.image.find_image(image, ignore_missing=False).id,
        "flavor_id": cloud.compute.find_flavor("probe", ignore_missing=False).id,
        "networks": [{"uuid": network.id}],
        "security_groups": [{"name": group.name}],
    }
    if host:
        arguments["availability_zone"] = f"nova:{host}"
    if user_data:
        arguments["user_data"] = base64.b64encode(user_data.encode()).decode()
    server = cloud.compute.create_server(**arguments)
    try:
        yield active(cloud, server)
    finally:
        cloud.compute.delete_server(server)
        cloud.compute.wait_for_delete(server, interval=1, wait=60)


def answers_tcp(address, port=80, timeout=3):
    try:
        with socket.create_connection((on_the_lab(address), port), timeout=timeout) as connection:
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            return connection.recv(4096)
    except OSError:
        return b""


def answers_ping(address):
    done = subprocess.run(["ping", "-c", "1", "-W", "2", on_the_lab(address)], capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.parametrize("host", COMPUTES)
def test_instance_boots_on_each_compute_with_a_volume(lab_project_admin, admin, network, open_group, lab_hosts, host):
    cloud = lab_project_admin
    volume = cloud.block_storage.create_volume(name=MARK, size=1)
    try:
        cloud.block_storage.wait_for_status(volume, status="available", interval=1, wait=60)
        with instance(cloud, network, open_group, host=host) as server:
            assert admin.compute.get_server(server.id).hypervisor_hostname == host

            def said(step):
                return until(f"{step} on the guest's console", lambda: console(cloud, server).get(step), 90, pause=1)

            # A disk that comes while the guest still starts is one of those it finds, not one that was added.
            said("ready")
            cloud.compute.create_volume_attachment(server, volume_id=volume.id)
            cloud.block_storage.wait_for_status(volume, status="in-use", interval=1, wait=60)
            assert said("disk_added")["serial"] == volume.id[:20]
            assert said("metadata")["uuid"] == server.id
            domains = lab_hosts[host].check_output("virsh list --uuid --state-running").split()
            assert server.id in domains
        cloud.block_storage.wait_for_status(volume, status="available", interval=1, wait=60)
    finally:
        cloud.block_storage.delete_volume(volume)
        cloud.block_storage.wait_for_delete(volume, interval=1, wait=60)


def test_ldap_user_boots_from_the_object_store_and_is_reached_by_floating_ip(ldap_member, network, open_group):
    cloud = ldap_member
    script = "#!/bin/sh\necho user-data-ran\n"
    with instance(cloud, network, open_group, image="probe-rgw", user_data=script) as server:
        port = next(cloud.network.ports(device_id=server.id))
        public = cloud.network.find_network("public")
        floating = cloud.network.create_ip(floating_network_id=public.id, port_id=port.id)
        try:
            address = floating.floating_ip_address
            until("the guest's answer by TCP", lambda: server.id.encode() in answers_tcp(address), 90, pause=1)
            assert answers_ping(address)
            until("user data on the console", lambda: "user-data-ran" in console_text(cloud, server), 30, pause=1)

            closed = cloud.network.create_security_group(name=f"{MARK}-closed-{uuid.uuid4().hex[:8]}")
            cloud.network.update_port(port, security_groups=[closed.id])
            try:
                until("silence behind a group that forbids it", lambda: not answers_tcp(address, timeout=2), 30)
                assert not answers_ping(address)
            finally:
                cloud.network.update_port(port, security_groups=[open_group.id])
                cloud.network.delete_security_group(closed)
            until("the answer once it is allowed again", lambda: answers_tcp(address), 30)
        finally:
            cloud.network.delete_ip(floating)
