# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How Cinder makes a volume, and how it becomes a disk of the instance."""

from __future__ import annotations

from .._model.facts import Disk
from .._model.words import StageName
from .._record.sole import sole
from .cloud import Cloud
from .definitions import (
    HOLDS,
    ChainDefinition,
    Found,
    LinkDefinition,
    applies_if,
    given,
    here,
    holds_if,
    listed,
)
from .image import ceph_host
from .server import is_open, is_stored
from .services import agents_of, is_alive, is_in_service

SCHEDULER, VOLUME, COMPUTE, LIBVIRT = (
    "cinder-scheduler",
    "cinder-volume",
    "nova-compute",
    "libvirt",
)


def only_host(cloud: Cloud, component: str) -> str | None:
    """Return the host of a service; None if several hosts have it."""
    return sole(
        {cloud.name_of(agent.host) for agent in agents_of(cloud, component)}
    )


def scheduler_host(cloud: Cloud) -> str | None:
    return only_host(cloud, SCHEDULER)


def volume_host(cloud: Cloud) -> str | None:
    return only_host(cloud, VOLUME)


def scheduled(cloud: Cloud) -> Found:
    failed = cloud.record.failed_stage
    # Nothing of a volume that was made depends on it.
    applies_if(failed is not None and failed.stage is StageName.VOLUME)
    return any_works(cloud, SCHEDULER)


def served(cloud: Cloud) -> Found:
    return any_works(cloud, VOLUME)


def any_works(cloud: Cloud, component: str) -> Found:
    """Return whether a service works. Of several that differ it is not known which one the volume needs."""
    found = agents_of(cloud, component)
    applies_if(found)
    if len(found) == 1:
        return is_alive(cloud, component, only_host(cloud, component))
    working = [one for one in found if is_in_service(one) is HOLDS]
    applies_if(len(working) in (0, len(found)))
    return holds_if(bool(working), f"none of {len(found)} works")


def disk(cloud: Cloud) -> Disk:
    return given(cloud.disk(f"volume-{cloud.volume_id}"))


def plugged(cloud: Cloud) -> Found:
    """Check whether the domain has the volume that the API shows as attached."""
    instance, domain = (
        given(cloud.instance),
        given(cloud.facts_of(cloud.host).domain),
    )
    applies_if(cloud.is_active)
    applies_if(cloud.volume_id in instance.volumes)
    serials = [one.serial for one in domain.disks if one.serial]
    return holds_if(cloud.volume_id in serials, listed(serials))


def stored(cloud: Cloud) -> Found:
    return is_stored(disk(cloud), cloud)


def opened(cloud: Cloud) -> Found:
    return is_open(disk(cloud), cloud)


CHAIN = ChainDefinition(
    name="volume",
    stages=(StageName.VOLUME, StageName.BOOT),
    applies=lambda cloud: cloud.volume_id is not None,
    links=(
        LinkDefinition(
            "volume_scheduled",
            SCHEDULER,
            scheduled,
            scheduler_host,
            "openstack volume service list",
        ),
        LinkDefinition(
            "volume_served",
            VOLUME,
            served,
            volume_host,
            "openstack volume service list",
        ),
        LinkDefinition(
            "volume_disk", COMPUTE, plugged, here, "virsh domblklist {server}"
        ),
        LinkDefinition(
            "volume_stored",
            VOLUME,
            stored,
            volume_host,
            "rbd info {subject}",
            ceph_host,
        ),
        LinkDefinition(
            "volume_opened",
            LIBVIRT,
            opened,
            here,
            "rbd status {subject}",
            ceph_host,
        ),
    ),
    subject=lambda cloud: cloud.volume_id,
)
