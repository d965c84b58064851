# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Facts: what a host knows of an instance when it is read, one class for each thing that a reader asks for.

Where a field is None, the host has no such thing, or it could not be read; then it is named in the host's unread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional

from .codec import omitted

# Of an error of Open vSwitch about an interface
NO_DEVICE = "No such device"


@dataclass(frozen=True)
class ServiceUnit:
    """A unit of systemd that runs a component of the cloud, or a container without a unit.

    state: running, stopped, failed, frozen, paused, unhealthy, on demand, activating or deactivating.
    for_s: how long it has been in this state. since: the second in which it came into it, by the host's clock.
    restarts: how often systemd has restarted it by itself. container: the one that it is in, by the name that its
    engine (docker or podman) has for it. result: systemd's word for how it ended, if that was not by itself.
    """

    component: str
    unit: str
    state: str
    for_s: Optional[float]
    since: Optional[float]
    restarts: int
    container: Optional[str] = omitted()
    engine: Optional[str] = omitted()
    result: Optional[str] = omitted()


@dataclass(frozen=True)
class DiskLimit:
    """A limit of a disk, as libvirt calls it, such as total_iops_sec: requests or bytes in a second."""

    name: str
    most: int


@dataclass(frozen=True)
class Disk:
    """A disk of a domain.

    target: its name in the guest. protocol: rbd, or None for a file or a device of the host.
    source: the image as pool/name, the file or the device. monitors: Ceph's monitors, each as address:port.
    user, secret: the user of Ceph, and the UUID of libvirt's secret with its key.
    encryption, encryption_secret: the format that QEMU decrypts, such as luks, and the UUID of the secret for that.
    shareable: whether another server may have it at the same time.
    limits: what bounds its speed on purpose.
    """

    device: Optional[str]
    type: Optional[str]
    target: Optional[str]
    serial: Optional[str]
    protocol: Optional[str]
    source: Optional[str]
    monitors: tuple[str, ...]
    user: Optional[str]
    secret: Optional[str]
    encryption: Optional[str] = omitted()
    encryption_secret: Optional[str] = omitted()
    shareable: bool = omitted(False)
    limits: tuple[DiskLimit, ...] = omitted(())


@dataclass(frozen=True)
class DomainInterface:
    """A network interface of a domain. tap: the link of the host behind it. port: the id of the Neutron port."""

    type: Optional[str]
    mac: Optional[str]
    tap: Optional[str]
    bridge: Optional[str]
    port: Optional[str]
    mtu: Optional[int]


# How libvirt calls the state of a domain that has ended
SHUT_OFF = "shut off"


@dataclass(frozen=True)
class DomainState:
    """The state of a domain and its reason, such as running and booted."""

    name: str
    reason: str


@dataclass(frozen=True)
class DomainProcess:
    """The emulator of a domain. started: seconds since the epoch. connections: its peers, each as address:port."""

    pid: int
    started: Optional[float]
    connections: tuple[str, ...]


@dataclass(frozen=True)
class Domain:
    """An instance as libvirt has it. secrets: the UUIDs of all secrets that libvirt on this host has."""

    uuid: Optional[str]
    name: Optional[str]
    vcpus: int
    memory_mib: int
    disks: tuple[Disk, ...]
    interfaces: tuple[DomainInterface, ...]
    state: Optional[DomainState] = None
    secrets: Optional[tuple[str, ...]] = None
    process: Optional[DomainProcess] = None


@dataclass(frozen=True)
class Link:
    """A network link of the kernel. received: how many packets came in, which of a guest's are those that it sent."""

    mtu: int
    up: bool
    received: Optional[int] = None


@dataclass(frozen=True)
class Flows:
    """The OpenFlow flows that name an interface, the ages of the oldest and the youngest, and the packets they met."""

    count: int
    oldest_s: Optional[float]
    youngest_s: Optional[float]
    packets: Optional[int] = None


