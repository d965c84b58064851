# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a host takes part in OVN: it is connected, registered by its own name, and takes tunnels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .._model.stores import Chassis
from .cloud import Cloud
from .definitions import (
    Found,
    LinkDefinition,
    applies_if,
    broken,
    common,
    given,
    holds_if,
    listed,
    read,
    unreadable_if,
)
from .services import agents_of

CONNECTED = "connected"
# In versions: Neutron makes a new one whenever somebody lists its agents, and the last one may still be on its way.
ON_ITS_WAY = 1
SBCTL = "ovn-sbctl --no-leader-only"
SETTINGS = "ovs-vsctl get open . external-ids"
SET = "ovs-vsctl set open . external-ids"
CHASSIS = f"{SBCTL} list Chassis; {SBCTL} list Encap"
NAME = f"{SBCTL} --columns=name,hostname list Chassis"
# Neutron binds no port on a host by one of these.
UNBOUND = ("unbound", "binding_failed")

HostOf = Callable[[Cloud], "str | None"]


def controller(cloud: Cloud) -> str | None:
    return cloud.database_host


def own_chassis(cloud: Cloud, host: str) -> Chassis:
    return given(next(iter(cloud.chassis_of(host)), None))


def remote_of(cloud: Cloud, host: str) -> frozenset[str] | None:
    """Return the addresses of the southbound database that a host knows, in whatever order."""
    remote = cloud.switches[host].settings.get("ovn-remote")
    if not remote:
        return None
    return frozenset(remote.split(","))


def in_words(addresses: frozenset[str] | None) -> str | None:
    return None if addresses is None else ",".join(sorted(addresses))


def host_remote(cloud: Cloud, host: str) -> Found:
    """Compare the southbound database that a host asks with that of the others, unless it works with its own one."""
    unreadable_if(host not in cloud.switches)
    applies_if(not is_at_work(cloud, host))
    own = remote_of(cloud, host)
    expected = common(
        remote_of(cloud, other) for other in cloud.switches if other != host
    )
    if own is None and expected is None:
        return broken("not set")
    usual = in_words(given(expected))
    found = holds_if(own == expected, in_words(own) or "not set", usual)
    return replace(found, mend=f"{SET}:ovn-remote={usual}")


def is_at_work(cloud: Cloud, host: str) -> bool:
    """Return whether a host is connected and registered, and has wired the instance's port if that is there."""
    interface = cloud.interface(host)
    is_wired = interface is None or interface.by_ovn
    is_connected = cloud.stores_of(host).controller == CONNECTED
    return is_wired and is_connected and bool(cloud.chassis_of(host))


def host_connected(cloud: Cloud, host: str) -> Found:
    if cloud.hangs(host, "the connection of ovn-controller"):
        return broken("no answer", CONNECTED)
    state = read(cloud.stores_of(host).controller)
    found = holds_if(state == CONNECTED, state, CONNECTED)
    states = [stores.controller for stores in cloud.stores.values()]
    known = list(filter(None, states))
    # What no host reaches is not the fault of one of them.
    is_of_all = len(known) > 1 and CONNECTED not in known
    if is_of_all and cloud.database_host is not None:
        return replace(found, owner="ovn-sb-db", host=cloud.database_host)
    return found


def registered(cloud: Cloud, host: str) -> Found:
    """Check whether a host has registered once, by the id that Open vSwitch has."""
    unreadable_if(not cloud.chassis)
    rows = cloud.chassis_of(host)
    switch = cloud.switch(host)
    identity = switch.settings.get("system-id") if switch else None
    if len(rows) != 1:
        return broken(listed(sorted(row.name for row in rows)), identity)
    return holds_if(identity in (None, rows[0].name), rows[0].name, identity)


def named(cloud: Cloud, host: str) -> Found:
    """Check whether a host has registered by its name in Neutron, which looks for the whole of it to bind a port."""
    applies_if(not is_bound(cloud))
    names = names_in_nova(cloud, host)
    applies_if(names)
    name = own_chassis(cloud, host).host
    return holds_if(name in names, name, listed(sorted(names)))


