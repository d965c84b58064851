# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How OVN carries a port from Neutron's database to the switch of its host."""

from __future__ import annotations

from .._model.stores import Chassis
from .._model.words import StageName
from .cloud import Cloud
from .definitions import (
    HOLDS,
    NOT_APPLICABLE,
    UNREADABLE,
    ChainDefinition,
    Found,
    LinkDefinition,
    broken,
    common,
    holds_if,
    passes,
)

ACTIVE = "active"
INTEGRATION = "br-int"
# Neutron binds a port to its host by one of these, or says that it could not.
UNBOUND = ("unbound", "binding_failed")
# In versions: Neutron makes a new one whenever somebody lists its agents, and the last one may still be on its way.
ON_ITS_WAY = 1
# Without one of these a guest can make no use of its lease.
DHCP_OPTIONS = ("lease_time", "server_id", "server_mac")


def controller(cloud: Cloud) -> str | None:
    return cloud.database_host


def here(cloud: Cloud) -> str | None:
    return cloud.host


def northbound_active(cloud: Cloud) -> Found:
    if cloud.databases is None or cloud.databases[1].northbound is None:
        return UNREADABLE
    state = cloud.databases[1].northbound
    return holds_if(state == ACTIVE, state, ACTIVE)


def southbound_active(cloud: Cloud) -> Found:
    if cloud.databases is None or cloud.databases[1].southbound is None:
        return UNREADABLE
    state = cloud.databases[1].southbound
    return holds_if(state == ACTIVE, state, ACTIVE)


def northd_active(cloud: Cloud) -> Found:
    """Check whether any northd works: of several the others stand by."""
    states = [stores.ovn.northd for stores in cloud.stores.values() if stores.ovn and stores.ovn.northd]
    if not states and cloud.hangs(cloud.database_host, "the state of northd"):
        return broken("no answer", ACTIVE)
    if not states:
        return UNREADABLE
    return holds_if(ACTIVE in states, states[0], ACTIVE)


def northd_translates(cloud: Cloud) -> Found:
    databases = cloud.databases[1] if cloud.databases else None
    if databases is None or databases.version is None or databases.translated is None:
        return UNREADABLE
    behind = databases.version - databases.translated
    return holds_if(behind <= ON_ITS_WAY, str(databases.translated), str(databases.version))


def remote_of(cloud: Cloud, host: str) -> frozenset[str] | None:
    """Return the addresses of the southbound database that a host knows, in whatever order."""
    remote = cloud.switches[host].settings.get("ovn-remote")
    return frozenset(remote.split(",")) if remote else None


def host_remote(cloud: Cloud) -> Found:
    """Compare the southbound database that the host asks with that of the others."""
    if cloud.host not in cloud.switches:
        return UNREADABLE
    own = remote_of(cloud, cloud.host)
    expected = common(remote_of(cloud, host) for host in cloud.switches if host != cloud.host)
    if own is None:
        return broken("not set", in_words(expected))
    if expected is None:
        return NOT_APPLICABLE
    return holds_if(own == expected, in_words(own), in_words(expected))


def in_words(addresses: frozenset[str] | None) -> str | None:
    return None if addresses is None else ",".join(sorted(addresses))


def host_connected(cloud: Cloud) -> Found:
    stores = cloud.stores.get(cloud.host or "")
    if cloud.hangs(cloud.host, "the connection of ovn-controller"):
        return broken("no answer", "connected")
    if stores is None or stores.controller is None:
        return UNREADABLE
    return holds_if(stores.controller == "connected", stores.controller, "connected")


def chassis_registered(cloud: Cloud) -> Found:
    """Check whether the host has registered once, by the id that Open vSwitch has."""
    if cloud.host is None or not cloud.chassis:
        return UNREADABLE
    rows = cloud.chassis_of(cloud.host)
    switch = cloud.switch(cloud.host)
    identity = switch.settings.get("system-id") if switch else None
    if not rows:
        return broken("none", identity)
    if len(rows) > 1:
        return broken(", ".join(sorted(row.name for row in rows)), identity)
    if identity is None:
        return HOLDS
    return holds_if(rows[0].name == identity, rows[0].name, identity)


def own_chassis(cloud: Cloud) -> Chassis | None:
    return next(iter(cloud.chassis_of(cloud.host)), None)


