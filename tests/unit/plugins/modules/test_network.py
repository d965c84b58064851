# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The third stage: a network of the run's own, or one that is there, and the way out of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._record import run as run_module
from ansible_collections.stackproof.provision.plugins.modules import network as module
from tree import RECORDED

pytestmark = pytest.mark.usefixtures("cloud", "hurry")
MARK = "stackproof-run-1"


@pytest.fixture
def external(cloud):
    return cloud.put("networks", name="public", **{"router:external": True})


def bodies(cloud, word):
    return [body for kind, body in cloud.bodies if kind == word]


def made(record):
    return [(resource["kind"], resource["name"]) for resource in record["resources"] if resource["created"]]


def test_a_network_a_subnet_and_a_group_are_made_with_the_mark(go, cloud):
    result = go("network", dns_nameservers=["9.9.9.9"])
    assert result["changed"] is True
    assert made(result["record"]) == [
        ("network", f"{MARK}-network"),
        ("subnet", f"{MARK}-subnet"),
        ("security_group", f"{MARK}-security-group"),
    ]
    (network,), (subnet,), (group,) = (bodies(cloud, word) for word in ("network", "subnet", "security_group"))
    assert network == {"name": f"{MARK}-network", "description": MARK}
    assert subnet == {
        "name": f"{MARK}-subnet",
        "description": MARK,
        "network_id": cloud.all("networks")[0]["id"],
        "ip_version": 4,
        "cidr": "192.168.222.0/24",
        "dns_nameservers": ["9.9.9.9"],
    }
    assert group == {"name": f"{MARK}-security-group", "description": MARK}


def test_the_requests_are_those_of_a_recorded_run(go, monkeypatch):
    monkeypatch.setattr(run_module.Run, "has_chosen_id", False)  # that of the recorded run was not
    go("network")
    recorded = RECORDED / "runs" / "20261121-065105-bdb5f5" / "run.json"
    (stage,) = [stage for stage in json.loads(recorded.read_text())["stages"] if stage["stage"] == "network"]
    expected = [(call["method"], call["path"], call["status"]) for call in stage["calls"]]
    calls = [call for call in go.record("network")["calls"] if call["service"] == "network"]
    assert [(call["method"], call["path"].removeprefix("/network"), call["status"]) for call in calls] == expected


def test_ping_and_ssh_are_let_in(go, cloud):
    go("network")
    assert [
        (rule["protocol"], rule.get("port_range_min"), rule["direction"])
        for rule in bodies(cloud, "security_group_rule")
    ] == [
        ("icmp", None, "ingress"),
        ("tcp", 22, "ingress"),
    ]
    assert {rule["security_group_id"] for rule in bodies(cloud, "security_group_rule")} == {
        cloud.all("security-groups")[0]["id"]
    }


def test_other_rules_may_be_given(go, cloud):
    go("network", rules=[{"protocol": "tcp", "port": 80}])
    (rule,) = bodies(cloud, "security_group_rule")
    assert (rule["protocol"], rule["port_range_min"], rule["port_range_max"]) == ("tcp", 80, 80)


def test_a_range_of_the_sixth_version_is_refused_before_anything_is_made(go, cloud):
    result = go("network", cidr="fd00:1::/64")
    assert "stackproof_network_cidr cannot be 'fd00:1::/64': it is not an IPv4 range" in result["msg"]
    assert bodies(cloud, "network") == []


@pytest.mark.parametrize("by", ["name", "id"])
def test_a_network_that_is_there_is_used(go, cloud, by):
    network = cloud.put("networks", name="lan")
    record = go("network", network=network[by])["record"]
    assert (record["resources"][0]["id"], record["resources"][0]["created"]) == (network["id"], False)
    assert made(record) == [("security_group", f"{MARK}-security-group")]
    assert bodies(cloud, "network") == bodies(cloud, "subnet") == []


@pytest.mark.parametrize("port", ["nova", "precreated"])
def test_a_network_without_port_security_gets_no_group(go, cloud, run, port):
    cloud.put("networks", name="lan", port_security_enabled=False)
    record = go("network", network="lan", port=port)["record"]
    reason = "the network lan has no port security"
    assert record["details"]["no_security_group"] == reason
    assert f"no security group is made: {reason}" in Path(run.path("progress.jsonl")).read_text()
    assert [kind for kind, _name in made(record)] == ([] if port == "nova" else ["port"])
    assert all("security_groups" not in rule for rule in bodies(cloud, "port"))


def test_a_cloud_that_knows_no_port_security_gets_a_group(go, cloud):
    del cloud.put("networks", name="lan")["port_security_enabled"]
    record = go("network", network="lan")["record"]
    assert [kind for kind, _name in made(record)] == ["security_group"]
    assert "no_security_group" not in record["details"]


