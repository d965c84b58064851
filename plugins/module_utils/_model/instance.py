# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the API reports about an instance, its ports, networks and image: the facts of hosts must agree with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Optional

from .codec import Time, omitted

# The owners of ports by which a network is served: of its routers, and of OVN on each host
ROUTER_INTERFACE, LOCALPORT = "network:router_interface", "network:distributed"
DISTRIBUTED_INTERFACE = "network:router_interface_distributed"
REPLICATED_INTERFACE = "network:ha_router_replicated_interface"
DHCP_PORT = "network:dhcp"
METADATA_ADDRESS = "169.254.169.254"
# A network is carried by a physical network of one of these kinds, or in tunnels.
PHYSICAL = ("flat", "vlan")


@dataclass(frozen=True)
class Server:
    """A server of nova. host: the compute host, which only administrators see. host_id: a digest of it.

    config_drive: whether it has its metadata on a disk as well, so that its guest need not ask for them.
    traits: what its flavor requires or forbids of the host, each with that word.
    """

    id: str
    name: str
    status: str
    project_id: str
    host: Optional[str]
    host_id: str
    created: str
    vcpus: int
    memory_mib: int
    disk_gib: int
    config_drive: bool = omitted(False)
    traits: Optional[Mapping[str, str]] = omitted()


@dataclass(frozen=True)
class Port:
    """A port of the server. kind: how it is wired on its host.

    subnets, security_rules: only of ports that OVN serves; security_rules is id of each group to the ids of its rules.
    disabled: whether its user has set it down. egress_rules: how many rules of its groups let packets out; none without
    a group.
    """

    id: str
    mac: str
    addresses: tuple[str, ...]
    network: str
    host: Optional[str]
    kind: Optional[str]
    status: str
    created: Optional[str]
    updated: Optional[str]
    revision: Optional[int]
    floating_ips: tuple[str, ...] = ()
    subnets: Optional[tuple[str, ...]] = omitted()
    security_rules: Optional[Mapping[str, tuple[str, ...]]] = omitted()
    disabled: bool = omitted(False)
    egress_rules: Optional[int] = omitted()

    @property
    def ipv4(self) -> Optional[str]:
        """Return the first address of IPv4."""
        return next(
            (address for address in self.addresses if ":" not in address), None
        )

    @property
    def ipv6(self) -> Optional[str]:
        """Return the first address of IPv6."""
        return next(
            (address for address in self.addresses if ":" in address), None
        )

    @property
    def outside(self) -> Optional[str]:
        """Return an address beside the first floating IP: even a router without a way to the world reaches it."""
        if not self.floating_ips:
            return None
        return str(ip_address(int(ip_address(self.floating_ips[0])) ^ 1))


@dataclass(frozen=True)
class Subnet:
    """A subnet. routes: each as destination,next hop. resolvers: those that its user wants guests to have."""

    id: str
    version: int
    cidr: str
    gateway: Optional[str]
    dhcp: bool
    routes: tuple[str, ...]
    resolvers: tuple[str, ...] = omitted(())


@dataclass(frozen=True)
class ServingPort:
    """A port by which a network is served, such as that of a DHCP agent. owner: what it is for.

    host, kind: where and how it is wired; only administrators see them.
    """

    id: str
    owner: str
    mac: Optional[str] = None
    host: Optional[str] = None
    kind: Optional[str] = None
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True)
class Network:
    """A network of the server.

    dhcp_ports: the devices of the ports of DHCP agents. distributed: whether OVN serves it.
    routers: the ids of its routers. on_computes: whether compute hosts translate its floating IPs.
    kind, physical: how it is carried, and the physical network that carries it; only administrators see them.
    segment: its number there or in tunnels, if it has one.
    serving: the ports by which it is served. disabled: whether its user has set it down.
    """

    id: str
    mtu: Optional[int]
    subnets: tuple[Subnet, ...]
    dhcp_ports: tuple[str, ...]
    distributed: bool
    routers: tuple[str, ...]
    on_computes: bool = False
    kind: Optional[str] = omitted()
    physical: Optional[str] = omitted()
    serving: tuple[ServingPort, ...] = omitted(())
    disabled: bool = omitted(False)
    segment: Optional[int] = omitted()

    @property
    def is_physical(self) -> bool:
        """Return whether a physical network carries it, and not tunnels."""
        return self.kind in PHYSICAL

    @property
    def leases_ipv4(self) -> bool:
        return any(
            subnet.dhcp and subnet.version == 4 for subnet in self.subnets
        )

    @property
    def gives_addresses(self) -> bool:
        """Return whether a guest gets an address: by a lease of IPv4, or by what a router advertises of IPv6."""
        versions = {subnet.version for subnet in self.subnets}
        return self.leases_ipv4 or (6 in versions and bool(self.routers))

    def served_by(self, owner: str) -> list[ServingPort]:
        """Return the ports by which a service is on the network."""
        return [port for port in self.serving if port.owner == owner]

    def macs_serving(self, owner: str) -> list[str]:
        """Return the MAC addresses of those ports."""
        return [port.mac for port in self.served_by(owner) if port.mac]


@dataclass(frozen=True)
class BootImage:
    """The image that the server boots from. direct_url: where it lies in Ceph, if Glance shows it."""

    id: str
    direct_url: Optional[str]
    stores: Optional[str] = None
    disk_format: Optional[str] = None


@dataclass(frozen=True)
class Claims:
    """The resource providers that hold something for the server: their number, and while it has no host their names."""

    allocations: Optional[int] = None
    claimed_on: tuple[str, ...] = ()


@dataclass(frozen=True)
class GuestPath:
    """A path from one guest of a run to the other, on which packets are lost.

    check: how the guest found that. source, target: the ports, and over the networks of both. port: of TCP.
    """

    check: str
    source: Port
    source_network: Network
    target: Port
    target_network: Network
    port: Optional[int] = omitted()

    @property
    def is_routed(self) -> bool:
        return self.source_network.id != self.target_network.id


@dataclass(frozen=True)
class DescribedInstance:
    """An instance as the API describes it. queried: when. volumes: the ids of those that are attached.

    paths: those between it and the run's other guest on which packets are lost.
    """

    queried: Time
    server: Server
    ports: tuple[Port, ...]
    networks: tuple[Network, ...]
    volumes: tuple[str, ...]
    image: Optional[BootImage]
    paths: tuple[GuestPath, ...] = omitted(())

    def network_of(self, port: Port) -> Network:
        return next(
            network for network in self.networks if network.id == port.network
        )
