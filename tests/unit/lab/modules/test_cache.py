# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cache of labs: what is in it, which lab needs it, and what goes when it is pruned."""

from __future__ import annotations

import fcntl
import json
import os

import pytest
from ansible_collections.stackproof.lab.plugins.module_utils import _machine
from ansible_collections.stackproof.lab.plugins.modules import cache as module


@pytest.fixture(autouse=True)
def state(monkeypatch, tmp_path):
    """The folder in which labs say what they were made of."""
    top = tmp_path / "state"
    monkeypatch.setattr(_machine, "STATE_ROOT", str(top))
    return top


@pytest.fixture
def made_of(state):
    """Return a function that makes a lab's claim."""

    def claim(name, rootfs, **more):
        (state / name).mkdir(parents=True)
        (state / name / "claim.json").write_text(json.dumps({"clone": "/clone", "rootfs": str(rootfs), **more}))

    return claim


@pytest.fixture
def folder(tmp_path):
    """A cache with three root file systems and one set of sources."""
    top = tmp_path / "cache"
    for name in ("rootfs/old-1", "rootfs/new-2", "rootfs/new-3.new", "devstack/abc"):
        (top / name / "usr").mkdir(parents=True)
        (top / name / "usr/file").write_bytes(b"x" * 100_000)
    return top


@pytest.fixture
def ask(call, folder):
    def act(**params):
        return call(module, folder=str(folder), **params)

    return act


def names(result):
    return {os.path.basename(entry["path"]): (entry["labs"], entry["asked"]) for entry in result["folders"]}


def test_each_folder_is_told_with_its_labs(ask, folder, made_of):
    made_of("lab", folder / "rootfs/old-1")
    made_of("devstack", folder / "rootfs/old-1", shared=[str(folder / "devstack/abc")])
    result = ask(asked=[str(folder / "rootfs/new-2")])
    assert names(result) == {
        "old-1": (["devstack", "lab"], False),
        "new-2": ([], True),
        "new-3.new": ([], False),
        "abc": (["devstack"], False),
    }
    assert all(100_000 <= entry["bytes"] < 200_000 for entry in result["folders"])
    assert (result["changed"], result["removed"]) == (False, [])


def test_what_no_lab_needs_is_removed_and_nothing_else(ask, folder, made_of):
    made_of("lab", folder / "rootfs/old-1", shared=[])
    params = {"state": "pruned", "asked": [str(folder / "rootfs/new-2")]}
    planned = ask(check=True, **params)
    assert (folder / "devstack/abc").exists()
    result = ask(**params)
    assert result["removed"] == planned["removed"]
    assert [os.path.basename(path) for path in result["removed"]] == ["new-3.new", "abc"]
    assert sorted(path.name for path in folder.glob("*/*")) == ["new-2", "old-1"]
    assert ask(**params)["changed"] is False


def test_a_folder_is_known_by_a_link_to_the_cache_as_well(ask, folder, made_of, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    made_of("lab", tmp_path / "link/rootfs/old-1")
    assert names(ask())["old-1"] == (["lab"], False)


def test_without_a_cache_and_without_labs_there_is_nothing(call, tmp_path):
    assert call(module, folder=str(tmp_path / "none"), state="pruned")["folders"] == []


def test_nothing_is_removed_beside_a_build(ask, folder):
    lock = os.open(folder / "rootfs", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    result = ask(state="pruned")
    os.close(lock)
    assert result["failed"]
    assert f"a build works in {folder}/rootfs: try again when it has ended" in result["msg"]
    assert (folder / "rootfs/new-3.new").exists()


def test_a_claim_that_cannot_be_read_keeps_all(ask, folder, state):
    (state / "lab").mkdir(parents=True)
    (state / "lab/claim.json").write_text("{")
    result = ask(state="pruned")
    assert result["failed"]
    assert "claim.json cannot be read" in result["msg"]
    assert (folder / "rootfs/old-1").exists()
