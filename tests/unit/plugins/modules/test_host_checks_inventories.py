# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks of the hosts with several inventories, by a suite that says what it knows of each host."""

from __future__ import annotations

import pytest
from ansible_collections.stackproof.provision.plugins.module_utils._record import run as run_module
from ansible_collections.stackproof.provision.plugins.modules import host_checks as module

CONFTEST = """
import json
from pathlib import Path

CHECKS = []

def pytest_addoption(parser):
    parser.addoption("--checks-file")

def pytest_sessionfinish(session):
    Path(session.config.getoption("--checks-file")).write_text(json.dumps(CHECKS))
"""
TEST = """
from conftest import CHECKS

def test_host(host):
    variables = host.ansible.get_variables()
    name = variables["inventory_hostname"]
    CHECKS.append({"host": name, "check": variables.get("told", ""), "status": "ok", "reason": None, "seconds": 0})
"""


@pytest.fixture
def suite(tmp_path):
    folder = tmp_path / "suite"
    (folder / "running").mkdir(parents=True)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "running" / "test_host.py").write_text(TEST)
    return folder


@pytest.mark.parametrize("count", [1, 2])
def test_each_inventory_is_heard(call, tmp_path, suite, count):
    sources = [tmp_path / f"inventory-{number}" for number in range(count)]
    for number, source in enumerate(sources):
        source.write_text(f"host-{number} ansible_connection=local told=by-{number}\n")
    run, _new = run_module.begin(tmp_path / "runs", "run-1", "lab")
    hosts = [f"host-{number}" for number in range(count)]
    result = call(
        module, run_dir=run.directory, suite=str(suite), inventory=[str(source) for source in sources], hosts=hosts
    )
    checks = {check["host"]: (check["check"], check["status"]) for check in result["checks"]}
    assert checks == {f"host-{number}": (f"by-{number}", "ok") for number in range(count)}
