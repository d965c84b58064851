# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The chains of a port on a real cloud with Neutron's agents, whose DHCP agent was stopped, and with other breaks."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._chains.all_chains import walked
from ansible_collections.stackproof.provision.plugins.module_utils._model.chain import Chain, LinkState
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages import links
from recorded_hosts import count_flows
from tree import RECORDED

Json = dict[str, Any]
STOPPED: Json = json.loads((RECORDED / "chains" / "agents.json").read_text())
HERE = STOPPED["instance"]["server"]["host"]
PORT = STOPPED["instance"]["ports"][0]["id"]
L2, DHCP = "neutron-l2-agent", "neutron-dhcp-agent"


def chains_of(*changes: Callable[[Json], None]) -> dict[str, Chain]:
    """Return the chains of the recorded run, after changes of what its hosts showed."""
    record = copy.deepcopy(STOPPED)
    for change in (count_flows, *changes):
        change(record)
    return {chain.name: chain for chain in walked(from_json(Record, record), "metadata")}


def host(record: Json, name: str) -> Json:
    found: Json = next(entry for entry in record["hosts"] if entry["host"] == name)
    return found


def agent(record: Json, component: str, name: str) -> Json:
    return next(one for one in record["agents"] if (one["component"], one["host"]) == (component, name))


def interface(record: Json) -> Json:
    found: Json = host(record, HERE)["facts"]["interfaces"][PORT]
    return found


def started(record: Json) -> None:
    """Have the DHCP agent run."""
    unit = next(one for one in host(record, "network1")["facts"]["services"] if one["component"] == DHCP)
    unit["state"] = "running"


def assigned(record: Json) -> None:
    """Give the agent a port on the network."""
    record["instance"]["networks"][0]["dhcp_ports"] = [record["instance"]["networks"][0]["subnets"][0]["gateway"]]


def unmapped(record: Json) -> None:
    agent(record, L2, HERE)["physical"] = {"other": "br-other"}


def unreported(record: Json) -> None:
    agent(record, L2, HERE)["state"] = "down"


def disabled(record: Json) -> None:
    agent(record, L2, HERE)["enabled"] = False


def unpatched(record: Json) -> None:
    switch = host(record, HERE)["stores"]["switch"]
    switch["interfaces"] = [one for one in switch["interfaces"] if one["name"] != "int-br-ex"]


def with_uplink_that_drops(record: Json) -> None:
    uplink = next(one for one in host(record, HERE)["stores"]["switch"]["interfaces"] if one["name"] == "eth1")
    uplink["drops"] = "incoming packets"


def with_tunnel_that_drops(record: Json) -> None:
    """Have the network in tunnels, of which the first one drops what it should send."""
    record["instance"]["networks"][0]["kind"] = "vxlan"
    agent(record, L2, HERE).update(tunnels=["vxlan"])
    switch = host(record, HERE)["stores"]["switch"]
    switch["bridges"].append({"name": "br-tun", "datapath": "netdev", "fail_mode": None, "interfaces": ["vxlan-1"]})
    switch["interfaces"].append({"name": "vxlan-1", "kind": "vxlan", "ofport": 2, "drops": "outgoing packets"})


def without_flows(record: Json) -> None:
    for bridge in host(record, HERE)["stores"]["switch"]["bridges"]:
        bridge["flows"] = 0 if bridge["name"] == "br-ex" else 21


def dead_vlan(record: Json) -> None:
    interface(record)["tag"] = 4095


def unplugged(record: Json) -> None:
    interface(record)["ofport"] = -1
    interface(record)["error"] = "could not open network device tap (No such device)"


def without_link(record: Json) -> None:
    interface(record)["link"]["up"] = False


def with_packets(record: Json, received: int, counted: int) -> None:
    interface(record)["link"]["received"] = received
    interface(record)["flows"].update(packets=counted, oldest_s=60.0)
    record["evidence"] = {"started": record["stages"][-1]["finished"], "finished": record["stages"][-1]["finished"]}


