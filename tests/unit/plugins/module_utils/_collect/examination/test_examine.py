# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The second look at recorded hosts as a whole; their peers are asked for at this machine."""

from __future__ import annotations

import json
import threading
from types import SimpleNamespace

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination import examine, peer_probes
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import units
from ansible_collections.stackproof.provision.plugins.module_utils._model.codec import from_json, to_json
from recorded_hosts import printed

CONTROLLER, COMPUTE = "examined-controller1", "examined-compute1"
OWN = {CONTROLLER: ["controller1", "10.71.16.12"], COMPUTE: ["compute1", "10.71.16.14"]}
ASKED = {"salt": "0123456789abcdef" * 2, "since": 1795446300.25, "endpoints": []}
REFUSED = (1, "", "sudo: a password is required")
PARTS = {"reports", "exhausted", "files", "packages", "pending", "reach", "digests"}


@pytest.fixture(autouse=True)
def probed(monkeypatch):
    """The peers that were asked for, as (address, port, what is spoken there). Those of the recorded hosts are far."""
    asked = set()
    monkeypatch.setattr(peer_probes, "probe", lambda *peer: asked.add(peer) or "open")
    return asked


def question(**more):
    return from_json(examine.Question, {**ASKED, **more})


@pytest.fixture
def look(replay, platform):
    """Return a function that examines a recorded host: its findings, what was not read, and the commands."""

    def of(name, instead=None, components=(), **more):
        host = one_by_one(replay(name, instead))
        services = units.read(replay(name.removeprefix("examined-")), platform()["units"])
        running = {service.component for service in services}
        found = examine.examine(host, running.union(components), OWN[name], question(**more))
        return SimpleNamespace(found=to_json(found), unread=host.unread, asked=host.commands)

    return of


def one_by_one(host):
    """A recorded host remembers what it was asked last, so only one thread may ask it at a time."""
    answer, turn = host.execute, threading.Lock()

    def execute(words, take):
        with turn:
            return answer(words, take)

    host.execute, host.commands = execute, answer.asked
    return host


@pytest.mark.parametrize("name", OWN)
def test_a_recorded_host_that_is_well_has_all_parts_and_nothing_unread(look, name):
    looked = look(name)
    assert looked.unread == []
    assert set(looked.found) == PARTS
    assert [looked.found[part] for part in ("reports", "exhausted", "pending")] == [[], [], []]
    assert len(looked.found["packages"]) == 10
    assert "/etc/nova/nova.conf" in looked.found["files"]
    assert "/etc/nova/nova.conf [DEFAULT] my_ip" in looked.found["digests"]


def test_the_peers_of_a_recorded_controller_are_those_that_its_settings_name(look, probed):
    reached = look(CONTROLLER).found["reach"]
    peers = {(entry["component"], entry["address"], entry["port"]): entry["named_by"] for entry in reached}
    assert peers == {
        ("rabbitmq", "10.71.16.12", 5672): ["nova"],
        ("database", "10.71.16.12", 3306): ["keystone", "nova"],
        ("memcached", "10.71.16.12", 11211): ["keystone", "nova"],
        ("keystone", "10.71.16.12", 5000): ["ceph", "nova"],
        ("ceph-mon", "10.71.16.11", 3300): ["ceph"],
        ("ceph-mon", "10.71.16.11", 6789): ["ceph"],
    }
    spoken = {port: word for _address, port, word in probed}
    assert spoken == {5672: "amqp", 3306: "mysql", 11211: "memcached", 5000: "http", 3300: "tcp", 6789: "tcp"}


def test_the_services_of_the_catalogue_are_peers_of_every_host(look):
    endpoints = [
        {"service": "network", "url": "http://10.71.16.12:9797"},
        {"service": "identity", "url": "http://10.71.16.12:5000/v3"},
        {"service": "a type that nobody knows", "url": "https://cloud.example.org/image"},
        {"service": "image", "url": "not a URL"},
    ]
    resolved = {"getent": "192.0.2.7       STREAM cloud.example.org\n192.0.2.7       DGRAM  \n"}
    found = look(COMPUTE, resolved, endpoints=endpoints).found
    assert found["names"] == [{"name": "cloud.example.org", "addresses": ["192.0.2.7"]}]
    reached = found["reach"]
    named = {entry["component"]: (entry["address"], entry["named_by"]) for entry in reached}
    assert named["neutron-server"] == ("10.71.16.12", ["catalogue"])
    assert named["glance-api"] == ("cloud.example.org", ["catalogue"])
    # The settings name it without the path.
    assert named["keystone"] == ("10.71.16.12", ["catalogue", "ceph", "nova"])


