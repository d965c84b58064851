# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role's filters make of components, groups and results."""

from __future__ import annotations

from ansible_collections.stackproof.lab.plugins.filter import lab

BRIDGE = {"name": "bridge", "run": "true"}
SWITCH = {"backing": ["switch.service"], "steps": [BRIDGE], "health": ["switch-is-well"]}
COMPONENTS = {
    "base": {"group": "root", "groups": {"all": {"backing": ["ssh.service"], "ports": [22]}}},
    "api": {"group": "api", "groups": {"controller": {"units": ["api.service"], "ports": [80]}}},
    "switch": {"groups": {"network": SWITCH, "compute": SWITCH}},
    "adapter": {
        "group": "adapter",
        "groups": {
            "network": {"units": ["adapter.service", "dhcp.service"]},
            "compute": {"units": ["adapter.service"]},
        },
    },
    "store": {"group": "store", "groups": {"storage": {"units": ["store@0.service"]}, "compute": {}}},
}


def names(carried):
    return [tree["name"] for tree in carried["trees"]]


def test_carried_by_one_group():
    assert lab.carried(COMPONENTS, ["controller"]) == {
        "trees": [{"name": "base", "group": "root"}, {"name": "api", "group": "api"}],
        "backing": ["ssh.service"],
        "units": ["api.service"],
        "ports": [22, 80],
        "steps": [],
        "health": [],
    }


def test_carried_by_two_groups_comes_once():
    carried = lab.carried(COMPONENTS, ["compute", "network"])
    assert carried["backing"] == ["ssh.service", "switch.service"]
    assert carried["units"] == ["adapter.service", "dhcp.service"]
    assert carried["steps"] == [BRIDGE]
    assert carried["health"] == ["switch-is-well"]
    assert names(carried) == ["base", "adapter", "store"]


def test_carried_without_group_has_no_tree():
    assert "switch" not in names(lab.carried(COMPONENTS, ["network"]))


def test_carried_with_empty_part_has_a_tree():
    carried = lab.carried({"store": COMPONENTS["store"]}, ["compute"])
    assert names(carried) == ["store"]
    assert carried["units"] == []


def test_carried_leaves_the_components_alone():
    carried = lab.carried(COMPONENTS, ["controller"])
    carried["ports"].append(443)
    assert lab.carried(COMPONENTS, ["controller"])["ports"] == [22, 80]


def test_units_are_sorted_and_no_instances():
    expected = ["adapter.service", "api.service", "dhcp.service", "ssh.service", "switch.service"]
    assert lab.units(COMPONENTS) == expected


def test_restarts_of_changed_trees_only():
    assert lab.restarts(COMPONENTS, ["network"], ["adapter"]) == ["adapter.service", "dhcp.service"]
    assert lab.restarts(COMPONENTS, ["compute"], ["base", "adapter"]) == ["ssh.service", "adapter.service"]
    assert lab.restarts(COMPONENTS, ["network"], []) == []


def test_restarts_what_reads_a_changed_tree_of_another_component():
    components = {**COMPONENTS, "api": {**COMPONENTS["api"], "reads": ["store"]}}
    assert lab.restarts(components, ["controller"], ["store"]) == ["api.service"]


def test_restarts_nothing_that_another_host_carries():
    assert lab.restarts(COMPONENTS, ["network"], ["api"]) == []


def test_service_user_has_its_own_password():
    user = lab.service_user("nova", {"nova_user": "one", "glance_user": "two"})
    assert (user["name"], user["project"], user["password"]) == ("nova", "service", "one")


def test_workers_on_every_host_of_their_group():
    binaries = {"compute": ["adapter", "nova"], "network": ["adapter"], "storage": ["none"]}
    workers = lab.workers(binaries, {"compute": ["c1", "c2"], "network": ["n1"]})
    assert [(worker["binary"], worker["host"]) for worker in workers] == [
        ("adapter", "c1"),
        ("adapter", "c2"),
        ("adapter", "n1"),
        ("nova", "c1"),
        ("nova", "c2"),
    ]


def test_workers_of_one_host_in_two_groups_come_once():
    binaries = {"compute": ["adapter"], "network": ["adapter"]}
    assert len(lab.workers(binaries, {"compute": ["one"], "network": ["one"]})) == 1


def test_unfinished_are_failed_and_never_reached():
    hostvars = {"ok": {"done": {"changed": False}}, "bad": {"done": {"failed": True}}, "lost": {}}
    assert lab.unfinished(["ok", "bad", "lost"], hostvars, "done") == ["bad", "lost"]


def test_problems_name_their_host():
    hostvars = {"a": {"lab_health": {"problems": []}}, "b": {"lab_health": {"problems": ["x is failed"]}}}
    assert lab.problems({"problems": ["no image"]}, ["a", "b"], hostvars) == ["no image", "b: x is failed"]


def test_problems_of_hosts_that_were_not_looked_at():
    hostvars = {"a": {}, "b": {"lab_health": {"msg": "timeout"}}}
    expected = [f"{host}: the host could not be checked" for host in "abc"]
    assert lab.problems({}, ["a", "b", "c"], hostvars) == expected


HOSTS = {"kolla1": {"groups": ["kolla", "kolla_deployer"]}, "kolla2": {"groups": ["kolla"]}}


def test_groups_have_their_hosts():
    assert lab.groups_of(HOSTS) == {
        "kolla": {"hosts": {"kolla1": {}, "kolla2": {}}},
        "kolla_deployer": {"hosts": {"kolla1": {}}},
    }


def test_groups_of_kolla_have_the_hosts_of_the_lab():
    """As ansible-inventory lists an inventory: the groups of groups stay, and example hosts are replaced."""
    listing = {
        "_meta": {"hostvars": {}},
        "all": {"children": ["ungrouped", "control"]},
        "control": {"hosts": ["control01"]},
        "compute": {"hosts": ["compute01"]},
        "deployment": {"hosts": ["localhost"]},
        "nova": {"children": ["control"]},
    }
    groups = lab.kolla_groups(listing, HOSTS)
    assert groups.keys() == {"control", "network", "monitoring", "storage", "compute", "nova"}
    assert groups["nova"] == {"children": {"control": {}}}
    assert groups["control"] == {"hosts": {"kolla1": {}}}
    assert groups["compute"] == {"hosts": {"kolla1": {}, "kolla2": {}}}
