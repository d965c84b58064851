# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role's tables agree with each other, with its templates and with its topologies."""

from __future__ import annotations

import re

import jinja2
import pytest
import yaml
from ansible.plugins.filter.core import FilterModule
from ansible_collections.stackproof.lab.plugins.action.files import tree_files
from ansible_collections.stackproof.lab.plugins.filter.lab import carried, service_user
from tree import LAB

ROLE = LAB / "roles/lab"
TEMPLATES = ROLE / "templates"
# What is no tree of a component.
OTHERS = {"common.j2", "clouds.yaml.j2", "inventory.yml.j2", "summary.txt.j2", "ssh"}


def load(place):
    return yaml.safe_load((ROLE / "vars" / place).read_text())


COMPONENTS = load("main/components.yml")["lab_components"]
NAMES = load("main/names.yml")
CLOUD = load("main/cloud.yml")
TOPOLOGIES = sorted(path.name for path in (ROLE / "vars" / "topologies").iterdir())
GROUPS = NAMES["lab_groups"]
SECRETS = {name for kind in ("passwords", "uuids", "ceph_keys") for name in NAMES[f"lab_secret_{kind}"]}


def files_of(name):
    return {path for _source, path in tree_files(TEMPLATES / name)}


def steps_of(group):
    return carried(COMPONENTS, [group])["steps"]


def all_steps():
    """Each step as (component, step), once for a component that has it in several groups."""
    steps = []
    for name, component in COMPONENTS.items():
        for part in component["groups"].values():
            steps += [(name, step) for step in part.get("steps", []) if (name, step) not in steps]
    return steps


def test_components_with_a_group_have_files_and_files_have_a_component():
    trees = {entry.name for entry in TEMPLATES.iterdir()} - OTHERS
    assert {name for name, component in COMPONENTS.items() if "group" in component} == trees
    assert {name for name in trees if files_of(name)} == trees


def test_components_are_in_known_groups():
    used = {group for component in COMPONENTS.values() for group in component["groups"]}
    assert used == {*GROUPS, "all"}


def test_step_names_are_unique():
    names = [step["name"] for _component, step in all_steps()]
    assert len(names) > 20
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("group", GROUPS)
def test_steps_wait_for_steps_of_the_same_host(group):
    steps = steps_of(group)
    names = {step["name"] for step in steps}
    unknown = {step["name"]: set(step.get("after", [])) - names for step in steps}
    assert {name: after for name, after in unknown.items() if after} == {}


@pytest.mark.parametrize("group", GROUPS)
def test_steps_do_not_wait_in_circles(group):
    waiting, ended = steps_of(group), set()
    while waiting:
        ready = [step for step in waiting if set(step.get("after", [])) <= ended]
        assert ready, f"in a circle: {waiting}"
        ended |= {step["name"] for step in ready}
        waiting = [step for step in waiting if step not in ready]


def test_inputs_of_steps_are_files_of_their_component():
    missing = {
        step["name"]: set(step["inputs"]) - files_of(component)
        for component, step in all_steps()
        if set(step.get("inputs", [])) - files_of(component)
    }
    assert missing == {}


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_topology_has_hosts_in_every_group(topology):
    hosts = load(f"topologies/{topology}")["lab_hosts"]
    assert {group for host in hosts.values() for group in host["groups"]} == set(GROUPS)


def test_topologies():
    assert TOPOLOGIES == ["five.yml", "one.yml"]


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
