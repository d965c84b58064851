# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs of verify that pass, in all the ways that its variables offer; and how a run keeps, repeats and ends."""

from __future__ import annotations

import json
import re
import stat
from datetime import datetime, timezone
from xml.etree import ElementTree

import jsonschema
import pytest
import yaml
from lab_under_test import DIRECTORY, GROUPS, on_the_lab
from runs_under_test import left_of, nothing_left, play, verify
from tree import ROOT

SCHEMA = json.loads((ROOT / "roles/report/files/run.schema.json").read_text())
# Logs tell their times by the thousandth of a second; all hosts of the lab have one clock.
CLOCK = 0.01


def assert_sound(outcome):
    """What holds for every run, however it ended: its record is valid, its files are private and without secrets."""
    jsonschema.Draft202012Validator(SCHEMA).validate(outcome.record)
    clouds = yaml.safe_load((DIRECTORY / "clouds.yaml").read_text())["clouds"].values()
    passwords = [cloud["auth"]["password"] for cloud in clouds]
    for path in outcome.directory.iterdir():
        text = path.read_text()
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, f"{path.name} is open to others"
        assert not [word for word in passwords if word in text], f"a password is in {path.name}"
        assert "gAAAA" not in text, f"a token is in {path.name}"
    assert "Traceback" not in outcome.output


def assert_passed(outcome):
    assert outcome.status == 0, outcome.output
    record = outcome.record
    assert record["verdict"]["result"] == "pass"
    assert record["created"] == record["deleted"] > 0
    assert not record["leftovers"]
    assert_sound(outcome)


@pytest.fixture(scope="module")
def probe_image(member, tmp_path_factory):
    """The lab's probe as a file."""
    path = tmp_path_factory.mktemp("image") / "probe.raw"
    path.write_bytes(member.image.download_image(member.image.find_image("probe")).content)
    return path


@pytest.fixture(scope="module")
def usual(tmp_path_factory, admin, storage):
    """A run with nothing but the name of a cloud; several tests look at it."""
    folder = tmp_path_factory.mktemp("usual")
    with nothing_left(folder, admin, storage):
        yield verify(folder)


