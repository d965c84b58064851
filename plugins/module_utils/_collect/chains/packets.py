# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The first packets of a guest, as Open vSwitch and OVN have them described to trace their way. None is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..._model.instance import LOCALPORT, ROUTER_INTERFACE, Network, Port

DHCP, METADATA, PING = "dhcp", "metadata", "ping"
METADATA_ADDRESS = "169.254.169.254"
# How Open vSwitch calls a field of OVN
IN_SWITCH = {
    "eth.src": "dl_src",
    "eth.dst": "dl_dst",
    "ip4.src": "nw_src",
    "ip4.dst": "nw_dst",
    "ip.ttl": "nw_ttl",
    "udp.src": "udp_src",
    "udp.dst": "udp_dst",
    "tcp.src": "tcp_src",
    "tcp.dst": "tcp_dst",
    "icmp4.type": "icmp_type",
    "icmp4.code": "icmp_code",
}


@dataclass(frozen=True)
class Packet:
    """A packet. protocol: as Open vSwitch calls it. fields: by the names of OVN."""

    name: str
    protocol: str
    fields: Mapping[str, str]

    def into_switch(self, ofport: int) -> str:
        """Return it as ofproto/trace wants it, sent into a port of the switch."""
        fields = [f"{IN_SWITCH[name]}={value}" for name, value in self.fields.items()]
        return ",".join([f"in_port={ofport}", self.protocol, *fields])

    def into_network(self, port: str) -> str:
        """Return it as ovn-trace wants it, sent into a logical port."""
        fields = [f"{name} == {value}" for name, value in self.fields.items()]
        return " && ".join([f'inport == "{port}"', *fields])


def packets_of(port: Port, network: Network) -> list[Packet]:
    """Return the packets that a port of an instance has to get through."""
    packets = [dhcp(port)]
    if network.distributed:
        packets += metadata(port, network)
    if port.outside:
        packets += ping(port, network, port.outside)
    return packets


def dhcp(port: Port) -> Packet:
    way = {"eth.src": port.mac, "eth.dst": "ff:ff:ff:ff:ff:ff", "ip4.src": "0.0.0.0", "ip4.dst": "255.255.255.255"}
    return Packet(DHCP, "udp", {**way, "ip.ttl": "64", "udp.src": "68", "udp.dst": "67"})


def metadata(port: Port, network: Network) -> list[Packet]:
    """Return a guest's request to OVN's metadata port, which its DHCP options name as the way there."""
    return [
        Packet(METADATA, "tcp", {**way, "tcp.src": "40000", "tcp.dst": "80"})
        for way in ways(port, network, LOCALPORT, METADATA_ADDRESS)
    ]


def ping(port: Port, network: Network, outside: str) -> list[Packet]:
    """Return a guest's ping to the network of its floating IP: the flows let answers to others pass as they do this."""
    return [
        Packet(PING, "icmp", {**way, "icmp4.type": "8", "icmp4.code": "0"})
        for way in ways(port, network, ROUTER_INTERFACE, outside)
    ]


def ways(port: Port, network: Network, by: str, to: str) -> list[dict[str, str]]:
    """Return the fields of a packet that a guest sends to an address by a serving port; none if these are unknown."""
    macs = [serving.mac for serving in network.serving if serving.owner == by and serving.mac]
    addresses = [address for address in port.addresses if ":" not in address]
    if not macs or not addresses:
        return []
    return [{"eth.src": port.mac, "eth.dst": macs[0], "ip4.src": addresses[0], "ip4.dst": to, "ip.ttl": "64"}]
