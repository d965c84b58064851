# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An instance, from the API's answers about it."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.api import instance as instance_module
from ansible_collections.stackproof.provision.plugins.module_utils._collect.api.answers import SubnetAnswer
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json, to_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.instance import Claims

NETWORK = "43fab180-bf69-42bf-a74e-9ed8722a60fa"


def look(*arguments):
    return to_json(instance_module.look(*arguments))


def without_provider(network):
    """A network as a member sees it."""
    return {name: value for name, value in network.items() if not name.startswith("provider:")}


@pytest.fixture
def put_instance(cloud, api):
    """Return a function that puts the recorded instance into the cloud, as a member or an administrator sees it."""

    def have(who="member", **server):
        cloud.put("servers", **{**api[who]["server"], **server})
        network = api["network"] if who == "admin" else without_provider(api["network"])
        cloud.put("networks", **{**network, "port_security_enabled": True})
        for kind, things in (("ports", api[who]["ports"]), ("subnets", api["subnets"]), ("images", [api["image"]])):
            for thing in things:
                cloud.put(kind, **thing)
        return api[who]["server"]["id"]

    return have


def looked(instance):
    """The result of look without its time; claims has the rest."""
    known = {name: value for name, value in instance.items() if name not in ("queried", "allocations", "claimed_on")}
    # The recorded cloud was not asked for the rules of security groups.
    ports = [{name: value for name, value in port.items() if name != "egress_rules"} for port in instance["ports"]]
    return {**known, "ports": ports}


def test_a_recorded_instance_as_a_member_sees_it(put_instance, connect, instance):
    result = look(connect(), put_instance())
    assert looked(result) == looked(instance)
    assert result["queried"]


def test_a_recorded_instance_as_an_administrator_sees_it(put_instance, connect, api):
    identity = put_instance("admin")
    result = look(connect(), identity, connect())
    assert looked(result) == looked(api["seen_by_admin"])
    assert (result["server"]["host"], result["ports"][0]["host"]) == ("compute2", "compute2")


def services(connection):
    return {call.service for call in connection.calls} - {None, "identity"}


def test_an_administrator_is_asked_for_all_but_the_image(put_instance, connect):
    member, admin = connect(), connect()
    look(member, put_instance("admin"), admin)
    assert (services(member), services(admin)) == ({"image"}, {"compute", "network"})


def server_on(host, put_instance):
    return SimpleNamespace(id=put_instance("admin"), host=host)


def test_what_placement_holds_for_an_instance_that_has_a_host_is_counted(put_instance, connect):
    server = server_on("compute2", put_instance)
    assert instance_module.claims(connect(), server) == Claims(1)


def test_an_instance_that_no_host_has_taken_is_where_placement_holds_something(put_instance, connect):
    server = server_on(None, put_instance)
    assert instance_module.claims(connect(), server) == Claims(1, ("compute2",))


def test_the_traits_of_the_host_are_asked_for_where_the_flavor_asks_for_any(put_instance, connect, cloud):
    cloud.traits = ["CUSTOM_GOLD", "COMPUTE_NODE"]
    flavor = {"vcpus": 1, "ram": 128, "disk": 1, "extra_specs": {
        "trait:CUSTOM_GOLD": "required", "trait:CUSTOM_OLD": "forbidden", "trait1:CUSTOM_OF_A_GROUP": "required",
        "hw:mem_page_size": "small",
    }}  # fmt: skip
    server = instance_module.look(connect(), put_instance("admin", flavor=flavor), connect()).server
    assert server.traits == {"CUSTOM_GOLD": "required", "CUSTOM_OLD": "forbidden"}
    assert instance_module.traits_of(connect(), server) == ("COMPUTE_NODE", "CUSTOM_GOLD")


def test_an_instance_that_boots_from_a_volume_has_no_image(put_instance, connect):
    assert look(connect(), put_instance(image=""))["image"] is None


def test_an_image_that_is_gone_leaves_its_id(put_instance, connect, cloud, instance):
    identity = put_instance()
    cloud.things["/image/v2/images"].clear()
    expected = {"id": instance["image"]["id"], "direct_url": None, "stores": None, "disk_format": None}
    assert look(connect(), identity)["image"] == expected


