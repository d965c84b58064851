# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask a cloud what it has for a request that it did not satisfy, as an administrator. Nothing is changed.

Each answer that is missing is a reason in the result, and never an exception. All requests of a step are sent in
parallel, and all together end with the deadline of the connection.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Optional, TypeVar

from ..._cloud.connection import answer_of
from ..._cloud.errors import CLOUD_ERRORS, explain
from ..._model.capacity import (
    AddressUse,
    Candidates,
    Capacity,
    ComputeCapacity,
    ComputeHost,
    ComputeService,
    Inventory,
    Pool,
    Provider,
    QuotaUse,
    Requested,
    VolumeCapacity,
)
from ..._model.codec import from_json
from ..._record.errors import MALFORMED, StageError
from .answers import (
    AggregateAnswer,
    AvailabilityAnswer,
    CandidatesAnswer,
    ComputeServiceAnswer,
    FlavorDetailAnswer,
    HeldAnswer,
    HypervisorAnswer,
    InventoryAnswer,
    PoolAnswer,
    ProviderAnswer,
    QuotaAnswer,
    SummaryAnswer,
    VolumeTypeAnswer,
)
from .placement_request import (
    Question,
    Wanted,
    aggregates_of,
    questions,
    requested,
)

T = TypeVar("T")
Item = TypeVar("Item")

EXPECTED: tuple[type[BaseException], ...] = (
    *CLOUD_ERRORS,
    *MALFORMED,
    StageError,
)
COMPUTE, DOWN = "nova-compute", "down"
# A quota of Cinder
VOLUMES = "volumes"
# Since these versions an answer has what is read here. An older cloud is asked in its own newest version.
(
    SERVICES_SINCE,
    HYPERVISORS_SINCE,
    AGGREGATES_SINCE,
    FLAVOR_SINCE,
    MIGRATIONS_SINCE,
) = (
    "2.69",
    "2.53",
    "2.41",
    "2.61",
    "2.59",
)
PLACEMENT_SINCE = "1.36"
# How services name their newest version when they refuse another one
NEWEST = re.compile(
    r"max(?:imum|_version)\W+(?:is\W+)?(\d+\.\d+)", re.IGNORECASE
)
SHARES = "MISC_SHARES_VIA_AGGREGATE"
# An id of Placement; before version 2.53 a hypervisor has a number instead.
UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")

PARALLEL = 8
# The inventories of more hosts take longer to read than an operator waits.
MOST_HOSTS = 20
# Of a host that several constraints exclude, one left out at a time says nothing.
MOST_QUESTIONS = 9
MOST_TRAITS = 5
# A large cloud offers some thousand hosts for each question.
MOST_CANDIDATES = 200
# Of hosts that are full, and of consumers on them that are no servers
MOST_FULL, MOST_CONSUMERS = 5, 10
# The longest page that the services give
LONGEST_PAGE = 1000


@dataclass(frozen=True)
class Instance:
    """An instance that was asked for, by the ids of its flavor and image."""

    flavor: str
    image: Optional[str] = None
    zone: Optional[str] = None
    host: Optional[str] = None
    from_volume: bool = False
    count: int = 1


@dataclass(frozen=True)
class Volume:
    """A volume that was asked for. type: None for the cloud's default."""

    type: Optional[str]
    size_gb: int


