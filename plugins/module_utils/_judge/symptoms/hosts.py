# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms that hosts show: services that do not run, what components report of themselves, resources used up."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ..._components.catalogue import COMPONENTS
from ..._components.tables import BY_NAME, OWN_ADDRESSES
from ..._match.moves import is_compute_host
from ..._model.details import JourneyDetails
from ..._model.host import Exhausted, GivenAddress, Host, OwnReport
from ..._model.how import STATES, How
from ..._model.service import RUNNING, Service, services_of
from ..._model.symptom import Code, Symptom
from ..case import Case
from .owners import components_of, components_that_run

# What a check of Ceph is called that says that nothing can be written. Of flags only its text shows whether they do.
SEVERE = re.compile(
    r"(?<!NEAR)(?<!NEAR_)(?<!BACKFILL)(?<!FILL_)(?<!RECOVERY_)FULL"
    r"|DOWN|INACTIVE|PG_AVAILABILITY|SLOW_OPS|OSDMAP_FLAGS:.*(?:pause|\bfull)"
)
CEPH_COMMANDS = {"ceph", "rbd"}
HUNG = "hung"
# The programs of a host that each component answers
ANSWERED_BY = {
    "libvirt": ("virsh",),
    "ovsdb": ("ovs-vsctl", "ovs-ofctl", "ovs-appctl"),
    "rabbitmq": ("rabbitmqctl",),
}


def states(case: Case) -> list[Symptom]:
    """Return services that should run and do not, and those that were restarted."""
    symptoms: list[Symptom] = []
    for host, service in case.services:
        symptoms += restarted(case, host, service)
        how = How.of(service.state)
        if how not in STATES:
            continue
        if not is_out_of_use(case, host, service):
            symptoms.append(not_running(case, host, service, how))
    return symptoms


def not_running(
    case: Case, host: Host, service: Service, how: How | None
) -> Symptom:
    restarts = loops(case, service)
    if how == How.STARTING:
        if restarts and is_of_run(case, host, service):
            return looping(host, service)
        restarts = service.restarts
    symptom = Symptom(
        Code.UNIT_NOT_RUNNING,
        service.component,
        host=host.host,
        how=how,
        unit=service.unit,
        restarts=restarts,
        reported=tuple(filter(None, [service.result])),
    )
    if how == How.FROZEN:
        # A process that is stopped by a signal leaves the unit as it was.
        return symptom
    return replace(symptom, for_s=service.for_s, since=began(service, host))


def is_out_of_use(case: Case, host: Host, service: Service) -> bool:
    """Return whether nobody needs a service: it did not run while all worked, or all ask that of another host."""
    if case.was_idle(host.host, service):
        return True
    named = case.named_hosts(service.component)
    return bool(named) and None not in named and host.host not in named


def restarted(case: Case, host: Host, service: Service) -> list[Symptom]:
    """Return that a service was restarted: by systemd while the run was under way, or before it."""
    if service.state != RUNNING or case.stage.finished is None:
        return []
    at = began(service, host)
    if at is None:
        return []
    before = case.record.started - at
    if before > case.weights.remembered_s:
        return []
    if not is_of_run(case, host, service):
        code, ago_s = Code.UNIT_RESTARTED_BEFORE_RUN, case.stage.finished - at
        return [
            Symptom(
                code,
                service.component,
                host=host.host,
                unit=service.unit,
                ago_s=ago_s,
            )
        ]
    if not service.restarts:
        return []
    if loops(case, service):
        return [looping(host, service)]
    code = Code.UNIT_RESTARTED_DURING_RUN
    return [
        Symptom(
            code,
            service.component,
            host=host.host,
            how=How.RESTARTED,
            unit=service.unit,
            since=at,
        )
    ]


def is_of_run(case: Case, host: Host, service: Service) -> bool:
    """Return whether a service got into its state while the run was under way."""
    at = began(service, host)
    if at is None:
        return False
    return case.record.started - at <= (host.clock_error_s or 0)