def test_a_network_that_is_not_there(error, cloud):
    for name in ("public", "lan"):
        cloud.put("networks", name=name)
    failure = error("network", network="nope")
    message = "the cloud has no network nope; it has lan, public"
    assert (failure["kind"], failure["message"], failure["resource"]) == ("not_found", message, "nope")


def test_a_way_out_with_a_floating_ip(go, cloud, external):
    record = go("network", floating_ip=True)["record"]
    assert made(record)[3:] == [
        ("router", f"{MARK}-router"),
        ("router_interface", f"{MARK}-router-interface"),
        ("floating_ip", f"{MARK}-floating-ip"),
    ]
    assert record["resources"][0] == {
        "kind": "external_network",
        "id": external["id"],
        "name": "public",
        "created": False,
    }
    assert bodies(cloud, "router")[0]["external_gateway_info"] == {"network_id": external["id"]}
    assert bodies(cloud, "floatingip") == [
        {"floating_network_id": external["id"], "description": f"{MARK}-floating-ip"}
    ]
    assert record["details"]["floating_ip"] == "127.0.0.1"
    router, subnet = cloud.all("routers")[0], cloud.all("subnets")[0]
    interface = next(resource for resource in record["resources"] if resource["kind"] == "router_interface")
    assert interface["id"] == f"{router['id']}/{subnet['id']}"


@pytest.mark.parametrize("lost", ["add_router_interface", "/routers$", "/floatingips$"])
def test_a_way_out_whose_answers_are_lost_is_made_once(go, cloud, external, lost):
    cloud.trouble("PUT" if "add" in lost else "POST", lost, "reset", effect=True)
    record = go("network", floating_ip=True)["record"]
    assert len(record["details"]["found_without_answer"]) == 1
    assert len(cloud.asked("PUT", "add_router_interface")) == 1
    assert [len(cloud.all(word)) for word in ("routers", "floatingips", "ports")] == [1, 1, 1]
    assert external in cloud.all("networks")


def test_a_router_without_a_way_out(go, cloud):
    record = go("network", router="always")["record"]
    assert made(record)[3:] == [("router", f"{MARK}-router"), ("router_interface", f"{MARK}-router-interface")]
    assert "external_gateway_info" not in bodies(cloud, "router")[0]


def test_a_floating_ip_without_a_router_is_refused_before_anything_is_made(error, cloud):
    failure = error("network", floating_ip=True, router="never")
    assert (failure["kind"], cloud.bodies) == ("invalid", [])


def test_a_floating_ip_in_a_network_that_is_there_needs_no_router(go, cloud, external):
    network = cloud.put("networks", name="lan")
    record = go("network", network="lan", floating_ip=True)["record"]
    assert [kind for kind, _name in made(record)] == ["security_group", "floating_ip"]
    assert {resource["id"] for resource in record["resources"]} >= {network["id"], external["id"]}


def test_a_floating_ip_without_an_external_network(error):
    failure = error("network", floating_ip=True)
    assert failure["kind"] == "not_found"
    assert "this project sees no external network" in failure["message"]


def test_a_choice_of_external_networks_must_be_made(error, cloud, external):
    cloud.put("networks", name="other", **{"router:external": True})
    failure = error("network", floating_ip=True)
    assert (failure["kind"], failure["message"]) == ("ambiguous", "there are several external networks: other, public")
    assert cloud.all("networks")[0] == external
    assert cloud.bodies == []


def test_an_external_network_is_named(go, cloud, external):
    cloud.put("networks", name="other", **{"router:external": True})
    record = go("network", floating_ip=True, external_network="public")["record"]
    assert record["resources"][0]["id"] == external["id"]


def test_an_external_network_that_is_none(error, cloud):
    cloud.put("networks", name="lan")
    failure = error("network", floating_ip=True, external_network="lan")
    assert (failure["kind"], failure["message"]) == (
        "invalid",
        "the network lan is not external, so it has no floating IPs",
    )


def test_a_port_is_made_before_the_boot(go, cloud):
    record = go("network", port="precreated")["record"]
    (port,) = bodies(cloud, "port")
    assert port["network_id"] == cloud.all("networks")[0]["id"]
    assert port["security_groups"] == [cloud.all("security-groups")[0]["id"]]
    assert record["details"] == {"port": "precreated", "fixed_ips": ["192.168.222.44"]}


def test_a_stage_that_was_interrupted_goes_on_where_it_was(go, cloud, run):
    network = cloud.put("networks", name=f"{MARK}-network")
    run.ledger.write("begun", "network", f"{MARK}-network")
    run.ledger.write("made", "network", f"{MARK}-network", id=network["id"])
    run.ledger.write("begun", "subnet", f"{MARK}-subnet")
    record = go("network")["record"]
    assert record["resources"][0]["id"] == network["id"]
    assert [kind for kind, _body in cloud.bodies][:2] == ["subnet", "security_group"]


