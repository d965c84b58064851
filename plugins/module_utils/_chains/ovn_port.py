# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How OVN carries a port from Neutron's database to the switch of its host."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, filterfalse
from operator import attrgetter

from .._model.chain import LinkState
from .._model.facts import DhcpOptions, SwitchInterface
from .._model.instance import LOCALPORT, Port, Subnet
from .._model.stores import Bridge, Chassis, Interface, Limit, Switch
from .._model.words import StageName
from .cloud import Cloud
from .definitions import (
    HOLDS,
    ChainDefinition,
    Found,
    LinkDefinition,
    applies_if,
    broken,
    common,
    decided,
    given,
    here,
    holds_if,
    listed,
    passes,
    passes_logically,
    read,
    unreadable_if,
)
from .ovn_chassis import (
    ON_ITS_WAY,
    SBCTL,
    SETTINGS,
    UNBOUND,
    chassis_links,
    controller,
    own_chassis,
)
from .ports import (
    integration_of,
    link_of_taken_packets,
    links_of_ports,
    patched,
    takes_packets,
)
from .services import SERVER, host_with

ACTIVE = "active"
# What becomes of a packet that OVN answers itself
ANSWERED = "answered"
# ... and of one that it lets through
SENT = "sent"
# As OVN writes a route: {169.254.169.254/32,192.168.0.2, 0.0.0.0/0,192.168.0.1}
METADATA_ROUTE = re.compile(r"169\.254\.169\.254/32,\s*([0-9.]+)")
# How the clients of OVN's databases end without one
NO_CONNECTION = re.compile(r"database connection failed \((?P<why>[^)]*)")
# Without one of these a guest can make no use of its lease.
DHCP_OPTIONS = ("lease_time", "server_id", "server_mac")


def northbound_active(cloud: Cloud) -> Found:
    state = read(read(cloud.databases).northbound)
    return holds_if(state == ACTIVE, state, ACTIVE)


def southbound_active(cloud: Cloud) -> Found:
    state = read(read(cloud.databases).southbound)
    return holds_if(state == ACTIVE, state, ACTIVE)


def northbound_open(cloud: Cloud) -> Found:
    return socket_open(cloud, "OVN's versions", northbound_active)


def southbound_open(cloud: Cloud) -> Found:
    return socket_open(cloud, "OVN's chassis", southbound_active)


def socket_open(
    cloud: Cloud, what: str, is_active: Callable[[Cloud], Found]
) -> Found:
    """Check whether a database that works takes connections at its own socket, by which northd reads and writes it.

    what: what was to be read there.
    """
    applies_if(is_active(cloud).state is LinkState.HOLDS)
    for entry in cloud.unread(cloud.database_host, what):
        refused = NO_CONNECTION.search(entry.reason)
        if refused:
            return broken(refused["why"])
    return HOLDS


def northd_active(cloud: Cloud) -> Found:
    """Check whether any northd works: of several the others stand by."""
    states = [
        stores.ovn.northd
        for stores in cloud.stores.values()
        if stores.ovn and stores.ovn.northd
    ]
    if not states and cloud.hangs(cloud.database_host, "the state of northd"):
        return broken("no answer", ACTIVE)
    unreadable_if(not states)
    return holds_if(ACTIVE in states, states[0], ACTIVE)


def northd_translates(cloud: Cloud) -> Found:
    databases = read(cloud.databases)
    version, translated = read(databases.version), read(databases.translated)
    return holds_if(
        version - translated <= ON_ITS_WAY, str(translated), str(version)
    )


def integration_bridge(cloud: Cloud) -> Found:
    """Check whether the bridge is there, with the datapath that other hosts have."""
    own = bridge_of_integration(read(cloud.switch(cloud.host)))
    if own is None:
        return broken("none")
    # Hosts of another kind, as with DPDK, have another one, and it works.
    interface = given(cloud.interface(cloud.host))
    applies_if(interface.error or is_deaf(cloud))
    others = [
        bridge_of_integration(switch)
        for host, switch in cloud.switches.items()
        if host != cloud.host
    ]
    expected = common(bridge.datapath for bridge in filter(None, others))
    return holds_if(expected in (None, own.datapath), own.datapath, expected)


