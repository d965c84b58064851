# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parts of answers of the APIs that are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Optional

from ..._model.codec import Key


@dataclass(frozen=True)
class FlavorAnswer:
    vcpus: int
    ram: int
    disk: int


@dataclass(frozen=True)
class VolumeAnswer:
    id: str


@dataclass(frozen=True)
class ServerAnswer:
    """A server of nova. image: an empty text if it boots from a volume. host: only administrators see it."""

    id: str
    name: str
    status: str
    created: str
    project_id: Annotated[str, Key("tenant_id")]
    host_id: Annotated[str, Key("hostId")]
    flavor: FlavorAnswer
    image: Any
    volumes: Annotated[tuple[VolumeAnswer, ...], Key("os-extended-volumes:volumes_attached")]
    host: Annotated[Optional[str], Key("OS-EXT-SRV-ATTR:host")] = None


@dataclass(frozen=True)
class BootAnswer:
    """A server of nova in a list of others."""

    id: str
    status: str
    created: str
    updated: Optional[str] = None
    launched: Annotated[Optional[str], Key("OS-SRV-USG:launched_at")] = None
    terminated: Annotated[Optional[str], Key("OS-SRV-USG:terminated_at")] = None


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


@dataclass(frozen=True)
class FloatingIpAnswer:
    address: Annotated[str, Key("floating_ip_address")]


@dataclass(frozen=True)
class RuleAnswer:
    """A rule of a security group."""

    id: str


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
