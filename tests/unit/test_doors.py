# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files for deployers and CI name what the collection has, and the page on them lists each."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from ansible_collections.stackproof.provision.plugins.plugin_utils import _specs
from dialect import dialect_in
from tree import ROOT

DOORS = ROOT / "doors"
FILES = sorted(path for path in DOORS.rglob("*") if path.is_file())
YAMLS = [path for path in FILES if path.suffix in {".yml", ".yaml"}]
PAGE = (ROOT / "docs/doors.md").read_text()
# Their collection is not a requirement of ours.
WITH_OTHER_COLLECTIONS = {"automation-controller/templates.yml"}
# A requirement of Python, as pip takes it
REQUIREMENT = re.compile(r"\b(?:ansible-core|openstacksdk|jmespath|pytest-testinfra)>=[\d.]+,<[\d.]+")
COMMIT = re.compile(r"\b[0-9a-f]{7} of\s+20\d\d-\d\d-\d\d\b")


def name_of(path: Path) -> str:
    return str(path.relative_to(DOORS))


def playbooks() -> list[Path]:
    """Return the files that are lists of plays."""
    read = {path: yaml.safe_load(path.read_text()) for path in YAMLS}
    plays = ("hosts", "ansible.builtin.import_playbook")
    return [
        path for path, content in read.items() if isinstance(content, list) and any(key in content[0] for key in plays)
    ]


def sections() -> dict[str, str]:
    """Return the text of each section of the page, by its heading."""
    return dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


def unknown_variables(text: str) -> set[str]:
    """Return the names with the collection's prefix that no playbook takes."""
    return set(re.findall(r"\bstackproof_[a-z_]+", text)) - set(_specs.variables())


def unknown_names(text: str) -> list[str]:
    """Return the names of the collection in a text that are not those of playbooks."""
    names = set(re.findall(r"\bstackproof\.provision\.(\w+)", text))
    return sorted(name for name in names if not (ROOT / "playbooks" / f"{name}.yml").is_file())


@pytest.mark.parametrize("path", YAMLS, ids=name_of)
def test_a_file_is_yaml_with_content(path: Path):
    assert list(filter(None, yaml.safe_load_all(path.read_text())))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_file_names_variables_and_playbooks_that_exist(path: Path):
    assert unknown_variables(path.read_text()) == set()
    assert unknown_names(path.read_text()) == []


def test_the_page_names_variables_and_playbooks_that_exist():
    assert unknown_variables(PAGE) == set()
    assert unknown_names(PAGE) == []


def test_an_unknown_name_is_found():
    assert unknown_variables("stackproof_volme: none\n-e stackproof_volume=none") == {"stackproof_volme"}
    assert unknown_names("import_playbook: stackproof.provision.verfy") == ["verfy"]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_file_requires_the_versions_that_the_collection_requires(path: Path):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    required = {*project["project"]["dependencies"], *project["dependency-groups"]["test"]}
    assert set(REQUIREMENT.findall(path.read_text())) <= required


def test_the_page_requires_the_versions_that_the_files_require():
    in_files = {found for path in FILES for found in REQUIREMENT.findall(path.read_text())}
    assert set(REQUIREMENT.findall(PAGE)) <= in_files


def test_the_page_links_each_file_in_the_section_of_its_door():
    linked = {title: set(re.findall(r"\]\(\.\./doors/([^)]+)\)", text)) for title, text in sections().items()}
    assert set().union(*linked.values()) == {name_of(path) for path in FILES}
    for title, names in linked.items():
        assert len({name.partition("/")[0] for name in names}) == 1, title


def test_the_table_lists_the_sections_in_their_order():
    assert re.findall(r"^\| \[(.+?)\]\(#", PAGE, re.MULTILINE) == list(sections())


@pytest.mark.parametrize("title", sections())
def test_a_section_reports_what_was_run_and_what_was_only_checked(title: str):
    run, _separator, checked = sections()[title].partition("\n**Run:** ")[2].partition("\n**Checked:** ")
    assert run
    assert checked
    assert COMMIT.search(checked) or "check-jsonschema" in checked


def test_the_playbooks_have_no_error_of_syntax(tmp_path: Path):
    place = tmp_path / "collections/ansible_collections/stackproof/provision"
    place.parent.mkdir(parents=True)
    place.symlink_to(ROOT)
    ours = [path for path in playbooks() if name_of(path) not in WITH_OTHER_COLLECTIONS]
    assert len(ours) == 9
    command = [str(Path(sys.executable).parent / "ansible-playbook"), "--syntax-check", *map(str, ours)]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(tmp_path / "collections")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_names_and_comments_of_a_file_have_no_dialect(path: Path):
    text = path.read_text()
    comments = " ".join(re.findall(r"^\s*#+ ?(.*)$", text, re.MULTILINE))
    texts = re.findall(r"^ *(?:- )?(?:name|description|question_description): (.+)$", text, re.MULTILINE)
    assert [word for words in [comments, *texts] for word in dialect_in(words)] == []
