# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms in what the services of a host share: its clock, its name, its links, and the certificates of its peers."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from functools import partial

from ..._components.tables import is_beside_instance
from ..._match.moves import is_compute_host
from ..._model.host import Host
from ..._model.how import How
from ..._model.reach import Certificate
from ..._model.service import services_of
from ..._model.stores import NetworkLink
from ..._model.symptom import Code, Symptom
from ..case import Case
from .cloud import NETWORK_SERVER

# Every host has these.
LOCAL_NAMES = ("localhost", "localhost.localdomain")
# How OVS calls an interface of its own. Its MTU is that of the smallest port of its bridge.
OWN_INTERFACE = "internal"
NO_WIRES = (
    "lo",
    "docker",
    "virbr",
    "br-int",
    "br-tun",
    "ovs-netdev",
    "ovs-system",
    "genev_sys",
    "vxlan_sys",
)
WIRED = ("flat", "vlan")


def clocks(case: Case) -> list[Symptom]:
    """Return hosts whose clock differs from that of the others, for each service there."""
    offsets = [
        host.clock_offset_s
        for host in case.record.hosts
        if host.clock_offset_s is not None
    ]
    # The control node's clock is one of them, and may be the wrong one.
    usual = statistics.median_low([0.0, *offsets])
    symptoms: list[Symptom] = []
    for host in case.record.hosts:
        if host.clock_offset_s is None:
            continue
        offset = host.clock_offset_s - usual
        if (
            abs(offset) - (host.clock_error_s or 0.0)
            > case.weights.clock_offset_s
        ):
            symptoms += [
                Symptom(
                    Code.CLOCK_OFFSET,
                    component,
                    host=host.host,
                    offset_s=offset,
                )
                for component in components_on(host)
            ]
    return symptoms


def components_on(host: Host) -> list[str]:
    return sorted({service.component for service in services_of(host)})


def duplicate_names(case: Case) -> list[Symptom]:
    """Return hosts that have one name: the cloud takes their services for one."""
    names: Counter[str] = Counter()
    for host in case.record.hosts:
        names.update(names_of(host))
    symptoms: list[Symptom] = []
    for host in case.record.hosts:
        shared = sorted(name for name in names_of(host) if names[name] > 1)
        if not shared:
            continue
        symptoms += [
            Symptom(
                Code.NAME_DUPLICATE,
                component,
                host=host.host,
                setting=shared[0],
            )
            for component in components_on(host)
            if is_beside_instance(component)
        ]
    return symptoms


def names_of(host: Host) -> set[str]:
    return set(host.facts.get("names") or ()).difference(LOCAL_NAMES)


def certificates(case: Case) -> list[Symptom]:
    """Return the certificates that have expired or will soon, each once, at the service that presents it."""
    symptoms: list[Symptom] = []
    for host in case.record.hosts:
        found = host.examined.certificates
        symptoms += [
            of_certificate(case, host, certificate) for certificate in found
        ]
    return list(dict.fromkeys(symptoms))


def of_certificate(
    case: Case, host: Host, certificate: Certificate
) -> Symptom:
    finished = (
        case.record.started
        if case.stage.finished is None
        else case.stage.finished
    )
    is_over = certificate.expires <= finished
    place = (
        host.host if certificate.path else case.host_at(certificate.address)
    )
    return Symptom(
        Code.CERTIFICATE_EXPIRED if is_over else Code.CERTIFICATE_EXPIRING,
        certificate.component,
        host=place,
        how=How.ALARM if is_over else How.WARNING,
        since=certificate.expires,
        address=certificate.address,
        port=certificate.port,
        path=certificate.path,
    )


def links(case: Case) -> list[Symptom]:
    """Return links that are smaller than those of the same name on similar hosts, or than the network needs."""
    symptoms: list[Symptom] = []
    needing: list[str] = []
    for host in case.record.hosts:
        if not (case.is_far(host.host) and is_compute_host(host)):
            symptoms += small_links(case, host)
            if any(map(partial(needed_on, case, host), wires_of(host))):
                needing.append(host.host)
    return for_a_large_network(case, needing, symptoms) or symptoms


