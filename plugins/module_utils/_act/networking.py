# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Make parts of a run's network."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .stage import Named, Stage


def make_marked(
    stage: Stage[Any],
    kind: str,
    listing: Callable[..., Iterable[Any]],
    make: Callable[..., Any],
) -> Any:
    """Make a resource with this run's mark. listing finds it again by its name."""
    name = f"{stage.run.mark}-{kind.replace('_', '-')}"
    return stage.create(
        kind,
        name,
        lambda: make(name=name, description=stage.run.mark),
        lambda: first_named(name, listing(name=name)),
    )


def first_named(name: str, resources: Iterable[Any]) -> Any:
    """Return the first resource of a name, or None. A cloud that ignores the filter lists those of others, too."""
    return next(
        (resource for resource in resources if resource.name == name), None
    )


def make_router(stage: Stage[Any], external_id: str | None = None) -> Any:
    """Make a router. To the external network it needs a gateway, but none for the guests' metadata."""
    neutron = stage.cloud.network
    gateway = (
        {"external_gateway_info": {"network_id": external_id}}
        if external_id
        else {}
    )
    return make_marked(
        stage,
        "router",
        neutron.routers,
        lambda **marks: neutron.create_router(**gateway, **marks),
    )


def add_interface(
    stage: Stage[Any], kind: str, router: Any, subnet_id: str
) -> None:
    """Connect a router to a subnet.

    Neutron has no resource for an interface, but deletes neither router nor subnet before it is removed.
    """
    neutron = stage.cloud.network
    name = f"{stage.run.mark}-{kind.replace('_', '-')}"
    interface = Named(f"{router.id}/{subnet_id}", name)

    def find() -> Named | None:
        ports = neutron.ports(device_id=router.id)
        own = [port for port in ports if port.device_id == router.id]
        if any(is_on_subnet(port, subnet_id) for port in own):
            return interface
        return None

    def make() -> Named:
        neutron.add_interface_to_router(router, subnet_id=subnet_id)
        return interface

    stage.create(kind, name, make, find)


def is_on_subnet(port: Any, subnet_id: str) -> bool:
    return any(address["subnet_id"] == subnet_id for address in port.fixed_ips)


def addresses_of(port: Any) -> tuple[str, ...]:
    return tuple(address["ip_address"] for address in port.fixed_ips)
