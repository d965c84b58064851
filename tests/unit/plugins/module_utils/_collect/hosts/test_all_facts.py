# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts of whole recorded hosts about an instance, by the parts of the cloud that are on them."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import all_facts, profiles
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json, to_json
from ansible_collections.stackproof.provision.plugins.module_utils._model.instance import DescribedInstance
from recorded_hosts import printed

SERVER, PORT = "8585247f-547f-46d6-8c03-334064b2be45", "bd6f4d7b-9cf8-4359-8587-aae420e24aca"
NETWORK, VOLUME = "43fab180-bf69-42bf-a74e-9ed8722a60fa", "c08c8d35-6222-4d44-9ae8-9b014b0ac62b"
# The facts of every host
EVERYWHERE = ("names", "addresses", "zone_s", "services")
COMPUTE1 = {"names": ["compute1"], "addresses": ["10.71.16.14"], "zone_s": 0}
# The components of a compute host, in the order of their units
COMPUTE = ["libvirt", "neutron-l2-agent", "nova-compute", "ovsdb", "ovsdb"]


@pytest.fixture
def read(replay, instance, platform):
    """Return a function that reads a host, and says what could not be read."""

    def of(name, *parts, instead=None, how="packages", with_instance=True):
        profile = platform(how)
        host = replay(name, instead, profile["prefixes"])
        facts = to_json(all_facts.read(host, parts, instance if with_instance else None, profile))
        return facts, [(entry.what, entry.kind) for entry in host.unread]

    return of


def test_a_recorded_compute_host(read):
    facts, unread = read("compute2", "compute")
    assert set(facts) == {*EVERYWHERE, "domain", "interfaces"}
    assert (facts["names"], facts["addresses"], unread) == (["compute2"], ["10.71.16.15"], [])
    assert (facts["domain"]["uuid"], facts["domain"]["process"]["pid"]) == (SERVER, 19440)
    assert {port: interface["name"] for port, interface in facts["interfaces"].items()} == {PORT: "tapbd6f4d7b-9c"}


def test_a_recorded_compute_host_without_the_instance(read):
    facts, unread = read("compute1", "compute")
    services = facts.pop("services")
    assert (facts, unread) == ({**COMPUTE1, "domain": None, "interfaces": {PORT: None}}, [])
    assert [(service["component"], service["state"]) for service in services] == [(name, "running") for name in COMPUTE]


def test_without_an_instance_a_host_speaks_of_itself(read):
    facts, unread = read("compute1", "compute", "network", with_instance=False)
    assert (set(facts), unread) == (set(EVERYWHERE), [])
    facts, unread = read("storage1", "ceph", with_instance=False)
    assert (set(facts), unread) == ({*EVERYWHERE, "ceph"}, [])
    assert (facts["ceph"]["osds"], facts["ceph"]["images"]) == ({"0": True}, [])


def test_a_recorded_network_host(read):
    facts, unread = read("network1", "network")
    assert (set(facts), unread) == ({*EVERYWHERE, "dhcp", "metadata", "routers"}, [])
    assert facts["dhcp"][PORT]["directory"] == f"/var/lib/neutron/dhcp/{NETWORK}"
    assert [message["kind"] for message in facts["dhcp"][PORT]["log"]] == ["DISCOVER", "OFFER", "REQUEST", "ACK"]
    (proxy,) = facts["metadata"][PORT]
    process = int(printed("network1", f"/{NETWORK}.conf").split()[0])
    assert (proxy["owner"], proxy["processes"], len(proxy["requests"])) == (NETWORK, [process], 3)


def test_a_recorded_storage_host(read):
    facts, unread = read("storage1", "ceph")
    assert (set(facts), unread) == ({*EVERYWHERE, "ceph"}, [])
    names = [(image["pool"], image["name"], image["exists"]) for image in facts["ceph"]["images"]]
    assert names == [("vms", f"{SERVER}_disk", True), ("volumes", f"volume-{VOLUME}", True)]
    assert (facts["ceph"]["origin"]["exists"], facts["ceph"]["origin"]["snapshots"]) == (True, ["snap"])


