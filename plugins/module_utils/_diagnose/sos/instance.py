# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The instance as reports show it, in the form in which the API would describe it.

OVN's northbound database has what Neutron wrote into it, libvirt's domain what Nova did; DHCP agents have files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..._model.bundle import Bundle, Outcome
from ..._model.codec import iso_of
from ..._model.instance import (
    BootImage,
    DescribedInstance,
    Network,
    Port,
    Server,
)
from . import instance_in_libvirt, instance_in_ovn
from .answers import host_of
from .instance_by_dhcp import by_dhcp
from .instance_in_libvirt import DomainOfInstance
from .report import Report

STATUSES = {Outcome.BUILT: "ACTIVE", Outcome.FAILED: "ERROR"}
BUILDING = "BUILD"
# Stands for a domain that was not made, or of whose host there is no report
NO_DOMAIN = DomainOfInstance(
    name="",
    project="",
    vcpus=0,
    memory_mib=0,
    disk_gib=0,
    image=None,
    ports=(),
    volumes=(),
)


def described(
    reports: Sequence[Report], bundle: Bundle, states: Sequence[str]
) -> DescribedInstance | None:
    """Return the instance of a boot; None without a boot, or if no report shows a port of it.

    states: the folders in which DHCP agents have their files.
    """
    server = bundle.boot.server if bundle.boot else None
    if server is None:
        return None
    domain = domain_of(server, reports) or NO_DOMAIN
    ports, networks = in_ovn(server, reports)
    if not ports:
        ports, networks = without_ovn(domain.ports, reports, bundle, states)
    if not ports:
        return None
    return DescribedInstance(
        queried=max(report.now for report in reports),
        server=server_of(server, bundle, domain),
        ports=tuple(replace(port, host=bundle.host) for port in ports),
        networks=networks,
        volumes=domain.volumes,
        image=BootImage(domain.image, direct_url=None)
        if domain.image
        else None,
    )


def domain_of(
    server: str, reports: Iterable[Report]
) -> DomainOfInstance | None:
    for report in reports:
        domain = instance_in_libvirt.read(report, server)
        if domain is not None:
            return domain
    return None


def in_ovn(
    server: str, reports: Iterable[Report]
) -> tuple[tuple[Port, ...], tuple[Network, ...]]:
    """Return the ports of an instance and their networks, from the first host with OVN's databases that has them."""
    for report in reports:
        database = instance_in_ovn.northbound(host_of(report))
        if database is None:
            continue
        ports = instance_in_ovn.ports_of(server, database)
        if not ports:
            continue
        networks = networks_of(ports, database)
        known = {network.id for network in networks}
        in_known = tuple(port for port in ports if port.network in known)
        return in_known, networks
    return (), ()


def networks_of(
    ports: Iterable[Port], database: instance_in_ovn.Northbound
) -> tuple[Network, ...]:
    """Return the networks of ports, without those that the database does not have."""
    identities = sorted({port.network for port in ports})
    found = [
        instance_in_ovn.network_of(identity, database)
        for identity in identities
    ]
    return tuple(filter(None, found))


def without_ovn(
    ports: Iterable[Port],
    reports: Sequence[Report],
    bundle: Bundle,
    states: Sequence[str],
) -> tuple[tuple[Port, ...], tuple[Network, ...]]:
    """Return ports with the networks whose DHCP agent knows them, or with the only one that the logs name."""
    placed: list[Port] = []
    networks: dict[str, Network] = {}
    for port in ports:
        network = by_dhcp(reports, port.mac, states) or by_name(
            bundle.named.get("network")
        )
        if network is not None:
            placed.append(replace(port, network=network.id))
            networks[network.id] = network
    return tuple(placed), tuple(networks.values())


def by_name(identity: str | None) -> Network | None:
    """Return a network of which only its id is known."""
    if identity is None:
        return None
    return Network(
        identity,
        mtu=None,
        subnets=(),
        dhcp_ports=(),
        distributed=False,
        routers=(),
    )


def server_of(server: str, bundle: Bundle, domain: DomainOfInstance) -> Server:
    outcome = bundle.boot.outcome if bundle.boot else None
    return Server(
        id=server,
        name=domain.name or server,
        status=STATUSES[outcome] if outcome else BUILDING,
        project_id=domain.project,
        host=bundle.host,
        host_id="",
        created=iso_of(bundle.began),
        vcpus=domain.vcpus,
        memory_mib=domain.memory_mib,
        disk_gib=domain.disk_gib,
        config_drive=domain.config_drive,
    )
