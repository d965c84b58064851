# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbooks as they are called: without a cloud, a host or an inventory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from guard import assert_no_defect
from tree import ROOT, import_collections_by_name

import_collections_by_name()

from recorded_bundle import Bundle

COLLECTION = "ansible_collections/stackproof/provision"


@pytest.fixture
def run_playbook(tmp_path):
    """Return a function that runs a playbook in a folder of the test, with settings of Ansible and variables."""
    place = tmp_path / "collections" / COLLECTION
    place.parent.mkdir(parents=True)
    place.symlink_to(ROOT)
    usual = {name: text for name, text in os.environ.items() if not name.startswith(("ANSIBLE_", "OS_"))}
    environment = {
        **usual,
        "ANSIBLE_COLLECTIONS_PATH": str(tmp_path / "collections"),
        "ANSIBLE_HOME": str(tmp_path / "home"),
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
        "PWD": str(tmp_path),
    }

    def run(name, *arguments, settings=None, **variables):
        command = [str(Path(sys.executable).parent / "ansible-playbook"), f"stackproof.provision.{name}", *arguments]
        command += ["-e", json.dumps(variables)]
        given = {**environment, **(settings or {})}
        done = subprocess.run(command, env=given, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert_no_defect(done.stdout + done.stderr)
        return done

    return run


@pytest.fixture
def playbook(run_playbook):
    """Return a function that runs a playbook, and gives its status and all that it printed."""

    def run(name, *arguments, **variables):
        done = run_playbook(name, *arguments, **variables)
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.fixture
def bundle(tmp_path):
    """The logs of a recorded boot, ready to be written in some layout."""
    return Bundle(tmp_path / "bundle")