def test_an_instance_without_volumes_has_none(put_instance, connect):
    identity = put_instance(**{"os-extended-volumes:volumes_attached": []})
    assert look(connect(), identity)["volumes"] == []


def test_routers_of_a_network_are_named_once_and_those_of_others_not(put_instance, connect, cloud):
    identity = put_instance()
    for device, owner in (("r2", "router_interface"), ("r1", "router_gateway"), ("r2", "router_interface"), ("f", "x")):
        cloud.put("ports", network_id=NETWORK, device_id=device, device_owner=f"network:{owner}")
    cloud.put("ports", network_id="another", device_id="r3", device_owner="network:router_interface")
    (network,) = look(connect(), identity)["networks"]
    assert (network["routers"], network["distributed"]) == (["r1", "r2"], False)


def test_of_a_network_that_many_share_only_who_serves_it_is_asked_for(put_instance, connect, cloud):
    look(connect(), put_instance())
    queries = (request.query for request in cloud.requests if request.path.endswith("/ports"))
    ((_network, *rest),) = (query for query in queries if "network_id" in dict(query))
    assert {name for name, _value in rest} == {"device_owner", "fields"}
    assert all(value.startswith("network:") for name, value in rest if name == "device_owner")


def test_the_address_of_an_image_is_told_for_ceph_alone(put_instance, connect, cloud):
    """That of another store may hold a password."""
    identity = put_instance()
    for image in cloud.all("images"):
        image["direct_url"] = "https://user:{}@store/image".format("password")
    assert "password" not in json.dumps(look(connect(), identity))


def test_a_network_of_ovn_is_told(put_instance, connect, cloud):
    identity = put_instance()
    cloud.put("ports", network_id=NETWORK, device_id="ovn", device_owner="network:distributed")
    (network,) = look(connect(), identity)["networks"]
    assert network["distributed"]


def test_a_network_with_two_ports_is_described_once(put_instance, connect, cloud):
    identity = put_instance()
    cloud.put("ports", network_id=NETWORK, device_id=identity, device_owner="compute:nova", fixed_ips=[])
    result = look(connect(), identity)
    assert (len(result["ports"]), len(result["networks"])) == (2, 1)


def requests_for(cloud, kind):
    return [dict(request.query) for request in cloud.requests if request.path.endswith(f"/{kind}")]


def test_an_instance_with_more_ports_than_a_host_can_attach_is_known_by_the_first(
    put_instance, connect, cloud, monkeypatch
):
    monkeypatch.setattr(instance_module, "MOST_PORTS", 5)
    identity = put_instance()
    for _port in range(20):
        cloud.put("ports", network_id=NETWORK, device_id=identity, device_owner="compute:nova", fixed_ips=[])
    cloud.put("ports", network_id=NETWORK, device_id="r1", device_owner="network:router_interface")
    assert len(look(connect(), identity)["ports"]) == 5
    assert len(requests_for(cloud, "floatingips")) == 5


def test_the_rules_of_a_group_are_asked_for_once_however_many_ports_have_it(put_instance, connect, cloud):
    identity = put_instance()
    group = {"security_groups": ["g1"], "fixed_ips": []}
    cloud.things["/network/v2.0/ports"].clear()
    for _port in range(3):
        cloud.put("ports", network_id=NETWORK, device_id=identity, device_owner="compute:nova", **group)
    cloud.put("ports", network_id=NETWORK, device_id="ovn", device_owner="network:distributed")
    for direction in ("egress", "ingress"):
        cloud.put("security-group-rules", id=direction, direction=direction, security_group_id="g1")
    ports = look(connect(), identity)["ports"]
    assert [port["security_rules"] for port in ports] == [{"g1": ["egress", "ingress"]}] * 3
    assert [port["egress_rules"] for port in ports] == [1] * 3
    assert [query["security_group_id"] for query in requests_for(cloud, "security-group-rules")] == ["g1"]


def test_a_subnet_says_its_routes(api):
    subnet = {**api["subnets"][0], "host_routes": [{"destination": "10.0.0.0/8", "nexthop": "192.168.222.9"}]}
    assert instance_module.describe_subnet(from_json(SubnetAnswer, subnet)).routes == ("10.0.0.0/8,192.168.222.9",)