def looping(host: Host, service: Service) -> Symptom:
    """Return that systemd restarts a service again and again: it fails each time, wherever it is at the moment."""
    return Symptom(
        Code.UNIT_CRASH_LOOP,
        service.component,
        host=host.host,
        how=How.FAILED,
        unit=service.unit,
        restarts=service.restarts,
    )


def began(service: Service, host: Host) -> float | None:
    """Return when a service got into its state, by the clock of the control node; None if that is not known."""
    if service.since is None:
        return None
    return service.since - (host.clock_offset_s or 0)


def loops(case: Case, service: Service) -> int:
    """Return how often systemd has restarted a service that exits again and again; 0 for one that does not."""
    return (
        service.restarts if service.restarts >= case.weights.crash_loop else 0
    )


def reports(case: Case) -> list[Symptom]:
    """Return what shared services report about themselves, without what is usual or far from the instance."""
    is_replicated = any(map(has_writable_database, case.record.hosts))
    symptoms: list[Symptom] = []
    for host in case.record.hosts:
        for report in host.examined.reports:
            if not is_usual(report, is_replicated) and is_about_instance(
                report, host, case
            ):
                how = How.of(report.kind)
                code, component = Code.OWN_REPORT, report.component
                symptoms.append(
                    Symptom(
                        code,
                        component,
                        host=host.host,
                        how=how,
                        reported=(report.text,),
                        path=report.given.path if report.given else None,
                        setting=report.given.option if report.given else None,
                    )
                )
    return symptoms


def is_usual(report: OwnReport, is_replicated: bool) -> bool:
    """Return whether it is a replica of a database, which may be read-only where another one is not."""
    return is_replicated and report.kind == How.READ_ONLY


def is_about_instance(report: OwnReport, host: Host, case: Case) -> bool:
    """Return whether what was reported can concern the instance.

    The wire of another compute host carries nothing of it, and hosts use the addresses that they give of themselves for
    moves.
    """
    if report.given is not None:
        return case.is_at_move(host.host) and is_used(report.given, case)
    if report.kind == How.LINK:
        return not (case.is_far(host.host) and is_compute_host(host))
    return True


def is_used(given: GivenAddress, case: Case) -> bool:
    """Return whether hosts use an address that one gives of itself for what was done with the server."""
    details = case.details(JourneyDetails)
    if details is None:
        return False
    requested = details.legs[-1].requested
    return any(
        address.option == given.option
        and not set(requested).isdisjoint(address.actions)
        for address in OWN_ADDRESSES
    )


def has_writable_database(host: Host) -> bool:
    """Return whether the database on a host was asked, and can be written to."""
    if host.examination is None:
        return False
    if "the state of database" in {unread.what for unread in host.unread}:
        return False
    reported = {report.kind for report in host.examination.reports}
    if How.READ_ONLY in reported:
        return False
    return any(
        (service.component, service.state) == ("database", RUNNING)
        for service in services_of(host)
    )


def ceph(case: Case) -> list[Symptom]:
    """Return Ceph's own health, as far as it was better before the run, and commands of Ceph that hang."""
    symptoms: list[Symptom] = []
    baseline = case.record.baseline
    usual = baseline.health if baseline else ()
    for host in case.record.hosts:
        facts = host.facts.get("ceph") or {}
        symptoms += osds_down(facts)
        symptoms += health(facts, checks_before(host), usual)
        symptoms += hanging_commands(host)
    # Each host that can ask reports the same of the one cluster.
    return list(dict.fromkeys(symptoms))


def osds_down(facts: Mapping[str, Any]) -> list[Symptom]:
    osds: Mapping[str, bool] = facts.get("osds") or {}
    down = tuple(sorted(number for number, is_up in osds.items() if not is_up))
    if not down:
        return []
    return [Symptom(Code.OSD_DOWN, "ceph-osd", how=How.DOWN, reported=down)]


def checks_before(host: Host) -> Collection[str]:
    """Return the checks of Ceph that were not passed before the run."""
    return (host.health_before or {}).get("checks") or ()


def is_severe(check: str, checks: Mapping[str, str]) -> bool:
    """Return whether a check of Ceph says that something cannot be written."""
    return SEVERE.search(f"{check}:{checks[check]}") is not None


