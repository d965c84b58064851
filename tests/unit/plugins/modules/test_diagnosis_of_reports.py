# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A boot is diagnosed by reports of sos: what hosts show counts beside what they have logged."""

from __future__ import annotations

import json
import os
import re
import shutil
import tarfile
from datetime import datetime

import as_json
import jsonschema
import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts.profiles import profile_of
from ansible_collections.stackproof.provision.plugins.modules import bundle_info, diagnosis
from tree import RECORDED, ROLES

SCHEMA = json.loads((ROLES / "report/files/run.schema.json").read_text())
FLOWS = [str(ROLES / f"flow/files/flows/{name}.yml") for name in ("ops_guide", "modern", "request_flow", "http_trace")]
SERVER_OF_AGENTS = "92e1c277-c796-41b0-961f-68acccf32d38"
SERVER = "de158cd8-ac61-49e8-9b35-590a230854b7"
PORT = "c8d41f18-5bcc-4570-b190-7c4a038d699c"
BINDING = "sos_commands/ovn_central/ovn-sbctl_--no-leader-only_list_Port_Binding"
INTERFACES = "sos_commands/openvswitch/ovs-vsctl_-t_5_list_interface"


@pytest.fixture
def reports(tmp_path):
    """The reports of the lab with OVN, to be changed."""
    return copied("ovn", tmp_path / "reports")


@pytest.fixture
def reports_of_agents(tmp_path):
    """The reports of the lab with agents, to be changed."""
    return copied("ovs", tmp_path / "reports")


def copied(name, target):
    """Recorded reports whose files are as old as they were on the hosts.

    A log is taken for one in UTC if its last line, read so, is of the moment at which it was changed. The files of a
    clone were changed when that was made.
    """
    shutil.copytree(RECORDED / "sos" / name, target)
    for report in target.iterdir():
        (text,) = report.glob("sos_commands/systemd/timedatectl")
        universal = re.search(r"Universal time: \w+ ([0-9-]+ [0-9:]+) UTC", text.read_text())
        collected = datetime.fromisoformat(f"{universal[1]}+00:00").timestamp()
        for path in report.rglob("*"):
            os.utime(path, (collected, collected))
    return target


@pytest.fixture
def diagnosed(call, bundle_options, tmp_path):
    def run(directory, server=SERVER):
        options = bundle_options(str(directory), server_id=server, flows=FLOWS, platforms=[profile_of("packages")])
        read = call(bundle_info, **options)["bundle"]
        about = {"bundle": read, "flows": options["flows"], "diagnoses": str(tmp_path / "diagnoses")}
        record = as_json.read_record(call(diagnosis, **about)["directory"])
        jsonschema.Draft202012Validator(SCHEMA).validate(record)
        return record

    return run


def change_row(reports, host, part, named, column, value):
    """Change a column in a row of a table: the one that names something."""
    path = next(reports.glob(f"*{host}*")) / part
    blocks = path.read_text().split("\n\n")
    changed = [
        re.sub(rf"^({column} +): .*$", rf"\1: {value}", block, flags=re.MULTILINE) if named in block else block
        for block in blocks
    ]
    assert changed != blocks
    path.write_text("\n\n".join(changed))


def states_of(record):
    return {link["code"]: link["state"] for walked in record["chains"] for link in walked["links"]}


def test_reports_of_a_cloud_that_works_pass(diagnosed, reports):
    record = diagnosed(reports)
    assert record["verdict"]["result"] == "pass"
    assert {host["host"] for host in record["hosts"] if host["facts"]["services"]} == {"controller1", "compute2"}
    assert record.get("chains") is None


def test_an_archive_of_reports_is_read_alike(diagnosed, reports, tmp_path):
    with tarfile.open(tmp_path / "reports.tar.xz", "w:xz") as archive:
        archive.add(reports, arcname="reports")
    record = diagnosed(tmp_path / "reports.tar.xz")
    assert {host["host"] for host in record["hosts"] if host["facts"]["services"]} == {"controller1", "compute2"}


def test_a_guest_without_network_is_explained_by_the_chain_that_breaks(diagnosed, reports):
    """The logs show a boot that went well; on the host the port was never wired, as the port itself shows."""
    change_row(reports, "compute2", INTERFACES, PORT, "external_ids", f'{{iface-id="{PORT}"}}')
    change_row(reports, "controller1", BINDING, PORT, "up", "false")
    record = diagnosed(reports)
    verdict = record["verdict"]
    assert (verdict["result"], verdict["stage"]) == ("fail", "metadata")
    assert (verdict["component"], verdict["host"]) == ("ovn-controller", "compute2"), verdict["reason"]
    assert "broken" in states_of(record).values()
    assert states_of(record)["ovn_claimed"] == "holds"


