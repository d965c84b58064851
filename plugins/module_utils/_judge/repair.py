# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command that puts right what is wrong, as far as it is known: of a service, of a row, or of a setting."""

from __future__ import annotations

import re
from operator import attrgetter

from .._model.finding import Cause, Condition, Repair
from .._model.how import How
from .._model.service import Service
from .._model.symptom import Code, Kind, Symptom
from .case import Case
from .evidence import (
    DELIBERATE,
    SETTINGS,
    by_weight,
    is_recent_change,
    recent_change,
)
from .leads import NEUTRON_SERVER, is_of_api
from .symptoms.reach import is_wrong_endpoint

# Agents that make all that they serve when they start
REMAKING = (
    "neutron-dhcp-agent",
    "neutron-l3-agent",
    "neutron-l2-agent",
    "neutron-metadata-agent",
    "neutron-ovn-metadata-agent",
    "ovn-controller",
)
# Whose part of OVN's databases a program of Neutron makes again
SYNCHRONIZED = (NEUTRON_SERVER, "ovn-nb-db")
SYNCHRONIZE = (
    "neutron-ovn-db-sync-util --config-file /etc/neutron/neutron.conf "
    "--config-file /etc/neutron/plugins/ml2/ml2_conf.ini --ovn-neutron_sync_mode repair"
)
NOT_UP = (Code.UNIT_NOT_RUNNING, Code.UNIT_CRASH_LOOP)
UNIT_FILE = re.compile(r"/systemd/system/([\w@.-]+?\.service)")


def repair_of(cause: Cause, case: Case) -> Repair | None:
    """Return what puts right what says most about a cause."""
    shown = by_weight(cause)
    if not shown:
        return None
    repairs = (
        by_link(shown[0], case),
        by_settings(cause, case),
        by_start(shown[0], cause, case),
        by_remaking(cause, case),
    )
    return next(filter(None, repairs), None)


def by_link(symptom: Symptom, case: Case) -> Repair | None:
    """Return what mends a broken link, unless the run has removed what that is about."""
    link = symptom.link
    if link is None or link.mend is None or case.is_about_removed(link.mend):
        return None
    host = None if is_of_api(link.mend) else link.host
    return Repair(Condition.NOT_INTENDED, link.mend, host)


def by_start(symptom: Symptom, cause: Cause, case: Case) -> Repair | None:
    """Return the command that starts the unit of a cause which somebody has stopped."""
    if symptom.how is not How.STOPPED:
        return None
    for host, service in units_of(cause, case)[:1]:
        return Repair(Condition.NOT_INTENDED, restart_of(service), host)
    return None


def by_remaking(cause: Cause, case: Case) -> Repair | None:
    """Return what makes again what a broken link lacks, unless that is a setting.

    Agents make all that they serve when they start, and Neutron has a program for what OVN's databases have of it.
    """
    broken = filter(attrgetter("link"), by_weight(cause))
    link = next(map(attrgetter("link"), broken), None)
    if link is None or str(link.command).startswith("grep "):
        return None
    # What somebody else has put there is to be removed.
    if link.mend is not None:
        return None
    if cause.component in SYNCHRONIZED and link.code.startswith("ovn_"):
        command_of, units = synchronization_by, case.units(NEUTRON_SERVER)
    elif cause.component in REMAKING:
        command_of, units = restart_of, units_of(cause, case)
    else:
        return None
    for host, service in units[:1]:
        return Repair(Condition.REMADE, command_of(service), host)
    return None


def synchronization_by(service: Service) -> str:
    """Return the command that makes Neutron's part of OVN's databases again, where a service of it is."""
    if service.container:
        return f"{service.engine} exec {service.container} {SYNCHRONIZE}"
    return SYNCHRONIZE


def by_settings(cause: Cause, case: Case) -> Repair | None:
    """Return how the service of a cause reads a file again whose settings speak for the cause."""
    if is_wrong_endpoint(by_weight(cause)[0]):
        return None
    services = dict(reversed(units_of(cause, case)))
    for symptom in suspected_settings(cause, case):
        host, path = str(symptom.host), str(symptom.path)
        service = services.get(host)
        if service is not None:
            restart = restart_of(service, path)
            return Repair(Condition.FILE_IS_RIGHT, restart, host, path)
    return None


def units_of(cause: Cause, case: Case) -> list[tuple[str, Service]]:
    """Return (host, service) of a cause, first of the units that do not run, or not for long."""
    wrong = {
        (symptom.host, symptom.unit)
        for symptom in cause.symptoms
        if symptom.code in NOT_UP
    }
    return sorted(
        case.units(cause.component, cause.host),
        key=lambda pair: (pair[0], pair[1].unit) not in wrong,
    )


def suspected_settings(cause: Cause, case: Case) -> list[Symptom]:
    """Return what is known of settings in files that may be why a component fails."""
    shown = by_weight(cause)
    if shown[0].how in DELIBERATE and not recent_change(cause, case.weights):
        return []
    # A difference may be harmless, unless it is all that speaks for the cause.
    told = shown[:1] if shown[0].kind in SETTINGS else []
    suspected = [symptom for symptom in shown if is_suspected(symptom, case)]
    return [
        symptom
        for symptom in [*told, *suspected]
        if is_in_file(symptom, cause)
    ]


def is_in_file(symptom: Symptom, cause: Cause) -> bool:
    """Return whether a symptom is about a file of the cause's own."""
    return cause.shows(symptom) and (symptom.path or "").startswith("/")


def is_suspected(symptom: Symptom, case: Case) -> bool:
    """Return whether a setting was changed just now, or is about the peer at which its component fails."""
    if symptom.kind == Kind.CHANGE:
        return is_recent_change(symptom, case.weights)
    return symptom.code is Code.OPTION_OF_PEER


def restart_of(service: Service, path: str = "") -> str:
    """Return the command that starts a service again. path: of the file that it has to read."""
    if service.container:
        return f"{service.engine} restart {service.container}"
    restart = f"systemctl restart {service.unit}"
    return f"systemctl daemon-reload; {restart}" if unit_of(path) else restart


def unit_of(path: str) -> str | None:
    """Return the unit of systemd that a file is about; None for any other file."""
    found = UNIT_FILE.search(path)
    return found and found[1]
