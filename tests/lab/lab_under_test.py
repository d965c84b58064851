# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lab under test: where it is, who its hosts are, and how its cloud is reached."""

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
from guard import assert_no_defect
from tree import ROOT

NAME = os.environ.get("LAB_NAME", "lab")
DIRECTORY = pathlib.Path(os.environ.get("LAB_DIRECTORY", ROOT / ".lab"))
INVENTORY = DIRECTORY / "inventory.yml"
# The back end of Neutron, ovs or ovn; a devstack has none of these.
NETWORK = (DIRECTORY / "network").read_text() if (DIRECTORY / "network").exists() else ""

_inventory = yaml.safe_load(INVENTORY.read_text())["all"] if INVENTORY.exists() else {"hosts": {}, "children": {}}
HOSTS = _inventory["hosts"]
GROUPS = {group: sorted(members.get("hosts", ())) for group, members in _inventory["children"].items()}


def connect(cloud, **auth):
    config = openstack.config.OpenStackConfig(config_files=[str(DIRECTORY / "clouds.yaml")], load_envvars=False)
    # Without a limit, a service that a test has broken for good would keep the tests from their end.
    return openstack.connection.Connection(config=config.get_one(cloud=cloud, auth=auth, api_timeout=60))


def lab_host(name, sudo=False):
    """A host of the inventory as its operator finds it after ssh, or with root's rights."""
    return testinfra.get_host(f"ansible://{name}?ansible_inventory={INVENTORY}&sudo={sudo}")


def playbook(name, *arguments, before=(), **environment):
    """Run a playbook of the lab as make does; the output keeps its order. before: words before the command."""
    done = subprocess.run(
        [*before, "ansible-playbook", f"stackproof.lab.{name}", *arguments],
        env=dict(os.environ, LAB_NAME=NAME, LAB_DIRECTORY=str(DIRECTORY)) | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    assert_no_defect(done.stdout)
    return done


def on_the_lab(address):
    """Nothing is sent to an address that is not reached over the lab's own wires."""
    answer = subprocess.run(["ip", "-j", "route", "get", str(address)], capture_output=True, text=True, check=True)
    device = json.loads(answer.stdout)[0]["dev"]
    assert device in {f"{NAME}-mgmt", f"{NAME}-data"}, f"{address} would leave through {device}"
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
