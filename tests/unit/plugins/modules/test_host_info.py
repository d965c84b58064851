# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules that read something on a host, as Ansible calls them, on recorded hosts."""

from __future__ import annotations

import importlib
import json

import pytest
import yaml
from ansible_collections.stackproof.provision.plugins.module_utils._collect import info_module
from recorded_hosts import printed

UUID, PORT = "8585247f-547f-46d6-8c03-334064b2be45", "bd6f4d7b-9cf8-4359-8587-aae420e24aca"
NETWORK, MAC, SINCE = "43fab180-bf69-42bf-a74e-9ed8722a60fa", "fa:16:3e:2d:9a:e3", 1795258881


MODULES = "ansible_collections.stackproof.provision.plugins.modules"


@pytest.fixture
def on(call, replay, monkeypatch, warned):
    """Return a function that runs a module on a recorded host."""

    def run(name, module, instead=None, **options):
        host = replay(name, instead)

        monkeypatch.setattr(info_module, "execute", host.execute)
        imported = importlib.import_module(f"{MODULES}.{module}")
        result = call(imported, check=True, **options)
        assert (result.get("failed"), result["changed"]) == (None, False)
        return {**result, "warned": warned}

    return run


def test_the_domain(on):
    result = on("compute2", "domain_info", uuid=UUID)
    assert (result["domain"]["name"], result["unread"]) == ("instance-00000053", [])
    assert result["warned"] == []


def test_the_port_in_open_vswitch(on):
    (row,) = json.loads(printed("compute2", "find Port"))["data"]
    assert [on("compute2", "ovs_port_info", port=PORT)["interface"]["tag"]] == row


def test_the_port_in_ovn(on, instance_in_ovn):
    (port,), (network,) = instance_in_ovn["ports"], instance_in_ovn["networks"]
    options = {"port": port["id"], **{name: port[name] for name in ("addresses", "subnets")}}
    result = on("controller1-ovn", "ovn_port_info", routers=network["routers"], **options)
    sample = yaml.safe_load(importlib.import_module(f"{MODULES}.ovn_port_info").RETURN)["port"]["sample"]
    assert (result["port"], result["unread"], result["warned"]) == (sample, [], [])


def test_a_port_in_ovn_by_its_id_alone(on, instance_in_ovn):
    result = on("controller1-ovn", "ovn_port_info", port=instance_in_ovn["ports"][0]["id"])
    assert (result["port"]["binding"], result["port"]["dhcp"], result["port"]["routers"]) == (
        {"host": "compute2", "up": True},
        None,
        {},
    )


def test_the_images(on):
    result = on("storage1", "rbd_info", images=[f"vms/{UUID}_disk"])
    assert (result["user"], result["health"]["status"], result["osds"]) == ("admin", "HEALTH_OK", {"0": True})
    assert [image["name"] for image in result["images"]] == [f"{UUID}_disk"]


def test_the_health_without_images(on):
    result = on(
        "storage1", "rbd_info", users=["cinder", "admin"], instead={"--id cinder": '{"status":"X","checks":{}}'}
    )
    assert (result["user"], result["health"], result["images"]) == ("cinder", {"status": "X", "checks": {}}, [])


def test_the_lease(on):
    result = on("network1", "dhcp_lease_info", network=NETWORK, mac=MAC, since=SINCE)
    assert [lease["address"] for lease in result["leases"]] == ["192.168.222.230"]
    assert [message["kind"] for message in result["log"]] == ["DISCOVER", "OFFER", "REQUEST", "ACK"]


def test_the_requests_for_metadata(on):
    result = on("network1", "metadata_proxy_info", owners=[NETWORK], address="192.168.222.230", since=SINCE)
    assert [request["status"] for request in result["proxies"][0]["requests"]] == [200, 200, 200]


def test_logs_may_be_elsewhere(on):
    logs = {"files": ["/log/{owner}"]}
    instead = {"grep": '1970-01-01T00:00:07Z 10.0.0.5:42 [x] a b/c 0/0/0/1/1 200 1 - - ---- 1/1/0/0/0 0/0 "GET /a B"\n'}
    result = on("network1", "metadata_proxy_info", instead, owners=[NETWORK], address="10.0.0.5", logs=logs)
    assert [request["path"] for request in result["proxies"][0]["requests"]] == ["/a"]


def test_all_that_a_host_knows(on, instance, platform):
    result = on("network1", "evidence_info", instance=instance, parts=["network"], platform=platform())
    assert set(result["facts"]) == {"names", "addresses", "zone_s", "services", "dhcp", "metadata", "routers"}
    assert result["facts"]["names"] == ["network1"]


def test_all_that_a_host_knows_in_its_containers(on, instance, platform):
    instead = {"docker ps": ""}
    result = on("containers", "evidence_info", instead, instance=instance, parts=["ceph"], platform=platform("kolla"))
    assert result["facts"]["ceph"]["user"] is None
    (warning,) = result["warned"]
    assert "sudo -n docker exec cinder_volume ls /etc/ceph" in warning


def test_what_could_not_be_read_is_returned_and_warned_of(on):
    result = on("refused", "domain_info", uuid=UUID)
    (unread,) = result["unread"]
    assert (result["domain"], unread["what"], unread["kind"]) == (None, "the domain", "refused")
    assert result["warned"] == [f"the domain: {unread['reason']}"]


def test_prefixes_are_words_before_the_commands_of_a_part(on):
    instead = {"podman exec switch ovs-vsctl": '{"headings": [], "data": []}'}
    assert (
        on("compute1", "ovs_port_info", instead, port=PORT, prefixes={"ovs": ["podman", "exec", "switch"]})["unread"]
        == []
    )


def test_a_real_command_that_is_missing_is_no_crash(call, monkeypatch, tmp_path, instance, platform):
    monkeypatch.setenv("PATH", str(tmp_path))
    module = importlib.import_module(f"{MODULES}.evidence_info")
    result = call(module, instance=instance, parts=[], platform=platform())
    assert [(entry["what"], entry["kind"]) for entry in result["unread"]] == [
        ("the host's name", "missing"),
        ("the host's addresses", "missing"),
        ("the host's time zone", "missing"),
        ("the host's services", "missing"),
    ]
    assert result["unread"][0]["reason"].startswith("there is no command for: hostname: ")


def test_a_real_command_gets_the_words_and_the_language_of_programs(call, monkeypatch, tmp_path, instance, platform):
    (tmp_path / "hostname").write_text('#!/bin/sh\necho "$LC_ALL$*"\n')
    (tmp_path / "hostname").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    module = importlib.import_module(f"{MODULES}.evidence_info")
    result = call(module, instance=instance, parts=[], platform={**platform(), "units": []})
    facts = {name: result["facts"][name] for name in ("names", "addresses")}
    assert (facts, result["unread"]) == ({"names": ["C", "C--fqdn"], "addresses": ["C--all-ip-addresses"]}, [])