class Reader:
    """Asks one cloud, and remembers why answers are missing."""

    def __init__(self, cloud: Any) -> None:
        self.cloud = cloud
        self._unread: dict[str, None] = {}

    @property
    def unread(self) -> tuple[str, ...]:
        return tuple(self._unread)

    def attempt(self, subject: str, ask: Callable[[], T]) -> T | None:
        """Return an answer, or None and keep the reason."""
        try:
            return ask()
        except EXPECTED as exc:
            self._unread[explain(exc, f"asking for {subject}")["message"]] = (
                None
            )
            return None

    def all(self, asks: Mapping[str, Callable[[], Any]]) -> list[Any]:
        """Return the answers about several subjects, which are asked for in parallel."""
        with ThreadPoolExecutor(PARALLEL) as pool:
            return list(
                pool.map(
                    lambda subject: self.attempt(subject, asks[subject]), asks
                )
            )

    def each(
        self, subject: str, ask: Callable[[Item], T], items: Iterable[Item]
    ) -> list[T | None]:
        """Return the answers about several things, which are asked for in parallel."""
        with ThreadPoolExecutor(PARALLEL) as pool:
            return list(
                pool.map(
                    lambda item: self.attempt(subject, lambda: ask(item)),
                    items,
                )
            )

    def get(
        self, service: str, path: str, version: str | None = None, **query: Any
    ) -> Any:
        """Return an answer in a version, or in the newest that the service knows."""
        proxy = getattr(self.cloud, service)
        answer = proxy.get(path, params=query, microversion=version)
        if (
            answer.status_code == HTTPStatus.NOT_ACCEPTABLE
            and version is not None
        ):
            newest = NEWEST.search(answer.text)
            if newest:
                answer = proxy.get(path, params=query, microversion=newest[1])
        return answer_of(answer)

    def listed(
        self,
        service: str,
        path: str,
        kind: type[T],
        version: str | None = None,
        **query: Any,
    ) -> list[T]:
        """Return the things of an answer, which has their name as its first key."""
        answer = self.get(service, path, version, **query)
        return [
            from_json(kind, thing, path) for thing in answer[name_of(path)]
        ]


def name_of(path: str) -> str:
    """Return the name under which an answer lists things, by its path."""
    named = {
        "/os-services": "services",
        "/os-hypervisors/detail": "hypervisors",
        "/os-aggregates": "aggregates",
    }
    return named.get(path) or path.strip("/")


# Hosts for an instance


@dataclass(frozen=True)
class Listed:
    """What a cloud lists, for any request. None: it does not."""

    flavor: Optional[FlavorDetailAnswer]
    image: Mapping[str, Any]
    services: Optional[Sequence[ComputeServiceAnswer]]
    hypervisors: Optional[Sequence[HypervisorAnswer]]
    aggregates: Sequence[AggregateAnswer]
    providers: Optional[Sequence[ProviderAnswer]]


def of_instance(cloud: Any, instance: Instance) -> Capacity:
    """Return what a cloud has for an instance."""
    reader = Reader(cloud)
    listed = everything(reader, instance)
    if listed.flavor is None:
        return Capacity(unread=reader.unread)
    wanted = Wanted(
        flavor=listed.flavor,
        image=listed.image,
        zone=instance.zone,
        host=instance.host,
        from_volume=instance.from_volume,
        count=instance.count,
    )
    asked = requested(wanted)
    hosts = None if listed.services is None else hosts_of(listed)
    compute = ComputeCapacity(
        requested=asked,
        hosts=hosts,
        zones=zones_of(listed.services or ()),
        has_hypervisors=listed.hypervisors is not None,
        has_providers=listed.providers is not None,
    )
    if not hosts or listed.providers is None:
        return Capacity(compute=compute, unread=reader.unread)
    return with_placement(reader, compute, listed.aggregates)


def everything(reader: Reader, instance: Instance) -> Listed:
    """Return what is listed, asked for in parallel."""
    asks: dict[str, Callable[[], Any]] = {
        "the flavor": lambda: flavor_of(reader, instance.flavor),
        "the image": lambda: image_of(reader, instance.image),
        "the services of Nova": lambda: reader.listed(
            "compute", "/os-services", ComputeServiceAnswer, SERVICES_SINCE
        ),
        "the hypervisors": lambda: reader.listed(
            "compute",
            "/os-hypervisors/detail",
            HypervisorAnswer,
            HYPERVISORS_SINCE,
        ),
        "the aggregates": lambda: reader.listed(
            "compute", "/os-aggregates", AggregateAnswer, AGGREGATES_SINCE
        ),
        "the resource providers": lambda: reader.listed(
            "placement", "/resource_providers", ProviderAnswer, PLACEMENT_SINCE
        ),
    }
    flavor, image, services, hypervisors, aggregates, providers = reader.all(
        asks
    )
    return Listed(
        flavor, image or {}, services, hypervisors, aggregates or (), providers
    )


def flavor_of(reader: Reader, identity: str) -> FlavorDetailAnswer:
    answer = reader.get("compute", f"/flavors/{identity}", FLAVOR_SINCE)[
        "flavor"
    ]
    return from_json(FlavorDetailAnswer, answer, "the flavor")


def image_of(reader: Reader, identity: str | None) -> Mapping[str, Any]:
    properties: Mapping[str, Any] = (
        reader.get("image", f"/images/{identity}") if identity else {}
    )
    return properties


