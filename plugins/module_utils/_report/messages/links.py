# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each chain carries, what each of its links must hold, and what is wrong where it does not."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..._model.chain import Chain, Link

# What each chain carries, and where to
CHAINS = {
    "image": "The image, from Glance to Ceph",
    "volume": "The volume, from Cinder to the disk of the instance",
    "server": "The instance, from Nova to its domain",
    "ovn_port": "The port, from Neutron to the switch of its host",
    "ovs_port": "The port, from Neutron to the switch of its host",
    "dhcp": "The guest's address, by DHCP",
    "ovs_router": "The router, from Neutron to its namespace",
    "ovn_gateway": "The router, from the switch of the host to the external network",
    "metadata": "The guest's metadata, from Nova to the guest",
    "ipv6": "The guest's IPv6 address, from the router",
    "guest_hosts": "The hosts of both guests, in OVN",
    "guest_path": "The packets between both guests",
    "destination_port": "The network, on the destination host",
    "destination_chassis": "The destination host, in OVN",
}


# Of a flow, as ofproto/trace quotes it
PRIORITY = re.compile(r",? priority \d+")
# How a break is put where a flow drops packets, and where none of a table takes them
DROPS, NO_FLOW = "a flow drops", "no flow carries"


class LinkText(NamedTuple):
    """The texts of a link. holds: what must hold. broken: what is wrong where it does not; short: in fewer words.

    {found} and {expected} are the values, {subject} is the thing that they belong to, {match} is the found flow without
    its priority.
    """

    holds: str
    broken: str
    short: str = ""
    between: str = ""


