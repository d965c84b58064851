# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms of the paths between two guests, as each guest found them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, filterfalse

from ..._model.codec import from_json
from ..._model.details import FIRST, DataplaneDetails, PathCheck
from ..._model.how import How
from ..._model.instance import DHCP_PORT
from ..._model.symptom import Code, Symptom
from ..._model.words import CheckStatus, StageName
from ..case import Case
from .guest import unanswered

INSTANCE, NETWORK = "vm-instance", "data network"
# What makes the rules of a security group hold on a host
FIREWALLS = ("neutron-l2-agent", "ovn-controller")
# What answers the questions of guests for names of their network
RESOLVERS = ("dnsmasq", "ovn-controller", "data network")
# What gives guests their resolver, where agents do
SERVER = "dnsmasq"
# What tells guests of the addresses for IPv6: the router, and with DHCPv6 the same as for IPv4
ADVERTISERS = ("neutron-l3-agent", "ovn-controller", "data network")


def paths(case: Case) -> list[Symptom]:
    """Return what failed between the guests."""
    if case.stage.stage != StageName.DATAPLANE:
        return []
    details = from_json(
        DataplaneDetails, case.stage.details, "dataplane.details"
    )
    symptoms: list[Symptom] = []
    for check in details.checks or ():
        if check.status == CheckStatus.FAILED:
            symptoms += READERS[check.check](case, check)
    return symptoms


def host_of(case: Case, guest: str | None) -> str | None:
    return case.instance_host if guest == FIRST else case.second_host


def lost(case: Case, check: PathCheck) -> list[Symptom]:
    return [on_the_way(case, check, Code.PATH_LOST)]


def narrow(case: Case, check: PathCheck) -> list[Symptom]:
    return [
        on_the_way(
            case,
            check,
            Code.PATH_NARROW,
            (int(check.value or 0), int(check.expected or 0)),
        )
    ]


def on_the_way(
    case: Case, check: PathCheck, code: Code, sizes: tuple[int, ...] = ()
) -> Symptom:
    """Return the symptom of packets that were lost between the hosts of the guests."""
    here, there = host_of(case, check.source), host_of(case, check.target)
    return Symptom(
        code,
        INSTANCE,
        host=here,
        how=How.SILENT,
        peer=NETWORK,
        own=True,
        sizes=sizes,
        reported=(there or "the other guest",),
    )


def shut(case: Case, check: PathCheck) -> list[Symptom]:
    """Return the symptoms of a port that is shut though the security group opens it."""
    port = int(check.value or 0)
    return stopped_by_firewalls(case, check, Code.PATH_SHUT, port)


def stopped_by_firewalls(
    case: Case, check: PathCheck, code: Code, port: int | None = None
) -> list[Symptom]:
    """Return a symptom for each firewall that may stop packets before the guest that they are for."""
    here, there = host_of(case, check.source), host_of(case, check.target)
    return [
        Symptom(
            code,
            INSTANCE,
            host=here,
            how=How.SILENT,
            peer=firewall,
            peer_host=there,
            own=True,
            certain=False,
            port=port,
        )
        for firewall in FIREWALLS
    ]


def opened(case: Case, check: PathCheck) -> list[Symptom]:
    """Return the symptoms of a port that answers though the security group does not open it."""
    there = host_of(case, check.target)
    return [
        Symptom(
            Code.PATH_OPEN,
            firewall,
            host=there,
            own=True,
            certain=False,
            port=int(check.value or 0),
        )
        for firewall in FIREWALLS
    ]


def unresolved(case: Case, check: PathCheck) -> list[Symptom]:
    """Return the symptoms of the other guest's name; another name may be answered by anybody."""
    if check.target is None:
        return []
    return foreign_resolvers(case, check) or unanswered(
        Code.GUEST_NAME_UNRESOLVED, host_of(case, check.source), RESOLVERS
    )


def foreign_resolvers(case: Case, check: PathCheck) -> list[Symptom]:
    """Return that dnsmasq gives guests another resolver than itself and those of the subnet: it knows no guest."""
    symptoms: list[Symptom] = []
    for network in case.record.networks[:1]:
        servers = network.served_by(DHCP_PORT)
        own = chain.from_iterable(server.addresses for server in servers)
        asked = chain.from_iterable(net.resolvers for net in network.subnets)
        foreign = set(filterfalse(is_loopback, check.resolvers))
        if servers and foreign.isdisjoint([*own, *asked]):
            symptoms += [
                Symptom(
                    Code.FOREIGN_RESOLVER,
                    SERVER,
                    host=servers[0].host,
                    own=True,
                    reported=(address,),
                )
                for address in sorted(foreign)
            ]
    return symptoms


def is_loopback(address: str) -> bool:
    """Return whether a guest asks itself, as with systemd-resolved: whom it asks then is unknown."""
    return address.startswith("127.") or address == "::1"


def without_ipv6(case: Case, check: PathCheck) -> list[Symptom]:
    """Return the symptoms of a guest without its address; nothing if it made another one in the same subnet."""
    if check.value:
        return []
    return unanswered(
        Code.GUEST_WITHOUT_IPV6, host_of(case, check.source), ADVERTISERS
    )


def lost_over_ipv6(case: Case, check: PathCheck) -> list[Symptom]:
    """Return the symptoms of packets that are lost over IPv6 and not over IPv4, which goes the same way."""
    return stopped_by_firewalls(case, check, Code.PATH_LOST_OVER_IPV6)


def of_nobody(_case: Case, _check: PathCheck) -> list[Symptom]:
    """Return nothing: neither the content of a volume nor a refused login shows who is to blame."""
    return []


READERS: dict[str, Callable[[Case, PathCheck], list[Symptom]]] = {
    "ping": lost,
    "size": narrow,
    "open": shut,
    "shut": opened,
    "address6": without_ipv6,
    "ping6": lost_over_ipv6,
    "name": unresolved,
    "volume": of_nobody,
    "login": of_nobody,
}
