# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The version of the collection, as a clone and an installed collection have it."""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from ansible_collections.stackproof.provision.plugins.plugin_utils._version import collection_version
from tree import ROOT


def test_clone_has_the_version_of_its_galaxy_file() -> None:
    assert collection_version() == yaml.safe_load((ROOT / "galaxy.yml").read_text())["version"]


def test_installed_collection_has_the_version_of_its_manifest(tmp_path: Path) -> None:
    (tmp_path / "MANIFEST.json").write_text(json.dumps({"collection_info": {"version": "1.2.3"}}))
    assert collection_version(str(tmp_path)) == "1.2.3"


def test_version_is_unknown_without_either_file(tmp_path: Path) -> None:
    assert collection_version(str(tmp_path)) is None
