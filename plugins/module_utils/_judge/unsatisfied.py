# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find whether a run failed because the cloud does not have what it asked for. Then no component is to blame."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from operator import attrgetter

from .._collect.api import refused
from .._model.capacity import Capacity
from .._model.chain import Link
from .._model.details import BootDetails, JourneyDetails, VolumeDetails
from .._model.record import FilterResult, LoggedError, Record
from .._model.shortage import Answer, Explanation, Reason, Shortage, Sought
from .._model.stage import Failure, Stage
from .._model.stores import is_default_drop
from .._model.words import StageName
from .._record.sole import sole
from .capacity import explain, explain_volume
from .case import Case

# The link that traces a packet through the flows of the host. Its firewall lets DHCP pass, whatever the rules are.
SWITCH_LINK = "metadata_flow"
# What a guest sends, by the link that traces it
TRAFFIC = {
    "dhcp_logical": "DHCP requests",
    "metadata_logical": "requests for metadata",
    SWITCH_LINK: "requests for metadata",
}
SCHEDULER, CONDUCTOR, COMPUTE = (
    "nova-scheduler",
    "nova-conductor",
    "nova-compute",
)
VOLUME_SCHEDULER = "cinder-scheduler"
NO_HOST = "NoValidHost"
DISK_LINK = "server_disk_answers"
# The stages in which Nova looks for a host
SCHEDULED = (StageName.BOOT, StageName.JOURNEY)
# The error of a guest that asked for an address and got none
NO_LEASE = "no_lease"
PASSED_ON, GIVEN_UP = "RescheduledException", "BuildAbortException"
# Exceptions of nova-compute about what a flavor or an image asks of the host
UNSUPPORTED = {
    "SecureBootNotSupported": "Secure Boot",
    "UEFINotSupported": "UEFI",
    "MemoryPageSizeNotSupported": "the size of memory pages",
    "NUMATopologyUnsupported": "the NUMA topology",
    "UnsupportedHardware": "the hardware that the image asks for",
    "InvalidMachineType": "the machine type",
}
# Exceptions of nova-compute about a request that no host would accept, by what it is about. Nova's API answers most of
# such requests itself.
REFUSED_REQUESTS = {
    "network": re.compile(
        "ExternalNetworkAttachForbidden|NetworkRequiresSubnet"
    ),
    "port": re.compile(
        r"PortNotUsable(?:DNS)?|PortRequiresFixedIP|FixedIpAlreadyInUse|PortInUse|MacAddressInUse\w*"
    ),
    # What a flavor says, an image may say as well; some of these are about both.
    "flavor": re.compile(
        r"Flavor\w+|Image(?:VCPU|CPU|NUMA|SerialPort)\w+|Realtime\w+|MemoryPageSize(?:Invalid|Forbidden)"
        r"|RequestedVRamTooHigh|InvalidVideoMode|InvalidVIOMMU\w+|InvalidWatchdogAction|SerialPortNumber\w+"
        r"|CPUThreadPolicyConfigurationInvalid|InvalidCPU(?:Thread)?AllocationPolicy|\w+EmulatorThreadsPolicy"
        r"|RequiredMixed\w+|InvalidMixed\w+|InvalidPCINUMAAffinity|InvalidNUMANodesNumber"
        "|InvalidVirtualMachineMode|InvalidArchitectureName|InvalidHypervisorVirtType"
    ),
}
# How a client puts Neutron's answer that a port cannot be as asked, where it has no exception of its own for that
CONFLICT = re.compile(
    r"neutronclient\.[\w.]+\.(?:Conflict|\w*(?:Ip[A-Z]|FixedIps|InUse)\w*Client)|openstack\.exceptions\.ConflictException"
)
# The project has no more of something that nova-compute makes for a server, as a port.
OF_QUOTA = re.compile(r"\w+LimitExceeded|OverQuota\w*")
# A host may also have these in its own settings; the request is to blame if several hosts cannot do it.
IN_SETTINGS = ("InvalidMachineType",)


