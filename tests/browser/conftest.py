# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the collections importable by their names, and installs what Node.js needs, once, next to other caches."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tree import ROOT, import_collections_by_name

HERE = Path(__file__).parent
CACHE = ROOT / ".cache" / "browser"

import_collections_by_name()


@pytest.fixture(scope="session")
def parse():
    """Return a function that gives Mermaid's parser a text, and returns how that ended."""
    if not shutil.which("npm"):
        pytest.skip("there is no npm")
    CACHE.mkdir(parents=True, exist_ok=True)
    # A program finds its modules next to itself.
    for path in (HERE / "package.json", HERE / "parse_mermaid.mjs"):
        shutil.copy(path, CACHE)
    wanted = json.loads((HERE / "package.json").read_text())["dependencies"]["mermaid"]
    there = CACHE / "node_modules" / "mermaid" / "package.json"
    if not there.exists() or json.loads(there.read_text())["version"] != wanted:
        install = "npm install --no-audit --no-fund --no-package-lock --ignore-scripts"
        subprocess.run(install.split(), cwd=CACHE, check=True)

    def run(text):
        return subprocess.run(
            ["node", "parse_mermaid.mjs"], cwd=CACHE, input=text, capture_output=True, encoding="utf-8", check=False
        )

    return run
