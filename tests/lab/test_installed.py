# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tarball, installed as a stranger does."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from lab_under_test import INVENTORY
from runs_under_test import verify
from test_verify import assert_sound

REPOSITORY = Path(__file__).parents[2]


def test_the_tarball_alone_verifies(tmp_path, monkeypatch):
    """Neither the repository's files nor its settings are used."""
    galaxy = ["ansible-galaxy", "collection"]
    subprocess.run([*galaxy, "build", "--output-path", tmp_path, REPOSITORY], check=True)
    [tarball] = tmp_path.glob("stackproof-provision-*.tar.gz")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANSIBLE_CONFIG", os.devnull)
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", str(tmp_path / "collections"))
    subprocess.run([*galaxy, "install", "--offline", "--collections-path", "collections", tarball], check=True)
    done = verify(tmp_path / "runs", "-vv", "-i", str(INVENTORY))
    assert done.status == 0, done.output
    assert_sound(done)
    assert f"task path: {tmp_path}/collections/ansible_collections/stackproof/provision/roles/" in done.output
    assert str(REPOSITORY / "roles") not in done.output
    assert "The hosts agree" in done.output
    assert [flow["name"] for flow in done.record["flows"]]
    assert {"report.html", "flow.svg", "junit.xml"} <= {path.name for path in done.directory.iterdir()}
