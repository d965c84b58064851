# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The repositories that stack.sh clones, out of a folder of bundles and repositories."""

from __future__ import annotations

import os
import subprocess

import pytest
from tree import ROOT

FETCH = ROOT / "lab/roles/lab/files/devstack/fetch-repositories"
BRANCH = "stable/2026.1"
NAMES = ("devstack", "requirements", "keystone", "glance", "nova", "neutron", "cinder", "placement")


def git(*words, cwd):
    settings = {f"GIT_{who}_{what}": "lab@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, **settings, "GIT_CONFIG_GLOBAL": "/dev/null"}
    return subprocess.run(["git", *words], cwd=cwd, env=environment, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def sources(tmp_path):
    """A folder of small repositories: devstack as a bundle, nova as a bare one, the others with their files."""
    folder = tmp_path / "sources"
    for name in NAMES:
        (folder / name).mkdir(parents=True)
        git("init", "--quiet", f"--initial-branch={BRANCH}", cwd=folder / name)
        (folder / name / "setup.cfg").write_text(f"[metadata]\nname = {name}\n")
        git("add", ".", cwd=folder / name)
        git("commit", "--quiet", "--message=first", cwd=folder / name)
    git("bundle", "create", "--quiet", "../devstack.bundle", "--all", cwd=folder / "devstack")
    git("clone", "--quiet", "--bare", "nova", "nova.git", cwd=folder)
    for name in ("devstack", "nova"):
        subprocess.run(["rm", "-r", folder / name], check=True)
    return folder


@pytest.fixture
def fetch(tmp_path, sources):
    """Return a function that runs the program and returns its status and what it said."""

    def run(branch=BRANCH):
        done = subprocess.run(
            [FETCH, tmp_path / "target", branch, sources], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stderr.strip()

    return run


def test_each_repository_is_there_whatever_it_was_made_of(fetch, tmp_path):
    assert fetch() == (0, "")
    for name in NAMES:
        assert f"name = {name}" in git("show", f"{BRANCH}:setup.cfg", cwd=tmp_path / f"target/{name}.git")


def test_without_devstack_itself_it_says_what_to_put_where(fetch, sources, tmp_path):
    (sources / "devstack.bundle").unlink()
    assert fetch() == (
        1,
        f"There is no devstack.bundle, devstack.git or devstack in {sources} (DEVSTACK_SOURCES). "
        "Put one there, or leave that out.",
    )
    assert not (tmp_path / "target").exists()


def test_a_service_of_an_unknown_series_is_not_guessed(fetch, sources, tmp_path):
    for name in NAMES:
        for path in (sources / f"{name}.git", sources / name):
            if path.exists():
                git("branch", "--move", BRANCH, "stable/2031.1", cwd=path)
    git("clone", "--quiet", "--bare", "devstack.bundle", "devstack.git", f"--branch={BRANCH}", cwd=sources)
    git("branch", "--move", BRANCH, "stable/2031.1", cwd=sources / "devstack.git")
    (sources / "devstack.bundle").unlink()
    subprocess.run(["rm", "-r", sources / "placement"], check=True)
    status, said = fetch("stable/2031.1")
    assert (status, said) == (
        1,
        f"There is no placement in {sources}, and it is not known which of its releases belong to stable/2031.1. "
        "Put placement.bundle there.",
    )
    assert not (tmp_path / "target").exists()