def is_deaf(cloud: Cloud) -> bool:
    """Return whether the switch takes nothing of what the guest sends."""
    return decided(takes_packets, cloud).state is LinkState.BROKEN


def bridge_of_integration(switch: Switch) -> Bridge | None:
    return switch.bridge(integration_of(switch))


def port_bound(cloud: Cloud) -> Found:
    port = given(cloud.port)
    applies_if(port.host)
    kind = given(port.kind)
    return holds_if(kind not in UNBOUND, kind)


def physical_network(cloud: Cloud) -> Found:
    """Check whether the host reaches the physical network that the port's network is on."""
    mappings = own_chassis(cloud, given(cloud.host)).mappings
    return all_mapped(cloud, own_physical_networks(cloud), mappings)


def own_physical_networks(cloud: Cloud) -> set[str]:
    """Return the physical networks that the port's network is on."""
    network = given(cloud.network)
    networks = given(given(cloud.databases).networks)
    needed = {one.physical for one in networks if one.id == network.id}
    applies_if(needed)
    return needed


def all_mapped(
    cloud: Cloud, needed: set[str], mappings: Sequence[str]
) -> Found:
    """Return whether physical networks are reached, and whose mistake it is if one is not."""
    missing = sorted(needed.difference(mappings))
    if not missing:
        return HOLDS
    physical, mapped = missing[0], listed(mappings)
    # A name that no host knows was written wrongly where all of them read it.
    mappings_of = attrgetter("mappings")
    known = list(chain.from_iterable(map(mappings_of, cloud.chassis)))
    if known and physical not in known:
        owner, host = giver_of(cloud, physical)
        return broken(physical, mapped, owner=owner, host=host)
    return broken(mapped, physical)


def giver_of(cloud: Cloud, physical: str) -> tuple[str, str | None]:
    """Return who has a wrong name of a physical network, and where: Neutron, if its network has it as well as OVN."""
    if cloud.network_or_empty.physical == physical:
        return SERVER, host_with(cloud, SERVER)
    return "ovn-nb-db", cloud.database_host


def northbound_port(cloud: Cloud) -> Found:
    given(cloud.port)
    given(cloud.databases)
    found = read(cloud.ovn_port)
    unreadable_if(cloud.is_unread(cloud.database_host, "OVN's port"))
    # Nova deletes the port between the look at Neutron and that at OVN.
    applies_if(found.logical is not None or not cloud.is_given_up)
    return holds_if(found.logical is not None, "none")


def northbound_addresses(cloud: Cloud) -> Found:
    port, logical = given(cloud.port), given(cloud.logical_port)
    if not logical.enabled:
        return broken("disabled", "enabled")
    words = set(" ".join(logical.addresses).split())
    needed = [port.mac, *port.addresses]
    is_there = words.issuperset(needed) or "unknown" in words
    return holds_if(
        is_there, " ".join(logical.addresses) or "none", " ".join(needed)
    )


def northbound_dhcp(cloud: Cloud) -> Found:
    """Check whether the port has the DHCP options that its subnet asks for."""
    given(cloud.logical_port)
    applies_if(cloud.wants_dhcp)
    unreadable_if(cloud.is_unread(cloud.database_host, "OVN's DHCP options"))
    found = given(cloud.ovn_port).dhcp
    if found is None:
        return broken("none")
    subnets = {subnet.cidr: subnet for subnet in given(cloud.network).subnets}
    if found.cidr not in subnets:
        return broken(f"those of {found.cidr}", listed(subnets))
    needed = needed_options(cloud, subnets[found.cidr])
    missing = [name for name in needed if not found.options.get(name)]
    if missing:
        return broken(f"without {', '.join(missing)}")
    options = found.options.items()
    wrong = [
        f"wrong {name} ({value}, not {wanted(name, found, cloud)})"
        for name, value in options
        if not is_wanted(name, value, found, cloud)
    ]
    return holds_if(not wrong, ", ".join(wrong))


def needed_options(cloud: Cloud, subnet: Subnet) -> list[str]:
    """Return the options that a guest needs, and those that Neutron gives for such a subnet."""
    needed = list(DHCP_OPTIONS)
    if subnet.gateway:
        needed.append("router")
    if answering(cloud):
        needed.append("classless_static_route")
    return needed