def of_case(case: Case) -> Explanation | None:
    """Return why the request of the failed stage cannot be satisfied; None if a component may be to blame."""
    error = case.stage.error
    if error is None:
        return None
    if refused.is_about_zone(error) and requested_zone(case):
        return without_zone(case)
    found = next(filter(None, (look(case) for look in LOOKS)), None)
    explanation = found or explained(case, error)
    if explanation is None or explanation.answer != Answer.SHORT:
        return None
    return explanation


def unmet(case: Case) -> Explanation | None:
    """Return what was asked for, where Nova found no host for it and nothing else is known; None if it found some."""
    if case.stage.stage not in SCHEDULED:
        return None
    refusals = [
        error
        for error in case.record.known_errors
        if error.own and error.exception_class == NO_HOST
    ]
    if not refusals:
        return None
    filters = filters_of(case)
    explanation = explain(capacity_of(case), filters)
    reason = explanation.reason
    if reason is None:
        return None
    # What filters have left out, Placement had offered.
    if reason.code == Shortage.UNMET and filters:
        return None
    return replace(explanation, answer=Answer.SHORT)


def explained(case: Case, error: Failure) -> Explanation | None:
    """Return what is known of a request that the cloud did not satisfy; None if the stage failed at something else."""
    sought = refused.sought_in(error)
    if sought is None:
        return None
    capacity = capacity_of(case)
    words = refused.why_not_scheduled(error)
    if words is not None:
        reason = Reason(Shortage.REFUSED, "aggregate", detail=words)
        return Explanation(sought, Answer.SHORT, reason=reason)
    if sought == Sought.HOST:
        return explain(capacity, filters_of(case))
    if sought == Sought.BACKEND:
        filters = filters_of(case, VOLUME_SCHEDULER)
        return explain_volume(capacity, case.record.known_agents, filters)
    reason = REFUSED[sought](error, capacity)
    return Explanation(sought, Answer.SHORT, reason=reason)


def capacity_of(case: Case) -> Capacity:
    """Return what the cloud has for what was asked for: of a server that was to move, what other hosts have."""
    capacity = case.record.capacity or Capacity()
    host = host_to_leave(case)
    if host is None or capacity.compute is None:
        return capacity
    compute = capacity.compute.without(host)
    return replace(capacity, compute=compute) if compute.hosts else capacity


def host_to_leave(case: Case) -> str | None:
    """Return the host of a server that the failed operation was to move to another one."""
    details = case.details(JourneyDetails)
    if details is None:
        return None
    for leg in details.legs[-1:]:
        if leg.is_move:
            return leg.host_before
    return None


def unsupported(case: Case) -> Explanation | None:
    """Return what no host can do, as each nova-compute that tried to build the server has logged.

    If the run chose the host, another one may do it.
    """
    stage = case.stage
    if stage.stage != StageName.BOOT or "requested_host" in stage.details:
        return None
    own = list(filter(is_reason, case.record.known_errors))
    exception = sole(set(map(attrgetter("exception_class"), own)))
    if exception not in UNSUPPORTED:
        return None
    hosts = sorted(set(map(attrgetter("host"), own)))
    if exception in IN_SETTINGS and len(hosts) == 1:
        return None
    reason = Reason(
        Shortage.UNSUPPORTED,
        UNSUPPORTED[exception],
        detail=", ".join(hosts),
        host=hosts[0],
    )
    return Explanation(Sought.HOST, Answer.SHORT, reason=reason)


def refused_request(case: Case) -> Explanation | None:
    """Return what is wrong with a request, if each nova-compute that tried it has refused it as any host would."""
    if case.stage.stage not in SCHEDULED:
        return None
    errors = list(filter(is_refusal, case.record.known_errors))
    exception = sole(set(map(attrgetter("exception_class"), errors)))
    if exception is None:
        return None
    if OF_QUOTA.fullmatch(exception):
        reason = refused.quota_in_words(errors[0].words or "")
        return Explanation(Sought.QUOTA, Answer.SHORT, reason=reason)
    subject = subject_of(errors[0])
    if subject is None:
        return None
    detail = errors[0].words or exception
    reason = Reason(Shortage.REFUSED, subject, detail=detail)
    return Explanation(
        Sought.SERVER,
        Answer.SHORT,
        reason=reason,
        flavor=flavor_of(case.stage),
    )


