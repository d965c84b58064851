# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How Cinder makes a volume, and how it becomes a disk of the instance."""

from __future__ import annotations

from .._model.facts import Image
from .._model.record import Agent
from .._model.words import StageName
from .cloud import Cloud
from .definitions import (
    HOLDS,
    ChainDefinition,
    Found,
    LinkDefinition,
    applies_if,
    broken,
    given,
    holds_if,
    listed,
    read,
    unreadable_if,
)
from .ovn_port import here
from .server import domain, is_watched
from .services import is_alive, is_in_service

SCHEDULER, VOLUME, COMPUTE, LIBVIRT = "cinder-scheduler", "cinder-volume", "nova-compute", "libvirt"


def services(cloud: Cloud, component: str) -> list[Agent]:
    return [agent for agent in cloud.record.known_agents if agent.component == component]


def only_host(cloud: Cloud, component: str) -> str | None:
    """Return the host of a service; None if several hosts have it."""
    hosts = {cloud.name_of(agent.host) for agent in services(cloud, component)}
    return hosts.pop() if len(hosts) == 1 else None


def scheduler_host(cloud: Cloud) -> str | None:
    return only_host(cloud, SCHEDULER)


def volume_host(cloud: Cloud) -> str | None:
    return only_host(cloud, VOLUME)


def scheduled(cloud: Cloud) -> Found:
    failed = cloud.record.failed_stage
    # A volume that was made needs it no more.
    applies_if(failed is not None and failed.stage is StageName.VOLUME)
    return any_works(cloud, SCHEDULER)


def served(cloud: Cloud) -> Found:
    return any_works(cloud, VOLUME)


def any_works(cloud: Cloud, component: str) -> Found:
    """Return whether at least one of a service does its work; what is wrong with the only one, if there is one."""
    found = services(cloud, component)
    unreadable_if(not found)
    host = only_host(cloud, component)
    if host is not None and len(found) == 1:
        return is_alive(cloud, component, host)
    works = [one for one in found if is_in_service(one) is HOLDS]
    return holds_if(bool(works), f"none of {len(found)} works")


def image(cloud: Cloud) -> Image:
    return given(cloud.disk_in_ceph(f"volume-{cloud.volume_id}"))


def stored(cloud: Cloud) -> Found:
    found = image(cloud)
    return HOLDS if read(found.exists) else broken(subject=f"{found.pool}/{found.name}")


def attached(cloud: Cloud) -> Found:
    applies_if(cloud.is_active)
    return holds_if(cloud.volume_id in given(cloud.instance).volumes)


def disk(cloud: Cloud) -> Found:
    """Check whether the domain has the volume as a disk."""
    applies_if(cloud.is_active)
    serials = [one.serial for one in domain(cloud).disks if one.serial]
    return holds_if(cloud.volume_id in serials, listed(serials))


def opened(cloud: Cloud) -> Found:
    applies_if(cloud.is_active)
    return is_watched(image(cloud), cloud)


CHAIN = ChainDefinition(
    name="volume",
    stages=(StageName.VOLUME, StageName.BOOT),
    applies=lambda cloud: cloud.volume_id is not None,
    links=(
        LinkDefinition("volume_scheduled", SCHEDULER, scheduled, scheduler_host, "openstack volume service list"),
        LinkDefinition("volume_served", VOLUME, served, volume_host, "openstack volume service list"),
        LinkDefinition("volume_stored", VOLUME, stored, volume_host, "openstack volume show {volume}"),
        LinkDefinition("volume_attached", COMPUTE, attached, here, "openstack server volume list {server}"),
        LinkDefinition("volume_disk", COMPUTE, disk, here, "virsh domblklist {server}"),
        LinkDefinition("volume_opened", LIBVIRT, opened, here, "openstack volume show {volume}"),
    ),
    subject=lambda cloud: cloud.volume_id,
)
