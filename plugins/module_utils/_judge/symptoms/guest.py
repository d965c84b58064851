# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms that the guest shows: what it wrote on its console, and how it was answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from itertools import chain
from typing import Any

from ..._collect.hosts.metadata_proxy import telling
from ..._components.tables import entry_of, project_of
from ..._model.details import ADDRESSED
from ..._model.host import OPEN
from ..._model.how import How
from ..._model.symptom import Code, Symptom
from ..._model.words import StageName
from ..case import Case
from . import configuration
from .instance import halted_state

# A cloud has the one or the other, and what it does not have is no suspect.
METADATA_AGENTS = entry_of("neutron-metadata-proxy").run_by
METADATA_API = ("nova-api-metadata",)
# By which the API knows that it is an agent that asks
SECRET = "metadata_proxy_shared_secret"
# It answers for who is not there.
BALANCER = "haproxy"
# Status of an answer to the guest: the components that it points at, and how they failed
METADATA: dict[int, tuple[tuple[str, ...], How]] = {
    HTTPStatus.UNAUTHORIZED: (METADATA_API, How.DENIED),
    # Either may have another secret.
    HTTPStatus.FORBIDDEN: ((*METADATA_AGENTS, *METADATA_API), How.DENIED),
    HTTPStatus.NOT_FOUND: (METADATA_AGENTS, How.MISSING),
    # An agent answers so, too, if it reaches nothing.
    HTTPStatus.INTERNAL_SERVER_ERROR: (
        (*METADATA_AGENTS, *METADATA_API),
        How.ERROR,
    ),
    HTTPStatus.BAD_GATEWAY: (METADATA_AGENTS, How.REFUSED),
    HTTPStatus.SERVICE_UNAVAILABLE: (
        (*METADATA_AGENTS, *METADATA_API),
        How.REFUSED,
    ),
    HTTPStatus.GATEWAY_TIMEOUT: (METADATA_API, How.SILENT),
}
# Where a request for a lease may be lost, if nothing else is known
LEASE_PEERS = ("data network", "dnsmasq", "ovn-controller")
# Where user data may be lost of a guest that got its metadata
USER_DATA_PEERS = ("data network",)
INSTANCE = "vm-instance"
# What makes its machine
MAKERS = {"nova-compute", "libvirt"}


def guest_of(case: Case) -> Mapping[str, Any] | None:
    """Return what the guest showed; None where its console was not read or is not judged."""
    if case.stage.stage != StageName.METADATA:
        return None
    return case.stage.details.get("guest")


def steps_of(case: Case) -> list[Mapping[str, Any]]:
    return (guest_of(case) or {}).get("steps") or []


def console(case: Case) -> list[Symptom]:
    """Return what the console shows, and what is missing there."""
    guest = guest_of(case)
    if guest is None:
        return []
    here = case.instance_host
    if not guest.get("lines"):
        # What does not run writes nothing, whatever is in its image.
        if any(map(halted_state, case.record.hosts)):
            return []
        return [
            Symptom(Code.CONSOLE_EMPTY, component, host=here, how=How.SILENT)
            for component in makers_of_changed_guest(case) or [INSTANCE]
        ]
    if not asked_for_lease(case):
        return []
    if dnsmasq_received_nothing(case):
        code, peer = Code.DHCP_NOT_CARRIED, "data network"
        return [
            Symptom(
                code, INSTANCE, host=here, peer=peer, how=How.SILENT, own=True
            )
        ]
    return unanswered(Code.DHCP_UNANSWERED, here, LEASE_PEERS)


def makers_of_changed_guest(case: Case) -> list[str]:
    """Return what makes the guest's machine on its host, if its settings are new: they may be why nothing starts."""
    changed = {
        change.component
        for change in configuration.fresh_changes(case)
        if change.host == case.instance_host
    }
    return sorted(MAKERS & changed)


def unanswered(
    code: Code, host: str | None, peers: Iterable[str]
) -> list[Symptom]:
    """Return a symptom for each peer that may be why the guest on a host got no answer."""
    return [
        Symptom(
            code,
            INSTANCE,
            host=host,
            how=How.SILENT,
            peer=peer,
            own=True,
            certain=False,
        )
        for peer in peers
    ]


