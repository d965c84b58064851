# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Preflight checks: services and agents, endpoints, quotas. Pure: the answers of services come as arguments."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._model.sweep import (
    ExcludedHost,
    PreflightCheck,
    PreflightKind,
    PreflightStatus,
)
from .._model.words import BY_ITSELF
from .._record.clock import seconds_of
from .targets import Values

COMPUTE = "nova-compute"

# A service, an agent or a hypervisor as an API describes it
Answer = Mapping[str, Any]
# By component and name of the quota
Needs = dict[tuple[str, str], int]
# Limit and use of each quota; below zero there is no limit
Quotas = Mapping[str, tuple[int, int]]

NOVA_LIMITS = {
    "instances": ("maxTotalInstances", "totalInstancesUsed"),
    "cores": ("maxTotalCores", "totalCoresUsed"),
    "ram": ("maxTotalRAMSize", "totalRAMUsed"),
}
CINDER_LIMITS = {
    "volumes": ("maxTotalVolumes", "totalVolumesUsed"),
    "gigabytes": ("maxTotalVolumeGigabytes", "totalGigabytesUsed"),
}


@dataclass(frozen=True)
class Demand:
    """What the runs will make.

    parallel: how many runs there are in parallel.
    makes_network: whether each makes a network of its own. volume_gb: None without a volume.
    """

    parallel: int
    vcpus: int
    ram: int
    makes_network: bool
    volume_gb: int | None
    floating_ip: bool


@dataclass(frozen=True)
class EndpointAnswer:
    """The answer of an endpoint: an HTTP status, or the reason why there was none."""

    service: str
    interfaces: Sequence[str]
    url: str
    status: int | None
    reason: str | None


# Services and agents


def age(text: str | None, now: float) -> float | None:
    """Return the seconds since a time as the services write it: in UTC, without a zone."""
    return now - seconds_of(text) if text else None


def service(
    name: str,
    host: str,
    component: str,
    reason: str,
    status: PreflightStatus = PreflightStatus.OK,
) -> PreflightCheck:
    """Return the check that a service on a host is alive."""
    return PreflightCheck(
        PreflightKind.SERVICE,
        f"{name} on {host} is alive",
        status,
        reason,
        host,
        component,
    )


def heartbeat(
    name: str,
    host: str,
    component: str,
    alive: bool,
    seconds: float | None,
    most: float | None,
) -> PreflightCheck:
    """Return the check of a service that reports itself: its API must call it alive, with a recent report if asked."""
    where = f"{name} on {host}"
    reported = (
        "has never reported"
        if seconds is None
        else f"last reported {seconds:.0f} s ago"
    )
    if not alive:
        return service(
            name,
            host,
            component,
            f"{where} is down; it {reported}",
            PreflightStatus.FAILED,
        )
    if seconds is None:
        # The service has just been set up: it counts as alive until its first report is late.
        return service(
            name, host, component, f"{where} is new and has not reported yet"
        )
    if most and seconds > most:
        return service(
            name,
            host,
            component,
            f"{where} counts as up, but {reported}",
            PreflightStatus.FAILED,
        )
    return service(name, host, component, f"{where} {reported}")


def is_switched_off(answer: Answer) -> bool:
    """Return whether an operator has disabled the service; nova may do so by itself."""
    return answer["status"] == "disabled" and not (
        answer.get("disabled_reason") or ""
    ).startswith(BY_ITSELF)


def why_disabled(answer: Answer) -> str:
    return answer.get("disabled_reason") or "no reason given"


def service_check(
    answer: Answer, component: str, now: float, most: float | None
) -> PreflightCheck:
    """Return the check of a service of nova or cinder."""
    name, host = answer["binary"], answer["host"]
    if is_switched_off(answer):
        return service(
            name,
            host,
            component,
            f"{name} on {host} is disabled: {why_disabled(answer)}",
        )
    check = heartbeat(
        name,
        host,
        component,
        answer["state"] == "up",
        age(answer["updated_at"], now),
        most,
    )
    if check.status is PreflightStatus.OK and answer["status"] == "disabled":
        reason = f"{name} on {host} has disabled itself: {answer['disabled_reason']}"
        return dataclasses.replace(
            check, status=PreflightStatus.FAILED, reason=reason
        )
    return check


def agent_checks(
    agents: Sequence[Answer], now: float, most: float | None
) -> list[PreflightCheck]:
    if not agents:
        # Neutron does not refuse a plain user, but shows an empty list.
        reason = (
            "neutron shows no agents; it may show them to an administrator"
        )
        return [
            api_check(
                "its agents", "neutron", PreflightStatus.UNREADABLE, reason
            )
        ]
    return [agent_check(agent, now, most) for agent in agents]


def agent_check(
    agent: Answer, now: float, most: float | None
) -> PreflightCheck:
    name, host = agent["binary"], agent["host"]
    if not agent["admin_state_up"]:
        return service(name, host, "neutron", f"{name} on {host} is disabled")
    return heartbeat(
        name,
        host,
        "neutron",
        agent["alive"],
        age(agent["heartbeat_timestamp"], now),
        most,
    )


def api_check(
    subject: str, component: str, status: PreflightStatus, reason: str
) -> PreflightCheck:
    """Return the check of an answer that a service did not give."""
    return PreflightCheck(
        PreflightKind.API,
        f"{component} shows {subject}",
        status,
        reason,
        None,
        component,
    )


