# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How OVN reaches the outside: a router's gateway on a host that has the external network, and its floating IPs."""

from __future__ import annotations

from .._model.instance import Port
from .._model.stores import Chassis, Switch
from .._model.words import StageName
from .cloud import Cloud
from .definitions import HOLDS, NOT_APPLICABLE, ChainDefinition, Found, LinkDefinition, broken, holds_if
from .ovn_port import NBCTL, SBCTL, SETTINGS, controller, is_current
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
    databases = cloud.databases[1] if cloud.databases else None
    if databases is None or not databases.networks or not cloud.chassis:
        return NOT_APPLICABLE
    own = {network.id for network in cloud.instance.networks} if cloud.instance else set()
    outer = [network.physical for network in databases.networks if network.id not in own]
    for physical in sorted(set(outer)):
        if any(physical in chassis.mappings for chassis in gateways(cloud)):
            continue
        known = sorted({name for chassis in gateways(cloud) for name in chassis.mappings})
        if any(physical in chassis.mappings for chassis in cloud.chassis):
            return broken(", ".join(known) or "none", physical)
        return broken(physical, ", ".join(known) or "none", owner="ovn-nb-db", host=cloud.database_host)
    return HOLDS


def current(cloud: Cloud) -> Found:
    rows = cloud.chassis_of(gateway_host(cloud))
    return is_current(cloud, rows[0] if rows else None)


def placed(cloud: Cloud) -> Found:
    """Check whether the router's gateway is on a host."""
    routers = list(cloud.routers)
    if not routers or cloud.is_unread(cloud.database_host, "OVN's routers"):
        return NOT_APPLICABLE
    needs_gateway = any(found.mac for _router, found in routers) or any(port.floating_ips for port in ports_of(cloud))
    if not needs_gateway:
        return NOT_APPLICABLE
    return holds_if(any(found.gateway for _router, found in routers), "none")


def ports_of(cloud: Cloud) -> tuple[Port, ...]:
    return cloud.instance.ports if cloud.instance else ()


def translated(cloud: Cloud) -> Found:
    """Check whether OVN has a rule for each floating IP of the port."""
    if cloud.port is None or not cloud.port.floating_ips:
        return NOT_APPLICABLE
    known = {floating.address for _router, found in cloud.routers for floating in found.floating_ips}
    missing = [address for address in cloud.port.floating_ips if address not in known]
    return holds_if(not missing, ", ".join(missing))


def patched(cloud: Cloud) -> Found:
    """Check whether the bridge of the external network is connected with that of the ports."""
    switch = cloud.switch(gateway_host(cloud))
    databases = cloud.databases[1] if cloud.databases else None
    if switch is None or databases is None or not databases.networks or not list(cloud.routers):
        return NOT_APPLICABLE
    pairs = [pair.partition(":") for pair in switch.settings.get("ovn-bridge-mappings", "").split(",") if pair]
    bridges = {name: bridge for name, _colon, bridge in pairs}
    for network in databases.networks:
        bridge = bridges.get(network.physical)
        if bridge is None:
            continue
        if switch.bridge(bridge) is None:
            return broken("none", bridge)
        if not any(is_patch(switch, name) for name in names_on(switch, bridge)):
            return broken("no patch", bridge)
    return HOLDS


def is_patch(switch: Switch, name: str) -> bool:
    return any(one.name == name and one.kind == "patch" and not one.error for one in switch.interfaces)


CHAIN = ChainDefinition(
    name="ovn_gateway",
    stages=(StageName.BOOT, StageName.METADATA),
    applies=lambda cloud: cloud.back_end == "ovn" and bool(cloud.network and cloud.network.routers),
    subject=lambda cloud: next((router for router, _found in cloud.routers), None),
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
)
