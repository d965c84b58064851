# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalogue of faults is consistent on each cloud: names, halves, truths, and what the tables of it say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from ansible_collections.stackproof.provision.plugins.module_utils._components.tables import BY_NAME
from tree import LAB, ROOT

FIVE = yaml.safe_load((LAB / "roles/lab/vars/topologies/five.yml").read_text())["lab_hosts"]
DEVSTACK = yaml.safe_load((LAB / "roles/lab/vars/topologies/devstack.yml").read_text())["lab_hosts"]
CLOUDS = {"ovs": FIVE, "ovn": FIVE, "devstack": DEVSTACK}
# Names that truths give to components besides those of the catalogue of components
OTHER_NAMES = {"openvswitch", "guest", "data network", "data-network", "nova-metadata", "placement", "rgw"}
# Prints all faults of the cloud whose folder LAB_DIRECTORY names
PROGRAM = """
import json
from catalogue import LOOKED_AT, UNSEEN, catalogue, dead_faults, drawn, unseen_faults, wrong_faults

def told(faults):
    return [
        {"name": fault.name, "half": fault.half, "during": fault.during, "variables": fault.variables, **fault.truth}
        for fault in faults
    ]

whole = {
    "faults": told(catalogue().values()),
    "dead": len(dead_faults()),
    "wrong": len(wrong_faults()),
    "looked_at": sorted(LOOKED_AT),
    "unseen": told(unseen_faults().values()),
    "drawn": [fault.name for half in UNSEEN.values() for fault in drawn("1", half)],
}
print(json.dumps(whole))
"""


def inventory_of(hosts):
    groups = {group for host in hosts.values() for group in host["groups"]}
    return {
        "all": {
            "hosts": {name: {"ansible_host": f"10.0.0.{number}"} for number, name in enumerate(hosts, 11)},
            "children": {
                group: {"hosts": {name: {} for name, host in hosts.items() if group in host["groups"]}}
                for group in groups
            },
        }
    }