def health(
    facts: Mapping[str, Any], before: Collection[str], usual: Collection[str]
) -> list[Symptom]:
    """Return what checks of Ceph say that is new or severe; it is no alarm if they were not passed while all worked."""
    checks: Mapping[str, str] = (facts.get("health") or {}).get("checks") or {}
    severe = set(filter(partial(is_severe, checks=checks), checks))
    new = set(checks).difference(before, usual)
    alarms = severe.difference(usual)
    symptoms: list[Symptom] = []
    for component in COMPONENTS:
        names = [
            name
            for name in sorted(severe | new)
            if name.startswith(component.health_checks)
        ]
        if not names:
            continue
        symptom = Symptom(
            Code.CEPH_HEALTH,
            component.name,
            how=How.WARNING if alarms.isdisjoint(names) else How.ALARM,
            reported=tuple(checks[name] for name in names),
        )
        symptoms.append(symptom)
    return symptoms


def hanging_commands(host: Host) -> list[Symptom]:
    """Return the commands to Ceph that did not end. Any of its services may be why, but a monitor that answered."""
    suspects = ["ceph-mon", "ceph-osd"]
    ceph = host.facts.get("ceph") if host.facts else None
    if ceph and ceph.get("health"):
        suspects.remove("ceph-mon")
    symptoms: list[Symptom] = []
    for command in hung_commands(host, CEPH_COMMANDS):
        for component in suspects:
            symptom = Symptom(
                Code.COMMAND_HANGS,
                component,
                how=How.SILENT,
                command=command,
            )
            symptoms.append(symptom)
    return symptoms


def hung_commands(host: Host, programs: Collection[str]) -> list[str]:
    """Return the commands of some programs that did not end on a host."""
    commands = [
        unread.command or "" for unread in host.unread if unread.kind == HUNG
    ]
    # A command may begin with sudo, and with the way into a container.
    return [
        command
        for command in commands
        if not set(programs).isdisjoint(command.split())
    ]


def mute(case: Case) -> list[Symptom]:
    """Return the services of a host that do not answer the commands of their own programs."""
    hosts = case.record.hosts
    # All that has to do with disks may wait for Ceph.
    if any(hung_commands(host, CEPH_COMMANDS) for host in hosts):
        return []
    symptoms: list[Symptom] = []
    for host in hosts:
        for component, programs in ANSWERED_BY.items():
            commands = hung_commands(host, programs)
            if not commands:
                continue
            symptom = Symptom(
                Code.COMMAND_HANGS,
                component,
                host=host.host,
                how=How.SILENT,
                command=commands[0],
            )
            symptoms.append(symptom)
    return symptoms


def resources(case: Case) -> list[Symptom]:
    """Return what a host has run out of, for each service there that may need it."""
    symptoms: list[Symptom] = []
    for host in case.record.hosts:
        for found in host.examined.exhausted:
            how = How.of(found.kind)
            is_program = how in (
                How.NOT_EXECUTABLE,
                How.KILLED,
                How.DENIED,
                How.FULL,
            )
            symptoms += [
                Symptom(
                    Code.RESOURCE_EXHAUSTED,
                    component,
                    host=host.host,
                    how=how,
                    path=None if is_program else found.where,
                    reported=(found.text,),
                )
                for component in users_of(found, how, host, case)
            ]
    return symptoms


def users_of(
    found: Exhausted, how: How | None, host: Host, case: Case
) -> list[str]:
    """Return the components that need a resource of their host."""
    if how == How.KILLED:
        return components_that_run(
            found.where, host, case.weights.process_name
        )
    if how == How.DENIED:
        # Much else runs on a host, and what it may not do is nothing of the cloud.
        running = components_that_run(
            found.where, host, case.weights.process_name
        )
        return [component for component in running if component in BY_NAME]
    if how == How.FULL:
        # What is full of connections drops those of all.
        return ["data network"]
    if how == How.NOT_EXECUTABLE:
        return components_that_run(found.where, host)
    return components_of(found.where, host)