def chassis_address(cloud: Cloud) -> Found:
    """Check whether the address at which the host takes tunnels is one that it has."""
    chassis = own_chassis(cloud)
    facts = cloud.facts.get(cloud.host or "")
    if chassis is None or facts is None:
        return NOT_APPLICABLE
    own = {*facts.addresses, *addresses_of_links(cloud)}
    if not own:
        return UNREADABLE
    wrong = [one.address for one in chassis.encapsulations if one.address not in own]
    if not chassis.encapsulations:
        return broken("none", ", ".join(sorted(own)))
    return holds_if(not wrong, ", ".join(wrong), ", ".join(sorted(facts.addresses)))


def addresses_of_links(cloud: Cloud) -> set[str]:
    stores = cloud.stores.get(cloud.host or "")
    found: set[str] = set()
    for link in (stores.links if stores else None) or ():
        found.update(link.addresses)
    return found


def chassis_protocol(cloud: Cloud) -> Found:
    """Check whether the host and the others have a protocol for tunnels in common."""
    chassis = own_chassis(cloud)
    if chassis is None:
        return NOT_APPLICABLE
    own = kinds_of(chassis)
    expected = common(kinds_of(other) for other in cloud.chassis if other is not chassis)
    if expected is None:
        return NOT_APPLICABLE
    return holds_if(bool(own & expected), in_words(own), in_words(expected))


def kinds_of(chassis: Chassis) -> frozenset[str]:
    return frozenset(one.kind for one in chassis.encapsulations)


def integration_bridge(cloud: Cloud) -> Found:
    """Check whether the bridge is there, with the datapath that other hosts have."""
    switch = cloud.switch(cloud.host)
    if switch is None:
        return UNREADABLE
    own = switch.bridge(name_of_integration_bridge(cloud, cloud.host))
    if own is None:
        return broken("none")
    others = [
        other.bridge(name_of_integration_bridge(cloud, host))
        for host, other in cloud.switches.items()
        if host != cloud.host
    ]
    expected = common(bridge.datapath for bridge in others if bridge)
    return holds_if(expected in (None, own.datapath), own.datapath, expected)


def name_of_integration_bridge(cloud: Cloud, host: str | None) -> str:
    switch = cloud.switch(host)
    return switch.settings.get("ovn-bridge", INTEGRATION) if switch else INTEGRATION


def chassis_current(cloud: Cloud) -> Found:
    """Check whether the host has applied the configuration that others have."""
    return is_current(cloud, own_chassis(cloud))


def is_current(cloud: Cloud, chassis: Chassis | None) -> Found:
    if chassis is None:
        return NOT_APPLICABLE
    others = [other.version for other in cloud.chassis if other is not chassis and other.version is not None]
    if chassis.version is None or not others:
        return UNREADABLE
    newest = max(others)
    return holds_if(newest - chassis.version <= ON_ITS_WAY, str(chassis.version), str(newest))


def port_bound(cloud: Cloud) -> Found:
    if cloud.port is None or cloud.port.kind is None or not cloud.port.host:
        return NOT_APPLICABLE
    return holds_if(cloud.port.kind not in UNBOUND, cloud.port.kind)


def physical_network(cloud: Cloud) -> Found:
    """Check whether the host reaches the physical network that the port's network is on."""
    databases = cloud.databases[1] if cloud.databases else None
    chassis = own_chassis(cloud)
    if cloud.network is None or databases is None or databases.networks is None or chassis is None:
        return NOT_APPLICABLE
    needed = [network.physical for network in databases.networks if network.id == cloud.network.id]
    if not needed:
        return NOT_APPLICABLE
    missing = [name for name in needed if name not in chassis.mappings]
    if not missing:
        return HOLDS
    known_elsewhere = any(missing[0] in other.mappings for other in cloud.chassis)
    found = ", ".join(chassis.mappings) or "none"
    # A name that no host knows was written wrongly where all of them read it.
    if not known_elsewhere:
        return broken(missing[0], found, owner="ovn-nb-db", host=cloud.database_host)
    return broken(found, missing[0])


def northbound_port(cloud: Cloud) -> Found:
    if cloud.port is None or cloud.databases is None:
        return NOT_APPLICABLE
    if cloud.ovn_port is None or cloud.is_unread(cloud.database_host, "OVN's port"):
        return UNREADABLE
    return holds_if(cloud.ovn_port.logical is not None, "none")


def northbound_addresses(cloud: Cloud) -> Found:
    if cloud.port is None or cloud.ovn_port is None or cloud.ovn_port.logical is None:
        return NOT_APPLICABLE
    logical = cloud.ovn_port.logical
    if not logical.enabled:
        return broken("disabled", "enabled")
    expected = " ".join([cloud.port.mac, *cloud.port.addresses])
    words = set(" ".join(logical.addresses).split())
    is_there = cloud.port.mac in words and words.issuperset(cloud.port.addresses)
    return holds_if(is_there or "unknown" in words, " ".join(logical.addresses) or "none", expected)


