# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms in the configuration of hosts: what has changed since the last run that passed, and what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ..._components.tables import OWN_ADDRESSES, SECTIONS, project_of
from ..._model.host import ChangedFile, Difference, Host
from ..._model.service import services_of
from ..._model.symptom import Code, Symptom
from ..case import Case
from . import logs
from .owners import owner_in, owners_of, readers_of

# What the examination names in the place of a file for the database of Open vSwitch, and whose configuration is there
SWITCH = "Open vSwitch"
CONFIGURED_IN_SWITCH = "ovn-controller"
# Each host examines by itself whether these have an address of its own.
RIGHTLY_DIFFERENT = frozenset(address.option for address in OWN_ADDRESSES)


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
        together = {
            owner_in(other.file.path)
            for other in found
            if is_together(change, other, case)
        }
        share = case.weights.change_share(ago_s) / len(together)
        symptoms += [
            Symptom(
                Code.CONFIGURATION_CHANGED,
                component,
                host=change.host.host,
                share=share,
                path=path,
                ago_s=ago_s,
                since=change.file.at,
                setting=option_that_differs(path, change.host),
            )
            for component in change.owners
        ]
    return symptoms


def fresh_changes(case: Case) -> list[Symptom]:
    """Return the changes that are so new that they may be why something does not work."""
    enough = case.weights.fresh_change
    return [change for change in changes(case) if change.share >= enough]


def owned_changes(case: Case) -> list[Change]:
    found: list[Change] = []
    for host in case.record.hosts:
        for file in host.examined.changed:
            owners = readers_of(file, host)
            if owners:
                found.append(Change(host, file, owners))
    return found


def is_together(one: Change, other: Change, case: Case) -> bool:
    apart_s = abs(other.file.ago_s - one.file.ago_s)
    return apart_s <= case.weights.changed_together_s


def differences(case: Case) -> list[Symptom]:
    """Return what a host has otherwise than the others of its kind."""
    symptoms: list[Symptom] = []
    for host in case.record.hosts:
        wrong = {
            report.given.option
            for report in host.examined.reports
            if report.given
        }
        for difference in host.examined.differences:
            path, option = place_and_option(difference)
            if option in RIGHTLY_DIFFERENT - wrong:
                continue
            symptoms += [
                Symptom(
                    Code.CONFIGURATION_DIFFERS,
                    component,
                    host=host.host,
                    path=path,
                    setting=option,
                )
                for component in owners_of_difference(path, host)
            ]
    return symptoms


def options_of_peers(case: Case) -> list[Symptom]:
    """Return the options about a peer that a host has otherwise than its like, where a component fails at that peer."""
    failures = [
        symptom
        for symptom in logs.errors(case)
        if symptom.own and symptom.peer
    ]
    symptoms: list[Symptom] = []
    for symptom in differences(case):
        for peer in peers_that_fail(symptom, failures):
            if not is_about(symptom.setting, peer):
                continue
            of_peer = replace(
                symptom, code=Code.OPTION_OF_PEER, own=True, peer=peer
            )
            symptoms.append(of_peer)
    return symptoms


def peers_that_fail(
    symptom: Symptom, failures: Sequence[Symptom]
) -> list[str]:
    """Return the peers at which the component of a symptom fails on its host."""
    peers = {
        failure.peer for failure in failures if failure.place == symptom.place
    }
    return sorted(filter(None, peers))


def is_about(option: str | None, peer: str) -> bool:
    """Return whether an option, as `[section] name`, stands in the section about a peer."""
    section = (option or "").partition("]")[0].removeprefix("[")
    return bool(section) and (
        section == project_of(peer) or SECTIONS.get(section) == peer
    )


def place_and_option(difference: Difference) -> tuple[str, str | None]:
    """Return the file of a difference, and the option in it as `[section] name`, if it is about one."""
    path, bracket, option = difference.what.partition(" [")
    return path, f"[{option}" if bracket else None


def owners_of_difference(path: str, host: Host) -> list[str]:
    if path == SWITCH:
        return [
            service.component
            for service in services_of(host)
            if service.component == CONFIGURED_IN_SWITCH
        ]
    return owners_of(path, host)


def option_that_differs(path: str, host: Host) -> str | None:
    """Return the one option in a file that a host has otherwise than its like; None if there are more."""
    found = list(map(place_and_option, host.examined.differences))
    options = [option for place, option in found if place == path and option]
    if len(options) != 1:
        return None
    return options[0]
