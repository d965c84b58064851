# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is missing to a lab's wires: of a recorded lab of five hosts, and of what is left when parts of it are lost."""

from __future__ import annotations

import json

import pytest
from ansible_collections.stackproof.lab.plugins.module_utils._machine import Lab
from ansible_collections.stackproof.lab.plugins.modules import network as module

LAB = Lab("lab", "10.71.16.0/22")
HOSTS = ("storage1", "controller1", "network1", "compute1", "compute2")
SWITCH = "lab-switch"
COMPUTE1_ETH0 = [
    "ip -n lab-compute1 link add eth0 type veth peer name mgmt-3 netns lab-switch",
    "ip -n lab-compute1 link set eth0 addrgenmode none",
    "ip -n lab-switch link set mgmt-3 addrgenmode none",
    "ip -n lab-switch link set mgmt-3 master mgmt up",
    "ip -n lab-compute1 address add 10.71.16.14/24 dev eth0",
    "ip -n lab-compute1 link set eth0 up",
]
MACHINE_DATA = [
    "ip link add lab-data type veth peer name data-machine netns lab-switch",
    "ip link set lab-data addrgenmode none",
    "ip -n lab-switch link set data-machine addrgenmode none",
    "ip -n lab-switch link set data-machine master data up",
    "ip address add 10.71.17.254/24 dev lab-data",
    "ip link set lab-data up",
    "ethtool -K lab-data tx off",
]


class Machine:
    """Namespaces, the interfaces in each (in None: of the machine), and whether the route is there."""

    def __init__(self, namespaces, links, guarded):
        self.namespaces, self.links, self.guarded = namespaces, links, guarded

    def present(self, hosts=HOSTS):
        def links_of(namespace):
            return self.links.get(namespace, {})

        plan = module.plan_present(LAB, hosts, self.namespaces, links_of, self.guarded)
        return [" ".join(command) for command in plan]

    def absent(self):
        plan = module.plan_absent(LAB, self.namespaces, self.links[None], self.guarded)
        return [" ".join(command) for command in plan]


@pytest.fixture
def complete(recorded, monkeypatch):
    answers = recorded("network.txt")
    monkeypatch.setattr(module, "run_json", lambda argv: json.loads(answers[" ".join(argv)]))
    namespaces = {entry["name"] for entry in json.loads(answers["ip -j netns list"])}
    return Machine(namespaces, {name: module.links(name) for name in [None, *namespaces]}, guarded=True)


@pytest.fixture
def bare(complete):
    own = {name: link for name, link in complete.links[None].items() if not name.startswith("lab-")}
    return Machine(set(), {None: own}, guarded=False)


def test_complete_lab_needs_nothing(complete):
    assert complete.present() == []


def test_whole_plan_for_one_host(bare):
    assert bare.present(["one"]) == [
        "ip route replace unreachable 10.71.16.0/22",
        "ip netns add lab-switch",
        "ip -n lab-switch link set lo up",
        "ip netns add lab-one",
        "ip -n lab-one link set lo up",
        "ip -n lab-switch link add mgmt type bridge",
        "ip -n lab-switch link set mgmt addrgenmode none",
        "ip -n lab-switch link set mgmt up",
        "ip -n lab-switch link add data type bridge",
        "ip -n lab-switch link set data addrgenmode none",
        "ip -n lab-switch link set data up",
        "ip link add lab-mgmt type veth peer name mgmt-machine netns lab-switch",
        "ip link set lab-mgmt addrgenmode none",
        "ip -n lab-switch link set mgmt-machine addrgenmode none",
        "ip -n lab-switch link set mgmt-machine master mgmt up",
        "ip address add 10.71.16.254/24 dev lab-mgmt",
        "ip link set lab-mgmt up",
        "ethtool -K lab-mgmt tx off",
        *MACHINE_DATA,
        "ip -n lab-one link add eth0 type veth peer name mgmt-0 netns lab-switch",
        "ip -n lab-one link set eth0 addrgenmode none",
        "ip -n lab-switch link set mgmt-0 addrgenmode none",
        "ip -n lab-switch link set mgmt-0 master mgmt up",
        "ip -n lab-one address add 10.71.16.11/24 dev eth0",
        "ip -n lab-one link set eth0 up",
        "ip -n lab-one link add eth1 type veth peer name data-0 netns lab-switch",
        "ip -n lab-one link set eth1 addrgenmode none",
        "ip -n lab-switch link set data-0 addrgenmode none",
        "ip -n lab-switch link set data-0 master data up",
        "ip -n lab-one link set eth1 up",
    ]


