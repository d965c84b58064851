# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The service catalog that comes with a token."""

from __future__ import annotations

from typing import Any

# Of one service in the catalog
Endpoints = list[dict[str, Any]]


def offered_in(access: Any, region: str | None) -> tuple[str, ...]:
    """Return the types of the services that others find in the catalog, in the region if there is one."""
    catalog = access.service_catalog.catalog
    offered = {
        entry["type"]
        for entry in catalog
        if is_found(entry["endpoints"], region)
    }
    return tuple(sorted(offered))


def is_found(endpoints: Endpoints, region: str | None) -> bool:
    """Return whether a service is found by users and by other services, which may each look for another interface."""
    interfaces = {
        endpoint["interface"]
        for endpoint in endpoints
        if region in (None, endpoint.get("region"))
    }
    return interfaces.issuperset(("public", "internal"))
