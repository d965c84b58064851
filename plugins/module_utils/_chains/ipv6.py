# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How guests learn of their IPv6 addresses: a router advertises them, by a radvd of its own or by OVN."""

from __future__ import annotations

from .._model.instance import ROUTER_INTERFACE
from .._model.words import StageName
from .cloud import Cloud
from .definitions import (
    ChainDefinition,
    Found,
    LinkDefinition,
    applies_if,
    given,
    holds_if,
    unreadable_if,
)
from .ovn_chassis import controller
from .ovn_port import NBCTL
from .ovs_router import AGENT, has_router, router_host


def has_ipv6(cloud: Cloud) -> bool:
    """Return whether the router of the run's network is to tell guests of their IPv6 addresses."""
    stage = cloud.record.stage_or_skipped(StageName.NETWORK)
    return bool(stage.details.get("ipv6")) and cloud.router_id is not None


def has_radvd(cloud: Cloud) -> Found:
    """Check whether a radvd runs for the router of the instance's network."""
    applies_if(has_router(cloud))
    host = router_host(cloud)
    unreadable_if(cloud.is_unread(host, "the advertised routers"))
    advertised = given(cloud.stores_of(host).advertised)
    return holds_if(given(cloud.router_id) in advertised)


def advertised_by_ovn(cloud: Cloud) -> Found:
    """Check whether OVN is to advertise a port of the router on the instance's network."""
    applies_if(cloud.back_end == "ovn")
    unreadable_if(cloud.is_unread(cloud.database_host, "OVN's router ports"))
    advertised = given(given(cloud.databases).advertised)
    ports = [port.id for port in cloud.serving(ROUTER_INTERFACE)]
    return holds_if(any(port in advertised for port in ports))


CHAIN = ChainDefinition(
    name="ipv6",
    stages=(StageName.DATAPLANE,),
    applies=has_ipv6,
    links=(
        LinkDefinition(
            "router_advertised",
            AGENT,
            has_radvd,
            router_host,
            "pgrep --full --list-full radvd.*{router}",
        ),
        LinkDefinition(
            "ovn_router_advertised",
            "neutron-server",
            advertised_by_ovn,
            controller,
            f"{NBCTL} --columns=name,ipv6_ra_configs list Logical_Router_Port",
        ),
    ),
)
