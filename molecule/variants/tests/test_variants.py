# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Three kept runs at the same time: each is what it was asked to be, and the hosts agree with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCENARIO = Path(os.environ["STACKPROOF_SCENARIO"])
SUITE = Path(__file__).parents[3] / "roles/host_checks/files/running"
INVENTORY = Path(os.environ["LAB_DIRECTORY"], "inventory.yml")
NAMES = ("fresh", "routed", "plain")


@pytest.fixture(scope="module")
def records():
    return {name: json.loads((SCENARIO / name / "latest/run.json").read_text()) for name in NAMES}


@pytest.fixture(scope="module")
def details(records):
    """What each stage of each run has written down."""
    return {name: {stage["stage"]: stage["details"] for stage in record["stages"]} for name, record in records.items()}


@pytest.mark.parametrize("name", NAMES)
def test_it_passed_and_was_kept(records, name):
    record = records[name]
    assert (record["verdict"]["result"], record["kept"]) == ("pass", True)


@pytest.mark.parametrize("name", NAMES)
def test_the_hosts_agree(name):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", SUITE, "-p", "no:cacheprovider", "--hosts=ansible://all"),
            *(f"--ansible-inventory={INVENTORY}", f"--junit-xml={SCENARIO}/{name}-running.xml"),
        ],
        env=dict(os.environ, STACKPROOF_RUN=str(SCENARIO / name / "latest")),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_a_user_out_of_ldap_has_a_fresh_image_in_the_object_store_and_a_volume_attached_later(records, details):
    fresh = details["fresh"]
    assert (fresh["auth"]["user"], fresh["auth"]["user_domain"]) == ("ldap-user", "corp")
    assert fresh["image"]["image"]["stores"] == ["rgw"]
    assert len(records["fresh"]["instance"]["volumes"]) == 1


def test_one_boots_from_a_volume_and_is_reached_by_its_floating_ip(records, details):
    routed = details["routed"]
    assert routed["volume"]["volume"]["bootable"] is True
    assert records["routed"]["instance"]["image"] is None
    assert records["routed"]["instance"]["networks"][0]["routers"]
    reached = routed["metadata"]["reached"]
    assert (reached["ping"]["status"], reached["tcp"]["text"]) == ("answered", "port 80 is open")


def test_two_run_on_two_compute_hosts(records):
    hosts = {records[name]["instance"]["server"]["host"] for name in ("routed", "plain")}
    computes = {host["host"] for host in records["plain"]["hosts"] if "compute" in host["parts"]}
    assert len(hosts) == min(2, len(computes))
    assert hosts <= computes
