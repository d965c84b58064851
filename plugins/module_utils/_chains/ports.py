# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the ports of a host's switch let packets through."""

from __future__ import annotations

from collections.abc import Callable

from .._model.stores import Bridge, Interface, Switch, bridge_mappings
from .cloud import Cloud
from .definitions import HOLDS, Found, LinkDefinition, applies_if, broken, given
from .services import agent_on

# The kind of a bridge's own port, which is usually down as nothing uses it
OWN = "internal"
# The flag of a device that is down as well, be it only a spare one
ALL = "all packets"
INTEGRATION = "br-int"
COMMAND = (
    "for bridge in $(ovs-vsctl list-br); do ovs-ofctl --protocols=OpenFlow10,OpenFlow13 dump-ports-desc $bridge; done"
)


def open_ports(cloud: Cloud, host: str | None) -> Found:
    """Return whether the flags of no port that the instance's packets may use have it drop them."""
    switch = given(cloud.switch(host))
    # Where sudo lacks the rule for it, as one of an older version does, nothing is known.
    applies_if(not any(cloud.is_unread(host, f"the ports of {bridge.name}") for bridge in switch.bridges))
    names = {INTEGRATION, *bridges_of(cloud, host)}
    for bridge in [bridge for bridge in switch.bridges if bridge.name in names]:
        cut = first_cut(switch, bridge, cloud)
        if cut is not None:
            return broken(cut.drops, subject=cut.name)
    return HOLDS


def bridges_of(cloud: Cloud, host: str | None) -> set[str]:
    """Return the bridges of the physical networks that a host is configured with."""
    agent = agent_on(cloud, "neutron-l2-agent", host)
    switch = cloud.switch(host)
    mapped = bridge_mappings(switch.settings.get("ovn-bridge-mappings", "")) if switch else {}
    return {*mapped.values(), *((agent.physical if agent else None) or {}).values()}


def first_cut(switch: Switch, bridge: Bridge, cloud: Cloud) -> Interface | None:
    """Return the first port of a bridge that drops what the instance may send or get; a spare device may be down."""
    ports = [
        interface
        for interface in switch.interfaces
        if interface.name in bridge.interfaces
        and interface.kind != OWN
        and (interface.port is None or interface.port == cloud.port_id)
    ]
    up = [port for port in ports if port.drops != ALL]
    cut = [port for port in (up or ports) if port.drops]
    return next(iter(cut), None)


def link_of_open_ports(code: str, host_of: Callable[[Cloud], str | None]) -> LinkDefinition:
    return LinkDefinition(code, "ovsdb", lambda cloud: open_ports(cloud, host_of(cloud)), host_of, COMMAND)
