# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How the lab behaves for those who run it: repeats, status, refusals, and what it leaves readable."""

from __future__ import annotations

import ipaddress
import json
import stat
import subprocess

import pytest
from lab_under_test import DIRECTORY, GROUPS, HOSTS, NAME, playbook, until


@pytest.mark.soak
def test_status_names_a_service_that_does_not_run(lab_hosts):
    well = playbook("status")
    assert well.returncode == 0, well.stdout
    assert "all healthy" in well.stdout

    host = lab_hosts[GROUPS["network"][0]]
    host.check_output("systemctl stop neutron-l3-agent")
    try:
        ill = playbook("status")
    finally:
        host.check_output("systemctl start neutron-l3-agent")
    assert ill.returncode != 0
    assert "neutron-l3-agent.service is inactive" in ill.stdout
    until("the lab to be well again", lambda: playbook("status").returncode == 0, 90)


def test_another_directory_is_told_who_holds_the_lab(tmp_path):
    done = playbook("up", LAB_DIRECTORY=str(tmp_path / ".lab"))
    assert done.returncode != 0
    assert f"is held by {DIRECTORY.parent}" in done.stdout
    assert not (tmp_path / ".lab").exists()


def test_a_wrong_setting_is_refused_before_anything_is_done():
    done = playbook("up", "-e", "lab_log_level=loud")
    assert done.returncode != 0
    assert "value of lab_log_level must be one of: info, debug, messaging" in done.stdout


@pytest.mark.parametrize(("setting", "value"), [("topology", "one"), ("network", "ovn")])
def test_a_lab_keeps_its_topology_and_its_network(setting, value):
    done = playbook("up", **{f"LAB_{setting.upper()}": value})
    assert done.returncode != 0
    kept = (DIRECTORY / setting).read_text()
    assert f"has the {setting} {kept}, and {value} is asked for" in " ".join(done.stdout.split())


def test_an_address_range_in_use_is_refused(tmp_path):
    taken = next(iter(HOSTS.values()))["ansible_host"]
    prefix = ipaddress.ip_network(f"{taken}/22", strict=False)
    done = playbook("up", LAB_NAME="other", LAB_PREFIX=str(prefix), LAB_DIRECTORY=str(tmp_path / ".lab"))
    assert done.returncode != 0
    assert f"The lab's addresses {prefix} overlap with" in done.stdout


def test_only_the_owner_reads_what_the_lab_leaves():
    no_secrets = {"probe.raw", "lock", "id_ed25519.pub", "nova.pub"}
    for path in [DIRECTORY, *DIRECTORY.rglob("*")]:
        if path.name not in no_secrets:
            assert not stat.S_IMODE(path.stat().st_mode) & 0o077, f"{path} is open to others"


def test_a_second_build_changes_nothing_and_prints_no_password():
    secrets = [
        line.partition(": ")[2].strip('"')
        for line in (DIRECTORY / "secrets.yml").read_text().splitlines()
        if not line.startswith("#")
    ]
    assert len(secrets) > 20
    done = playbook("up", "-vv")
    assert not [secret for secret in secrets if secret in done.stdout]
    assert done.returncode == 0, done.stdout
    assert "nothing changed" in done.stdout


def test_lab_addresses_leave_by_no_other_route():
    first = ipaddress.ip_address(next(iter(HOSTS.values()))["ansible_host"])
    prefix = ipaddress.ip_network(f"{first}/22", strict=False)
    # The upper half of the prefix belongs to no interface.
    unused = subprocess.run(["ip", "route", "get", str(prefix[-2])], capture_output=True, text=True, check=False)
    assert unused.returncode != 0
    assert "No route to host" in unused.stderr
    routes = json.loads(subprocess.run(["ip", "-j", "route"], capture_output=True, text=True, check=True).stdout)
    inside = {
        route.get("dev") or route.get("type")
        for route in routes
        if route["dst"] != "default" and prefix.overlaps(ipaddress.ip_network(route["dst"]))
    }
    assert inside == {f"{NAME}-mgmt", f"{NAME}-data", "unreachable"}
