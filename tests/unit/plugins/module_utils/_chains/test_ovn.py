# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The chains of a port on a real cloud with OVN: all links hold, and each breaks where its store is made wrong.

The values of the breaks are those that the same faults left in the stores of the lab.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._chains.all_chains import ALL, walked
from ansible_collections.stackproof.provision.plugins.module_utils._model.chain import Chain, LinkState
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.record import Record
from ansible_collections.stackproof.provision.plugins.module_utils._report.messages import links
from tree import RECORDED

Json = dict[str, Any]
HEALTHY: Json = json.loads((RECORDED / "chains" / "ovn.json").read_text())
HERE = HEALTHY["instance"]["server"]["host"]
PORT = HEALTHY["instance"]["ports"][0]["id"]
NETWORK = HEALTHY["instance"]["networks"][0]["id"]

ERROR_OF_NOVA = {
    "service": "nova-compute",
    "host": HERE,
    "logger": "nova.compute.manager",
    "exception": "nova.exception.ImageVCPULimitsRangeImpossible",
    "raised_in": None,
    "at": HEALTHY["started"],
    "count": 1,
    "how": None,
    "peer": None,
    "peer_address": None,
    "mentions": [],
    "quote": None,
    "own": True,
    "usual": None,
}
# As ovn-trace quotes the rules of tests/recorded/commands/ovn-trace.txt
FOREIGN = "ls_in_acl_eval: reg0[9] == 1 && (udp.dst == 67), priority 3100"
UNALLOWED = "ls_in_acl_eval: reg0[9] == 1 && (inport == @neutron_pg_drop && ip), priority 2001"


def chains_of(change: Callable[[Json], None] | None = None) -> dict[str, Chain]:
    """Return the chains of the recorded run, after a change of what its hosts showed."""
    record = copy.deepcopy(HEALTHY)
    if change:
        change(record)
    return {chain.name: chain for chain in walked(from_json(Record, record), "metadata")}


def host(record: Json, name: str) -> Json:
    return next(entry for entry in record["hosts"] if entry["host"] == name)


def databases(record: Json) -> Json:
    found: Json = host(record, "controller1")["stores"]["ovn"]
    return found


def in_ovn(record: Json) -> Json:
    found: Json = host(record, "controller1")["facts"]["ovn"][PORT]
    return found


def chassis(record: Json, name: str = HERE) -> Json:
    return next(row for row in databases(record)["chassis"] if row["host"] == name)


def switch(record: Json, name: str = HERE) -> Json:
    found: Json = host(record, name)["stores"]["switch"]
    return found


def set_external(name: str, value: str) -> Callable[[Json], None]:
    return lambda record: switch(record)["settings"].update({name: value})


def put(part: Callable[[Json], Json], **values: Any) -> Callable[[Json], None]:
    return lambda record: part(record).update(values)


def without_chassis(record: Json) -> None:
    databases(record)["chassis"] = [row for row in databases(record)["chassis"] if row["host"] != HERE]


def registered_twice(record: Json) -> None:
    databases(record)["chassis"].append({**chassis(record), "name": "other"})


def with_rule(record: Json) -> None:
    rule = {"action": "drop", "direction": "from-lport", "match": "udp", "priority": 2000}
    databases(record)["acls"].append({"holder": f"neutron-{NETWORK}", **rule})


def without_a_rule(record: Json) -> None:
    groups = in_ovn(record)["groups"]
    name = next(name for name in groups if name != "neutron_pg_drop")
    groups[name] -= 1


def with_logical_drop(packet: str, rule: str) -> Callable[[Json], None]:
    def change(record: Json) -> None:
        trace = next(trace for trace in databases(record)["traces"] if trace["packet"] == packet)
        trace.update(outcome="dropped", table=8, rule=rule, command="ovn-trace --ct=new")

    return change


def unplugged(record: Json) -> None:
    host(record, HERE)["facts"]["interfaces"][PORT] = None


