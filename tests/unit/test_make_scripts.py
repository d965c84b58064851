# Copyright (c) 2026, stackproof contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check the scripts in tools that the Makefile calls for labs."""

from __future__ import annotations

import os
import subprocess

import pytest
from tree import ROOT

ALONE = ROOT / "tools/alone"
ON_CLOUDS = ROOT / "tools/test-on-clouds"
CONFLICT = 9


@pytest.fixture
def alone(tmp_path):
    """Return a function that runs a command alone on a lab."""
    environment = {**os.environ, "LAB_DIRECTORY": str(tmp_path / "lab"), "LAB_NAME": "mine"}

    def run(*command):
        return subprocess.run([ALONE, *command], env=environment, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize("status", [0, 3])
def test_a_command_alone_on_a_lab_gives_its_own_status(alone, status, tmp_path):
    done = alone("bash", "-c", f"exit {status}")
    assert (done.returncode, done.stderr) == (status, "")
    assert (tmp_path / "lab").stat().st_mode & 0o777 == 0o700


def test_a_second_command_on_a_lab_is_refused(alone):
    done = alone(ALONE, "touch", "never")
    assert done.returncode == CONFLICT
    assert "Another command works on the lab mine" in done.stderr


@pytest.mark.parametrize(("failing", "passes"), [("none", True), ("test-on-lab", False), ("test-beside", False)])
def test_the_tests_on_clouds_fail_if_one_part_fails(tmp_path, failing, passes):
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\necho "made $1"\n[ "$1" != {failing} ]\n')
    make.chmod(0o755)
    log = tmp_path / "logs/beside.log"
    done = subprocess.run([ON_CLOUDS, log, make], capture_output=True, text=True, check=False)
    assert (done.returncode == 0) is passes
    assert done.stdout.splitlines()[-2:] == ["made test-on-lab", "made test-beside"]
    assert log.read_text() == "made test-beside\n"
