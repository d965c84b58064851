# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The chain of a router on a real cloud whose L3 agent had a wrong password for the queue, and with other breaks."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._chains.all_chains import walked
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import router
from ansible_collections.stackproof.provision.plugins.module_utils._model.chain import Chain, LinkState
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json, to_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.host import Examination
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages import links
from recorded_hosts import count_flows, printed
from tree import RECORDED

Json = dict[str, Any]
Change = Callable[[Json], None]
WRONG: Json = json.loads((RECORDED / "chains" / "router.json").read_text())
NETWORK = WRONG["instance"]["networks"][0]
(ROUTER,) = NETWORK["routers"]
L3 = "neutron-l3-agent"
HERE = "network1"
(RECORDED_ROUTER,) = (
    name.removeprefix("qrouter-") for name in printed("network1-router", "ls").split() if "qrouter" in name
)


def chains_of(*changes: Change) -> dict[str, Chain]:
    record = copy.deepcopy(WRONG)
    for change in changes:
        change(record)
    return {chain.name: chain for chain in walked(from_json(Record, record), "metadata")}


def network_host(record: Json) -> Json:
    found: Json = next(host for host in record["hosts"] if host["host"] == HERE)
    return found


def instance_host(record: Json) -> Json:
    found: Json = next(host for host in record["hosts"] if host["host"] == record["instance"]["server"]["host"])
    return found


def reporting(record: Json) -> None:
    next(one for one in record["agents"] if one["component"] == L3)["state"] = "up"


def bound(record: Json) -> None:
    (port,) = (
        one for one in record["instance"]["networks"][0]["serving"] if one["owner"] == "network:router_interface"
    )
    port.update(host=HERE, kind="ovs")


@pytest.fixture
def served(replay: Any) -> Change:
    """Give the network host a router as another lab's had it, and the instance that router's floating IP."""
    found = router.read(replay("network1-router"), [RECORDED_ROUTER])[RECORDED_ROUTER]
    assert found is not None

    def serve(record: Json) -> None:
        routed = to_json(found)
        network_host(record)["facts"]["routers"] = {ROUTER: routed}
        outer = {"name": routed["external"][0]["name"], "ofport": 9, "tag": 2, "kind": "internal"}
        network_host(record)["stores"]["switch"]["interfaces"].append(outer)
        port = record["instance"]["ports"][0]
        port["floating_ips"] = [found.inbound[0].address]
        for rule in (*routed["inbound"], *routed["outbound"]):
            rule["fixed"] = port["addresses"][0]
        network_host(record)["stores"]["obstacles"] = []
        traces = instance_host(record)["stores"]["traces"]
        traces.append({**traces[0], "packet": "ping"})

    return serve


def recorded_router(record: Json) -> Json:
    found: Json = network_host(record)["facts"]["routers"][ROUTER]
    return found


def without_address(record: Json) -> None:
    recorded_router(record)["external"][0]["addresses"] = []


def down(record: Json) -> None:
    recorded_router(record)["external"][0]["up"] = False


def without_rule(record: Json) -> None:
    recorded_router(record)["inbound"] = []


def one_way(record: Json) -> None:
    recorded_router(record)["outbound"] = []


def to_another(record: Json) -> None:
    recorded_router(record)["inbound"][0]["fixed"] = "192.0.2.9"


def in_dead_vlan(record: Json) -> None:
    network_host(record)["stores"]["switch"]["interfaces"][-1]["tag"] = 4095


def not_opened(record: Json) -> None:
    network_host(record)["stores"]["switch"]["interfaces"][-1]["error"] = "could not open network device"


@pytest.mark.parametrize(
    ("change", "owner", "found"),
    [(in_dead_vlan, "neutron-l2-agent", "VLAN 4095"), (not_opened, "ovsdb", "could not open network device")],
)
def test_the_routers_way_to_the_outside_is_wired_by_the_agent_of_the_switch(
    change: Change, owner: str, found: str, served: Change
) -> None:
    link = chains_of(reporting, bound, served, change)["ovs_router"].broken
    assert link is not None
    assert (link.code, link.owner, link.host, link.found) == ("router_wired", owner, HERE, found)