def test_a_host_where_sudo_refuses_names_all_that_was_not_read(read):
    facts, unread = read("refused", "compute", "network", "ceph")
    assert (facts["names"], facts["addresses"]) == (["compute2"], ["10.71.16.15"])
    assert unread == [
        (what, "refused")
        for what in (
            "the domain",
            "the interface in Open vSwitch",
            "the state of the DHCP agent",
            "the log of the metadata proxy",
            "the keyrings of Ceph",
        )
    ]


def test_a_host_without_the_containers_names_all_that_was_not_read(read):
    # The host itself sees the processes of its containers.
    seen = {
        ".conf": "5 /usr/sbin/haproxy -f /var/lib/neutron/ns-metadata-proxy/x.conf\n",
        "fib_trie": "",
        f"-- /{NETWORK}/": f"7 /usr/sbin/dnsmasq --pid-file=/var/lib/neutron/kolla/dhcp/{NETWORK}/pid\n",
        "ls /var/lib/docker": (2, "", "ls: cannot access '/var/lib/docker/volumes': No such file or directory"),
        "docker ps": (1, "", "sudo: docker: command not found"),
    }
    facts, unread = read("containers", "compute", "network", "ceph", how="kolla", instead=seen)
    assert [proxy["processes"] for proxies in facts["metadata"].values() for proxy in proxies] == [[5]]
    assert [process["pid"] for process in facts["dhcp"][PORT]["processes"]] == [7]
    assert unread == [
        (what, "missing")
        for what in (
            "the host's containers",
            "the domain",
            "the interface in Open vSwitch",
            "the keyrings of Ceph",
        )
    ]


def test_a_host_with_no_part_says_its_names_addresses_zone_and_services_only(read):
    facts, unread = read("compute1")
    assert ({name: facts[name] for name in COMPUTE1}, unread) == (COMPUTE1, [])
    assert set(facts) == set(EVERYWHERE)


def test_services_are_asked_for_without_sudo_and_what_is_not_said_is_named(read):
    facts, unread = read("compute1", instead={"systemctl": (127, "", "systemctl: not found")})
    assert (facts["services"], unread) == ([], [("the host's services", "missing")])
    assert [service["component"] for service in read("refused")[0]["services"]] == COMPUTE
    assert read("compute1", how="kolla", instead={"docker ps": ""})[0]["services"] == []


def test_a_host_says_its_zone(read):
    assert read("compute1", instead={"date": "+0530\n"})[0]["zone_s"] == 19800
    facts, unread = read("compute1", instead={"date": (127, "", "date: not found")})
    assert (facts["zone_s"], unread) == (None, [("the host's time zone", "missing")])


def test_a_host_that_does_not_know_its_name_is_read_all_the_same(read):
    facts, unread = read("compute1", "compute", instead={"hostname": (127, "", "hostname: not found")})
    assert (facts["names"], facts["addresses"], facts["domain"]) == ([], [], None)
    assert unread == [("the host's name", "missing"), ("the host's addresses", "missing")]


@pytest.mark.parametrize(
    ("full", "names"),
    [
        ("compute1.example.org\n", ["compute1", "compute1.example.org"]),
        ("compute1\n", ["compute1"]),
        ((1, "", "hostname: Name or service not known"), ["compute1"]),
    ],
)
def test_names_of_a_host(replay, full, names):
    assert to_json(all_facts.names_of(replay(None, {"--fqdn": full, "hostname": "compute1\n"}))) == names


