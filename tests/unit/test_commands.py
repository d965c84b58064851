# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each command in the fenced blocks of the pages names what exists, and gives it what it takes.

These tests do not run the commands against a cloud. They check that a playbook parses, that its variables exist and
have values that a run accepts, that a module has the options it is given, and that targets of make and paths exist. The
commands of other programs (OTHERS) are checked for paths of this repository only. tests/newcomers calls verify and the
files of doors on a simulated cloud, and the tests on the lab call all playbooks.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import jmespath
import page_commands
import pytest
import yaml
from ansible_collections.stackproof.provision.plugins.module_utils._act import options
from ansible_collections.stackproof.provision.plugins.plugin_utils import _specs
from module_docs import block_of, options_of
from page_commands import Command, call_of
from tree import COLLECTIONS, ROOT

PLACES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "lab/README.md", "roles/*/README.md")
PAGES = {str(path.relative_to(ROOT)): path.read_text() for place in PLACES for path in sorted(ROOT.glob(place))}
COMMANDS = [command for page, text in PAGES.items() for command in page_commands.commands_of(page, text)]
MODULE_DOCS = {path.stem for path in ROOT.glob("plugins/modules/*.py")}
OURS = {"ansible-playbook", "openstack-ansible", "ansible", "ansible-doc", "make", "jp.py", "-e"}
# Programs of the shell, of OpenStack, of deployers and for images
OTHERS = {
    "$PYTHON", "ansible-builder", "ansible-galaxy", "ansible-navigator", "cd", "cp", "export", "gh", "git", "install",
    "journalctl", "jq", "kayobe", "kolla-ansible", "ln", "mkdir", "mmdebstrap", "molecule", "oc", "openstack", "pip",
    "podman", "pytest", "scripts/bootstrap-ansible.sh", "sed", "sha256sum", "systemctl", "tar", "visudo",
}  # fmt: skip
# A path of this repository; tarballs are built by the reader.
OUR_FOLDERS = re.compile(r"(?:doors|tools|tests|roles|docs|lab|playbooks|plugins)/(?!.*\.tar\.gz$)[\w./*-]+")
# Variables that Ansible, or a playbook of doors, takes
FOREIGN = re.compile(r"(?!stackproof_)")
# Those of a run that is already there
OF_A_RUN = {"stackproof_run_dir"}
VARIABLES = {
    name: spec for name, spec in _specs.variables().items() if name not in _specs.SET_BY_PLAYBOOKS or name in OF_A_RUN
}
# The canary passes these to its runs.
PASSED_ON = "stackproof_canary_variables"
PLAYBOOK = re.compile(r"stackproof\.(\w+)\.(\w+)")
PLATFORMS = {path.stem for path in ROOT.glob("roles/evidence/vars/platforms/*.yml")}


def of_program(*names: str) -> list[Command]:
    return [command for command in COMMANDS if command.program in names]


def problems_of(variables: dict[str, object]) -> list[str]:
    """Return what a run, or the role of the canary or of a diagnosis, would refuse."""
    ours = {name: value for name, value in variables.items() if not FOREIGN.match(name)}
    found = [f"{name} does not exist" for name in ours if name not in VARIABLES]
    known = {name: value for name, value in ours.items() if name in VARIABLES}
    found += filter(None, (_specs.why_not(VARIABLES[name], value) for name, value in known.items()))
    found += filter(None, (options.beyond_limits(name, value) for name, value in known.items()))
    passed_on = ours.get(PASSED_ON, {})
    assert isinstance(passed_on, dict)
    return [*found, *_specs.problems(known), *(problems_of(passed_on) if passed_on else [])]


def test_every_command_has_a_test_or_belongs_to_another_program():
    assert len(COMMANDS) > 80
    assert [str(command) for command in COMMANDS if command.program not in OURS | OTHERS] == []


def test_every_program_of_others_is_still_on_a_page():
    assert OTHERS - {command.program for command in COMMANDS} == set()


# ansible-playbook


@pytest.mark.parametrize("command", of_program("ansible-playbook"), ids=str)
def test_a_playbook_exists_and_accepts_its_variables(command):
    call = call_of(command.words[1:])
    assert call.unknown == []
    assert call.names
    for name in call.names:
        found = PLAYBOOK.fullmatch(name)
        path = COLLECTIONS[found[1]] / f"playbooks/{found[2]}.yml" if found else ROOT / name
        assert path.is_file(), f"{name} is no playbook"
    assert problems_of(call.variables) == []
    platform = str(call.variables.get("stackproof_platform", "packages"))
    assert platform in PLATFORMS or platform.endswith(".yml")


@pytest.mark.parametrize("command", of_program("-e"), ids=str)
def test_variables_that_stand_alone_are_accepted(command):
    call = call_of(command.words)
    assert (call.names, call.unknown) == ([], [])
    assert problems_of(call.variables) == []


@pytest.mark.parametrize("command", of_program("openstack-ansible"), ids=str)
def test_a_playbook_for_a_deployer_exists(command):
    ours = [PLAYBOOK.fullmatch(word) for word in command.words[1:] if PLAYBOOK.fullmatch(word)]
    assert [found[0] for found in ours if not (COLLECTIONS[found[1]] / f"playbooks/{found[2]}.yml").is_file()] == []