def zones_of(services: Iterable[ComputeServiceAnswer]) -> tuple[str, ...]:
    return tuple(
        sorted(
            {
                service.zone
                for service in services
                if service.binary == COMPUTE and service.zone
            }
        )
    )


def hosts_of(listed: Listed) -> tuple[ComputeHost, ...]:
    """Return the compute hosts, each with its hypervisor; one with several hypervisors once for each."""
    hypervisors: dict[str, list[HypervisorAnswer]] = {}
    for hypervisor in listed.hypervisors or ():
        of_host = hypervisors.setdefault(hypervisor.service.host, [])
        of_host.append(hypervisor)
    found: list[ComputeHost] = []
    for service in listed.services or ():
        if service.binary != COMPUTE:
            continue
        own = hypervisors.get(service.host)
        if own is None:
            found.append(host_of(service, None, listed))
            continue
        found += [host_of(service, hypervisor, listed) for hypervisor in own]
    others = without_service(found, listed.providers or ())
    return (*found, *others)


def without_service(
    hosts: Iterable[ComputeHost], providers: Iterable[ProviderAnswer]
) -> list[ComputeHost]:
    """Return the hosts of which only a resource provider is left."""
    known: set[str] = set()
    for host in hosts:
        known.update(provider.id for provider in host.providers)
    roots = [
        provider
        for provider in map(provider_of, providers)
        if provider.is_root and provider.id not in known
    ]
    return [
        ComputeHost(provider.name, None, None, None, (provider,))
        for provider in roots
    ]


def host_of(
    service: ComputeServiceAnswer,
    hypervisor: HypervisorAnswer | None,
    listed: Listed,
) -> ComputeHost:
    name, identity = None, None
    if hypervisor is not None:
        name = hypervisor.name
        identity = (
            hypervisor.id if UUID.fullmatch(str(hypervisor.id)) else None
        )
    aggregates = {
        found.name: dict(found.metadata or {})
        for found in listed.aggregates
        if service.host in found.hosts
    }
    return ComputeHost(
        host=service.host,
        service=ComputeService(
            # Nova does not know it of a cell whose database it does not reach.
            state=service.state or DOWN,
            enabled=service.status != "disabled",
            disabled_reason=service.disabled_reason,
            forced_down=service.forced_down,
            zone=service.zone,
            last_report=service.last_report,
        ),
        hypervisor=name,
        hypervisor_id=identity,
        # Without a hypervisor only its name leads to the resource provider of a host.
        providers=providers_of(
            name or service.host, identity, listed.providers or ()
        ),
        aggregates=aggregates,
    )


def providers_of(
    name: str, identity: str | None, providers: Iterable[ProviderAnswer]
) -> tuple[Provider, ...]:
    """Return the resource providers with the id or the name of a hypervisor, and those below them."""
    made = list(map(provider_of, providers))
    roots: set[str] = set()
    for provider in made:
        if not provider.is_root:
            continue
        if is_named(provider, name, identity):
            roots.add(provider.id)
    return tuple(provider for provider in made if provider.root in roots)


def is_named(provider: Provider, name: str, identity: str | None) -> bool:
    return identity == provider.id or name == provider.name


def provider_of(provider: ProviderAnswer) -> Provider:
    return Provider(provider.id, provider.name, provider.root or provider.id)


# What Placement knows of the hosts


def with_placement(
    reader: Reader,
    compute: ComputeCapacity,
    aggregates: Sequence[AggregateAnswer],
) -> Capacity:
    """Return the capacity with what Placement offers for the request, and with the inventories of some hosts."""
    hosts = compute.hosts or ()
    offers = offers_of(reader, compute, aggregates)
    chosen = nearest(compute.scope, offers)
    shared = (
        reader.attempt(
            "shared resource providers", lambda: holders_of(reader, SHARES)
        )
        or []
    )
    sharing = {provider.id for provider in shared}
    details = Details(reader, compute.requested, bool(shared))
    full = replace(
        compute,
        hosts=details.of_hosts(
            [host for host in hosts if not shares(host, sharing)],
            chosen[:MOST_HOSTS],
        ),
        candidates=tuple(offers),
        holders=counts_of_holders(
            reader, compute.requested.required[:MOST_TRAITS]
        ),
        shared=details.of_providers(map(provider_of, shared)),
    )
    left_out = max(0, len(chosen) - MOST_HOSTS)
    return Capacity(
        compute=full, hosts_left_out=left_out, unread=reader.unread
    )


