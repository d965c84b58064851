# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What OVN says of packets that a guest would send: its words were recorded on a lab, for ports in these states."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.chains import traces
from ansible_collections.stackproof.provision.plugins.module_utils._collect.chains.packets import packets_of
from ansible_collections.stackproof.provision.plugins.module_utils._model.instance import (
    LOCALPORT,
    ROUTER_INTERFACE,
    Network,
    Port,
    ServingPort,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.stores import Trace
from tree import RECORDED

PARTS = re.split(r"^=== (.+)\n", (RECORDED / "commands/ovn-trace.txt").read_text(), flags=re.MULTILINE)
TEXTS = dict(zip(PARTS[1::2], PARTS[2::2], strict=True))
EVAL = "ls_in_acl_eval: reg0[9] == 1 && "


@pytest.mark.parametrize(
    ("name", "outcome", "table", "rule"),
    [
        ("dhcp answered", "answered", None, None),
        ("metadata sent", "sent", None, None),
        ("ping sent", "sent", None, None),
        # It reaches the router, which is no way out yet.
        ("ping without a route", "dropped", 15, "lr_in_ip_routing: 1, priority 0"),
        ("dhcp without a rule", "dropped", 8, f"{EVAL}(inport == @neutron_pg_drop && ip), priority 2001"),
        ("metadata without a rule", "dropped", 8, f"{EVAL}(inport == @neutron_pg_drop && ip), priority 2001"),
        # The rule is quoted, and not the table after it that carries it out.
        ("dhcp and a foreign rule", "dropped", 8, f"{EVAL}(udp.dst == 67), priority 3100"),
        ("dhcp of a disabled port", "dropped", 1, "ls_in_apply_port_sec: reg0[15] == 1, priority 50"),
        # Nobody answers it, but it goes out as a broadcast.
        ("dhcp without options", "sent", None, None),
    ],
)
def test_outcome_of_a_trace_through_logical_flows(name, outcome, table, rule):
    assert traces.parsed_logical(TEXTS[name], "p", "dhcp") == Trace("p", "dhcp", outcome, table, rule)


def test_only_a_drop_that_no_rule_of_a_group_prevents_is_unallowed():
    found = {name: traces.parsed_logical(text, "p", "dhcp").is_unallowed for name, text in TEXTS.items()}
    assert {name for name, unallowed in found.items() if unallowed} == {
        "dhcp without a rule",
        "metadata without a rule",
    }


PORT = Port(
    "1d", "fa:16:3e:00:00:01", ("192.0.2.9",), "ee", "compute1", "ovs", "ACTIVE", None, None, 1, ("203.0.113.6",)
)
SERVING = (
    ServingPort("2d", LOCALPORT, "fa:16:3e:00:00:02", addresses=("192.0.2.2",)),
    ServingPort("3d", ROUTER_INTERFACE, "fa:16:3e:00:00:03", addresses=("192.0.2.1",)),
)
NETWORK = Network("ee", 1500, (), (), True, ("ff",), serving=SERVING)


def test_packet_of_each_kind_in_the_words_of_ovn():
    dhcp, metadata, ping = [packet.into_network(PORT.id) for packet in packets_of(PORT, NETWORK)]
    begin = 'inport == "1d" && eth.src == fa:16:3e:00:00:01 && '
    assert dhcp == (
        f"{begin}eth.dst == ff:ff:ff:ff:ff:ff && ip4.src == 0.0.0.0 && ip4.dst == 255.255.255.255 && ip.ttl == 64 && "
        "udp.src == 68 && udp.dst == 67"
    )
    assert metadata == (
        f"{begin}eth.dst == fa:16:3e:00:00:02 && ip4.src == 192.0.2.9 && ip4.dst == 169.254.169.254 && ip.ttl == 64 && "
        "tcp.src == 40000 && tcp.dst == 80"
    )
    # To a neighbor of the floating IP, which even a router without a way to the world reaches
    assert ping == (
        f"{begin}eth.dst == fa:16:3e:00:00:03 && ip4.src == 192.0.2.9 && ip4.dst == 203.0.113.7 && ip.ttl == 64 && "
        "icmp4.type == 8 && icmp4.code == 0"
    )


@pytest.mark.parametrize(
    ("port", "network", "names"),
    [
        (PORT, replace(NETWORK, distributed=False), ["dhcp", "ping"]),
        (replace(PORT, floating_ips=()), NETWORK, ["dhcp", "metadata"]),
        (replace(PORT, addresses=("2001:db8::9",)), NETWORK, ["dhcp"]),
        (PORT, replace(NETWORK, serving=()), ["dhcp"]),
    ],
)
def test_no_packet_is_made_up_for_what_a_port_does_not_have(port, network, names):
    assert [packet.name for packet in packets_of(port, network)] == names


def test_network_that_ovn_does_not_know_is_no_drop():
    with pytest.raises(ValueError, match='unknown datapath "neutron-xx"'):
        traces.parsed_logical('unknown datapath "neutron-xx"\n', "p", "dhcp")
