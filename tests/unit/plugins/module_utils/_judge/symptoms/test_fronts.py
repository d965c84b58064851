# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that mean another address, balancers without servers, and addresses that no host has."""

from __future__ import annotations

import as_json
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._judge.symptoms import fronts
from ansible_collections.stackproof.provision.plugins.module_utils._judge.weights import WEIGHTS
from ansible_collections.stackproof.provision.plugins.module_utils._model.symptom import Code
from cases_by_hand import case_of

HERE, ELSEWHERE = ["10.0.0.1"], ["10.0.0.9"]


def host(name, *components, facts=None, **examination):
    services = [{"component": one, "unit": f"{one}.service", "state": "running"} for one in components]
    return as_json.host(name, facts={"services": services, **(facts or {})}, examination=examination or None)


def reach(address, how="open", component="rabbitmq", port=5672):
    return {"component": component, "address": address, "port": port, "how": how, "named_by": ["nova"]}


def resolving(name, addresses, how="open", **facts):
    meaning = [{"name": "broker", "addresses": addresses}]
    return host(name, "nova-compute", facts=facts, names=meaning, reach=[reach("broker", how)])


def found(*hosts):
    return [(one.code, one.component, one.host, one.share) for one in fronts.names(case_of(hosts))]


def test_a_name_that_means_another_address_on_one_host_is_reported_there():
    hosts = [resolving("h1", HERE), resolving("h2", HERE), resolving("h3", ELSEWHERE, "refused")]
    assert found(*hosts) == [(Code.NAME_ELSEWHERE, "nova-compute", "h3", 1.0)]
    (symptom,) = fronts.names(case_of(hosts))
    assert (symptom.setting, symptom.reported) == ("broker", ("10.0.0.9", "10.0.0.1"))


def test_a_name_that_is_unknown_on_one_host_is_reported_there():
    hosts = [resolving("h1", HERE), resolving("h2", [], "no such name")]
    assert found(*hosts) == [(Code.NAME_UNRESOLVED, "nova-compute", "h2", 1.0)]


def test_another_address_that_answers_counts_less():
    hosts = [resolving("h1", HERE), resolving("h2", HERE), resolving("h3", ELSEWHERE)]
    assert [share for _code, _component, _host, share in found(*hosts)] == [WEIGHTS.name_that_answers]


@pytest.mark.parametrize(
    "hosts",
    [
        [resolving("h1", HERE)],
        [resolving("h1", []), resolving("h2", [])],
        [resolving("h1", HERE), resolving("h2", [*ELSEWHERE, *HERE])],
        # Its own name may mean an address of its own on a host.
        [resolving("h1", HERE), resolving("h2", HERE), resolving("h3", ["127.0.1.1"], names=["broker"])],
        # They do not agree, so that nobody knows which is right.
        [resolving("h1", ["10.0.0.1"]), resolving("h2", ["10.0.0.2"]), resolving("h3", ["10.0.0.3"])],
    ],
    ids=["one host", "unknown to all", "several addresses", "its own name", "no agreement"],
)
def test_a_name_that_is_not_odd_shows_nothing(hosts):
    assert found(*hosts) == []


DOWN = {"proxy": "nova_api", "server": "c2", "check": "Connection refused", "address": "10.0.0.2", "port": 8774}


def test_a_server_that_is_down_is_reported_with_what_it_is():
    balancer = host("c1", "haproxy", back_ends=[DOWN])
    behind = host("c2", "nova-api", facts={"addresses": ["10.0.0.2"]})
    (symptom,) = fronts.back_ends(case_of([balancer, behind]))
    assert (symptom.component, symptom.host) == ("haproxy", "c1")
    assert (symptom.peer, symptom.peer_host) == ("nova-api", "c2")
    assert (symptom.own, symptom.share) == (False, WEIGHTS.one_back_end)


def test_a_balancer_without_any_server_counts_whole():
    alone = {"proxy": "nova_api", "server": None, "check": "no server is up"}
    (symptom,) = fronts.back_ends(case_of([host("c1", "haproxy", back_ends=[alone])]))
    assert (symptom.own, symptom.share, symptom.peer) == (True, 1.0, None)


def shared(holders, how="silent", keeper="keepalived"):
    """Two hosts that may have an address, and a third that asks for it."""
    hosts = [
        host(name, keeper, facts={"addresses": ["10.0.0.100"] if name in holders else []}) for name in ("c1", "c2")
    ]
    asking = host("h1", "nova-compute", reach=[reach("10.0.0.100", how), reach("broker", how)])
    return [(one.code, one.component, one.host) for one in fronts.addresses(case_of([*hosts, asking]))]


def test_an_address_that_no_host_has_and_nobody_reaches_is_lost():
    assert shared([]) == [(Code.ADDRESS_MISSING, "keepalived", None)]
    # A host that is not in the inventory has it.
    assert shared([], how="open") == []
    assert shared([], keeper="nova-api") == []
    assert shared(["c1"]) == []


def test_an_address_that_two_hosts_have_is_reported_at_both():
    assert shared(["c1", "c2"]) == [(Code.ADDRESS_DUPLICATE, "keepalived", name) for name in ("c1", "c2")]
    assert shared(["c1", "c2"], keeper="nova-api") == []
