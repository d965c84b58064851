# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parts of answers of the APIs that are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Optional

from ..._model.codec import Key

# The owner of the port of a server begins so.
OF_COMPUTE = "compute:"


@dataclass(frozen=True)
class FlavorAnswer:
    vcpus: int
    ram: int
    disk: int
    extra_specs: Optional[Mapping[str, str]] = None


@dataclass(frozen=True)
class VolumeAnswer:
    id: str


@dataclass(frozen=True)
class ServerAnswer:
    """A server of nova. image: an empty text if it boots from a volume. host: only administrators see it.

    config_drive: an empty text if it has none.
    """

    id: str
    name: str
    status: str
    created: str
    project_id: Annotated[str, Key("tenant_id")]
    host_id: Annotated[str, Key("hostId")]
    flavor: FlavorAnswer
    image: Any
    volumes: Annotated[
        tuple[VolumeAnswer, ...], Key("os-extended-volumes:volumes_attached")
    ]
    host: Annotated[Optional[str], Key("OS-EXT-SRV-ATTR:host")] = None
    config_drive: str = ""


@dataclass(frozen=True)
class BootAnswer:
    """A server of nova in a list of others."""

    id: str
    status: str
    created: str
    updated: Optional[str] = None
    launched: Annotated[Optional[str], Key("OS-SRV-USG:launched_at")] = None
    terminated: Annotated[Optional[str], Key("OS-SRV-USG:terminated_at")] = (
        None
    )


@dataclass(frozen=True)
class AddressAnswer:
    address: Annotated[str, Key("ip_address")]
    subnet: Annotated[str, Key("subnet_id")]


@dataclass(frozen=True)
class PortAnswer:
    id: str
    mac: Annotated[str, Key("mac_address")]
    network: Annotated[str, Key("network_id")]
    addresses: Annotated[tuple[AddressAnswer, ...], Key("fixed_ips")]
    status: str
    host: Annotated[Optional[str], Key("binding:host_id")] = None
    kind: Annotated[Optional[str], Key("binding:vif_type")] = None
    created: Annotated[Optional[str], Key("created_at")] = None
    updated: Annotated[Optional[str], Key("updated_at")] = None
    revision: Annotated[Optional[int], Key("revision_number")] = None
    enabled: Annotated[bool, Key("admin_state_up")] = True
    security_groups: Optional[tuple[str, ...]] = None


@dataclass(frozen=True)
class OwnerAnswer:
    """A port by which a network is served, and the router or agent behind it. host, kind: only administrators see."""

    device: Annotated[str, Key("device_id")]
    owner: Annotated[str, Key("device_owner")]
    id: str = ""
    mac: Annotated[Optional[str], Key("mac_address")] = None
    host: Annotated[Optional[str], Key("binding:host_id")] = None
    kind: Annotated[Optional[str], Key("binding:vif_type")] = None
    addresses: Annotated[tuple[AddressAnswer, ...], Key("fixed_ips")] = ()


@dataclass(frozen=True)
class FloatingIpAnswer:
    address: Annotated[str, Key("floating_ip_address")]


@dataclass(frozen=True)
class RuleAnswer:
    """A rule of a security group. direction: ingress or egress."""

    id: str
    direction: Optional[str] = None


@dataclass(frozen=True)
class RouteAnswer:
    destination: str
    nexthop: str


@dataclass(frozen=True)
class SubnetAnswer:
    id: str
    version: Annotated[int, Key("ip_version")]
    cidr: str
    gateway: Annotated[Optional[str], Key("gateway_ip")]
    dhcp: Annotated[bool, Key("enable_dhcp")]
    routes: Annotated[tuple[RouteAnswer, ...], Key("host_routes")]
    resolvers: Annotated[tuple[str, ...], Key("dns_nameservers")] = ()


@dataclass(frozen=True)
class ServiceAnswer:
    """A service of nova or cinder."""

    binary: str
    host: str
    state: str
    status: str
    last_report: Annotated[Optional[str], Key("updated_at")]
    disabled_reason: Optional[str] = None
    forced_down: bool = False