def user_data(case: Case) -> list[Symptom]:
    """Return that the guest got its metadata, which are short, and no user data, which may be longer than a packet."""
    guest = guest_of(case) or {}
    shown = map(guest.get, ("metadata", "no_user_data", "user_data"))
    if tuple(map(bool, shown)) != (True, True, False):
        return []
    return unanswered(
        Code.USER_DATA_UNANSWERED, case.instance_host, USER_DATA_PEERS
    )


def lost_metadata(case: Case) -> list[Symptom]:
    """Return that the guest got no metadata, though a proxy has sent them before the guest may have given up."""
    guest = guest_of(case) or {"metadata": True}
    waited = case.weights.answered_s
    is_sent = any(
        is_served(request, waited) for request in requests_of_proxies(case)
    )
    if guest.get("metadata") or not is_sent:
        return []
    return unanswered(Code.METADATA_LOST, case.instance_host, USER_DATA_PEERS)


def is_served(request: Mapping[str, Any], within_s: float) -> bool:
    """Return whether a proxy has given a guest what it asked for, in so many seconds."""
    is_given: bool = request["status"] == HTTPStatus.OK
    return is_given and request["seconds"] < within_s


def is_of_agent(how: How, case: Case) -> bool:
    """Return whether an agent is why it is refused: the API is open, or the agent has another secret than others."""
    if how is How.DENIED:
        found = filter(is_secret_of_agent, configuration.differences(case))
        return case.instance_host in [one.host for one in found]
    return how is How.REFUSED and api_is_open(case)


def is_secret_of_agent(difference: Symptom) -> bool:
    option = difference.setting or ""
    return difference.component in METADATA_AGENTS and SECRET in option


def metadata(case: Case) -> list[Symptom]:
    """Return the failures to answer the guest when it asked for its metadata."""
    if case.stage.stage != StageName.METADATA:
        return []
    symptoms: list[Symptom] = []
    for status in dict.fromkeys(
        [*statuses_on_console(case), *statuses_of_proxies(case)]
    ):
        if status not in METADATA:
            continue
        components, how = METADATA[status]
        if is_of_agent(how, case):
            components = METADATA_AGENTS
        certain = len(set(map(project_of, components))) == 1
        symptoms += [
            Symptom(
                Code.METADATA_ANSWER,
                component,
                how=how,
                own=True,
                certain=certain,
                status=status,
            )
            for component in components
        ]
    return symptoms


def api_is_open(case: Case) -> bool:
    """Return whether all hosts whose settings name the metadata API reach it: then who relays to it does so wrongly."""
    reach = chain.from_iterable(
        host.examined.reach for host in case.record.hosts
    )
    probes = {entry.how for entry in reach if entry.component in METADATA_API}
    return probes == {OPEN} and not case.units(BALANCER)


def statuses_on_console(case: Case) -> list[int]:
    return [
        step["http_status"]
        for step in steps_of(case)
        if step["step"] == "no_metadata" and step.get("http_status")
    ]


def statuses_of_proxies(case: Case) -> list[int]:
    requests = telling(requests_of_proxies(case))
    return [request["status"] for request in requests]


def requests_of_proxies(case: Case) -> list[Mapping[str, Any]]:
    """Return the guest's requests as the proxies have answered them."""
    found: list[Mapping[str, Any]] = []
    for host in case.record.hosts:
        by_network = host.facts.get("metadata") or {}
        for proxy in chain.from_iterable(by_network.values()):
            found += proxy["requests"] or []
    return found


def did_their_part(case: Case) -> set[str]:
    """Return the components that are shown to have done what the first missing step asks of them."""
    if not asked_for_lease(case):
        return set()
    return (
        {INSTANCE, "dnsmasq"} if dnsmasq_received_nothing(case) else {INSTANCE}
    )


def asked_for_lease(case: Case) -> bool:
    """Return whether the guest has written that it asks for a lease, and never that it has an address."""
    written = {step["step"] for step in steps_of(case)}
    return "dhcp_start" in written and written.isdisjoint(ADDRESSED)


def dnsmasq_received_nothing(case: Case) -> bool:
    """Return whether there is a dnsmasq that would have answered, and whose log shows nothing of the guest."""
    ports: list[Mapping[str, Any]] = []
    for host in case.record.hosts:
        ports += (host.facts.get("dhcp") or {}).values()
    return any(
        port["processes"] and port["hosts"] and port["log"] == []
        for port in ports
    )