def offers_of(
    reader: Reader,
    compute: ComputeCapacity,
    aggregates: Sequence[AggregateAnswer],
) -> list[Candidates]:
    """Return what Placement offers for the request, and without one constraint at a time."""
    asked, hosts = compute.requested, compute.hosts or ()
    roots: list[str] = []
    for host in hosts:
        roots += [
            provider.id for provider in host.roots if host.host == asked.host
        ]
    root = next(iter(roots), None)
    asks = questions(
        asked, aggregates_of(asked.zone, aggregates), root, MOST_CANDIDATES
    )[:MOST_QUESTIONS]
    names = names_of(hosts)
    offers = reader.each(
        "allocation candidates",
        lambda ask: candidates(reader, ask, names),
        asks,
    )
    return list(filter(None, offers))


def counts_of_holders(reader: Reader, traits: Sequence[str]) -> dict[str, int]:
    """Return how many resource providers have each trait."""
    counts = reader.each(
        "the holders of a trait",
        lambda trait: len(holders_of(reader, trait)),
        traits,
    )
    return {
        trait: count
        for trait, count in zip(traits, counts)
        if count is not None
    }


def names_of(hosts: Iterable[ComputeHost]) -> dict[str, str]:
    """Return the host of each resource provider from which Nova gets to a hypervisor, which is by its id."""
    names: dict[str, str] = {}
    for host in hosts:
        own = [
            provider
            for provider in host.roots
            if host.hypervisor_id in (None, provider.id)
        ]
        names.update({provider.id: host.host for provider in own})
    return names


def candidates(
    reader: Reader, question: Question, names: Mapping[str, str]
) -> Candidates:
    """Return the hosts that Placement offers. names: those of the hosts by their resource providers."""
    try:
        answer = reader.get(
            "placement",
            "/allocation_candidates",
            PLACEMENT_SINCE,
            **question.query,
        )
    except CLOUD_ERRORS as exc:
        # Placement knows no such trait or resource class, so nothing has it.
        if getattr(exc, "status_code", None) != HTTPStatus.BAD_REQUEST:
            raise
        return Candidates((), without=question.without, name=question.name)
    found = from_json(CandidatesAnswer, answer, "allocation candidates")
    roots: dict[str, None] = {}
    for request in found.requests:
        for provider in request["allocations"]:
            summary = found.summaries.get(provider, SummaryAnswer())
            roots[summary.root or provider] = None
    hosts = tuple(names[root] for root in roots if root in names)
    is_whole = len(found.requests) < MOST_CANDIDATES
    return Candidates(hosts, is_whole, question.without, question.name)


def holders_of(reader: Reader, trait: str) -> list[ProviderAnswer]:
    """Return the resource providers that have a trait; none if Placement does not know it."""
    try:
        return reader.listed(
            "placement",
            "/resource_providers",
            ProviderAnswer,
            PLACEMENT_SINCE,
            required=trait,
        )
    except CLOUD_ERRORS as exc:
        if getattr(exc, "status_code", None) != HTTPStatus.BAD_REQUEST:
            raise
        return []


def nearest(
    hosts: Iterable[ComputeHost], offers: Iterable[Candidates]
) -> list[ComputeHost]:
    """Return the hosts in the order in which they are read: first those that only one constraint excludes."""
    offered: set[str] = set()
    for offer in offers:
        offered.update(offer.hosts)
    return sorted(hosts, key=lambda host: host.host not in offered)


def shares(host: ComputeHost, sharing: Collection[str]) -> bool:
    """Return whether this is no host, but a resource provider that shares what it has with hosts."""
    return host.service is None and any(
        provider.id in sharing for provider in host.providers
    )