def with_packets(record: Json, received: int, counted: int) -> None:
    interface = host(record, HERE)["facts"]["interfaces"][PORT]
    interface["link"]["received"] = received
    interface["flows"].update(packets=counted, oldest_s=60.0)
    # Only the stage metadata was kept of the recorded run.
    record["stages"].insert(0, {**record["stages"][0], "stage": "boot", "finished": record["stages"][0]["started"]})
    at = record["stages"][-1]["finished"]
    record["evidence"] = {"started": at, "finished": at}
    record["instance"]["queried"] = at


def unnoticed(record: Json) -> None:
    with_packets(record, received=0, counted=0)
    record["instance"]["ports"][0].update(status="DOWN")


def with_dropping_flow(record: Json) -> None:
    traces = host(record, HERE)["stores"]["traces"]
    traces[0].update(outcome="dropped", table=0, rule="udp,tp_dst=67, priority 65000")


def without_generic_flows(record: Json) -> None:
    """The flows that are no port's own are gone, as if somebody had removed all of them before the port came."""
    traces = host(record, HERE)["stores"]["traces"]
    traced = next(trace for trace in traces if trace["packet"] == "metadata")
    traced.update(outcome="dropped", table=40, rule="No match")


def with_request_sent_on(record: Json) -> None:
    host(record, HERE)["stores"]["traces"][0].update(outcome="sent")


def behind(record: Json) -> None:
    for row in databases(record)["chassis"]:
        row["version"] = 9 if row["host"] != HERE else 7


def unknown_to_all(record: Json) -> None:
    databases(record)["networks"].append({"id": NETWORK, "physical": "elsewhere"})


def without_mapping(record: Json) -> None:
    databases(record)["networks"].append({"id": NETWORK, "physical": "public"})
    chassis(record)["mappings"] = ["other"]


def mapped_to_no_bridge(record: Json) -> None:
    databases(record)["networks"].append({"id": NETWORK, "physical": "public"})
    switch(record)["settings"]["ovn-bridge-mappings"] = "public:br-provider"


def with_uplink_that_drops(record: Json) -> None:
    next(one for one in switch(record)["interfaces"] if one["name"] == "eth1")["drops"] = "incoming packets"


def without_wire(record: Json) -> None:
    for bridge in switch(record)["bridges"]:
        bridge["interfaces"] = [name for name in bridge["interfaces"] if name != "eth1"]


def with_counts(record: Json, **flows: int) -> None:
    """Set the number of flows of each bridge, by its name without br-."""
    for bridge in switch(record)["bridges"]:
        bridge["flows"] = flows[bridge["name"].removeprefix("br-")]


def without_flows(record: Json) -> None:
    with_counts(record, int=0, ex=1)


def test_flows_of_the_bridge_of_a_physical_network_are_not_of_ovn():
    """It has one that Open vSwitch makes itself, unless it is to wait for a controller."""
    link = chains_of(lambda record: with_counts(record, int=21, ex=0))["ovn_port"].broken
    assert link is not None
    assert (link.code, link.owner, link.subject) == ("bridge_flows", "ovsdb", "br-ex")
    assert links.broken(link)[0] == "the bridge br-ex has no flows, so it drops all packets"


def without_tunnel(record: Json) -> None:
    tunnels = [one for one in switch(record)["interfaces"] if one.get("remote")]
    switch(record)["interfaces"].remove(tunnels[0])


REMOVAL = "ovn-nbctl --no-leader-only remove Logical_Switch n qos_rules 1d"


def limited(network: str, match: str = "ip4") -> Callable[[Json], None]:
    text = f"to-lport {match}: 1 kbit/s"
    limits = [{"holder": network, "text": text, "removal": REMOVAL}] * 2
    return lambda record: databases(record)["limits"].extend(limits)


NO_SOCKET = "database connection failed (No such file or directory)"


def without_socket(what: str) -> Callable[[Json], None]:
    """The database works, and the file of its socket is gone."""
    reason = f"failed: ovn-nbctl list: ovn-nbctl: unix:/var/run/ovn/ovnnb_db.sock: {NO_SOCKET}"

    def change(record: Json) -> None:
        unread = host(record, "controller1").setdefault("unread", [])
        unread.append({"kind": "failed", "what": what, "reason": reason, "command": "ovn-nbctl list"})

    return change