@pytest.mark.parametrize(
    ("mtu", "state"), [(1000, LinkState.BROKEN), (9000, LinkState.HOLDS), (None, LinkState.NOT_APPLICABLE)]
)
def test_a_router_takes_packets_as_large_as_the_network_does(mtu: int | None, state: LinkState, served: Change) -> None:
    def narrow(record: Json) -> None:
        serving = record["instance"]["networks"][0]["serving"]
        (port,) = (one for one in serving if one["owner"] == "network:router_interface")
        mtus = {f"qr-{port['id'][:11]}": mtu, recorded_router(record)["external"][0]["name"]: 500}
        recorded_router(record)["mtus"] = mtus if mtu else None

    links_by_code = {link.code: link for link in chains_of(reporting, bound, served, narrow)["ovs_router"].links}
    link = links_by_code["router_wide"]
    assert (link.state, link.owner, link.host) == (state, L3, HERE)
    assert (link.found, link.expected) == (("1000", "1500") if state is LinkState.BROKEN else (None, None))


FOREIGN = "-A FORWARD -p tcp -m tcp --dport 22 -j DROP"


def obstructed(kind: str, identity: str) -> Change:
    """Have a foreign rule in the namespace of a router or of a network."""
    space = f"{kind}-{identity}"
    command = f"ip netns exec {space} iptables-save"
    obstacle = {"namespace": space, "text": FOREIGN, "command": command}
    return lambda record: network_host(record)["stores"].update(obstacles=[obstacle])


def test_a_foreign_rule_in_the_namespace_of_a_network_keeps_dnsmasq_from_its_guests() -> None:
    def leased(record: Json) -> None:
        next(one for one in record["agents"] if one["component"] == "neutron-dhcp-agent")["state"] = "up"

    links_by_code = {link.code: link for link in chains_of(leased, obstructed("qdhcp", NETWORK["id"]))["dhcp"].links}
    link = links_by_code["dhcp_unobstructed"]
    assert (link.state, link.owner, link.host, link.found) == (LinkState.BROKEN, "neutron-dhcp-agent", HERE, FOREIGN)
    of_another = {one.code: one for one in chains_of(obstructed("qdhcp", "1d"))["dhcp"].links}
    assert of_another["dhcp_unobstructed"].state is LinkState.HOLDS


def test_an_agent_that_cannot_log_in_at_the_queue_breaks_the_chain_before_that_of_metadata() -> None:
    chains = chains_of()
    router_break, metadata_break = chains["ovs_router"].broken, chains["metadata"].broken
    assert router_break is not None
    assert (router_break.code, router_break.owner, router_break.host) == ("router_agent_alive", L3, HERE)
    assert metadata_break is not None
    assert (metadata_break.code, metadata_break.owner, metadata_break.host) == ("metadata_process", L3, HERE)
    assert list(chains).index("ovs_router") < list(chains).index("metadata")


def test_without_a_router_the_dhcp_agent_has_to_start_the_proxy() -> None:
    def isolated(record: Json) -> None:
        record["instance"]["networks"][0]["routers"] = []

    chains = chains_of(isolated)
    assert "ovs_router" not in chains
    broken = chains["metadata"].broken
    assert broken is not None
    assert (broken.code, broken.owner) == ("metadata_process", "neutron-dhcp-agent")


def test_the_chain_of_a_router_with_its_floating_ip_holds(served: Change) -> None:
    states = {link.code: link.state for link in chains_of(reporting, bound, served, count_flows)["ovs_router"].links}
    assert set(states.values()) == {LinkState.HOLDS}, states


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ([reporting], "router_bound"),
        ([reporting, bound], "router_namespace"),
        ([reporting, bound, "served", obstructed("qrouter", ROUTER)], "router_unobstructed"),
        ([reporting, bound, "served", without_address], "router_gateway"),
        ([reporting, bound, "served", down], "router_gateway"),
        ([reporting, bound, "served", without_rule], "router_translated"),
        ([reporting, bound, "served", one_way], "router_translated"),
        ([reporting, bound, "served", to_another], "router_translated"),
    ],
)
def test_each_link_of_the_router_breaks(changes: list[Change | str], code: str, served: Change) -> None:
    link = chains_of(*(served if isinstance(one, str) else one for one in changes))["ovs_router"].broken
    assert link is not None
    assert (link.code, link.owner, link.host) == (code, L3, HERE)
    assert link.command
    assert "<" not in link.command
    assert all(text and "None" not in text and "{" not in text for text in links.broken(link))