LINKS = {
    "image_stored": LinkText(
        "Ceph has the image", "the image {subject} is not in Ceph"
    ),
    "image_snapshot": LinkText(
        "it has a snapshot to clone a disk from",
        "the image has no snapshot to clone a disk from",
    ),
    "volume_scheduled": LinkText("cinder-scheduler works", "{found}"),
    "volume_served": LinkText("cinder-volume works", "{found}"),
    "volume_disk": LinkText(
        "the domain has the volume as a disk",
        "has not given the volume to the domain; disks with a serial number: {found}",
        "has not given the volume to the domain",
    ),
    "volume_stored": LinkText(
        "Ceph has the volume", "the volume {subject} is not in Ceph"
    ),
    "volume_opened": LinkText(
        "the host has the volume open in Ceph",
        "does not have the volume open in Ceph, which shows {found}; addresses of the host: {expected}",
        "does not have the volume open in Ceph",
    ),
    "server_service": LinkText(
        "nova-compute on the host reports to Nova", "{found}"
    ),
    "server_claimed": LinkText(
        "a resource provider holds what the instance needs",
        "no resource provider holds anything for the instance",
    ),
    "server_defined": LinkText(
        "libvirt has the domain",
        "has no domain of the instance, which is active in Nova",
    ),
    "server_port": LinkText(
        "Neutron has a port of the instance",
        "has no port of the instance, which is active in Nova",
    ),
    "server_stored": LinkText(
        "Ceph has the disk of the instance",
        "the disk {subject} is not in Ceph",
    ),
    "server_disk_answers": LinkText(
        "the disks of the guest answer",
        "the guest's disk {subject} takes {found} for a request",
    ),
    "server_opened": LinkText(
        "the host has the disk open in Ceph",
        "does not have the disk open in Ceph, which shows {found}; addresses of the host: {expected}",
        "does not have the disk open in Ceph",
    ),
    "ovn_northbound_active": LinkText(
        "the northbound database is active",
        "the northbound database is {found}, not active: Neutron cannot write to it",
        "the northbound database is {found}, not active",
    ),
    "ovn_southbound_active": LinkText(
        "the southbound database is active",
        "the southbound database is {found}, not active: northd cannot write to it",
        "the southbound database is {found}, not active",
    ),
    "ovn_northbound_open": LinkText(
        "the northbound database takes connections at its socket",
        "the northbound database takes no connections at its socket, which northd needs: {found}",
        "no connections at its socket",
    ),
    "ovn_southbound_open": LinkText(
        "the southbound database takes connections at its socket",
        "the southbound database takes no connections at its socket, which northd needs: {found}",
        "no connections at its socket",
    ),
    "ovn_northd_active": LinkText(
        "a northd is active",
        "{found}: no northd translates changes",
        "{found}",
    ),
    "ovn_northd_translates": LinkText(
        "northd translates changes",
        "not processing changes: it has translated version {found} of {expected}",
        "not processing changes",
    ),
    "ovn_host_remote": LinkText(
        "the host knows the southbound database",
        "ovn-remote is {found}; on the other hosts it is {expected}",
        "ovn-remote is {found}",
    ),
    "ovn_host_connected": LinkText(
        "ovn-controller is connected to the southbound database",
        "{found} to the southbound database",
    ),
    "ovn_chassis_registered": LinkText(
        "the host is registered once, by its own id",
        "chassis of this host in the southbound database: {found}; its system-id is {expected}",
        "chassis of this host: {found}; system-id: {expected}",
    ),
    "ovn_chassis_named": LinkText(
        "the host is registered by its name in Neutron",
        "registered in the southbound database as {found}; Nova and Neutron call this host {expected}",
        "registered as {found}, in Neutron {expected}",
    ),
    "ovn_chassis_address": LinkText(
        "its address for tunnels is its own",
        "ovn-encap-ip is {found}, which is no address of this host ({expected})",
        "ovn-encap-ip is {found}, no address of this host",
    ),
    "ovn_chassis_protocol": LinkText(
        "its protocol for tunnels is that of the others",
        "ovn-encap-type is {found}; on the other hosts it is {expected}",
        "ovn-encap-type is {found}, elsewhere {expected}",
    ),
    "ovn_integration_bridge": LinkText(
        "the integration bridge is that of the others",
        "the datapath of the integration bridge is {found}; on the other hosts it is {expected}",
        "datapath of the integration bridge: {found}, elsewhere {expected}",
    ),
    "ovn_chassis_current": LinkText(
        "the host applies changes",
        "has not applied the newest configuration: version {found} of {expected}",
        "not applying changes: version {found} of {expected}",
    ),
    "ovn_physical_network": LinkText(
        "the host reaches the network of the port",
        "ovn-bridge-mappings has {found}; the network needs {expected}",
        "no bridge mapping for {expected}",
    ),
    "ovn_port_bound": LinkText(
        "Neutron has bound the port to the host",
        "the binding of the port is {found}",
    ),
    "ovn_northbound_port": LinkText(
        "the port is in the northbound database",
        "the port is not in the northbound database",
    ),
    "ovn_northbound_addresses": LinkText(
        "with the addresses that Neutron gave it",
        "the port's addresses in the northbound database are {found}; Neutron has {expected}",
        "wrong addresses of the port: {found}",
    ),
    "ovn_northbound_dhcp": LinkText(
        "with the DHCP options of its subnet",
        "the port's DHCP options in the northbound database: {found}",
        "the port's DHCP options: {found}",
    ),
    "ovn_foreign_acls": LinkText(
        "no foreign rule drops its packets",
        "a rule that is not of Neutron drops packets of the port: {found}, of {subject}",
        "an ACL that is not of Neutron: {found}",
    ),
    "ovn_unlimited": LinkText(
        "no foreign limit holds its packets back",
        "a limit that is not of Neutron holds packets of the port's network back: {found}",
        "a limit that is not of Neutron: {found}",
    ),
    "ovn_southbound_port": LinkText(
        "northd has brought the port to the southbound database",
        "the port is in the northbound database and not in the southbound one",
    ),
    "ovn_plugged": LinkText(
        "Open vSwitch has the interface of the port",
        "the interface of the port: {found}",
    ),
    "ovn_claimed": LinkText(
        "the host has claimed the port",
        "has not claimed the port; the southbound database has it on: {found}",
        "has not claimed the port",
    ),
    "ovn_installed": LinkText(
        "its flows are installed", "has not installed the flows of the port"
    ),
    "ovn_dhcp_answered": LinkText(
        "the host's flows answer DHCP",
        "OVN answers the guest's DHCP request, and the flows of this host do not: the request is {found}",
        "its flows do not answer the guest's DHCP request",
    ),
    "ovn_gateway_delivered": LinkText(
        "the guest's answers come back to the gateway",
        "the gateway answers ARP for the floating IP, and what it passes on to the guest is lost {subject}",
        "packets of the floating IP are lost {subject}",
    ),
    "ovn_carried": LinkText(
        "the host's flows carry what OVN lets pass",
        "OVN lets the guest's request for metadata pass, and the flows of this host drop it: {subject}, {found}",
        "its flows drop what OVN lets pass ({subject})",
    ),
    "ovn_up": LinkText(
        "the port is up in the northbound database",
        "the port is installed on its host and not up in the northbound database",
    ),
    "ovn_noticed": LinkText(
        "Neutron has heard that it is up",
        "has the port as {found}, which OVN has up",
    ),
    "ovn_tunnels": LinkText(
        "there is a tunnel to each other host", "no tunnel to {found}"
    ),
    "ovn_gateway_enabled": LinkText(
        "the router is enabled in OVN",
        "the router is disabled in OVN, so it forwards no packet",
        "the router is disabled in OVN",
    ),
    "ovn_gateway_mapped": LinkText(
        "a gateway reaches the external networks",
        "ovn-bridge-mappings has {found}; an external network needs {expected}",
        "no bridge mapping for {expected}",
    ),
    "ovn_gateway_in_touch": LinkText(
        "the gateways hear of each other through their tunnels",
        "no gateway hears of another one (BFD), so none takes a router; tunnels: {found}",
        "no gateway hears of another one (BFD)",
    ),
    "ovn_gateway_placed": LinkText(
        "the router has its gateway on a host",
        "the gateway of the router is on no host",
    ),
    "ovn_gateway_patched": LinkText(
        "the bridge of the external network is connected",
        "no patch between the integration bridge and {expected}",
    ),
    "ovn_gateway_translated": LinkText(
        "OVN translates the floating IP",
        "OVN has no right rule for the floating IP {found}",
    ),
    **dict.fromkeys(
        ("router_unobstructed", "dhcp_unobstructed"),
        LinkText(
            "nothing in its namespace keeps packets from it",
            "its namespace has what no agent of Neutron puts there: {found}",
            "its namespace lets packets go no further: {found}",
        ),
    ),
    "router_advertised": LinkText(
        "a radvd advertises the router over IPv6",
        "no radvd runs for the router, so guests get no IPv6 address",
        "no radvd runs for the router",
    ),
    "ovn_router_advertised": LinkText(
        "OVN advertises the router over IPv6",
        "OVN is not to advertise the router (ipv6_ra_configs), so guests get no IPv6 address",
        "OVN is not to advertise the router",
    ),
    "agent_alive": LinkText(
        "the L2 agent of the host reports to Neutron", "{found}"
    ),
    "agent_carries_network": LinkText(
        "it carries the network of the port",
        "the agent's bridge_mappings or tunnel_types have {found}; the network needs {expected}",
        "does not carry the network {expected}",
    ),
    "agent_patches": LinkText(
        "the bridges of the host are connected",
        "no patch between br-int and {expected}: {found}",
        "no patch between br-int and {expected}",
    ),
    "agent_named": LinkText(
        "the agent has the name that Nova has of the host",
        "calls its host {found}; Nova calls it {expected}, and Neutron looks for the agent by that name",
        "called {found}, by Nova {expected}",
    ),
    "ovs_bound": LinkText(
        "Neutron has bound the port to the host",
        "the binding of the port is {found}",
    ),
    "ovs_plugged": LinkText(
        "Open vSwitch has the interface of the port",
        "the interface of the port: {found}",
    ),
    "ovs_tagged": LinkText(
        "the agent has wired the port",
        "has not wired the port: its VLAN is {found}",
    ),
    **dict.fromkeys(
        (
            "bridge_wired",
            "dhcp_l2_bridge_wired",
            "destination_bridge_wired",
            "ovn_gateway_bridge_wired",
            "router_l2_bridge_wired",
            "path_bridge_wired",
        ),
        LinkText(
            "the bridge of the physical network has a physical port",
            "the bridge {subject} has no physical port; on other hosts it has one",
            "the bridge {subject} has no physical port",
        ),
    ),
    **dict.fromkeys(
        (
            "ports_open",
            "dhcp_l2_ports_open",
            "destination_ports_open",
            "ovn_gateway_ports_open",
            "router_l2_ports_open",
            "path_ports_open",
        ),
        LinkText(
            "no flag of the switch's ports drops packets",
            "the flags of the port {subject} of the switch drop {found}",
        ),
    ),
    **dict.fromkeys(
        (
            "bridge_flows",
            "dhcp_l2_bridge_flows",
            "destination_bridge_flows",
            "ovn_gateway_bridge_flows",
            "router_l2_bridge_flows",
            "path_bridge_flows",
        ),
        LinkText(
            "the bridges of the switch have flows",
            "the bridge {subject} has no flows, so it drops all packets",
            "the bridge {subject} has no flows",
        ),
    ),
    "ovs_linked": LinkText(
        "the link of the port is up", "the link of the port is {found}"
    ),
    **dict.fromkeys(
        ("ovn_taken", "ovs_taken"),
        LinkText(
            "the switch takes the guest's packets",
            "the switch takes nothing from the guest: of its {expected} packets the flows of its port count {found}",
        ),
    ),
    "dhcp_agent_alive": LinkText(
        "the DHCP agent reports to Neutron", "{found}"
    ),
    "dhcp_assigned": LinkText(
        "a DHCP agent has a port on the network",
        "no DHCP agent has a port on the network",
    ),
    "destination_agent_alive": LinkText(
        "the L2 agent of the destination host reports to Neutron", "{found}"
    ),
    "destination_agent_carries_network": LinkText(
        "the L2 agent of the destination host carries the network",
        "the agent's bridge_mappings or tunnel_types have {found}; the network of the server needs {expected}",
        "does not carry the network {expected}",
    ),
    "destination_agent_patches": LinkText(
        "the bridges of the destination host are connected",
        "no patch between br-int and {expected}: {found}",
        "no patch between br-int and {expected}",
    ),
    "dhcp_l2_agent_alive": LinkText(
        "the L2 agent beside it reports to Neutron", "{found}"
    ),
    "dhcp_l2_agent_carries_network": LinkText(
        "the L2 agent beside it carries the network",
        "the agent's bridge_mappings or tunnel_types have {found}; the network of DHCP needs {expected}",
        "does not carry the network {expected}",
    ),
    "dhcp_l2_agent_patches": LinkText(
        "the bridges beside it are connected",
        "no patch between br-int and {expected}: {found}",
        "no patch between br-int and {expected}",
    ),
    "dhcp_directory": LinkText(
        "the agent has files for the network", "has no files for the network"
    ),
    "dhcp_process": LinkText(
        "dnsmasq runs for the network", "no dnsmasq runs for the network"
    ),
    "dhcp_reservation": LinkText(
        "dnsmasq knows the port and its address",
        "its file of hosts has {found} for the port; Neutron has {expected}",
        "wrong reservation of the port: {found}",
    ),
    "dhcp_wired": LinkText(
        "the agent's own port is wired",
        "has not wired the port of the DHCP agent: {found}",
    ),
    "dhcp_received": LinkText(
        "dnsmasq receives the guest's requests",
        "the guest's DHCP requests are lost {subject}: dnsmasq received none",
        "the guest's DHCP requests are lost {subject}",
    ),
    "dhcp_offered": LinkText(
        "dnsmasq answers them",
        "does not answer the guest's DHCP requests, which it has received",
    ),
    "dhcp_taken": LinkText(
        "its answers reach the guest",
        "dnsmasq's offers to the guest are lost {subject}: {found} offers, no request",
        "dnsmasq's offers to the guest are lost {subject}",
    ),
    "router_wide": LinkText(
        "the router takes packets of the network's full size",
        "the router's interface has an MTU of {found}, and the network {expected}",
        "the router's interface has an MTU of {found}",
    ),
    "dhcp_granted": LinkText(
        "dnsmasq gives the guest the address that it has offered",
        "offers the guest an address and then refuses it: {found}",
        "refuses the guest its address: {found}",
    ),
    "dhcp_leased": LinkText(
        "the guest has a lease",
        "the guest has no lease, though its port has a reservation: its requests or the answers are lost {subject}",
        "the guest's DHCP is lost {subject}",
    ),
    "router_agent_alive": LinkText(
        "the L3 agent reports to Neutron", "{found}"
    ),
    "router_l2_agent_alive": LinkText(
        "the L2 agent beside it reports to Neutron", "{found}"
    ),
    "router_l2_agent_carries_network": LinkText(
        "the L2 agent beside it carries the network",
        "the agent's bridge_mappings or tunnel_types have {found}; the network of the router needs {expected}",
        "does not carry the network {expected}",
    ),
    "router_l2_agent_patches": LinkText(
        "the bridges beside it are connected",
        "no patch between br-int and {expected}: {found}",
        "no patch between br-int and {expected}",
    ),
    "router_bound": LinkText(
        "the router's port on the network is bound to a host",
        "the binding of the router's port is {found}",
    ),
    "router_namespace": LinkText(
        "the router has its namespace", "has no namespace for the router"
    ),
    "router_wired": LinkText(
        "the router's way to the outside is wired",
        "has not wired the router's interface to the outside: {found}",
    ),
    "router_gateway": LinkText(
        "the router has the floating IP's address",
        "the router's outer interface has {found}, not the floating IP {expected}",
        "the router does not have the floating IP {expected}",
    ),
    "router_translated": LinkText(
        "the router translates the floating IP",
        "does not translate the floating IP {expected} to the port and back ({found})",
    ),
    "metadata_port": LinkText(
        "Neutron has a port for metadata on the network",
        "has no port for metadata on the network, as with ovn_metadata_enabled = false",
        "has no port for metadata on the network",
    ),
    "metadata_agent_alive": LinkText(
        "the metadata agent reports to Neutron", "{found}"
    ),
    "metadata_process": LinkText(
        "a metadata proxy runs for the network",
        "no proxy runs for the network",
    ),
    "metadata_on_link": LinkText(
        "a metadata proxy runs on the network's own link",
        "no metadata proxy runs on the network's own link, whose address a guest of IPv6 alone asks: DHCP agents have "
        "one with force_metadata",
    ),
    "metadata_address": LinkText(
        "the proxy's namespace has the address of the metadata",
        "the namespace of the metadata proxy has {found}, and not {expected}",
        "the metadata proxy is without its address {expected}",
    ),
    "metadata_wired": LinkText(
        "the proxy is on the switch of the host",
        "the proxy's interface on the switch: {found}",
    ),
    "metadata_api_address": LinkText(
        "its agent knows where nova-api-metadata is",
        "its settings name {found} for nova-api-metadata, which is not there ({expected})",
        "looks for nova-api-metadata at {found}",
    ),
    "metadata_asked": LinkText(
        "the guest's requests reach the proxy",
        "the guest's requests do not reach the proxy",
    ),
    "ovn_security_rules": LinkText(
        "the northbound database has the rules of the security groups",
        "has {found} of the {expected} rules of the security group {subject}",
        "has {found} of the {expected} rules of a security group",
    ),
    "dhcp_logical": LinkText(
        "OVN lets the guest's DHCP request pass",
        "a logical flow drops the guest's DHCP request: {subject}, {found}",
        "a logical flow drops the guest's DHCP request ({subject})",
    ),
    "metadata_logical": LinkText(
        "OVN lets the guest's request for metadata pass",
        "a logical flow drops the guest's request for metadata: {subject}, {found}",
        "a logical flow drops the request for metadata ({subject})",
    ),
    "ping_logical": LinkText(
        "OVN lets the guest's packets to the outside pass",
        "a logical flow drops the guest's packets to the outside: {subject}, {found}",
        "a logical flow drops the packets to the outside ({subject})",
    ),
    "ovn_connected": LinkText(
        "the bridge of the physical network is connected",
        "no patch between the integration bridge and {expected}",
    ),
    "ovn_dhcp_flow": LinkText(
        "the flows let the guest's DHCP request pass",
        "a flow drops the guest's DHCP request: {subject}, {found}",
        "a flow drops the guest's DHCP request ({subject})",
    ),
    "dhcp_flow": LinkText(
        "the flows let the guest's DHCP request pass",
        "a flow drops the guest's DHCP request: {subject}, {found}",
        "a flow drops the guest's DHCP request ({subject})",
    ),
    "ping_flow": LinkText(
        "the flows let the guest's packets to its router pass",
        "a flow drops the guest's packets to its router: {subject}, {found}",
        "a flow drops the packets to the router ({subject})",
    ),
    "path_logical": LinkText(
        "OVN lets the packets between both guests pass",
        "a logical flow drops packets between both guests: {subject}, {found}",
        "a logical flow drops packets between both guests ({subject})",
    ),
    "dhcp_directed": LinkText(
        "the guest's DHCP request goes into the tunnel to the host of dnsmasq",
        "the guest's DHCP request does not go into the tunnel to {expected}; tunnels that it goes into: {found}",
        "the guest's DHCP request does not go into the tunnel to {expected}",
    ),
    "dhcp_tunnels": LinkText(
        "the hosts of guests and dnsmasq have tunnels to each other",
        "no tunnel to {expected}: Open vSwitch has tunnels to {found}",
        "no tunnel to {expected}",
    ),
    **dict.fromkeys(
        ("path_tunnel_ends", "dhcp_tunnel_ends"),
        LinkText(
            "the tunnels of each host begin at an address of its own",
            "its tunnels begin at {found}, which is no address of the host",
            "its tunnels do not begin at an address of the host",
        ),
    ),
    "path_tunnel": LinkText(
        "the hosts of both guests have tunnels to each other",
        "no tunnel to {expected}: Open vSwitch has tunnels to {found}",
        "no tunnel to {expected}",
    ),
    "path_sent": LinkText(
        "the flows let packets to the other guest out",
        "a flow drops packets to the other guest: {subject}, {found}",
        "a flow drops packets to the other guest ({subject})",
        "a flow drops packets to the other guest: {match}",
    ),
    "path_directed": LinkText(
        "packets to the other guest go into the tunnel to its host",
        "packets to the other guest do not go into the tunnel to {expected}; tunnels that they go into: {found}",
        "packets to the other guest do not go into the tunnel to {expected}",
    ),
    "path_received": LinkText(
        "the flows let packets of the other guest in",
        "a flow drops packets of the other guest: {subject}, {found}",
        "a flow drops packets of the other guest ({subject})",
        "a flow drops packets of the other guest: {match}",
    ),
    "metadata_flow": LinkText(
        "the flows let the guest's request for metadata pass",
        "a flow drops the guest's request for metadata: {subject}, {found}",
        "a flow drops the request for metadata ({subject})",
    ),
}


def title(chain: Chain) -> str:
    """Return what a chain carries; its name if only a newer version knows it."""
    return CHAINS.get(chain.name) or plain(chain.name)


def holds(link: Link) -> str:
    """Return what a link must hold."""
    return text_of(link).holds


def text_of(link: Link) -> LinkText:
    """Return the texts of a link; of one that only a newer version knows, those that fit any."""
    return LINKS.get(link.code) or LinkText(
        plain(link.code), "found: {found}; expected: {expected}"
    )


def plain(code: str) -> str:
    return code.replace("_", " ")


def broken(link: Link) -> tuple[str, ...]:
    """Return what is wrong at a link: with all values, and in short."""
    text = text_of(link)
    values = {
        "found": link.found,
        "expected": link.expected,
        "subject": link.subject,
    }
    values["match"] = PRIORITY.sub("", link.found or "")
    forms = list(filter(None, (text.broken, text.between, text.short)))
    if link.lacks_flow:
        forms = [form.replace(DROPS, NO_FLOW) for form in forms]
    return tuple(form.format_map(values) for form in forms)
