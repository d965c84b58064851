# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The chain of a guest's IPv6 address, on the records of real clouds whose networks get a second subnet here."""

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
AGENTS: Json = json.loads((RECORDED / "chains" / "router.json").read_text())
OVN: Json = json.loads((RECORDED / "chains" / "ovn_gateways.json").read_text())
NETWORK_HOST = "network1"


def with_ipv6(record: Json) -> Json:
    record = copy.deepcopy(record)
    next(stage for stage in record["stages"] if stage["stage"] == "network")["details"]["ipv6"] = "slaac"
    return record


def links_of(record: Json) -> dict[str, Link]:
    chains = {chain.name: chain for chain in walked(from_json(Record, record), "dataplane")}
    return {link.code: link for link in chains["ipv6"].links} if "ipv6" in chains else {}


def with_radvd(*routers: str) -> Json:
    record = with_ipv6(AGENTS)
    host = next(host for host in record["hosts"] if host["host"] == NETWORK_HOST)
    host.setdefault("stores", {})["advertised"] = list(routers)
    return record


def test_a_router_without_a_radvd_is_a_break_at_its_agent() -> None:
    link = links_of(with_radvd("another"))["router_advertised"]
    assert (link.state, link.owner, link.host) == (LinkState.BROKEN, "neutron-l3-agent", NETWORK_HOST)
    assert links.broken(link)[0] == "no radvd runs for the router, so guests get no IPv6 address"


def test_a_router_with_a_radvd_holds() -> None:
    (router,) = AGENTS["instance"]["networks"][0]["routers"]
    assert links_of(with_radvd(router))["router_advertised"].state is LinkState.HOLDS


def test_a_network_without_ipv6_has_no_such_chain() -> None:
    assert links_of(AGENTS) == {}


@pytest.mark.parametrize(
    ("configured", "wanted"), [(True, LinkState.HOLDS), (False, LinkState.BROKEN)], ids=["configured", "empty"]
)
def test_ovn_must_be_told_to_advertise_the_port_of_the_router(configured: bool, wanted: LinkState) -> None:
    record = with_ipv6(OVN)
    serving = record["instance"]["networks"][0]["serving"]
    ports = [port["id"] for port in serving if port["owner"] == "network:router_interface"]
    databases = next(host["stores"]["ovn"] for host in record["hosts"] if (host.get("stores") or {}).get("ovn"))
    databases["advertised"] = ports if configured else []
    found = links_of(record)
    assert found["ovn_router_advertised"].state is wanted
    assert found["router_advertised"].state is LinkState.NOT_APPLICABLE
