# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How Nova builds an instance: from the service on its host to a domain with its disk open."""

from __future__ import annotations

from itertools import chain

from .._model.facts import Disk, DiskLimit, Facts
from .._model.words import StageName
from .._record.sole import sole
from .cloud import Cloud
from .definitions import (
    HOLDS,
    ChainDefinition,
    Found,
    LinkDefinition,
    applies_if,
    broken,
    given,
    here,
    holds_if,
    listed,
    nowhere,
    read,
    unreadable_if,
)
from .image import ceph_host
from .services import is_alive

# In seconds for a request: a guest that makes some 500 while it boots then takes minutes. A busy disk takes a tenth.
SLOW_S = 0.5
# A guest has some ten requests open, of some hundred kilobytes. With less than this in a second each takes SLOW_S.
LOW_IOPS, LOW_BYTES = 20, 2 << 20
# One slow request may be the first of a busy host.
FEW_REQUESTS = 3
COMPUTE, SCHEDULER, LIBVIRT = "nova-compute", "nova-scheduler", "libvirt"
CEPH = "ceph-osd"


def service(cloud: Cloud) -> Found:
    # Nothing of an instance that is built depends on it.
    applies_if(cloud.host is not None and not cloud.is_active)
    return is_alive(cloud, COMPUTE, cloud.host)


def claimed(cloud: Cloud) -> Found:
    """Check whether a resource provider holds what the instance needs; devices may have providers of their own."""
    instance = given(cloud.record.instance)
    applies_if(cloud.is_active)
    return holds_if(given(instance.allocations) > 0)


def defined(cloud: Cloud) -> Found:
    """Check whether libvirt has the domain. Why one does not run is a symptom of its own."""
    applies_if(cloud.is_active)
    applies_if("compute" in cloud.host_of(cloud.host).parts)
    unreadable_if(cloud.host not in cloud.facts)
    unreadable_if(cloud.is_unread(cloud.host, "the domain"))
    return holds_if(cloud.facts_of(cloud.host).domain is not None)


def has_port(cloud: Cloud) -> Found:
    """Check whether Neutron has a port of a run's server, which always asks for a network."""
    applies_if(cloud.is_active and not cloud.is_of_others)
    return holds_if(bool(cloud.record.ports))


def root_disk(cloud: Cloud) -> Disk:
    return given(cloud.disk(f"{given(cloud.instance).server.id}_disk"))


def stored(cloud: Cloud) -> Found:
    return is_stored(root_disk(cloud), cloud)


def opened(cloud: Cloud) -> Found:
    return is_open(root_disk(cloud), cloud)


def answering(cloud: Cloud) -> Found:
    """Check whether the disks of the domain answer: a guest whose disk is slow hardly boots."""
    disks = given(cloud.stores_of(cloud.host).disks)
    used = [disk for disk in disks if disk.requests >= FEW_REQUESTS]
    applies_if(used)
    for disk in used:
        mean_s = disk.seconds / disk.requests
        if mean_s > SLOW_S:
            owner = CEPH if is_on_ceph(cloud) else LIBVIRT
            return broken(
                f"{mean_s:.1f} s",
                expected=limits_of(disk.name, cloud),
                subject=disk.name,
                owner=owner,
            )
    return HOLDS


def limits_of(name: str, cloud: Cloud) -> str | None:
    """Return what bounds the speed of a disk of the domain on purpose, or None."""
    disks = given(cloud.facts_of(cloud.host).domain).disks
    limits = chain.from_iterable(
        disk.limits for disk in disks if disk.target == name
    )
    low = (f"{limit.name} {limit.most}" for limit in limits if is_low(limit))
    return ", ".join(low) or None


def is_low(limit: DiskLimit) -> bool:
    """Return whether a guest gets as slow by a limit as by a slow disk. Zero is no limit."""
    low = LOW_IOPS if "iops" in limit.name else LOW_BYTES
    return 0 < limit.most < low


def is_on_ceph(cloud: Cloud) -> bool:
    domain = cloud.facts_of(cloud.host).domain
    return domain is not None and any(
        disk.protocol == "rbd" for disk in domain.disks
    )


def where_disks_are(cloud: Cloud) -> str | None:
    """Return the host of the instance, or that of Ceph's disks; None if they are on several."""
    if not is_on_ceph(cloud):
        return cloud.host
    return sole(
        host for host, facts in cloud.facts.items() if keeps_disks(facts)
    )


def keeps_disks(facts: Facts) -> bool:
    return any(unit.component == CEPH for unit in facts.services)


def is_stored(disk: Disk, cloud: Cloud) -> Found:
    """Return whether Ceph has the image of a disk."""
    applies_if(cloud.is_active)
    image = given(cloud.image_of(disk))
    if read(image.exists):
        return HOLDS
    return broken(subject=disk.source)


def is_open(disk: Disk, cloud: Cloud) -> Found:
    """Return whether the host of the instance has the image of a disk open."""
    image = given(cloud.image_of(disk))
    known = cloud.facts_of(cloud.host).addresses
    applies_if(cloud.is_active)
    applies_if(image.exists)
    applies_if(known)
    watchers = read(image.watchers)
    return (
        HOLDS
        if set(watchers) & set(known)
        else broken(listed(watchers), listed(known), subject=disk.source)
    )


CHAIN = ChainDefinition(
    name="server",
    stages=(StageName.BOOT, StageName.METADATA, StageName.JOURNEY),
    applies=lambda cloud: (
        cloud.instance is not None and cloud.host is not None
    ),
    links=(
        LinkDefinition(
            "server_service",
            COMPUTE,
            service,
            here,
            "openstack compute service list --host {host}",
        ),
        LinkDefinition(
            "server_claimed",
            SCHEDULER,
            claimed,
            nowhere,
            "openstack resource provider allocation show {server}",
        ),
        LinkDefinition(
            "server_defined",
            LIBVIRT,
            defined,
            here,
            "virsh domstate --reason {server}",
        ),
        LinkDefinition(
            "server_port",
            "neutron-server",
            has_port,
            nowhere,
            "openstack port list --server {server}",
        ),
        LinkDefinition(
            "server_stored",
            COMPUTE,
            stored,
            here,
            "rbd info {subject}",
            ceph_host,
        ),
        LinkDefinition(
            "server_opened",
            LIBVIRT,
            opened,
            here,
            "rbd status {subject}",
            ceph_host,
        ),
        LinkDefinition(
            "server_disk_answers",
            LIBVIRT,
            answering,
            where_disks_are,
            "virsh domstats --block {server}",
            here,
        ),
    ),
    subject=lambda cloud: cloud.names.get("server"),
)
