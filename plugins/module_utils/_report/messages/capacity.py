# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Why a request cannot be satisfied: a headline, and a line for each host."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, starmap
from operator import attrgetter

from ..._model.capacity import STATUS_DISABLED, Candidates
from ..._model.shortage import (
    Answer,
    Explanation,
    HostReasons,
    Reason,
    Shortage,
    Sought,
)
from ..._model.verdict import LONGEST_HEADLINE
from .words import fitting, plural

# The one with most details first
Forms = tuple[str, ...]

NOTHING = {
    Sought.HOST: "No host fits",
    Sought.BACKEND: "No back end fits",
    Sought.ADDRESS: "No address is free",
    Sought.SEGMENT: "No network can be created",
    Sought.IMAGE: "The image is not accepted",
    Sought.SERVER: "The server cannot be built as asked",
    Sought.QUOTA: "Quota exceeded",
    Sought.TRAFFIC: "The guest is cut off",
    Sought.SPEED: "The guest is too slow",
}
# For what Nova does not use a host, whatever Placement has of it
BANS = frozenset(
    {
        Shortage.DISABLED,
        Shortage.FORCED_DOWN,
        Shortage.NO_SERVICE,
        Shortage.UNMAPPED,
    }
)
# A resource class as a reader counts it: one, several, and without a number
CLASSES = {
    "VCPU": ("VCPU", "VCPUs", "VCPUs"),
    "PCPU": ("PCPU", "PCPUs", "PCPUs"),
    "MEMORY_MB": ("MB of memory", "MB of memory", "memory"),
    "DISK_GB": ("GB of disk", "GB of disk", "disk"),
}
# Those of which there is little, and not few
UNCOUNTED = ("MEMORY_MB", "DISK_GB")
# Of quotas, by their names
UNITS = {
    "ram": " MB",
    "gigabytes": " GB",
    "backup_gigabytes": " GB",
    "volume size": " GB",
}
ORDINALS = {3: "the third", 4: "the fourth", 5: "the fifth"}
# In lines, of hosts and of what Placement offers otherwise
MOST_HOSTS = 10
MOST_OFFERS = 5


# The headline


def headlines(explanation: Explanation) -> Iterator[str]:
    """Yield the explanation in a line, from the longest form to the shortest."""
    nothing = NOTHING[explanation.sought]
    for form in forms(explanation):
        yield f"{nothing}: {form}"
    yield nothing


def forms(explanation: Explanation) -> Forms:
    reason = explanation.reason
    if reason is None:
        return of_several(explanation)
    hosts = len(explanation.hosts)
    return FORMS[reason.code](
        reason, explanation, hosts_in_words(hosts, reason.host)
    )


def hosts_in_words(number: int, host: str | None) -> str:
    """Return the hosts that a reason is about, as the subject of a sentence."""
    if number == 1 and host:
        return host
    return (
        "both compute hosts" if number == 2 else f"all {number} compute hosts"
    )


def of_several(explanation: Explanation) -> Forms:
    """Return the reasons of hosts that have different ones, those of most hosts first."""
    groups = grouped(explanation.hosts)
    total = len(explanation.hosts)
    if not groups:
        return ()
    longest, shorter, counted = [], [], []
    for place, group in enumerate(groups):
        reason = reason_of(group)
        subject = subject_of(group, place, total)
        # All other hosts are in the group before it.
        if len(groups) == 2 and len(group) == 1:
            subject = ORDINALS.get(total, subject)
        longest.append(
            f"{subject} {clauses_of(group)[reason.code](reason)[0]}"
        )
        shorter.append(
            f"{subject} {clauses_of(group)[reason.code](reason)[-1]}"
        )
        counted.append(f"{len(group)} {SHORT[reason.code]}")
    return ", ".join(longest), ", ".join(shorter), ", ".join(counted)


def grouped(hosts: Iterable[HostReasons]) -> list[list[HostReasons]]:
    groups: dict[object, list[HostReasons]] = {}
    for host in hosts:
        if host.first is not None:
            groups.setdefault(host.first.kind, []).append(host)
    return sorted(groups.values(), key=lambda group: -len(group))


def reason_of(group: Sequence[HostReasons]) -> Reason:
    """Return the reason of some hosts, with its detail only if that is the same for all."""
    found = [host.first for host in group if host.first is not None]
    if not found:
        return Reason(Shortage.NOT_OFFERED)
    details = {reason.detail for reason in found}
    if len(details) > 1:
        return replace(found[0], detail=None)
    return found[0]


