# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The chain between two guests of a real run, in which a foreign flow on the second one's host dropped its pings."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._chains.all_chains import walked
from ansible_collections.stackproof.provision.plugins.module_utils._model.chain import Chain, Link, LinkState
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages import links
from tree import RECORDED

Json = dict[str, Any]
Change = Callable[[Json], None]
DROPPED: Json = json.loads((RECORDED / "chains" / "guest_path.json").read_text())
RULE = "icmp, priority 40000, cookie 0xbad"
FIRST, SECOND = "compute1", "compute2"
ADDRESSES = {FIRST: "10.71.16.14", SECOND: "10.71.16.15"}


def chain_of(*changes: Change) -> Chain:
    record = copy.deepcopy(DROPPED)
    for change in changes:
        change(record)
    return next(chain for chain in chains_of(record) if chain.name == "guest_path")


def chains_of(record: Json) -> tuple[Chain, ...]:
    return walked(from_json(Record, record), "dataplane")


def broken_by(*changes: Change) -> Link:
    link = chain_of(*changes).broken
    assert link is not None
    assert all(text and "None" not in text and "{" not in text for text in links.broken(link))
    return link


def host(record: Json, name: str) -> Json:
    found: Json = next(one for one in record["hosts"] if one["host"] == name)
    return found


def traces(record: Json, name: str) -> list[Json]:
    found: list[Json] = host(record, name)["stores"]["traces"]
    return found


def sent(record: Json) -> None:
    for trace in traces(record, SECOND):
        trace.update(outcome="sent", table=None, rule=None)


def lost_on_arrival(record: Json) -> None:
    (trace,) = (one for one in traces(record, FIRST) if one["packet"] == "from_guest_ping")
    trace.update(outcome="dropped", table=0, rule=RULE)


def untraced(record: Json) -> None:
    for name in (FIRST, SECOND):
        traces(record, name).clear()


def tunnels_to(*remotes: str, at: str = SECOND, local: str | None = None) -> Change:
    """Have the network in tunnels: those of a guest's host to these addresses, and one of the other host to that."""

    def change(record: Json) -> None:
        for path in record["instance"]["paths"]:
            path["target_network"]["kind"] = "vxlan"
        for name in (FIRST, SECOND):
            ends = remotes if name == at else (ADDRESSES[at],)
            begin = local if local and name == at else ADDRESSES[name]
            tunnel = {"name": "vxlan-1", "kind": "vxlan", "ofport": 3, "local": begin}
            host(record, name)["stores"]["switch"]["interfaces"] += [{**tunnel, "remote": end} for end in ends]

    return change


def test_a_foreign_flow_is_quoted_on_the_host_that_it_is_on() -> None:
    link = broken_by()
    assert (link.code, link.owner, link.host) == ("path_sent", "neutron-l2-agent", SECOND)
    assert links.broken(link)[0] == f"a flow drops packets to the other guest: table 0, {RULE}"


def test_the_trace_is_shown_as_it_was_made_and_where() -> None:
    link = broken_by()
    (trace,) = (one for one in traces(DROPPED, SECOND) if one["packet"] == "to_guest_ping")
    assert trace["command"].startswith("ovs-appctl ofproto/trace br-int in_port=")
    assert (link.command, link.reader) == (trace["command"], SECOND)


def test_a_packet_that_leaves_one_host_may_be_dropped_on_the_other() -> None:
    link = broken_by(sent, lost_on_arrival)
    assert (link.code, link.owner, link.host) == ("path_received", "neutron-l2-agent", FIRST)
    assert links.broken(link)[0] == f"a flow drops packets of the other guest: table 0, {RULE}"
    assert (link.command or "").startswith("ovs-appctl ofproto/trace --names br-ex in_port=")


@pytest.mark.parametrize("name", [FIRST, SECOND])
def test_a_port_that_drops_breaks_the_path_on_either_host(name: str) -> None:
    def dropping(record: Json) -> None:
        uplink = next(one for one in host(record, name)["stores"]["switch"]["interfaces"] if one["name"] == "eth1")
        uplink["drops"] = "incoming packets"

    link = broken_by(dropping)
    assert (link.code, link.owner, link.host, link.subject) == ("path_ports_open", "ovsdb", name, "eth1")


@pytest.mark.parametrize("name", [FIRST, SECOND])
def test_a_bridge_without_a_wire_breaks_the_path_on_either_host(name: str) -> None:
    def unplugged(record: Json) -> None:
        for bridge in host(record, name)["stores"]["switch"]["bridges"]:
            bridge["interfaces"] = [one for one in bridge["interfaces"] if one != "eth1"]

    link = broken_by(unplugged)
    assert (link.code, link.owner, link.host) == ("path_bridge_wired", "ovsdb", name)


@pytest.mark.parametrize("name", [FIRST, SECOND])
def test_a_bridge_without_flows_breaks_the_path_on_either_host(name: str) -> None:
    def emptied(record: Json) -> None:
        for bridge in switch_of(record, FIRST)["bridges"] + switch_of(record, SECOND)["bridges"]:
            bridge["flows"] = 7
        switch_of(record, name)["bridges"][0]["flows"] = 0

    link = broken_by(emptied)
    assert (link.code, link.owner, link.host) == ("path_bridge_flows", "neutron-l2-agent", name)


