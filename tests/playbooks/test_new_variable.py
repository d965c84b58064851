# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A variable is added to a copy of the collection as CONTRIBUTING.md says: its definition, and its option."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tree import ROOT

COLLECTION = "collections/ansible_collections/stackproof/provision"
DEFINITION = """\
      stackproof_volume_flavour:
        type: str
        choices: [sweet, sour]
        default: sweet
        description: How the volume tastes.
"""
# Stands for the module, which would need a cloud: it returns its options.
MODULE = """\
from ansible.module_utils.basic import AnsibleModule


def main():
    options = {"run_dir": {}, "flavour": {"choices": ["sweet", "sour"], "default": "sweet"}}
    module = AnsibleModule(argument_spec=options)
    module.exit_json(msg="it tastes " + module.params["flavour"])


if __name__ == "__main__":
    main()
"""
PLAY = """\
- hosts: localhost
  gather_facts: false
  roles: [stackproof.provision.volume]
"""


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the changed copy in it."""
    folder = tmp_path_factory.mktemp("copy")
    copy = folder / COLLECTION
    for part in ("meta", "playbooks", "plugins", "roles"):
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("docs", "tools"):
        (copy / part).mkdir()
    shutil.copy(ROOT / "tools/variables-page", copy / "tools")
    with (copy / "roles/volume/meta/argument_specs.yml").open("a") as stream:
        stream.write(DEFINITION)
    (copy / "plugins/modules/volume.py").write_text(MODULE)
    (folder / "play.yml").write_text(PLAY)
    return folder


def call(folder: Path, program: str, *arguments: str) -> str:
    usual = {name: text for name, text in os.environ.items() if not name.startswith(("ANSIBLE_", "OS_"))}
    places = {"ANSIBLE_COLLECTIONS_PATH": str(folder / "collections"), "ANSIBLE_HOME": str(folder / "home")}
    command = [str(Path(sys.executable).parent / program), *arguments]
    done = subprocess.run(
        command,
        env={**usual, **places, "PYTHONPATH": str(folder / "collections")},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            "stackproof_volume_flavour=salty",
            "stackproof_volume_flavour cannot be 'salty': it is not one of sweet, sour. docs/variables.md",
        ),
        ("stackproof_volume_flavor=sour", "did you mean stackproof_volume_flavour?"),
    ],
)
def test_wrong_value_and_misspelt_name_are_refused_before_a_run_begins(changed: Path, given: str, words: str) -> None:
    output = call(changed, "ansible-playbook", "stackproof.provision.verify", "-e", given)
    assert words in " ".join(output.split())
    assert not (changed / "runs").exists()


@pytest.mark.parametrize(("given", "taste"), [(["-e", "stackproof_volume_flavour=sour"], "sour"), ([], "sweet")])
def test_module_gets_the_value_or_has_its_default(changed: Path, given: list[str], taste: str) -> None:
    output = call(changed, "ansible-playbook", "play.yml", "-v", "-e", "stackproof_run_dir=run", *given)
    assert f"it tastes {taste}" in output, output


def test_page_documents_it(changed: Path) -> None:
    copy = changed / COLLECTION
    assert call(changed, "python", str(copy / "tools/variables-page")) == ""
    page = (copy / "docs/variables.md").read_text()
    assert "| `stackproof_volume_flavour` | `sweet` | How the volume tastes. |" in page
