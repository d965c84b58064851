# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A user with no more rights than the rules for sudo give reads every host as one with all rights does."""

from __future__ import annotations

import json
import shlex

import pytest
import sudo_rules
import yaml
from lab_under_test import GROUPS, HOSTS, INVENTORY, NETWORK
from runs_under_test import kept_run, play, verify
from sudo_rules import USER, UUID, VIRSH

# make test tries what the rules refuse on the lab with OVN, which has one file of them more; make soak both labs.
pytestmark = [] if NETWORK == "ovn" else [pytest.mark.soak]
# Who is in these groups gets these rules; those for logs and for an examination get all.
NEEDS = {"compute": "compute", "network": "network", "storage": "ceph"} | (
    {"controller": "ovn"} if NETWORK == "ovn" else {}
)
READ = {name for group in ("controller", *NEEDS) for name in GROUPS[group]}
LEFT_OUT = "external_ids:iface-id="


def parts_of(name):
    return ["logs", "examination", *(part for group, part in NEEDS.items() if name in GROUPS[group])]


def put_rules(host, part, text):
    """As docs/security.md says: looked at before sudo sees it, as a wrong file would keep everybody from sudo."""
    new, path = f"/root/stackproof-{part}", f"/etc/sudoers.d/stackproof-{part}"
    host.check_output(f"printf %s {shlex.quote(text)} > {new} && visudo -c -f {new}")
    host.check_output(f"install --mode=0440 {new} {path} && rm {new}")


def remove(host):
    """Who and what was made; also where only half of it was."""
    number = host.run(f"id -u {USER}").stdout.strip()
    if number:
        # What is killed instead counts as a unit that has failed.
        host.run(f"systemctl stop user@{number}.service user-{number}.slice")
    host.run(f"pkill -KILL -u {USER}")
    host.run(f"rm -f /etc/sudoers.d/stackproof-* /root/stackproof-*; userdel --force --remove {USER}")
    left = host.run(f"ls /etc/sudoers.d /home; getent passwd {USER}").stdout
    assert "stackproof" not in left, left


def make(host, name):
    keys = f"/home/{HOSTS[name]['ansible_user']}/.ssh/authorized_keys"
    folder = f"/home/{USER}/.ssh"
    host.check_output(f"useradd --create-home --shell /bin/bash --password '*' {USER}")
    host.check_output(f"install --directory --mode=0700 --owner={USER} {folder}")
    host.check_output(f"install --mode=0600 --owner={USER} {keys} {folder}/authorized_keys")
    for part in parts_of(name):
        put_rules(host, part, (sudo_rules.FOLDER / part).read_text())


@pytest.fixture(scope="module")
def inventory(lab_hosts, tmp_path_factory):
    """The lab's hosts as the user with these rules alone."""
    for name, host in lab_hosts.items():
        assert not host.user(USER).exists, f"{name} has a user {USER}, who is not of these tests"
    path = tmp_path_factory.mktemp("inventory") / "inventory.yml"
    text = yaml.safe_load(INVENTORY.read_text())
    for variables in text["all"]["hosts"].values():
        variables["ansible_user"] = USER
    path.write_text(yaml.safe_dump(text))
    try:
        for name, host in lab_hosts.items():
            make(host, name)
        yield path
    finally:
        failures = []
        for name, host in lab_hosts.items():
            try:
                remove(host)
            except Exception as exc:  # the user must go from the other hosts all the same
                failures.append(f"{name}: {exc}")
        assert not failures


@pytest.fixture
def without_a_rule(lab_hosts, inventory):
    """No compute host's Open vSwitch may be asked for a port."""
    text = (sudo_rules.FOLDER / "compute").read_text()
    lines = [line for line in text.splitlines(keepends=True) if LEFT_OUT not in line]
    assert len(lines) == len(text.splitlines()) - 1
    computes = [lab_hosts[name] for name in GROUPS["compute"]]
    try:
        for host in computes:
            put_rules(host, "compute", "".join(lines))
        yield inventory
    finally:
        for host in computes:
            put_rules(host, "compute", text)