def clauses_of(group: Sequence[HostReasons]) -> Mapping[Shortage, Clause]:
    return PLURAL if len(group) > 1 else SINGULAR


def subject_of(group: Sequence[HostReasons], place: int, total: int) -> str:
    """Return some hosts as the subject of a sentence. place: how many groups are before this one."""
    size = len(group)
    if size == 1:
        return group[0].host
    if size == total:
        return hosts_in_words(total, None)
    return f"{size} of {total} compute hosts" if place == 0 else str(size)


# Amounts


def amount(name: str | None, number: int | None) -> str:
    unknown = (name or "", name or "", "")
    one, several, _plain = CLASSES.get(name or "", unknown)
    if number == 1:
        return f"1 {one}"
    return f"{number} {several}"


def room(reason: Reason) -> str:
    """Return how much is free, such as 0 of 8 VCPUs free."""
    _one, several, _plain = CLASSES.get(
        reason.subject or "", ("", reason.subject or "", "")
    )
    return f"{reason.free} of {reason.capacity} {several} free"


def of_class(name: str | None) -> str:
    return CLASSES.get(name or "", ("", "", name or ""))[2]


def too_little(name: str | None) -> str:
    return f"too {'little' if name in UNCOUNTED else 'few'} {of_class(name)}"


def flavor_of(explanation: Explanation) -> str:
    return (
        f'flavor "{explanation.flavor}"'
        if explanation.flavor
        else "the flavor"
    )


def is_reserved(reason: Reason) -> bool:
    return bool(reason.capacity) and (reason.reserved or 0) >= (
        reason.capacity or 0
    )


def is_held(reason: Reason) -> bool:
    """Return whether what is left of gone servers is all that is missing."""
    return (reason.leftover or 0) >= (reason.asked or 0) > 0


def in_brackets(text: str | None) -> str:
    return f" ({text})" if text else ""


def usage(reason: Reason) -> str:
    """Return what the rest of a resource class is used for."""
    parts = []
    if reason.reserved:
        parts.append(f"{reason.reserved} reserved")
    if reason.leftover:
        parts.append(
            f"{reason.leftover} held by allocations of servers that are gone"
        )
    return in_brackets(", ".join(parts))


# What is wrong with a host, behind its name; and with several, behind their number

Clause = Callable[[Reason], Forms]


def disabled(verb: str) -> Clause:
    def clause(reason: Reason) -> Forms:
        return (
            f"{verb} disabled{in_brackets(reason.detail)}",
            f"{verb} disabled",
        )

    return clause


def has_too_little(verb: str) -> Clause:
    def clause(reason: Reason) -> Forms:
        few = f"{verb} {too_little(reason.subject)} free"
        if verb == "have":
            return few, few
        return f"has {room(reason)}", few

    return clause


def lacks(what: str, verb: str) -> Clause:
    def clause(reason: Reason) -> Forms:
        return f"{verb} {what} {reason.subject}", f"{verb} a {what}"

    return clause