def test_a_guest_without_a_lease_has_lost_its_dhcp_between_two_hosts(diagnosed, reports_of_agents):
    assert diagnosed(reports_of_agents, SERVER_OF_AGENTS)["verdict"]["result"] == "pass"
    (leases,) = reports_of_agents.glob("*network1*/var/lib/neutron/dhcp/*/leases")
    leases.write_text("")
    record = diagnosed(reports_of_agents, SERVER_OF_AGENTS)
    assert (record["verdict"]["result"], record["verdict"]["component"]) == ("fail", "data network")
    assert record["verdict"]["headline"].endswith("its requests or the answers are lost between compute2 and network1")
    assert states_of(record)["dhcp_reservation"] == "holds"
    assert states_of(record)["dhcp_leased"] == "broken"


MANIFEST, NETSTAT = "sos_reports/manifest.json", "sos_commands/networking/netstat_-W_-neopa"
LOG = "var/log/nova/nova-compute.log"


def hang(reports, lines=1):
    """Have the boot hang on its compute host: only the first lines of its log are there."""
    (path,) = reports.glob(f"*compute2*/{LOG}")
    changed = path.stat().st_mtime
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:lines]))
    os.utime(path, (changed, changed))


def collect_later(reports, seconds):
    """Have the reports be collected later: nothing more was logged until then."""
    for path in reports.glob(f"*/{MANIFEST}"):
        manifest = json.loads(path.read_text())
        for plugin in manifest["components"]["report"]["plugins"].values():
            for command in plugin.get("commands", []):
                command["start_time"] += seconds
        path.write_text(json.dumps(manifest))


def connect(reports, host, line):
    """Add a connection to those that netstat has printed on a host."""
    (path,) = reports.glob(f"*{host}*/{NETSTAT}")
    path.write_text(path.read_text().replace("Active UNIX", f"{line}\nActive UNIX", 1))


def test_a_boot_that_hung_until_its_reports_were_collected_is_over(diagnosed, reports):
    """No log goes on as nothing else happens on this cloud, but the reports would have what was logged later."""
    hang(reports)
    collect_later(reports, 600)
    record = diagnosed(reports)
    assert (record["diagnosis"]["ended"], record["diagnosis"]["silent_s"] > 600) == (True, True)
    assert record["verdict"]["result"] == "fail"
    assert record["verdict"]["missing_step"].endswith("did not happen")
    # That alone is no proof of who it was.
    assert record["verdict"]["component"] is None


@pytest.mark.parametrize("name", ["sosreport-compute2", "sosreport-controller1"])
def test_reports_of_an_unknown_time_do_not_prove_that_a_boot_is_over(diagnosed, reports, name):
    """The files of a copy may be of any time."""
    hang(reports)
    collect_later(reports, 600)
    (manifest,) = reports.glob(f"{name}*/{MANIFEST}")
    manifest.unlink()
    verdict = diagnosed(reports)["verdict"]
    assert (verdict["result"], verdict["component"]) == ("incomplete", None)


def test_reports_that_show_nothing_of_why_a_boot_hangs_accuse_nobody(diagnosed, reports):
    hang(reports)
    verdict = diagnosed(reports)["verdict"]
    assert (verdict["result"], verdict["component"], verdict["alternatives"]) == ("incomplete", None, [])


WAITING = "tcp 0 1 10.71.20.15:46518 10.71.20.12:5672 SYN_SENT 64060 258798 415/python3 on (0.81/0/0)"
ANSWERED = "tcp 0 0 10.71.20.12:46518 10.71.20.12:5672 ESTABLISHED 64060 258798 1083/python3 off (0.00/0/0)"


def test_a_boot_that_hangs_is_explained_by_a_connection_that_nobody_answers(diagnosed, reports):
    """It hangs for too short to be over, but what the hosts show is enough."""
    hang(reports)
    connect(reports, "compute2", WAITING)
    record = diagnosed(reports)
    verdict = record["verdict"]
    assert record["diagnosis"]["ended"] is False
    assert (verdict["result"], verdict["component"], verdict["host"]) == ("fail", "rabbitmq", "controller1")
    assert verdict["headline"] == "rabbitmq (controller1): does not answer nova-compute (compute2)"


def test_a_peer_that_answers_another_host_is_not_the_one_that_fails(diagnosed, reports):
    hang(reports)
    connect(reports, "compute2", WAITING)
    connect(reports, "controller1", ANSWERED)
    verdict = diagnosed(reports)["verdict"]
    ends = {
        (verdict["connection"][end]["component"], verdict["connection"][end]["host"]) for end in ("source", "target")
    }
    assert ends == {("nova-compute", "compute2"), ("rabbitmq", "controller1")}


@pytest.mark.parametrize("text", ["{", "[1]", '[{"host": 5}]'])
def test_reported_hosts_of_another_form_are_refused(call, reports, bundle_options, tmp_path, text):
    options = bundle_options(str(reports), server_id=SERVER, flows=FLOWS, platforms=[profile_of("packages")])
    read = call(bundle_info, **options)["bundle"] | {"reported": text}
    result = call(diagnosis, bundle=read, flows=FLOWS, diagnoses=str(tmp_path / "diagnoses"))
    assert result["failed"]
    assert "Give what stackproof.provision.bundle_info returned as bundle." in result["msg"]