def tunneled(change: Callable[[Json], None]) -> Callable[[Json], None]:
    """Return a change of a record whose network is carried by tunnels."""

    def changed(record: Json) -> None:
        record["instance"]["networks"][0].update(kind="geneve", physical=None)
        change(record)

    return changed


def uninstalled(record: Json) -> None:
    host(record, HERE)["facts"]["interfaces"][PORT].update(by_ovn=False)


def with_remote(record: Json) -> None:
    set_external("ovn-remote", "tcp:10.71.20.12:6641")(record)
    uninstalled(record)


def with_datapath(record: Json) -> None:
    next(one for one in switch(record)["bridges"] if one["name"] == "br-int").update(datapath="system")


def with_datapath_that_takes_nothing(record: Json) -> None:
    with_datapath(record)
    with_packets(record, received=40, counted=0)


def called_otherwise(record: Json) -> None:
    """The host has registered by another name than the one by which Neutron looks for it."""
    chassis(record).update(host=f"{HERE}.example.org")
    host(record, HERE)["facts"]["names"].append(f"{HERE}.example.org")
    record["instance"]["ports"][0].update(kind="binding_failed")
    # Neutron lists the agent by the name of its chassis.
    of_ovn = {"component": "ovn-controller", "host": f"{HERE}.example.org", "state": "up", "enabled": True}
    record["agents"] = [{**of_ovn, "last_report": None}]


BREAKS = {
    "ovn_northbound_active": (put(databases, northbound="backup"), "ovn-nb-db", "controller1"),
    "ovn_southbound_active": (put(databases, southbound="backup"), "ovn-sb-db", "controller1"),
    "ovn_northbound_open": (without_socket("OVN's versions"), "ovn-nb-db", "controller1"),
    "ovn_southbound_open": (without_socket("OVN's chassis"), "ovn-sb-db", "controller1"),
    "bridge_wired": (without_wire, "ovsdb", HERE),
    "ports_open": (with_uplink_that_drops, "ovsdb", HERE),
    "bridge_flows": (without_flows, "ovn-controller", HERE),
    "ovn_northd_active": (put(databases, northd="paused"), "ovn-northd", "controller1"),
    "ovn_northd_translates": (put(databases, version=9, translated=4), "ovn-northd", "controller1"),
    "ovn_host_remote": (with_remote, "ovn-controller", HERE),
    "ovn_host_connected": (
        lambda record: host(record, HERE)["stores"].update(controller="not connected"),
        "ovn-controller",
        HERE,
    ),
    "ovn_chassis_registered": (without_chassis, "ovn-controller", HERE),
    "ovn_chassis_named": (called_otherwise, "ovn-controller", HERE),
    "ovn_chassis_address": (
        tunneled(put(chassis, encapsulations=[{"kind": "geneve", "address": "10.71.20.99"}])),
        "ovn-controller",
        HERE,
    ),
    "ovn_chassis_protocol": (
        tunneled(lambda record: chassis(record)["encapsulations"][0].update(kind="vxlan")),
        "ovn-controller",
        HERE,
    ),
    "ovn_integration_bridge": (with_datapath_that_takes_nothing, "ovn-controller", HERE),
    "ovn_chassis_current": (behind, "ovn-controller", HERE),
    "ovn_physical_network": (without_mapping, "ovn-controller", HERE),
    "ovn_port_bound": (
        lambda record: record["instance"]["ports"][0].update(kind="binding_failed"),
        "neutron-server",
        "controller1",
    ),
    "ovn_northbound_port": (put(in_ovn, logical=None), "neutron-server", "controller1"),
    "ovn_northbound_addresses": (
        lambda record: in_ovn(record)["logical"].update(addresses=["fa:16:3e:00:00:01 192.168.222.99"]),
        "ovn-nb-db",
        "controller1",
    ),
    "ovn_northbound_dhcp": (put(in_ovn, dhcp=None), "ovn-nb-db", "controller1"),
    "ovn_security_rules": (without_a_rule, "ovn-nb-db", "controller1"),
    "dhcp_logical": (with_logical_drop("dhcp", FOREIGN), "ovn-nb-db", "controller1"),
    "ovn_foreign_acls": (with_rule, "ovn-nb-db", "controller1"),
    "ovn_southbound_port": (put(in_ovn, binding=None), "ovn-northd", "controller1"),
    "ovn_plugged": (unplugged, "ovsdb", HERE),
    "ovn_claimed": (
        lambda record: in_ovn(record)["binding"].update(host=None),
        "ovn-controller",
        HERE,
    ),
    "ovn_installed": (uninstalled, "ovn-controller", HERE),
    "ovn_connected": (mapped_to_no_bridge, "ovn-controller", HERE),
    "ovn_dhcp_flow": (with_dropping_flow, "ovn-controller", HERE),
    "ovn_dhcp_answered": (with_request_sent_on, "ovn-controller", HERE),
    "ovn_carried": (without_generic_flows, "ovn-controller", HERE),
    "ovn_taken": (lambda record: with_packets(record, received=40, counted=0), "ovsdb", HERE),
    "ovn_up": (lambda record: in_ovn(record)["logical"].update(up=False), "ovn-northd", "controller1"),
    "ovn_noticed": (unnoticed, "neutron-server", "controller1"),
    "ovn_tunnels": (tunneled(without_tunnel), "ovn-controller", HERE),
    "ovn_unlimited": (limited(f"neutron-{NETWORK}"), "ovn-nb-db", "controller1"),
}