def test_a_flow_that_drops_the_packets_to_the_router_breaks_its_chain_on_the_host_of_the_instance(
    served: Change,
) -> None:
    def dropping(record: Json) -> None:
        instance_host(record)["stores"]["traces"][-1].update(outcome="dropped", table=0, rule="icmp, priority 65000")

    link = chains_of(reporting, bound, served, dropping)["ovs_router"].broken
    assert link is not None
    assert (link.code, link.owner, link.host) == ("ping_flow", "neutron-l2-agent", "compute1")
    assert links.broken(link)[0] == "a flow drops the guest's packets to its router: table 0, icmp, priority 65000"
    assert link.command == "ovs-ofctl dump-flows br-int"


def on_standby(record: Json) -> None:
    """Have a second host with the same router, which is not the active one."""
    standby = copy.deepcopy(recorded_router(record))
    standby["external"][0].update(up=False, addresses=[])
    standby["inbound"] = []
    other = next(host for host in record["hosts"] if host["host"] == "controller1")
    other["facts"]["routers"] = {ROUTER: standby}


def distributed(record: Json) -> None:
    record["instance"]["networks"][0]["on_computes"] = True


def outside(record: Json) -> None:
    """Have the network be one on which a router of others has its gateway."""
    for port in record["instance"]["networks"][0]["serving"]:
        port["owner"] = port["owner"].replace("router_interface", "router_gateway")


def test_the_router_of_one_active_host_is_enough(served: Change) -> None:
    assert chains_of(reporting, bound, served, on_standby)["ovs_router"].broken is None


@pytest.mark.parametrize("change", [distributed, outside])
def test_a_router_that_no_single_agent_serves_for_the_network_has_no_chain(change: Change) -> None:
    assert "ovs_router" not in chains_of(change)


@pytest.mark.parametrize(("what", "code"), [("addresses", "router_gateway"), ("translations", "router_translated")])
def test_what_could_not_be_read_of_a_router_breaks_nothing(what: str, code: str, served: Change) -> None:
    def unread(record: Json) -> None:
        without_address(record)
        without_rule(record)
        refused = {"kind": "refused", "what": f"the router's {what}", "reason": "sudo: a password is required"}
        network_host(record)["unread"].append(refused)

    links_by_code = {link.code: link for link in chains_of(reporting, bound, served, unread)["ovs_router"].links}
    assert links_by_code[code].state is LinkState.UNREADABLE


def of_others(record: Json) -> None:
    """Have the server be one of others: nobody has read its console."""
    record["operation"] = {"asked": record["started"], "action": "create", "subject": "web"}
    for stage in record["stages"]:
        stage["details"].pop("guest", None)


def without_lease(record: Json) -> None:
    """Have dnsmasq keep no address for the port."""
    for host in record["hosts"]:
        for service in (host["facts"].get("dhcp") or {}).values():
            service["leases"] = []


def with_config_drive(record: Json) -> None:
    record["instance"]["server"]["config_drive"] = True


def with_requests(record: Json) -> None:
    request = {"at": 1795262400.0, "resolution_s": 1.0, "status": 200, "path": "/openstack/latest/meta_data.json"}
    for host in record["hosts"]:
        for proxies in (host["facts"].get("metadata") or {}).values():
            for proxy in proxies:
                proxy["requests"] = [request]


def on_ovn_port(record: Json) -> None:
    serving = record["instance"]["networks"][0]["serving"]
    serving.append({**serving[0], "owner": "network:distributed"})