def northbound_dhcp(cloud: Cloud) -> Found:
    """Check whether the port has the DHCP options that its subnet asks for."""
    if cloud.network is None or cloud.ovn_port is None or cloud.ovn_port.logical is None:
        return NOT_APPLICABLE
    if not any(subnet.dhcp and subnet.version == 4 for subnet in cloud.network.subnets):
        return NOT_APPLICABLE
    if cloud.is_unread(cloud.database_host, "OVN's DHCP options"):
        return UNREADABLE
    options = cloud.ovn_port.dhcp
    if options is None:
        return broken("none")
    missing = [name for name in DHCP_OPTIONS if not options.options.get(name)]
    return holds_if(not missing, f"without {', '.join(missing)}")


def foreign_acls(cloud: Cloud) -> Found:
    """Look for a rule that drops packets of the port, and that Neutron did not make."""
    databases = cloud.databases[1] if cloud.databases else None
    if cloud.port is None or cloud.ovn_port is None or databases is None or databases.acls is None:
        return NOT_APPLICABLE
    holders = {*(cloud.ovn_port.groups or {}), f"neutron-{cloud.port.network}"}
    for acl in databases.acls:
        if acl.holder in holders:
            return broken(f"{acl.action} {acl.direction} {acl.priority} {acl.match}", subject=acl.holder)
    return HOLDS


def southbound_port(cloud: Cloud) -> Found:
    if cloud.ovn_port is None or cloud.ovn_port.logical is None:
        return NOT_APPLICABLE
    if cloud.is_unread(cloud.database_host, "OVN's binding of the port"):
        return UNREADABLE
    return holds_if(cloud.ovn_port.binding is not None, "none")


def plugged(cloud: Cloud) -> Found:
    """Check whether Open vSwitch has made the interface. Without one the server has not come so far."""
    interface = cloud.interface(cloud.host)
    if interface is None:
        return broken("none has the port's id") if cloud.is_in_domain else NOT_APPLICABLE
    is_there = interface.ofport is not None and interface.ofport > 0
    return holds_if(is_there, interface.error or "no number of a port")


def claimed(cloud: Cloud) -> Found:
    if cloud.interface(cloud.host) is None or cloud.ovn_port is None or cloud.ovn_port.binding is None:
        return NOT_APPLICABLE
    host = cloud.name_of(cloud.ovn_port.binding.host)
    return holds_if(host == cloud.host, host or "none", cloud.host)


def installed(cloud: Cloud) -> Found:
    interface = cloud.interface(cloud.host)
    if interface is None or cloud.ovn_port is None or cloud.ovn_port.binding is None:
        return NOT_APPLICABLE
    return holds_if(interface.by_ovn)


def up(cloud: Cloud) -> Found:
    interface = cloud.interface(cloud.host)
    if interface is None or not interface.by_ovn or cloud.ovn_port is None or cloud.ovn_port.logical is None:
        return NOT_APPLICABLE
    return holds_if(cloud.ovn_port.logical.up)


def tunnels(cloud: Cloud) -> Found:
    """Check whether Open vSwitch has a tunnel to each other host."""
    switch = cloud.switch(cloud.host)
    own = own_chassis(cloud)
    if switch is None or own is None:
        return NOT_APPLICABLE
    remotes = {interface.remote for interface in switch.interfaces if interface.remote and not interface.error}
    if not remotes:
        return NOT_APPLICABLE  # no network of this cloud needs tunnels
    missing = []
    for chassis in cloud.chassis:
        addresses = {one.address for one in chassis.encapsulations}
        if chassis is not own and addresses and not addresses & remotes:
            missing.append(chassis.host)
    return holds_if(not missing, ", ".join(sorted(missing)))


NBCTL, SBCTL = "ovn-nbctl --no-leader-only", "ovn-sbctl --no-leader-only"
SETTINGS = "ovs-vsctl get open . external-ids"
# To be run with the number of the port on the switch
DHCP_TRACE = (
    "ovs-appctl ofproto/trace br-int in_port=<ofport>,udp,dl_src={mac},dl_dst=ff:ff:ff:ff:ff:ff,"
    "nw_src=0.0.0.0,nw_dst=255.255.255.255,udp_src=68,udp_dst=67"
)
CHASSIS = f"{SBCTL} list Chassis; {SBCTL} list Encap"

