# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Explain by what a cloud has why it cannot take an instance or a volume. Pure: capacity in, reasons out.

Each host has all the reasons that keep the request off it. If all hosts share one, that is the explanation; otherwise
each host counts with its first one. A host that a broken component alone keeps away is no matter of capacity.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from .._model.capacity import (
    STATUS_DISABLED,
    Candidates,
    Capacity,
    ComputeCapacity,
    ComputeHost,
    ComputeService,
    Constraint,
    Inventory,
    Pool,
    Provider,
    Requested,
    VolumeCapacity,
)
from .._model.record import Agent, FilterResult
from .._model.shortage import (
    Answer,
    Explanation,
    HostReasons,
    Reason,
    Shortage,
    Sought,
)
from .._model.words import BY_ITSELF
from .._record.sole import sole

DOWN = "down"
# These filters go by the hosts and not by the request: one removes those whose service is down or disabled, which the
# services show with the reason, the other one those that have tried it already.
OF_HOSTS = ("ComputeFilter", "RetryFilter")
# The properties by which other filters remove hosts
NOTHING = re.compile(r"(?!)")
GOES_BY = {
    "ImagePropertiesFilter": re.compile(
        r"architecture|img_hv_|hypervisor_type|vm_mode"
    ),
    "NUMATopologyFilter": re.compile(r"page_size|numa_|cpu_"),
    "PciPassthroughFilter": re.compile(r"pci_passthrough"),
    "ComputeCapabilitiesFilter": re.compile(r"^capabilities:"),
}
# What all compute hosts have: one that has none of them has not reported its inventory.
USUAL_CLASSES = frozenset({"VCPU", "PCPU", "MEMORY_MB"})
# Of several reasons that all hosts share, the first here is the explanation: what is hardest to change.
LASTING = (
    Shortage.TRAIT_MISSING,
    Shortage.TRAIT_FORBIDDEN,
    Shortage.CLASS_MISSING,
    Shortage.MAX_UNIT,
    Shortage.MIN_UNIT,
    Shortage.STEP_SIZE,
    Shortage.OUTSIDE_AGGREGATE,
    Shortage.NO_ROOM,
    Shortage.EXCLUDED_BY,
    Shortage.DISABLED,
    Shortage.FORCED_DOWN,
    Shortage.UNMAPPED,
    Shortage.NO_SERVICE,
)
TOO_SMALL = (Shortage.MAX_UNIT, Shortage.NO_ROOM)
# The bound of an inventory that is meant
UNITS: dict[Shortage, Callable[[Inventory], int]] = {
    Shortage.MAX_UNIT: lambda inventory: inventory.max_unit,
    Shortage.MIN_UNIT: lambda inventory: inventory.min_unit,
    Shortage.STEP_SIZE: lambda inventory: inventory.step_size,
}
# The reason for which the constraint that was left out stands
BY_CONSTRAINT: dict[Constraint | None, Shortage] = {
    Constraint.REQUIRED: Shortage.TRAIT_MISSING,
    Constraint.FORBIDDEN: Shortage.TRAIT_FORBIDDEN,
}


def explain(
    capacity: Capacity, filters: Sequence[FilterResult] = ()
) -> Explanation:
    """Return whether the cloud can take an instance, and why not. filters: what the scheduler's filters have left."""
    compute = capacity.compute
    if compute is None or compute.hosts is None:
        unknown = Explanation(
            Sought.HOST, Answer.UNKNOWN, unread=capacity.unread
        )
        return by_filters(with_request(unknown, compute), filters, {})
    asked = compute.requested
    explanation = Explanation(
        Sought.HOST,
        Answer.UNKNOWN,
        flavor=asked.flavor,
        zone=asked.zone,
        resources=tuple(asked.resources.items()),
        relaxed=compute.relaxed,
        unread=capacity.unread,
    )
    out_of_scope = scope_reason(compute)
    if out_of_scope is not None:
        answer = (
            Answer.BROKEN
            if out_of_scope.code == Shortage.NO_HOSTS
            else Answer.SHORT
        )
        return replace(explanation, answer=answer, reason=out_of_scope)
    hosts = tuple(reasons_of(host, compute) for host in compute.scope)
    explained = by_hosts(replace(explanation, hosts=hosts), compute)
    return by_filters(explained, filters, asked.filtered_by)


