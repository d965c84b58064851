# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The containers of a host of kolla-ansible 22, as docker 26 listed them."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.commands import UnreadError
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import containers
from ansible_collections.stackproof.provision.plugins.module_utils._model.facts import ServiceUnit
from tree import RECORDED

LISTED = (RECORDED / "hosts/kolla/containers.txt").read_text()
COMPUTE = ServiceUnit("nova-compute", "kolla-nova_compute-container.service", "running", 60.0, 5.0, 0)


@pytest.fixture
def read(replay, platform):
    """Return a function that reads what docker lists, for some units."""

    def of(listed, *units):
        host = replay(None, {"id -u": "0", "docker ps": listed})
        return containers.read(host, platform("kolla")["containers"], units)

    return of


def states(services):
    return {service.unit: service.state for service in services}


def test_a_platform_without_containers_is_not_asked_for_them(replay):
    assert containers.read(replay(), None, [COMPUTE]) == (COMPUTE,)


def test_containers_that_agents_start_are_services_of_their_components(read):
    others = read(LISTED)
    assert {(service.component, service.unit.split("_qdhcp")[0].split("_qrouter")[0]) for service in others} == {
        ("dnsmasq", "neutron_dhcp_agent_dnsmasq"),
        ("metadata-proxy", "neutron_dhcp_agent_haproxy"),
        ("metadata-proxy", "neutron_l3_agent_haproxy"),
    }
    assert {service.state for service in others} == {"running"}


def test_a_unit_has_the_container_of_its_name(read):
    service, *_others = read(LISTED, COMPUTE)
    assert (service.state, service.for_s, service.container) == ("running", 60.0, "nova_compute")


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("nova_compute\tpaused\tUp 2 minutes (Paused)", "paused"),
        ("nova_compute\trunning\tUp 2 minutes (unhealthy)", "unhealthy"),
        ("nova_compute\trunning\tUp 2 minutes (health: starting)", "running"),
        ("nova_compute\texited\tExited (1) 2 seconds ago", "stopped"),
        ("nova_compute\trestarting\tRestarting (1) 2 seconds ago", "failed"),
        ("nova_libvirt\tpaused\tUp 2 minutes (Paused)", "running"),
    ],
)
def test_a_unit_that_runs_is_in_the_state_of_its_container(read, line, state):
    (service,) = read(f"{line}\n", COMPUTE)
    assert service.state == state
    assert (service.since is None) == (state != "running")


def test_a_unit_that_does_not_run_says_so_itself(read):
    stopped = ServiceUnit("nova-compute", COMPUTE.unit, "stopped", 60.0, 5.0, 0)
    (service,) = read("nova_compute\texited\tExited (0) 1 minute ago\n", stopped)
    assert (service.state, service.for_s) == ("stopped", 60.0)


def test_what_the_engine_does_not_list_is_not_guessed(read):
    assert states(read("strange\n", COMPUTE)) == {COMPUTE.unit: "running"}


def test_an_engine_that_cannot_be_asked_is_an_unread_one(replay, platform):
    host = replay(None, {"id -u": "0", "docker ps": (1, "", "Cannot connect to the Docker daemon")})
    with pytest.raises(UnreadError, match="Cannot connect"):
        containers.read(host, platform("kolla")["containers"], [COMPUTE])
