# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs as a program: makes and undoes each wrong and each unseen fault of a cloud, without a lab.

The cloud is that of LAB_DIRECTORY.
Prints what each did, as JSON: its commands before and after the moment at which a run would go on, and requests that
changed something, each as "request".
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from unittest.mock import MagicMock

import breaking
import ways_to_set_wrong
from catalogue import unseen_faults, wrong_faults
from lab_under_test import HOSTS

CHANGING = (
    "put", "create", "update", "delete", "set_", "assign", "unassign", "add_", "remove_", "deactivate_", "reactivate_",
)  # fmt: skip
TYPES = ("network", "image", "compute", "block-storage", "placement")
ANSWER = {
    "resource_providers": [{"uuid": "u", "name": "n"}], "total": 10, "reserved": 0, "allocation_ratio": 1.0,
    "max_unit": 10, "resource_provider_generation": 1, "usages": {}, "traits": [], "aggregates": [],
    "services": [{"binary": binary, "host": "h"} for binary in ("cinder-volume", "cinder-scheduler")],
}  # fmt: skip
BINARIES = ("neutron-openvswitch-agent", "neutron-dhcp-agent", "neutron-l3-agent", "nova-compute")


class NoLab:
    """It takes every command, and every host reports what each way wants to read."""

    storage = None

    def __init__(self):
        self.commands = []
        self.hosts = dict.fromkeys(HOSTS)
        self.admin = MagicMock()
        admin = self.admin
        admin.identity.services.return_value = [SimpleNamespace(id=name, type=name) for name in TYPES]
        admin.identity.endpoints.return_value = [SimpleNamespace(id="e", url="http://a:9696/placement", region_id="r")]
        listed = [SimpleNamespace(id="i", binary=binary, host=host) for binary in BINARIES for host in HOSTS]
        admin.network.agents.return_value = listed
        admin.compute.services.return_value = [one for one in listed if one.binary == "nova-compute"]
        subnet = SimpleNamespace(id="s", network_id="n", allocation_pools=[{"start": "1", "end": "2"}])
        admin.network.subnets.return_value = [subnet]
        for service in (admin.placement, admin.block_storage):
            service.get.return_value.json.return_value = ANSWER

    def run(self, host, command):
        assert host in HOSTS, f"{host} is no host"
        self.commands.append(command)
        return "0:0 600"

    def wait_until_well(self, *_fresh):
        return None

    def done(self):
        """What was done since the last call."""
        calls = [name for name, _positional, _named in self.admin.mock_calls]
        requests = ["request" for name in calls if name.rpartition(".")[2].startswith(CHANGING)]
        done = [*self.commands, *requests]
        self.commands.clear()
        self.admin.reset_mock()
        return done


def main():
    breaking.time = ways_to_set_wrong.time = SimpleNamespace(
        time=lambda: 0.0, sleep=lambda _s: None, monotonic=lambda: 0.0
    )
    ways_to_set_wrong.settle = lambda *_all: None
    table = {}
    for name, fault in {**wrong_faults(), **unseen_faults()}.items():
        lab = NoLab()
        with fault.make(lab):
            before = lab.done()
        table[name] = [before, lab.done()]
    print(json.dumps(table))


if __name__ == "__main__":
    main()