@pytest.mark.parametrize(
    ("how", "groups", "parts"),
    [
        ("packages", [], []),
        ("packages", ["web"], []),
        ("packages", ["web", "compute"], ["compute"]),
        ("packages", ["storage", "network"], ["network", "ceph"]),
        ("packages", ["controller"], ["control", "ovn", "queue"]),
        ("packages", ["rabbitmq"], ["queue"]),
        ("devstack", ["controller"], ["control", "network", "ovn", "ceph", "queue"]),
        ("devstack", ["devstack"], ["control", "compute", "network", "ovn", "ceph", "queue"]),
        ("kolla", ["compute", "cinder-volume"], ["compute", "ceph"]),
        ("osa", ["nova_compute", "neutron_ovn_gateway"], ["compute", "network"]),
        ("osa", ["haproxy_all", "ceph_mon"], ["control", "ceph"]),
        ("rhoso", ["openstack-edpm"], ["compute"]),
        ("kubernetes", ["k8s_cluster", "k8s_nodes"], ["control", "compute", "network"]),
    ],
)
def test_parts_of_a_host_are_said_by_its_groups(platform, how, groups, parts):
    assert profiles.parts_of(groups, platform(how)) == parts


def described(instance):
    return from_json(DescribedInstance, instance)


def read_proxies(host, port, instance, platform):
    """The proxies of one port of an instance."""
    reading = all_facts.Reading(host, described({**instance, "ports": [port]}), platform)
    return to_json(reading.proxies(reading.instance.ports[0]))


def test_images_in_ceph_are_the_root_disk_and_the_volumes(instance, platform):
    pools = {"pools": {"vms": "nova", "volumes": "cinder"}}
    assert all_facts.pool_images(described(instance), platform()) == [
        ("vms", f"{SERVER}_disk"),
        ("volumes", f"volume-{VOLUME}"),
    ]
    instance["volumes"].append("b")
    assert all_facts.pool_images(described(instance), pools)[1:] == [
        ("cinder", f"volume-{VOLUME}"),
        ("cinder", "volume-b"),
    ]


def test_an_instance_that_boots_from_a_volume_has_no_root_disk(instance, platform):
    assert all_facts.pool_images(described({**instance, "image": None}), platform()) == [
        ("volumes", f"volume-{VOLUME}")
    ]


def test_a_port_without_an_address_has_no_requests(replay, instance, platform):
    port = {**instance["ports"][0], "addresses": []}
    assert read_proxies(replay(None), port, instance, platform()) == []


def test_the_proxies_of_a_network_and_of_its_routers_are_asked(replay, instance, platform):
    instance["networks"][0]["routers"] = ["r1", "r2"]
    host = replay(None, {"id -u": "0", "pgrep": (1, "", ""), "test": "", "journalctl": ""})
    proxies = read_proxies(host, instance["ports"][0], instance, platform())
    assert [proxy["owner"] for proxy in proxies] == [NETWORK, "r1", "r2"]


def test_requests_of_all_addresses_of_a_port_count(replay, instance, platform):
    port = {**instance["ports"][0], "addresses": ["fd00::5", "192.168.222.230", "192.168.222.231"]}
    (recorded,) = read_proxies(replay("network1"), instance["ports"][0], instance, platform())
    (proxy,) = read_proxies(replay("network1"), port, instance, platform())
    assert len(proxy["requests"]) == 3
    assert proxy == recorded


def test_requests_that_cannot_be_read_are_none_for_all_addresses(replay, instance, platform):
    port = {**instance["ports"][0], "addresses": ["fd00::5", "192.168.222.230"]}
    (proxy,) = read_proxies(replay("refused"), port, instance, platform())
    assert proxy["requests"] is None


def test_lines_of_before_the_instance_are_no_matter(read):
    instead = {
        "journalctl": "",
        "dnsmasq.log": "Nov 21 11:01:19 dnsmasq-dhcp[1]: DHCPACK(t) 1.2.3.4 fa:16:3e:2d:9a:e3\n",
    }
    facts, _unread = read("network1", "network", instead=instead)
    assert facts["dhcp"][PORT]["log"] == []