SINGULAR: dict[Shortage, Clause] = {
    Shortage.DISABLED: disabled("is"),
    Shortage.DISABLED_ITSELF: disabled("is"),
    Shortage.FORCED_DOWN: lambda _reason: ("is forced down", "is forced down"),
    Shortage.DOWN: lambda _reason: ("does not report", "does not report"),
    Shortage.NO_SERVICE: lambda _reason: (
        "has no nova-compute",
        "has no nova-compute",
    ),
    Shortage.UNMAPPED: lambda _reason: (
        "has no compute node in a mapped cell",
        "is in no cell",
    ),
    Shortage.NO_PROVIDER: lambda _reason: (
        "has no resource provider",
        "has no resource provider",
    ),
    Shortage.NO_INVENTORY: lambda _reason: (
        "has no inventory in Placement",
        "has no inventory",
    ),
    Shortage.PROVIDER_DOUBLED: lambda reason: (
        f"has {reason.capacity} resource providers",
        "has several resource providers",
    ),
    Shortage.PROVIDER_CONFLICT: lambda _reason: (
        "has a resource provider with another uuid than its hypervisor",
        "has a resource provider of another uuid",
    ),
    Shortage.PROVIDER_RENAMED: lambda reason: (
        f"has a resource provider named {reason.detail}",
        "has a resource provider of another name",
    ),
    Shortage.TRAIT_MISSING: lacks("trait", "lacks"),
    Shortage.TRAIT_FORBIDDEN: lacks("forbidden trait", "has"),
    Shortage.OUTSIDE_AGGREGATE: lambda reason: (
        f"is in no aggregate with {reason.subject}",
        "is in no matching aggregate",
    ),
    Shortage.CLASS_MISSING: lambda reason: (
        f"has no {of_class(reason.subject)}",
        "lacks a resource class",
    ),
    Shortage.MAX_UNIT: lambda reason: (
        f"gives an instance at most {amount(reason.subject, reason.capacity)}",
        f"has {too_little(reason.subject)}",
    ),
    Shortage.MIN_UNIT: lambda reason: (
        f"gives an instance no less than {amount(reason.subject, reason.capacity)}",
        f"gives no less {of_class(reason.subject)}",
    ),
    Shortage.STEP_SIZE: lambda reason: (
        f"gives {of_class(reason.subject)} in steps of {reason.capacity} only",
        f"gives {of_class(reason.subject)} in steps",
    ),
    Shortage.NO_ROOM: has_too_little("has"),
    Shortage.EXCLUDED_BY: lambda reason: (
        f"is excluded by {reason.subject}",
        "is excluded by Placement",
    ),
    Shortage.NOT_OFFERED: lambda _reason: (
        "is not offered by Placement",
        "is not offered by Placement",
    ),
}
PLURAL: dict[Shortage, Clause] = {
    **SINGULAR,
    Shortage.DISABLED: disabled("are"),
    Shortage.DISABLED_ITSELF: disabled("are"),
    Shortage.FORCED_DOWN: lambda _reason: (
        "are forced down",
        "are forced down",
    ),
    Shortage.DOWN: lambda _reason: ("do not report", "do not report"),
    Shortage.NO_SERVICE: lambda _reason: (
        "have no nova-compute",
        "have no nova-compute",
    ),
    Shortage.UNMAPPED: lambda _reason: (
        "have no compute node in a mapped cell",
        "are in no cell",
    ),
    Shortage.NO_PROVIDER: lambda _reason: (
        "have no resource provider",
        "have no resource provider",
    ),
    Shortage.NO_INVENTORY: lambda _reason: (
        "have no inventory in Placement",
        "have no inventory",
    ),
    Shortage.PROVIDER_DOUBLED: lambda _reason: (
        "have several resource providers",
        "have several resource providers",
    ),
    Shortage.PROVIDER_CONFLICT: lambda _reason: (
        "have resource providers with other uuids than their hypervisors",
        "have resource providers of other uuids",
    ),
    Shortage.PROVIDER_RENAMED: lambda _reason: (
        "have resource providers of other names",
        "have resource providers of other names",
    ),
    Shortage.TRAIT_MISSING: lacks("trait", "lack"),
    Shortage.TRAIT_FORBIDDEN: lacks("forbidden trait", "have"),
    Shortage.OUTSIDE_AGGREGATE: lambda reason: (
        f"are in no aggregate with {reason.subject}",
        "are in no matching aggregate",
    ),
    Shortage.CLASS_MISSING: lambda reason: (
        f"have no {of_class(reason.subject)}",
        "lack a resource class",
    ),
    Shortage.MAX_UNIT: lambda reason: (
        f"give an instance less than {amount(reason.subject, reason.asked)}",
        f"have {too_little(reason.subject)}",
    ),
    Shortage.MIN_UNIT: lambda reason: (
        f"give an instance more than {amount(reason.subject, reason.asked)}",
        f"give no less {of_class(reason.subject)}",
    ),
    Shortage.STEP_SIZE: lambda reason: (
        f"give {of_class(reason.subject)} in steps only",
        f"give {of_class(reason.subject)} in steps",
    ),
    Shortage.NO_ROOM: has_too_little("have"),
    Shortage.EXCLUDED_BY: lambda reason: (
        f"are excluded by {reason.subject}",
        "are excluded by Placement",
    ),
    Shortage.NOT_OFFERED: lambda _reason: (
        "are not offered by Placement",
        "are not offered by Placement",
    ),
}
# Behind a number, where there are too many different reasons for a line
SHORT: dict[Shortage, str] = {
    Shortage.DISABLED: "disabled",
    Shortage.DISABLED_ITSELF: "disabled",
    Shortage.FORCED_DOWN: "forced down",
    Shortage.DOWN: "not reporting",
    Shortage.NO_SERVICE: "without nova-compute",
    Shortage.UNMAPPED: "in no cell",
    Shortage.NO_PROVIDER: "unknown to Placement",
    Shortage.NO_INVENTORY: "without inventory",
    Shortage.PROVIDER_DOUBLED: "doubled in Placement",
    Shortage.PROVIDER_CONFLICT: "wrong in Placement",
    Shortage.PROVIDER_RENAMED: "wrong in Placement",
    Shortage.TRAIT_MISSING: "without a trait",
    Shortage.TRAIT_FORBIDDEN: "with a forbidden trait",
    Shortage.OUTSIDE_AGGREGATE: "outside the aggregate",
    Shortage.CLASS_MISSING: "without the resource",
    Shortage.MAX_UNIT: "too small",
    Shortage.MIN_UNIT: "giving no less",
    Shortage.STEP_SIZE: "giving it in steps",
    Shortage.NO_ROOM: "full",
    Shortage.EXCLUDED_BY: "excluded",
    Shortage.NOT_OFFERED: "excluded",
}


