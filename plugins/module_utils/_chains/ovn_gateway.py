# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How OVN reaches the outside: a router's gateway on a host that has the external network, and its floating IPs."""

from __future__ import annotations

from .._model.stores import Chassis, Switch
from .._model.words import StageName
from .cloud import Cloud
from .definitions import HOLDS, ChainDefinition, Found, LinkDefinition, applies_if, broken, given, holds_if
from .ovn_port import NBCTL, SBCTL, SETTINGS, controller, is_current, not_mapped
from .ovs_port import names_on


def gateways(cloud: Cloud) -> list[Chassis]:
    """Return the chassis on which routers may be placed: those that are meant for it, or all."""
    return [chassis for chassis in cloud.chassis if chassis.is_gateway] or list(cloud.chassis)


def gateway_host(cloud: Cloud) -> str | None:
    """Return the host of the router's gateway, or the one on which it could be."""
    for _router, found in cloud.routers:
        if found.gateway:
            return cloud.name_of(found.gateway)
    candidates = gateways(cloud)
    return cloud.name_of(candidates[0].host) if len(candidates) == 1 else None


def mapped(cloud: Cloud) -> Found:
    """Check whether a gateway reaches each physical network that Neutron's networks are on."""
    applies_if(cloud.chassis)
    mappings = {name for chassis in gateways(cloud) for name in chassis.mappings}
    missing = sorted(outer_networks(cloud) - mappings)
    if not missing:
        return HOLDS
    return not_mapped(cloud, missing[0], ", ".join(sorted(mappings)) or "none")


def outer_networks(cloud: Cloud) -> set[str]:
    """Return the physical networks of the networks that the instance is not on itself."""
    networks = given(given(cloud.databases).networks)
    applies_if(networks)
    own = {network.id for network in cloud.instance.networks} if cloud.instance else set()
    return {network.physical for network in networks if network.id not in own}


def current(cloud: Cloud) -> Found:
    return is_current(cloud, given(next(iter(cloud.chassis_of(gateway_host(cloud))), None)))


def placed(cloud: Cloud) -> Found:
    """Check whether the router's gateway is on a host."""
    routers = [found for _router, found in cloud.routers]
    applies_if(not cloud.is_unread(cloud.database_host, "OVN's routers"))
    has_floating_ip = any(port.floating_ips for port in cloud.instance.ports) if cloud.instance else False
    applies_if(routers and (has_floating_ip or any(found.mac for found in routers)))
    return holds_if(any(found.gateway for found in routers), "none")


def translated(cloud: Cloud) -> Found:
    """Check whether OVN has a rule for each floating IP of the port."""
    addresses = given(cloud.port).floating_ips
    applies_if(addresses)
    known = {floating.address for _router, found in cloud.routers for floating in found.floating_ips}
    missing = [address for address in addresses if address not in known]
    return holds_if(not missing, ", ".join(missing))


def patched(cloud: Cloud) -> Found:
    """Check whether the bridge of the external network is connected with that of the ports."""
    switch = given(cloud.switch(gateway_host(cloud)))
    networks = given(given(cloud.databases).networks)
    applies_if(networks and list(cloud.routers))
    bridges = bridge_mappings(switch)
    for bridge in [bridges[network.physical] for network in networks if network.physical in bridges]:
        if switch.bridge(bridge) is None:
            return broken("none", bridge)
        if not any(is_patch(switch, name) for name in names_on(switch, bridge)):
            return broken("no patch", bridge)
    return HOLDS


def bridge_mappings(switch: Switch) -> dict[str, str]:
    """Return the bridge of each physical network, from a text such as physnet1:br-ex,physnet2:br-data."""
    text = switch.settings.get("ovn-bridge-mappings", "")
    pairs = [pair.partition(":") for pair in text.split(",") if pair]
    return {name: bridge for name, _colon, bridge in pairs}


def is_patch(switch: Switch, name: str) -> bool:
    return any(one.name == name and one.kind == "patch" and not one.error for one in switch.interfaces)


CHAIN = ChainDefinition(
    name="ovn_gateway",
    stages=(StageName.BOOT, StageName.METADATA),
    applies=lambda cloud: cloud.back_end == "ovn" and bool(cloud.network and cloud.network.routers),
    links=(
        LinkDefinition("ovn_gateway_mapped", "ovn-controller", mapped, gateway_host, f"{SETTINGS}:ovn-bridge-mappings"),
        LinkDefinition(
            "ovn_gateway_current",
            "ovn-controller",
            current,
            gateway_host,
            f"{SBCTL} list Chassis_Private",
            controller,
        ),
        LinkDefinition(
            "ovn_gateway_placed",
            "ovn-controller",
            placed,
            gateway_host,
            f"{SBCTL} find Port_Binding type=chassisredirect",
            controller,
        ),
        LinkDefinition("ovn_gateway_patched", "ovn-controller", patched, gateway_host, "ovs-vsctl show"),
        LinkDefinition("ovn_gateway_translated", "neutron-server", translated, controller, f"{NBCTL} list NAT"),
    ),
    subject=lambda cloud: next((router for router, _found in cloud.routers), None),
)
