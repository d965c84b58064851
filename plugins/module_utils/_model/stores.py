# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the stores on a host hold of the intent that a cloud copies from one to the next, read after a failed stage.

A field is None where the host has no such store, or where it could not be read; then the host's unread names it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Optional

from .codec import omitted

# What the flags of a port have it drop
ALL_PACKETS, INCOMING, OUTGOING = (
    "all packets",
    "incoming packets",
    "outgoing packets",
)
# The group of OVN in which Neutron drops what no rule allows
DEFAULT_DROP = "neutron_pg_drop"


def bridge_mappings(text: str) -> dict[str, str]:
    """Return the bridge of each physical network, from a text such as physnet1:br-ex,physnet2:br-data."""
    pairs = [pair.partition(":") for pair in text.split(",") if pair]
    return {name: bridge for name, _colon, bridge in pairs}


def is_default_drop(rule: Optional[str]) -> bool:
    """Return whether a rule, as ovn-trace quotes it, is the one that drops what no rule of a security group allows."""
    return f"@{DEFAULT_DROP} " in (rule or "")


@dataclass(frozen=True)
class Bridge:
    """A bridge of Open vSwitch. interfaces: the names of those that are plugged into it. flows: how many it has."""

    name: str
    datapath: str
    fail_mode: Optional[str]
    interfaces: tuple[str, ...]
    flows: Optional[int] = omitted()


@dataclass(frozen=True)
class Interface:
    """An interface of Open vSwitch. kind: empty for a device of the host.

    port: the Neutron port that is wired with it. peer: the other end of a patch. local, remote: the ends of a tunnel.
    error: why Open vSwitch could not create it. tag: its VLAN on the bridge. drops: what its flags have it drop.
    bfd: the state of the session by which both ends of a tunnel hear of each other.
    """

    name: str
    kind: str
    ofport: Optional[int]
    error: Optional[str] = omitted()
    port: Optional[str] = omitted()
    peer: Optional[str] = omitted()
    local: Optional[str] = omitted()
    remote: Optional[str] = omitted()
    tag: Optional[int] = omitted()
    drops: Optional[str] = omitted()
    bfd: Optional[str] = omitted()


@dataclass(frozen=True)
class Switch:
    """Open vSwitch on a host. settings: the external ids by which ovn-controller is configured."""

    settings: Mapping[str, str]
    bridges: tuple[Bridge, ...]
    interfaces: tuple[Interface, ...]

    @property
    def mappings(self) -> dict[str, str]:
        """Return the bridge of each physical network that ovn-controller is configured with."""
        return bridge_mappings(self.settings.get("ovn-bridge-mappings", ""))

    def bridge(self, name: str) -> Optional[Bridge]:
        return next(
            (bridge for bridge in self.bridges if bridge.name == name), None
        )

    def bridge_of(self, interface: str) -> Optional[Bridge]:
        """Return the bridge that an interface is plugged into."""
        return next(
            (
                bridge
                for bridge in self.bridges
                if interface in bridge.interfaces
            ),
            None,
        )

    def interface_of(self, ports: Collection[str]) -> Optional[Interface]:
        """Return the first interface that is wired with one of some Neutron ports."""
        return next(
            (
                interface
                for interface in self.interfaces
                if interface.port in ports
            ),
            None,
        )


@dataclass(frozen=True)
class NetworkLink:
    """A network link of the kernel, with its addresses. dropped: packets, in either direction."""

    name: str
    mtu: int
    up: bool
    addresses: tuple[str, ...]
    dropped: int


@dataclass(frozen=True)
class Encapsulation:
    """A protocol and an address at which a chassis takes tunnels."""

    kind: str
    address: str


@dataclass(frozen=True)
class Chassis:
    """A row of OVN's southbound database for a host.

    version: of the configuration that it has applied last. reported: when, in seconds since the epoch.
    mappings: the physical networks that it reaches. is_gateway: whether routers may be placed on it.
    """

    name: str
    host: str
    encapsulations: tuple[Encapsulation, ...]
    version: Optional[int]
    reported: Optional[float]
    mappings: tuple[str, ...]
    is_gateway: bool