def test_rules_that_are_there_are_not_made_again(go, cloud, run):
    group = cloud.put("security-groups", name=f"{MARK}-security-group")
    cloud.put("security-group-rules", security_group_id=group["id"], protocol="tcp", port_range_min=22)
    run.ledger.write("made", "security_group", f"{MARK}-security-group", id=group["id"])
    go("network")
    assert [rule["protocol"] for rule in bodies(cloud, "security_group_rule")] == ["icmp"]


def test_a_quota_that_is_used_up(error, cloud, run):
    cloud.trouble("POST", "/networks", "neutron quota")
    failure = error("network")
    assert (failure["kind"], failure["status"]) == ("quota", 409)
    assert "Raise the project's quota" in failure["hint"]
    assert run.ledger.__class__(run.path("ledger.jsonl")).find("network", f"{MARK}-network")["event"] == "refused"


def test_check_mode_makes_nothing(go, cloud, external):
    result = go("network", check=True, floating_ip=True)
    assert (result["changed"], result.get("failed")) == (True, None)
    assert result["record"]["resources"][0]["id"] == external["id"]
    assert cloud.bodies == []


def test_check_mode_finds_a_wrong_password(go, cloud):
    cloud.password = "another"
    result = go("network", check=True)
    assert result["failed"] is True
    assert "requires authentication" in result["msg"]


# Ports and networks for two guests


def test_two_guests_get_a_port_each(go, cloud):
    record = go("network", dataplane=True)["record"]
    assert made(record)[3:] == [("port", f"{MARK}-port"), ("second_port", f"{MARK}-second-port")]
    networks = {port["network_id"] for port in cloud.all("ports")}
    assert networks == {cloud.all("networks")[0]["id"]}
    assert record["details"]["fixed_ips"]
    assert record["details"]["second_fixed_ips"]


def test_a_routed_path_has_a_second_network_on_the_same_router(go, cloud):
    record = go("network", dataplane=True, path="routed")["record"]
    assert [kind for kind, _name in made(record)] == [
        "network",
        "subnet",
        "security_group",
        "router",
        "router_interface",
        "second_network",
        "second_subnet",
        "second_router_interface",
        "port",
        "second_port",
    ]
    ranges = {subnet["name"]: subnet["cidr"] for subnet in cloud.all("subnets")}
    assert ranges == {f"{MARK}-subnet": "192.168.222.0/24", f"{MARK}-second-subnet": "192.168.223.0/24"}
    ids = {resource["kind"]: resource["id"] for resource in record["resources"]}
    assert ids["second_router_interface"] == f"{ids['router']}/{ids['second_subnet']}"
    ports = {port["name"]: port["network_id"] for port in cloud.all("ports") if port["name"]}
    assert ports == {f"{MARK}-port": ids["network"], f"{MARK}-second-port": ids["second_network"]}


@pytest.mark.parametrize(
    ("cidr", "following"),
    [
        ("192.168.222.0/24", "192.168.223.0/24"),
        ("10.0.0.0/29", "10.0.0.8/29"),
        ("255.255.255.0/24", "255.255.254.0/24"),
        ("fd57:ac9f:100f::/64", "fd57:ac9f:100f:1::/64"),
        ("ffff:ffff:ffff:ffff::/64", "ffff:ffff:ffff:fffe::/64"),
    ],
)
def test_the_second_range_follows_the_first(cidr, following):
    assert module.next_range(cidr) == following


@pytest.mark.parametrize("mode", ["slaac", "dhcpv6-stateless", "dhcpv6-stateful"])
def test_ipv6_has_a_subnet_that_a_router_advertises(go, cloud, mode):
    record = go("network", ipv6=mode, dns_nameservers=["9.9.9.9"])["record"]
    assert [kind for kind, _name in made(record)] == [
        "network",
        "subnet",
        "subnet_ipv6",
        "security_group",
        "router",
        "router_interface",
        "router_interface_ipv6",
    ]
    ids = {resource["kind"]: resource["id"] for resource in record["resources"]}
    assert ids["router_interface_ipv6"] == f"{ids['router']}/{ids['subnet_ipv6']}"
    assert bodies(cloud, "subnet")[1] == {
        "name": f"{MARK}-subnet-ipv6",
        "description": MARK,
        "network_id": ids["network"],
        "ip_version": 6,
        "cidr": "fd57:ac9f:100f::/64",
        "ipv6_ra_mode": mode,
        "ipv6_address_mode": mode,
    }
    assert [
        (rule["ethertype"], rule["protocol"], rule.get("port_range_min"))
        for rule in bodies(cloud, "security_group_rule")
    ] == [
        ("IPv4", "icmp", None),
        ("IPv4", "tcp", 22),
        ("IPv6", "ipv6-icmp", None),
        ("IPv6", "tcp", 22),
    ]