def for_a_large_network(
    case: Case, needing: Sequence[str], symptoms: Sequence[Symptom]
) -> list[Symptom]:
    """Return that Neutron's network is larger than what all hosts agree on; nothing if one of them differs.

    needing: the hosts that carry the network.
    """
    short = {
        one.host: one.sizes
        for one in symptoms
        if one.code is Code.MTU_TOO_SMALL
    }
    sizes = set(short.values())
    agree = (list(short), len(sizes)) == (needing, 1)
    if not agree or len(needing) == 1:
        # One host alone does not show what its network was meant to be.
        return []
    return [
        Symptom(
            Code.MTU_TOO_LARGE,
            NETWORK_SERVER,
            host=case.host_of(NETWORK_SERVER),
            sizes=sizes.pop(),
        )
    ]


def small_links(case: Case, host: Host) -> list[Symptom]:
    similar = similar_hosts(case, host)
    symptoms: list[Symptom] = []
    for link in wires_of(host):
        needed = needed_on(case, host, link)
        usual = usual_mtu(link.name, similar)
        if link.mtu < needed:
            symptoms.append(
                of_link(Code.MTU_TOO_SMALL, host, link, needed, 1.0)
            )
        elif usual is not None and link.mtu < usual:
            symptoms.append(
                of_link(
                    Code.MTU_SMALLER,
                    host,
                    link,
                    usual,
                    case.weights.smaller_mtu,
                )
            )
    return symptoms


def of_link(
    code: Code, host: Host, link: NetworkLink, other: int, share: float
) -> Symptom:
    dropped = link.dropped or None
    return Symptom(
        code,
        "data network",
        host=host.host,
        share=share,
        path=link.name,
        sizes=(link.mtu, other),
        times=dropped,
    )


def similar_hosts(case: Case, host: Host) -> list[Host]:
    """Return the other hosts that have the same groups in the inventory."""
    return [
        other
        for other in case.record.hosts
        if other is not host and set(other.groups) == set(host.groups)
    ]


def wires_of(host: Host) -> list[NetworkLink]:
    """Return the links of a host that carry packets to others."""
    stores = host.stores
    if stores is None or stores.links is None:
        return []
    own: set[str] = set()
    if stores.switch:
        own = {
            interface.name
            for interface in stores.switch.interfaces
            if interface.kind == OWN_INTERFACE
        }
    wires = []
    for link in stores.links:
        if link.name.startswith(NO_WIRES):
            continue
        if link.name not in own:
            wires.append(link)
    return wires


def usual_mtu(name: str, hosts: Sequence[Host]) -> int | None:
    """Return the MTU that most of some hosts have at the link of a name; None if they do not agree."""
    sizes: list[int] = []
    for host in hosts:
        sizes += [link.mtu for link in wires_of(host) if link.name == name]
    if not sizes:
        return None
    size, number = Counter(sizes).most_common(1)[0]
    others = len(sizes) - number
    if number <= others:
        return None
    return size


def needed_on(case: Case, host: Host, link: NetworkLink) -> int:
    """Return the MTU that a link of a host needs for the networks of the instance; 0 if it carries none of them."""
    instance = case.record.instance
    if instance is None:
        return 0
    needed = 0
    for network in instance.networks:
        if not network.mtu or not network.kind:
            continue
        if carries(host, link, network.kind):
            whole = network.mtu + overhead(case, network.kind)
            needed = max(needed, whole)
    return needed


def carries(host: Host, link: NetworkLink, kind: str) -> bool:
    """Return whether a link of a host carries the packets of networks of a kind."""
    if kind in WIRED:
        return is_bridged(host, link)
    return bool(set(link.addresses) & tunnel_ends(host))


def is_bridged(host: Host, link: NetworkLink) -> bool:
    """Return whether a link is the wire of a bridge of Open vSwitch."""
    switch = host.stores.switch if host.stores else None
    return switch is not None and switch.bridge_of(link.name) is not None


def tunnel_ends(host: Host) -> set[str]:
    """Return the addresses of a host at which its tunnels end."""
    switch = host.stores.switch if host.stores else None
    if switch is None:
        return set()
    ends = {one.local for one in switch.interfaces if one.local}
    configured = switch.settings.get("ovn-encap-ip", "")
    ends.update(filter(None, configured.split(",")))
    return ends


def overhead(case: Case, kind: str) -> int:
    """Return what a tunnel of a kind adds to each packet."""
    return {
        "geneve": case.weights.geneve,
        "vxlan": case.weights.vxlan,
        "gre": case.weights.gre,
    }.get(kind, 0)
