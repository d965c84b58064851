# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the hosts between which a failed operation was to move a server."""

from __future__ import annotations

from .._model.details import JourneyDetails
from .._model.flow import DESTINATION
from .._model.host import Host
from .._model.record import Record
from .._model.service import services_of
from .._model.stage import Stage
from .._record.sole import sole
from . import order

COMPUTE = "nova-compute"


def source_of(record: Record, failed: Stage) -> str | None:
    """Return the host from which the failed operation moves the server, which only administrators see."""
    details = failed.details_as(JourneyDetails)
    if details is None or not details.ends_with_move:
        return None
    return record.hosts_by_name.get(details.legs[-1].host_before or "")


def destination_of(record: Record, failed: Stage) -> str | None:
    """Return the host to which the failed operation moves the server; None if it may be one of several.

    A step that was seen there shows it. Without one it is the other compute host of a cloud that has two.
    """
    source = source_of(record, failed)
    steps = order.judged_steps(record.flows, failed.stage)
    seen = {step.host for step in steps if step.source.endswith(DESTINATION)}
    computes = {host.host for host in filter(is_compute_host, record.hosts)}
    shown = seen & computes - {source}
    if shown or source is None:
        return sole(shown)
    return sole(working(record) - {source})


def is_compute_host(host: Host) -> bool:
    return any(service.component == COMPUTE for service in services_of(host))


def working(record: Record) -> set[str | None]:
    """Return the compute hosts that take servers, as the cloud reports them."""
    return {
        record.hosts_by_name.get(agent.host)
        for agent in record.known_agents
        if agent.component == COMPUTE and agent.enabled
    }