def with_request(
    unknown: Explanation, compute: ComputeCapacity | None
) -> Explanation:
    """Return an explanation with what was asked for, if that is known: it has to do where nothing else is."""
    if compute is None or not compute.requested.resources:
        return unknown
    # Nova forbids this one with each request.
    forbidden = [
        f"no {trait}"
        for trait in compute.requested.forbidden
        if trait != STATUS_DISABLED
    ]
    traits = ", ".join([*compute.requested.required, *forbidden])
    reason = Reason(Shortage.UNMET, detail=traits or None)
    return replace(
        unknown,
        resources=tuple(compute.requested.resources.items()),
        reason=reason,
    )


def by_filters(
    explanation: Explanation,
    filters: Sequence[FilterResult],
    properties: Mapping[str, str],
) -> Explanation:
    """Return an explanation by the filter that left no host, if nothing else explains it.

    properties: those of the flavor and the image that filters go by.
    """
    last = next(
        (result for result in filters if result.start > 0 and result.end == 0),
        None,
    )
    is_open = explanation.answer in (Answer.FITS, Answer.UNKNOWN)
    if last is None or not is_open or last.filter in OF_HOSTS:
        return explanation
    pattern = GOES_BY.get(last.filter, NOTHING)
    named = [
        f"{name}={value}"
        for name, value in properties.items()
        if pattern.search(name)
    ]
    reason = Reason(
        Shortage.FILTERED,
        last.filter,
        free=last.end,
        capacity=last.start,
        detail=listed(named),
    )
    # Placement offers hosts, and what it would offer otherwise has nothing to do with it.
    return replace(explanation, answer=Answer.SHORT, reason=reason, relaxed=())


def listed(names: Iterable[str]) -> str | None:
    """Return names as one text; None without any."""
    return ", ".join(names) or None


def scope_reason(compute: ComputeCapacity) -> Reason | None:
    """Return why no host is in question at all, or None."""
    if compute.scope:
        return None
    asked = compute.requested
    zones = compute.zones
    if asked.zone not in (None, *zones):
        return Reason(Shortage.ZONE_UNKNOWN, asked.zone, detail=listed(zones))
    if asked.host is None:
        return Reason(Shortage.NO_HOSTS)
    is_left = any(
        host.host == asked.host and host.service is None
        for host in compute.hosts or ()
    )
    code = Shortage.NO_SERVICE if is_left else Shortage.HOST_UNKNOWN
    return Reason(code, asked.host, detail=asked.zone)


# The sum


def by_hosts(
    explanation: Explanation, compute: ComputeCapacity
) -> Explanation:
    """Return what the reasons of all hosts come to."""
    hosts = explanation.hosts
    if any(host.fits for host in hosts):
        return with_room(explanation, compute)
    if not all(host.reasons for host in hosts):
        return explanation
    if any(host.is_broken for host in hosts):
        return replace(explanation, answer=Answer.BROKEN)
    shared = shared_by(hosts)
    short = replace(explanation, answer=Answer.SHORT, reason=shared)
    if shared is None or shared.code != Shortage.TRAIT_MISSING:
        return short
    trait = shared.subject or ""
    return replace(
        short,
        holders=compute.holders.get(trait),
        of_image=trait in compute.requested.image_traits,
    )