def is_wanted(
    name: str, value: str, options: DhcpOptions, cloud: Cloud
) -> bool:
    """Return whether an option has a value that Neutron gives it for the subnet and the network."""
    network = given(cloud.network)
    if name == "router":
        gateways = [
            subnet.gateway
            for subnet in network.subnets
            if subnet.cidr == options.cidr
        ]
        return not gateways or value in gateways
    if name == "mtu":
        return network.mtu is None or value == str(network.mtu)
    if name == "classless_static_route":
        return leads_to_metadata(value, cloud)
    return True


def wanted(name: str, options: DhcpOptions, cloud: Cloud) -> str:
    """Return the value that Neutron gives to an option, in words."""
    network = given(cloud.network)
    gateways = [
        subnet.gateway or "none"
        for subnet in network.subnets
        if subnet.cidr == options.cidr
    ]
    values = {
        "router": listed(gateways),
        "mtu": str(network.mtu),
        "classless_static_route": f"to 169.254.169.254 by {listed(answering(cloud))}",
    }
    return values[name]


def answering(cloud: Cloud) -> list[str]:
    """Return the addresses at which OVN's metadata port answers on the network."""
    return sorted(
        set(
            chain.from_iterable(
                port.addresses for port in cloud.serving(LOCALPORT)
            )
        )
    )


def leads_to_metadata(routes: str, cloud: Cloud) -> bool:
    """Return whether routes lead to the address of metadata by a port that answers there, as far as one is known."""
    known = set(answering(cloud))
    hops = METADATA_ROUTE.findall(routes)
    return not (known and hops) or not known.isdisjoint(hops)


def security_rules(cloud: Cloud) -> Found:
    """Check whether OVN has the rules of each security group of the port."""
    given(cloud.logical_port)
    groups = given(cloud.in_ovn.groups)
    for group, rules in given(given(cloud.port).security_rules).items():
        found = groups.get(f"pg_{group.replace('-', '_')}", 0)
        if found < len(rules):
            return broken(str(found), str(len(rules)), subject=group)
    return HOLDS


def foreign_acls(cloud: Cloud) -> Found:
    """Look for a rule that drops packets of the port, and that Neutron did not make."""
    acls = given(given(cloud.databases).acls)
    groups = given(cloud.ovn_port).groups or {}
    holders = {*groups, f"neutron-{given(cloud.port).network}"}
    acl = next((acl for acl in acls if acl.holder in holders), None)
    if acl is None:
        return HOLDS
    found = broken(
        f"{acl.action} {acl.direction} {acl.priority} {acl.match}",
        subject=acl.holder,
    )
    match = shlex.quote(acl.match)
    removal = f"acl-del {acl.holder} {acl.direction} {acl.priority} {match}"
    return replace(found, mend=f"{NBCTL} {removal}")


def unlimited(cloud: Cloud) -> Found:
    """Look for a limit on the port's network that Neutron did not set."""
    limits = given(given(cloud.databases).limits)
    port = given(cloud.port)
    own = list(filter(partial(is_about, port), limits))
    if not own:
        return HOLDS
    return replace(
        broken("; ".join(limit.text for limit in own)),
        mend="; ".join(dict.fromkeys(limit.removal for limit in own)),
    )


def is_about(port: Port, limit: Limit) -> bool:
    """Return whether a limit is on the network of a port, and not on one other port there."""
    is_of_all = "port ==" not in limit.text
    is_there = limit.holder == f"neutron-{port.network}"
    return is_there and (is_of_all or port.id in limit.text)


def southbound_port(cloud: Cloud) -> Found:
    given(cloud.logical_port)
    unreadable_if(
        cloud.is_unread(cloud.database_host, "OVN's binding of the port")
    )
    return holds_if(cloud.binding is not None, "none")


def plugged(cloud: Cloud) -> Found:
    """Check whether Open vSwitch has made the interface. Without one the server has not come so far."""
    interface = cloud.interface(cloud.host)
    if interface is None:
        applies_if(cloud.is_in_domain)
        return broken("none has the port's id")
    # libvirt makes the device when it starts the domain, after Nova has made the port of the switch.
    applies_if(cloud.is_in_domain or not interface.waits_for_device)
    return is_on_switch(interface)


def is_on_switch(interface: SwitchInterface | Interface) -> Found:
    is_there = interface.ofport is not None and interface.ofport > 0
    return holds_if(is_there, interface.error or "no number of a port")