def without_forwarding(record: Json) -> None:
    with_packets(record, 40, 0)


def binding_failed(record: Json) -> None:
    record["instance"]["ports"][0]["kind"] = "binding_failed"


BREAKS = [
    (unmapped, "agent_carries_network", L2, HERE),
    (unreported, "agent_alive", L2, HERE),
    (disabled, "agent_alive", L2, HERE),
    (unpatched, "agent_patches", L2, HERE),
    (with_uplink_that_drops, "ports_open", "ovsdb", HERE),
    (with_tunnel_that_drops, "ports_open", "ovsdb", HERE),
    (without_flows, "bridge_flows", L2, HERE),
    (binding_failed, "ovs_bound", "neutron-server", None),
    (unplugged, "ovs_plugged", "ovsdb", HERE),
    (dead_vlan, "ovs_tagged", L2, HERE),
    (without_link, "ovs_linked", "libvirt", HERE),
    (without_forwarding, "ovs_taken", "ovsdb", HERE),
]


def test_an_agent_that_somebody_has_disabled_is_enabled_again() -> None:
    link = chains_of(disabled)["ovs_port"].broken
    assert link is not None
    assert link.mend == "openstack network agent set --enable <id>"


def test_a_physical_network_that_no_agent_knows_is_a_name_of_neutrons_own() -> None:
    def unknown_to_all(record: Json) -> None:
        record["instance"]["networks"][0]["physical"] = "pubilc"

    link = chains_of(unknown_to_all)["ovs_port"].broken
    assert link is not None
    assert (link.code, link.owner, link.host) == ("agent_carries_network", "neutron-server", "controller1")
    assert link.expected == "pubilc"


def unmapped_everywhere(record: Json) -> None:
    for one in record["agents"]:
        if one["component"] == L2:
            one["physical"] = {}


def of_one_agent(record: Json) -> None:
    record["agents"] = [one for one in record["agents"] if one["component"] != L2 or one["host"] == HERE]
    agent(record, L2, HERE)["physical"] = {"pubilc": "br-ex"}


@pytest.mark.parametrize("change", [unmapped_everywhere, of_one_agent])
def test_agents_without_a_mapping_and_a_single_agent_lack_it_themselves(change: Callable[[Json], None]) -> None:
    link = chains_of(change)["ovs_port"].broken
    assert link is not None
    assert (link.code, link.owner, link.host) == ("agent_carries_network", L2, HERE)


def test_a_port_that_no_host_has_taken_says_nothing_of_names() -> None:
    def given_up(record: Json) -> None:
        record["instance"]["ports"][0].update(kind="unbound", host=None)

    states = {link.code: link.state for link in chains_of(given_up)["ovs_port"].links}
    assert states["agent_named"] is LinkState.NOT_APPLICABLE


def test_a_stopped_agent_is_not_alive_although_neutron_still_takes_it_for_alive() -> None:
    assert agent(STOPPED, DHCP, "network1")["state"] == "up"
    link = chains_of()["dhcp"].broken
    assert link is not None
    assert (link.code, link.owner, link.host, link.found) == ("dhcp_agent_alive", DHCP, "network1", "stopped")


def test_an_agent_gets_no_port_where_the_agent_beside_it_does_not_carry_the_network() -> None:
    def unmapped_beside(record: Json) -> None:
        agent(record, L2, "network1")["physical"] = {"other": "br-other"}

    link = chains_of(started, unmapped_beside)["dhcp"].broken
    assert link is not None
    assert (link.code, link.owner, link.host) == ("dhcp_l2_agent_carries_network", L2, "network1")


def test_an_agent_that_runs_has_to_get_a_port_on_the_network() -> None:
    link = chains_of(started)["dhcp"].broken
    assert link is not None
    assert (link.code, link.owner, link.host) == ("dhcp_assigned", DHCP, "network1")


def test_an_agent_with_a_port_has_to_have_files_for_the_network() -> None:
    link = chains_of(started, assigned)["dhcp"].broken
    assert link is not None
    assert (link.code, link.owner, link.host) == ("dhcp_directory", DHCP, "network1")


