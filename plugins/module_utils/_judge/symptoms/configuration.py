# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms in the configuration of hosts: what has changed since the last run that passed, and what differs."""

from __future__ import annotations

from typing import NamedTuple

from ..._model.host import ChangedFile, Host
from ..._model.symptom import Code, Symptom
from ..case import Case
from .owners import owner_in, owners_of


class Change(NamedTuple):
    """A changed file, with the components on its host that it configures."""

    host: Host
    file: ChangedFile
    owners: list[str]


def changes(case: Case) -> list[Symptom]:
    """Return configuration that has changed since the last run that passed.

    A deployment writes that of many services within minutes, and changes at one time accuse none of them.
    """
    found = owned_changes(case)
    symptoms: list[Symptom] = []
    for change in found:
        path, ago_s = change.file.path, change.file.ago_s
        together = {owner_in(other.file.path) for other in found if is_together(change, other, case)}
        share = 1 / (1 + ago_s / case.weights.change_half_s) / len(together)
        symptoms += [
            Symptom(
                Code.CONFIGURATION_CHANGED,
                component,
                host=change.host.host,
                share=share,
                path=path,
                ago_s=ago_s,
            )
            for component in change.owners
        ]
    return symptoms


def owned_changes(case: Case) -> list[Change]:
    found: list[Change] = []
    for host in case.record.hosts:
        for file in host.examination.changed if host.examination else ():
            owners = owners_of(file.path, host)
            if owners:
                found.append(Change(host, file, owners))
    return found


def is_together(one: Change, other: Change, case: Case) -> bool:
    return abs(other.file.ago_s - one.file.ago_s) <= case.weights.change_half_s


def differences(case: Case) -> list[Symptom]:
    """Return what a host has otherwise than the others of its kind."""
    symptoms: list[Symptom] = []
    for host in case.record.hosts:
        for difference in host.examination.differences if host.examination else ():
            path = difference.what.partition(" ")[0]
            symptoms += [
                Symptom(Code.CONFIGURATION_DIFFERS, component, host=host.host, setting=difference.what)
                for component in owners_of(path, host)
            ]
    return symptoms