def switch_of(record: Json, name: str) -> Json:
    found: Json = host(record, name)["stores"]["switch"]
    return found


def test_hosts_of_which_none_has_a_wire_are_not_unlike_each_other() -> None:
    def unplugged(record: Json) -> None:
        for one in filter(None, (one["stores"] for one in record["hosts"])):
            switch = one.get("switch") or {"interfaces": []}
            switch["interfaces"] = [link for link in switch["interfaces"] if link["name"] != "eth1"]

    states = {link.code: link.state for link in chain_of(sent, unplugged).links}
    assert states["path_bridge_wired"] is LinkState.HOLDS


def test_flows_that_let_all_pass_hold() -> None:
    states = {link.code: link.state for link in chain_of(sent).links}
    assert states == {
        "path_logical": LinkState.NOT_APPLICABLE,
        "path_tunnel_ends": LinkState.NOT_APPLICABLE,
        "path_tunnel": LinkState.NOT_APPLICABLE,
        "path_bridge_wired": LinkState.HOLDS,
        "path_ports_open": LinkState.HOLDS,
        "path_bridge_flows": LinkState.NOT_APPLICABLE,
        "path_sent": LinkState.HOLDS,
        "path_directed": LinkState.NOT_APPLICABLE,
        "path_received": LinkState.HOLDS,
    }


def test_what_was_not_traced_does_not_count() -> None:
    states = {link.code: link.state for link in chain_of(untraced).links}
    assert states["path_sent"] is states["path_received"] is LinkState.NOT_APPLICABLE


@pytest.mark.parametrize(("name", "other"), [(SECOND, FIRST), (FIRST, SECOND)])
def test_a_missing_tunnel_to_the_other_host_breaks_the_path(name: str, other: str) -> None:
    """What is sent has to be answered."""
    link = broken_by(sent, tunnels_to("192.0.2.9", at=name))
    assert (link.code, link.owner, link.host) == ("path_tunnel", "neutron-l2-agent", name)
    assert links.broken(link)[0] == f"no tunnel to {other}: Open vSwitch has tunnels to 192.0.2.9"
    assert chain_of(sent, tunnels_to("192.0.2.9", ADDRESSES[other], at=name)).broken is None


def test_a_tunnel_that_begins_at_the_address_of_another_host_is_its_own_hosts() -> None:
    """The other host has its tunnel to that address, and looks as if it were wrong."""
    link = broken_by(sent, tunnels_to(ADDRESSES[FIRST], local="10.9.9.9"))
    assert (link.code, link.owner, link.host) == ("path_tunnel_ends", "neutron-l2-agent", SECOND)
    assert links.broken(link)[0] == "its tunnels begin at 10.9.9.9, which is no address of the host"


@pytest.mark.parametrize(
    ("ends", "found"), [([], "none"), (["10.71.16.13"], "network1"), ([ADDRESSES[FIRST]], None), (None, None)]
)
def test_a_packet_has_to_go_into_the_tunnel_to_the_other_host(ends: list[str] | None, found: str | None) -> None:
    def ending(record: Json) -> None:
        for trace in traces(record, SECOND):
            trace["ends"] = ends

    chain = chain_of(sent, tunnels_to(ADDRESSES[FIRST]), ending)
    directed = next(link for link in chain.links if link.code == "path_directed")
    if found is None:
        assert chain.broken is None
        assert directed.state is (LinkState.HOLDS if ends else LinkState.NOT_APPLICABLE)
        return
    assert chain.broken == directed
    assert (directed.owner, directed.host, directed.found) == ("neutron-l2-agent", SECOND, found)
    assert links.broken(directed)[0] == (
        f"packets to the other guest do not go into the tunnel to {FIRST}; tunnels that they go into: {found}"
    )


def test_without_a_lost_packet_there_is_no_chain() -> None:
    record = copy.deepcopy(DROPPED)
    record["instance"]["paths"] = []
    assert "guest_path" not in {chain.name for chain in chains_of(record)}


OF_OVN: Json = json.loads((RECORDED / "chains" / "ovn.json").read_text())


@pytest.mark.parametrize("name", [FIRST, SECOND])
def test_with_ovn_each_of_both_hosts_takes_part(name: str) -> None:
    """Of a real run with OVN, with the paths of another one: what is looked at are the hosts of both guests."""
    record = copy.deepcopy(OF_OVN)
    record["instance"]["paths"] = DROPPED["instance"]["paths"]
    there = {"id": "s", "host": FIRST, "host_id": None}
    record["stages"].append({**record["stages"][-1], "stage": "dataplane", "details": {"server": there}})
    host(record, name)["stores"].update(controller="not connected")
    chains = {chain.name: chain for chain in walked(from_json(Record, record), "dataplane")}
    link = chains["guest_hosts"].broken
    assert link is not None
    assert (link.code, link.owner, link.host) == ("ovn_host_connected", "ovn-controller", name)
