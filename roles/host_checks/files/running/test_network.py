# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The DHCP agents' dnsmasq, and the metadata proxies."""

from __future__ import annotations

import time

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts.metadata_proxy import telling
from ansible_collections.stackproof.provision.plugins.module_utils._match import places
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.instance import Network

pytestmark = pytest.mark.part("network")


@pytest.fixture
def served(here, instance, not_applicable):
    """(port, network, facts of this host's DHCP agent) of each port that this host must serve."""
    networks = {network["id"]: network for network in instance["networks"]}
    with_dhcp = [port for port in instance["ports"] if has_dhcp(networks[port["network"]])]
    if not with_dhcp:
        not_applicable("DHCP is off on the instance's subnets of IPv4")
    by_agents = [port for port in with_dhcp if not networks[port["network"]]["distributed"]]
    if not by_agents:
        not_applicable("OVN answers DHCP by itself, there is no dnsmasq")
    served, facts = [], here.fact("dhcp", "the processes of dnsmasq", "the state", "the file")
    for port in by_agents:
        network = networks[port["network"]]
        serves = places.serves_dhcp(from_json(Network, network), here.names)
        if serves or (serves is None and facts[port["id"]]["directory"]):
            served.append((port, network, facts[port["id"]]))
    if not served:
        pytest.skip("elsewhere")
    return served


def has_dhcp(network):
    """Whether dnsmasq gives out addresses there. Those of IPv6 are mostly told by the router, and never by an ACK."""
    return any(subnet["dhcp"] and subnet["version"] == 4 for subnet in network["subnets"])


@pytest.mark.shown_by("pgrep -af dnsmasq")
def test_dnsmasq(served, here):
    """One dnsmasq runs for each network of the instance."""
    for _port, network, dhcp in served:
        count = len(dhcp["processes"])
        assert count == 1, f"{here.name} runs {count} dnsmasq for the network {network['id']}, not one"


@pytest.mark.shown_by("pgrep -af dnsmasq.*{network}")
def test_host_file(served, here):
    """The agent's host file has the port's MAC and address."""
    for port, _network, dhcp in served:
        lines = [line["address"] for line in dhcp["hosts"] or []]
        assert lines, f"{dhcp['directory']}/host on {here.name} has no line for {port['mac']}"
        wrong = set(lines) - set(port["addresses"])
        assert not wrong, (
            f"{dhcp['directory']}/host on {here.name} gives {port['mac']} {wrong}, the API {port['addresses']}"
        )


@pytest.mark.usefixtures("waited_for")
@pytest.mark.shown_by("pgrep -af dnsmasq.*{network}")
def test_lease(served, here):
    """The lease of the port is there and current."""
    for port, _network, dhcp in served:
        leases = [lease for lease in dhcp["leases"] or [] if lease["address"] in port["addresses"]]
        assert leases, (
            f"{dhcp['directory']}/leases on {here.name} has no lease of {port['addresses']} for {port['mac']}"
        )
        expires = leases[0]["expires"]
        assert expires == 0 or expires > time.time(), (
            f"the lease of {port['mac']} on {here.name} is over since {expires}"
        )


@pytest.mark.usefixtures("waited_for")
@pytest.mark.shown_by("journalctl --since -15min --identifier dnsmasq-dhcp")
def test_ack(served, here, record, not_applicable):
    """dnsmasq's log has an ACK of the port's address to its MAC."""
    here.fact("dhcp", "the log of dnsmasq")
    for port, _network, dhcp in served:
        messages = dhcp["log"]
        if messages is None:
            not_applicable("it is not known where dnsmasq logs")
        if not messages and record.get("run_id") is None:
            not_applicable("the log no longer has the time at which the instance booted")
        kinds = ", ".join(message["kind"] for message in messages) or "nothing"
        acks = [message for message in messages if message["kind"] == "ACK" and message["address"] in port["addresses"]]
        addresses = ", ".join(port["addresses"])
        assert acks, f"dnsmasq on {here.name} has sent no ACK of {addresses} to {port['mac']}; it has sent: {kinds}"


@pytest.mark.shown_by("pgrep -af dnsmasq.*{network}")
def test_options(served, here):
    """dnsmasq gives out the gateway, the routes and the MTU that Neutron says."""
    for _port, network, dhcp in served:
        for subnet in network["subnets"]:
            if subnet["dhcp"] and subnet["version"] == 4:
                assert_options(subnet, dhcp["options"] or [], here)
        for process in dhcp["processes"]:
            given = " ".join(process["options"])
            assert given.endswith(f"option:mtu,{network['mtu']}"), (
                f"dnsmasq on {here.name} is run with {given or 'no MTU'}, Neutron says {network['mtu']}"
            )


def assert_options(subnet, options, here):
    lines = [line for line in options if f"subnet-{subnet['id']}," in line]
    routers = [line.rpartition(",")[2] for line in lines if "option:router" in line]
    gateway = [subnet["gateway"]] if subnet["gateway"] else []
    assert [router for router in routers if router != "option:router"] == gateway, (
        f"dnsmasq on {here.name} gives the router {routers} for {subnet['cidr']}, Neutron says {gateway}"
    )
    routes = [line for line in lines if "classless-static-route," in line]
    missing = [route for route in subnet["routes"] if not any(route in line for line in routes)]
    assert not missing, f"dnsmasq on {here.name} does not give the routes {missing} of {subnet['cidr']}"


