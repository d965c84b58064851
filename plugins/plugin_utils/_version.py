# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds the version of the collection, for the record of a run.

PRIVATE to the collection: no promise is made to other users of this file.
"""

from __future__ import annotations

import json
import os

import yaml
from ansible_collections.stackproof.provision.plugins.plugin_utils._specs import (
    COLLECTION,
)


def collection_version(folder: str = COLLECTION) -> str | None:
    """Return the version of the collection: an installed one has it in another file than a clone."""
    try:
        with open(
            os.path.join(folder, "MANIFEST.json"), encoding="utf-8"
        ) as stream:
            return str(json.load(stream)["collection_info"]["version"])
    except FileNotFoundError:
        pass
    try:
        with open(
            os.path.join(folder, "galaxy.yml"), encoding="utf-8"
        ) as stream:
            return str(yaml.safe_load(stream)["version"])
    except FileNotFoundError:
        return None
