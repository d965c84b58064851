# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask a cloud what it has for the request at which a stage of a run failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Optional

from ..._model.capacity import Capacity
from ..._model.codec import from_json
from ..._model.details import BootDetails, VolumeDetails
from ..._model.shortage import Sought
from ..._model.stage import Failure, Stage
from ..._model.words import StageName
from . import capacity, refused

# By which the server boots from the run's volume
ROOT = "root"


@dataclass(frozen=True)
class Request:
    """A stage that failed, and whom to ask about it. id_of: the id of the run's resource of a kind.

    member, admin: make the connection when it is needed. admin: None if no administrator can be asked.
    """

    stage: Stage
    error: Failure
    id_of: Callable[[str], Optional[str]]
    member: Callable[[], Any]
    admin: Optional[Callable[[], Any]]


def look(request: Request) -> Capacity | None:
    """Return what the cloud has for a request; None if it failed at something else, or if only others may ask."""
    sought = refused.sought_in(request.error)
    if sought == Sought.QUOTA:
        return for_quota(request)
    if sought is None:
        if not is_boot_in_unknown_zone(request):
            return None
        sought = Sought.HOST
    ask = ASKS.get(sought)
    if ask is None or request.admin is None:
        return None
    return ask(request, request.admin())


def for_quota(request: Request) -> Capacity | None:
    """Return what the refusal of a quota does not show; None if it has all numbers, as that of Nova."""
    quota = refused.quota_in(request.error)
    if quota.capacity is None:
        return capacity.of_quotas(request.member())
    # Other services than Neutron show the numbers when they refuse.
    if quota.subject == capacity.VOLUMES:
        return capacity.of_volumes(request.member(), quota.capacity)
    return None


def is_boot_in_unknown_zone(request: Request) -> bool:
    """Return whether Nova has refused a zone: it does not exist, or none of its hosts is in service."""
    return request.stage.stage == StageName.BOOT and refused.is_about_zone(
        request.error
    )


def for_instance(request: Request, admin: Any) -> Capacity | None:
    flavor = request.id_of("flavor")
    if flavor is None:
        return None
    details = from_json(BootDetails, request.stage.details, "details")
    instance = capacity.Instance(
        flavor=flavor,
        image=request.id_of("image"),
        zone=details.requested_zone,
        host=details.requested_host,
        from_volume=details.attach == ROOT,
    )
    return capacity.of_instance(admin, instance)


def for_volume(request: Request, admin: Any) -> Capacity | None:
    details = from_json(VolumeDetails, request.stage.details, "details")
    if details.requested_size_gib is None:
        return None
    return capacity.of_volume(
        admin,
        capacity.Volume(details.requested_type, details.requested_size_gib),
    )


def for_addresses(request: Request, admin: Any) -> Capacity | None:
    network = refused.network_in(request.error) or request.id_of("network")
    return None if network is None else capacity.of_network(admin, network)


ASKS: dict[Sought, Callable[[Request, Any], Optional[Capacity]]] = {
    Sought.HOST: for_instance,
    Sought.BACKEND: for_volume,
    Sought.ADDRESS: for_addresses,
}
