# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How Nova makes an instance real: from the service on its host to a domain that runs with its disk open."""

from __future__ import annotations

from .._model.facts import Domain, Image
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
from .services import is_alive

COMPUTE, SCHEDULER, LIBVIRT = "nova-compute", "nova-scheduler", "libvirt"
RUNNING = "running"


def service(cloud: Cloud) -> Found:
    # An instance that is built needs it no more.
    applies_if(cloud.host is not None and not cloud.is_active)
    return is_alive(cloud, COMPUTE, cloud.host)


def claimed(cloud: Cloud) -> Found:
    """Check whether a resource provider holds what the instance needs; devices may have providers of their own."""
    instance = given(cloud.record.instance)
    applies_if(cloud.is_active)
    return holds_if(given(instance.allocations) > 0)


def domain(cloud: Cloud) -> Domain:
    return given(cloud.facts_of(cloud.host).domain)


def defined(cloud: Cloud) -> Found:
    applies_if(cloud.is_active and cloud.host in cloud.facts)
    unreadable_if(cloud.is_unread(cloud.host, "the domain"))
    return holds_if(cloud.facts_of(cloud.host).domain is not None)


def running(cloud: Cloud) -> Found:
    applies_if(cloud.is_active)
    state = read(domain(cloud).state)
    return holds_if(state.name == RUNNING, f"{state.name} ({state.reason})")


def disk(cloud: Cloud) -> Image:
    return given(cloud.disk_in_ceph(f"{given(cloud.instance).server.id}_disk"))


def stored(cloud: Cloud) -> Found:
    applies_if(cloud.is_active)
    found = disk(cloud)
    return HOLDS if read(found.exists) else broken(subject=f"{found.pool}/{found.name}")


def opened(cloud: Cloud) -> Found:
    """Check whether the host of the instance has its disk open in Ceph."""
    applies_if(cloud.is_active and domain(cloud).state)
    return is_watched(disk(cloud), cloud)


def is_watched(image: Image, cloud: Cloud) -> Found:
    watchers = given(image.watchers)
    known = cloud.facts_of(cloud.host).addresses
    applies_if(known)
    return holds_if(bool(set(watchers) & set(known)), listed(watchers), listed(known))


CHAIN = ChainDefinition(
    name="server",
    stages=(StageName.BOOT, StageName.METADATA),
    applies=lambda cloud: cloud.instance is not None and cloud.host is not None,
    links=(
        LinkDefinition("server_service", COMPUTE, service, here, "openstack compute service list --host {host}"),
        LinkDefinition(
            "server_claimed",
            SCHEDULER,
            claimed,
            lambda _cloud: None,
            "openstack resource provider allocation show {server}",
        ),
        LinkDefinition("server_defined", LIBVIRT, defined, here, "virsh domstate --reason {server}"),
        LinkDefinition("server_stored", COMPUTE, stored, here, "virsh domblklist {server}"),
        LinkDefinition("server_running", LIBVIRT, running, here, "virsh domstate --reason {server}"),
        LinkDefinition("server_opened", LIBVIRT, opened, here, "virsh domblklist {server}"),
    ),
    subject=lambda cloud: cloud.names.get("server"),
)