@dataclass(frozen=True)
class LogicalNetwork:
    """A network of Neutron that OVN's northbound database connects with a physical network, by the name of that."""

    id: str
    physical: str


@dataclass(frozen=True)
class ExternalGateway:
    """The network outside to which a router leads, both by the ids that Neutron gives them."""

    router: str
    network: str


@dataclass(frozen=True)
class Acl:
    """A rule of the northbound database that drops packets, and that Neutron did not make.

    holder: the group of ports or the network that has it.
    """

    holder: str
    action: str
    direction: str
    match: str
    priority: int


@dataclass(frozen=True)
class Trace:
    """The way that a packet of a port would take through the flows of Open vSwitch, or the logical flows of OVN.

    packet: dhcp, metadata, ping, or to_guest_ or from_guest_ with what a guest tried. outcome: answered (by OVN), sent
    or dropped. table, rule: those that end it. command: what traces it. listing: what lists the flow that ends it.
    ends: the addresses of the hosts to which it goes in tunnels.
    """

    port: str
    packet: str
    outcome: str
    table: Optional[int] = None
    rule: Optional[str] = None
    command: Optional[str] = omitted()
    listing: Optional[str] = omitted()
    ends: Optional[tuple[str, ...]] = omitted()

    @property
    def is_unallowed(self) -> bool:
        """Return whether it is dropped because no rule of a security group allows it."""
        return is_default_drop(self.rule)


@dataclass(frozen=True)
class Limit:
    """A limit on the packets of a logical network. text: what is limited, and to how much or by which meter.

    removal: the command that removes it.
    """

    holder: str
    text: str
    removal: str = omitted("")


@dataclass(frozen=True)
class OvnDatabases:
    """The databases of OVN on a host, and northd.

    northbound, southbound: whether each is active or the backup of another. northd: active, standby or paused.
    version: of the northbound database. translated: the version that northd has brought to the southbound one.
    traces: of the instance's packets through the logical flows. advertised: the ports of routers that OVN advertises
    over IPv6. disabled_routers: those that forward nothing. limits: those that Neutron has not set.
    external_gateways: those of all routers.
    """

    northbound: Optional[str]
    southbound: Optional[str]
    northd: Optional[str]
    version: Optional[int]
    translated: Optional[int]
    chassis: Optional[tuple[Chassis, ...]]
    networks: Optional[tuple[LogicalNetwork, ...]]
    acls: Optional[tuple[Acl, ...]]
    traces: Optional[tuple[Trace, ...]] = omitted()
    advertised: Optional[tuple[str, ...]] = omitted()
    disabled_routers: Optional[tuple[str, ...]] = omitted()
    limits: Optional[tuple[Limit, ...]] = omitted()
    external_gateways: Optional[tuple[ExternalGateway, ...]] = omitted()


@dataclass(frozen=True)
class Obstacle:
    """What lets packets go no further in a network namespace. command: what shows it."""

    namespace: str
    text: str
    command: str


@dataclass(frozen=True)
class DiskUse:
    """What QEMU has counted for a disk of a domain: its requests that were answered, and the seconds of all of them."""

    name: str
    requests: int
    seconds: float


@dataclass(frozen=True)
class Stores:
    """The stores of a host. controller: whether ovn-controller is connected to the southbound database.

    listening: the TCP ports that something listens on. advertised: the routers that a radvd advertises over IPv6.
    disks: those of the instance's domain, if it is there. obstacles: those in the namespaces of its networks and of
    their routers, if one is there.
    """

    switch: Optional[Switch] = omitted()
    links: Optional[tuple[NetworkLink, ...]] = omitted()
    controller: Optional[str] = omitted()
    ovn: Optional[OvnDatabases] = omitted()
    listening: Optional[tuple[int, ...]] = omitted()
    traces: Optional[tuple[Trace, ...]] = omitted()
    advertised: Optional[tuple[str, ...]] = omitted()
    disks: Optional[tuple[DiskUse, ...]] = omitted()
    obstacles: Optional[tuple[Obstacle, ...]] = omitted()