def test_plan_for_five_hosts_makes_what_a_complete_lab_has(bare, complete):
    words = [command.split() for command in bare.present()]
    assert {command[3] for command in words if command[:3] == ["ip", "netns", "add"]} == complete.namespaces
    ports = {command[command.index("peer") + 2] for command in words if "veth" in command}
    assert ports | {"lo", "mgmt", "data"} == set(complete.links[SWITCH])
    for index, host in enumerate(HOSTS):
        (address,) = module.addresses(complete.links[f"lab-{host}"]["eth0"])
        assert address == f"{LAB.host_address(index)}/24"
        assert ["ip", "-n", f"lab-{host}", "address", "add", address, "dev", "eth0"] in words


def test_interface_names_fit_the_kernel():
    lab = Lab("abcdefghij")
    plan = module.plan_present(lab, ["a-host-of-a-very-long-name"], set(), lambda _namespace: {}, False)
    added = [name for command in plan if "veth" in command for name in (command[command.index("add") + 1], command[-3])]
    assert len(added) == 8
    assert all(len(name) <= 15 for name in added)


def test_route_is_missing(complete):
    complete.guarded = False
    assert complete.present() == ["ip route replace unreachable 10.71.16.0/22"]


def test_sixth_host_touches_no_other(complete):
    plan = complete.present([*HOSTS, "compute3"])
    assert plan[:2] == ["ip netns add lab-compute3", "ip -n lab-compute3 link set lo up"]
    assert "ip -n lab-compute3 address add 10.71.16.16/24 dev eth0" in plan
    assert all("lab-compute3" in command or " mgmt-5 " in command or " data-5 " in command for command in plan)


def test_lost_pair_is_made(complete):
    del complete.links["lab-compute1"]["eth0"], complete.links[SWITCH]["mgmt-3"]
    assert complete.present() == COMPUTE1_ETH0


def test_lost_pair_of_the_machine_is_made_without_checksums(complete):
    del complete.links[None]["lab-data"], complete.links[SWITCH]["data-machine"]
    assert complete.present() == MACHINE_DATA


def near_down(lab):
    lab.links["lab-compute1"]["eth0"]["flags"].remove("UP")


def port_down(lab):
    lab.links[SWITCH]["mgmt-3"]["flags"].remove("UP")


def no_bridge(lab):
    del lab.links[SWITCH]["mgmt-3"]["master"]


def wrong_bridge(lab):
    lab.links[SWITCH]["mgmt-3"]["master"] = "data"


def no_address(lab):
    lab.links["lab-compute1"]["eth0"]["addr_info"].clear()


def other_address(lab):
    lab.links["lab-compute1"]["eth0"]["addr_info"][0]["local"] = "10.99.0.14"


@pytest.mark.parametrize("spoil", [near_down, port_down, no_bridge, wrong_bridge, no_address, other_address])
def test_half_done_pair_is_made_again(complete, spoil):
    spoil(complete)
    assert complete.present() == ["ip -n lab-compute1 link delete eth0", *COMPUTE1_ETH0]


def test_pair_without_address_needs_none(complete):
    assert complete.links["lab-compute1"]["eth1"]["addr_info"] == []
    complete.links[SWITCH]["data-3"]["flags"].remove("UP")
    plan = complete.present()
    assert plan[0] == "ip -n lab-compute1 link delete eth1"
    assert not any(" address " in command for command in plan)


def test_bridge_that_is_down_comes_up(complete):
    complete.links[SWITCH]["mgmt"]["flags"].remove("UP")
    assert complete.present() == [
        "ip -n lab-switch link set mgmt addrgenmode none",
        "ip -n lab-switch link set mgmt up",
    ]


def test_absent_takes_all_and_nothing_else(complete):
    complete.namespaces |= {"labor-switch", "qrouter-1"}
    assert complete.absent() == [
        "ip link delete lab-mgmt",
        "ip link delete lab-data",
        "ip netns delete lab-compute1",
        "ip netns delete lab-compute2",
        "ip netns delete lab-controller1",
        "ip netns delete lab-network1",
        "ip netns delete lab-storage1",
        "ip netns delete lab-switch",
        "ip route delete unreachable 10.71.16.0/22",
    ]


def test_absent_of_nothing(bare):
    assert bare.absent() == []


def test_absent_of_what_was_left_behind(bare):
    bare.namespaces = {"lab-switch"}
    assert bare.absent() == ["ip netns delete lab-switch"]
