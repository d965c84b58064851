# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the collection importable by its name, and calls its modules as Ansible does."""

from __future__ import annotations

import json
import sys
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

# Packages without files, whatever else of the name ansible_collections may be installed.
for name, places in (
    ("ansible_collections", []),
    ("ansible_collections.stackproof", []),
    ("ansible_collections.stackproof.provision", [str(REPOSITORY)]),
):
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = places
    sys.modules[name] = module_from_spec(spec)

from ansible.module_utils.testing import patch_module_args


@pytest.fixture
def call(capsys):
    """Return a function that runs a module's main and returns its result."""

    def run(module, check=False, **params):
        capsys.readouterr()
        with patch_module_args({**params, "_ansible_check_mode": check}), pytest.raises(SystemExit):
            module.main()
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def recorded(request):
    """Return a function that reads a recording next to the test, as what was typed to what was said."""

    def read(name):
        text = (request.path.parent / "recorded" / name).read_text()
        blocks = (block.partition("\n") for block in ("\n" + text).split("\n$ ")[1:])
        return {typed: said for typed, _newline, said in blocks}

    return read