def test_a_chassis_of_ovn_names_its_databases_itself(look, probed):
    remote = '"tcp:10.71.20.12:6642,tcp:[fd00::13]:6642"\n'
    looked = look(COMPUTE, {"ovn-remote": remote}, ["ovn-controller"])
    assert {("10.71.20.12", 6642, "ovsdb"), ("fd00::13", 6642, "ovsdb")} <= probed
    databases = [entry["named_by"] for entry in looked.found["reach"] if entry["component"] == "ovn-sb-db"]
    assert databases == [["ovn"], ["ovn"]]
    assert "Open vSwitch [external-ids] ovn-remote" in looked.found["digests"]
    assert looked.unread == []


def test_only_a_chassis_of_ovn_is_asked_for_its_databases(look):
    asked = [look(COMPUTE, components=components).asked for components in ((), ["ovn-controller"])]
    assert ["ovn-remote" in " ".join(commands) for commands in asked] == [False, True]


def test_a_chassis_whose_databases_cannot_be_asked_for_is_read_all_the_same(look):
    looked = look(COMPUTE, {"ovn-remote": REFUSED}, ["ovn-controller"])
    assert [(entry.what, entry.kind) for entry in looked.unread] == [("the databases of OVN", "refused")]
    assert len(looked.found["reach"]) == 5


def test_without_its_settings_a_host_has_no_digests_and_still_knows_its_databases(look):
    """With the digest of one option alone it would seem to differ in all others."""
    looked = look(COMPUTE, {"grep": REFUSED, "ovn-remote": '"tcp:10.71.20.12:6642"'}, ["ovn-controller"])
    assert looked.found["digests"] == {}
    assert [entry["component"] for entry in looked.found["reach"]] == ["ovn-sb-db"]
    assert [entry.what for entry in looked.unread] == ["the settings"]


def test_a_host_without_services_is_looked_at_too(replay, probed):
    host = one_by_one(replay(COMPUTE))
    found = to_json(examine.examine(host, set(), [], question()))
    assert (found["reach"], found["digests"], found["reports"], probed) == ([], {}, [], set())
    assert found["files"]
    assert found["packages"]
    assert host.unread == []


@pytest.mark.parametrize("name", OWN)
def test_no_value_of_a_setting_leaves_its_host(look, name):
    """Whatever fails: of values only digests are returned, and where peers are."""
    settings = printed(name, "grep")
    assert settings.count("planted") > 10
    for instead in ({}, {"grep": (2, settings, "")}, {"grep": settings.replace("=", "\n")}, {"find": settings}):
        looked = look(name, instead)
        text = json.dumps([looked.found, to_json(looked.unread)])
        assert [word for word in ("planted", "://", "openstack", "RegionOne", "virt_type = ") if word in text] == []


STRANGE = [
    "",
    "\n",
    "x",
    "null",
    "[]",
    "{}",
    "a b c d e f\n",
    "\0\x85",
    "1 2 3 4 /etc/nova/nova.conf\n",
    "[" * 50,
    "9" * 5000,
]


@pytest.mark.parametrize("output", STRANGE)
@pytest.mark.parametrize("name", OWN)
def test_a_host_may_print_anything(look, name, output):
    looked = look(name, {"id -u": "1000", "": output}, ["ovn-controller", "ovsdb", "rabbitmq", "database"])
    assert set(looked.found) == PARTS
    assert json.dumps([looked.found, to_json(looked.unread)])
    assert {entry.kind for entry in looked.unread} == {"strange"}
    assert {"the memory", "the state of database"} <= {entry.what for entry in looked.unread}


def test_a_host_that_refuses_everything_says_so_of_everything(look):
    looked = look(COMPUTE, {"id -u": "1000", "": REFUSED}, ["ovn-controller"])
    assert set(looked.found) == PARTS
    assert not any(looked.found.values())
    assert {entry.kind for entry in looked.unread} == {"refused"}
    assert {entry.what for entry in looked.unread} == {
        "the state of ovsdb", "the disks", "the mounts", "the memory", "the kernel's errors", "the programs",
        "the files of settings", "the packages", "the connections", "the databases of OVN", "libvirt's certificates",
        "the table of connections",
    }  # fmt: skip


def test_parts_are_read_at_the_same_time(replay):
    """Two of them wait for each other: one after the other, they would wait in vain."""
    host, together = one_by_one(replay(COMPUTE)), threading.Barrier(2, timeout=10)
    answer = host.execute

    def execute(words, take):
        if {"dpkg-query", "ss"} & set(words):
            together.wait()
        return answer(words, take)

    host.execute = execute
    found = to_json(examine.examine(host, set(), [], question()))
    assert found["packages"]
    assert not together.broken


@pytest.mark.parametrize(("name", "ports"), [(CONTROLLER, {3306}), (COMPUTE, set())])
def test_a_database_is_asked_for_only_from_hosts_whose_services_log_in_to_it(look, probed, name, ports):
    look(name)
    assert {port for _address, port, scheme in probed if scheme == "mysql"} == ports