@pytest.mark.parametrize(
    ("processes", "state"),
    [([{"pid": 7, "options": []}], LinkState.BROKEN), ([], LinkState.NOT_APPLICABLE)],
)
def test_what_does_not_run_loses_no_request_on_its_way(processes: list[Json], state: LinkState) -> None:
    def unheard(record: Json) -> None:
        facts = host(record, "network1")["facts"]["dhcp"][PORT]
        facts.update(directory="/var/lib/neutron/dhcp/x", processes=processes, log=[])

    links_of = {link.code: link.state for link in chains_of(started, assigned, unheard)["dhcp"].links}
    assert links_of["dhcp_received"] is state
    assert links_of["dhcp_process"] is (LinkState.HOLDS if processes else LinkState.BROKEN)


@pytest.mark.parametrize(
    ("messages", "state"),
    [
        (["DISCOVER", "OFFER", "REQUEST", "NAK", "REQUEST", "NAK"], LinkState.BROKEN),
        # A guest may ask for an address of old first.
        (["REQUEST", "NAK", "DISCOVER", "OFFER", "REQUEST", "ACK"], LinkState.HOLDS),
        (["DISCOVER", "OFFER"], LinkState.NOT_APPLICABLE),
    ],
)
def test_an_address_that_is_offered_has_to_be_given(messages: list[str], state: LinkState) -> None:
    def refused(record: Json) -> None:
        log = [
            {"kind": kind, "address": "192.168.222.5", "mac": "fa:16:3e:00:00:01", "at": 7.0, "resolution_s": 1}
            for kind in messages
        ]
        log[-1].update(why="no leases left")
        facts = host(record, "network1")["facts"]["dhcp"][PORT]
        facts.update(directory="/var/lib/neutron/dhcp/x", processes=[{"pid": 7, "options": []}], log=log)

    link = next(link for link in chains_of(started, assigned, refused)["dhcp"].links if link.code == "dhcp_granted")
    assert (link.state, link.owner, link.host) == (state, "dnsmasq", "network1")
    assert link.found == ("no leases left" if state is LinkState.BROKEN else None)


def tunneled(*cut_off: str) -> Callable[[Json], None]:
    """Have the network in tunnels between this host and that of dnsmasq; those of some hosts lead elsewhere."""

    def change(record: Json) -> None:
        record["instance"]["networks"][0].update(kind="vxlan", physical=None)
        for near, far in {HERE: "network1", "network1": HERE}.items():
            address = "192.0.2.9" if near in cut_off else host(record, far)["facts"]["addresses"][0]
            tunnel = {"name": "vxlan-1", "kind": "vxlan", "ofport": 3, "remote": address}
            host(record, near)["stores"]["switch"]["interfaces"].append(tunnel)

    return change


@pytest.mark.parametrize("name", [HERE, "network1"])
def test_where_tunnels_carry_the_network_those_to_dnsmasq_and_back_are_needed(name: str) -> None:
    links_of = {link.code: link for link in chains_of(started, assigned, tunneled(name))["dhcp"].links}
    link = links_of["dhcp_tunnels"]
    assert (link.state, link.owner, link.host) == (LinkState.BROKEN, L2, name)
    on_wires = {link.code: link.state for link in chains_of(started, assigned)["dhcp"].links}
    assert on_wires["dhcp_tunnels"] is LinkState.NOT_APPLICABLE


def test_tunnels_that_no_host_has_are_for_neutron_to_tell_of() -> None:
    def without(record: Json) -> None:
        record["instance"]["networks"][0].update(kind="vxlan", physical=None)

    link = {link.code: link for link in chains_of(started, assigned, without)["dhcp"].links}["dhcp_tunnels"]
    assert (link.state, link.owner, link.host) == (LinkState.BROKEN, "neutron-server", "controller1")


