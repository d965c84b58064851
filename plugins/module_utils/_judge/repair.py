# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a service reads its settings again, once what is wrong in them is put right."""

from __future__ import annotations

import re

from .._model.finding import Cause, Repair
from .._model.service import Service
from .._model.symptom import Code, Kind, Symptom
from .case import Case
from .evidence import DELIBERATE, SETTINGS, by_weight, is_recent_change

NOT_UP = (Code.UNIT_NOT_RUNNING, Code.UNIT_CRASH_LOOP)
UNIT_FILE = re.compile(r"/systemd/system/([\w@.-]+?\.service)")


def repair_of(cause: Cause, case: Case) -> Repair | None:
    """Return how the service of a cause reads a file again whose settings speak for the cause."""
    services = dict(reversed(units_of(cause, case)))
    for symptom in suspected_settings(cause, case):
        host, path = symptom.host or "", symptom.path or ""
        service = services.get(host)
        if service is not None:
            return Repair(host, path, restart_of(service, path))
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
    if not shown or shown[0].how in DELIBERATE:
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


def restart_of(service: Service, path: str) -> str:
    """Return the command by which a service reads a file again."""
    if service.container:
        return f"{service.engine} restart {service.container}"
    restart = f"systemctl restart {service.unit}"
    return f"systemctl daemon-reload; {restart}" if unit_of(path) else restart


def unit_of(path: str) -> str | None:
    """Return the unit of systemd that a file is about; None for any other file."""
    found = UNIT_FILE.search(path)
    return found and found[1]
