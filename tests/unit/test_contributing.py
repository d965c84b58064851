# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A newcomer's first change works as CONTRIBUTING shows it, and the forms of the issue tracker ask for what helps."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from dialect import dialect_in
from tree import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text()
FIRST_CHANGE = PAGE.partition("\n## A first change\n")[2].partition("\n## ")[0]
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
COMPONENTS = Path("plugins/module_utils/_components")
FEATURE = ROOT / ".github/ISSUE_TEMPLATE/feature.yml"
TEMPLATE = ROOT / ".github/pull_request_template.md"
ASK = "from ansible_collections.stackproof.provision.plugins.module_utils._components import tables\n"


def block(language: str, number: int = 0) -> str:
    return re.findall(rf"^```{language}\n(.*?)^```$", FIRST_CHANGE, re.MULTILINE | re.DOTALL)[number]


def answer_in(copy: Path) -> subprocess.CompletedProcess[str]:
    """Run the test that the page shows, on a copy of the collection."""
    test = block("python")
    [name] = re.findall(r"^def (test_\w+)\(\):$", test, re.MULTILINE)
    command = [sys.executable, "-c", f"{ASK}{test}{name}()\n"]
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    collection = tmp_path / "ansible_collections/stackproof/provision"
    shutil.copytree(ROOT / "plugins", collection / "plugins", ignore=shutil.ignore_patterns("__pycache__"))
    # A newcomer who follows the page has them in the working tree.
    (collection / COMPONENTS / "barbican.py").unlink(missing_ok=True)
    catalogue = collection / COMPONENTS / "catalogue.py"
    catalogue.write_text(re.sub(r"^ +\*?barbican\b.*\n", "", catalogue.read_text(), flags=re.MULTILINE))
    return tmp_path


def add_component(collection: Path) -> None:
    (collection / COMPONENTS / "barbican.py").write_text(block("python", 1))
    assert f"Create `{COMPONENTS}/barbican.py`" in FIRST_CHANGE
    assert "`barbican,` to the import, before\n`ceph,`" in FIRST_CHANGE
    assert "`*barbican.PROJECTS,` to `PROJECTS`, after `*placement.PROJECTS,`" in FIRST_CHANGE
    catalogue = collection / COMPONENTS / "catalogue.py"
    imported = catalogue.read_text().replace("    ceph,\n", "    barbican,\n    ceph,\n")
    catalogue.write_text(
        imported.replace("    *placement.PROJECTS,\n", "    *placement.PROJECTS,\n    *barbican.PROJECTS,\n")
    )


def test_first_test_fails_without_the_change_and_passes_with_it(copy: Path):
    before = answer_in(copy)
    assert before.returncode == 1
    assert "AssertionError" in before.stderr
    add_component(copy / "ansible_collections/stackproof/provision")
    after = answer_in(copy)
    assert (after.returncode, after.stderr) == (0, "")


def test_fragment_of_the_first_change_has_a_section_of_the_changelog():
    sections = {name for name, _title in yaml.safe_load((ROOT / "changelogs/config.yaml").read_text())["sections"]}
    assert set(yaml.safe_load(block("yaml"))) <= sections


def test_targets_of_the_page_exist():
    makefiles = [ROOT / "Makefile", *ROOT.glob("tools/*.mk"), *ROOT.glob("lab/*.mk")]
    targets = set(re.findall(r"^([a-z0-9.-]+):", "\n".join(path.read_text() for path in makefiles), re.MULTILINE))
    named = set(re.findall(r"^make ([a-z0-9.-]+)|`make ([a-z0-9.-]+)", PAGE, re.MULTILINE))
    assert {first or second for first, second in named} <= targets


# The issue tracker


def test_there_is_a_form_for_each_kind_of_issue_that_support_names():
    names = {yaml.safe_load(path.read_text())["name"] for path in FORMS}
    assert set(re.findall(r"form \*(.+?)\*", (ROOT / "SUPPORT.md").read_text())) == names


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_fields_of_a_form_have_an_id_and_a_label(path: Path):
    form = yaml.safe_load(path.read_text())
    assert {"name", "description", "labels", "body"} == set(form)
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    ids = [field["id"] for field in fields]
    assert len(ids) == len(set(ids))
    assert all(field["attributes"]["label"] for field in fields)
    assert any(field.get("validations", {}).get("required") for field in fields)


@pytest.mark.parametrize("path", [*FORMS, TEMPLATE], ids=lambda path: path.stem)
def test_texts_of_the_tracker_have_no_dialect(path: Path):
    assert dialect_in(path.read_text()) == []


def test_form_for_a_feature_lists_recipes_of_the_page():
    [kinds] = [field for field in yaml.safe_load(FEATURE.read_text())["body"] if field["type"] == "dropdown"]
    recipes = set(re.findall(r"^### (.+)$", PAGE.partition("\n## How to add\n")[2], re.MULTILINE))
    listed = {re.split(" of |, ", option)[0].capitalize() for option in kinds["attributes"]["options"]}
    assert listed - {"Something else"} <= {recipe.split(" of ")[0] for recipe in recipes}
