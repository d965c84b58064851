# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a request asked a cloud for, and what the cloud has of it: hosts, back ends of volumes, quotas, addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Optional

from .codec import omitted
from .words import Word

# Nova gives it to the resource provider of a compute host whose service is disabled, and asks for hosts without it.
STATUS_DISABLED = "COMPUTE_STATUS_DISABLED"


# What was asked for


@dataclass(frozen=True)
class RequestGroup:
    """Resources that one host has to give, and the traits that it must have or must not have.

    suffix: what the names of the flavor's properties have behind "resources"; a group with a suffix has to be given by
    one resource provider of the host. resources: resource class to amount.
    """

    suffix: str
    resources: Mapping[str, int]
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()


@dataclass(frozen=True)
class Requested:
    """An instance that was asked for. properties: those that an aggregate of its host must have.

    image_traits: the required traits that the image asks for, and not the flavor. filtered_by: the properties of the
    flavor and the image that filters of the scheduler go by.
    group_policy: whether groups with a suffix need different resource providers (isolate) or not (none).
    """

    flavor: str
    groups: tuple[RequestGroup, ...]
    zone: Optional[str] = None
    host: Optional[str] = None
    properties: Mapping[str, str] = field(default_factory=dict)
    image_traits: tuple[str, ...] = omitted(())
    filtered_by: Mapping[str, str] = field(default_factory=dict)
    group_policy: Optional[str] = omitted()
    count: int = 1

    @property
    def resources(self) -> dict[str, int]:
        """Return the sum of all groups, by resource class."""
        amounts: dict[str, int] = {}
        for group in self.groups:
            for name, amount in group.resources.items():
                amounts[name] = amounts.get(name, 0) + amount
        return amounts

    @property
    def required(self) -> tuple[str, ...]:
        """Return the traits that some resource provider of the host must have."""
        traits: dict[str, None] = {}
        for group in self.groups:
            traits.update(dict.fromkeys(group.required))
        return tuple(traits)

    @property
    def forbidden(self) -> tuple[str, ...]:
        """Return the traits that no resource provider of the host may have."""
        traits: dict[str, None] = {}
        for group in self.groups:
            traits.update(dict.fromkeys(group.forbidden))
        return tuple(traits)


# What the cloud has for instances


@dataclass(frozen=True)
class Inventory:
    """What a resource provider has of a resource class.

    allocation_ratio: by how much it may be promised more than once. max_unit, min_unit: the most and
    the least that one instance may have. step_size: what the amount for an instance is a multiple of.
    leftover: how much of what is used belongs to consumers that are no servers of the host; None if that was not read.
    """

    total: int
    reserved: int
    allocation_ratio: float
    max_unit: int
    used: int
    leftover: Optional[int] = omitted()
    min_unit: int = omitted(1)
    step_size: int = omitted(1)

    @property
    def capacity(self) -> int:
        """Return how much there is for all instances together."""
        return int((self.total - self.reserved) * self.allocation_ratio)

    @property
    def free(self) -> int:
        return max(0, self.capacity - self.used)


@dataclass(frozen=True)
class Provider:
    """A resource provider of Placement. root: the id of the provider at the top of its tree.

    aggregates: ids. is_read: whether the fields after it were read.
    """

    id: str
    name: str
    root: str
    is_read: bool = False
    inventories: Mapping[str, Inventory] = field(default_factory=dict)
    traits: tuple[str, ...] = omitted(())
    aggregates: tuple[str, ...] = omitted(())

    @property
    def is_root(self) -> bool:
        return self.id == self.root


@dataclass(frozen=True)
class ComputeService:
    """The service nova-compute of a host, as Nova sees it. forced_down: None where Nova is too old to show it."""

    state: str
    enabled: bool
    disabled_reason: Optional[str]
    forced_down: Optional[bool]
    zone: Optional[str]
    last_report: Optional[str]


@dataclass(frozen=True)
class ComputeHost:
    """A compute host. hypervisor: its name, and hypervisor_id its id; None if Nova lists none, as of a host in no cell.

    providers: the resource providers with the id or the name of the hypervisor, and those below them.
    aggregates: the properties of each aggregate that it is in, by the aggregate's name.
    """

    host: str
    service: Optional[ComputeService]
    hypervisor: Optional[str]
    hypervisor_id: Optional[str]
    providers: tuple[Provider, ...] = ()
    aggregates: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def roots(self) -> tuple[Provider, ...]:
        return tuple(
            provider for provider in self.providers if provider.is_root
        )

    @property
    def zone(self) -> Optional[str]:
        return None if self.service is None else self.service.zone

    @property
    def is_read(self) -> bool:
        """Return whether the inventories of the host were read."""
        return bool(self.providers) and all(
            provider.is_read for provider in self.providers
        )