# What alone explains it


def same_for_all(
    reason: Reason, _explanation: Explanation, hosts: str
) -> Forms:
    clauses = PLURAL if hosts != reason.host else SINGULAR
    return tuple(f"{hosts} {form}" for form in clauses[reason.code](reason))


def trait_missing(
    reason: Reason, explanation: Explanation, hosts: str
) -> Forms:
    if explanation.holders == 0:
        nobody = "no resource provider has"
    elif hosts == reason.host:
        nobody = f"{hosts} does not have"
    else:
        nobody = f"none of {len(explanation.hosts)} compute hosts has"
    requires = f"requires trait {reason.subject}, which {nobody}"
    if explanation.of_image:
        return (
            f"the image {requires}",
            "no compute host has a trait that the image requires",
        )
    return (
        f"{flavor_of(explanation)} {requires}",
        f"the flavor {requires}",
        "no compute host has a trait that the flavor requires",
    )


def trait_forbidden(
    reason: Reason, explanation: Explanation, hosts: str
) -> Forms:
    verb = "has" if hosts == reason.host else "have"
    if reason.subject == STATUS_DISABLED:
        return (
            f"{hosts} {verb} the trait {STATUS_DISABLED}, but an enabled service",
        )
    return (
        f"{flavor_of(explanation)} forbids trait {reason.subject}, which {hosts} {verb}",
        f"{hosts} {verb} a trait that the flavor forbids",
    )


def outside_aggregate(
    reason: Reason, explanation: Explanation, _hosts: str
) -> Forms:
    return (
        f"{flavor_of(explanation)} needs an aggregate with {reason.subject}, and no compute host is in one",
        f"no compute host is in an aggregate with {reason.subject}",
        "no compute host is in an aggregate that the flavor needs",
    )


def class_missing(
    reason: Reason, explanation: Explanation, hosts: str
) -> Forms:
    nobody = (
        f"{hosts} does not have"
        if hosts == reason.host
        else "no compute host has"
    )
    asks = f"needs {amount(reason.subject, reason.asked)}, which {nobody}"
    return (
        f"{flavor_of(explanation)} {asks}",
        f"the flavor {asks}",
        "no compute host has a resource that the flavor needs",
    )


def unmet(reason: Reason, explanation: Explanation, _hosts: str) -> Forms:
    """Return what was asked for: resources of which there is usually enough come last."""
    wanted = sorted(explanation.resources, key=is_usual)
    asked = ", ".join(starmap(amount, wanted))
    traits = f" and {reason.detail}" if reason.detail else ""
    return (
        f"asked for were {asked}{traits}",
        f"asked for were {asked}",
        "what was asked for is not known to be on any host",
    )


def is_usual(resource: tuple[str, int]) -> bool:
    return resource[0] in CLASSES


def max_unit(reason: Reason, explanation: Explanation, hosts: str) -> Forms:
    gives = (
        f"{hosts} gives" if hosts == reason.host else "no compute host gives"
    )
    at_most = (
        f"at most {reason.capacity}"
        if hosts == reason.host
        else f"more than {reason.capacity}"
    )
    asks = f"needs {amount(reason.subject, reason.asked)}; {gives} an instance {at_most}"
    return (
        f"{flavor_of(explanation)} {asks}",
        f"the flavor {asks}",
        "the flavor needs more than a compute host gives to an instance",
    )


