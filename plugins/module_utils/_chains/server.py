# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How Nova builds an instance: from the service on its host to a domain with its disk open."""

from __future__ import annotations

from .._model.facts import Disk
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
    here,
    holds_if,
    listed,
    nowhere,
    read,
    unreadable_if,
)
from .image import ceph_host
from .services import is_alive

COMPUTE, SCHEDULER, LIBVIRT = "nova-compute", "nova-scheduler", "libvirt"


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


def root_disk(cloud: Cloud) -> Disk:
    return given(cloud.disk(f"{given(cloud.instance).server.id}_disk"))


def stored(cloud: Cloud) -> Found:
    return is_stored(root_disk(cloud), cloud)


def opened(cloud: Cloud) -> Found:
    return is_open(root_disk(cloud), cloud)


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
    ),
    subject=lambda cloud: cloud.names.get("server"),
)