class Constraint(Word):
    """A part of a request that can be left out of the question to Placement."""

    RESOURCE = "resource"
    REQUIRED = "required"
    FORBIDDEN = "forbidden"
    ZONE = "zone"


@dataclass(frozen=True)
class Candidates:
    """The hosts that Placement offers. without, name: the constraint that was left out; None as the scheduler asks.

    is_whole: whether Placement has listed all of them.
    """

    hosts: tuple[str, ...]
    is_whole: bool = True
    without: Optional[Constraint] = None
    name: Optional[str] = None

    def but(self, names: set[str]) -> Candidates:
        """Return the same but for some hosts."""
        hosts = tuple(host for host in self.hosts if host not in names)
        return replace(self, hosts=hosts)


# Stands for an answer that nobody asked for
NOT_ASKED = Candidates(hosts=(), is_whole=False)


@dataclass(frozen=True)
class ComputeCapacity:
    """What a cloud has for an instance that was asked for. zones: the availability zones of its compute hosts.

    hosts: None if Nova did not list its services. has_hypervisors, has_providers: whether those were listed.
    holders: required trait to how many resource providers have it. shared: providers that share with many hosts.
    """

    requested: Requested
    hosts: Optional[tuple[ComputeHost, ...]]
    zones: tuple[str, ...] = ()
    has_hypervisors: bool = False
    has_providers: bool = False
    candidates: tuple[Candidates, ...] = ()
    holders: Mapping[str, int] = field(default_factory=dict)
    shared: tuple[Provider, ...] = omitted(())

    def without(self, name: str) -> ComputeCapacity:
        """Return the same without a host."""
        hosts: list[ComputeHost] = []
        names = {name}
        for host in self.hosts or ():
            if host.host != name:
                hosts.append(host)
            elif host.hypervisor:
                names.add(host.hypervisor)
        candidates = [offered.but(names) for offered in self.candidates]
        return replace(self, hosts=tuple(hosts), candidates=tuple(candidates))

    @property
    def scope(self) -> list[ComputeHost]:
        """Return the hosts with a compute service that are the host, and in the zone, that was asked for."""
        asked = self.requested
        found: list[ComputeHost] = []
        for host in self.hosts or ():
            if host.service is None:
                continue
            if asked.host is not None and asked.host != host.host:
                continue
            if asked.zone is not None and asked.zone != host.zone:
                continue
            found.append(host)
        return found

    @property
    def offered(self) -> Candidates:
        """Return the hosts that Placement offers for the whole request; NOT_ASKED if it was not asked."""
        return next(
            (found for found in self.candidates if found.without is None),
            NOT_ASKED,
        )

    @property
    def relaxed(self) -> tuple[Candidates, ...]:
        """Return what Placement offers if one constraint is left out."""
        return tuple(
            found for found in self.candidates if found.without is not None
        )


# What the cloud has for other requests


@dataclass(frozen=True)
class Pool:
    """A pool of a back end of Cinder. name: host@back end#pool. free_gb: None if the back end does not know it.

    promised_gb: the sizes of all volumes, of which some may be empty. reserved: the share that no volume gets.
    ratio: how much of the rest may be promised, as a multiple of it; 1 if a volume takes all its room at the beginning.
    """

    name: str
    backend: Optional[str]
    free_gb: Optional[float]
    total_gb: Optional[float]
    promised_gb: float = omitted(0.0)
    ratio: float = omitted(1.0)
    reserved: float = omitted(0.0)


@dataclass(frozen=True)
class VolumeCapacity:
    """A volume that was asked for, and the pools of Cinder. backend: the one that the volume's type asks for."""

    type: Optional[str]
    backend: Optional[str]
    size_gb: int
    pools: tuple[Pool, ...]


@dataclass(frozen=True)
class QuotaUse:
    """A quota of the project. limit: unlimited if below zero. used: what is reserved counts as well.

    reserved: by requests that are being served, or that never came to their end.
    """

    name: str
    limit: int
    used: int
    reserved: int = omitted(0)


@dataclass(frozen=True)
class AddressUse:
    """The addresses of a network."""

    network: str
    total: int
    used: int


@dataclass(frozen=True)
class Capacity:
    """What a cloud has for a request that it did not satisfy; only the part that the request was about is read.

    unread: why some of it is missing. hosts_left_out: how many compute hosts were too many to read their inventories.
    """

    compute: Optional[ComputeCapacity] = omitted()
    volume: Optional[VolumeCapacity] = omitted()
    quotas: tuple[QuotaUse, ...] = omitted(())
    addresses: Optional[AddressUse] = omitted()
    hosts_left_out: int = omitted(0)
    unread: tuple[str, ...] = ()