def in_other_units(
    reason: Reason, explanation: Explanation, hosts: str
) -> Forms:
    """Return that an amount is too little for one instance, or between two steps, at what hosts give."""
    verb = "gives" if hosts == reason.host else "give"
    bound = f"no less than {reason.capacity}"
    if reason.code == Shortage.STEP_SIZE:
        bound = f"it in steps of {reason.capacity} only"
    asks = (
        f"needs {amount(reason.subject, reason.asked)}; {hosts} {verb} {bound}"
    )
    return (
        f"{flavor_of(explanation)} {asks}",
        f"the flavor {asks}",
        f"compute hosts give another amount of {of_class(reason.subject)}",
    )


def no_room(reason: Reason, _explanation: Explanation, hosts: str) -> Forms:
    wanted = amount(reason.subject, reason.asked)
    if not reason.capacity:
        nothing = f"{hosts} {'offers' if hosts == reason.host else 'offer'} no {of_class(reason.subject)} at all"
        return f"{nothing}: look at reservations and ratios", nothing
    if hosts == reason.host:
        has = f"{hosts} has {room(reason)}; {reason.asked} needed"
        return (
            f"{has}{usage(reason)}",
            has,
            f"the compute host has less than {wanted} free",
        )
    if reason.free == 0:
        nothing = f"{hosts} have no {of_class(reason.subject)} free"
        if is_held(reason):
            return (
                f"{nothing}: allocations of servers that are gone hold it",
                nothing,
            )
        return f"{nothing} (all reserved)" if is_reserved(
            reason
        ) else nothing, nothing
    less = f"{hosts} have less than {wanted} free"
    return (
        f"{less} (most: {reason.free} on {reason.host})",
        f"{less} (most: {reason.free})",
        less,
    )


def fewer(reason: Reason, explanation: Explanation, _hosts: str) -> Forms:
    there = f"there is room for {reason.free} of {reason.asked}"
    return f"{flavor_of(explanation)}: {there} instances", f"{there} instances"


def filtered(reason: Reason, explanation: Explanation, _hosts: str) -> Forms:
    is_volume = explanation.sought == Sought.BACKEND
    kind = "back end" if is_volume else "host"
    left = f"left {reason.free} of {plural(reason.capacity or 0, kind)}"
    whole = f"{reason.subject} {left}"
    return (
        f"{whole}{in_brackets(reason.detail)}",
        whole,
        f"a filter of the scheduler {left}",
    )


def unsupported(
    reason: Reason, _explanation: Explanation, _hosts: str
) -> Forms:
    whole = f"{reason.subject} is not supported"
    return (
        f"{whole} ({reason.detail})",
        whole,
        "what is asked for is not supported",
    )


def insufficient(
    reason: Reason, _explanation: Explanation, _hosts: str
) -> Forms:
    return reason.detail or "", "no host has enough for the instance"


def zone_unknown(
    reason: Reason, _explanation: Explanation, _hosts: str
) -> Forms:
    zones = f" (zones: {reason.detail})" if reason.detail else ""
    if reason.subject is None:
        return ("the availability zone does not exist",)
    text = f'availability zone "{reason.subject}" does not exist'
    return f"{text}{zones}", text, "the availability zone does not exist"


def zone_unavailable(
    reason: Reason, _explanation: Explanation, _hosts: str
) -> Forms:
    lacks_hosts = "does not exist, or has no host in service"
    if reason.subject is None:
        return (f"the availability zone {lacks_hosts}",)
    return (
        f'availability zone "{reason.subject}" {lacks_hosts}',
        f"the availability zone {lacks_hosts}",
    )


def host_unknown(
    reason: Reason, _explanation: Explanation, _hosts: str
) -> Forms:
    where = (
        f' in the availability zone "{reason.detail}"' if reason.detail else ""
    )
    text = f"{reason.subject} is no compute host"
    return (
        f"{text}{where}",
        text,
        "the host that was asked for is no compute host",
    )


def left_behind(
    reason: Reason, _explanation: Explanation, _hosts: str
) -> Forms:
    text = "is left as a resource provider, without a nova-compute service"
    return f"{reason.subject} {text}", f"the host that was asked for {text}"


def no_hosts(_reason: Reason, _explanation: Explanation, _hosts: str) -> Forms:
    return ("the cloud has no nova-compute service",)


