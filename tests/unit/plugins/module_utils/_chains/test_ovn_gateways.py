# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The chain of a floating IP on a real cloud with two gateways, which hear nothing of each other."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._chains.all_chains import walked
from ansible_collections.stackproof.provision.plugins.module_utils._model.chain import Link, LinkState
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages import links
from tree import RECORDED

Json = dict[str, Any]
CUT_OFF: Json = json.loads((RECORDED / "chains" / "ovn_gateways.json").read_text())
IN_TOUCH = "ovn_gateway_in_touch"


def tunnels(record: Json) -> list[Json]:
    interfaces = [one for host in record["hosts"] for one in host["stores"]["switch"]["interfaces"]]
    return [one for one in interfaces if one["kind"] == "geneve"]


def links_of(record: Json) -> dict[str, Link]:
    chains = {chain.name: chain for chain in walked(from_json(Record, record), "metadata")}
    return {link.code: link for link in chains["ovn_gateway"].links}


def test_gateways_that_hear_nothing_of_each_other_take_no_router() -> None:
    found = links_of(CUT_OFF)
    link = found[IN_TOUCH]
    assert (link.state, link.owner, link.host) == (LinkState.BROKEN, "data network", "devstack1")
    assert links.broken(link)[0] == (
        "no gateway hears of another one (BFD), so none takes a router; "
        "tunnels: 10.67.4.11 to 10.67.4.12, 10.67.4.12 to 10.67.4.11"
    )
    assert found["ovn_gateway_placed"].state is LinkState.BROKEN


@pytest.mark.parametrize(
    ("disabled", "wanted"),
    [(True, LinkState.BROKEN), (False, LinkState.HOLDS), (None, LinkState.NOT_APPLICABLE)],
    ids=["disabled", "enabled", "not read"],
)
def test_a_disabled_router_forwards_nothing(disabled: bool | None, wanted: LinkState) -> None:
    record = copy.deepcopy(CUT_OFF)
    databases = next(host["stores"]["ovn"] for host in record["hosts"] if (host["stores"] or {}).get("ovn"))
    routers = record["instance"]["networks"][0]["routers"]
    if disabled is not None:
        databases["disabled_routers"] = routers if disabled else ["another"]
    link = links_of(record)["ovn_gateway_enabled"]
    assert (link.state, link.owner) == (wanted, "neutron-server")


@pytest.mark.parametrize(("own", "wanted"), [(True, LinkState.HOLDS), (False, LinkState.BROKEN)])
def test_a_floating_ip_leads_to_an_address_of_the_port(own: bool, wanted: LinkState) -> None:
    record = copy.deepcopy(CUT_OFF)
    port = record["instance"]["ports"][0]
    port["floating_ips"] = ["172.29.0.9"]
    fixed = port["addresses"][0] if own else "192.0.2.9"
    translation = {"address": "172.29.0.9", "fixed": fixed, "mac": None}
    for router in routers_in_ovn(record):
        router["floating_ips"] = [translation]
    link = links_of(record)["ovn_gateway_translated"]
    assert link.state is wanted
    assert link.found == (None if own else "172.29.0.9 (its rule leads to 192.0.2.9)")


@pytest.mark.parametrize(
    ("states", "wanted"),
    [(("up", "up"), LinkState.HOLDS), (("up", "down"), LinkState.HOLDS), ((None, None), LinkState.NOT_APPLICABLE)],
    ids=["both up", "one of several", "sessions that were not read"],
)
def test_one_session_that_is_up_is_enough(states: tuple[str | None, ...], wanted: LinkState) -> None:
    record = copy.deepcopy(CUT_OFF)
    for tunnel, state in zip(tunnels(record), states, strict=True):
        tunnel.pop("bfd")
        if state:
            tunnel["bfd"] = state
    assert links_of(record)[IN_TOUCH].state is wanted


def routers_in_ovn(record: Json) -> list[Json]:
    in_ovn = next(host["facts"]["ovn"] for host in record["hosts"] if (host["facts"] or {}).get("ovn"))
    return [router for port in in_ovn.values() for router in port["routers"].values()]


def databases(record: Json) -> Json:
    found: Json = next(host["stores"]["ovn"] for host in record["hosts"] if (host["stores"] or {}).get("ovn"))
    return found


def leading_to(record: Json, physical: str) -> None:
    """Have the instance's router lead to a network on a physical network."""
    (router,) = record["instance"]["networks"][0]["routers"]
    databases(record)["networks"] = [
        {"id": "outside", "physical": physical},
        {"id": "of-others", "physical": "storage"},
    ]
    databases(record)["external_gateways"] = [{"router": router, "network": "outside"}]


@pytest.mark.parametrize(("physical", "wanted"), [("public", LinkState.HOLDS), ("elsewhere", LinkState.BROKEN)])
def test_a_gateway_must_reach_the_network_outside_and_no_other(physical: str, wanted: LinkState) -> None:
    record = copy.deepcopy(CUT_OFF)
    leading_to(record, physical)
    assert links_of(record)["ovn_gateway_mapped"].state is wanted


def test_the_gateway_that_has_the_router_must_reach_the_network_outside() -> None:
    record = copy.deepcopy(CUT_OFF)
    leading_to(record, "public")
    here, _other = databases(record)["chassis"]
    here["mappings"] = []
    assert links_of(record)["ovn_gateway_mapped"].state is LinkState.HOLDS
    for router in routers_in_ovn(record):
        router["gateway"] = here["host"]
    link = links_of(record)["ovn_gateway_mapped"]
    assert (link.state, link.owner, link.host) == (LinkState.BROKEN, "ovn-controller", here["host"])


def test_without_the_external_gateways_nothing_is_known_of_a_mapping() -> None:
    assert links_of(CUT_OFF)["ovn_gateway_mapped"].state is LinkState.NOT_APPLICABLE


MAC = "fa:16:3e:0e:e9:d1"


@pytest.mark.parametrize(
    ("gateway", "mac", "ping", "wanted"),
    [
        ("devstack1", MAC, "silent", LinkState.BROKEN),
        ("devstack1", MAC, "answered", LinkState.HOLDS),
        # The way to the gateway may be broken as well, and inside the guest's own host there is no other one.
        ("devstack1", None, "silent", LinkState.NOT_APPLICABLE),
        ("devstack2", MAC, "silent", LinkState.NOT_APPLICABLE),
    ],
    ids=["lost between two hosts", "answered", "no answer to ARP", "on one host"],
)
def test_what_a_gateway_that_answers_passes_on_has_to_come_back(
    gateway: str, mac: str | None, ping: str, wanted: LinkState
) -> None:
    record = copy.deepcopy(CUT_OFF)
    for router in routers_in_ovn(record):
        router["gateway"] = gateway
    details = next(stage for stage in record["stages"] if stage["stage"] == "metadata")["details"]
    details["reached"]["ping"]["status"] = ping
    details["reached"]["mac"] = mac
    link = links_of(record)["ovn_gateway_delivered"]
    assert (link.state, link.owner, link.host) == (wanted, "data network", None)
    assert link.subject == ("between devstack1 and devstack2" if wanted is LinkState.BROKEN else None)
