# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes parts of a run's network."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any


def make_marked(stage, kind, listing, make):
    """Make a resource with this run's mark. listing finds it again by its name."""
    name = f"{stage.run.mark}-{kind.replace('_', '-')}"
    return stage.create(
        kind, name, lambda: make(name=name, description=stage.run.mark), lambda: first_named(name, listing(name=name))
    )


def first_named(name: str, resources: Iterable[Any]) -> Any:
    """Return the first resource of a name, or None. A cloud that ignores the filter lists those of others, too."""
    return next((resource for resource in resources if resource.name == name), None)


def make_router(stage, subnet_id, external_id=None):
    """A router on the subnet. To the external network it needs a gateway, but none for the guests' metadata."""
    neutron = stage.cloud.network
    gateway = {"external_gateway_info": {"network_id": external_id}} if external_id else {}
    router = make_marked(stage, "router", neutron.routers, lambda **marks: neutron.create_router(**gateway, **marks))

    # Neutron has no resource for an interface, but deletes neither router nor subnet before it is removed.
    def find_interface():
        ports = [port for port in neutron.ports(device_id=router.id) if port.device_id == router.id]
        attached = any(address["subnet_id"] == subnet_id for port in ports for address in port.fixed_ips)
        return interface if attached else None

    def add_interface():
        neutron.add_interface_to_router(router, subnet_id=subnet_id)
        return interface

    name = f"{stage.run.mark}-router-interface"
    interface = SimpleNamespace(id=f"{router.id}/{subnet_id}", name=name)
    stage.create("router_interface", name, add_interface, find_interface)