class Details:
    """The inventories of resource providers. has_shared: whether some share theirs, by aggregates."""

    def __init__(
        self, reader: Reader, asked: Requested, has_shared: bool
    ) -> None:
        self.reader = reader
        self.asked = asked
        self.has_shared = has_shared

    def of_hosts(
        self, hosts: Sequence[ComputeHost], chosen: Sequence[ComputeHost]
    ) -> tuple[ComputeHost, ...]:
        """Return all hosts, those that were chosen with the inventories of their resource providers."""
        wanted: dict[str, Provider] = {}
        for host in chosen:
            wanted.update(
                {provider.id: provider for provider in host.providers}
            )
        read = {
            provider.id: provider
            for provider in self.of_providers(wanted.values())
        }
        detailed = [with_providers(host, read) for host in hosts]
        full = list(filter(self.is_full, detailed))[:MOST_FULL]
        leftovers = self.reader.each(
            "leftover allocations", self.leftovers, full
        )
        for held in leftovers:
            read.update(held or {})
        return tuple(with_providers(host, read) for host in detailed)

    def of_providers(
        self, providers: Iterable[Provider]
    ) -> tuple[Provider, ...]:
        """Return the providers; those that could not be read stay as they are."""
        listed = list(providers)
        read = self.reader.each("an inventory", self.of_provider, listed)
        return tuple(new or old for old, new in zip(listed, read))

    def of_provider(self, provider: Provider) -> Provider:
        inventories = self.about(provider, "inventories")
        used = self.about(provider, "usages")
        traits = self.about(provider, "traits")
        aggregates = (
            self.about(provider, "aggregates") if self.has_shared else []
        )
        return replace(
            provider,
            is_read=True,
            inventories={
                name: inventory_of(data, used.get(name, 0))
                for name, data in inventories.items()
            },
            traits=tuple(traits),
            aggregates=tuple(aggregates),
        )

    def about(self, provider: Provider, what: str) -> Any:
        return self.reader.get(
            "placement",
            f"/resource_providers/{provider.id}/{what}",
            PLACEMENT_SINCE,
        )[what]

    def is_full(self, host: ComputeHost) -> bool:
        """Return whether something that is used keeps the request off a host."""
        for provider in host.roots:
            for name, amount in self.asked.resources.items():
                inventory = provider.inventories.get(name)
                if (
                    inventory is not None
                    and inventory.free < amount <= inventory.capacity
                ):
                    return True
        return False

    def leftovers(self, host: ComputeHost) -> dict[str, Provider]:
        """Return the resource providers of a host, with what consumers hold of them that do not exist any more."""
        servers = self.reader.get(
            "compute",
            "/servers",
            all_tenants=1,
            host=host.host,
            limit=LONGEST_PAGE,
        )
        migrations = self.reader.get(
            "compute", "/os-migrations", MIGRATIONS_SINCE, host=host.host
        )
        if servers.get("servers_links") or migrations.get("migrations_links"):
            return {}
        known = {server["id"] for server in servers["servers"]}
        known.update(
            migration.get("uuid") for migration in migrations["migrations"]
        )
        return {
            provider.id: self.with_leftover(provider, known)
            for provider in host.roots
        }

    def with_leftover(
        self, provider: Provider, known: set[str | None]
    ) -> Provider:
        allocations = self.about(provider, "allocations")
        unknown = [
            consumer for consumer in allocations if consumer not in known
        ][:MOST_CONSUMERS]
        held: dict[str, int] = {}
        for consumer in unknown:
            if self.exists(consumer):
                continue
            for name, amount in from_json(
                HeldAnswer, allocations[consumer], "an allocation"
            ).resources.items():
                held[name] = held.get(name, 0) + amount
        inventories = {}
        for name, inventory in provider.inventories.items():
            inventories[name] = replace(inventory, leftover=held.get(name, 0))
        return replace(provider, inventories=inventories)

    def exists(self, server: str) -> bool:
        """Return whether there is such a server: one that is under way has no host yet, and one may be on another."""
        answer = self.reader.cloud.compute.get(f"/servers/{server}")
        if answer.status_code == HTTPStatus.NOT_FOUND:
            return False
        answer_of(answer)
        return True


def with_providers(
    host: ComputeHost, read: Mapping[str, Provider]
) -> ComputeHost:
    return replace(
        host,
        providers=tuple(
            read.get(provider.id, provider) for provider in host.providers
        ),
    )


def inventory_of(data: Any, used: int) -> Inventory:
    answer = from_json(InventoryAnswer, data, "an inventory")
    return Inventory(
        total=answer.total,
        reserved=answer.reserved,
        allocation_ratio=answer.allocation_ratio,
        max_unit=answer.max_unit,
        min_unit=answer.min_unit,
        step_size=answer.step_size,
        used=used,
    )


# Back ends, quotas, addresses


