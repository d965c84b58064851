# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role's tables agree with each other, with its templates and with its topologies."""

from __future__ import annotations

import copy
import os
import re
import subprocess
import sys
from pathlib import Path

import jinja2
import pytest
import yaml
from ansible.plugins.filter.core import FilterModule
from ansible_collections.stackproof.lab.plugins.action.files import tree_files
from ansible_collections.stackproof.lab.plugins.filter.lab import carried, of_network, service_user, units
from jinja2.nativetypes import NativeEnvironment
from tree import LAB

ROLE = LAB / "roles/lab"
TEMPLATES = ROLE / "templates"
# What is no tree of a component.
OTHERS = {"common.j2", "cache.txt.j2", "clouds.yaml.j2", "inventory.yml.j2", "summary.txt.j2", "ssh"}


def load(place):
    return yaml.safe_load((ROLE / "vars" / place).read_text())


NAMES = load("main/names.yml")
CLOUD = load("main/cloud.yml")
# A release may have components and groups of its own.
RELEASES = {
    name: {**load("main/components.yml"), **NAMES, **load(f"releases/{name}.yml")}
    for name in ("2022.2", "2025.1", "2026.2", "devstack", "kolla")
}
TOPOLOGIES = {
    "five": ["2022.2", "2025.1", "2026.2"],
    "one": ["2022.2", "2025.1", "2026.2"],
    "devstack": ["devstack"],
    "devstack-ceph": ["devstack"],
    "devstack-ovs": ["devstack"],
    "devstack-two": ["devstack"],
    **{name: ["kolla"] for name in ("kolla", "kolla-ceph", "kolla-two", "kolla-ceph-two")},
}
# A lab has one of them, and a devstack has none of ours.
NETWORKS = {
    "2022.2": ["ovs"],
    "2025.1": ["ovs", "ovn"],
    "2026.2": ["ovs", "ovn"],
    "devstack": [""],
    "kolla": ["ovs", "ovn"],
}
HOSTS = [
    pytest.param(release, network, host["groups"], id="-".join(filter(None, (release, topology, network, name))))
    for topology, releases in TOPOLOGIES.items()
    for release in releases
    for network in NETWORKS[release]
    for name, host in load(f"topologies/{topology}.yml")["lab_hosts"].items()
]
SECRETS = {name for kind in ("passwords", "uuids", "ceph_keys") for name in NAMES[f"lab_secret_{kind}"]}
# Of a cloud of kolla
ENGINE = "docker"


def files_of(name):
    return {path for _source, path in tree_files(TEMPLATES / name)}


def components_of(release):
    """All components, those of each network too. Lists that a release names are its own."""
    names = RELEASES[release]
    components = copy.deepcopy({**names["lab_ceph_components"], **names["lab_release_components"]})
    for part in (part for component in components.values() for part in component["groups"].values()):
        for key, value in part.items():
            if isinstance(value, str):
                part[key] = NativeEnvironment().from_string(value).render(names, lab_engine=ENGINE)
    return components


def groups_of(release):
    """The inventory groups of all topologies of a release."""
    return {group for param in HOSTS for group in param.values[2] if param.values[0] == release}


def steps_of(release, network, groups):
    return carried(of_network(components_of(release), network), groups)["steps"]


def all_steps(release):
    """Each step as (component, step), once for a component that has it in several groups."""
    steps = []
    for name, component in components_of(release).items():
        for part in component["groups"].values():
            steps += [(name, step) for step in part.get("steps", []) if (name, step) not in steps]
    return steps


def test_components_with_a_group_have_files_and_files_have_a_component():
    trees = {entry.name for entry in TEMPLATES.iterdir()} - OTHERS
    components = [entry for release in RELEASES for entry in components_of(release).items()]
    assert {name for name, component in components if "group" in component} == trees
    assert {name for name in trees if files_of(name)} == trees


@pytest.mark.parametrize(("network", "other"), [("ovs", "ovn"), ("ovn", "ovs")])
def test_a_lab_has_the_components_of_its_network_alone(network, other):
    components = components_of("2025.1")
    of_other = {name for name, component in components.items() if component.get("network") == other}
    assert of_other
    assert of_network(components, network).keys() == components.keys() - of_other


# The files for users of Ceph are for the lab's controller, too, which a devstack does not have.
@pytest.mark.parametrize(
    ("release", "unused"), [("2022.2", set()), ("2025.1", set()), ("2026.2", set()), ("devstack", {"controller"})]
)
def test_components_are_in_known_groups(release, unused):
    used = {group for component in components_of(release).values() for group in component["groups"]}
    assert used == groups_of(release) | {"all"} | unused


