# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kolla's images and its deployment are made of, out of the packages that have it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tree import ROOT

PROGRAMS = ROOT / "lab/roles/lab/files/kolla"
USERS = """
USERS = {
    'nova-user': {'uid': 42436, 'gid': 42436},
    'hacluster-user': {'uid': 42478, 'gid': 42478, 'group': 'haclient'},
}
"""
MODPROBE = "community/general/plugins/modules/modprobe.py"


@pytest.fixture
def wheel(tmp_path):
    """Return a function that makes a wheel of some files."""

    def of(name, files):
        path = tmp_path / f"{name}.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for place, text in files.items():
                archive.writestr(place, text)
        return path

    return of


def run(program, *words):
    done = subprocess.run([sys.executable, PROGRAMS / program, *words], capture_output=True, text=True, check=True)
    return done.stdout


def test_accounts_are_those_of_the_package(wheel):
    path = wheel("kolla", {"kolla/common/users.py": USERS})
    assert run("list-accounts", path).splitlines() == ["hacluster 42478 42478 haclient", "nova 42436 42436 nova"]


def test_collections_are_unpacked_once_and_without_what_is_not_used(wheel, tmp_path):
    newer = {
        f"ansible_collections/{MODPROBE}": "open('/proc/modules')",
        "ansible_collections/community/general/tests/x.py": "",
        "ansible_collections/other/one/x.py": "",
    }
    older = {
        f"ansible_collections/{MODPROBE}": "old",
        "ansible_collections/openvswitch/openvswitch/x.py": "of the older one",
    }
    run("unpack-collections", wheel("newer", newer), tmp_path / "target")
    run("unpack-collections", wheel("older", older), tmp_path / "target")
    top = tmp_path / "target/ansible_collections"
    assert (top / "openvswitch/openvswitch/x.py").read_text() == "of the older one"
    assert not (top / "community/general/tests").exists()
    assert not (top / "other").exists()
    # Where the kernel has no modules, the list of the lab is read.
    place = "/proc/modules" if Path("/proc/modules").exists() else "/etc/stackproof-lab/modules"
    assert (top / MODPROBE).read_text() == f"open('{place}')"


def test_a_folder_without_the_constraints_says_what_is_missing(tmp_path):
    words = [PROGRAMS / "fetch-sources", tmp_path / "target", "stable/2026.1", tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"There is no requirements.bundle, requirements.git or requirements in {tmp_path}" in done.stderr
    assert not (tmp_path / "target").exists()
