# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps packets from a router or from dnsmasq, as the packet filter of a real router shows it."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.chains import obstacles
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.instance import DescribedInstance
from as_json import instance, network
from recorded_hosts import printed
from tree import RECORDED

NAMES = printed("network1-router", "ls").split()
(ROUTER,) = (name.removeprefix("qrouter-") for name in NAMES if "qrouter" in name)
(NETWORK,) = (name.removeprefix("qdhcp-") for name in NAMES if "qdhcp" in name)
# With one rule of somebody else's, among those of the L3 agent
FILTERED = (RECORDED / "commands" / "iptables-save.txt").read_text()
FOREIGN = "-A FORWARD -p tcp -m tcp --dport 22 -j DROP"
EMPTY = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n-A FORWARD -j neutron-l3-agent-FORWARD\nCOMMIT\n"


@pytest.fixture
def read(replay):
    """Return a function that reads the obstacles of a network and its router, by what the programs print."""

    def of(filtered="", filtered6="", forward="1\n", router=ROUTER):
        instead = {"iptables-save": (0, filtered, ""), "ip6tables-save": (0, filtered6, ""), "cat": (0, forward, "")}
        host = replay("network1-router", instead)
        described = instance(networks=[network(id=NETWORK, routers=[router])])
        return obstacles.read(host, from_json(DescribedInstance, described))

    return of


def test_the_rules_of_the_agents_are_no_obstacles(read):
    without = "\n".join(line for line in FILTERED.splitlines() if line != FOREIGN)
    assert "-j DROP" in without
    assert read(without, EMPTY) == ()


@pytest.mark.parametrize(
    ("printed_rules", "text"), [(FILTERED, FOREIGN), (EMPTY.replace("FORWARD ACCEPT", "FORWARD DROP"), ":FORWARD DROP")]
)
def test_a_foreign_rule_and_a_policy_are_found_in_either_version_of_ip(read, printed_rules, text):
    for found, program in ((read(printed_rules), "iptables-save"), (read("", printed_rules), "ip6tables-save")):
        spaces = {one.namespace for one in found}
        assert spaces == {f"qdhcp-{NETWORK}", f"qrouter-{ROUTER}"}
        assert {one.text for one in found} == {text}
        assert {one.command for one in found} == {f"ip netns exec {space} {program}" for space in spaces}


def test_a_router_that_does_not_forward_is_found_and_dnsmasq_need_not(read):
    (found,) = read(forward="0\n")
    assert (found.namespace, found.text) == (f"qrouter-{ROUTER}", "net.ipv4.ip_forward is 0")


def test_what_is_on_another_host_is_unknown(replay):
    host = replay("network1-router", {"ls": (0, "", "")})
    described = instance(networks=[network(id=NETWORK, routers=[ROUTER])])
    assert obstacles.read(host, from_json(DescribedInstance, described)) is None
