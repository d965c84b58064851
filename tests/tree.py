# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the tests find what is in the repository: by path, and both collections by their names."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT / "tests" / "recorded"
ROLES = ROOT / "roles"
FLOWS = ROLES / "flow" / "files" / "flows"
LAB = ROOT / "lab"
COLLECTIONS = {"provision": ROOT, "lab": LAB}


def import_collections_by_name() -> None:
    """Packages without files, whatever else of the name ansible_collections may be installed."""
    places: dict[str, list[str]] = {"ansible_collections": [], "ansible_collections.stackproof": []}
    for collection, top in COLLECTIONS.items():
        places[f"ansible_collections.stackproof.{collection}"] = [str(top)]
    for name, locations in places.items():
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = locations
        sys.modules[name] = module_from_spec(spec)
