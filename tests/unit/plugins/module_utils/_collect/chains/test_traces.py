# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What OVN and Open vSwitch say of packets of a guest: recorded on a lab, for ports in these states."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.chains import traces
from ansible_collections.stackproof.provision.plugins.module_utils._collect.chains.packets import (
    arriving,
    leaving,
    packets_of,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.instance import (
    DHCP_PORT,
    LOCALPORT,
    ROUTER_INTERFACE,
    DescribedInstance,
    GuestPath,
    Network,
    Port,
    Server,
    ServingPort,
)
from ansible_collections.stackproof.provision.plugins.module_utils._model.stores import Bridge, Interface, Switch, Trace
from tree import RECORDED


def texts_in(name):
    """The answers in a recording, by what was asked."""
    parts = re.split(r"^=== (.+)\n", (RECORDED / "commands" / name).read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


TEXTS = texts_in("ovn-trace.txt")
ARRIVING = texts_in("ofproto-trace.txt")
EVAL = "ls_in_acl_eval: reg0[9] == 1 && "


@pytest.mark.parametrize(
    ("name", "outcome", "table", "rule"),
    [
        ("dhcp answered", "answered", None, None),
        ("metadata sent", "sent", None, None),
        ("ping sent", "sent", None, None),
        # It reaches the router, which is no way out yet.
        ("ping without a route", "dropped", 15, "lr_in_ip_routing: 1, priority 0"),
        ("dhcp without a rule", "dropped", 8, f"{EVAL}(inport == @neutron_pg_drop && ip), priority 2001"),
        ("metadata without a rule", "dropped", 8, f"{EVAL}(inport == @neutron_pg_drop && ip), priority 2001"),
        # The rule is quoted, and not the table after it that carries it out.
        ("dhcp and a foreign rule", "dropped", 8, f"{EVAL}(udp.dst == 67), priority 3100"),
        ("dhcp of a disabled port", "dropped", 1, "ls_in_apply_port_sec: reg0[15] == 1, priority 50"),
        # Nobody answers it, but it goes out as a broadcast.
        ("dhcp without options", "sent", None, None),
    ],
)
def test_outcome_of_a_trace_through_logical_flows(name, outcome, table, rule):
    assert traces.parsed_logical(TEXTS[name], "p", "dhcp") == Trace("p", "dhcp", outcome, table, rule)


def test_only_a_drop_that_no_rule_of_a_group_prevents_is_unallowed():
    found = {name: traces.parsed_logical(text, "p", "dhcp").is_unallowed for name, text in TEXTS.items()}
    assert {name for name, unallowed in found.items() if unallowed} == {
        "dhcp without a rule",
        "metadata without a rule",
    }


PORT = Port(
    "1d", "fa:16:3e:00:00:01", ("192.0.2.9",), "ee", "compute1", "ovs", "ACTIVE", None, None, 1, ("203.0.113.6",)
)
SERVING = (
    ServingPort("2d", LOCALPORT, "fa:16:3e:00:00:02", addresses=("192.0.2.2",)),
    ServingPort("3d", ROUTER_INTERFACE, "fa:16:3e:00:00:03", addresses=("192.0.2.1",)),
)
OF_DHCP = (ServingPort("4d", DHCP_PORT, "fa:16:3e:00:00:04", addresses=("192.0.2.3",)),)
NETWORK = Network("ee", 1500, (), (), True, ("ff",), serving=SERVING)


def test_packet_of_each_kind_in_the_words_of_ovn():
    dhcp, metadata, ping = [packet.into_network(PORT.id) for packet in packets_of(PORT, NETWORK)]
    begin = 'inport == "1d" && eth.src == fa:16:3e:00:00:01 && '
    assert dhcp == (
        f"{begin}eth.dst == ff:ff:ff:ff:ff:ff && ip4.src == 0.0.0.0 && ip4.dst == 255.255.255.255 && ip.ttl == 64 && "
        "udp.src == 68 && udp.dst == 67"
    )
    assert metadata == (
        f"{begin}eth.dst == fa:16:3e:00:00:02 && ip4.src == 192.0.2.9 && ip4.dst == 169.254.169.254 && ip.ttl == 64 && "
        "tcp.src == 40000 && tcp.dst == 80"
    )
    # To a neighbor of the floating IP, which even a router without a way to the world reaches
    assert ping == (
        f"{begin}eth.dst == fa:16:3e:00:00:03 && ip4.src == 192.0.2.9 && ip4.dst == 203.0.113.7 && ip.ttl == 64 && "
        "icmp4.type == 8 && icmp4.code == 0"
    )


@pytest.mark.parametrize(
    ("port", "network", "names"),
    [
        (PORT, replace(NETWORK, serving=SERVING[1:]), ["dhcp", "metadata", "ping"]),
        (replace(PORT, floating_ips=()), replace(NETWORK, serving=OF_DHCP), ["dhcp", "metadata"]),
        (replace(PORT, floating_ips=()), NETWORK, ["dhcp", "metadata"]),
        (replace(PORT, addresses=("2001:db8::9",)), NETWORK, ["dhcp"]),
        (PORT, replace(NETWORK, serving=()), ["dhcp"]),
    ],
)
def test_no_packet_is_made_up_for_what_a_port_does_not_have(port, network, names):
    assert [packet.name for packet in packets_of(port, network)] == names


def test_network_that_ovn_does_not_know_is_no_drop():
    with pytest.raises(ValueError, match='unknown datapath "neutron-xx"'):
        traces.parsed_logical('unknown datapath "neutron-xx"\n', "p", "dhcp")


@pytest.mark.parametrize(
    "text", ["microflow does not specify ingress port\n", 'ingress(dp="n", inport="(unnamed)")\n 0. ls_in: drop;\n']
)
def test_a_port_that_ovn_does_not_have_sends_nothing(text):
    """So it is where Nova has given up a server, and has deleted its port."""
    asked = SimpleNamespace(ask=lambda *_words: text)
    assert traces.traced_logically(asked, PORT, packets_of(PORT, NETWORK)[0]) is None


@pytest.mark.parametrize(
    ("name", "table", "rule", "listed"),
    [
        ("at a shut port", 93, "priority 0, cookie 0xef721b48641d590b", "br-int table=93,cookie=0xef721b48641d590b/-1"),
        (
            "of another network",
            4,
            "priority 0, cookie 0x53833a53f4a148d7",
            "br-tun table=4,cookie=0x53833a53f4a148d7/-1",
        ),
        ("and a foreign flow", 0, "icmp, priority 40000, cookie 0xbad", "br-int table=0,cookie=0xbad/-1"),
    ],
)
def test_a_packet_that_does_not_get_to_its_guest_has_the_flow_that_ends_it(name, table, rule, listed):
    trace = traces.parsed(ARRIVING[f"arrives in a tunnel {name}"], "p", "x", ["tapb26ea1a5-f4"])
    assert trace == Trace("p", "x", "dropped", table, rule, listing=f"ovs-ofctl dump-flows {listed}")


def test_a_packet_arrives_if_it_gets_to_the_interface_of_its_guest():
    assert traces.parsed(ARRIVING["arrives in a tunnel"], "p", "x", ["tapb26ea1a5-f4"]) == Trace(
        "p", "x", "sent", ends=()
    )


def test_after_connection_tracking_a_packet_is_in_the_bridge_that_asked_for_it():
    steps = traces.last_step(ARRIVING["arrives in a tunnel"])
    assert (steps.bridge, steps.table) == ("br-int", 92)


def test_a_packet_that_gets_to_another_interface_alone_does_not_arrive():
    text = ARRIVING["arrives in a tunnel"]
    for other in ("tapb26ea1a5", "tapb26ea1a5-f4-2", "pb26ea1a5-f4"):
        assert traces.parsed(text, "p", "x", [other]).outcome == "dropped"


# Paths between guests

OTHER = replace(PORT, id="4d", mac="fa:16:3e:00:00:04", addresses=("192.0.2.12",), host="compute2", floating_ips=())
VLAN = replace(NETWORK, kind="vlan", physical="public", segment=7)
BY_AGENTS = replace(VLAN, distributed=False)
TUNNELED = replace(NETWORK, kind="vxlan", segment=9)
PING = GuestPath("ping", PORT, VLAN, OTHER, VLAN)
KNOCK = replace(PING, check="open", port=22)
SERVER = Server("5d", "s", "ACTIVE", "p", "compute1", "h", "2026-11-28T00:00:00Z", 1, 128, 1)
HOST = Switch(
    settings={},
    bridges=(
        Bridge("br-int", "netdev", None, ("tap4d", "int-br-ex", "patch-tun")),
        Bridge("br-ex", "netdev", None, ("phy-br-ex", "eth1")),
        Bridge("br-tun", "netdev", None, ("patch-int", "vxlan-1")),
    ),
    interfaces=(
        Interface("tap4d", "", 5, port="4d"),
        Interface("int-br-ex", "patch", 1, peer="phy-br-ex"),
        Interface("phy-br-ex", "patch", 2, peer="int-br-ex"),
        Interface("eth1", "", 1),
        Interface("vxlan-1", "vxlan", 3, remote="192.0.2.101"),
    ),
)


def asked(switch, path):
    """The packets that are traced on a switch for a path, each with the interface that has to get it."""
    instance = DescribedInstance(0.0, SERVER, (), (path.source_network,), (), None, (path,))
    return [(question.words[3:], question.receivers) for question in traces.of_paths(switch, instance)]


def switch_of(port):
    """The switch of the host that has this port instead."""
    return replace(HOST, interfaces=tuple(replace(one, port=one.port and port) for one in HOST.interfaces))


def test_a_ping_is_traced_out_of_one_host_and_into_the_other():
    packet = "icmp,dl_src=fa:16:3e:00:00:01,dl_dst=fa:16:3e:00:00:04,nw_src=192.0.2.9,nw_dst=192.0.2.12,nw_ttl=64"
    assert asked(switch_of("1d"), PING) == [
        (("--names", "br-int", f"in_port=5,{packet},icmp_type=8,icmp_code=0"), ("eth1",))
    ]
    assert asked(HOST, PING) == [
        (("--names", "br-ex", f"in_port=1,dl_vlan=7,{packet},icmp_type=8,icmp_code=0"), ("tap4d",))
    ]


def test_a_knock_at_a_port_is_traced_with_that_port():
    ((words, _receiver),) = asked(HOST, KNOCK)
    assert words[-1].startswith("in_port=1,dl_vlan=7,tcp,")
    assert words[-1].endswith(",tcp_src=40000,tcp_dst=22")


def test_a_ping_over_ipv6_is_traced_by_addresses_of_ipv6():
    source, target = replace(PORT, addresses=("192.0.2.9", "fd00::9")), replace(OTHER, addresses=("fd00::12",))
    path = replace(PING, check="ping6", source=source, target=target)
    packet = "icmp6,dl_src=fa:16:3e:00:00:01,dl_dst=fa:16:3e:00:00:04,ipv6_src=fd00::9,ipv6_dst=fd00::12,nw_ttl=64"
    assert asked(switch_of("1d"), path) == [
        (("--names", "br-int", f"in_port=5,{packet},icmpv6_type=128,icmpv6_code=0"), ("eth1",)),
    ]
    assert asked(HOST, replace(path, target=OTHER)) == []


def test_all_packets_of_guests_with_ipv6_alone_are_traced_over_it():
    alone = replace(PING, source=replace(PORT, addresses=("fd00::9",)), target=replace(OTHER, addresses=("fd00::12",)))
    found = [asked(HOST, replace(alone, check=check, port=port)) for check, port in (("ping", None), ("open", 22))]
    protocols = [words[-1].split(",")[2] for ((words, _receiver),) in found]
    assert protocols == ["icmp6", "tcp6"]


def test_packets_in_a_tunnel_come_in_there():
    ((words, _receiver),) = asked(HOST, replace(PING, source_network=TUNNELED, target_network=TUNNELED))
    assert words[:2] == ("--names", "br-tun")
    assert words[2].startswith("in_port=3,tun_id=9,icmp,")


@pytest.mark.parametrize(
    "change",
    [
        # OVN's tunnels are on the integration bridge, and have numbers of its own in their packets.
        lambda host: replace(host, bridges=(Bridge("br-int", "netdev", None, ("tap4d", "vxlan-1")),)),
        lambda host: replace(host, interfaces=host.interfaces[:1]),
    ],
)
def test_where_packets_come_in_may_be_unknown(change):
    assert asked(change(HOST), replace(PING, source_network=TUNNELED, target_network=TUNNELED)) == []


def test_of_two_bridges_with_a_device_only_a_mapping_tells_which_it_is():
    second = Bridge("br-two", "netdev", None, ("eth2",))
    host = replace(HOST, bridges=(*HOST.bridges, second), interfaces=(*HOST.interfaces, Interface("eth2", "", 6)))
    assert asked(host, PING) == []
    mapped = replace(host, settings={"ovn-bridge-mappings": "public:br-ex,other:br-two"})
    assert len(asked(mapped, PING)) == 1


def test_a_router_stands_between_two_networks():
    other = replace(VLAN, id="ef", segment=8, serving=(ServingPort("6d", ROUTER_INTERFACE, "fa:16:3e:00:00:06"),))
    routed = replace(PING, target_network=other)
    ends = [
        (packet.fields["eth.src"][-1], packet.fields["eth.dst"][-1]) for packet in leaving(routed) + arriving(routed)
    ]
    assert ends == [("1", "3"), ("6", "4")]
    assert leaving(replace(routed, source_network=replace(VLAN, serving=()))) == []


def test_on_one_host_a_packet_has_to_get_from_one_guest_to_the_other():
    both = replace(
        HOST,
        bridges=(replace(HOST.bridges[0], interfaces=("tap1d", *HOST.bridges[0].interfaces)), *HOST.bridges[1:]),
        interfaces=(Interface("tap1d", "", 4, port="1d"), *HOST.interfaces),
    )
    ((words, receivers),) = asked(both, PING)
    assert (words[:2], receivers) == (("--names", "br-int"), ("tap4d",))


def first_words(switch, network):
    """The options of the first packet of a guest of a network, and the interfaces one of which has to get it."""
    instance = DescribedInstance(0.0, SERVER, (PORT,), (network,), (), None)
    question = next(traces.of_instance(switch, instance))
    return question.words[3:-2], question.receivers


def test_a_request_to_agents_of_other_hosts_has_to_leave_by_a_device_of_the_physical_network():
    switch = switch_of(PORT.id)
    assert first_words(switch, BY_AGENTS) == (("--names",), ("eth1",))
    assert first_words(switch, replace(TUNNELED, distributed=False)) == ((), ())
    assert first_words(switch, VLAN) == ((), ())
    # A network host may be a compute host as well.
    server = Interface("tap6d", "", 6, port="6d")
    here = replace(switch, interfaces=(*switch.interfaces, server))
    assert first_words(here, replace(BY_AGENTS, serving=(ServingPort("6d", DHCP_PORT),))) == ((), ())


def test_of_a_bond_any_device_will_do():
    second = Interface("eth2", "", 2)
    bridge = Bridge("br-ex", "netdev", None, ("phy-br-ex", "eth1", "eth2"))
    switch = switch_of(PORT.id)
    bond = replace(
        switch,
        bridges=(switch.bridges[0], bridge, switch.bridges[2]),
        interfaces=(*switch.interfaces, second),
    )
    assert first_words(bond, BY_AGENTS)[1] == ("eth1", "eth2")


TUNNELS = {
    "of the kernel": "set(tunnel(tun_id=0x9,src=10.0.0.11,dst=10.0.0.12,ttl=64,flags(df|key))),vxlan_sys_4789",
    "over IPv6": "set(tunnel(tun_id=0x9,ipv6_src=fd00::11,ipv6_dst=fd00::12,ttl=64,tp_dst=6081)),genev_sys_6081",
    "of userspace": (
        "tnl_push(tnl_port(vxlan_sys_4789),header(size=50,type=4,eth(dst=aa:55:aa:55:00:00,src=aa:55:aa:55:00:ff,"
        "dl_type=0x0800),ipv4(src=10.0.0.11,dst=10.0.0.12,proto=17,tos=0,ttl=64,frag=0x4000),udp(src=0,dst=4789,csum=0x0),"
        "vxlan(flags=0x8000000,vni=0x9)),out_port(br-ex)),tap4d"
    ),
}


@pytest.mark.parametrize(
    ("name", "end"),
    [("of the kernel", "10.0.0.12"), ("over IPv6", "fd00::12"), ("of userspace", "10.0.0.12")],
)
def test_a_packet_in_a_tunnel_goes_to_its_end(name, end):
    trace = traces.parsed(f"Datapath actions: {TUNNELS[name]}\n", "p", "x")
    assert (trace.outcome, trace.ends) == ("sent", (end,))


@pytest.mark.parametrize(
    "actions",
    [
        "push_vlan(vid=100,pcp=0),hash(hash_l4(0)),recirc(0x12)",
        "push_vlan(vid=100,pcp=0),lb_output(1)",
        "userspace(pid=1,controller(reason=1))",
        "push_vlan(vid=100,pcp=0),eth1",
    ],
)
def test_a_packet_that_leaves_by_a_bond_or_is_answered_on_its_host_is_not_dropped(actions):
    text = f'bridge("br-int")\n 0. priority 0\nDatapath actions: {actions}\n'
    assert traces.parsed(text, "p", "x", ["eth1"]).outcome == "sent"
    assert traces.parsed(text.replace(actions, "tap4d"), "p", "x", ["eth1"]).outcome == "dropped"


@pytest.mark.parametrize(
    ("actions", "outcome"),
    [
        ("ct(commit,zone=2,mark=0/0x41,label=0/0xffff00000000000000000000,nat(src))", "dropped"),
        ("ct_clear,set(eth(src=fa:16:3e:00:00:01)), push_vlan(vid=100,pcp=0)", "dropped"),
        ("ct(commit,zone=2,nat(src)),8", "sent"),
        ("clone(tnl_push(tnl_port(6081),header(size=58,type=5,eth(dst=02:00:00:00:00:01)),out_port(3)),2)", "sent"),
    ],
)
def test_what_is_only_looked_at_or_changed_goes_nowhere(actions, outcome):
    text = f'bridge("br-int")\n36. dl_dst=fa:16:3e:61:41:25, priority 50\n40. No match.\nDatapath actions: {actions}\n'
    trace = traces.parsed(text, "p", "x")
    assert trace.outcome == outcome
    assert (trace.table, trace.rule) == ((40, "No match") if outcome == "dropped" else (None, None))


def test_devices_of_dpdk_lead_out_of_a_host():
    switch = switch_of(PORT.id)
    with_dpdk = replace(
        switch, interfaces=tuple(replace(one, kind="dpdk") if one.name == "eth1" else one for one in switch.interfaces)
    )
    assert first_words(with_dpdk, BY_AGENTS)[1] == ("eth1",)


def test_a_host_whose_address_is_asked_for_is_the_end_of_a_tunnel():
    asks = "    -> neighbor cache miss for 10.0.0.12 on bridge br-ex, sending ARP request\n"
    trace = traces.parsed(f"{asks}Datapath actions: br-ex\n", "p", "x")
    assert trace.ends == ("10.0.0.12",)