CHAIN = ChainDefinition(
    name="ovn_port",
    stages=(StageName.BOOT, StageName.METADATA),
    applies=lambda cloud: cloud.back_end == "ovn" and bool(cloud.stores),
    subject=lambda cloud: cloud.port.id if cloud.port else None,
    links=(
        LinkDefinition(
            "ovn_northbound_active",
            "ovn-nb-db",
            northbound_active,
            controller,
            "ovn-appctl -t /var/run/ovn/ovnnb_db.ctl ovsdb-server/sync-status",
        ),
        LinkDefinition(
            "ovn_southbound_active",
            "ovn-sb-db",
            southbound_active,
            controller,
            "ovn-appctl -t /var/run/ovn/ovnsb_db.ctl ovsdb-server/sync-status",
        ),
        LinkDefinition("ovn_northd_active", "ovn-northd", northd_active, controller, "ovn-appctl -t ovn-northd status"),
        LinkDefinition(
            "ovn_northd_translates",
            "ovn-northd",
            northd_translates,
            controller,
            f"{NBCTL} list NB_Global; {SBCTL} list SB_Global",
        ),
        LinkDefinition("ovn_host_remote", "ovn-controller", host_remote, here, f"{SETTINGS}:ovn-remote"),
        LinkDefinition(
            "ovn_host_connected",
            "ovn-controller",
            host_connected,
            here,
            "ovn-appctl -t ovn-controller connection-status",
        ),
        LinkDefinition("ovn_chassis_registered", "ovn-controller", chassis_registered, here, CHASSIS, controller),
        LinkDefinition("ovn_chassis_address", "ovn-controller", chassis_address, here, f"{SETTINGS}:ovn-encap-ip"),
        LinkDefinition("ovn_chassis_protocol", "ovn-controller", chassis_protocol, here, f"{SETTINGS}:ovn-encap-type"),
        LinkDefinition("ovn_integration_bridge", "ovn-controller", integration_bridge, here, "ovs-vsctl list Bridge"),
        LinkDefinition(
            "ovn_chassis_current",
            "ovn-controller",
            chassis_current,
            here,
            f"{SBCTL} list Chassis_Private",
            controller,
        ),
        LinkDefinition(
            "ovn_physical_network", "ovn-controller", physical_network, here, f"{SETTINGS}:ovn-bridge-mappings"
        ),
        LinkDefinition("ovn_port_bound", "neutron-server", port_bound, controller, "openstack port show {port}"),
        LinkDefinition(
            "ovn_northbound_port",
            "neutron-server",
            northbound_port,
            controller,
            f"{NBCTL} find Logical_Switch_Port name={{port}}",
        ),
        LinkDefinition(
            "ovn_northbound_addresses",
            "ovn-nb-db",
            northbound_addresses,
            controller,
            f"{NBCTL} list Logical_Switch_Port {{port}}",
        ),
        LinkDefinition(
            "ovn_northbound_dhcp",
            "ovn-nb-db",
            northbound_dhcp,
            controller,
            f"{NBCTL} lsp-get-dhcpv4-options {{port}}; {NBCTL} list DHCP_Options",
        ),
        LinkDefinition("ovn_foreign_acls", "ovn-nb-db", foreign_acls, controller, f"{NBCTL} list ACL"),
        LinkDefinition(
            "ovn_southbound_port",
            "ovn-northd",
            southbound_port,
            controller,
            f"{SBCTL} find Port_Binding logical_port={{port}}",
        ),
        LinkDefinition("ovn_plugged", "ovsdb", plugged, here, "ovs-vsctl find Interface external_ids:iface-id={port}"),
        LinkDefinition(
            "ovn_claimed",
            "ovn-controller",
            claimed,
            here,
            f"{SBCTL} find Port_Binding logical_port={{port}}",
            controller,
        ),
        LinkDefinition(
            "ovn_installed",
            "ovn-controller",
            installed,
            here,
            "ovs-vsctl find Interface external_ids:iface-id={port}",
        ),
        LinkDefinition("ovn_dhcp_flow", "ovn-controller", lambda cloud: passes(cloud, "dhcp"), here, DHCP_TRACE),
        LinkDefinition("ovn_up", "ovn-northd", up, controller, f"{NBCTL} list Logical_Switch_Port {{port}}"),
        LinkDefinition("ovn_tunnels", "ovn-controller", tunnels, here, "ovs-vsctl show"),
    ),
)
