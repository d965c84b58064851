# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms in the facts of the instance: its domain, its interfaces in the switch, and its image in Ceph."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..._model.facts import NO_DEVICE, SHUT_OFF
from ..._model.host import Host
from ..._model.how import How
from ..._model.symptom import Code, Symptom
from ..case import Case

# Reasons why a domain is paused that nobody has asked for. A domain that waits for its network is paused by its user.
HALTING = ("I/O error", "crashed", "unknown", "watchdog", "post-copy failed")
ENDING = ("crashed", "failed")
# How a compute service reports that the host lacks what its configuration asks for
LACKING = How.MISSING
# What differs from hosts of the same kind, if it is how nova-compute defines domains
SETTINGS_OF_LIBVIRT = re.compile(r"/nova\b.* \[libvirt\] ")


def domains(case: Case) -> list[Symptom]:
    """Return that the domain of the instance does not run, though nobody has stopped it."""
    symptoms: list[Symptom] = []
    for host in case.record.hosts:
        state = halted_state(host)
        if state is not None:
            owner = "nova-compute" if is_defined_wrongly(host) else "libvirt"
            symptoms.append(
                Symptom(
                    Code.DOMAIN_HALTED,
                    owner,
                    host=host.host,
                    own=True,
                    reported=state,
                )
            )
    return symptoms


def is_defined_wrongly(host: Host) -> bool:
    """Return whether nova-compute may have defined a domain that this host cannot run."""
    has_others = any(
        SETTINGS_OF_LIBVIRT.search(difference.what)
        for difference in host.examined.differences
    )
    return has_others or lacks_what_is_configured(host)


def halted_state(host: Host) -> tuple[str, str] | None:
    """Return the state of a host's domain, and the reason for it, if it was not meant to be in it."""
    domain: Mapping[str, Any] = host.facts.get("domain") or {}
    state: Mapping[str, Any] = domain.get("state") or {}
    name = state.get("name") or ""
    reason = state.get("reason") or ""
    if is_halted(name, reason):
        return name, reason
    return None


def is_halted(state: str, reason: str) -> bool:
    if state == "paused":
        return reason in HALTING
    if state == SHUT_OFF:
        return reason in ENDING
    return state == "crashed"


def lacks_what_is_configured(host: Host) -> bool:
    """Return whether nova-compute asks for something that its host does not have, with which no domain runs."""
    return any(
        (one.component, How.of(one.kind)) == ("nova-compute", LACKING)
        for one in host.examined.reports
    )


def interfaces(case: Case) -> list[Symptom]:
    """Return the interfaces of the instance's ports that Open vSwitch could not create."""
    symptoms: list[Symptom] = []
    for host in case.record.hosts:
        ports: Mapping[str, Any] = host.facts.get("interfaces") or {}
        for interface in ports.values():
            error = interface and interface.get("error")
            # Without a domain nobody has made the device yet.
            if error and (host.facts.get("domain") or NO_DEVICE not in error):
                name = interface.get("name")
                symptoms.append(
                    Symptom(
                        Code.INTERFACE_ERROR,
                        "ovsdb",
                        host=host.host,
                        how=How.ERROR,
                        own=True,
                        path=name,
                    )
                )
    return symptoms
