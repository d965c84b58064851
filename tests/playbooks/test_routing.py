# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A module by its name of today and of an earlier version, as a playbook calls it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tree import ROOT

HERE = "stackproof.provision."
PLAY = """
- hosts: localhost
  gather_facts: false
  module_defaults:
    group/stackproof.provision.all:
      run_dir: {directory}
  tasks:
    - {module}:
        cloud: none
"""
RUN = """
- hosts: localhost
  gather_facts: false
  module_defaults:
    stackproof.provision.auth:
      run_dir: {directory}
  tasks:
    - stackproof.provision.run:
        cloud: none
        runs: {runs}
        watch: false
    # There is no such run, so each stage fails. The second one shows that the SDK is not loaded again.
    - stackproof.provision.auth:
      ignore_errors: true
    - stackproof.provision.auth:
"""

SWEEP = """
- hosts: localhost
  gather_facts: false
  tasks:
    # There is neither such a cloud nor such a run, so both fail. The second one shows that the SDK is not loaded again.
    - stackproof.provision.preflight:
        cloud: none
      ignore_errors: true
    - stackproof.provision.auth:
        run_dir: {directory}
"""


@pytest.fixture
def play(tmp_path):
    """Return a function that runs a play, which fails, with options of Python and of ansible-playbook."""
    place = tmp_path / "collections/ansible_collections/stackproof/provision"
    place.parent.mkdir(parents=True)
    place.symlink_to(ROOT)
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("ANSIBLE_", "OS_"))}
    environment |= {"ANSIBLE_COLLECTIONS_PATH": str(tmp_path / "collections"), "ANSIBLE_HOME": str(tmp_path / "home")}

    def run(text, *options, python=()):
        (tmp_path / "play.yml").write_text(text)
        command = [sys.executable, *python, str(Path(sys.executable).parent / "ansible-playbook"), *options, "play.yml"]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 2, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


@pytest.mark.parametrize("module", ["instance", "instance_info"])
def test_a_module_by_its_name_of_today_and_of_0_1_0(play, module, tmp_path):
    """It takes its defaults from the group, and is run by the action plugin, which executes nothing but forks."""
    output = play(PLAY.format(module=HERE + module, directory=tmp_path / "none"), "-vvv")
    assert f"{tmp_path}/none is not the directory of a run" in output
    assert ("redirecting" in output, "EXEC" in output) == (module == "instance_info", False)


def test_a_playbook_that_begins_a_run_loads_the_sdk_once_for_all_its_stages(play, tmp_path):
    output = play(RUN.format(runs=tmp_path / "runs", directory=tmp_path / "none"), python=("-X", "importtime"))
    assert re.search(r"ok=2 .* failed=1 .* ignored=1", output), output
    # The module run is a process of its own, and does without the SDK.
    assert len(re.findall(r"\| +openstack$", output, re.MULTILINE)) == 1


def test_a_playbook_that_looks_at_the_cloud_first_loads_the_sdk_once(play, tmp_path):
    output = play(SWEEP.format(directory=tmp_path / "none"), python=("-X", "importtime"))
    assert re.search(r"ok=1 .* failed=1 .* ignored=1", output), output
    assert len(re.findall(r"\| +openstack$", output, re.MULTILINE)) == 1
