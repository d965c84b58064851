# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The first packets of a guest, as Open vSwitch and OVN have them described to trace their way. None is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..._model.instance import (
    DHCP_PORT,
    DISTRIBUTED_INTERFACE,
    LOCALPORT,
    METADATA_ADDRESS,
    REPLICATED_INTERFACE,
    ROUTER_INTERFACE,
    GuestPath,
    Network,
    Port,
)

DHCP, METADATA, PING = "dhcp", "metadata", "ping"
# To the other guest of a run, and as it arrives there; the name of what a guest tried comes after it.
TO_GUEST, FROM_GUEST = "to_guest_", "from_guest_"
# The ports at which proxies for metadata listen, the first one that a network has
LISTENERS = (
    LOCALPORT,
    ROUTER_INTERFACE,
    DISTRIBUTED_INTERFACE,
    REPLICATED_INTERFACE,
    DHCP_PORT,
)
# How Open vSwitch calls a field of OVN
IN_SWITCH = {
    "eth.src": "dl_src",
    "eth.dst": "dl_dst",
    "ip4.src": "nw_src",
    "ip4.dst": "nw_dst",
    "ip6.src": "ipv6_src",
    "ip6.dst": "ipv6_dst",
    "ip.ttl": "nw_ttl",
    "udp.src": "udp_src",
    "udp.dst": "udp_dst",
    "tcp.src": "tcp_src",
    "tcp.dst": "tcp_dst",
    "icmp4.type": "icmp_type",
    "icmp4.code": "icmp_code",
    "icmp6.type": "icmpv6_type",
    "icmp6.code": "icmpv6_code",
}

ECHO = {"icmp4.type": "8", "icmp4.code": "0"}
ECHO6 = {"icmp6.type": "128", "icmp6.code": "0"}
# What a guest calls its ping over IPv6
PING6 = "ping6"


@dataclass(frozen=True)
class Packet:
    """A packet. protocol: as Open vSwitch calls it. fields: by the names of OVN."""

    name: str
    protocol: str
    fields: Mapping[str, str]

    def into_switch(self, *entry: str) -> str:
        """Return it as ofproto/trace wants it. entry: the port of the switch, and how the packet is carried there."""
        fields = [
            f"{IN_SWITCH[name]}={value}" for name, value in self.fields.items()
        ]
        return ",".join([*entry, self.protocol, *fields])

    def into_network(self, port: str) -> str:
        """Return it as ovn-trace wants it, sent into a logical port."""
        fields = [f"{name} == {value}" for name, value in self.fields.items()]
        return " && ".join([f'inport == "{port}"', *fields])


def packets_of(port: Port, network: Network) -> list[Packet]:
    """Return the packets that a port of an instance has to get through."""
    packets = [dhcp(port), *metadata(port, network)]
    if port.outside:
        packets += ping(port, network, port.outside)
    return packets


def dhcp(port: Port) -> Packet:
    fields = way(port.mac, "ff:ff:ff:ff:ff:ff", "0.0.0.0", "255.255.255.255")
    return Packet(DHCP, "udp", {**fields, "udp.src": "68", "udp.dst": "67"})


def metadata(port: Port, network: Network) -> list[Packet]:
    """Return a guest's request for metadata to who listens for it: OVN's own port, a router, or a port for DHCP."""
    listeners = filter(network.macs_serving, LISTENERS)
    owner = next(listeners, LOCALPORT)
    return [
        Packet(METADATA, "tcp", {**fields, **to_port(80)})
        for fields in ways(port, network, owner, METADATA_ADDRESS)
    ]


def ping(port: Port, network: Network, outside: str) -> list[Packet]:
    """Return a guest's ping to the network of its floating IP: the flows let answers to others pass as they do this."""
    return [
        Packet(PING, "icmp", {**fields, **ECHO})
        for fields in ways(port, network, ROUTER_INTERFACE, outside)
    ]


def leaving(path: GuestPath) -> list[Packet]:
    """Return the packet that got lost on a path as the guest sends it; none if its next hop is unknown."""
    hops = (
        path.source_network.macs_serving(ROUTER_INTERFACE)
        if path.is_routed
        else [path.target.mac]
    )
    if not hops:
        return []
    return between(path, TO_GUEST, path.source.mac, hops[0])


def arriving(path: GuestPath) -> list[Packet]:
    """Return the packet that got lost on a path as it comes to the host of the other guest."""
    hops = (
        path.target_network.macs_serving(ROUTER_INTERFACE)
        if path.is_routed
        else [path.source.mac]
    )
    if not hops:
        return []
    return between(path, FROM_GUEST, hops[0], path.target.mac)


def between(
    path: GuestPath, direction: str, source_mac: str, target_mac: str
) -> list[Packet]:
    is_ipv6 = path.check == PING6 or path.source.ipv4 is None
    here = path.source.ipv6 if is_ipv6 else path.source.ipv4
    there = path.target.ipv6 if is_ipv6 else path.target.ipv4
    if here is None or there is None:
        return []
    fields = way(source_mac, target_mac, here, there)
    name = f"{direction}{path.check}"
    if path.port is not None:
        protocol = "tcp6" if is_ipv6 else "tcp"
        return [Packet(name, protocol, {**fields, **to_port(path.port)})]
    if is_ipv6:
        return [Packet(name, "icmp6", {**fields, **ECHO6})]
    return [Packet(name, "icmp", {**fields, **ECHO})]


def ways(
    port: Port, network: Network, by: str, to: str
) -> list[dict[str, str]]:
    """Return the fields of a packet that a guest sends to an address by a serving port; none if these are unknown."""
    macs, address = network.macs_serving(by), port.ipv4
    if not macs or address is None:
        return []
    return [way(port.mac, macs[0], address, to)]


def way(
    source_mac: str, target_mac: str, source: str, target: str
) -> dict[str, str]:
    ip = "ip6" if ":" in source else "ip4"
    return {
        "eth.src": source_mac,
        "eth.dst": target_mac,
        f"{ip}.src": source,
        f"{ip}.dst": target,
        "ip.ttl": "64",
    }


def to_port(port: int) -> dict[str, str]:
    return {"tcp.src": "40000", "tcp.dst": str(port)}