@pytest.mark.soak
def test_nothing_is_unread(inventory, runs):
    outcome = verify(runs, "-i", str(inventory))
    record = outcome.record
    assert (outcome.status, record["verdict"]["result"]) == (0, "pass"), outcome.output
    hosts = {host["host"]: host for host in record["hosts"] if host["host"] != "localhost"}
    assert {name: (host["status"], host["unread"]) for name, host in hosts.items()} == dict.fromkeys(READ, ("read", []))
    assert {log["host"]: (log["reason"], log["unread"]) for log in record["logs"]} == dict.fromkeys(READ, (None, []))
    assert [
        source for log in record["logs"] for source in log["sources"] if source["reason"] == "it was not read"
    ] == []
    assert all(log["sources"] for log in record["logs"])
    (facts,) = (host["facts"] for host in hosts.values() if (host["facts"].get("domain") or {}).get("process"))
    assert facts["domain"]["process"]["connections"]
    assert facts["domain"]["secrets"]


@pytest.mark.soak
def test_nothing_is_unread_when_hosts_are_examined(inventory, runs):
    """As they are after a stage has failed, here by a mistake of the user's."""
    outcome = verify(runs, "-i", str(inventory), flavor="nope", volume="none")
    assert outcome.stage("boot")["status"] == "failed", outcome.output
    hosts = {host["host"]: host for host in outcome.record["hosts"] if host["host"] != "localhost"}
    assert {name: host["unread"] for name, host in hosts.items()} == {name: [] for name in READ}
    assert all(host["examination"]["reach"] for host in hosts.values())


@pytest.mark.soak
def test_a_diagnosis_on_the_live_cloud_needs_no_more_rights(inventory, runs, tmp_path):
    """A server that works is examined as one whose guest has no network. sudo refuses what changes anything."""
    clouds = {"cloud": "lab", "admin_cloud": "lab-admin"}
    with kept_run(runs, image="probe") as outcome:
        server = next(thing["id"] for thing in outcome.stage("boot")["resources"] if thing["kind"] == "server")
        status, output = play("diagnose", "-i", inventory, **clouds, server_id=server, diagnoses=tmp_path)
    assert status == 0, output
    record = json.loads((tmp_path / "latest/run.json").read_text())
    hosts = {host["host"]: host for host in record["hosts"] if host["host"] != "localhost"}
    assert {name: host["unread"] for name, host in hosts.items()} == {name: [] for name in READ}
    assert any(host["stores"].get("traces") for host in hosts.values())


@pytest.mark.soak
def test_a_rule_that_is_left_out_is_named(without_a_rule, runs):
    record = verify(runs, "-i", str(without_a_rule)).record
    hosts = {host["host"]: host for host in record["hosts"]}
    for name in GROUPS["compute"]:
        (unread,) = hosts[name]["unread"]
        assert (unread["what"], unread["kind"]) == ("the interface in Open vSwitch", "refused")
        assert unread["reason"].startswith("sudo refuses: sudo -n ovs-vsctl ")
        assert LEFT_OUT in unread["command"]
    others = [host["unread"] for name, host in hosts.items() if name not in GROUPS["compute"]]
    assert not any(others)
    assert record["leftovers"] == []


def test_a_real_sudo_refuses_what_would_give_away_more(inventory, lab_hosts):
    """And allows what the rules allow, by which it is known that it was asked for this user at all."""
    good = {
        "logs": "journalctl --no-pager --quiet --field=SYSLOG_IDENTIFIER",
        "examination": "ss --no-header --oneline --tcp --numeric --processes --info state syn-sent state established",
        "compute": f"{VIRSH} dumpxml {UUID}",
        "network": f"ls /var/lib/neutron/dhcp/{UUID}",
        "ceph": "ls /etc/ceph",
        "ovn": f"ovn-sbctl --no-leader-only --format=json --columns=hostname list Chassis {UUID}",
    }
    assert inventory.exists()
    for name, host in lab_hosts.items():
        for part, command in good.items():
            allowed = host.run(f"sudo -l -U {USER} {command}").rc == 0
            assert allowed == (part in parts_of(name)), f"{name}: {command}"
        asked = "; ".join(
            f"sudo -l -U {USER} {shlex.join(words)} > /dev/null 2>&1 && echo {shlex.quote(shlex.join(words))}"
            for words in sudo_rules.dangerous()
        )
        assert host.run(f"{asked}; true").stdout == "", name
