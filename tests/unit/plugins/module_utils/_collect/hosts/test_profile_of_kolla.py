# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The profile of kolla holds for a host that kolla-ansible 22 deployed: its units, logs, containers and groups."""

from __future__ import annotations

import fnmatch
import json

import pytest
from ansible_collections.stackproof.provision.plugins.filter.hosts import hosts_with
from tree import RECORDED

FACTS = RECORDED / "hosts/kolla"
UNITS = (FACTS / "units.txt").read_text().split()
LOGS = (FACTS / "logs.txt").read_text().split()
CONTAINERS = [line.split("\t")[0].split()[0] for line in (FACTS / "containers.txt").read_text().splitlines()]
GROUPS = json.loads((FACTS / "groups.json").read_text())

# No boot needs them while it runs.
NO_PART_OF_A_BOOT = {"cron", "keystone_fernet", "keystone_ssh", "kolla_toolbox", "nova_ssh"}
# Of the deployment, of the database, which is asked itself, and of privileged helpers, whose calls the services log
NOT_READ = {
    "/var/log/kolla/ansible.log",
    "/var/log/kolla/mariadb/mariadb-bootstrap.log",
    "/var/log/kolla/mariadb/mariadb.log",
    "/var/log/kolla/neutron/privsep-helper.log",
    "/var/log/kolla/nova/nova-manage.log",
    "/var/log/kolla/nova/privsep-helper.log",
}
# What this cloud was deployed without
NOT_DEPLOYED = ("ovn", "cinder", "ceph", "rgw", "proxysql")
# The same with other releases of kolla-ansible, whose web servers or services were others
OF_OTHER_RELEASES = {
    "kolla-nova_super_conductor-container.service",
    "kolla-neutron_ovn_maintenance_worker-container.service",
    "/var/log/kolla/keystone/keystone-apache-public-access.log",
    "/var/log/kolla/nova/nova-api-access.log",
    "/var/log/kolla/nova/nova-metadata-access.log",
    "/var/log/kolla/nova/nova-super-conductor.log",
}


@pytest.fixture
def kolla(platform):
    return platform("kolla")


def patterns(entries, key):
    return [pattern for entry in entries for pattern in entry.get(key, [])]


def matched(names, pattern):
    return fnmatch.filter(names, pattern)


def is_deployed(pattern):
    return not any(part in pattern for part in NOT_DEPLOYED) and pattern not in OF_OTHER_RELEASES


def test_every_unit_of_the_host_belongs_to_a_component(kolla):
    known = [unit for pattern in patterns(kolla["units"], "units") for unit in matched(UNITS, pattern)]
    others = {unit.removeprefix("kolla-").removesuffix("-container.service") for unit in set(UNITS) - set(known)}
    assert others == NO_PART_OF_A_BOOT


def test_every_unit_of_kolla_in_the_profile_is_on_the_host(kolla):
    expected = [unit for unit in patterns(kolla["units"], "units") if unit.startswith("kolla-") and is_deployed(unit)]
    assert len(expected) > len(UNITS) // 2
    assert [unit for unit in expected if not matched(UNITS, unit)] == []


def test_every_log_of_the_host_is_read(kolla):
    read = [log for pattern in patterns(kolla["logs"], "files") for log in matched(LOGS, pattern)]
    assert set(LOGS) - set(read) == NOT_READ


def test_every_log_of_the_profile_is_on_the_host(kolla):
    expected = [log for log in patterns(kolla["logs"], "files") if is_deployed(log)]
    assert len(expected) > len(LOGS) // 2
    assert [log for log in expected if not matched(LOGS, log)] == []


def test_every_command_has_a_container_on_the_host(kolla):
    for part, words in kolla["prefixes"].items():
        if part.startswith("ovn"):
            continue
        choices = words if isinstance(words[0], list) else [words]
        assert {choice[-1] for choice in choices} & set(CONTAINERS), part


@pytest.mark.parametrize("part", ["control", "compute", "network", "ceph", "queue"])
def test_the_inventory_of_kolla_has_a_host_for_each_part(kolla, part):
    assert hosts_with(GROUPS, kolla, [part]) == ["kolla1"]