@dataclass(frozen=True)
class AgentAnswer:
    """An agent of neutron."""

    binary: str
    host: str
    alive: bool
    enabled: Annotated[bool, Key("admin_state_up")]
    last_report: Annotated[Optional[str], Key("heartbeat_timestamp")]
    configurations: Mapping[str, Any] = field(default_factory=dict)


# Capacity


@dataclass(frozen=True)
class FlavorDetailAnswer:
    """A flavor with its properties. swap: a number, or an empty text."""

    name: str
    vcpus: int
    ram: int
    disk: int
    ephemeral: Annotated[int, Key("OS-FLV-EXT-DATA:ephemeral")] = 0
    swap: Any = 0
    extra_specs: Optional[Mapping[str, str]] = None


@dataclass(frozen=True)
class ComputeServiceAnswer:
    """A service of nova. Clouds that are too old to show forced_down leave it out."""

    binary: str
    host: str
    state: Optional[str] = None
    status: Optional[str] = None
    last_report: Annotated[Optional[str], Key("updated_at")] = None
    zone: Optional[str] = None
    disabled_reason: Optional[str] = None
    forced_down: Optional[bool] = None


@dataclass(frozen=True)
class HypervisorServiceAnswer:
    host: str


@dataclass(frozen=True)
class HypervisorAnswer:
    """A hypervisor. id: a number before version 2.53, which no resource provider has."""

    id: Any
    name: Annotated[str, Key("hypervisor_hostname")]
    service: HypervisorServiceAnswer


@dataclass(frozen=True)
class AggregateAnswer:
    name: str
    hosts: tuple[str, ...]
    metadata: Optional[Mapping[str, str]] = None
    uuid: Optional[str] = None


@dataclass(frozen=True)
class ProviderAnswer:
    """A resource provider of placement. root: clouds without nested providers do not show it."""

    id: Annotated[str, Key("uuid")]
    name: str
    root: Annotated[Optional[str], Key("root_provider_uuid")] = None


@dataclass(frozen=True)
class InventoryAnswer:
    total: int
    reserved: int = 0
    allocation_ratio: float = 1.0
    max_unit: int = 2147483647
    min_unit: int = 1
    step_size: int = 1


@dataclass(frozen=True)
class SummaryAnswer:
    """A resource provider beside allocation candidates."""

    root: Annotated[Optional[str], Key("root_provider_uuid")] = None


@dataclass(frozen=True)
class CandidatesAnswer:
    """Allocation candidates: each request is an allocation that placement would accept."""

    requests: Annotated[
        tuple[Mapping[str, Any], ...], Key("allocation_requests")
    ]
    summaries: Annotated[
        Mapping[str, SummaryAnswer], Key("provider_summaries")
    ]


@dataclass(frozen=True)
class HeldAnswer:
    """What a consumer holds of a resource provider."""

    resources: Mapping[str, int]


@dataclass(frozen=True)
class PoolCapabilitiesAnswer:
    """What a pool of cinder reports. free, total: numbers, or a word such as infinite or unknown.

    provisioned: not all drivers report it. Then cinder counts allocated, the volumes that it has made itself.
    """

    backend: Annotated[Optional[str], Key("volume_backend_name")] = None
    free: Annotated[Any, Key("free_capacity_gb")] = None
    total: Annotated[Any, Key("total_capacity_gb")] = None
    provisioned: Annotated[Any, Key("provisioned_capacity_gb")] = None
    allocated: Annotated[Any, Key("allocated_capacity_gb")] = None
    reserved: Annotated[Any, Key("reserved_percentage")] = None
    is_thin: Annotated[Any, Key("thin_provisioning_support")] = None
    ratio: Annotated[Any, Key("max_over_subscription_ratio")] = None


@dataclass(frozen=True)
class PoolAnswer:
    name: str
    capabilities: PoolCapabilitiesAnswer


@dataclass(frozen=True)
class VolumeTypeAnswer:
    name: str
    extra_specs: Optional[Mapping[str, str]] = None


@dataclass(frozen=True)
class QuotaAnswer:
    """A quota of neutron."""

    limit: int
    used: int
    reserved: int = 0


@dataclass(frozen=True)
class AvailabilityAnswer:
    """The addresses of a network."""

    name: Annotated[str, Key("network_name")]
    total: Annotated[int, Key("total_ips")]
    used: Annotated[int, Key("used_ips")]