def test_a_rule_for_icmp_over_ipv6_is_made_once(go, cloud):
    rules = [{"protocol": "icmp"}, {"protocol": "icmpv6"}, {"protocol": "icmp"}]
    go("network", ipv6="slaac", rules=rules)
    made_rules = [(rule["ethertype"], rule["protocol"]) for rule in bodies(cloud, "security_group_rule")]
    assert made_rules == [("IPv4", "icmp"), ("IPv6", "ipv6-icmp")]


@pytest.mark.parametrize(
    ("modes", "ipv6"),
    [
        ({"ipv6_ra_mode": "slaac", "ipv6_address_mode": "slaac"}, "slaac"),
        # A physical router tells guests of it, or nobody does.
        ({"ipv6_ra_mode": None, "ipv6_address_mode": "slaac"}, None),
        ({"ipv6_ra_mode": None, "ipv6_address_mode": None}, None),
    ],
)
def test_ipv6_of_a_network_that_is_there_is_let_in_if_neutron_advertises_it(go, cloud, modes, ipv6):
    network = cloud.put("networks", name="lan")
    cloud.put("subnets", network_id=network["id"], ip_version=4)
    cloud.put("subnets", network_id=network["id"], ip_version=6, **modes)
    record = go("network", network="lan", dataplane=True)["record"]
    assert record["details"].get("ipv6") == ipv6
    versions = {rule["ethertype"] for rule in bodies(cloud, "security_group_rule")}
    assert versions == ({"IPv4", "IPv6"} if ipv6 else {"IPv4"})


def test_a_routed_path_has_ipv6_on_both_networks(go, cloud):
    record = go("network", dataplane=True, path="routed", ipv6="slaac")["record"]
    ids = {resource["kind"]: resource["id"] for resource in record["resources"]}
    assert ids["second_router_interface_ipv6"] == f"{ids['router']}/{ids['second_subnet_ipv6']}"
    ranges = {subnet["name"]: subnet["cidr"] for subnet in cloud.all("subnets")}
    assert ranges[f"{MARK}-subnet-ipv6"] == "fd57:ac9f:100f::/64"
    assert ranges[f"{MARK}-second-subnet-ipv6"] == "fd57:ac9f:100f:1::/64"


def test_a_network_may_have_ipv6_alone(go, cloud):
    options = {"dataplane": True, "path": "routed", "ipv4": False, "ipv6": "slaac", "dns_nameservers": ["2001:db8::53"]}
    record = go("network", **options)["record"]
    kinds = [kind for kind, _name in made(record)]
    assert {"subnet", "second_subnet", "router_interface", "second_router_interface"}.isdisjoint(kinds)
    ids = {resource["kind"]: resource["id"] for resource in record["resources"]}
    assert ids["router_interface_ipv6"] == f"{ids['router']}/{ids['subnet_ipv6']}"
    assert ids["second_router_interface_ipv6"] == f"{ids['router']}/{ids['second_subnet_ipv6']}"
    subnets = bodies(cloud, "subnet")
    assert [(subnet["ip_version"], subnet["dns_nameservers"]) for subnet in subnets] == [(6, ["2001:db8::53"])] * 2
    assert {rule["ethertype"] for rule in bodies(cloud, "security_group_rule")} == {"IPv6"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "a network without IPv4 and IPv6 has no addresses for guests"),
        ({"network": "lan"}, "a network without IPv4 and IPv6 has no addresses for guests"),
        (
            {"ipv6": "slaac", "floating_ip": True},
            "floating IPs need IPv4",
        ),
    ],
)
def test_guests_without_ipv4_need_ipv6_and_have_no_floating_ip(error, cloud, options, message):
    found = error("network", ipv4=False, **options)
    assert (found["kind"], found["message"]) == ("invalid", message)
    assert cloud.bodies == []


@pytest.mark.parametrize("options", [{"network": "lan"}, {"router": "never"}])
def test_ipv6_needs_a_network_and_a_router_of_the_run(error, cloud, options):
    found = error("network", ipv6="slaac", **options)
    assert (found["kind"], found["message"]) == (
        "invalid",
        "only a network and a router of the run's own can get IPv6",
    )
    assert cloud.bodies == []


@pytest.mark.parametrize("options", [{"network": "lan"}, {"router": "never"}])
def test_a_routed_path_needs_networks_of_the_run(error, cloud, options):
    failure = error("network", dataplane=True, path="routed", **options)
    assert failure["kind"] == "invalid"
    assert cloud.requests == []
