# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts of an inventory are read, and how what was read on them is gathered."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.filter import hosts

ALL = ["compute", "network", "ceph"]
GROUPS = {
    "all": ["web1", "c1", "c2", "n1", "s1"],
    "ungrouped": ["web1"],
    "compute": ["c1", "c2"],
    "network": ["n1", "c2"],
    "storage": ["s1"],
}


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (["compute"], ["c1", "c2"]),
        (["network"], ["c2", "n1"]),
        (["ceph"], ["s1"]),
        (ALL, ["c1", "c2", "n1", "s1"]),
        (None, ["c1", "c2", "n1", "s1"]),
        (["another"], hosts.NOBODY),
        ([], hosts.NOBODY),
    ],
)
def test_hosts_that_have_one_of_the_parts(platform, parts, expected):
    assert hosts.hosts_with(GROUPS, platform(), parts) == expected


@pytest.mark.parametrize(
    "groups", [{}, {"all": [], "ungrouped": []}, {"all": ["localhost"], "ungrouped": ["localhost"]}]
)
def test_an_inventory_without_such_hosts_gives_a_pattern_for_nobody(platform, groups):
    assert hosts.hosts_with(groups, platform(), ALL) == ["all", "!all"]


@pytest.mark.parametrize(
    ("groups", "host"),
    [
        ({"controller": ["a1", "a2"], "rabbitmq": ["r1", "r2"]}, ["r1"]),
        ({"controller": ["a1", "a2"], "rabbitmq": []}, ["a1"]),
        ({"compute": ["c1"]}, hosts.NOBODY),
        ({}, hosts.NOBODY),
    ],
)
def test_one_host_is_named_out_of_the_group_that_says_most(platform, groups, host):
    assert hosts.first_with(groups, platform(), "queue") == host


def test_a_platform_that_does_not_know_the_part_has_no_host_of_it():
    assert hosts.first_with({"controller": ["a1"]}, {"groups": {}}, "queue") == hosts.NOBODY


def test_a_host_that_only_a_group_names_counts(platform):
    assert hosts.hosts_with({"compute": ["c9"]}, platform(), ALL) == ["c9"]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("c1", ["c1", "c2", "n1", "s1"]),  # c2 is a network host, too
        ("c1.example.org", ["c1", "c2", "n1", "s1"]),
        ("c2", ["c2", "n1", "s1"]),
        ("unknown", ["c1", "c2", "n1", "s1"]),
        (None, ["c1", "c2", "n1", "s1"]),
    ],
)
def test_the_hosts_that_have_to_do_with_an_instance(platform, host, expected):
    assert sorted(hosts.hosts_of(GROUPS, platform(), host)) == expected


def test_hosts_that_only_have_databases_or_queues_count_too(platform):
    groups = {"compute": ["c1", "c2"], "ovn_central": ["o1"], "rabbitmq": ["r1"], "backup": ["b1"]}
    assert sorted(hosts.hosts_with(groups, platform())) == ["c1", "c2", "o1", "r1"]
    assert sorted(hosts.hosts_of(groups, platform(), "c1")) == ["c1", "o1", "r1"]


def test_only_the_parts_count_that_are_asked_for(platform):
    assert sorted(hosts.hosts_of(GROUPS, platform(), "c1", ["control"])) == ["c1"]
    assert sorted(hosts.hosts_of(GROUPS, platform(), "c1", ["ceph"])) == ["c1", "s1"]


def test_of_many_compute_hosts_one_is_read(platform):
    groups = {"compute": [f"c{number}.example.org" for number in range(100)], "network": ["n1"]}
    assert hosts.hosts_of(groups, platform(), "c7") == ["c7.example.org", "n1"]
    assert len(hosts.hosts_of(groups, platform(), "elsewhere")) == 101


@pytest.mark.parametrize("groups", [{}, {"all": ["localhost"]}])
def test_without_such_hosts_nobody_has_to_do_with_it(platform, groups):
    assert hosts.hosts_of(groups, platform(), "c1") == hosts.NOBODY


def test_the_filters_are_known_by_their_names(platform):
    filters = hosts.FilterModule().filters()
    assert set(filters) == {"profile_of", "parts_of", "hosts_with", "first_with", "hosts_of"}
    assert filters["parts_of"](["storage"], platform()) == ["ceph"]