def test_all_links_of_a_healthy_port_hold():
    found = chains_of(lambda record: with_packets(record, received=40, counted=38))
    links_of = {chain.name: [link.state for link in chain.links] for chain in found.values()}
    assert set(links_of) == {"image", "server", "ovn_port", "metadata"}
    # The host works with its own way to the database, and the network needs no tunnels.
    assert set(links_of["ovn_port"]) == {LinkState.HOLDS, LinkState.NOT_APPLICABLE}
    assert LinkState.BROKEN not in links_of["metadata"]


@pytest.mark.parametrize("code", BREAKS)
def test_a_wrong_store_breaks_its_link_and_names_owner_host_and_command(code):
    change, owner, where = BREAKS[code]
    link = chains_of(change)["ovn_port"].broken
    assert link is not None
    assert (link.code, link.owner, link.host) == (code, owner, where)
    assert link.command


def none_is_connected(record: Json) -> None:
    for one in record["hosts"]:
        if (one["stores"] or {}).get("controller"):
            one["stores"]["controller"] = "not connected"


def test_a_database_that_no_host_reaches_is_not_the_fault_of_one_of_them() -> None:
    link = chains_of(none_is_connected)["ovn_port"].broken
    assert link is not None
    assert (link.code, link.owner, link.host) == ("ovn_host_connected", "ovn-sb-db", "controller1")


def without_option(name: str) -> Callable[[Json], None]:
    return lambda record: in_ovn(record)["dhcp"]["options"].pop(name)


@pytest.mark.parametrize("name", ["router", "lease_time"])
def test_an_option_of_dhcp_that_neutron_gives_for_such_a_network_must_be_there(name: str) -> None:
    link = chains_of(without_option(name))["ovn_port"].broken
    assert link is not None
    assert (link.code, link.found) == ("ovn_northbound_dhcp", f"without {name}")


def without_gateway(record: Json) -> None:
    record["instance"]["networks"][0]["subnets"][0]["gateway"] = None
    without_option("router")(record)


@pytest.mark.parametrize(
    "peculiarity",
    [
        set_external("ovn-remote", "tcp:10.71.20.99:6642"),
        with_datapath,
        without_tunnel,
        put(chassis, encapsulations=[{"kind": "geneve", "address": "10.71.20.99"}]),
        without_gateway,
    ],
    ids=["a relay of its own", "a datapath of its own", "no tunnel", "no address for tunnels", "no gateway"],
)
def test_what_is_otherwise_on_a_host_that_works_breaks_nothing(peculiarity: Callable[[Json], None]) -> None:
    assert chains_of(peculiarity)["ovn_port"].broken is None