def of_volume(cloud: Any, volume: Volume) -> Capacity:
    """Return what a cloud has for a volume."""
    reader = Reader(cloud)
    asks: dict[str, Callable[[], Any]] = {
        "the volume type": lambda: volume_type(reader, volume.type),
        "the pools of Cinder": lambda: pools_of(reader),
    }
    kind, pools = reader.all(asks)
    if pools is None:
        return Capacity(unread=reader.unread)
    backend = (
        (kind.extra_specs or {}).get("volume_backend_name") if kind else None
    )
    name = kind.name if kind else volume.type
    return Capacity(
        volume=VolumeCapacity(name, backend, volume.size_gb, pools),
        unread=reader.unread,
    )


def volume_type(reader: Reader, name: str | None) -> VolumeTypeAnswer | None:
    """Return a volume type by its name or id; without one the cloud's default."""
    if name is None:
        answer = reader.get("block_storage", "/types/default")["volume_type"]
        return from_json(VolumeTypeAnswer, answer, "the volume type")
    types = reader.get("block_storage", "/types", is_public="None")[
        "volume_types"
    ]
    mine = [found for found in types if name in (found["id"], found["name"])]
    return (
        from_json(VolumeTypeAnswer, mine[0], "the volume type")
        if mine
        else None
    )


def pools_of(reader: Reader) -> tuple[Pool, ...]:
    pools = reader.get(
        "block_storage", "/scheduler-stats/get_pools", detail="true"
    )["pools"]
    return tuple(
        pool_of(from_json(PoolAnswer, pool, "a pool")) for pool in pools
    )


def pool_of(answer: PoolAnswer) -> Pool:
    shown = answer.capabilities
    return Pool(
        answer.name,
        shown.backend,
        number(shown.free, None),
        number(shown.total, None),
        number(shown.provisioned, number(shown.allocated, 0.0)),
        number(shown.ratio, 1.0) if shown.is_thin is True else 1.0,
        number(shown.reserved, 0.0) / 100,
    )


def number(value: Any, default: T) -> float | T:
    """Return a number that a back end reports; another one if it reports none, or a word."""
    try:
        return round(float(value), 2) if float(value) < math.inf else default
    except (TypeError, ValueError):
        return default


def of_quotas(cloud: Any) -> Capacity:
    """Return the quotas of Neutron that leave no room, which its refusals have no numbers for. The user may ask."""
    reader = Reader(cloud)
    quotas = (
        reader.attempt("the quotas of Neutron", lambda: quotas_of(reader))
        or ()
    )
    exceeded = tuple(
        quota for quota in quotas if 0 <= quota.limit <= quota.used
    )
    return Capacity(quotas=exceeded, unread=reader.unread)


def quotas_of(reader: Reader) -> tuple[QuotaUse, ...]:
    answer = reader.get(
        "network", f"/quotas/{reader.cloud.current_project_id}/details.json"
    )["quota"]
    quotas = {
        name: from_json(QuotaAnswer, data, name)
        for name, data in answer.items()
    }
    return tuple(
        QuotaUse(
            name, quota.limit, quota.used + quota.reserved, quota.reserved
        )
        for name, quota in quotas.items()
    )


def of_volumes(cloud: Any, limit: int) -> Capacity:
    """Return how many volumes there really are, which Cinder counts for a quota by itself. The user may ask."""
    reader = Reader(cloud)
    there = reader.attempt(
        "the volumes of the project", lambda: count_volumes(reader)
    )
    if there is None:
        return Capacity(unread=reader.unread)
    return Capacity(quotas=(QuotaUse(VOLUMES, limit, there),))


def count_volumes(reader: Reader) -> int | None:
    """Return the number of volumes; None if a page with a link to the next one does not have all."""
    page = reader.get("block_storage", "/volumes")
    return None if "volumes_links" in page else len(page["volumes"])


def of_network(cloud: Any, network: str) -> Capacity:
    """Return the addresses of a network."""
    reader = Reader(cloud)
    path = f"/network-ip-availabilities/{network}"
    answer = reader.attempt(
        "the addresses of the network",
        lambda: from_json(
            AvailabilityAnswer,
            reader.get("network", path)["network_ip_availability"],
            "addresses",
        ),
    )
    if answer is None:
        return Capacity(unread=reader.unread)
    return Capacity(
        addresses=AddressUse(answer.name, answer.total, answer.used),
        unread=reader.unread,
    )