def with_room(
    explanation: Explanation, compute: ComputeCapacity
) -> Explanation:
    """Return the number of instances that fit, and whether that is enough."""
    room = room_on(explanation.hosts, compute)
    fits = replace(explanation, answer=Answer.FITS, room=room)
    count = compute.requested.count
    if room is None or room >= count:
        return fits
    reason = Reason(Shortage.FEWER, asked=count, free=room)
    return replace(fits, answer=Answer.SHORT, reason=reason)


def room_on(
    found: Iterable[HostReasons], compute: ComputeCapacity
) -> int | None:
    """Return how many of the instances fit on the hosts together; None if that is not known of one of them."""
    total = 0
    for host, reasons in zip(compute.scope, found):
        if not reasons.fits:
            continue
        room = room_of(host, compute)
        if room is None:
            return None
        total += room
    return total


def room_of(host: ComputeHost, compute: ComputeCapacity) -> int | None:
    """Return how many of the instances fit on a host; None if its inventories were not read."""
    if not host.is_read:
        return None
    providers = tree(host, compute)
    rooms = []
    for name, amount in compute.requested.resources.items():
        free = [
            inventory.free
            for inventory, _provider in inventories_of(name, providers)
        ]
        rooms.append(sum(number // amount for number in free))
    return min(rooms, default=None)


def shared_by(hosts: Sequence[HostReasons]) -> Reason | None:
    """Return a reason that keeps the request off each host, as of the host that is nearest to take it."""
    found: list[Reason] = []
    for host in hosts:
        found += [replace(reason, host=host.host) for reason in host.reasons]
    groups = by_kind(found)
    common = {
        group[0].code: group
        for group in reversed(groups)
        if are_of_all(group, hosts)
    }
    first = next(filter(common.__contains__, LASTING), None)
    return nearest(common[first]) if first else too_small(found, hosts)


def by_kind(reasons: Iterable[Reason]) -> list[list[Reason]]:
    groups: dict[object, list[Reason]] = {}
    for reason in reasons:
        groups.setdefault(reason.kind, []).append(reason)
    return list(groups.values())


def too_small(
    found: Sequence[Reason], hosts: Sequence[HostReasons]
) -> Reason | None:
    """Return the resource class that each host has too little of, for one instance or just now."""
    short = [
        reason.subject for reason in found if reason.code == Shortage.NO_ROOM
    ]
    for name in dict.fromkeys(short):
        same = [
            reason
            for reason in found
            if reason.code in TOO_SMALL and reason.subject == name
        ]
        if are_of_all(same, hosts):
            return replace(nearest(same), code=Shortage.NO_ROOM)
    return None


def are_of_all(
    reasons: Iterable[Reason], hosts: Iterable[HostReasons]
) -> bool:
    host_of = attrgetter("host")
    return set(map(host_of, reasons)) == set(map(host_of, hosts))


def nearest(reasons: Sequence[Reason]) -> Reason:
    """Return the reason of the host that has most free, or gives most to one instance."""
    most = max(
        reasons, key=lambda reason: (reason.free or 0, reason.capacity or 0)
    )
    details = set(map(attrgetter("detail"), reasons))
    if len(details) == 1:
        return most
    # A detail of one host says nothing about the others.
    return replace(most, detail=None)


# A host


def reasons_of(host: ComputeHost, compute: ComputeCapacity) -> HostReasons:
    """Return all that keeps a request off a host."""
    offered = compute.offered
    is_offered = host.host in offered.hosts
    is_excluded = offered.is_whole and not is_offered
    reasons = [
        *service_reasons(host.service),
        *placement_reasons(host, compute, is_offered),
        *aggregate_reasons(host, compute.requested),
    ]
    if is_excluded and not reasons:
        reasons = [*constraint_reasons(host, compute.relaxed)] or [
            unexplained(host)
        ]
    is_known = compute.has_hypervisors and (
        is_offered or is_excluded or host.is_read
    )
    return HostReasons(
        host.host, tuple(without_consequences(reasons)), is_known
    )


def placement_reasons(
    host: ComputeHost, compute: ComputeCapacity, is_offered: bool
) -> Iterator[Reason]:
    """Yield what Nova and Placement lack of a host. What Placement offers has all that is asked for."""
    if compute.has_hypervisors and host.hypervisor is None:
        yield Reason(Shortage.UNMAPPED)
    elif compute.has_providers and not is_offered:
        yield from provider_reasons(host)
    if host.is_read and not is_offered:
        yield from inventory_reasons(host, compute)


def without_consequences(reasons: Sequence[Reason]) -> list[Reason]:
    """Return the reasons without the trait that Nova gives to a host because its service is disabled."""
    codes = set(map(attrgetter("code"), reasons))
    if not codes & {Shortage.DISABLED, Shortage.DISABLED_ITSELF}:
        return list(reasons)
    return [reason for reason in reasons if reason.subject != STATUS_DISABLED]


def service_reasons(service: ComputeService | None) -> Iterator[Reason]:
    """Yield what is wrong with the service of a host. What an operator has done comes before what broke."""
    if service is None:
        yield Reason(Shortage.NO_SERVICE)
        return
    if not service.enabled:
        yield disabled(service)
    if service.forced_down:
        yield Reason(Shortage.FORCED_DOWN)
    elif service.state == DOWN:
        yield Reason(Shortage.DOWN, detail=service.last_report)


def disabled(service: ComputeService) -> Reason:
    """Return who disabled a service: nova-compute itself, or an operator."""
    detail = service.disabled_reason
    if not detail:
        return Reason(Shortage.DISABLED)
    if detail.startswith(BY_ITSELF):
        return Reason(Shortage.DISABLED_ITSELF, detail=detail)
    return Reason(Shortage.DISABLED, detail=detail)


def provider_reasons(host: ComputeHost) -> Iterator[Reason]:
    """Yield why Nova does not get from a resource provider to the host: there must be one with its hypervisor's id."""
    if not host.roots:
        yield Reason(Shortage.NO_PROVIDER, host.hypervisor)
    elif not own_roots(host):
        yield Reason(
            Shortage.PROVIDER_CONFLICT,
            host.hypervisor,
            provider=host.roots[0].id,
        )


def own_roots(host: ComputeHost) -> list[Provider]:
    """Return the resource providers that are known to be of the hypervisor, and not only named as it is."""
    return [
        provider
        for provider in host.roots
        if host.hypervisor_id in (None, provider.id)
    ]


def aggregate_reasons(host: ComputeHost, asked: Requested) -> Iterator[Reason]:
    """Yield the properties of the flavor that no aggregate of a host has."""
    for name, value in asked.properties.items():
        if all(
            metadata.get(name) != value
            for metadata in host.aggregates.values()
        ):
            yield Reason(Shortage.OUTSIDE_AGGREGATE, f"{name}={value}")


def constraint_reasons(
    host: ComputeHost, offers: Iterable[Candidates]
) -> Iterator[Reason]:
    """Yield the constraints without which Placement offers a host."""
    for offer in offers:
        if host.host in offer.hosts:
            yield Reason(
                BY_CONSTRAINT.get(offer.without, Shortage.EXCLUDED_BY),
                offer.name,
            )


def unexplained(host: ComputeHost) -> Reason:
    """Return why Placement does not offer a host that seems to have all that is asked for."""
    own = own_roots(host)
    if len(host.roots) > 1:
        return Reason(
            Shortage.PROVIDER_DOUBLED,
            host.hypervisor,
            capacity=len(host.roots),
        )
    if own and host.hypervisor not in (None, own[0].name):
        return Reason(
            Shortage.PROVIDER_RENAMED,
            host.hypervisor,
            detail=own[0].name,
            provider=own[0].id,
        )
    return Reason(Shortage.NOT_OFFERED)


# What a host has


def tree(host: ComputeHost, compute: ComputeCapacity) -> list[Provider]:
    """Return the resource providers of a host, and those that share with it."""
    roots = {provider.id for provider in own_roots(host)}
    own = [provider for provider in host.providers if provider.root in roots]
    aggregates: set[str] = set()
    for provider in own:
        aggregates.update(provider.aggregates)
    sharing = [
        shared
        for shared in compute.shared
        if aggregates.intersection(shared.aggregates)
    ]
    return [*own, *sharing]


def inventory_reasons(
    host: ComputeHost, compute: ComputeCapacity
) -> Iterator[Reason]:
    """Yield what the resource providers of a host lack."""
    providers, asked = tree(host, compute), compute.requested
    # None of those with its name is of the host.
    if not providers:
        return
    classes: set[str] = set()
    traits: set[str] = set()
    for provider in providers:
        classes.update(provider.inventories)
        traits.update(provider.traits)
    for trait in asked.required:
        if trait not in traits:
            yield Reason(Shortage.TRAIT_MISSING, trait)
    for trait in asked.forbidden:
        if trait in traits:
            yield Reason(Shortage.TRAIT_FORBIDDEN, trait)
    if not classes & USUAL_CLASSES:
        yield Reason(Shortage.NO_INVENTORY)
        return
    for name, amount in asked.resources.items():
        yield from class_reasons(name, amount, providers)


def inventories_of(
    name: str, providers: Iterable[Provider]
) -> list[tuple[Inventory, str]]:
    """Return the inventories of a resource class, each with the id of its provider."""
    found = []
    for provider in providers:
        inventory = provider.inventories.get(name)
        if inventory is not None:
            found.append((inventory, provider.id))
    return found


def class_reasons(
    name: str, amount: int, providers: Iterable[Provider]
) -> Iterator[Reason]:
    """Yield why no resource provider gives an amount of a resource class: that of the one that is closest to it."""
    found = inventories_of(name, providers)
    if not found:
        yield Reason(Shortage.CLASS_MISSING, name, asked=amount)
        return
    inventory, provider = max(
        found,
        key=lambda pair: (
            unit_kept(amount, pair[0]) is None,
            pair[0].free,
            pair[0].max_unit,
        ),
    )
    short = no_room(name, amount, inventory, provider)
    kept = unit_kept(amount, inventory)
    if kept is not None:
        yield replace(short, code=kept, capacity=UNITS[kept](inventory))
    elif inventory.free < amount:
        yield short


def unit_kept(amount: int, inventory: Inventory) -> Shortage | None:
    """Return why an inventory gives no instance an amount, however much of it is free."""
    if amount > inventory.max_unit:
        return Shortage.MAX_UNIT
    if amount < inventory.min_unit:
        return Shortage.MIN_UNIT
    return Shortage.STEP_SIZE if amount % inventory.step_size else None


def no_room(
    name: str, amount: int, inventory: Inventory, provider: str
) -> Reason:
    return Reason(
        Shortage.NO_ROOM,
        name,
        asked=amount,
        free=inventory.free,
        capacity=int(inventory.total * inventory.allocation_ratio),
        reserved=int(inventory.reserved * inventory.allocation_ratio),
        leftover=inventory.leftover,
        provider=provider,
    )


# A volume


def explain_volume(
    capacity: Capacity,
    services: Iterable[Agent] = (),
    filters: Sequence[FilterResult] = (),
) -> Explanation:
    """Return whether a pool of Cinder can take a volume, and why not.

    services: those of its back ends. filters: what those of the scheduler have left.
    """
    return by_filters(by_pools(capacity, services), filters, {})


def by_pools(capacity: Capacity, services: Iterable[Agent]) -> Explanation:
    """Return the same by what the pools have reported."""
    unknown = Explanation(
        Sought.BACKEND, Answer.UNKNOWN, unread=capacity.unread
    )
    volume = capacity.volume
    if volume is None:
        return unknown
    fitting = [
        pool for pool in volume.pools if volume.backend in (None, pool.backend)
    ]
    if not fitting:
        return short(unknown, without_pool(volume, services))
    most = most_free(fitting)
    if most < volume.size_gb:
        reason = Reason(
            Shortage.POOLS_FULL,
            volume.type,
            asked=volume.size_gb,
            free=int(most),
            capacity=len(fitting),
        )
        return short(unknown, reason)
    limited = beyond_limit(max(fitting, key=may_take), volume.size_gb)
    return short(unknown, limited)


def short(unknown: Explanation, reason: Reason | None) -> Explanation:
    """Return an explanation by a reason; without one it stays unknown."""
    if reason is None:
        return unknown
    return replace(unknown, answer=Answer.SHORT, reason=reason)


def beyond_limit(pool: Pool, size_gb: int) -> Reason | None:
    """Return why the scheduler of Cinder gives no volume to a pool with room for it, or None.

    The numbers are those of its CapacityFilter.
    """
    ratio = f"{pool.ratio:g}"
    if pool.ratio < 1:
        return Reason(Shortage.POOL_RATIO, pool.name, detail=ratio)
    left = left_to_promise(pool)
    if left >= size_gb:
        return None
    return Reason(
        Shortage.POOL_LIMIT,
        pool.name,
        free=max(0, int(left)),
        capacity=int(left + pool.promised_gb),
        reserved=int(reserved_of(pool)),
        detail=ratio,
    )


def may_take(pool: Pool) -> tuple[bool, float]:
    """Return what orders pools by what they may take: with a ratio below 1 nothing, however much is left."""
    return pool.ratio >= 1, left_to_promise(pool)


def left_to_promise(pool: Pool) -> float:
    """Return how many GB of volumes a pool may have beside those that it has; any if it does not know its room."""
    if pool.total_gb is None or pool.free_gb is None:
        return math.inf
    return (pool.total_gb - reserved_of(pool)) * pool.ratio - pool.promised_gb


def reserved_of(pool: Pool) -> float:
    """Return how many GB of a pool an operator holds back."""
    return math.floor((pool.total_gb or 0) * pool.reserved)


def without_pool(
    volume: VolumeCapacity, services: Iterable[Agent]
) -> Reason | None:
    """Return why no pool is of the right back end; None if no back end has reported to the scheduler."""
    disabled = backends_disabled(volume, services)
    if disabled is None and volume.pools:
        return missing_backend(volume)
    return disabled


def backends_disabled(
    volume: VolumeCapacity, services: Iterable[Agent]
) -> Reason | None:
    """Return that an operator has disabled the back ends that a volume may be on; None unless that is so of all."""
    asked = services_asked(volume, services)
    if not asked or any(service.enabled for service in asked):
        return None
    names = sorted(f"{service.host}@{service.back_end}" for service in asked)
    detail = sole({service.reason for service in asked})
    return Reason(
        Shortage.BACKENDS_DISABLED,
        listed(names),
        capacity=len(names),
        detail=detail,
    )


def services_asked(
    volume: VolumeCapacity, services: Iterable[Agent]
) -> list[Agent]:
    """Return the services of the back end that a volume asks for; those of all if none has its name."""
    known = list(filter(attrgetter("back_end"), services))
    # A service has the name of the back end's section, which need not be the name that a volume type asks for.
    asked = [
        service for service in known if service.back_end == volume.backend
    ]
    return asked or known


def missing_backend(volume: VolumeCapacity) -> Reason:
    there = sorted(filter(None, {pool.backend for pool in volume.pools}))
    names = (
        f"{volume.type}/{volume.backend}" if volume.type else volume.backend
    )
    return Reason(Shortage.BACKEND_MISSING, names, detail=listed(there))


def most_free(pools: Iterable[Pool]) -> float:
    """Return the most GB that a pool has; one that does not know its room may have any."""
    return max(
        math.inf if pool.free_gb is None else pool.free_gb for pool in pools
    )