def claimed(cloud: Cloud) -> Found:
    given(cloud.interface(cloud.host))
    host = cloud.name_of(given(cloud.binding).host)
    return holds_if(host == cloud.host, host or "none", cloud.host)


def installed(cloud: Cloud) -> Found:
    given(cloud.binding)
    return holds_if(given(cloud.interface(cloud.host)).by_ovn)


def dhcp_answered(cloud: Cloud) -> Found:
    """Check whether the host's flows answer a request for a lease that OVN's logical flows answer."""
    applies_if(given(cloud.logical_trace("dhcp")).outcome == ANSWERED)
    outcome = given(cloud.trace("dhcp")).outcome
    return holds_if(outcome == ANSWERED, outcome)


def carried(cloud: Cloud) -> Found:
    """Check whether the host's flows let a request for metadata pass that OVN's logical flows let pass."""
    applies_if(given(cloud.logical_trace("metadata")).outcome == SENT)
    switch = given(cloud.switch(cloud.host))
    # Without the port of metadata there, no flow leads to it.
    serving = [port.id for port in cloud.serving(LOCALPORT)]
    applies_if(switch.interface_of(serving))
    return passes(cloud, "metadata")


def up(cloud: Cloud) -> Found:
    applies_if(given(cloud.interface(cloud.host)).by_ovn)
    return holds_if(given(cloud.logical_port).up)


def noticed(cloud: Cloud) -> Found:
    """Check whether Neutron has heard from OVN that the port is up, which it tells Nova."""
    port = given(cloud.port)
    applies_if(given(cloud.logical_port).up)
    applies_if(not port.disabled)
    # An agent of DHCP has to be ready as well.
    applies_if(not given(cloud.network).dhcp_ports)
    applies_if(wired_for(cloud) > SLOW_NEWS_S)
    return holds_if(port.status == PORT_UP, port.status, PORT_UP)


def wired_for(cloud: Cloud) -> float:
    """Return for how long the host had carried the port when Neutron was asked for its status."""
    interface = given(cloud.interface(cloud.host))
    applies_if(interface.by_ovn)
    age_s = given(given(interface.flows).oldest_s)
    read_at = given(cloud.record.evidence).started
    return given(cloud.instance).queried - (read_at - age_s)


def connected(cloud: Cloud) -> Found:
    """Check whether the port's bridge is connected with that of its physical network, as it is for ports in use."""
    applies_if(given(cloud.interface(cloud.host)).by_ovn)
    switch = given(cloud.switch(cloud.host))
    return all_patched(switch, own_physical_networks(cloud))


def all_patched(switch: Switch, needed: set[str]) -> Found:
    """Return whether the bridge of each physical network, if it is mapped, is connected with that of the ports."""
    for physical in sorted(needed.intersection(switch.mappings)):
        bridge = switch.mappings[physical]
        found = patched(switch, bridge, integration_of(switch))
        if found.state is LinkState.BROKEN:
            return found
    return HOLDS


def tunnels(cloud: Cloud) -> Found:
    """Check whether Open vSwitch has a tunnel to each gateway, where tunnels carry the port's network."""
    applies_if(not cloud.is_on_physical_network)
    switch = given(cloud.switch(cloud.host))
    own = own_chassis(cloud, given(cloud.host))
    made = [interface for interface in switch.interfaces if interface.remote]
    applies_if(made)  # else no network of this cloud needs tunnels
    errors = sorted(filter(None, map(attrgetter("error"), made)))
    working = filterfalse(attrgetter("error"), made)
    remotes = set(map(attrgetter("remote"), working))
    missing = [
        gateway.host
        for gateway in cloud.gateways
        if gateway is not own
        and remotes.isdisjoint(addresses_of_tunnels(gateway))
    ]
    led_nowhere = ", ".join(sorted(missing))
    why = f" ({errors[0]})" if errors else ""
    return holds_if(not missing, f"{led_nowhere}{why}")


def addresses_of_tunnels(chassis: Chassis) -> set[str]:
    return set(map(attrgetter("address"), chassis.encapsulations))