MENDS = {
    "ovn_foreign_acls": f"ovn-nbctl --no-leader-only acl-del neutron-{NETWORK} from-lport 2000 udp",
    # Once, however many limits are in it
    "ovn_unlimited": REMOVAL,
    "ovn_host_remote": "ovs-vsctl set open . external-ids:ovn-remote=tcp:10.71.20.12:6642",
    "ovn_chassis_protocol": "ovs-vsctl set open . external-ids:ovn-encap-type=geneve",
}


def test_a_link_that_one_command_mends_has_that_command() -> None:
    links = {code: chains_of(BREAKS[code][0])["ovn_port"].broken for code in BREAKS}
    mends = {code: link.mend for code, link in links.items() if link and link.mend}
    assert mends == MENDS


def set_down(record: Json) -> None:
    record["instance"]["ports"][0].update(disabled=True)


def just_wired(record: Json) -> None:
    host(record, HERE)["facts"]["interfaces"][PORT]["flows"].update(oldest_s=5.0)


def with_agent(record: Json) -> None:
    record["instance"]["networks"][0]["dhcp_ports"] = ["fa:16:3e:00:00:03"]


@pytest.mark.parametrize("change", [set_down, just_wired, with_agent])
def test_a_port_may_be_down_in_neutron_for_another_reason(change: Callable[[Json], None]) -> None:
    def changed(record: Json) -> None:
        unnoticed(record)
        change(record)

    found = {link.code: link.state for link in chains_of(changed)["ovn_port"].links}
    assert found["ovn_noticed"] is LinkState.NOT_APPLICABLE


def test_a_device_that_libvirt_has_not_made_yet_breaks_nothing() -> None:
    def waiting(record: Json) -> None:
        facts = host(record, HERE)["facts"]
        facts["domain"] = None
        facts["interfaces"][PORT].update(ofport=-1, error="could not open network device tap1 (No such device)")

    found = {link.code: link.state for link in chains_of(waiting)["ovn_port"].links}
    assert found["ovn_plugged"] is LinkState.NOT_APPLICABLE


def of_others(record: Json) -> None:
    record["diagnosis"] = {"created": record["started"]}


def with_flows(**values: Any) -> Callable[[Json], None]:
    return lambda record: host(record, HERE)["facts"]["interfaces"][PORT]["flows"].update(values)


@pytest.mark.parametrize(
    ("received", "change"),
    [
        # The first packets may come before the flows.
        (2, with_flows()),
        # A guest of others may send nothing.
        (40, of_others),
        # The switch or its agent was restarted, or no flow is of the port alone.
        (40, with_flows(oldest_s=0.5)),
        (40, with_flows(count=0, oldest_s=None)),
    ],
)
def test_flows_that_need_not_count_what_a_guest_has_sent_show_nothing(
    received: int, change: Callable[[Json], None]
) -> None:
    def idle(record: Json) -> None:
        with_packets(record, received, counted=0)
        change(record)

    found = {link.code: link.state for link in chains_of(idle)["ovn_port"].links}
    assert found["ovn_taken"] is LinkState.NOT_APPLICABLE


def test_a_port_that_nova_has_deleted_since_it_was_looked_at_breaks_nothing() -> None:
    def given_up(record: Json) -> None:
        in_ovn(record)["logical"] = None
        record["instance"]["server"]["status"] = "BUILD"
        record["errors"] = [ERROR_OF_NOVA]

    found = {link.code: link.state for link in chains_of(given_up)["ovn_port"].links}
    assert found["ovn_northbound_port"] is LinkState.NOT_APPLICABLE


def test_an_interface_that_libvirt_has_taken_away_with_the_domain_breaks_nothing() -> None:
    def crashed(record: Json) -> None:
        unplugged(record)
        host(record, HERE)["facts"]["domain"]["state"] = {"name": "shut off", "reason": "crashed"}

    found = {link.code: link.state for link in chains_of(crashed)["ovn_port"].links}
    assert found["ovn_plugged"] is LinkState.NOT_APPLICABLE


