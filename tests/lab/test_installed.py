# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tarball, installed as a stranger does."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from lab_under_test import GROUPS, INVENTORY
from runs_under_test import verify
from test_verify import assert_sound
from tree import ROOT


@pytest.mark.soak
def test_the_tarball_alone_verifies_the_host_that_an_administrator_names(runs, monkeypatch):
    """Neither the repository's files nor its settings are used."""
    host = GROUPS["compute"][-1]
    # It has the tests, which show what secrets look like, so it does not stay among what they leave.
    with tempfile.TemporaryDirectory() as name:
        place, galaxy = Path(name), ["ansible-galaxy", "collection"]
        subprocess.run([*galaxy, "build", "--output-path", place, ROOT], check=True)
        (place / "empty.cfg").touch()
        monkeypatch.chdir(place)
        monkeypatch.setenv("ANSIBLE_CONFIG", str(place / "empty.cfg"))
        monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", str(place))
        install = [*galaxy, "install", "--offline", "--collections-path", place]
        subprocess.run([*install, *place.glob("stackproof-provision-*.tar.gz")], check=True)
        done = verify(runs, "-vv", "-i", str(INVENTORY), cloud="lab-admin", host=host)
    assert done.status == 0, done.output
    assert_sound(done)
    assert done.stage("boot")["details"]["server"]["host"] == host
    assert f"task path: {place}/ansible_collections/stackproof/provision/roles/" in done.output
    assert str(ROOT / "roles") not in done.output
    assert "host checks passed" in done.output
    assert len(done.record["flows"]) == len(list((ROOT / "roles/flow/files/flows").glob("*.yml")))
    assert {"report.html", "flow.svg", "junit.xml"} <= {path.name for path in done.directory.iterdir()}