@pytest.mark.parametrize(("release", "least"), [("2022.2", 20), ("2025.1", 20), ("2026.2", 20), ("devstack", 5)])
def test_step_names_are_unique(release, least):
    names = [step["name"] for _component, step in all_steps(release)]
    assert len(names) > least
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("release", RELEASES)
def test_steps_wait_for_steps_that_a_host_of_theirs_has(release):
    hosts = [steps_of(*param.values) for param in HOSTS if param.values[0] == release]
    waits = {(step["name"], other) for steps in hosts for step in steps for other in step.get("after", [])}
    together = {(step["name"], other["name"]) for steps in hosts for step in steps for other in steps}
    assert waits - together == set()


@pytest.mark.parametrize(("release", "network", "groups"), HOSTS)
def test_steps_do_not_wait_in_circles(release, network, groups):
    waiting = steps_of(release, network, groups)
    while waiting:
        names = {step["name"] for step in waiting}
        ready = [step for step in waiting if not names & set(step.get("after", []))]
        assert ready, f"in a circle: {waiting}"
        waiting = [step for step in waiting if step not in ready]


@pytest.mark.parametrize("release", RELEASES)
def test_inputs_of_steps_are_files_of_their_host(release):
    components = components_of(release)
    written = set().union(*(files_of(name) for name in components if "group" in components[name]))
    missing = {step["name"]: set(step.get("inputs", [])) - written for _component, step in all_steps(release)}
    assert {name: paths for name, paths in missing.items() if paths} == {}


@pytest.mark.parametrize(("folder", "names"), [("topologies", TOPOLOGIES), ("releases", RELEASES)])
def test_every_file_of_a_topology_and_of_a_release_is_tested(folder, names):
    assert {path.stem for path in (ROLE / "vars" / folder).iterdir()} == set(names)


class Used(dict):
    """Secrets that remember which of them were asked for."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __missing__(self, name):
        self.names.add(name)
        return "secret"


def secrets_of_templates():
    """What the templates ask for when they are rendered, under names that are put together too."""
    used = Used()
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.ChainableUndefined)
    environment.filters.update(FilterModule().filters())
    environment.globals.update(yaml.safe_load((ROLE / "defaults" / "main.yml").read_text()), lab_secrets=used)
    environment.globals.update(lookup=lambda *_words: "")
    for name in environment.list_templates(extensions=["j2"]):
        text = (TEMPLATES / name).read_text()
        if "lab_secrets" in text or "common.j2" in text:
            environment.get_template(name).render()
    return used.names


def secrets_in_text():
    """What is written out, also where these tests do not render it."""
    texts = [path.read_text() for top in (TEMPLATES, ROLE / "vars") for path in top.rglob("*") if path.is_file()]
    return set(re.findall(r"""lab_secrets(?:\.|\[['"])(\w+)""", "\n".join(texts)))


def secrets_of_users():
    used = Used()
    for name in CLOUD["lab_service_users"]:
        service_user(name, used)
    return used.names


@pytest.mark.parametrize("find", [secrets_of_templates, secrets_in_text, secrets_of_users])
def test_used_secrets_are_declared(find):
    used = find()
    assert used
    assert used - SECRETS == set()


def test_declared_secrets_are_used():
    assert SECRETS - secrets_of_templates() - secrets_in_text() - secrets_of_users() == set()


def test_no_secret_is_declared_twice():
    declared = [name for kind in ("passwords", "uuids", "ceph_keys") for name in NAMES[f"lab_secret_{kind}"]]
    assert len(declared) == len(SECRETS)


def test_stack_sh_may_start_what_it_needs():
    """Units that some other host of a release would start are masked. Those that stack.sh starts must not be."""
    release = RELEASES["devstack"]
    masked = {*release["lab_unwanted_units"], *units(components_of("devstack"))}
    assert not masked & {"libvirtd.service", "virtlogd.service", "ovn-northd.service", "ovn-controller.service"}


def test_a_lab_that_is_gone_leaves_nothing_in_its_directory(tmp_path):
    directory = tmp_path / ".lab"
    (directory / "ssh").mkdir(parents=True)
    chosen = {"name": "lab", "release": "2025.1", "topology": "five", "network": "ovs", "engine": ""}
    assert chosen.keys() == NAMES["lab_chosen"].keys()
    for name in (*chosen, "clouds.yaml", "inventory.yml", "lock", "ssh/known_hosts", "secrets.yml"):
        (directory / name).write_text(chosen.get(name, ""))
    role = {"name": "stackproof.lab.lab", "tasks_from": "forget"}
    task = {"ansible.builtin.include_role": role}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": [task]}]))
    done = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), str(tmp_path / "play.yml")],
        env={**os.environ, "LAB_DIRECTORY": str(directory)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not directory.exists(), done.stdout
