# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests that fail on the lab are told by its logs alone, by whatever somebody knows of them."""

from __future__ import annotations

import base64
import json
import re
import socket
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace

import pytest
from lab_under_test import GROUPS, HOSTS, INVENTORY, NETWORK, until
from openstack.exceptions import HttpException
from reports_of_sos import collect
from runs_under_test import kept_run, play

CONTROLLER = GROUPS["controller"][0]
# More gigabytes than the back end may promise, and fewer than the quota
TOO_LARGE = 400
NOBODY = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def failed(member, admin, lab_hosts, tmp_path_factory):
    """A volume that no back end has room for, a subnet of a network that is not there, and the controller's logs."""
    since = datetime.now(timezone.utc)
    volume = member.block_storage.create_volume(name="stackproof-test-too-large", size=TOO_LARGE, volume_type="ceph")
    try:
        until("the volume to be refused", lambda: member.block_storage.get_volume(volume).status != "creating", 60)
        with pytest.raises(HttpException) as refused:
            member.network.create_subnet(network_id=NOBODY, ip_version=4, cidr="192.168.231.0/24")
        # Logs at debug hold secrets, which nothing under the folder of the tests may.
        with tempfile.TemporaryDirectory() as top:
            collect_logs(lab_hosts[CONTROLLER], Path(top, CONTROLLER))
            folder = tmp_path_factory.mktemp("diagnoses")
            about = {"since": since, "volume": volume.id, "refused": refused.value}
            yield SimpleNamespace(top=top, folder=folder, **about)
    finally:
        admin.block_storage.delete_volume(volume, ignore_missing=True)
        admin.block_storage.wait_for_delete(volume)


def collect_logs(host, folder):
    """The logs of a host as a support bundle has them."""
    folder.mkdir()
    done = host.run("tar -C / -cz var/log/cinder var/log/neutron etc/timezone 2>/dev/null | base64 -w0")
    (folder / "logs.tar.gz").write_bytes(base64.b64decode(done.stdout))
    host.backend.run_local(f"tar -C {folder} -xzf {folder}/logs.tar.gz")
    (folder / "logs.tar.gz").unlink()


def diagnosed(failed, **asked):
    status, output = play("diagnose", bundle=failed.top, diagnoses=failed.folder, **asked)
    assert status == 0, output
    return json.loads((failed.folder / "latest/run.json").read_text()), output


def test_a_volume_that_nobody_has_room_for_is_told_by_its_id(failed):
    """Nobody broke it: the scheduler says which of its filters left none."""
    record, output = diagnosed(failed, resource_id=failed.volume)
    verdict = record["verdict"]
    assert (verdict["result"], verdict["stage"], verdict["component"]) == ("fail", "volume", None)
    assert (verdict["quote_source"]["component"], verdict["quote_source"]["host"]) == ("cinder-scheduler", CONTROLLER)
    assert "CapacityFilter: (start: 1, end: 0)" in verdict["quote"]
    assert record["diagnosis"]["failures"][0]["requests"][0]["path"].endswith("/volumes")
    assert re.search(r"requests that failed\n +1  volume: POST /v3/\w+/volumes", output)


def test_all_that_failed_in_a_time_is_told(failed):
    record, _output = diagnosed(failed, since=failed.since.isoformat())
    assert (record["verdict"]["result"], record["verdict"]["stage"]) == ("fail", "volume")
    assert "CapacityFilter: (start: 1, end: 0)" in record["verdict"]["reason"]


def test_a_request_of_which_the_logs_have_no_answer_is_not_judged(failed):
    """The web server of neutron-api logs answers without ids. The volume that fails beside it is another service's."""
    error = f"{failed.refused} (Request-ID: {failed.refused.request_id})"
    record, _output = diagnosed(failed, error=error)
    assert record["diagnosis"]["query"] == {"error": failed.refused.request_id}
    assert (record["verdict"]["result"], record["diagnosis"]["failures"]) == ("incomplete", [])


@pytest.fixture(scope="module")
def working(tmp_path_factory):
    """A server that works, and its host."""
    options = {"admin_cloud": "lab-admin", "floating_ip": True}
    with kept_run(tmp_path_factory.mktemp("runs"), "-i", str(INVENTORY), **options) as outcome:
        instance = outcome.record["instance"]
        yield SimpleNamespace(server=instance["server"]["id"], host=instance["server"]["host"])