@pytest.mark.usefixtures("waited_for")
@pytest.mark.shown_by("pgrep -af haproxy")
def test_metadata_proxy(here, readings, instance, not_applicable):
    """A metadata proxy of the network or its router runs, and has answered the instance's last request."""
    if all(network["distributed"] for network in instance["networks"]):
        not_applicable("OVN's metadata proxies are on the compute hosts")
    if any(network.get("on_computes") for network in instance["networks"]):
        not_applicable("the routers are distributed, and so are the metadata proxies")
    if not any(subnet["version"] == 4 for network in instance["networks"] for subnet in network["subnets"]):
        not_applicable("the instance has no address of IPv4, so the proxies know it by none of Neutron's")
    here.fact("metadata", "the processes of haproxy")
    proxies = [(reading, proxy) for reading in readings for proxy in proxies_of(reading)]
    running = [(reading, proxy) for reading, proxy in proxies if proxy["processes"]]
    owners = sorted({proxy["owner"] for _reading, proxy in proxies})
    if not running and not any(network["dhcp_ports"] or network["routers"] for network in instance["networks"]):
        not_applicable("this user sees no port of DHCP, of a router or of OVN there, so it is not known who answers")
    assert running, f"no host runs a metadata proxy for {' or '.join(owners)}"
    asked = [(reading, proxy) for reading, proxy in running if proxy["requests"]]
    if not asked and instance["server"].get("config_drive"):
        not_applicable("the instance has a config drive, so its guest need not ask for metadata")
    if (asked[0][0] if asked else running[0][0]) is not here:
        pytest.skip("elsewhere")
    here.fact("metadata", "the log of the metadata proxy")
    if all(proxy["requests"] is None for _reading, proxy in running):
        return  # it is not known where they log, so that one runs is all that can be checked
    addresses = [address for port in instance["ports"] for address in port["addresses"]]
    assert asked, f"the metadata proxy on {here.name} has had no request of {', '.join(addresses)}"
    last = telling(asked[0][1]["requests"])[-1]
    assert last["status"] == 200, (
        f"the metadata proxy on {here.name} has answered {addresses[0]} {last['status']} at last"
    )


def proxies_of(reading):
    if "network" not in reading.parts:
        return []
    return [proxy for proxies in reading.facts.get("metadata", {}).values() for proxy in proxies]


@pytest.fixture
def floating(instance, not_applicable):
    """(floating IP, fixed address) of each of the instance's ports whose routers are in namespaces of network hosts."""
    networks = {network["id"]: network for network in instance["networks"]}
    ports = [port for port in instance["ports"] if port.get("floating_ips")]
    if not ports:
        not_applicable("the instance has no floating IP")
    if all(networks[port["network"]]["distributed"] for port in ports):
        not_applicable("OVN translates floating IPs, there are no routers in namespaces")
    if any(networks[port["network"]].get("on_computes") for port in ports):
        not_applicable("the routers are distributed, and the compute hosts translate floating IPs")
    return [(address, port["addresses"][0]) for port in ports for address in port["floating_ips"]]


@pytest.fixture
def routers(readings):
    """(reading, facts) of each router of the instance's networks, on each network host that has its namespace."""
    return [
        (reading, facts)
        for reading in readings
        if "network" in reading.parts
        for facts in (reading.facts.get("routers") or {}).values()
        if facts
    ]


@pytest.mark.shown_by("ip netns list")
def test_router(floating, routers, here):
    """A network host has the router of each floating IP, with rules that translate it both ways."""
    here.fact("routers", "the namespaces", "the router's translations")
    for address, fixed in floating:
        rule = {"address": address, "fixed": fixed}
        having = [reading for reading, facts in routers if rule in facts["inbound"] and rule in facts["outbound"]]
        where = ", ".join(reading.name for reading, _facts in routers)
        assert where, f"no host has the namespace of the router that translates {address} to {fixed}"
        assert having, f"{where} has the namespace of the router, but does not translate {address} to {fixed} and back"
        if having[0] is not here:
            pytest.skip("elsewhere")


def test_arp(floating, routers, here, reached):
    """The router has each floating IP on its outer side, and it is the one that answered ARP for it."""
    here.fact("routers", "the namespaces", "the router's addresses")
    outer = [(reading, interface) for reading, facts in routers for interface in facts["external"]]
    for address, _fixed in floating:
        having = [(reading, interface) for reading, interface in outer if address in interface["addresses"]]
        assert having, f"no router has {address} on an interface to the outside, so nobody answers ARP for it"
        if having[0][0] is not here:
            pytest.skip("elsewhere")
        macs, heard = [interface["mac"] for _reading, interface in having], reached(address)
        assert heard in macs, f"{heard} answered ARP for {address}, the router has {', '.join(macs)}"