def test_a_plain_user_passes_with_nothing_but_the_name_of_a_cloud(usual):
    outcome = usual
    assert_passed(outcome)
    stages = outcome.record["stages"]
    assert [stage["stage"] for stage in stages] == ["auth", "image", "network", "volume", "boot", "metadata"]
    assert {stage["status"] for stage in stages} == {"ok"}

    auth = outcome.stage("auth")["details"]
    assert auth["project"] == "lab"
    assert "member" in auth["roles"]
    assert {service["service"] for service in auth["services"]} == {
        "identity",
        "image",
        "network",
        "block-storage",
        "compute",
    }
    # The hosts of the lab have this machine's clock.
    assert abs(auth["clock"]["offset_s"]) <= auth["clock"]["error_s"] + 0.01

    calls = [call for stage in stages for call in stage["calls"]]
    assert [call["path"] for call in calls].count("/v3/auth/tokens") == 1
    created = next(call for call in calls if call["method"] == "POST" and call["path"].endswith("/servers"))
    assert created["request_id"].startswith("req-")

    states = [state["state"] for state in outcome.stage("boot")["waits"][0]["states"]]
    assert states[-1] == "ACTIVE, running"
    assert any("spawning" in state for state in states)
    events = outcome.stage("boot")["details"]["events"]
    assert ("compute__do_build_and_run_instance", "Success") in [(event["event"], event["result"]) for event in events]

    guest = outcome.stage("metadata")["details"]
    assert guest["guest"]["metadata"]
    assert guest["guest"]["user_data"]
    assert guest["lease_is_port_address"] is True
    assert [step["step"] for step in guest["guest"]["steps"]][:2] == ["kernel", "dhcp_start"]

    suite = ElementTree.parse(outcome.directory / "junit.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("7", "0")
    assert "\nstackproof_run_passed{" in (outcome.directory / "metrics.prom").read_text()
    assert f"files: {outcome.directory}" in outcome.output
    # Each create is announced in the ledger before it happens, and each thing made is gone at the end.
    kinds = ["network", "subnet", "security_group", "volume", "server"]
    begun = [line["kind"] for line in outcome.ledger if line["event"] == "begun"]
    # The volume is made beside the network.
    assert [kind for kind in begun if kind != "volume"] == [kind for kind in kinds if kind != "volume"]
    assert sorted(begun) == sorted(kinds)
    assert sorted(line["kind"] for line in outcome.ledger if line["event"] == "gone") == sorted(kinds)


@pytest.mark.soak
def test_a_floating_ip_is_reached_by_ping_and_tcp(runs, member):
    for subnet in member.network.subnets(network_id=member.network.find_network("public").id):
        on_the_lab(subnet.cidr.split("/")[0])
    outcome = verify(runs, floating_ip=True, tcp_port=80)
    assert_passed(outcome)
    reached = outcome.stage("metadata")["details"]["reached"]
    assert (reached["ping"]["status"], reached["tcp"]["text"]) == ("answered", "port 80 is open")
    assert {"router", "router_interface", "floating_ip"} <= {line["kind"] for line in outcome.ledger}


@pytest.mark.soak
def test_a_fresh_image_in_a_chosen_store_a_port_made_before_and_a_volume_attached_after(runs, probe_image):
    outcome = verify(runs, image_file=probe_image, image_store="rgw", port="precreated", attach="after")
    assert_passed(outcome)
    image = outcome.stage("image")["details"]
    assert image["verified"] == ["size", "sha512"]
    assert image["image"]["stores"] == ["rgw"]
    assert image["image"]["size"] == probe_image.stat().st_size
    port = next(resource for resource in outcome.stage("network")["resources"] if resource["kind"] == "port")
    assert outcome.stage("boot")["details"]["server"]["ports"] == [port["id"]]
    assert outcome.stage("boot")["waits"][1]["states"][-1]["state"] == "in-use"


@pytest.mark.soak
def test_it_boots_from_a_volume_made_from_the_image(runs):
    outcome = verify(runs, volume="image", attach="root")
    assert_passed(outcome)
    assert outcome.stage("volume")["details"]["volume"]["bootable"] is True


@pytest.mark.soak
def test_a_given_network_is_used_and_stays_and_on_failure_keeps_nothing_of_a_run_that_passes(runs, member):
    neutron = member.network
    network = neutron.create_network(name="lab-test-given")
    try:
        neutron.create_subnet(network_id=network.id, ip_version=4, cidr="192.168.91.0/24")
        outcome = verify(runs, network="lab-test-given", volume="none", keep="on_failure")
        assert_passed(outcome)
        assert outcome.stage("volume")["status"] == "skipped"
        assert neutron.get_network(network.id).status == "ACTIVE"
        assert [line["kind"] for line in outcome.ledger if line["event"] == "made"] == ["security_group", "server"]
    finally:
        neutron.delete_network(network)


def test_a_repeat_with_the_same_id_makes_nothing_and_keeps_the_first_record(usual):
    record, ledger = usual.record, usual.ledger
    second = verify(usual.directory.parent, run_id=usual.directory.name)
    assert second.status == 0, second.output
    assert second.directory == usual.directory
    assert (second.record, second.ledger) == (record, ledger)


def test_check_mode_says_what_is_wrong_and_makes_nothing(runs):
    good = verify(runs, "--check")
    assert good.status == 0, good.output
    assert not list(runs.iterdir())
    bad = verify(runs, "--check", flavor="lab-test-nope")
    assert bad.status != 0
    assert "the cloud has no flavor lab-test-nope; it has probe" in bad.output


def test_what_is_kept_stays_until_the_command_that_the_run_printed(runs, member, admin, storage):
    outcome = verify(runs, keep="always", volume="none")
    assert outcome.status == 0, outcome.output
    assert outcome.record["kept"] is True
    server = next(resource for resource in outcome.stage("boot")["resources"] if resource["kind"] == "server")
    assert member.compute.get_server(server["id"]).status == "ACTIVE"
    printed = re.search(r"remove it with: ansible-playbook stackproof.provision.cleanup -e (\S+)", outcome.output)
    assert printed[1] == f"stackproof_run_dir={outcome.directory}"
    status, output = play("cleanup", run_dir=outcome.directory)
    assert status == 0, output
    assert not left_of([outcome.directory], admin, storage)
    assert (outcome.record["kept"], outcome.record["created"]) == (False, outcome.record["deleted"])


@pytest.mark.soak
def test_on_failure_a_failed_run_is_kept(runs, admin, storage):
    outcome = verify(runs, keep="on_failure", flavor="lab-test-nope", volume="none")
    assert outcome.status != 0
    assert outcome.record["kept"] is True
    assert left_of([outcome.directory], admin, storage)
    assert play("cleanup", run_dir=outcome.directory)[0] == 0


def test_a_limit_that_is_broken_fails_the_run_and_says_by_how_much(runs):
    limits = [
        {"name": "boot", "query": "stages[?stage=='boot'] | [0].duration_s", "max": 0.5},
        {"name": "whole run", "query": "duration_s", "max": 600},
    ]
    outcome = verify(runs, thresholds=limits, volume="none")
    assert outcome.status != 0
    verdict = outcome.record["verdict"]
    assert verdict["result"] == "fail"
    assert re.fullmatch(r"All stages worked, but boot: [\d.]+ is more than 0.5.", verdict["reason"])
    assert [limit["ok"] for limit in outcome.record["thresholds"]] == [False, True]
    suite = ElementTree.parse(outcome.directory / "junit.xml").getroot()[0]
    assert suite.get("failures") == "1"


def test_cleanup_of_old_runs_leaves_young_ones_alone(runs, admin, storage):
    outcome = verify(runs, keep="always", flavor="lab-test-nope", volume="none")
    status, output = play("cleanup", runs=runs, older_than="1h")
    assert status == 0, output
    assert left_of([outcome.directory], admin, storage)
    status, output = play("cleanup", runs=runs, older_than="0s")
    assert status == 0, output
    assert not left_of([outcome.directory], admin, storage)


def test_the_run_knows_that_it_is_active_at_its_first_look_after_the_compute_hosts_word(usual, lab_hosts):
    """How long that takes depends on how busy the machine is: soak says it of a machine that does nothing else."""
    assert_passed(usual)
    active = usual.stage("boot")["waits"][0]["states"][-1]
    built = built_at(lab_hosts, usual.stage("boot")["details"]["server"]["id"])
    assert (datetime.fromisoformat(active["at"]) - built).total_seconds() <= active["resolution_s"] + CLOCK


def built_at(lab_hosts, server):
    """When nova-compute wrote that a server is built. Each host writes in its own time zone."""
    for name in GROUPS["compute"]:
        words = f"instance: {server}.*Took .* seconds to build"
        done = lab_hosts[name].run("grep --no-filename %s /var/log/nova/nova-compute.log", words)
        if done.rc == 0:
            zone = lab_hosts[name].check_output("date +%:z")
            return datetime.fromisoformat(done.stdout[:23] + zone).astimezone(timezone.utc)
    raise AssertionError(f"no compute host says that it has built {server}")
