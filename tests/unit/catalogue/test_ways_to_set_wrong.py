# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways to make something wrong: what is changed is put back exactly, and what was not put back is found."""

from __future__ import annotations

import contextlib
import subprocess
from functools import partial

import pytest
from breaking import recovered, undone
from catalogue_undone import BETWEEN, differences, parts_of
from sites import of_lab
from ways_to_set_wrong import both, set_option

CONFIGURATION = """[DEFAULT]
debug = true

[placement]
password = right
# password = a comment
username = nova

[neutron]
password = other
"""


@pytest.mark.parametrize(
    ("section", "option", "value", "before", "after"),
    [
        ("placement", "password", "wrong", "password = right", "password = wrong"),
        ("neutron", "password", "it's a $word", "password = other", "password = it's a $word"),
    ],
)
def test_an_option_is_changed_in_its_section_alone(tmp_path, section, option, value, before, after):
    path = tmp_path / "nova.conf"
    path.write_text(CONFIGURATION)
    subprocess.run(set_option(path, section, option, value), shell=True, check=True)
    lines = path.read_text().splitlines()
    assert before not in lines
    assert lines[lines.index(f"[{section}]") + 1] == after
    assert len(lines) == len(CONFIGURATION.splitlines())


def test_an_option_of_a_section_that_is_not_there_comes_with_it(tmp_path):
    path = tmp_path / "nova.conf"
    path.write_text(CONFIGURATION)
    subprocess.run(set_option(path, "glance", "region_name", "RegionTwo"), shell=True, check=True)
    assert path.read_text() == f"{CONFIGURATION}[glance]\nregion_name = RegionTwo\n"


def test_an_empty_value_removes_an_option(tmp_path):
    path = tmp_path / "nova.conf"
    path.write_text(CONFIGURATION)
    subprocess.run(set_option(path, "neutron", "password", ""), shell=True, check=True)
    assert "password = other" not in path.read_text()
    assert "password = right" in path.read_text()


def test_the_outputs_of_several_commands_are_separated():
    text = f"{BETWEEN.format('files')}\na\nb\n{BETWEEN.format('rules')}\n{BETWEEN.format('links')}\nc\n"
    assert parts_of(text, ["files", "rules", "links"]) == {"files": "a\nb", "rules": "", "links": "c"}


def test_what_is_as_before_is_no_difference():
    assert differences({("files", "compute1"): "a\nb"}, {("files", "compute1"): "b\na"}) == []


def test_what_came_and_what_went_is_reported_with_its_place():
    before, after = {("files", "compute1"): "a\nb"}, {("files", "compute1"): "a\nc"}
    assert differences(before, after) == ["files of compute1: -b; +c"]


def test_what_was_not_there_before_is_reported():
    assert differences({}, {("usages", "compute2"): "{'VCPU': 1}"}) == ["usages of compute2: +{'VCPU': 1}"]


def test_a_site_names_a_part_with_its_host_where_there_are_several():
    hosts = {name: {"ansible_host": name} for name in ("c", "n", "one", "two", "s")}
    groups = {"controller": ["c"], "network": ["n"], "compute": ["one", "two"], "storage": ["s"]}
    site = of_lab(groups, hosts, "ovs")
    assert [site.name_of(part) for part in site.parts_of("neutron-l2-agent")] == [
        "neutron-l2-agent-one",
        "neutron-l2-agent-n",
    ]
    assert [site.name_of(part) for part in site.parts_of("neutron-dhcp-agent")] == ["neutron-dhcp-agent"]


def test_of_two_faults_the_lab_is_waited_for_when_both_are_undone():
    """The one that is undone first would wait for a lab that the other one keeps from being well."""
    done = []

    class Lab:
        def run(self, _host, command):
            done.append(command)

        def wait_until_well(self, *_fresh):
            done.append("well")

    first, second = (partial(stopped, host="h", name=name) for name in ("x", "y"))
    with both(Lab(), first, second):
        assert done == ["stop x", "stop y"]
    assert done[2:] == ["start y", "start x", "well"]


@contextlib.contextmanager
def stopped(lab, host, name):
    with recovered(lab, host), undone(lab, host, f"stop {name}", f"start {name}"):
        yield
