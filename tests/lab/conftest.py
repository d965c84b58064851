# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lab under test: its hosts by ssh, its cloud by API. Needs a lab that runs (make lab)."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import time

import openstack.config
import openstack.connection
import pytest
import testinfra
import yaml

DIRECTORY = pathlib.Path(os.environ.get("LAB_DIRECTORY", pathlib.Path(__file__).parents[2] / ".lab"))
INVENTORY = DIRECTORY / "inventory.yml"


def pytest_sessionstart():
    if not (DIRECTORY / "clouds.yaml").exists():
        pytest.exit(f"There is no lab in {DIRECTORY}: build it with make lab", returncode=4)


def inventory():
    return yaml.safe_load(INVENTORY.read_text())["all"]


HOSTS = inventory()["hosts"] if INVENTORY.exists() else {}
LAB = os.environ.get("LAB_NAME", "lab")


def lab_host(name, sudo):
    return testinfra.get_host(f"ansible://{name}?ansible_inventory={INVENTORY}&sudo={sudo}")


@pytest.fixture(scope="session")
def lab_hosts():
    """Every host of the lab with root's rights, by name."""
    return {name: lab_host(name, sudo=True) for name in HOSTS}


@pytest.fixture(scope="session")
def lab_plain_hosts():
    """Every host of the lab as its operator finds it after ssh."""
    return {name: lab_host(name, sudo=False) for name in HOSTS}


def connect(cloud, **auth):
    known = openstack.config.OpenStackConfig(config_files=[str(DIRECTORY / "clouds.yaml")], load_envvars=False)
    return openstack.connection.Connection(config=known.get_one(cloud=cloud, auth=auth))


@pytest.fixture(scope="session")
def admin():
    return connect("lab-admin")


@pytest.fixture(scope="session")
def member():
    return connect("lab")


@pytest.fixture(scope="session")
def lab_project_admin():
    """The administrator in the members' project, who may say on which host an instance is made."""
    return connect("lab-admin", project_name="lab")


@pytest.fixture(scope="session")
def ldap_member():
    return connect("lab-ldap")


def on_the_lab(address):
    """Nothing is sent to an address that is not reached over the lab's own wires."""
    answer = subprocess.run(["ip", "-j", "route", "get", str(address)], capture_output=True, text=True, check=True)
    device = json.loads(answer.stdout)[0]["dev"]
    assert device in {f"{LAB}-mgmt", f"{LAB}-data"}, f"{address} would leave through {device}"
    return str(address)


def until(what, condition, timeout, pause=0.5):
    """The first true value of a condition; the failure says what was waited for."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            pytest.fail(f"{what}: not within {timeout} s, last seen {value!r}")
        time.sleep(pause)