def subject_of(error: LoggedError) -> str | None:
    """Return what a request is about that was refused with an error; None if it was not refused for itself."""
    about = (
        subject
        for subject, pattern in REFUSED_REQUESTS.items()
        if pattern.fullmatch(error.exception_class)
    )
    is_conflict = CONFLICT.fullmatch(error.exception or "")
    return next(about, "port" if is_conflict else None)


def flavor_of(stage: Stage) -> str | None:
    flavor = stage.details.get("flavor") or {}
    name: str | None = flavor.get("name")
    return name


def is_reason(error: LoggedError) -> bool:
    """Return whether an error is why a nova-compute did not build the server; that it passed it on is no reason."""
    is_own = error.own and error.service == COMPUTE and not error.is_warning
    return is_own and error.exception_class not in ("", PASSED_ON)


def is_refusal(error: LoggedError) -> bool:
    return is_reason(error) and error.exception_class != GIVEN_UP


def insufficient(case: Case) -> Explanation | None:
    """Return what the hosts do not have enough of, if that is why each of them that was tried sent the server back.

    The filters had let them pass: a host's own count is finer, such as that of huge pages on each NUMA node.
    """
    if case.stage.stage != StageName.BOOT:
        return None
    words = lacking(case.record.known_errors)
    if not words:
        return None
    reason = Reason(Shortage.INSUFFICIENT, detail="; ".join(words))
    return Explanation(
        Sought.HOST, Answer.SHORT, reason=reason, flavor=flavor_of(case.stage)
    )


def lacking(errors: Iterable[LoggedError]) -> list[str]:
    """Return what hosts did not have enough of; nothing if one of them sent the server back for another reason."""
    words: set[str] = set()
    for error in errors:
        if is_reason(error):
            return []
        if not is_sent_back(error):
            continue
        if not error.insufficient:
            return []
        words.add(error.insufficient)
    return sorted(words)


def is_sent_back(error: LoggedError) -> bool:
    """Return whether a conductor logged that a nova-compute sent the server back."""
    return error.own and error.service == CONDUCTOR and error.peer == COMPUTE


def cut_off(case: Case) -> Explanation | None:
    """Return what keeps the guest from its network, where that was asked for."""
    if case.stage.stage not in (StageName.BOOT, StageName.METADATA):
        return None
    reason = set_down(case.record) or without_lease(case) or denied(case)
    return (
        Explanation(Sought.TRAFFIC, Answer.SHORT, reason=reason)
        if reason
        else None
    )


def held_back(case: Case) -> Explanation | None:
    """Return the limit of its flavor, or of a volume, that makes a disk of the guest slow."""
    for link in filter(None, map(attrgetter("broken"), case.chains)):
        if link.code == DISK_LINK and link.expected:
            reason = Reason(
                Shortage.THROTTLED, link.subject, detail=link.expected
            )
            boot = case.record.stage_or_skipped(StageName.BOOT)
            return Explanation(
                Sought.SPEED,
                Answer.SHORT,
                reason=reason,
                flavor=flavor_of(boot),
            )
    return None


def set_down(record: Record) -> Reason | None:
    """Return which network or port of the instance its user has set down."""
    for network in record.networks:
        if network.disabled:
            return Reason(Shortage.NETWORK_DISABLED, network.id)
    for port in record.ports:
        if port.disabled:
            return Reason(Shortage.PORT_DISABLED, port.id)
    return None


