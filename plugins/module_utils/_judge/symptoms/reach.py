# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms of connections: peers that do not answer a host as they should."""

from __future__ import annotations

from collections.abc import Sequence

from ..._components.tables import (
    depends_on,
    entry_of,
    project_of,
    writer_of,
)
from ..._model.host import (
    NARROW,
    OPEN,
    PLAIN,
    ChangedFile,
    Host,
    Reach,
)
from ..._model.how import How
from ..._model.service import RUNNING, services_of
from ..._model.symptom import Code, Symptom
from ..._record.sole import sole
from ..case import Case
from .owners import owners_of, readers_of

UNRESOLVED = "no such name"
# How a peer that was probed did not answer
HOW = {
    "silent": How.SILENT,
    "mute": How.SILENT,
    NARROW: How.SILENT,
    "refused": How.REFUSED,
    "closed": How.BROKEN_OFF,
}
# A peer whose address the catalogue has is that of all its clients.
CATALOGUE = "catalogue"
# The component that keeps the catalogue
CATALOG = "keystone"


def probes(case: Case) -> list[Symptom]:
    """Return the peers that do not answer a host: the peer is to blame if no host reaches it, else the connection."""
    symptoms: list[Symptom] = []
    for host in case.record.hosts:
        for entry in probed(host):
            if entry.how == OPEN:
                continue
            if is_misplaced(case, entry, host) or is_asked_wrongly(
                case, entry
            ):
                symptoms += wrong_addresses(case, host, entry)
            else:
                # It does not answer as it should, even if no component of this host needs it.
                components = clients(host, entry.component, entry.named_by)
                how = HOW.get(entry.how, How.ERROR)
                symptoms += of_connection(
                    case,
                    host,
                    entry,
                    components or [None],
                    how,
                    Code.PEER_UNREACHABLE,
                )
    return symptoms


def is_misplaced(case: Case, entry: Reach, asker: Host | None = None) -> bool:
    """Return whether a peer is not where it is looked for, and runs where it should be. asker: who may know its name.

    Behind an address that no host of the inventory has, such as that of a balancer, anything may be; behind a name
    that nobody knows there is nothing.
    """
    installed: set[str] = set()
    running: set[str] = set()
    for host, unit in case.services:
        if unit.component != entry.component:
            continue
        installed.add(host.host)
        if unit.state == RUNNING:
            running.add(host.host)
    if not running:
        return False
    places = case.places_from(asker.host) if asker else case.addresses
    named = places.get(entry.address) or meant_by(entry, asker, case)
    if named is None:
        return entry.how == UNRESOLVED
    if named in running:
        return is_on_other_port(case, named, entry)
    return named not in installed


def is_asked_wrongly(case: Case, entry: Reach) -> bool:
    """Return whether a peer is asked with TLS and speaks none, though no file of its own was changed of late."""
    if entry.how != PLAIN:
        return False
    changed: set[str] = set()
    for host in case.record.hosts:
        for file in host.examined.changed:
            if is_fresh(case, file):
                changed.update(owners_of(file.path, host))
    return entry.component not in changed


def is_fresh(case: Case, file: ChangedFile) -> bool:
    """Return whether a change of settings is as new as one that is mentioned beside what it did."""
    share = case.weights.change_share(file.ago_s)
    return share >= case.weights.fresh_change


def meant_by(entry: Reach, asker: Host | None, case: Case) -> str | None:
    """Return the host to which the name of a peer leads from another host."""
    if asker is None:
        return None
    for found in asker.examined.names:
        if found.name == entry.address:
            return sole(set(filter(None, map(case.host_at, found.addresses))))
    return None


def is_on_other_port(case: Case, host: str, entry: Reach) -> bool:
    """Return whether a host listens on a usual port of a peer, and not on the one at which it is looked for."""
    listening = case.listening_on(host)
    usual = [port.number for port in entry_of(entry.component).ports]
    return entry.port not in listening and any(
        port in listening for port in usual
    )


def wrong_addresses(case: Case, host: Host, entry: Reach) -> list[Symptom]:
    """Return that a peer is looked for where it is not: by the services of a host, or by all that ask the catalog."""
    if CATALOGUE in entry.named_by:
        return [wrong_endpoint(case, entry)]
    known = clients(host, entry.component, entry.named_by)
    askers = dict.fromkeys([*known, *asking(case, host, entry)])
    components = with_new_settings(host, list(askers))
    return [
        wrong_address(
            entry, component, host.host, certain=len(components) == 1
        )
        for component in components
    ]


