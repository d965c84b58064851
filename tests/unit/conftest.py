# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the collections importable by their names, and calls its modules as Ansible does."""

from __future__ import annotations

import copy
import functools
import json

import pytest
from guard import assert_no_defect
from tree import RECORDED, ROOT, import_collections_by_name

import_collections_by_name()

from ansible.module_utils.testing import patch_module_args
from ansible_collections.stackproof.provision.plugins.module_utils._collect.hosts import profiles
from recorded_bundle import Bundle


@pytest.fixture
def call(capsys, request):
    """Return a function that runs a module's main and returns its result, which shows no defect."""
    provoked = request.node.get_closest_marker("defect")

    def run(module, check=False, **params):
        capsys.readouterr()
        with patch_module_args({**params, "_ansible_check_mode": check}), pytest.raises(SystemExit):
            module.main()
        printed = capsys.readouterr()
        if not provoked:
            assert_no_defect(printed.out + printed.err)
        return json.loads(printed.out)

    return run


@pytest.fixture
def recorded():
    """Return a function that reads a recording next to the test, as what was typed to what was said."""

    def read(name):
        text = (RECORDED / "commands" / name).read_text()
        blocks = (block.partition("\n") for block in ("\n" + text).split("\n$ ")[1:])
        return {typed: answer for typed, _newline, answer in blocks}

    return read


@pytest.fixture
def bundle(tmp_path):
    """The logs of a recorded boot, ready to be written in some layout."""
    return Bundle(tmp_path / "bundle")


@functools.cache
def profile(name):
    return profiles.profile_of(name)


@pytest.fixture
def platform():
    """Return a function that reads how a cloud is installed."""
    return lambda name="packages": copy.deepcopy(profile(name))


@pytest.fixture(scope="session")
def bundle_options():
    """Return a function that gives the options by which a bundle is read: flows, and names of logs on all platforms."""
    every = [profile(name) for name in ("packages", "kolla", "osa", "devstack", "rhoso", "kubernetes")]
    flows = [str(ROOT / f"roles/flow/files/flows/{name}.yml") for name in ("ops_guide", "http_trace")]
    usual = {"services": [log for one in every for log in one["logs"]], "flows": flows}

    def options(directory, **more):
        return {"directory": str(directory), "time_zones": {"compute2": "+05:30"}, **usual, **more}

    return options
