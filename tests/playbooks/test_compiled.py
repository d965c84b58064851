# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection's code is compiled at the first start of Ansible alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from tree import ROOT

# Loads what a run loads as Ansible does, and prints which of its files were compiled.
START = """
import os, sys
from ansible.utils.collection_loader._collection_finder import _AnsibleCollectionFinder
_AnsibleCollectionFinder(paths=[sys.argv[1]])._install()
files = []
sys.addaudithook(lambda event, args: files.append(args[1]) if event == "compile" else None)
import ansible_collections.stackproof.provision.plugins.action.run
ours = [os.fsdecode(file) for file in files if file and os.fsdecode(file).startswith(sys.argv[1])]
print(*(os.path.relpath(file, sys.argv[1]) for file in ours), sep="\\n")
"""
MODEL = "ansible_collections/stackproof/provision/plugins/module_utils/_model/record.py"


@pytest.fixture
def collections(tmp_path):
    provision = tmp_path / "ansible_collections/stackproof/provision"
    for folder in ("plugins", "roles"):
        shutil.copytree(ROOT / folder, provision / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "meta", provision / "meta")
    return tmp_path


def compiled_by_start(collections):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", START, str(collections)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_second_start_compiles_what_has_changed_and_what_is_loaded_before(collections):
    first = compiled_by_start(collections)
    with (collections / MODEL).open("a") as model:
        model.write("# One more line\n")
    second = compiled_by_start(collections)
    assert MODEL in first
    assert MODEL in second
    assert [file for file in second if "/modules/" in file or "/_judge/" in file or "/_collect/" in file] == []
    assert len(second) < len(first) / 10