@pytest.mark.parametrize(
    ("variables", "problems"),
    [
        ({"stackproof_volme": "none"}, ["stackproof_volme does not exist"]),
        ({"stackproof_volume_size": "big"}, ["it is not a whole number"]),
        ({"stackproof_canary_variables": {"stackproof_cluod": "mycloud"}}, ["stackproof_cluod does not exist"]),
        ({"ansible_python_interpreter": "python3", "stackproof_cloud": "mycloud"}, []),
    ],
)
def test_a_wrong_variable_of_a_page_would_be_found(variables, problems):
    assert problems_of(variables)[: len(problems)] == problems
    assert bool(problems_of(variables)) == bool(problems)


# ansible


def options_of_module(name: str) -> tuple[set[str], set[str]]:
    """Return the options of a module of this collection or of Ansible: all, and those that are required."""
    place, _dot, module = name.rpartition(".")
    if place == "ansible.builtin":
        documented = yaml.safe_load(importlib.import_module(f"ansible.modules.{module}").DOCUMENTATION)["options"]
        return set(documented), {option for option, spec in documented.items() if spec.get("required")}
    assert place == "stackproof.provision"
    assert module in MODULE_DOCS
    documented = block_of(module, "DOCUMENTATION")["options"]
    return options_of(module), {option for option, spec in documented.items() if spec.get("required")}


@pytest.mark.parametrize("command", [each for each in of_program("ansible") if "-m" in each.words], ids=str)
def test_a_module_has_the_options_that_it_is_given(command):
    call = call_of(command.words[1:])
    assert call.unknown == []
    known, required = options_of_module(call.module or "")
    assert required <= set(page_commands.options_in(call.arguments)) <= known


@pytest.mark.parametrize("command", of_program("ansible-doc"), ids=str)
def test_a_plugin_whose_documentation_is_shown_exists(command):
    found = PLAYBOOK.fullmatch(command.words[-1])
    assert found
    assert found[2] in MODULE_DOCS


# make, expressions and paths


def targets() -> set[str]:
    """Return the targets of make."""
    texts = [path.read_text().replace("\\\n", " ") for path in (ROOT / "Makefile", *ROOT.glob("*/*.mk"))]
    phony = " ".join(line for text in texts for line in re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE))
    return set(phony.split())


@pytest.mark.parametrize("command", of_program("make"), ids=str)
def test_a_target_of_make_exists(command):
    assert {word for word in command.words[1:] if "=" not in word} - targets() == set()


@pytest.mark.parametrize("page", PAGES)
def test_a_target_of_make_that_a_sentence_names_exists(page):
    named = re.findall(r"`make ([a-z][a-z-]*)", " ".join(PAGES[page].split()))
    assert set(named) - targets() == set()


@pytest.mark.parametrize("command", of_program("jp.py"), ids=str)
def test_an_expression_can_be_compiled(command):
    jmespath.compile(command.words[-1])


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_a_path_of_the_repository_exists(command):
    paths = [word for word in command.words if OUR_FOLDERS.fullmatch(word)]
    assert [path for path in paths if not list(ROOT.glob(path))] == []


# What Ansible itself checks


@pytest.fixture(scope="module")
def check_syntax(tmp_path_factory):
    """Return a function that has Ansible check the syntax of playbooks, with both collections in their places."""
    place = tmp_path_factory.mktemp("collections")
    folder = place / "ansible_collections/stackproof"
    folder.mkdir(parents=True)
    for name, top in COLLECTIONS.items():
        (folder / name).symlink_to(top)
    # The settings of this repository would lead to another place.
    settings = place / "ansible.cfg"
    settings.touch()

    def check(*playbooks: Path) -> str:
        command = [str(Path(sys.executable).parent / "ansible-playbook"), "--syntax-check", *map(str, playbooks)]
        environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(place), "ANSIBLE_CONFIG": str(settings)}
        done = subprocess.run(command, env=environment, cwd=place, capture_output=True, text=True, check=False)
        return "" if done.returncode == 0 else done.stdout + done.stderr

    return check


def test_every_playbook_that_the_pages_name_parses(check_syntax):
    names = {name for command in of_program("ansible-playbook") for name in call_of(command.words[1:]).names}
    found = [PLAYBOOK.fullmatch(name) for name in sorted(names)]
    paths = [COLLECTIONS[name[1]] / f"playbooks/{name[2]}.yml" for name in found if name]
    assert len(paths) > 8
    assert check_syntax(*paths) == ""


def test_every_play_on_a_page_and_every_example_of_a_module_parses(check_syntax, tmp_path):
    plays = {f"{Path(page).stem}{number}.yml": text for page in PAGES for number, text in enumerate(plays_of(page))}
    tasks = {f"{name}.yml": example_of(name) for name in sorted(MODULE_DOCS)}
    files = {**plays, **{name: text for name, text in tasks.items() if text}}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert len(plays) > 2
    assert len(files) > 30
    assert check_syntax(*(tmp_path / name for name in files)) == ""


def plays_of(page: str) -> list[str]:
    """Return the YAML blocks of a page that are playbooks."""
    found = page_commands.blocks(PAGES[page], "yaml")
    return [block for block in found if re.match(r"- (?:name: .*\n  )?hosts:", block)]


def example_of(module: str) -> str:
    """Return the examples of a module as a playbook."""
    source = (ROOT / f"plugins/modules/{module}.py").read_text()
    found = re.search(r'^EXAMPLES = r"""\n(.*?)"""', source, re.MULTILINE | re.DOTALL)
    tasks = yaml.safe_load(found[1]) if found else None
    return yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]) if tasks else ""
