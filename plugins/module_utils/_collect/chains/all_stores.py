# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All stores on a host, by the components that are there."""

from __future__ import annotations

from collections.abc import Collection

from ..._model.instance import DescribedInstance
from ..._model.stores import Obstacle, Stores
from ..commands import Host
from . import (
    advertising,
    disks,
    links,
    obstacles,
    ovn_databases,
    switch,
    traces,
)

# The agents that make namespaces for networks
AGENTS = frozenset(("neutron-l3-agent", "neutron-dhcp-agent"))


def read(
    host: Host, components: Collection[str], instance: DescribedInstance | None
) -> Stores:
    """Return what the stores on a host hold. components: those on it."""
    has_databases = "ovn-nb-db" in components or "ovn-sb-db" in components
    found = (
        host.attempt("Open vSwitch", switch.read)
        if "ovsdb" in components
        else None
    )
    return Stores(
        switch=found,
        traces=traces.read(host, found, instance)
        if found and instance
        else None,
        links=host.attempt("the network links", links.read),
        controller=host.attempt("the connection of ovn-controller", controller)
        if "ovn-controller" in components
        else None,
        advertised=host.attempt("the advertised routers", advertising.read)
        if "neutron-l3-agent" in components
        else None,
        obstacles=in_namespaces(host, components, instance),
        ovn=ovn_databases.read(host, instance) if has_databases else None,
        listening=host.attempt(
            "the ports that are listened on", links.listening
        ),
        disks=host.attempt(
            "the domain's disks", disks.read, instance.server.id
        )
        if "libvirt" in components and instance
        else None,
    )


def in_namespaces(
    host: Host,
    components: Collection[str],
    instance: DescribedInstance | None,
) -> tuple[Obstacle, ...] | None:
    """Return what is in the way in the namespaces that agents have made for the instance's networks."""
    if instance is None or AGENTS.isdisjoint(components):
        return None
    return obstacles.read(host, instance)


def controller(host: Host) -> str:
    """Return whether ovn-controller is connected to the southbound database."""
    return host.ask(
        "ovn_controller",
        "ovn-appctl",
        "-t",
        "ovn-controller",
        "connection-status",
    ).strip()