@dataclass(frozen=True)
class SwitchInterface:
    """The interface of a Neutron port in Open vSwitch.

    error: why Open vSwitch could not create it. port, mac, server: the ids that nova-compute has set.
    by_ovn: whether ovn-controller has wired it. others: further interfaces with the same port. tag: its local VLAN.
    """

    name: str
    ofport: Optional[int]
    error: Optional[str]
    port: Optional[str]
    mac: Optional[str]
    server: Optional[str]
    by_ovn: bool
    others: tuple[str, ...]
    bridge: Optional[str] = None
    tag: Optional[int] = None
    link: Optional[Link] = None
    flows: Optional[Flows] = None

    @property
    def waits_for_device(self) -> bool:
        """Return whether the host does not have the device yet that libvirt makes for the port."""
        return NO_DEVICE in (self.error or "")


@dataclass(frozen=True)
class DnsmasqProcess:
    """A dnsmasq of a network. options: the words of its command line about the MTU."""

    pid: int
    options: tuple[str, ...]


@dataclass(frozen=True)
class DhcpReservation:
    """A line of the DHCP agent's file of hosts."""

    mac: str
    address: Optional[str]


@dataclass(frozen=True)
class Lease:
    """A lease of dnsmasq. expires: seconds since the epoch."""

    expires: int
    mac: str
    address: str


@dataclass(frozen=True)
class DhcpMessage:
    """A message between dnsmasq and the port. kind: DISCOVER, OFFER, REQUEST, ACK, NAK and others.

    why: what dnsmasq refuses an address for.
    """

    kind: str
    address: Optional[str]
    mac: str
    at: float
    resolution_s: float
    why: Optional[str] = omitted()


@dataclass(frozen=True)
class Dhcp:
    """A port in the files, the processes and the log of the DHCP agent.

    directory: that of the port's network; None if this host does not serve it.
    hosts, leases: the lines with the MAC of the port. options: all lines. log: its messages.
    """

    directory: Optional[str]
    processes: tuple[DnsmasqProcess, ...]
    hosts: Optional[tuple[DhcpReservation, ...]] = None
    options: Optional[tuple[str, ...]] = None
    leases: Optional[tuple[Lease, ...]] = None
    log: Optional[tuple[DhcpMessage, ...]] = None


@dataclass(frozen=True)
class RouterInterface:
    """An interface by which a router reaches the outside."""

    name: str
    mac: str
    up: bool
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class Translation:
    """A rule of a router for a floating IP."""

    address: str
    fixed: str


@dataclass(frozen=True)
class Router:
    """A router in the kernel of a network host.

    external: its interfaces to the outside. inbound, outbound: the rules for packets that come in and go out. mtus: of
    all its interfaces, by their names.
    """

    external: tuple[RouterInterface, ...]
    inbound: tuple[Translation, ...]
    outbound: tuple[Translation, ...]
    mtus: Optional[Mapping[str, int]] = omitted()

    @property
    def is_active(self) -> bool:
        return any(
            interface.up and interface.addresses for interface in self.external
        )


@dataclass(frozen=True)
class ProxiedRequest:
    """A request to the metadata service. at: when it was answered. seconds: from its first byte to the last."""

    at: float
    resolution_s: float
    status: int
    path: Optional[str]
    seconds: float = 0.0


@dataclass(frozen=True)
class MetadataProxy:
    """The metadata proxy of a network or a router. requests: those of the port's addresses.

    addresses: those of IPv4 in the network namespace in which it runs.
    """

    owner: str
    processes: Optional[tuple[int, ...]]
    requests: Optional[tuple[ProxiedRequest, ...]]
    addresses: Optional[tuple[str, ...]] = omitted()


@dataclass(frozen=True)
class LogicalPort:
    """A row of OVN's northbound database. dhcp: the UUID of its DHCP options."""

    uuid: str
    up: bool
    enabled: bool
    addresses: tuple[str, ...]
    dhcp: Optional[str]


@dataclass(frozen=True)
class PortBinding:
    """A row of OVN's southbound database. host: that of the chassis that has claimed the port."""

    host: Optional[str]
    up: bool


@dataclass(frozen=True)
class DhcpOptions:
    """The range and the options that ovn-controller gives out."""

    cidr: str
    options: Mapping[str, str]