def asking(case: Case, host: Host, entry: Reach) -> set[str]:
    """Return the components of a host that have logged in the run that they failed at a peer, by such settings."""
    failed = {
        writer_of(error.service)
        for error in case.record.own_errors
        if error.host == host.host and entry.component == error.peer
    }
    return {name for name in failed if project_of(name) in entry.named_by}


def with_new_settings(
    host: Host, components: Sequence[str | None]
) -> Sequence[str | None]:
    """Return the components that have read all changes of their settings. If none has, nobody knows who has."""
    outdated: set[str] = set()
    for file in host.examined.changed:
        outdated.update(
            set(owners_of(file.path, host)).difference(readers_of(file, host))
        )
    current = [
        component for component in components if component not in outdated
    ]
    return current or components


def wrong_endpoint(case: Case, entry: Reach) -> Symptom:
    places = [
        place.host
        for place, unit in case.services
        if unit.component == CATALOG
    ]
    # The service may have lost its TLS as well.
    certain = entry.how != PLAIN
    return wrong_address(
        entry, CATALOG, next(iter(places), None), certain=certain
    )


def is_wrong_endpoint(symptom: Symptom) -> bool:
    """Return whether it is the catalogue that has a wrong address."""
    return symptom.code is Code.WRONG_ADDRESS and symptom.component == CATALOG


def wrong_address(
    entry: Reach, component: str | None, host: str | None, certain: bool
) -> Symptom:
    return Symptom(
        Code.WRONG_ADDRESS,
        component,
        host=host,
        own=True,
        certain=certain,
        address=entry.address,
        port=entry.port,
        setting=entry.component,
        probe=entry.how,
    )


def probed(host: Host) -> Sequence[Reach]:
    return host.examined.reach


def pending(case: Case) -> list[Symptom]:
    """Return the connections that had no answer, or none any more, when the host was examined."""
    symptoms: list[Symptom] = []
    for host in case.record.hosts:
        for entry in host.examined.pending:
            if entry.component is not None:
                waiting = Reach(
                    entry.component, entry.address, entry.port, entry.how
                )
                components = clients(host, entry.component, [CATALOGUE])
                symptoms += of_connection(
                    case,
                    host,
                    waiting,
                    components,
                    How.SILENT,
                    Code.CONNECTION_PENDING,
                )
    return symptoms


def of_connection(
    case: Case,
    host: Host,
    entry: Reach,
    components: Sequence[str | None],
    how: How,
    code: Code,
) -> list[Symptom]:
    """Return the symptoms of components of a host that fail at a peer, there alone or everywhere."""
    only_from_here = is_reached_elsewhere(case, host, entry)
    return [
        Symptom(
            code,
            component,
            host=host.host,
            how=how,
            peer=entry.component,
            peer_host=case.addresses.get(entry.address),
            only_from_here=only_from_here,
            address=entry.address,
            port=entry.port,
            probe=entry.how,
        )
        for component in components
    ]


def clients(
    host: Host, peer: str, named_by: Sequence[str]
) -> list[str | None]:
    """Return the components of a host that depend on a peer, and by whose configuration it is known there."""
    here = {service.component for service in services_of(host)}
    dependent = sorted(name for name in here if peer in depends_on(name))
    # The configuration of the peer itself, such as Ceph's, is that of all its clients.
    names_of_all = {CATALOGUE, project_of(peer)}
    if names_of_all.intersection(named_by):
        return list(dependent)
    return [name for name in dependent if project_of(name) in named_by]


def is_reached_elsewhere(case: Case, here: Host, entry: Reach) -> bool:
    """Return whether a peer answers other hosts at this address, and fails none of them at this port.

    Only this host may ask for it at this port.
    """
    others: list[Reach] = []
    for host in case.record.hosts:
        if host is here:
            continue
        others += [
            other for other in probed(host) if is_same_place(other, entry)
        ]
    at_port = [other for other in others if other.port == entry.port]
    telling = at_port or others
    return any(other.how == OPEN for other in telling)


def is_same_place(one: Reach, other: Reach) -> bool:
    return (one.component, one.address) == (other.component, other.address)
