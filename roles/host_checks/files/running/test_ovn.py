# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ports of the instance in OVN's databases."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.part("ovn")


@pytest.fixture
def ports(here, readings, instance, networks_of_ovn, not_applicable):
    """(port, its network, OVN's facts) of each port in a network of OVN, on one host that has the databases."""
    chosen = [port for port in instance["ports"] if port["network"] in networks_of_ovn]
    # Such as that of an instance which 0.1.0 has kept.
    if any("security_rules" not in port for port in chosen):
        not_applicable("the record of the run does not say what OVN must have of a port")
    having = [reading for reading in readings if any((reading.facts.get("ovn") or {}).values())]
    if not having:
        here.fact("ovn", "OVN's")
        here.stop("no host that could be read has OVN's databases")
    if here is not having[0]:
        pytest.skip("elsewhere")
    facts = here.fact("ovn", "OVN's")
    return [(port, networks_of_ovn[port["network"]], facts[port["id"]]) for port in chosen]


@pytest.mark.shown_by("ovn-sbctl find port_binding logical_port={port}")
def test_binding(ports, homes):
    """Each port is up in both databases, and bound to the chassis of the host that nova says."""
    for port, _network, ovn in ports:
        assert ovn["logical"], f"OVN's northbound database has no port {port['id']}"
        assert ovn["binding"], f"OVN's southbound database has no port {port['id']}: look at ovn-northd"
        assert ovn["logical"]["enabled"], f"the port {port['id']} is disabled in OVN's northbound database"
        place = ovn["binding"]["host"]
        assert place, f"no chassis has claimed the port {port['id']}: look at ovn-controller on the instance's host"
        names = set().union(*(home.names for home in homes))
        assert not homes or place in names, f"the port {port['id']} is bound to {place}, nova says {homes[0].name}"
        assert ovn["binding"]["up"], f"the port {port['id']} is not up in OVN's southbound database"
        assert ovn["logical"]["up"], f"the port {port['id']} is not up in OVN's northbound database"


@pytest.mark.shown_by("ovn-nbctl lsp-get-addresses {port}")
def test_addresses(ports):
    """Each port has the MAC and the addresses that Neutron says."""
    for port, _network, ovn in ports:
        wanted, has = " ".join([port["mac"], *port["addresses"]]), (ovn["logical"] or {}).get("addresses") or []
        assert wanted in has, f"OVN has the addresses {has} for the port {port['id']}, Neutron {wanted}"


@pytest.mark.shown_by("ovn-nbctl lsp-get-dhcpv4-options {port}")
def test_dhcp(ports, not_applicable):
    """ovn-controller gives out the gateway, the routes and the MTU that Neutron says."""
    checked = [assert_dhcp(port, network, ovn["dhcp"]) for port, network, ovn in ports]
    if not any(checked):
        not_applicable("DHCP is off on the instance's subnets")


def assert_dhcp(port, network, given):
    """Whether the port has a subnet with DHCP, whose options are as Neutron says."""
    subnets = [
        subnet
        for subnet in network["subnets"]
        if subnet["id"] in port["subnets"] and subnet["dhcp"] and subnet["version"] == 4
    ]
    for subnet in subnets:
        assert given, f"OVN has no DHCP options for the port {port['id']}"
        options = given["options"]
        assert given["cidr"] == subnet["cidr"], f"OVN's DHCP options are for {given['cidr']}, not for {subnet['cidr']}"
        assert options.get("router") == subnet["gateway"], (
            f"OVN gives the router {options.get('router')} for {subnet['cidr']}, Neutron says {subnet['gateway']}"
        )
        assert options.get("mtu") == str(network["mtu"]), (
            f"OVN gives the MTU {options.get('mtu')} for {subnet['cidr']}, Neutron says {network['mtu']}"
        )
        missing = [route for route in subnet["routes"] if route not in options.get("classless_static_route", "")]
        assert not missing, f"OVN does not give the routes {missing} of {subnet['cidr']}"
    return bool(subnets)


@pytest.mark.shown_by("ovn-nbctl --columns=name,ports,acls list port_group")
def test_security_groups(ports, not_applicable):
    """Each security group of a port is a port group that has the port, with an ACL for each rule."""
    rules = [(port, group, ids, ovn) for port, _network, ovn in ports for group, ids in port["security_rules"].items()]
    if not rules:
        not_applicable("the instance's ports have no security group")
    for port, group, ids, ovn in rules:
        name = f"pg_{group.replace('-', '_')}"
        assert name in ovn["groups"], f"the port {port['id']} is not in OVN's port group {name}"
        count = ovn["groups"][name]
        assert count == len(ids), f"OVN's port group {name} has {count} ACLs, the security group {len(ids)} rules"


@pytest.mark.shown_by("ovn-nbctl find nat type=dnat_and_snat")
def test_floating_ip(ports, not_applicable):
    """Each floating IP is a NAT rule of a router, and a chassis has the gateway port of that router."""
    wanted = [(port, address, ovn) for port, _network, ovn in ports for address in port["floating_ips"]]
    if not wanted:
        not_applicable("the instance has no floating IP")
    for port, address, ovn in wanted:
        having = [router for router in ovn["routers"].values() if rule_of(router, address, port["addresses"][0])]
        assert having, f"no router in OVN has a NAT rule from {address} to {port['addresses'][0]}"
        assert having[0]["gateway"], (
            f"no chassis has the gateway of the router with {address}: is a gateway chassis up?"
        )


def rule_of(router, address, fixed):
    """The NAT rule of a router for a floating IP, or None."""
    wanted = {"address": address, "fixed": fixed}
    return next((rule for rule in router["floating_ips"] if wanted.items() <= rule.items()), None)


def test_arp(ports, reached, not_applicable):
    """Each floating IP was answered by the MAC that OVN gives it, or else by that of the router's gateway."""
    wanted = [(port, address, ovn) for port, _network, ovn in ports for address in port["floating_ips"]]
    if not wanted:
        not_applicable("the instance has no floating IP")
    for port, address, ovn in wanted:
        heard = reached(address)
        rules = [(router, rule_of(router, address, port["addresses"][0])) for router in ovn["routers"].values()]
        macs = [rule["mac"] or router["mac"] for router, rule in rules if rule]
        assert heard in macs, f"{heard} answered ARP for {address}, OVN has {', '.join(map(str, macs)) or 'no router'}"