@dataclass(frozen=True)
class OvnFloatingIp:
    """A floating IP in OVN. mac: its own one, if compute hosts answer for it."""

    address: str
    fixed: str
    mac: Optional[str]


@dataclass(frozen=True)
class OvnRouter:
    """A router in OVN. gateway: the host of its gateway port. mac: that of the port."""

    gateway: Optional[str]
    mac: Optional[str]
    floating_ips: tuple[OvnFloatingIp, ...]


@dataclass(frozen=True)
class OvnPort:
    """A port in OVN's databases. groups: name of each of its port groups to the number of its ACLs."""

    logical: Optional[LogicalPort]
    binding: Optional[PortBinding]
    dhcp: Optional[DhcpOptions]
    groups: Optional[Mapping[str, int]]
    routers: Optional[Mapping[str, OvnRouter]]


@dataclass(frozen=True)
class CephHealth:
    """The status of a Ceph cluster, and the messages of its checks that failed, by their names."""

    status: str
    checks: Mapping[str, str]


@dataclass(frozen=True)
class ObjectPlace:
    """The placement group of an object, and the numbers of the OSDs that serve it."""

    object: str
    pg: str
    acting: tuple[int, ...]


@dataclass(frozen=True)
class Image:
    """An RBD image. exists: None if it could not be read; only an image that exists has the other fields in JSON.

    size: in bytes. created: as Ceph writes it, in the zone of the host. parent: pool/image@snapshot of a clone.
    watchers: the addresses of the clients that have it open. header: the place of its header object.
    """

    pool: str
    name: str
    exists: Optional[bool]
    size: Optional[int] = omitted()
    features: Optional[tuple[str, ...]] = omitted()
    created: Optional[str] = omitted()
    parent: Optional[str] = omitted()
    watchers: Optional[tuple[str, ...]] = omitted()
    snapshots: Optional[tuple[str, ...]] = omitted()
    header: Optional[ObjectPlace] = omitted()


@dataclass(frozen=True)
class ExistingImage(Image):
    """An image that exists: what is missing or could not be read of it is null in JSON."""

    size: Optional[int] = None
    features: Optional[tuple[str, ...]] = None
    created: Optional[str] = None
    parent: Optional[str] = None
    watchers: Optional[tuple[str, ...]] = None
    snapshots: Optional[tuple[str, ...]] = None
    header: Optional[ObjectPlace] = None


@dataclass(frozen=True)
class OriginImage:
    """The image of Glance that the root disk is cloned from."""

    pool: str
    name: str
    exists: Optional[bool]
    snapshots: Optional[tuple[str, ...]]


@dataclass(frozen=True)
class Ceph:
    """A Ceph cluster. user: the one that was used; None if there is no keyring.

    osds: number of each to whether it is up.
    """

    user: Optional[str]
    health: Optional[CephHealth] = None
    osds: Optional[Mapping[str, bool]] = None
    images: Optional[tuple[Image, ...]] = None
    origin: Optional[OriginImage] = None


@dataclass(frozen=True)
class Facts:
    """The facts of a host. JSON leaves out what belongs to a part of the cloud that is not on the host.

    zone_s: the host's time zone, in seconds east of UTC.
    interfaces, dhcp, metadata, ovn: id of each port to what is known of it. routers: id of each router to the same.
    """

    names: tuple[str, ...]
    addresses: tuple[str, ...]
    zone_s: Optional[int]
    services: tuple[ServiceUnit, ...]
    domain: Optional[Domain] = omitted()
    interfaces: Optional[Mapping[str, Optional[SwitchInterface]]] = omitted()
    dhcp: Optional[Mapping[str, Dhcp]] = omitted()
    routers: Optional[Mapping[str, Optional[Router]]] = omitted()
    metadata: Optional[Mapping[str, tuple[MetadataProxy, ...]]] = omitted()
    ovn: Optional[Mapping[str, Optional[OvnPort]]] = omitted()
    ceph: Optional[Ceph] = omitted()


@dataclass(frozen=True)
class ComputeFacts(Facts):
    """The facts of a compute host: that libvirt there has no domain of the instance is a fact as well."""

    domain: Optional[Domain] = None
