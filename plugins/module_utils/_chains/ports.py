# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the switch of a host takes in and sends out what comes to its ports."""

from __future__ import annotations

from collections.abc import Callable

from .cloud import Cloud
from .definitions import HOLDS, Found, LinkDefinition, broken, read

# A bridge's own port is usually down: nothing uses it.
OWN = "internal"


def open_ports(cloud: Cloud, host: str | None) -> Found:
    """Return whether no port is told to drop packets; those of other instances do not count."""
    switch = read(cloud.switch(host))
    used = [interface for interface in switch.interfaces if interface.port in (None, cloud.port_id)]
    for interface in used:
        if interface.drops and interface.kind != OWN:
            return broken(interface.drops, subject=interface.name)
    return HOLDS


def link_of_open_ports(code: str, host_of: Callable[[Cloud], str | None]) -> LinkDefinition:
    command = "for bridge in $(ovs-vsctl list-br); do ovs-ofctl dump-ports-desc $bridge; done"
    return LinkDefinition(code, "ovsdb", lambda cloud: open_ports(cloud, host_of(cloud)), host_of, command)