def without_lease(case: Case) -> Reason | None:
    """Return the network on which nobody gives the guest an address."""
    gives = {network.gives_addresses for network in case.record.networks}
    if case.stage.error_kind != NO_LEASE or gives != {False}:
        return None
    names = ", ".join(network.id for network in case.record.networks)
    return Reason(Shortage.NO_DHCP, names)


def denied(case: Case) -> Reason | None:
    """Return which packet of the instance's port no rule of its security groups allows, as Neutron has them.

    OVN has all rules that Neutron has: else a link before the trace is the one that is broken.
    """
    for chain in case.chains:
        link = chain.broken
        if link is None or link.code not in TRAFFIC:
            continue
        if is_default_drop(link.found) or is_shut_in(
            link, chain.subject, case
        ):
            return Reason(
                Shortage.DENIED, chain.subject, detail=TRAFFIC[link.code]
            )
    return None


def is_shut_in(link: Link, subject: str | None, case: Case) -> bool:
    """Return whether the switch drops what no rule of the security groups of a port lets out. subject: that port."""
    rules = {port.id: port.egress_rules for port in case.record.ports}
    return link.code == SWITCH_LINK and rules.get(subject or "") == 0


def filters_of(
    case: Case, scheduler: str = SCHEDULER
) -> tuple[FilterResult, ...]:
    """Return what the filters of a scheduler have left for what this run asked for."""
    found: tuple[FilterResult, ...] = ()
    for error in case.record.known_errors:
        if error.filters and error.own and error.service == scheduler:
            found = error.filters
    return found


def without_zone(case: Case) -> Explanation:
    """Return what is wrong with the zone that was asked for: Nova refuses one without a host in service as well."""
    zone = requested_zone(case)
    if case.stage.stage == StageName.VOLUME:
        return Explanation(
            Sought.BACKEND,
            Answer.SHORT,
            reason=Reason(Shortage.ZONE_UNKNOWN, zone),
        )
    explanation = explain(case.record.capacity or Capacity())
    if explanation.answer == Answer.SHORT:
        return explanation
    return Explanation(
        Sought.HOST,
        Answer.SHORT,
        reason=Reason(Shortage.ZONE_UNAVAILABLE, zone),
    )


def requested_zone(case: Case) -> str | None:
    if case.stage.stage == StageName.VOLUME:
        volume = case.details(VolumeDetails)
        return volume.requested_zone if volume else None
    server = case.details(BootDetails)
    return server.requested_zone if server else None


def with_numbers(quota: Reason, capacity: Capacity) -> Reason:
    """Return a quota with its numbers, where the cloud was asked for those that its refusal does not have."""
    named = [
        use
        for use in capacity.quotas
        if quota.subject is None or quota.subject.startswith(use.name)
    ]
    if not named:
        return quota
    use = named[0]
    is_full = use.used >= use.limit
    return replace(
        quota,
        code=Shortage.QUOTA if is_full else Shortage.MISCOUNTED,
        subject=use.name,
        free=use.limit - use.used,
        capacity=use.limit,
        reserved=use.reserved,
    )


def addresses(capacity: Capacity) -> Reason:
    use = capacity.addresses
    if use is None:
        return Reason(Shortage.ADDRESSES)
    return Reason(
        Shortage.ADDRESSES,
        use.network,
        free=max(0, use.total - use.used),
        capacity=use.total,
    )


# Why the cloud refused what needs no host and no back end
REFUSED: dict[Sought, Callable[[Failure, Capacity], Reason]] = {
    Sought.IMAGE: lambda error, _capacity: refused.image_in(error),
    Sought.QUOTA: lambda error, capacity: with_numbers(
        refused.quota_in(error), capacity
    ),
    Sought.SEGMENT: lambda _error, _capacity: Reason(Shortage.SEGMENTS),
    Sought.ADDRESS: lambda _error, capacity: addresses(capacity),
}

# Where to look before the words of the cloud
LOOKS: tuple[Callable[[Case], Explanation | None], ...] = (
    unsupported,
    refused_request,
    insufficient,
    cut_off,
    held_back,
)