def with_proxies(*owners: str) -> Change:
    """Have the host run a metadata proxy of each owner, without the address that guests ask."""

    def change(record: Json) -> None:
        (host,) = [host for host in record["hosts"] if host["host"] == HERE]
        proxies = [
            {"owner": owner, "processes": [number], "requests": [], "addresses": ["127.0.0.1"]}
            for number, owner in enumerate(owners, 7)
        ]
        host["facts"]["metadata"] = {record["instance"]["ports"][0]["id"]: proxies}

    return change


def test_a_router_passes_requests_to_its_proxy_without_having_the_address() -> None:
    alone = {link.code: link for link in chains_of(with_proxies(ROUTER))["metadata"].links}
    assert alone["metadata_address"].state is LinkState.NOT_APPLICABLE
    # As with force_metadata, the DHCP agent has one beside it.
    both = {link.code: link for link in chains_of(with_proxies(ROUTER, NETWORK["id"]))["metadata"].links}[
        "metadata_address"
    ]
    assert (both.state, both.owner, both.host) == (LinkState.BROKEN, "neutron-dhcp-agent", HERE)


def over_ipv6_alone(record: Json) -> None:
    record["instance"]["ports"][0]["addresses"] = ["fd57::f816:3eff:fe00:1"]


def test_a_guest_of_ipv6_alone_needs_a_proxy_on_its_own_link() -> None:
    """Its address of the metadata is one of the link: a router does not pass it on."""
    links_of_both = chains_of(over_ipv6_alone, with_proxies(ROUTER, NETWORK["id"]))["metadata"].links
    states = {link.code: link.state for link in links_of_both}
    assert states["metadata_on_link"] is LinkState.HOLDS
    assert states["metadata_asked"] is LinkState.NOT_APPLICABLE

    def of_router(record: Json) -> None:
        with_proxies(ROUTER, NETWORK["id"])(record)
        (proxies,) = network_host(record)["facts"]["metadata"].values()
        proxies[1]["processes"] = []

    broken = chains_of(over_ipv6_alone, of_router)["metadata"].broken
    assert broken is not None
    assert (broken.code, broken.owner, broken.host) == ("metadata_on_link", "neutron-dhcp-agent", HERE)
    states = {link.code: link.state for link in chains_of(of_router)["metadata"].links}
    assert states["metadata_on_link"] is LinkState.NOT_APPLICABLE


CONTROLLER, NOWHERE = "10.71.16.12", "10.71.16.99"


@pytest.mark.parametrize(
    ("reach", "state"),
    [
        ({"nova-api-metadata": (CONTROLLER, "open")}, LinkState.HOLDS),
        ({"nova-api-metadata": (NOWHERE, "no route to host")}, LinkState.BROKEN),
        # A balancer has an address of its own; if it does not answer, others miss it as well.
        ({"nova-api-metadata": (NOWHERE, "open")}, LinkState.HOLDS),
        ({"nova-api-metadata": (NOWHERE, "silent"), "keystone": (NOWHERE, "silent")}, LinkState.HOLDS),
    ],
)
def test_an_address_of_the_metadata_service_that_leads_nowhere_is_its_agents(reach: Any, state: LinkState) -> None:
    def probed(record: Json) -> None:
        probes = [
            {"component": component, "address": address, "port": 8775, "how": how, "named_by": ["neutron"]}
            for component, (address, how) in reach.items()
        ]
        network_host(record)["examination"] = {**to_json(Examination()), "reach": probes}

    links_by_code = {link.code: link for link in chains_of(with_proxies(ROUTER), probed)["metadata"].links}
    assert links_by_code["metadata_api_address"].state is state


@pytest.mark.parametrize(
    ("changes", "is_walked"),
    [
        ([], True),
        ([with_config_drive], False),
        ([of_others], True),
        ([of_others, with_config_drive], False),
        ([of_others, without_lease], False),
        ([of_others, without_lease, with_requests], True),
        ([of_others, without_lease, on_ovn_port], True),
    ],
)
def test_metadata_is_expected_if_the_guest_has_an_address_or_has_asked_for_it(
    changes: list[Change], is_walked: bool
) -> None:
    assert ("metadata" in chains_of(*changes)) is is_walked