# On the live cloud

CHANGING = r" (POST|PUT|PATCH|DELETE) /"


def changes_asked_for(controller, address):
    """The requests in the logs of the APIs by which somebody at an address has changed anything; tokens are none."""
    logs = " ".join(
        f"/var/log/{name}/*.log" for name in ("nova", "neutron", "cinder", "glance", "placement", "keystone")
    )
    command = f"grep -hE '{re.escape(address)} .*{CHANGING}' {logs} 2>/dev/null | grep -v /auth/tokens"
    return controller.run(command).stdout.splitlines()


@pytest.fixture
def diagnosed_live(lab_hosts, tmp_path):
    """Return a function that diagnoses what has an id on the cloud; nothing on it is changed."""
    controller = lab_hosts[CONTROLLER]
    own = socket.create_connection((HOSTS[CONTROLLER]["ansible_host"], 5000), timeout=5)
    with own:
        address = own.getsockname()[0]

    def of(**asked):
        before = changes_asked_for(controller, address)
        clouds = {"cloud": "lab", "admin_cloud": "lab-admin", "diagnoses": tmp_path}
        status, output = play("diagnose", "-i", INVENTORY, **clouds, **asked)
        assert status == 0, output
        assert changes_asked_for(controller, address) == before
        return json.loads((tmp_path / "latest/run.json").read_text()), output

    return of


def test_a_volume_in_error_is_diagnosed_on_the_live_cloud(failed, diagnosed_live):
    record, output = diagnosed_live(resource_id=failed.volume)
    verdict = record["verdict"]
    assert (verdict["result"], verdict["stage"], verdict["component"]) == ("fail", "volume", None)
    assert verdict["headline"].startswith("No back end fits: ")
    assert "the volume stackproof-test-too-large became error" in output
    assert {host["host"] for host in record["hosts"]} == set(HOSTS)


def test_a_server_that_works_is_found_to_work(working, diagnosed_live):
    record, _output = diagnosed_live(server_id=working.server)
    assert record["verdict"]["result"] == "pass", record["verdict"]
    assert record["verdict"]["reason"].startswith("No fault was found: the server stackproof-")
    assert {stage["stage"]: stage["status"] for stage in record["stages"]}["metadata"] == "ok"
    assert not any(check["status"] == "failed" for host in record["hosts"] for check in host["checks"])
    steps = [step for flow in record["flows"] for step in flow["steps"]]
    assert not any(step["status"] == "missing" for step in steps)


# By reports of sos


@pytest.mark.soak
def test_reports_of_sos_show_what_a_live_host_does(working, lab_hosts, tmp_path):
    """The real program makes them: of the server's host, the controller, and a host of the network."""
    other = GROUPS.get("network", GROUPS["controller"])[0]
    names = [working.host, CONTROLLER, other]
    with tempfile.TemporaryDirectory() as top:
        assert collect({name: lab_hosts[name] for name in names}, top) == []
        status, output = play("diagnose", bundle=top, diagnoses=tmp_path, server_id=working.server)
    assert status == 0, output
    record = json.loads((tmp_path / "latest/run.json").read_text())
    assert record["verdict"]["result"] == "pass", record["verdict"]
    hosts = {host["host"]: host for host in record["hosts"]}
    assert set(hosts) == set(names)
    home = hosts[working.host]
    assert home["facts"]["domain"]["state"]["name"] == "running"
    assert [interface["bridge"] for interface in home["facts"]["interfaces"].values()] == ["br-int"]
    assert {unit["state"] for host in hosts.values() for unit in host["facts"]["services"]} == {"running"}
    assert all(host["stores"]["links"] and host["stores"]["listening"] for host in hosts.values())
    assert home["stores"]["switch"]["bridges"]
    strange = [entry for host in hosts.values() for entry in host["unread"] if entry["kind"] == "strange"]
    assert strange == []
    if NETWORK == "ovn":
        assert hosts[CONTROLLER]["stores"]["ovn"]["northd"] == "active"
    else:
        assert all(dhcp["hosts"] for dhcp in hosts[other]["facts"]["dhcp"].values())