def quota(reason: Reason, _explanation: Explanation, _hosts: str) -> Forms:
    if reason.subject is None:
        return ("the project has no room left",)
    unit = UNITS.get(reason.subject, "")
    if reason.capacity is None:
        return (reason.subject,)
    used = (
        ""
        if reason.free is None
        else f", {reason.capacity - reason.free} used"
    )
    if reason.reserved:
        used = f"{used} ({reason.reserved} reserved)"
    wanted = (
        "" if reason.asked is None else f"{reason.asked}{unit} requested, "
    )
    limit = f"{reason.subject}: {wanted}limit {reason.capacity}{unit}"
    return f"{limit}{used}", limit, reason.subject


def miscounted(
    reason: Reason, _explanation: Explanation, _hosts: str
) -> Forms:
    limit = f"{reason.subject}: limit {reason.capacity}"
    there = (reason.capacity or 0) - (reason.free or 0)
    return (
        f"{limit}, but the project has {there}, so they are counted wrong",
        f"{limit}, counted wrong",
    )


def segments(_reason: Reason, _explanation: Explanation, _hosts: str) -> Forms:
    return ("no VLAN or tunnel id is left for a tenant network",)


def denied(reason: Reason, _explanation: Explanation, _hosts: str) -> Forms:
    return (f"no rule of its security groups lets {reason.detail} out",)


def addresses(reason: Reason, _explanation: Explanation, _hosts: str) -> Forms:
    if reason.subject is None:
        return ("the subnets of the network are full",)
    used = f"uses {(reason.capacity or 0) - (reason.free or 0)} of {reason.capacity} addresses"
    return f'network "{reason.subject}" {used}', f"the network {used}"


def backend_missing(
    reason: Reason, _explanation: Explanation, _hosts: str
) -> Forms:
    kind, _slash, backend = (reason.subject or "").rpartition("/")
    named = f'volume type "{kind}"' if kind else "the volume type"
    there = f" (back ends: {reason.detail})" if reason.detail else ""
    asks = f'needs back end "{backend}", which no pool has'
    return (
        f"{named} {asks}{there}",
        f"{named} {asks}",
        f"the volume type {asks}",
        "no pool has the back end that the volume type needs",
    )


def backends_disabled(
    reason: Reason, _explanation: Explanation, _hosts: str
) -> Forms:
    one = reason.capacity == 1
    which = (
        f"cinder-volume {reason.subject} is"
        if one
        else f"all {reason.capacity} back ends are"
    )
    return f"{which} disabled{in_brackets(reason.detail)}", f"{which} disabled"


def in_words_of_cloud(
    reason: Reason, explanation: Explanation, _hosts: str
) -> Forms:
    words = reason.detail or ""
    room = LONGEST_HEADLINE - len(f"{NOTHING[explanation.sought]}: ")
    return words, textwrap.shorten(words, room, placeholder=" …")


def pools_full(
    reason: Reason, _explanation: Explanation, _hosts: str
) -> Forms:
    pools = (
        "the pool has"
        if reason.capacity == 1
        else f"all {reason.capacity} pools have"
    )
    return (f"{pools} less than {reason.asked} GB free (most: {reason.free})",)


def pool_limit(
    reason: Reason, _explanation: Explanation, _hosts: str
) -> Forms:
    whole = f"pool {reason.subject} may promise {reason.capacity} GB, and has {reason.free} GB of them left"
    return (
        f"{whole} (reserved: {reason.reserved} GB, ratio of oversubscription: {reason.detail})",
        whole,
    )


def pool_ratio(
    reason: Reason, _explanation: Explanation, _hosts: str
) -> Forms:
    whole = f"max_over_subscription_ratio of pool {reason.subject} is {reason.detail}"
    return f"{whole}, and cinder-scheduler takes none below 1", whole


