# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts the API's answers mean, as the inventory calls them."""

from __future__ import annotations

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._match import places
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.instance import Network, Server
from cases_by_hand import agent


def is_on(server, names):
    return places.is_on(from_json(Server, server), names)


def serves_dhcp(network, names):
    return places.serves_dhcp(from_json(Network, network), names)


def host_of(hosts, **more):
    return places.host_of(as_json.typed({"hosts": hosts, **more}))


@pytest.mark.parametrize(
    ("names", "on"), [(["compute2"], True), (["x", "compute2"], True), (["compute1"], False), ([], False)]
)
def test_a_host_is_known_by_the_hash_that_nova_really_made(instance, names, on):
    assert instance["server"]["host"] is None
    assert is_on(instance["server"], names) is on


def test_the_hash_is_that_of_the_project_too(instance):
    assert not is_on({**instance["server"], "project_id": "0" * 32}, ["compute2"])


def test_an_administrator_needs_no_hash(api):
    server = {**api["seen_by_admin"]["server"], "host_id": ""}
    assert is_on(server, ["compute2", "compute2.example.org"])
    assert not is_on(server, ["compute1"])


@pytest.mark.parametrize(
    ("names", "serves"),
    [(["network1"], True), (["network1.example.org"], True), (["compute1", "network1"], True), (["network2"], False)],
)
def test_a_dhcp_agent_is_known_by_the_id_that_neutron_really_made(instance, names, serves):
    assert serves_dhcp(instance["networks"][0], names) is serves


def test_the_id_is_that_of_the_network_too(instance):
    assert not serves_dhcp({**instance["networks"][0], "id": "another"}, ["network1"])


def test_without_a_port_nobody_knows_who_serves(instance):
    assert serves_dhcp({**instance["networks"][0], "dhcp_ports": []}, ["network1"]) is None


def host(name, names=(), **facts):
    return as_json.host(name, facts={"names": list(names), **facts})


HERE, THERE = host("compute1", names=["compute1.example"], domain={"uuid": "x"}), host("compute2")


def server(name):
    return {"instance": as_json.instance(server=as_json.server(host=name, host_id="h"))}


@pytest.mark.parametrize(
    ("hosts", "record", "expected"),
    [
        ([], {}, None),
        ([], server("compute1"), None),
        ([HERE, THERE], {}, "compute1"),
        ([THERE], server("compute2"), "compute2"),
        ([host("c9", names=["n9.example"])], server("n9.example"), "c9"),
        ([THERE], server(None), None),
        ([THERE], {"instance": None}, None),
        ([as_json.host("lost")], server("x"), None),
    ],
)
def test_the_host_of_the_instance_is_known_by_its_domain_or_by_nova(hosts, record, expected):
    assert host_of(hosts, **record) == expected


def test_a_host_that_placement_holds_for_the_instance_is_its_host():
    instance = {**server(None)["instance"], "claimed_on": ["compute2"]}
    assert host_of([host("compute1"), THERE], instance=instance) == "compute2"


def test_a_plain_user_knows_the_host_by_its_hash(instance):
    assert host_of([host("compute1"), THERE], instance=instance) == "compute2"


def network(distributed=False, dhcp_ports=()):
    return as_json.network(distributed=distributed, dhcp_ports=list(dhcp_ports))


@pytest.mark.parametrize(
    ("networks", "agents", "services", "back_end"),
    [
        ([], [], [], None),
        ([network()], [], [], None),
        ([network(distributed=True)], ["neutron-l2-agent"], [], "ovn"),
        ([network(dhcp_ports=["dhcp1"])], [], [], "agents"),
        # A boot that failed has no networks any more.
        ([], ["neutron-dhcp-agent", "neutron-l2-agent"], [], "agents"),
        ([], ["ovn-controller", "neutron-ovn-metadata-agent"], [], "ovn"),
        ([], [], ["ovn-controller"], "ovn"),
        # OVN may have DHCP agents for bare metal.
        ([], ["neutron-dhcp-agent", "ovn-controller"], [], "ovn"),
    ],
)
def test_the_back_end_is_known_by_the_networks_or_by_the_agents(networks, agents, services, back_end):
    record = {
        "instance": as_json.instance(networks=networks),
        "agents": [agent(component=name) for name in agents],
        "hosts": [host("compute1", services=[{"component": name} for name in services])],
    }
    assert places.back_end_of(as_json.typed(record)) == back_end
