# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A port in Open vSwitch and in the kernel of a recorded host."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import ovs
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import to_json
from recorded_hosts import printed

PORT, TAP = "bd6f4d7b-9cf8-4359-8587-aae420e24aca", "tapbd6f4d7b-9c"
FLOWS = printed("compute2", "dump-flows")
AGES = [float(age) for age in re.findall(r"duration=([\d.]+)s", FLOWS)]
INTERFACE = {
    "name": TAP,
    "ofport": json.loads(printed("compute2", "find Interface"))["data"][0][1],
    "error": None,
    "port": PORT,
    "mac": "fa:16:3e:2d:9a:e3",
    "server": "8585247f-547f-46d6-8c03-334064b2be45",
    "by_ovn": False,
    "others": [],
    "bridge": "br-int",
    "tag": json.loads(printed("compute2", "find Port"))["data"][0][0],
    # The counters were not asked for yet when this host was recorded.
    "link": {"mtu": 1500, "up": True, "received": None},
    "flows": {
        "count": len(AGES),
        "oldest_s": max(AGES),
        "youngest_s": min(AGES),
        "packets": sum(map(int, re.findall(r"n_packets=(\d+)", FLOWS))),
    },
}


@pytest.fixture
def read(replay):
    """Return a function that reads the port's interface, and says what could not be read."""

    def of(name="compute2", instead=None):
        host = replay(name, instead)
        return to_json(ovs.read(host, PORT)), [(entry.what, entry.kind) for entry in host.unread]

    return of


def table(*rows):
    return json.dumps({"headings": ["name", "ofport", "external_ids", "error"], "data": rows})


def test_a_recorded_interface_is_read_wholly(read):
    assert read() == (INTERFACE, [])


def test_a_host_without_the_port_has_no_interface(read):
    assert read("compute1") == (None, [])


@pytest.mark.parametrize(("name", "kind"), [("refused", "refused"), ("storage1-odd", "failed")])
def test_a_host_that_cannot_be_asked_does_not_seem_to_be_without_the_port(read, name, kind):
    assert read(name) == (None, [("the interface in Open vSwitch", kind)])


@pytest.mark.parametrize(
    "output", ["", "[]", "{}", '{"headings": ["name"], "data": [["tap"]]}', table(["t", 1, [], ""])]
)
def test_a_table_of_an_unknown_form_is_said_to_be_strange(read, output):
    assert read(instead={"find Interface": output}) == (None, [("the interface in Open vSwitch", "strange")])


def test_what_cannot_be_read_of_an_interface_is_none_and_named(read):
    no = (1, "", "ovs: no")
    interface, unread = read(instead={"iface-to-br": no, "find Port": "x", "ip -json": no})
    assert interface == {**INTERFACE, "bridge": None, "tag": None, "link": None, "flows": None}
    assert unread == [("the interface's bridge", "failed"), ("the port's tag", "strange"), ("the link", "failed")]


def test_flows_that_cannot_be_read_are_named(read):
    interface, unread = read(instead={"ovs-ofctl": (1, "", "ovs-ofctl: br-int is not a bridge or a socket")})
    assert (interface["flows"], unread) == (None, [("the flows", "failed")])


def test_an_interface_that_ovn_has_wired_says_so(read):
    ids = ["map", [["iface-id", PORT], ["ovn-installed", "true"], ["ovn-installed-ts", "1795258881"]]]
    answers = {"find Interface": table([TAP, 3, ids, ["set", []]]), "dump-flows": ""}
    assert read(instead=answers)[0]["by_ovn"]


def test_an_interface_that_has_no_number_yet_has_no_flows(read):
    ids = ["map", [["iface-id", PORT]]]
    row = [TAP, ["set", []], ids, "could not open network device"]
    interface, unread = read(instead={"find Interface": table(row, ["other", 3, ids, ["set", []]])})
    assert (interface["ofport"], interface["error"], interface["flows"]) == (
        None,
        "could not open network device",
        None,
    )
    assert (interface["mac"], interface["server"], interface["others"], unread) == (None, None, ["other"], [])


def test_an_interface_that_could_not_be_opened_has_no_flows(read):
    row = [TAP, -1, ["map", [["iface-id", PORT]]], "could not open network device"]
    interface, unread = read(instead={"find Interface": table(row)})
    assert (interface["ofport"], interface["flows"], unread) == (-1, None, [])


def test_a_link_that_the_kernel_does_not_have_is_none(replay):
    assert to_json(ovs.link_of(replay("network1-odd"), "tapnone")) is None


def test_a_link_that_is_down_is_told(replay):
    counters = '"stats64": {"rx": {"bytes": 5034, "packets": 46}, "tx": {"bytes": 4300, "packets": 33}}'
    host = replay(None, {"ip ": f'[{{"mtu": 9000, "flags": ["BROADCAST", "LOWER_UP"], {counters}}}]'})
    assert to_json(ovs.link_of(host, "tap")) == {"mtu": 9000, "up": False, "received": 46}
    assert host.execute.asked == ["ip -json -statistics link show dev tap"]


def test_a_port_that_is_not_there_or_has_no_tag_has_none(replay):
    assert ovs.tag_of(replay("network1-odd"), "tapnone") is None
    host = replay(None, {"id -u": "0", "find Port": '{"headings": ["tag"], "data": [[["set", []]]]}'})
    assert ovs.tag_of(host, "tap") is None


def test_no_flows_have_no_age(replay):
    host = replay(None, {"id -u": "0", "ovs-ofctl": "NXST_FLOW reply (xid=0x4):\n"})
    assert to_json(ovs.flows_of(host, "br-int", 4)) == {
        "count": 0,
        "oldest_s": None,
        "youngest_s": None,
        "packets": 0,
    }


def test_ages_of_flows_are_those_of_the_first_and_the_last(replay):
    output = (
        " cookie=0x1, duration=5.5s, idle_age=3, a\n cookie=0x1, duration=120.25s, b\n cookie=0x1, duration=7s, c\n"
    )
    host = replay(None, {"id -u": "0", "ovs-ofctl": output})
    assert to_json(ovs.flows_of(host, "br-int", 4)) == {"count": 3, "oldest_s": 120.25, "youngest_s": 5.5, "packets": 0}
    assert host.execute.asked[-1] == "ovs-ofctl dump-flows br-int in_port=4"


@dataclass(frozen=True)
class Bridge:
    """Some columns of a row with values of each kind."""

    name: Any
    external_ids: Any
    flood_vlans: Any
    other_config: Any
    protocols: Any
    ports: Any


def test_maps_sets_and_ids_of_a_recorded_table_are_those_of_python(replay):
    host = replay("network1-odd")
    (bridge,) = ovs.rows(host.ask("ovs", "ovs-vsctl", "--format=json", "list", "Bridge", "br-int"), Bridge)
    assert bridge.name == "br-int"
    assert bridge.external_ids == {}
    assert bridge.flood_vlans == []
    assert bridge.other_config["mac-table-size"] == "50000"
    assert bridge.protocols == [f"OpenFlow1{number}" for number in range(5)]
    assert all(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", port) for port in bridge.ports)
    assert len(bridge.ports) > 1