FORMS: dict[Shortage, Callable[[Reason, Explanation, str], Forms]] = {
    **dict.fromkeys(SINGULAR, same_for_all),
    Shortage.TRAIT_MISSING: trait_missing,
    Shortage.TRAIT_FORBIDDEN: trait_forbidden,
    Shortage.OUTSIDE_AGGREGATE: outside_aggregate,
    Shortage.CLASS_MISSING: class_missing,
    Shortage.MAX_UNIT: max_unit,
    Shortage.MIN_UNIT: in_other_units,
    Shortage.STEP_SIZE: in_other_units,
    Shortage.NO_ROOM: no_room,
    Shortage.NO_SERVICE: left_behind,
    Shortage.FEWER: fewer,
    Shortage.FILTERED: filtered,
    Shortage.UNSUPPORTED: unsupported,
    Shortage.INSUFFICIENT: insufficient,
    Shortage.ZONE_UNKNOWN: zone_unknown,
    Shortage.ZONE_UNAVAILABLE: zone_unavailable,
    Shortage.HOST_UNKNOWN: host_unknown,
    Shortage.NO_HOSTS: no_hosts,
    Shortage.UNMET: unmet,
    **dict.fromkeys((Shortage.IMAGE, Shortage.REFUSED), in_words_of_cloud),
    Shortage.QUOTA: quota,
    Shortage.MISCOUNTED: miscounted,
    Shortage.ADDRESSES: addresses,
    Shortage.SEGMENTS: segments,
    Shortage.DENIED: denied,
    Shortage.THROTTLED: lambda reason, _explanation, _hosts: (
        f"its disk {reason.subject} is limited to {reason.detail}",
    ),
    Shortage.NETWORK_DISABLED: lambda reason, _explanation, _hosts: (
        f"network {reason.subject} is set down",
    ),
    Shortage.PORT_DISABLED: lambda reason, _explanation, _hosts: (
        f"port {reason.subject} is set down",
    ),
    Shortage.NO_DHCP: lambda reason, _explanation, _hosts: (
        f"network {reason.subject} has no subnet of IPv4 with DHCP, and no router that advertises IPv6",
        f"network {reason.subject} has no subnet of IPv4 with DHCP",
    ),
    Shortage.BACKENDS_DISABLED: backends_disabled,
    Shortage.BACKEND_MISSING: backend_missing,
    Shortage.POOLS_FULL: pools_full,
    Shortage.POOL_LIMIT: pool_limit,
    Shortage.POOL_RATIO: pool_ratio,
}


# The details


def details(explanation: Explanation) -> tuple[str, ...]:
    """Return a line for each host, what Placement offers otherwise, and what could not be read."""
    lines = list(map(host_line, explanation.hosts[:MOST_HOSTS]))
    more = len(explanation.hosts) - MOST_HOSTS
    if more > 0:
        lines.append(f"and {plural(more, 'more host')}")
    offers = filter(
        attrgetter("hosts"),
        map(partial(without_banned, explanation), explanation.relaxed),
    )
    lines += map(offer_line, islice(offers, MOST_OFFERS))
    lines += [f"not read: {reason}" for reason in explanation.unread]
    return tuple(lines)


def host_line(host: HostReasons) -> str:
    """Return all that keeps a request off a host."""
    if host.reasons:
        return f"{host.host} {', '.join(map(reason_line, host.reasons))}"
    return f"{host.host} {'has what is asked for' if host.is_known else 'was not read'}"


def reason_line(reason: Reason) -> str:
    text = SINGULAR[reason.code](reason)[0]
    if reason.code == Shortage.NO_ROOM:
        return f"{text}, {reason.asked} needed{usage(reason)}"
    if reason.code == Shortage.DOWN and reason.detail:
        return f"{text} since {reason.detail}"
    return text


def without_banned(explanation: Explanation, offer: Candidates) -> Candidates:
    """Return an offer of Placement without the hosts that Nova would not use either way."""
    banned = {
        host.host
        for host in explanation.hosts
        if BANS.intersection(map(attrgetter("code"), host.reasons))
    }
    hosts = tuple(host for host in offer.hosts if host not in banned)
    return replace(offer, hosts=hosts)


def offer_line(offer: Candidates) -> str:
    """Return which hosts would take the request without one constraint."""
    number = plural(len(offer.hosts), "host")
    return f"without {offer.name}, {number} would fit: {', '.join(offer.hosts[:MOST_HOSTS])}"


def answer_line(explanation: Explanation) -> str:
    """Return in a line whether a request fits, or why not."""
    if explanation.answer == Answer.UNKNOWN:
        return "not known: what the hosts have could not be read"
    if explanation.answer != Answer.FITS:
        return fitting(headlines(explanation), LONGEST_HEADLINE)
    fitting_hosts = [host.host for host in explanation.hosts if host.fits]
    where = f"{flavor_of(explanation)} fits on {plural(len(fitting_hosts), 'host')}"
    if explanation.room is None:
        return where
    return f"{where}; there is room for {plural(explanation.room, 'instance')}"
