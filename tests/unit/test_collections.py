# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two collections stand apart, come out together, and all that a name is routed to is there."""

from __future__ import annotations

import pytest
import yaml
from ansible_collections.stackproof.lab.plugins.filter.lab import FilterModule
from tree import COLLECTIONS, ROOT

RUNTIME = yaml.safe_load((ROOT / "meta/runtime.yml").read_text())
ROUTES = [
    (kind, name, way, target)
    for kind, names in RUNTIME["plugin_routing"].items()
    for name, ways in names.items()
    for way, target in ways.items()
]
MOVED_SINCE_0_1_0 = {
    "action": "lab_files",
    "filter": "lab_carried lab_problems lab_restarts lab_service_user lab_unfinished lab_units lab_workers",
    "modules": "lab_cloud lab_cloud_info lab_containers lab_files lab_health_info lab_network lab_preflight "
    "lab_secrets lab_steps lab_units",
}
FOLDERS = {"action": "action", "filter": "filter", "modules": "modules", "action_plugin": "action"}


@pytest.mark.parametrize(("kind", "name", "way", "target"), ROUTES, ids=str)
def test_a_name_is_routed_to_a_plugin_that_is_there(kind, name, way, target):
    namespace, collection, plugin = target.split(".")
    folder = COLLECTIONS[collection] / "plugins" / FOLDERS["action_plugin" if way == "action_plugin" else kind]
    assert namespace == "stackproof"
    assert any((folder / f"{plugin}{suffix}").is_file() for suffix in (".py", ".yml")), target
    # Ansible prefers what is there under the old name.
    assert way == "action_plugin" or not list((ROOT / "plugins" / FOLDERS[kind]).glob(f"{name}.*"))


@pytest.mark.parametrize(("kind", "names"), MOVED_SINCE_0_1_0.items())
def test_what_has_moved_is_still_reached_by_its_old_name(kind, names):
    redirected = {name for kind_of_it, name, way, _target in ROUTES if (kind_of_it, way) == (kind, "redirect")}
    assert set(names.split()) <= redirected


def test_the_filters_of_the_lab_are_those_that_are_documented():
    documented = {path.stem for path in (COLLECTIONS["lab"] / "plugins/filter").glob("*.yml")}
    assert set(FilterModule().filters()) == documented


@pytest.mark.parametrize("group", sorted(RUNTIME["action_groups"]))
def test_a_group_of_actions_has_modules_that_are_there(group):
    for name in RUNTIME["action_groups"][group]:
        assert (ROOT / "plugins/modules" / f"{name}.py").is_file(), name


@pytest.mark.parametrize(("collection", "other"), [("provision", "lab"), ("lab", "provision")])
def test_neither_collection_uses_the_other(collection, other):
    code = [
        path
        for folder in ("plugins", "roles", "playbooks")
        for path in (COLLECTIONS[collection] / folder).rglob("*")
        if path.is_file() and path.name != "README.md" and path.suffix != ".pyc"
    ]
    assert len(code) > 80
    name = f"stackproof.{other}"
    assert [path for path in code if name in path.read_text(errors="replace")] == []


def test_both_collections_come_out_together_for_the_same_cores():
    versions = {}
    for top in COLLECTIONS.values():
        galaxy = yaml.safe_load((top / "galaxy.yml").read_text())
        runtime = yaml.safe_load((top / "meta/runtime.yml").read_text())
        versions[galaxy["name"]] = (galaxy["version"], runtime["requires_ansible"])
    assert set(versions) == set(COLLECTIONS)
    assert len(set(versions.values())) == 1
