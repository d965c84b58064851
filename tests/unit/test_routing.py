# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A module by its name of today and of an earlier version, as a playbook calls it."""

from __future__ import annotations

import os
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


@pytest.mark.parametrize("module", ["instance", "instance_info"])
def test_a_module_by_its_name_of_today_and_of_0_1_0(module, tmp_path):
    """It takes its defaults from the group, and is run by the action plugin, which executes nothing but forks."""
    place = tmp_path / "collections/ansible_collections/stackproof/provision"
    place.parent.mkdir(parents=True)
    place.symlink_to(ROOT)
    (tmp_path / "play.yml").write_text(PLAY.format(module=HERE + module, directory=tmp_path / "none"))
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("ANSIBLE_", "OS_"))}
    environment |= {"ANSIBLE_COLLECTIONS_PATH": str(tmp_path / "collections"), "ANSIBLE_HOME": str(tmp_path / "home")}
    command = [str(Path(sys.executable).parent / "ansible-playbook"), "-vvv", "play.yml"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    assert done.returncode == 2, output
    assert f"{tmp_path}/none is not the directory of a run" in output
    assert ("redirecting" in output, "EXEC" in output) == (module == "instance_info", False)