def compute_hosts(
    services: Iterable[Answer],
) -> tuple[list[str], list[ExcludedHost]]:
    """Return the hosts to provision on, and the excluded ones with the reason, by the services of nova."""
    hosts, excluded = [], []
    computes = [answer for answer in services if answer["binary"] == COMPUTE]
    for answer in sorted(computes, key=lambda each: str(each["host"])):
        if is_switched_off(answer):
            excluded.append(
                ExcludedHost(
                    answer["host"], f"disabled: {why_disabled(answer)}"
                )
            )
        else:
            hosts.append(answer["host"])
    return hosts, excluded


def mapped_checks(
    hosts: Iterable[str], hypervisors: Iterable[Answer]
) -> list[PreflightCheck]:
    """Return a failed check for each host in no cell: its service reports itself, but it takes no instance."""
    mapped = {hypervisor["service"]["host"] for hypervisor in hypervisors}
    return [unmapped_check(host) for host in hosts if host not in mapped]


def unmapped_check(host: str) -> PreflightCheck:
    hint = "it is in no cell: nova-manage cell_v2 discover_hosts"
    reason = f"{COMPUTE} on {host} has no hypervisor; perhaps {hint}"
    name = f"{host} is a hypervisor"
    return PreflightCheck(
        PreflightKind.HYPERVISOR,
        name,
        PreflightStatus.FAILED,
        reason,
        host,
        "nova",
    )


# Endpoints


def endpoint_check(
    answer: EndpointAnswer, wanted: Iterable[str]
) -> PreflightCheck:
    """Return the check of an endpoint. wanted: the interfaces that the runs use."""
    if answer.status is not None and answer.status < 500:
        return endpoint(
            answer, PreflightStatus.OK, f"{answer.url} answers {answer.status}"
        )
    what = (
        f"answers {answer.status}"
        if answer.status
        else f"does not answer: {answer.reason}"
    )
    reason = f"the {'/'.join(answer.interfaces)} endpoint of {answer.service}, {answer.url}, {what}"
    if answer.status is None and not set(wanted) & set(answer.interfaces):
        # Perhaps only hosts of the cloud can reach it.
        return endpoint(
            answer, PreflightStatus.UNREADABLE, f"{reason}; no run uses it"
        )
    return endpoint(answer, PreflightStatus.FAILED, reason)


def endpoint(
    answer: EndpointAnswer, status: PreflightStatus, reason: str
) -> PreflightCheck:
    name = f"{answer.service} answers at {answer.url}"
    return PreflightCheck(
        PreflightKind.ENDPOINT, name, status, reason, None, answer.service
    )


# Quotas


def most_parallel(parallel: int, hosts: Sequence[str], values: Values) -> int:
    """Return the number of runs in parallel: not more than there are targets."""
    sizes = [max(1, len(chosen)) for chosen in (hosts, *values.values())]
    return min(parallel, math.prod(sizes))


def needs(demand: Demand) -> Needs:
    """Return the resources that all runs in parallel need together, by the names of the services' quotas."""
    made: Needs = {
        ("nova", "instances"): 1,
        ("nova", "cores"): demand.vcpus,
        ("nova", "ram"): demand.ram,
        ("neutron", "security_group"): 1,
        # A network that the run makes has a port for DHCP beside the instance's.
        ("neutron", "port"): 2 if demand.makes_network else 1,
    }
    if demand.makes_network:
        made.update({("neutron", "network"): 1, ("neutron", "subnet"): 1})
    if demand.volume_gb is not None:
        made.update(
            {
                ("cinder", "volumes"): 1,
                ("cinder", "gigabytes"): demand.volume_gb,
            }
        )
    if demand.floating_ip:
        made.update({("neutron", "floatingip"): 1, ("neutron", "router"): 1})
        made["neutron", "port"] += 2
    return {quota: number * demand.parallel for quota, number in made.items()}


def quota_check(
    component: str, name: str, need: int, limit: int, used: int
) -> PreflightCheck:
    title = f"the quota of {name} is enough"
    if limit < 0 or limit - used >= need:
        left = "no limit" if limit < 0 else f"{limit - used} of {limit} left"
        reason = f"{name}: {need} needed in parallel, {left}"
        return PreflightCheck(
            PreflightKind.QUOTA,
            title,
            PreflightStatus.OK,
            reason,
            None,
            component,
        )
    left = f"{name}: {need} needed in parallel, but only {max(0, limit - used)} of {limit} left"
    reason = f"{left}; raise the quota or lower stackproof_at_once"
    return PreflightCheck(
        PreflightKind.QUOTA,
        title,
        PreflightStatus.FAILED,
        reason,
        None,
        component,
    )


def absolute(
    limits: Mapping[str, int], names: Mapping[str, tuple[str, str]]
) -> Quotas:
    """Return the quotas of nova and cinder, whose names follow no rule."""
    return {
        quota: (limits[most], limits[used])
        for quota, (most, used) in names.items()
        if most in limits
    }


def detailed(quotas: Mapping[str, Mapping[str, int]]) -> Quotas:
    """Return the quotas of neutron; what is reserved counts as used."""
    return {
        name: (detail["limit"], detail["used"] + detail.get("reserved", 0))
        for name, detail in quotas.items()
    }


def quota_checks(
    component: str, needed: Needs, quotas: Quotas
) -> list[PreflightCheck]:
    checks = []
    for (of, name), number in needed.items():
        if of == component and name in quotas:
            checks.append(quota_check(component, name, number, *quotas[name]))
    return checks
