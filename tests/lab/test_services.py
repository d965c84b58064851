# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every service runs on its host and on no other, listens where it should, and nothing has failed."""

from __future__ import annotations

import pytest
from lab_under_test import GROUPS, HOSTS, NETWORK

# Written out here on purpose, and not read from the role: this is what the lab promises.
SERVICES = {
    "controller": [
        "mariadb",
        "rabbitmq-server",
        "memcached",
        "redis-server",
        "slapd",
        "keystone",
        "glance-api",
        "placement-api",
        "nova-api",
        "nova-api-metadata",
        "nova-conductor",
        "nova-scheduler",
        "neutron-api",
        "neutron-rpc-server",
        "cinder-api",
        "cinder-scheduler",
        "cinder-volume",
    ],
    "network": [],
    "compute": ["nova-compute", "libvirtd", "lab-taps"],
    "storage": ["ceph-mon@a", "ceph-mgr@a", "ceph-osd@0", "ceph-radosgw@rgw.a"],
}
SHARED = {
    ("network", "compute"): ["openvswitch-switch", "ovs-vswitchd", "ovsdb-server", "lab-tunnels"],
    ("controller", "network", "compute", "storage"): ["ssh"],
}
PORTS = {
    "controller": [3306, 5672, 11211, 6379, 389, 5000, 9292, 8778, 8774, 8775, 9696, 8776],
    "storage": [3300, 6789, 7480],
}
if NETWORK == "ovn":
    SERVICES["controller"] += [
        "neutron-ovn-maintenance-worker",
        "ovn-ovsdb-server-nb",
        "ovn-ovsdb-server-sb",
        "ovn-northd",
    ]
    SERVICES["compute"] += ["neutron-ovn-metadata-agent"]
    SHARED["network", "compute"] += ["ovn-controller"]
    PORTS["controller"] += [6641, 6642]
else:
    SERVICES["network"] += ["neutron-dhcp-agent", "neutron-l3-agent", "neutron-metadata-agent"]
    SHARED["network", "compute"] += ["neutron-openvswitch-agent"]


def groups_of(host):
    return {group for group, members in GROUPS.items() if host in members}


def homes():
    """Each service with the groups whose hosts carry it."""
    table = {service: {group} for group, services in SERVICES.items() for service in services}
    table.update({service: set(groups) for groups, services in SHARED.items() for service in services})
    return table


@pytest.mark.parametrize("name", HOSTS)
def test_services_run_here_and_nowhere_else(lab_hosts, name):
    host, groups = lab_hosts[name], groups_of(name)
    table = homes()
    units = sorted(table)
    states = dict(zip(units, host.run("systemctl is-active " + " ".join(units)).stdout.split(), strict=True))
    expected = {service for service, homes_of in table.items() if homes_of & groups}
    assert {service for service, state in states.items() if state == "active"} == expected


@pytest.mark.parametrize("name", HOSTS)
def test_nothing_has_failed(lab_hosts, name):
    assert lab_hosts[name].check_output("systemctl list-units --failed --no-legend --plain") == ""


@pytest.mark.parametrize("name", HOSTS)
def test_ports_listen(lab_hosts, name):
    host = lab_hosts[name]
    for port in [22] + [port for group in groups_of(name) for port in PORTS.get(group, [])]:
        sockets = host.check_output(f"ss --no-header --listening --tcp --numeric 'sport = :{port}'")
        assert sockets, f"nothing listens on port {port} of {name}"


@pytest.mark.parametrize("name", HOSTS)
def test_operator_is_no_root_and_may_use_sudo(lab_plain_hosts, name):
    host = lab_plain_hosts[name]
    assert host.user().name == "stack"
    assert host.check_output("sudo --non-interactive id --user") == "0"


def test_one_host_keeps_the_time_of_another_zone(lab_hosts):
    zones = {host.check_output("date +%z") for host in lab_hosts.values()}
    assert len(zones) == min(len(HOSTS), 2)