def run(folder, *program):
    """What a program prints that works on the catalogue of the cloud in a folder."""
    folders = ["tests", "tests/lab", "tests/devstack", "tests/catalogue", ".venv/collections"]
    path = os.pathsep.join(str(ROOT / folder) for folder in folders)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *program],
        env={**os.environ, "LAB_DIRECTORY": str(folder), "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder for each cloud, with the inventory that a lab of it has."""
    made = {}
    for cloud, hosts in CLOUDS.items():
        made[cloud] = folder = tmp_path_factory.mktemp(cloud)
        (folder / "inventory.yml").write_text(yaml.safe_dump(inventory_of(hosts)))
        if cloud != "devstack":
            (folder / "network").write_text(cloud)
    return made


@pytest.fixture(scope="module")
def clouds(folders):
    return {cloud: run(folder, "-c", PROGRAM) for cloud, folder in folders.items()}


@pytest.fixture(params=sorted(CLOUDS))
def cloud(request, clouds):
    return {"name": request.param, **clouds[request.param]}


def wrong(cloud):
    return [fault for fault in cloud["faults"] if fault["class"] == "wrong"]


def test_no_two_faults_have_one_name(cloud):
    names = [fault["name"] for fault in cloud["faults"]]
    assert len(names) == len(set(names)) == cloud["dead"] + cloud["wrong"]


def test_most_faults_of_the_clouds_together_are_wrong_and_not_dead(clouds):
    assert sum(len(wrong(cloud)) for cloud in clouds.values()) >= 120
    requests = {fault["name"] for cloud in clouds.values() for fault in wrong(cloud) if not fault["components"]}
    assert len(requests) >= 20


def test_each_wrong_fault_has_a_kind_and_no_dead_one_has(cloud):
    for fault in cloud["faults"]:
        assert (fault["kind"] is not None) == (fault["class"] == "wrong"), fault["name"]


def test_a_truth_names_components_that_are_known(cloud):
    for fault in wrong(cloud):
        unknown = set(fault["components"]) - set(BY_NAME) - OTHER_NAMES
        assert not unknown, (fault["name"], unknown)


def test_a_truth_names_hosts_of_the_cloud(cloud):
    hosts = set(CLOUDS[cloud["name"]])
    for fault in wrong(cloud):
        assert set(fault["hosts"]) <= hosts, fault["name"]
        assert bool(fault["hosts"]) == bool(fault["components"]), fault["name"]


def test_a_request_that_cannot_be_satisfied_has_a_reason(cloud):
    requests = [fault for fault in wrong(cloud) if not fault["components"]]
    assert [fault["name"] for fault in requests if not fault["reason"]] == []


def test_both_halves_have_each_kind(clouds):
    faults = [fault for cloud in clouds.values() for fault in wrong(cloud)]
    for kind in {fault["kind"] for fault in faults}:
        assert {fault["half"] for fault in faults if fault["kind"] == kind} == {0, 1}, kind


def test_what_was_looked_at_exists_and_is_open(clouds):
    """A name that was misspelt would leave a fault in the half that nobody looks at."""
    faults = {fault["name"]: fault for cloud in clouds.values() for fault in cloud["faults"]}
    looked_at = clouds["ovs"]["looked_at"]
    assert [name for name in looked_at if name not in faults] == []
    assert {faults[name]["half"] for name in looked_at} == {0}


def test_a_fault_is_in_the_same_half_on_each_cloud(clouds):
    halves = {}
    for cloud in clouds.values():
        for fault in cloud["faults"]:
            assert halves.setdefault(fault["name"], fault["half"]) == fault["half"], fault["name"]


@pytest.mark.parametrize(
    ("name", "half"),
    [
        ("ovn-northd-paused", 0),
        ("cell-disabled", 0),
        ("mtu-network1", 1),
        ("nova-conductor-frozen", 0),
        ("database-stopped", 1),
    ],
)
def test_the_halves_stay(clouds, name, half):
    """Another word draws others: then measured results are no longer of the half that they name."""
    (found,) = {fault["half"] for cloud in clouds.values() for fault in cloud["faults"] if fault["name"] == name}
    assert found == half


# The faults that are drawn into no half

# The halves that a devstack has, too, with the numbers of their dead and wrong faults there
ON_EACH = {6: (7, 17), 7: (7, 24), 8: (5, 24), 9: (4, 28), 10: (5, 21), 11: (14, 17)}


def unseen(clouds):
    """Those of the lab with either back end, by their names."""
    return {fault["name"]: fault for cloud in ("ovs", "ovn") for fault in clouds[cloud]["unseen"]}


@pytest.mark.parametrize(
    ("half", "least", "dead", "wrong"),
    [(2, 30, 18, 26), (3, 36, 9, 39), (5, 24, 5, 22), (6, 24, 8, 26), (7, 26, 10, 27), (8, 24, 6, 34), (9, 32, 6, 40)],
)
def test_a_half_that_is_set_apart_has_both_classes_on_each_lab(clouds, half, least, dead, wrong):
    numbers = {cloud: sum(fault["half"] == half for fault in clouds[cloud]["unseen"]) for cloud in CLOUDS}
    assert {cloud: number >= least for cloud, number in numbers.items()} == {
        "ovs": True,
        "ovn": True,
        "devstack": half in ON_EACH,
    }
    classes = [fault["class"] for fault in unseen(clouds).values() if fault["half"] == half]
    assert (len(classes), classes.count("dead"), classes.count("wrong")) == (dead + wrong, dead, wrong)


def test_a_devstack_has_some_halves_that_are_set_apart_of_both_classes(clouds):
    faults = clouds["devstack"]["unseen"]
    assert {fault["half"] for fault in faults} == set(ON_EACH)
    for half, numbers in ON_EACH.items():
        classes = [fault["class"] for fault in faults if fault["half"] == half]
        assert (classes.count("dead"), classes.count("wrong")) == numbers, half


def test_no_unseen_fault_has_the_name_of_another(clouds):
    others = {fault["name"] for cloud in clouds.values() for fault in cloud["faults"]}
    devstack = {fault["name"] for fault in clouds["devstack"]["unseen"]}
    assert others & (set(unseen(clouds)) | devstack) == set()
    for cloud in clouds.values():
        assert sorted(cloud["drawn"]) == sorted(fault["name"] for fault in cloud["unseen"])


def test_the_other_halves_have_no_unseen_fault(clouds):
    assert {fault["half"] for cloud in clouds.values() for fault in cloud["faults"]} == {0, 1}
    assert {fault["half"] for fault in unseen(clouds).values()} == {2, 3, 4, 5, *ON_EACH}


def test_each_unseen_fault_has_a_truth(cloud):
    assert cloud["unseen"]
    for fault in cloud["unseen"]:
        name = fault["name"]
        assert set(fault["components"]) <= set(BY_NAME) | OTHER_NAMES, name
        assert set(fault["hosts"]) <= set(CLOUDS[cloud["name"]]), name
        assert bool(fault["hosts"]) == bool(fault["components"]), name
        assert fault["components"] or fault["reason"], name
        assert (fault["kind"] is None) == (fault["class"] == "dead"), name


# What is made and undone

# These change rows and links of the run's own network or image, which go with it.
GO_WITH_THE_RUN = {
    "image-checksum-wrong-uploaded", "metadata-veth-gone-later", "ovn-nb-dhcp-options-deleted-networked",
    "ovn-nb-dhcp-options-without-server-networked", "ovn-nb-dhcp-route-wrong-networked",
    "ovn-nb-gateway-chassis-gone-later", "ovn-nb-metadata-port-gone-networked", "ovn-nb-port-disabled-later",
    "ovs-network1-tags-later",
    "ovn-nb-port-of-another-address-later", "ovn-nb-port-on-another-chassis-later", "ovs-interface-of-no-port-later",
    "ovn-nb-dhcp-of-another-range-networked", "ovn-nb-network-gone-networked",
    "ovn-nb-routers-without-their-links-later",
    # ovn-controller makes its row again.
    "ovn-sb-chassis-gone",
}  # fmt: skip
# Nothing is made but the request itself.
ONLY_ASKED = {
    "request-zone-unknown",
    "request-volume-zone-unknown",
    "request-volume-type-unknown",
    "request-external-network",
    "request-zone-with-a-host",
    "request-many-name-servers",
}


@pytest.fixture(scope="module", params=sorted(CLOUDS))
def made(request, folders):
    """Each wrong and each unseen fault of a cloud with its commands, and those that undo it."""
    return run(folders[request.param], str(Path(__file__).with_name("made_and_undone.py")))


def is_asked_alone(name):
    return name in ONLY_ASKED or name.startswith("request-image-")


def test_each_wrong_fault_makes_something_and_undoes_it(made):
    assert [name for name, (before, _after) in made.items() if not before and not is_asked_alone(name)] == []
    idle = [name for name, (before, after) in made.items() if before and set(after) <= {"true"}]
    assert [name for name in idle if name not in GO_WITH_THE_RUN] == []


def test_all_commands_are_ones_that_a_shell_can_read(made):
    commands = sorted({command for both in made.values() for done in both for command in done})
    script = "\n".join(f"f{number}() {{\n{command}\n}}" for number, command in enumerate(commands))
    done = subprocess.run(["sh", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
