# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Open vSwitch on a host of the lab with OVN prints of itself."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.chains import switch
from recorded_hosts import printed
from tree import RECORDED

HOST = "compute2-ovn-stores"
PORTS = printed(HOST, "dump-ports-desc br-ex")


def test_ports_that_work_drop_nothing_though_the_own_port_of_a_bridge_is_down(replay):
    found = {interface.name: interface.drops for interface in switch.read(replay(HOST)).interfaces}
    assert found.pop("br-ex") == found.pop("br-int") == "all packets"
    assert set(found.values()) == {None}


# The flags as ovs-ofctl mod-port sets them
@pytest.mark.parametrize(
    ("flags", "drops"),
    [
        ("NO_RECV", "incoming packets"),
        ("NO_FWD", "outgoing packets"),
        ("PORT_DOWN", "all packets"),
        ("PORT_DOWN NO_RECV", "all packets"),
        ("NO_FLOOD", None),
    ],
)
def test_what_a_port_is_told_to_drop(replay, flags, drops):
    ports = PORTS.replace("config:     0", f"config:     {flags}", 1)
    read = switch.read(replay(HOST, {"dump-ports-desc br-ex": (0, ports, "")}))
    assert next(one.drops for one in read.interfaces if one.name == "eth1") == drops


def test_the_flows_of_each_bridge_are_counted(replay):
    assert {bridge.name: bridge.flows for bridge in switch.read(replay(HOST)).bridges} == {"br-int": 21, "br-ex": 1}


@pytest.mark.parametrize(
    ("answer", "flows"),
    [
        (
            (0, "NXST_AGGREGATE reply (xid=0x4): packet_count=0 byte_count=0 flow_count=0", ""),
            {"br-int": 0, "br-ex": 0},
        ),
        ((1, "", "ovs-ofctl: br-int is not a bridge or a socket"), {"br-int": None, "br-ex": None}),
        ((0, "it prints something else", ""), {"br-int": None, "br-ex": None}),
    ],
)
def test_no_flows_are_not_the_same_as_flows_that_cannot_be_counted(replay, answer, flows):
    found = switch.read(replay(HOST, {"dump-aggregate": answer})).bridges
    assert {bridge.name: bridge.flows for bridge in found} == flows


@pytest.mark.parametrize("state", ["up", "down"])
def test_the_state_of_a_session_between_two_gateways(replay, state):
    sessions = (RECORDED / f"commands/bfd-{state}.json").read_text()
    assert switch.sessions_of(replay(HOST, {"bfd_status": sessions})) == {"ovn-ede285-0": state}


@pytest.mark.parametrize(
    ("options", "watched"), [({}, False), ({"ovn-cms-options": "a=b,enable-chassis-as-gw,card-serial-number=1"}, True)]
)
def test_only_gateways_watch_each_other(options, watched):
    assert switch.is_gateway(options) is watched


def test_what_is_set_for_a_chassis_goes_before_what_is_set_for_all(replay):
    listed = printed(HOST, "list Open_vSwitch")
    for_chassis = listed.replace(
        '["ovn-bridge-mappings"', '["ovn-bridge-mappings-compute2","public:br-two"],["ovn-bridge-mappings"'
    )
    assert for_chassis != listed
    mappings = [
        switch.settings_of(replay(HOST, {"list Open_vSwitch": (0, text, "")}))["ovn-bridge-mappings"]
        for text in (listed, for_chassis)
    ]
    assert mappings == ["public:br-ex", "public:br-two"]