NBCTL = "ovn-nbctl --no-leader-only"
# The status of a port that Neutron takes to be up
PORT_UP = "ACTIVE"
# In seconds: a busy Neutron hears of a port that late.
SLOW_NEWS_S = 10
# A trace has a command of its own; these show where its packet went where that is not known.
FLOWS = "ovs-ofctl dump-flows br-int"
LOGICAL_FLOWS = "ovn-sbctl --no-leader-only lflow-list neutron-{network}"

CHAIN = ChainDefinition(
    name="ovn_port",
    stages=(StageName.BOOT, StageName.METADATA, StageName.JOURNEY),
    applies=lambda cloud: cloud.back_end == "ovn" and bool(cloud.stores),
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
        LinkDefinition(
            "ovn_northbound_open",
            "ovn-nb-db",
            northbound_open,
            controller,
            f"{NBCTL} list NB_Global",
        ),
        LinkDefinition(
            "ovn_southbound_open",
            "ovn-sb-db",
            southbound_open,
            controller,
            f"{SBCTL} list SB_Global",
        ),
        LinkDefinition(
            "ovn_northd_active",
            "ovn-northd",
            northd_active,
            controller,
            "ovn-appctl -t ovn-northd status",
        ),
        LinkDefinition(
            "ovn_northd_translates",
            "ovn-northd",
            northd_translates,
            controller,
            f"{NBCTL} list NB_Global; {SBCTL} list SB_Global",
        ),
        *chassis_links(here),
        LinkDefinition(
            "ovn_integration_bridge",
            "ovn-controller",
            integration_bridge,
            here,
            "ovs-vsctl list Bridge",
        ),
        LinkDefinition(
            "ovn_physical_network",
            "ovn-controller",
            physical_network,
            here,
            f"{SETTINGS}:ovn-bridge-mappings",
        ),
        *links_of_ports("", here, own_physical_networks),
        LinkDefinition(
            "ovn_port_bound",
            SERVER,
            port_bound,
            controller,
            "openstack port show {port}",
        ),
        LinkDefinition(
            "ovn_northbound_port",
            SERVER,
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
        LinkDefinition(
            "ovn_security_rules",
            "ovn-nb-db",
            security_rules,
            controller,
            f"{NBCTL} list Port_Group; {NBCTL} list ACL",
        ),
        LinkDefinition(
            "ovn_foreign_acls",
            "ovn-nb-db",
            foreign_acls,
            controller,
            f"{NBCTL} list ACL",
        ),
        LinkDefinition(
            "ovn_southbound_port",
            "ovn-northd",
            southbound_port,
            controller,
            f"{SBCTL} find Port_Binding logical_port={{port}}",
        ),
        LinkDefinition(
            "dhcp_logical",
            "ovn-nb-db",
            lambda cloud: passes_logically(cloud, "dhcp"),
            controller,
            LOGICAL_FLOWS,
        ),
        LinkDefinition(
            "ovn_plugged",
            "ovsdb",
            plugged,
            here,
            "ovs-vsctl find Interface external_ids:iface-id={port}",
        ),
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
        LinkDefinition(
            "ovn_connected",
            "ovn-controller",
            connected,
            here,
            "ovs-vsctl show",
        ),
        LinkDefinition(
            "ovn_dhcp_flow",
            "ovn-controller",
            lambda cloud: passes(cloud, "dhcp"),
            here,
            FLOWS,
        ),
        LinkDefinition(
            "ovn_dhcp_answered",
            "ovn-controller",
            dhcp_answered,
            here,
            FLOWS,
        ),
        LinkDefinition("ovn_carried", "ovn-controller", carried, here, FLOWS),
        link_of_taken_packets("ovn_taken"),
        LinkDefinition(
            "ovn_up",
            "ovn-northd",
            up,
            controller,
            f"{NBCTL} list Logical_Switch_Port {{port}}",
        ),
        LinkDefinition(
            "ovn_noticed",
            SERVER,
            noticed,
            controller,
            "openstack port show {port}",
        ),
        LinkDefinition(
            "ovn_tunnels", "ovn-controller", tunnels, here, "ovs-vsctl show"
        ),
        # The last one: a limit may be wide enough.
        LinkDefinition(
            "ovn_unlimited",
            "ovn-nb-db",
            unlimited,
            controller,
            f"{NBCTL} list QoS; {NBCTL} list Copp; {NBCTL} meter-list",
        ),
    ),
)
