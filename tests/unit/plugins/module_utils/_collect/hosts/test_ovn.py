# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A port in the databases of OVN, as a recorded controller prints it."""

from __future__ import annotations

import json
import re

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import ovn
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import to_json
from tree import RECORDED

NO_SOCKET = "unix:/var/run/ovn/ovnnb_db.sock: database connection failed (No such file or directory)"
REFUSED = "unix:/var/run/ovn/ovnnb_db.sock: database connection failed (Connection refused)"


@pytest.fixture
def read(replay, instance_in_ovn):
    """Return a function that reads the instance's port, and says what could not be read."""

    def of(instead=None):
        host = replay("controller1-ovn", instead)
        (port,), (network,) = instance_in_ovn["ports"], instance_in_ovn["networks"]
        facts = ovn.read(host, port["id"], port["addresses"], port["subnets"], network["routers"])
        return to_json(facts), [(entry.what, entry.kind) for entry in host.unread]

    return of


def table(*rows, **columns):
    """As ovn-nbctl prints rows of the same columns."""
    rows = rows or [columns.values()]
    return json.dumps({"headings": list(columns), "data": [list(row) for row in rows]})


def test_a_recorded_port_is_read_wholly(read, instance_in_ovn):
    (port,), (network,) = instance_in_ovn["ports"], instance_in_ovn["networks"]
    facts, unread = read()
    assert unread == []
    assert facts["logical"]["addresses"] == [f"{port['mac']} {port['addresses'][0]}"]
    assert (facts["logical"]["up"], facts["logical"]["enabled"]) == (True, True)
    assert facts["binding"] == {"host": port["host"], "up": True}
    assert facts["dhcp"]["cidr"] == network["subnets"][0]["cidr"]
    assert facts["dhcp"]["options"]["router"] == network["subnets"][0]["gateway"]
    ((group, rules),) = port["security_rules"].items()
    assert facts["groups"] == {"neutron_pg_drop": 2, f"pg_{group.replace('-', '_')}": len(rules)}
    floating = [{"address": port["floating_ips"][0], "fixed": port["addresses"][0], "mac": None}]
    (router,) = facts["routers"].values()
    assert (list(facts["routers"]), router["gateway"]) == (network["routers"], "network1")
    assert (router["floating_ips"], router["mac"][:9]) == (floating, "fa:16:3e:")


def test_a_port_in_a_record_of_0_1_0_is_read_without_its_dhcp(replay, instance_in_ovn):
    host = replay("controller1-ovn")
    (port,), (network,) = instance_in_ovn["ports"], instance_in_ovn["networks"]
    facts = ovn.read(host, port["id"], port["addresses"], (), network["routers"])
    assert (facts.dhcp, facts.binding.up, host.unread) == (None, True, [])


def test_a_host_without_databases_has_no_facts(read):
    assert read({"ovn-": (1, "", f"ovn-nbctl: {NO_SOCKET}")}) == (None, [])
    assert read({"ovn-": (127, "", "timeout: failed to run command 'ovn-nbctl': No such file or directory")})[0] is None


def test_a_database_that_refuses_is_named(read):
    facts, unread = read({"ovn-": (1, "", f"ovn-nbctl: {REFUSED}")})
    assert facts == {"logical": None, "binding": None, "dhcp": None, "groups": {}, "routers": None}
    assert ("OVN's port", "failed") in unread
    assert ("OVN's binding of the port", "failed") in unread


def test_a_database_that_answers_something_else_is_named(read):
    facts, unread = read({"Logical_Switch_Port": "not JSON"})
    assert (facts["logical"], unread) == (None, [("OVN's port", "strange")])


def test_a_port_that_is_not_there(read):
    columns = {"_uuid": None, "up": None, "enabled": None, "addresses": None, "dhcpv4_options": None}
    nothing = json.dumps({"headings": list(columns), "data": []})
    facts, unread = read({"Logical_Switch_Port": nothing, "find Port_Binding": nothing, "NAT": nothing})
    assert (facts["logical"], facts["binding"], facts["dhcp"], facts["groups"], unread) == (None, None, None, {}, [])


def test_a_port_that_no_chassis_has_claimed(read):
    facts, unread = read({"find Port_Binding": table(chassis=["set", []], up=False)})
    assert (facts["binding"], unread) == ({"host": None, "up": False}, [])
    assert [router["gateway"] for router in facts["routers"].values()] == [None]


def gateway_port():
    """Return the name of the router's port to the outside, by which the recorded host was asked for its chassis."""
    commands = (RECORDED / "hosts/controller1-ovn.jsonl").read_text()
    return re.search(r"cr-(lrp-[0-9a-f-]+)", commands)[1]


def test_a_gateway_that_a_group_of_chassis_has(read):
    # As Neutron 29 has it with OVN 26.03
    group = {"gateway_chassis": ["set", []], "ha_chassis_group": ["uuid", "327235b8"]}
    port = table(name=gateway_port(), mac="fa:16:3e:0e:ed:5c", **group)
    facts, unread = read({"Logical_Router_Port": port})
    ((gateway, mac),) = [(router["gateway"], router["mac"]) for router in facts["routers"].values()]
    assert (gateway, mac, unread) == ("network1", "fa:16:3e:0e:ed:5c", [])


def test_a_floating_ip_of_another_router_with_the_same_addresses_is_not_taken_for_ours(read):
    of_nobody = {"_uuid": ["uuid", "0" * 8], "external_ip": "203.0.113.1", "external_mac": ["set", []]}
    other = table(**of_nobody, logical_ip="192.168.222.5", type="dnat_and_snat")
    facts, unread = read({"find NAT": other})
    assert ([router["floating_ips"] for router in facts["routers"].values()], unread) == ([[]], [])


def test_a_router_without_rules_and_without_a_gateway(read):
    bare = table(ports=["set", []], nat=["set", []])
    facts, unread = read({"find Logical_Router ": bare})
    assert (list(facts["routers"].values()), unread) == ([{"gateway": None, "mac": None, "floating_ips": []}], [])