def test_a_limit_on_another_network_or_port_holds_nothing_back() -> None:
    assert chains_of(limited("neutron-of-somebody"))["ovn_port"].broken is None
    of_other = limited(f"neutron-{NETWORK}", 'outport == "1d"')
    assert chains_of(of_other)["ovn_port"].broken is None


def test_each_link_of_the_chain_is_broken_by_a_test():
    assert {link.code for link in chains_of()["ovn_port"].links} == set(BREAKS)


def test_each_link_of_all_chains_has_its_words():
    codes = {link.code for chain in ALL for link in chain.links}
    assert codes == set(links.LINKS)


def test_a_host_that_is_registered_twice_is_reported_with_both_names():
    link = chains_of(registered_twice)["ovn_port"].broken
    assert link is not None
    assert (link.code, link.found) == ("ovn_chassis_registered", f"{HERE}, other")


def test_a_physical_network_that_no_host_knows_is_wrong_in_the_database():
    link = chains_of(unknown_to_all)["ovn_port"].broken
    assert link is not None
    assert (link.code, link.owner, link.host) == ("ovn_physical_network", "ovn-nb-db", "controller1")


def test_a_physical_network_that_neutron_has_under_another_name_is_wrong_there():
    def in_neutron(record):
        unknown_to_all(record)
        record["instance"]["networks"][0]["physical"] = "elsewhere"

    link = chains_of(in_neutron)["ovn_port"].broken
    assert link is not None
    assert (link.code, link.owner, link.host) == ("ovn_physical_network", "neutron-server", "controller1")


def test_hosts_that_map_no_physical_network_at_all_lack_a_setting():
    def unmapped(record):
        databases(record)["networks"].append({"id": NETWORK, "physical": "public"})
        for one in record["hosts"]:
            for row in (one["stores"].get("ovn") or {}).get("chassis", ()):
                row["mappings"] = []

    link = chains_of(unmapped)["ovn_port"].broken
    assert link is not None
    assert (link.code, link.owner, link.host) == ("ovn_physical_network", "ovn-controller", HERE)


def test_tunnels_that_could_not_be_made_are_told_with_their_error():
    def in_error(record):
        for one in switch(record)["interfaces"]:
            if one.get("remote"):
                one["error"] = "could not add network device (File exists)"

    link = chains_of(tunneled(in_error))["ovn_port"].broken
    assert link is not None
    assert (link.code, link.owner, link.host) == ("ovn_tunnels", "ovn-controller", HERE)
    assert "File exists" in link.found


def test_a_host_whose_stores_were_not_read_breaks_nothing():
    def unread(record: Json) -> None:
        del host(record, HERE)["stores"]

    chain = chains_of(unread)["ovn_port"]
    assert chain.broken is None
    assert LinkState.UNREADABLE in {link.state for link in chain.links}


def test_a_network_without_a_port_for_metadata_is_of_neutron_server() -> None:
    def without(record: Json) -> None:
        record["instance"]["networks"][0]["serving"] = []

    link = chains_of(without)["metadata"].broken
    assert link is not None
    assert (link.code, link.owner, link.reader) == ("metadata_port", "neutron-server", None)
    assert link.command == f"openstack port list --network {NETWORK} --device-owner network:distributed"


def test_a_port_for_metadata_may_be_hidden_from_who_is_no_administrator() -> None:
    def hidden(record: Json) -> None:
        record["instance"]["networks"][0]["serving"] = []
        del record["instance"]["networks"][0]["kind"]

    states = {link.code: link.state for link in chains_of(hidden)["metadata"].links}
    assert states["metadata_port"] is LinkState.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("addresses", "state"),
    [
        (["127.0.0.1", "169.254.169.254", "192.168.222.2"], LinkState.HOLDS),
        (["127.0.0.1", "192.168.222.2"], LinkState.BROKEN),
        ([], LinkState.BROKEN),
        # Of a proxy that does not run, and of a record that is older
        (None, LinkState.NOT_APPLICABLE),
    ],
)
def test_a_proxy_without_the_address_of_the_metadata_is_of_its_agent(
    addresses: list[str] | None, state: LinkState
) -> None:
    def having(record: Json) -> None:
        network = record["instance"]["networks"][0]["id"]
        (host,) = [host for host in record["hosts"] if host["host"] == HERE]
        for proxies in host["facts"]["metadata"].values():
            proxies[0].update(owner=network, addresses=addresses)

    links = {link.code: link for link in chains_of(having)["metadata"].links}
    assert links["metadata_address"].state is state
    if state is LinkState.BROKEN:
        assert (links["metadata_address"].owner, links["metadata_address"].host) == ("neutron-ovn-metadata-agent", HERE)