def names_in_nova(cloud: Cloud, host: str) -> set[str]:
    """Return the names by which Nova and Neutron call a host."""
    computes = agents_of(cloud, "nova-compute")
    called = [agent.host for agent in computes]
    bound = [port.host for port in cloud.record.ports]
    return {
        name
        for name in filter(None, [*called, *bound])
        if cloud.name_of(name) == host
    }


def is_bound(cloud: Cloud) -> bool:
    port = cloud.port
    return port is not None and port.kind not in (None, *UNBOUND)


def has_address(cloud: Cloud, host: str) -> Found:
    """Check whether the address at which a host takes tunnels is one that it has, if they carry the network."""
    applies_if(not cloud.is_on_physical_network)
    chassis = own_chassis(cloud, host)
    facts = given(cloud.facts.get(host))
    own = {*facts.addresses, *cloud.addresses_of_links(host)}
    unreadable_if(not own)
    if not chassis.encapsulations:
        return broken("none", ", ".join(sorted(own)))
    wrong = [
        one.address for one in chassis.encapsulations if one.address not in own
    ]
    return holds_if(
        not wrong, ", ".join(wrong), ", ".join(sorted(facts.addresses))
    )


def has_protocol(cloud: Cloud, host: str) -> Found:
    """Check whether a host and the others have a protocol for tunnels in common, if they carry the network."""
    applies_if(not cloud.is_on_physical_network)
    chassis = own_chassis(cloud, host)
    own = kinds_of(chassis)
    expected = given(
        common(kinds_of(other) for other in cloud.others(chassis))
    )
    usual = in_words(expected)
    found = holds_if(bool(own & expected), in_words(own), usual)
    return replace(found, mend=f"{SET}:ovn-encap-type={usual}")


def kinds_of(chassis: Chassis) -> frozenset[str]:
    return frozenset(one.kind for one in chassis.encapsulations)


def is_current(cloud: Cloud, host: str) -> Found:
    """Check whether a host has applied the configuration that others have."""
    chassis = own_chassis(cloud, host)
    version = read(chassis.version)
    others = [other.version for other in cloud.others(chassis)]
    newest = read(max(filter(None, others), default=None))
    return holds_if(newest - version <= ON_ITS_WAY, str(version), str(newest))


def link_of_chassis(
    code: str,
    check: Callable[[Cloud, str], Found],
    host_of: HostOf,
    command: str,
    on: HostOf | None = None,
) -> LinkDefinition:
    return LinkDefinition(
        code,
        "ovn-controller",
        lambda cloud: check(cloud, given(host_of(cloud))),
        host_of,
        command,
        on,
    )


def chassis_links(host_of: HostOf) -> tuple[LinkDefinition, ...]:
    """Return the links by which a host takes part in OVN, whatever port it has."""
    private = f"{SBCTL} list Chassis_Private"
    return (
        link_of_chassis(
            "ovn_host_remote", host_remote, host_of, f"{SETTINGS}:ovn-remote"
        ),
        link_of_chassis(
            "ovn_host_connected",
            host_connected,
            host_of,
            f"ovn-appctl -t ovn-controller connection-status; {SETTINGS}:ovn-remote",
        ),
        link_of_chassis(
            "ovn_chassis_registered", registered, host_of, CHASSIS, controller
        ),
        link_of_chassis("ovn_chassis_named", named, host_of, NAME, controller),
        link_of_chassis(
            "ovn_chassis_address",
            has_address,
            host_of,
            f"{SETTINGS}:ovn-encap-ip",
        ),
        link_of_chassis(
            "ovn_chassis_protocol",
            has_protocol,
            host_of,
            f"{SETTINGS}:ovn-encap-type",
        ),
        link_of_chassis(
            "ovn_chassis_current", is_current, host_of, private, controller
        ),
    )
