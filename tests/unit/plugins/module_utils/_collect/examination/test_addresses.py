# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses that services give others as those of their own host."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination import addresses
from ansible_collections.stackproof.provision.plugins.module_utils._collect.examination.configuration import Option

MINE = ["compute2", "10.0.0.12", "fd00::12"]
MIGRATION = ("libvirt", "live_migration_inbound_addr")
LOOPBACK = "127.0.1.1       STREAM compute2.example\n"


def found_of(replay, value, place=MIGRATION, components=("nova-compute",), answer="", project="nova"):
    host = replay(None, {"id -u": "0", "getent": answer})
    option = Option(project, f"/etc/{project}/{project}.conf", *place, value)
    reports = addresses.own(host, set(components), [option], MINE)
    assert host.unread == []
    return [(report.component, report.kind, report.text) for report in reports]


def test_address_of_another_host_is_reported_of_the_component_that_gives_it(replay):
    text = "[libvirt] live_migration_inbound_addr is 10.0.0.13, no address of this host"
    assert found_of(replay, "10.0.0.13") == [("nova-compute", "address", text)]


def test_option_of_a_component_that_is_elsewhere_is_left_alone(replay):
    assert found_of(replay, "10.0.0.13", components=("nova-api",)) == []


def test_option_that_is_about_others_is_left_alone(replay):
    assert found_of(replay, "10.0.0.13", place=("glance", "api_servers")) == []


def test_option_of_the_same_name_of_another_project_is_left_alone(replay):
    assert found_of(replay, "10.0.0.13", place=("DEFAULT", "my_ip"))
    assert found_of(replay, "10.0.0.13", place=("DEFAULT", "my_ip"), project="cinder") == []


@pytest.mark.parametrize(
    "value", ["10.0.0.12", "fd00::12", "fd00:0::12", "compute2", "127.0.0.1", "::1", "0.0.0.0", "::", "", "-x"]
)
def test_address_of_the_host_itself_is_right(replay, value):
    assert found_of(replay, value) == []


@pytest.mark.parametrize(
    ("answer", "is_found"),
    [("10.0.0.13 STREAM c3\n", True), ("10.0.0.12 STREAM c3\n", False), ((2, "", ""), False), (LOOPBACK, False)],
)
def test_name_counts_by_the_address_that_it_means_here(replay, answer, is_found):
    assert bool(found_of(replay, "c3", answer=answer)) is is_found