def test_addresses_of_a_proxy_that_could_not_be_read_prove_nothing() -> None:
    def unread(record: Json) -> None:
        (host,) = [host for host in record["hosts"] if host["host"] == HERE]
        entry = {"part": "metadata", "what": "the addresses of the metadata proxy", "kind": "refused", "reason": "x"}
        host["unread"] = [*host["unread"], entry]

    links = {link.code: link.state for link in chains_of(unread)["metadata"].links}
    assert links["metadata_address"] is LinkState.UNREADABLE


def test_a_missing_metadata_interface_is_of_the_metadata_agent():
    def removed(record: Json) -> None:
        ports = {port["id"] for port in record["instance"]["networks"][0]["serving"]}
        interfaces = switch(record)["interfaces"]
        switch(record)["interfaces"] = [one for one in interfaces if one.get("port") not in ports]

    link = chains_of(removed)["metadata"].broken
    assert link is not None
    assert (link.code, link.owner, link.host) == ("metadata_wired", "neutron-ovn-metadata-agent", HERE)


@pytest.mark.parametrize(
    ("option", "value", "wanted"),
    [
        ("router", "192.168.222.77", "192.168.222.1"),
        ("mtu", "9000", "1500"),
        (
            "classless_static_route",
            "{169.254.169.254/32,192.168.222.77, 0.0.0.0/0,192.168.222.1}",
            "to 169.254.169.254 by 192.168.222.2",
        ),
    ],
)
def test_a_dhcp_option_that_neutron_would_not_give_breaks_the_chain(option: str, value: str, wanted: str) -> None:
    def wrong(record: Json) -> None:
        record["instance"]["networks"][0]["serving"][0]["addresses"] = ["192.168.222.2"]
        in_ovn(record)["dhcp"]["options"][option] = value

    link = chains_of(wrong)["ovn_port"].broken
    assert link is not None
    assert (link.code, link.owner) == ("ovn_northbound_dhcp", "ovn-nb-db")
    assert link.found == f"wrong {option} ({value}, not {wanted})"


def test_dhcp_options_of_another_range_break_the_chain() -> None:
    link = chains_of(lambda record: in_ovn(record)["dhcp"].update(cidr="10.99.0.0/24"))["ovn_port"].broken
    assert link is not None
    assert (link.code, link.found, link.expected) == (
        "ovn_northbound_dhcp",
        "those of 10.99.0.0/24",
        "192.168.222.0/24",
    )


def test_a_route_to_metadata_by_the_port_of_the_network_is_right() -> None:
    def right(record: Json) -> None:
        (route,) = [in_ovn(record)["dhcp"]["options"]["classless_static_route"].split(",")[1]]
        record["instance"]["networks"][0]["serving"][0]["addresses"] = [route.strip("} ")]

    assert chains_of(right)["ovn_port"].broken is None


def test_logical_flow_that_drops_is_quoted_and_shown_by_a_command():
    link = chains_of(with_logical_drop("dhcp", FOREIGN))["ovn_port"].broken
    assert link is not None
    assert links.broken(link)[0] == f"a logical flow drops the guest's DHCP request: table 8, {FOREIGN}"
    assert (link.command, link.reader) == ("ovn-trace --ct=new", "controller1")


def test_logical_flow_of_an_older_record_is_shown_in_its_network() -> None:
    def older(record: Json) -> None:
        with_logical_drop("dhcp", FOREIGN)(record)
        for trace in databases(record)["traces"]:
            trace.pop("command", None)

    link = chains_of(older)["ovn_port"].broken
    assert link is not None
    assert link.command == f"ovn-sbctl --no-leader-only lflow-list neutron-{NETWORK}"