def test_neutron_finds_no_agent_that_calls_its_host_by_another_name() -> None:
    def renamed(record: Json) -> None:
        binding_failed(record)
        record["instance"]["ports"][0]["host"] = f"{HERE}.example.org"
        host(record, HERE)["facts"]["names"].append(f"{HERE}.example.org")

    link = chains_of(renamed)["ovs_port"].broken
    assert link is not None
    assert (link.code, link.owner, link.host) == ("agent_named", L2, HERE)
    assert (link.found, link.expected) == (HERE, f"{HERE}.example.org")


def test_the_tunnels_of_dnsmasqs_host_begin_there() -> None:
    def elsewhere(record: Json) -> None:
        for tunnel in host(record, "network1")["stores"]["switch"]["interfaces"]:
            if tunnel["kind"] == "vxlan":
                tunnel["local"] = "10.9.9.9"

    link = {link.code: link for link in chains_of(started, assigned, tunneled(), elsewhere)["dhcp"].links}[
        "dhcp_tunnel_ends"
    ]
    assert (link.state, link.owner, link.host, link.found) == (LinkState.BROKEN, L2, "network1", "10.9.9.9")


@pytest.mark.parametrize(("is_directed", "state"), [(True, LinkState.HOLDS), (False, LinkState.BROKEN)])
def test_a_request_has_to_go_into_the_tunnel_to_dnsmasq(is_directed: bool, state: LinkState) -> None:
    def traced(record: Json) -> None:
        ends = host(record, "network1")["facts"]["addresses"] if is_directed else []
        trace = {"port": PORT, "packet": "dhcp", "outcome": "sent", "table": None, "rule": None, "ends": ends}
        host(record, HERE)["stores"]["traces"] = [trace]

    link = {link.code: link for link in chains_of(started, assigned, tunneled(), traced)["dhcp"].links}["dhcp_directed"]
    assert (link.state, link.owner, link.host) == (state, L2, HERE)


def test_the_chain_of_the_port_holds() -> None:
    chain = chains_of(lambda record: with_packets(record, received=40, counted=38))["ovs_port"]
    assert {link.state for link in chain.links} == {LinkState.HOLDS}


@pytest.mark.parametrize(("change", "code", "owner", "place"), BREAKS, ids=[case[0].__name__ for case in BREAKS])
def test_each_link_of_the_port_breaks(change: Callable[[Json], None], code: str, owner: str, place: str | None) -> None:
    link = chains_of(change)["ovs_port"].broken
    assert link is not None
    assert (link.code, link.owner, link.host) == (code, owner, place)
    assert all(text and "None" not in text and "{" not in text for text in links.broken(link))


def spare_device_down(record: Json) -> None:
    """Give the bridge a second device, which nobody has brought up."""
    switch = host(record, HERE)["stores"]["switch"]
    switch["interfaces"].append({"name": "eth9", "kind": "", "ofport": 9, "drops": "all packets"})
    next(bridge for bridge in switch["bridges"] if bridge["name"] == "br-ex")["interfaces"].append("eth9")


def foreign_bridge_down(record: Json) -> None:
    switch = host(record, HERE)["stores"]["switch"]
    switch["interfaces"].append({"name": "eth9", "kind": "", "ofport": 1, "drops": "incoming packets"})
    switch["bridges"].append({"name": "br-9", "datapath": "system", "fail_mode": None, "interfaces": ["eth9"]})


def with_refused_ports(record: Json) -> None:
    with_uplink_that_drops(record)
    refused = {"kind": "refused", "what": "the ports of br-ex", "reason": "sudo: a password is required"}
    host(record, HERE)["unread"].append(refused)


@pytest.mark.parametrize("change", [spare_device_down, foreign_bridge_down, with_refused_ports])
def test_ports_that_the_network_does_not_use_or_nobody_read_break_nothing(change: Callable[[Json], None]) -> None:
    assert chains_of(change)["ovs_port"].broken is None


def test_no_chain_has_two_links_of_one_code() -> None:
    for chain in chains_of().values():
        codes = [link.code for link in chain.links]
        assert len(set(codes)) == len(codes)
