# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of variables that the collection does not have: which are misspelt, and which may be the user's own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.stackproof.provision.plugins.plugin_utils import _specs
from ansible_collections.stackproof.provision.plugins.plugin_utils import _variables as variables
from ansible_collections.stackproof.provision.plugins.plugin_utils._variables import Unknown
from tree import LAB, ROOT

OWN_MODULE = "stackproof.provision."
# The canary runs the other playbooks; it installs them with Ansible's own modules alone.
WITHOUT_OWN_MODULES = {"canary"}


def unknown(given: Iterable[str]) -> list[Unknown]:
    return variables.unknown_variables(given, variables.known_names(), _specs.variables())


def refusal(found: list[Unknown]) -> str | None:
    return variables.refusal(variables.misspelt(found))


def test_defined_variables_are_known() -> None:
    assert len(_specs.variables()) > 60
    assert _specs.variables().keys() - variables.known_names() == set()


def test_variables_of_the_lab_and_the_scenarios_are_known() -> None:
    given = set()
    for path in (*LAB.glob("**/*.yml"), *LAB.glob("**/*.j2"), *ROOT.glob("molecule/**/*.yml")):
        given |= set(re.findall(r"^\s*(stackproof_\w+):", path.read_text(), re.MULTILINE))
    assert given
    assert unknown(given) == []


@pytest.mark.parametrize(
    "place",
    [
        "playbooks/verify.yml",
        "playbooks/tasks/begin.yml",
        "roles/a/tasks/main.yml",
        "roles/a/defaults/main.yml",
        "roles/a/vars/platforms/b.yml",
        "roles/a/meta/argument_specs.yml",
        "roles/a/templates/b.j2",
    ],
)
def test_word_in_a_file_with_variables_is_known(tmp_path: Path, place: str) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    (tmp_path / "roles").mkdir(exist_ok=True)
    path.write_bytes(b"\xff {{ stackproof_one|default(other.my_stackproof_two) }}\n  stackproof_three: x")
    assert variables.known_names(str(tmp_path)) == {"stackproof_one", "stackproof_three"}


def test_word_that_only_documentation_has_is_not_known(tmp_path: Path) -> None:
    for place in ("playbooks/a.yml", "roles/a/README.md", "roles/a/files/b.yml", "docs/a.md"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("stackproof_one" if "playbooks" not in place else "")
    assert variables.known_names(str(tmp_path)) == set()


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [
        ("stackproof_volme", "stackproof_volume"),
        ("stackproof_flavour", "stackproof_flavor"),
        ("stackproof_imgae", "stackproof_image"),
        ("stackproof_volume-size", "stackproof_volume_size"),
        ("stackproof_Platform", "stackproof_platform"),
        ("stackproof_timeout", "stackproof_timeouts"),
        ("stackproof_volume_sizes", "stackproof_volume_size"),
        ("stackproof_canary_evry", "stackproof_canary_every"),
    ],
)
def test_misspelt_name_has_the_one_that_was_meant(misspelt: str, meant: str) -> None:
    assert unknown([misspelt]) == [Unknown(misspelt, meant)]


@pytest.mark.parametrize("ending", ["cloud_password", "image_name", "region_name", "version", "ssh_key", "xyz", ""])
def test_name_of_a_users_own_is_like_none(ending: str) -> None:
    name = variables.PREFIX + ending
    assert unknown([name]) == [Unknown(name, None)]


def test_known_names_and_those_of_others_are_no_matter() -> None:
    given = ["stackproof_volume", "ansible_host", "volme", "my_stackproof_volme"]
    assert unknown(given) == []


def test_name_that_only_the_tasks_use_is_never_meant() -> None:
    assert "stackproof_cleaned" in variables.known_names()
    assert unknown(["stackproof_cleane"]) == [Unknown("stackproof_cleane", None)]


def test_misspelt_names_are_refused_in_one_sentence() -> None:
    found = [
        Unknown("stackproof_flavour", "stackproof_flavor"),
        Unknown("stackproof_mine", None),
        Unknown("stackproof_volme", "stackproof_volume"),
        Unknown("stackproof_volumee", "stackproof_volume"),
    ]
    assert refusal(found[2:3]) == (
        "unknown variable stackproof_volme: did you mean stackproof_volume? docs/variables.md has all of them."
    )
    assert refusal(found) == (
        "unknown variables stackproof_flavour, stackproof_volme, stackproof_volumee: "
        "did you mean stackproof_flavor, stackproof_volume? docs/variables.md has all of them."
    )


def test_names_like_no_other_are_a_warning() -> None:
    found = [Unknown("stackproof_mine", None), Unknown("stackproof_volme", "stackproof_volume")]
    assert variables.warning(found) == "unknown variable stackproof_mine is not used: docs/variables.md has all of them"
    several = [Unknown(f"stackproof_{number}", None) for number in range(7)]
    assert variables.warning(several) == (
        "unknown variables stackproof_0, stackproof_1, stackproof_2, stackproof_3, stackproof_4, and 2 more "
        "are not used: docs/variables.md has all of them"
    )


def test_nothing_unknown_is_neither_refused_nor_warned_of() -> None:
    assert (refusal([]), variables.warning([])) == (None, None)
    assert refusal([Unknown("stackproof_mine", None)]) is None
    assert variables.warning([Unknown("stackproof_volme", "stackproof_volume")]) is None


def first_own_task(path: Path) -> tuple[str, str] | None:
    """Find the first task of this file, or of those that it imports, that runs here and has a module of ours."""
    for part in yaml.safe_load(path.read_text()):
        if part.get("name", "").startswith(("Check Ceph", "Wait for a turn")):
            continue  # it only reads, or only waits
        if "tasks" in part or "block" in part:
            found = first_in(part.get("tasks") or part["block"], path)
        else:
            found = first_in([part], path)
        if found:
            return found
    return None


def first_in(tasks: list[dict[str, Any]], path: Path) -> tuple[str, str] | None:
    for task in tasks:
        own = [key.removeprefix(OWN_MODULE) for key in task if key.startswith(OWN_MODULE)]
        if own:
            return str(path.relative_to(ROOT)), own[0]
        if name := task.get("ansible.builtin.import_tasks"):
            if found := first_own_task(path.parent / name):
                return found
            continue  # it has none, such as the one that takes the values of a level
        if role := task.get("ansible.builtin.import_role"):
            folder = ROOT / "roles" / role["name"].rpartition(".")[2] / "tasks"
            return first_own_task(folder / f"{role.get('tasks_from', 'main')}.yml")
        if found := first_in(task.get("block", []), path):
            return found
    return None


@pytest.mark.parametrize("playbook", sorted(ROOT.glob("playbooks/*.yml")), ids=lambda path: path.stem)
def test_each_playbook_begins_with_a_task_that_looks_at_the_variables(playbook: Path) -> None:
    first = first_own_task(playbook)
    if playbook.stem in WITHOUT_OWN_MODULES:
        assert first is None
    else:
        assert first in variables.FIRST_TASKS.items()


def test_only_a_task_of_the_collection_itself_begins_a_playbook(tmp_path: Path) -> None:
    begin = "playbooks/tasks/begin.yml"
    link = tmp_path / "linked"
    os.symlink(ROOT, link)
    assert variables.is_first_task(str(ROOT / begin), "run")
    assert variables.is_first_task(str(link / begin), "run")
    assert not variables.is_first_task(str(ROOT / begin), "cleanup")
    assert not variables.is_first_task(str(tmp_path / begin), "run")
    assert not variables.is_first_task("", "run")
