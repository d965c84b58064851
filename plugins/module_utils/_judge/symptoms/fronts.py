# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms on the way to a peer: names that mean another address, balancers, and the addresses that they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ..._collect.examination.names import address_in
from ..._components.tables import component_at
from ..._match import places
from ..._model.host import OPEN, Host, Reach
from ..._model.how import How
from ..._model.reach import BackEnd
from ..._model.symptom import Code, Symptom
from ..case import Case
from .reach import clients, probed

# The component that names another host to libvirt and to ssh
MOVER = "nova-compute"
BALANCER, KEEPER = "haproxy", "keepalived"
# What a name means on the hosts that have been read
Meanings = Mapping[str, tuple[str, ...]]


def names(case: Case) -> list[Symptom]:
    """Return names of peers that mean nothing on a host, or another address than on most others."""
    symptoms: list[Symptom] = []
    for host in case.record.hosts:
        for name, addresses in meanings_of(host).items():
            usual = usual_elsewhere(case, host, name)
            if not usual or usual.intersection(addresses):
                continue
            if is_own_name(host, name):
                continue
            symptoms += of_name(case, host, name, addresses, usual)
    return symptoms


def usual_elsewhere(case: Case, here: Host, name: str) -> set[str]:
    """Return the addresses that a name has on most of the other hosts."""
    found = []
    for host in case.record.hosts:
        if host is here:
            continue
        addresses = meanings_of(host).get(name)
        if addresses:
            found.append(addresses)
    return usual_addresses(found)


def meanings_of(host: Host) -> Meanings:
    return {found.name: found.addresses for found in host.examined.names}


def is_own_name(host: Host, name: str) -> bool:
    """Return whether it is a name of the host itself, which may mean an address of its own there."""
    return name in places.names_of(host)


def usual_addresses(found: Sequence[tuple[str, ...]]) -> set[str]:
    """Return the addresses that most hosts find behind a name."""
    counted: Counter[str] = Counter()
    for addresses in found:
        counted.update(set(addresses))
    return {
        address
        for address, number in counted.items()
        if number > len(found) - number
    }


def of_name(
    case: Case,
    host: Host,
    name: str,
    addresses: tuple[str, ...],
    usual: set[str],
) -> list[Symptom]:
    """Return the symptoms of the services of a host that ask a peer by such a name, or another host for a move."""
    code = Code.NAME_ELSEWHERE if addresses else Code.NAME_UNRESOLVED
    reported = (", ".join(addresses), ", ".join(sorted(usual)))
    symptoms: list[Symptom] = []
    if (
        host.host == case.source
        and case.names.get(name, "") == case.destination
    ):
        symptoms.append(
            Symptom(
                code, MOVER, host=host.host, setting=name, reported=reported
            )
        )
    for entry in probed(host):
        if entry.address != name:
            continue
        share = case.weights.name_that_answers if entry.how == OPEN else 1.0
        symptoms += [
            Symptom(
                code,
                component,
                host=host.host,
                share=share,
                setting=name,
                reported=reported,
            )
            for component in clients(host, entry.component, entry.named_by)
        ]
    return list(dict.fromkeys(symptoms))


def back_ends(case: Case) -> list[Symptom]:
    """Return the servers that a balancer takes for down, at the balancer and at what they are."""
    symptoms: list[Symptom] = []
    for host in case.record.hosts:
        down = host.examined.back_ends
        symptoms += [of_back_end(case, host, found) for found in down]
    return symptoms


def of_back_end(case: Case, host: Host, found: BackEnd) -> Symptom:
    is_alone = found.server is None
    return Symptom(
        Code.BACK_END_DOWN,
        BALANCER,
        host=host.host,
        how=How.REFUSED,
        peer=component_at(found.port) if found.port else None,
        peer_host=case.host_at(found.address),
        # Without any server the run's own requests fail.
        own=is_alone,
        share=1.0 if is_alone else case.weights.one_back_end,
        setting=found.proxy,
        probe=found.check,
        unit=found.server,
    )


def addresses(case: Case) -> list[Symptom]:
    """Return shared addresses that no host has, or that two have, where something is to keep them on one."""
    keepers = [
        host.host
        for host, service in case.services
        if service.component == KEEPER
    ]
    if not keepers:
        return []
    holders = holders_of(case)
    asked: dict[str, list[Reach]] = {}
    for host in case.record.hosts:
        for entry in probed(host):
            asked.setdefault(entry.address, []).append(entry)
    symptoms: list[Symptom] = []
    for address in filter(is_shared, sorted(asked)):
        symptoms += of_address(
            address, holders.get(address, []), keepers, asked[address]
        )
    return symptoms


def of_address(
    address: str,
    hosts: Sequence[str],
    keepers: Sequence[str],
    asked: Sequence[Reach],
) -> list[Symptom]:
    """Return what is wrong with an address. hosts: those that have it. asked: how it answered."""
    if not hosts:
        if any(entry.how == OPEN for entry in asked):
            return []
        return [
            Symptom(
                Code.ADDRESS_MISSING,
                KEEPER,
                host=only(keepers),
                own=True,
                address=address,
            )
        ]
    holding = [host for host in hosts if host in keepers]
    code, named = Code.ADDRESS_DUPLICATE, tuple(hosts)
    if len(hosts) == 1:
        return []
    return [
        Symptom(
            code, KEEPER, host=host, own=True, address=address, reported=named
        )
        for host in holding
    ]


def only(hosts: Sequence[str]) -> str | None:
    """Return the host of several that it can only be."""
    return hosts[0] if len(set(hosts)) == 1 else None


def holders_of(case: Case) -> dict[str, list[str]]:
    """Return the hosts that have each address."""
    holders: dict[str, list[str]] = {}
    for host in case.record.hosts:
        for address in host.facts.get("addresses") or ():
            holders.setdefault(address, []).append(host.host)
    return holders


def is_shared(address: str) -> bool:
    """Return whether an address means one place in the network, and not each host itself."""
    parsed = address_in(address)
    if parsed is None:
        return False
    return not (
        parsed.is_loopback or parsed.is_link_local or parsed.is_unspecified
    )
